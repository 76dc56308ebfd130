"""What every script of the workflow does around its one call: a log, validated objects, and errors for people.

Heavy modules are imported where they are used, since every job pays for them.
"""

import contextlib
import errno
import gc
import logging
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biasatlas import ROOT, progress
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.contract import Options
from biasatlas.errors import UserError
from biasatlas.resources import Resources
from biasatlas.workflow.paths import Paths, filled
from biasatlas.workflow.retries import count_run, requeue

if TYPE_CHECKING:
    from biasatlas.models.interface import Model
    from biasatlas.models.store import ResponseStore
    from biasatlas.workflow.config import Config

_DISK = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the disk quota is used up"}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}


class Job:
    """One job of the workflow: Snakemake's description of it, and the validated configuration.

    ``name`` is the benchmark's name in the configuration.
    """

    def __init__(self, snakemake: Any, terminal: logging.Handler):
        self._snakemake, self._terminal = snakemake, terminal
        self.name: str = snakemake.wildcards.get("benchmark", "")
        self.protocol: str = snakemake.wildcards.get("protocol", "released")

    @cached_property
    def config(self) -> "Config":
        """The whole configuration. The fields that can change this job's output are among the job's params."""
        from biasatlas.workflow.config import load_config

        return load_config(self._snakemake.config)

    @cached_property
    def benchmark(self) -> str:
        """The benchmark that the wildcard's name stands for; '' for a job without one.

        It is read without validating the whole configuration again, which would double the time of a short job.
        """
        run = self._snakemake.config["benchmarks"].get(self.name) or {}
        return run.get("benchmark", self.name)

    def at(self, task: str) -> None:
        """Show ``task`` with the job's progress on the terminal from here on."""
        self._terminal.setFormatter(_titled(f"{_title(self._snakemake)} {task}"))

    @property
    def step(self) -> dict[str, Any]:
        """What can change the job's results beside its files, by name (:meth:`biasatlas.workflow.steps.Steps.step`)."""
        return self._snakemake.params.step

    def given(self, name: str) -> Any:
        """The tree ``name`` of the step, filled with the paths of the input of the same name."""
        return filled(self.step[name], self._snakemake.input[name])

    @property
    def options(self) -> Options:
        """The options of the job's protocol."""
        return registry.load_options(self.benchmark, self.protocol)

    @cached_property
    def resources(self) -> Resources:
        """The shipped files that the job was given, and the prompt templates of others."""
        return Resources(self.given("resources"))

    def open_model(self, name: str) -> "Model":
        """The configured model ``name``, ready to answer, with the GPUs that the job asked for."""
        from biasatlas.models.interface import ModelContext
        from biasatlas.models.kinds import open_model
        from biasatlas.workflow.gpu_lock import lock_gpus

        gpus = self._snakemake.resources.get("gpu", 0)
        lock_gpus(gpus)  # before torch is imported, which must not see devices of other jobs
        given = self._snakemake.input
        return open_model(
            ModelContext(
                name=name,
                entry=self.config.models[name],
                ready=tuple(Path(path) for path in given.get("ready", ())),
                gpus=gpus,
                parsers=registry.parsers(self.benchmark) if self.benchmark else {},
                parser_version=registry.parser_version(self.benchmark) if self.benchmark else "",
                benchmark=self.benchmark,
                items=Path(given.items_file) if given.get("items_file") else None,
                log=Path(self._snakemake.log[0]).with_suffix(".server.log"),
                hashes=Path(Paths(self.config.results, self.config.data).hashes.format(model=name)),
            )
        )

    def store(self, name: str, *part: str) -> "ResponseStore":
        """The store that keeps each answer of model ``name`` to a ``part`` of the workflow as soon as it arrives."""
        from biasatlas.models.kinds import store_folder
        from biasatlas.models.store import ResponseStore

        paths = Paths(self.config.results, self.config.data)
        folder = store_folder(Path(paths.stores), name, self.config.models[name], *part)
        if not self.config.store:
            return ResponseStore(folder)
        from biasatlas.models.objects import Objects

        return ResponseStore(folder, Objects.at(self.config.store, Path(paths.stores), folder))

    def count_run(self, name: str, answers: Iterable[Mapping], *part: str) -> None:
        """Count this run, if model ``name`` is an endpoint and left calls unanswered (:mod:`.retries`)."""
        paths = Paths(self.config.results, self.config.data)
        count_run(paths.unanswered.format(model=name, part="-".join(part)), answers)


