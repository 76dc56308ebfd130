"""What tests share: running the workflow, and the mirror of real data."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from multiprocessing.context import ForkServerProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import pytest
import snakemake_process
from needs import MIRROR, header, need

ROOT = Path(__file__).resolve().parents[1]


def pytest_report_header() -> list[str]:
    """Say first what will be skipped, and why."""
    return list(header())


#: Folders of tests, those with long tests first: a long one at the end would keep one core busy and the others waiting.
FOLDERS = ("slurm", "end_to_end", "api", "workflow", "unit")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests in the order of FOLDERS."""
    items.sort(key=lambda item: FOLDERS.index(item.path.relative_to(ROOT / "tests").parts[0]))


def fork(target: Callable[..., None], *given: object) -> ForkServerProcess:
    """Start a process that calls ``target`` with the arguments ``given``."""
    process = snakemake_process.FORKS.Process(target=target, args=given)
    with pytest.MonkeyPatch.context() as patch:  # so that the forked process finds the library
        patch.setenv("PYTHONPATH", str(ROOT / "scripts"), prepend=os.pathsep)
        process.start()
    return process


def start_snakemake(
    *arguments: str,
    folder: Path,
    output: IO,
    root: Path = ROOT,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    forks: bool = False,
) -> ForkServerProcess:
    """Start the workflow at ``root`` with ``folder`` as working directory; what it prints goes to the file ``output``.

    With ``forks`` jobs' scripts fork from a process that has imported all other libraries: a third of the time.
    """
    command = ["snakemake", "--snakefile", str(root / "Snakefile"), "--directory", str(folder)]
    command += ["--cores", "2", "--profile", "none", "--workflow-profile", str(root / "profiles/default"), *arguments]
    given = (command, DupFd(output.fileno()), env or dict(os.environ), cwd or Path.cwd(), forks)
    return fork(snakemake_process.run, *given)


def snakemake(*arguments: str, **where: Any) -> subprocess.CompletedProcess:
    """Run the workflow with :func:`start_snakemake`; returns its output and errors as text."""
    with TemporaryFile() as output:
        process = start_snakemake(*arguments, output=output, **{"forks": True} | where)
        process.join()
        output.seek(0)
        return subprocess.CompletedProcess(arguments, process.exitcode, output.read().decode())


def planned_rules(output: str) -> set[str]:
    """Names of the rules in the job statistics of a dry run."""
    table = output.split("Job stats:", 1)[1].split("total", 1)[0] if "Job stats:" in output else ""
    return {line.split()[0] for line in table.splitlines()[3:] if line.strip()}


def copy_workflow(folder: Path) -> Path:
    """A copy of the workflow that a test may edit: without results and data, but with compiled modules."""
    everywhere = shutil.ignore_patterns(".*_cache")
    made_here = {".git", ".venv", ".snakemake", "results", "data"}
    shutil.copytree(
        ROOT,
        folder,
        symlinks=True,
        ignore=lambda path, names: everywhere(path, names) | (made_here if path == str(ROOT) else set()),
    )
    return folder


def python(code: str, *arguments: object, stdout=subprocess.PIPE) -> subprocess.Popen:
    """Start a Python process that finds the library, which is not installed; its output is text."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=stdout,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "scripts")},
    )


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The mirror of real data; a test that needs it is skipped where there is none."""
    need("mirror")
    return MIRROR
