"""Run Snakemake, and the scripts of its jobs, in processes and a process group of their own."""

import atexit
import contextlib
import gc
import itertools
import multiprocessing.forkserver
import os
import runpy
import subprocess
import sys
import threading
from collections.abc import Mapping
from multiprocessing.reduction import DupFd
from pathlib import Path

from traced import trace

ROOT = Path(__file__).resolve().parents[1]
#: Processes are forks of one that has already done the slow imports.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        *("snakemake.cli", "snakemake.report.html_reporter", "pandas", "pyarrow.dataset", "pydantic", "smart_open"),
        *("nbformat", "scipy.stats", "matplotlib.pyplot", "openai", "opencc", "json_repair", "rapidfuzz.process"),
        *("torch", "transformers.modeling_utils", "transformers.models.llama.modeling_llama"),
        *("biasatlas.workflow.lookup", "biasatlas.workflow.model_jobs", "biasatlas.workflow.preflight"),
        *("biasatlas.workflow.job", "biasatlas.workflow.construction_lookup"),
    ]
)


#: Several threads start jobs.
_STARTING = threading.Lock()


def run(command: list[str], output: DupFd, env: Mapping[str, str], folder: Path, forks: bool) -> None:
    """Run ``command`` in ``folder`` with the environment ``env``; its output goes to the file ``output``.

    With ``forks`` a job's script runs in a fork, too, else in a Python of its own as in any run. If the environment
    names a folder as TRACED, what scripts ran and opened is written there.
    """
    from snakemake import cli, script  # here, since the process that starts this one does not need them

    gc.freeze()  # the garbage collector need not search what was imported
    os.setpgrp()  # so that it can be killed with its jobs
    _enter(output, env, folder)
    if forks:
        script.PythonScript.execute_script = _execute_script
        # Jobs fork from the server that this process comes from. Python would start another, which imports all again.
        multiprocessing.forkserver._forkserver.ensure_running = lambda: None
    snakefile = [given for option, given in itertools.pairwise(command) if option == "--snakefile"][-1]
    _take_library(Path(snakefile).resolve().parent)
    sys.argv = command
    cli.main(command[1:])


def _enter(output: DupFd, env: Mapping[str, str], folder: Path) -> None:
    descriptor = output.detach()
    os.dup2(descriptor, sys.stdout.fileno())
    os.dup2(descriptor, sys.stderr.fileno())
    os.close(descriptor)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)


def _take_library(root: Path | None) -> None:
    """Have the library imported again, unless it is that of the workflow at ``root``."""
    if root != ROOT:
        for name in [name for name in sys.modules if name.split(".")[0] == "biasatlas"]:
            del sys.modules[name]


def _execute_script(self, fname: str, edit: bool = False) -> None:
    """Replaces the method of Snakemake's scripts that starts ``python fname`` in a shell."""
    from snakemake.benchmark import benchmarked

    folder = self.resources.get("tmpdir")
    env = os.environ | (dict.fromkeys(("TMPDIR", "TMP", "TEMP", "TEMPDIR"), folder) if folder else {})
    given = (fname, DupFd(sys.stdout.fileno()), env, os.getcwd(), os.getpgrp(), sys.modules["biasatlas"].ROOT)
    process = FORKS.Process(target=_run_script, args=given)
    with _STARTING:
        process.start()
        # Another thread that starts a process would read the status of this one, which can be read only once.
        multiprocessing.process._children.discard(process)
    with benchmarked(process.pid, self.bench_record) if self.bench_record else contextlib.nullcontext():
        process.join()
    if process.exitcode:
        raise subprocess.CalledProcessError(process.exitcode, f"{sys.executable} {fname}")


def _run_script(fname: str, output: DupFd, env: Mapping[str, str], folder: str, group: int, root: Path) -> None:
    gc.freeze()
    os.setpgid(0, group)
    _enter(output, env, Path(folder))
    _take_library(root if "TRACED" not in env else None)
    write_trace = trace(env["TRACED"]) if "TRACED" in env else None
    # Without the test's own paths: the script finds its library by itself.
    found = [place for place in sys.path if "site-packages" in place or place.startswith(sys.base_prefix)]
    sys.path[:] = [os.path.dirname(fname), *filter(None, env.get("PYTHONPATH", "").split(os.pathsep)), *found]
    sys.argv = [fname]
    try:
        names = runpy.run_path(fname, run_name="__main__")
        if write_trace:
            write_trace(fname, names["snakemake"])
    finally:
        atexit._run_exitfuncs()