@contextlib.contextmanager
def job(snakemake: Any) -> Iterator[Job]:
    """The job that Snakemake described to a script. It logs to its rule's log inside the block, and its progress to the
    terminal too. A user's error becomes one message in both, and exit status 1; an interruption (Ctrl-C, SIGTERM) one
    line, and 130. A job that calls an endpoint and is out of time under SLURM starts again.
    """
    # Garbage collection of torch's objects took two seconds a job.
    gc.set_threshold(100_000)
    log = snakemake.log[0]
    os.makedirs(os.path.dirname(log) or ".", exist_ok=True)
    logging.basicConfig(
        filename=log, filemode="w", level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S", force=True
    )
    logging.captureWarnings(True)
    logging.raiseExceptions = False  # a log line that a full disk cannot take is no second error
    title = _title(snakemake)
    terminal = _show_progress(title)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _check_library(snakemake.scriptdir)
        yield Job(snakemake, terminal)
        logging.info(progress.ENDED)
    except Exception as error:
        message = explain(error)
        # Several entries may be one model at one address.
        if message and (model := getattr(snakemake.wildcards, "model", "")):
            message = f"models.{model}: {message}"
        logging.error("error: %s", message or f"{type(error).__name__}: {error}\n{traceback.format_exc()}")
        if progress.TOLD not in os.environ:
            print(f"error: {message}" if message else traceback.format_exc(), file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # schedulers send it more than once
        if snakemake.resources.get("api"):
            requeue()
        logging.error("error: interrupted")
        print(f"[{title}] interrupted; stored answers are kept", file=sys.stderr)
        sys.exit(130)
    finally:
        gc.freeze()


def _title(snakemake: Any) -> str:
    """What a job is about: its rule and wildcards."""
    return " ".join([snakemake.rule, *map(str, snakemake.wildcards)])


def _titled(title: str) -> logging.Formatter:
    return logging.Formatter(f"[{title}] %(message)s")


def _show_progress(title: str) -> logging.Handler:
    """Show progress on stderr under the job's ``title``; at most a line a minute if stderr is not a terminal."""
    terminal = logging.StreamHandler()
    terminal.setFormatter(_titled(title))
    if not sys.stderr.isatty():
        terminal.addFilter(progress.AtMostEvery(60))
    logging.getLogger(progress.__name__).handlers = [terminal]
    return terminal


def explain(error: BaseException) -> str | None:
    """One message for a person if ``error`` is the user's to mend (bad input, a full or read-only disk), else None."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, OSError) and error.errno in _DISK:
        folder = os.path.dirname(os.path.abspath(error.filename or "."))
        free = shutil.disk_usage(folder if os.path.isdir(folder) else ".").free / 2**20
        return f"{error.filename or folder}: {_DISK[error.errno]} ({free:.0f} MiB free). Free some space and run again."
    if isinstance(error, OSError) and error.errno in _DENIED:
        return f"{error.filename}: may not be written. Make the folder writable, or set another in the configuration."
    return None


def _check_library(scripts: str) -> None:
    """Raise UserError where another copy of the library is found before the one beside the scripts."""
    if Path(scripts).resolve() != ROOT / "scripts":
        raise UserError(
            f"{ROOT / 'scripts' / 'biasatlas'}: this library is found before that of the workflow, {scripts}: take it "
            "off PYTHONPATH, or uninstall it."
        )
