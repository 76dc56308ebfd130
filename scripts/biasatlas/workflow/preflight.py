"""Whether a valid configuration can be carried out here: its paths, and something to measure in each benchmark."""

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

from biasatlas import ROOT
from biasatlas.benchmarks.registry import file_checks, is_benchmark
from biasatlas.benchmarks.shared.templates import FILE, read_published
from biasatlas.errors import UserError
from biasatlas.models.endpoint.entry import ApiEntry, api_key
from biasatlas.models.entry import HubEntry, is_hub_id
from biasatlas.models.kinds import KINDS
from biasatlas.models.released.entry import ReleasedEntry, format_of
from biasatlas.resources import Resources
from biasatlas.workflow import selection
from biasatlas.workflow.config import Config
from biasatlas.workflow.paths import Paths

#: Folders of the workflow.
_OWN = {".git", ".github", "bench", "config", "docs", "envs", "profiles", "resources", "rules", "scripts", "tests"}


def missing_models(config: Config, known: bool = True) -> Iterator[str]:
    """A sentence for each model whose folder or key is not there. Unless ``known``, models that were checked before are
    left out."""
    checked = Paths(config.results, config.data).checked
    for name, entry in config.models.items():
        if not known and Path(checked.format(model=name)).exists():
            continue
        if isinstance(entry, HubEntry) and not is_hub_id(entry.source) and not Path(entry.source).expanduser().is_dir():
            yield f"models.{name}.source: {entry.source!r} is not a folder {_tried(entry.source)}; correct the path"
        if isinstance(entry, ApiEntry):
            try:
                api_key(entry)
            except UserError as error:
                yield f"models.{name}: {error}"


def _tried(path: str) -> str:
    """Where a path of the configuration was looked for: relative ones start from the working folder."""
    return f"in {Path.cwd()}, where paths start (tried {Path(path).expanduser().absolute()})"


def check_preflight(config: Config, where: str) -> None:
    """Raise UserError with every fault of the configuration in the file ``where``, one a line."""
    faults = [
        *_unusable_folders(config),
        *_unkept(config),
        *_missing_files(config),
        *_unmeasured(config),
        *_unprinted(config),
        *_unreadable(config),
    ]
    if faults:
        raise UserError("\n".join(f"{where}: {fault}" for fault in faults))


def _unusable_folders(config: Config) -> Iterator[str]:
    for key in ("results", "data"):
        path = Path(getattr(config, key))
        file = next((part for part in (path, *path.parents) if part.exists() and not part.is_dir()), None)
        if file:
            yield f"{key}: {str(file)!r} is a file; name a folder"
        elif key == "results":
            here = next(part for part in (path.absolute(), *path.absolute().parents) if part.is_dir())
            try:
                tempfile.TemporaryFile(dir=here).close()
            except OSError as error:
                yield f"results: {config.results!r}: no file can be written in {here} ({error.strerror}); name another"
    results = Path(config.results).resolve()
    data = {"data": config.data, "mirror": config.mirror}
    taken = {Path(path).resolve(): f"the folder `{key}`" for key, path in data.items() if path is not None}
    taken |= {Path.cwd(): "the working folder", Path.home(): "your home folder"}
    taken |= {path: "a part of the workflow itself" for path in ROOT.iterdir() if path.is_dir() and path.name in _OWN}
    if results in taken:
        yield f"results: {config.results!r} is {taken[results]}; name a folder for results alone"
    elif results in Path.cwd().parents:
        yield f"results: {config.results!r} holds the working folder; name a folder for results alone"
    if config.mirror is not None and not Path(config.mirror).is_dir():
        yield f"mirror: {config.mirror!r} is not a folder; correct it, or leave the key out to download the data"


def _unkept(config: Config) -> Iterator[str]:
    for name, entry in config.models.items():
        if isinstance(entry, ApiEntry) and config.max_cost is not None and not entry.is_priced:
            yield (
                f"models.{name}: nothing would count against `max_cost`: give price_input_per_million and "
                "price_output_per_million, or `prices: known`, or `prices: free` where it costs nothing"
            )
        if config.store and getattr(entry, "batch", False):
            yield f"models.{name}.batch: what is noted of a batch stays on one machine; leave `batch` or `store` out"


def _missing_files(config: Config) -> Iterator[str]:
    for name, run in config.benchmarks.items():
        if run.folder and Path(run.folder).resolve() in Path.cwd().parents:
            yield f"benchmarks.{name}.data: {run.folder!r} holds the working folder; name a folder of data alone"
        elif run.folder and not selection.user_file_names(config, name):
            fault = "holds no file" if Path(run.folder).is_dir() else f"is not a folder {_tried(run.folder)}"
            page = run.benchmark if "/" in run.benchmark else f"docs/{run.benchmark}.md"
            yield f"benchmarks.{name}.data: {run.folder!r} {fault}; {page} says which files it needs"
    for name, entry in config.models.items():
        arguments = getattr(entry, "serve_arguments", [])
        for flag, path in itertools.pairwise(arguments):
            if flag in ("-m", "--model") and not Path(path).is_file():
                yield f"models.{name}.serve_arguments: {path!r} is not a file {_tried(path)}; correct the path"
        if isinstance(entry, ReleasedEntry) and entry.path and not entry.files:
            yield f"models.{name}.path: {entry.path!r} is not a file {_tried(entry.path)}; correct the path"
    files = {
        f"benchmarks.{name}.files.{what}": path
        for name, run in config.benchmarks.items()
        for what, path in run.files.items()
    }
    if config.construction:
        files |= {f"construction.{key}": getattr(config.construction, key) or "" for key in ("sofa", "evaluation")}
    for key, path in files.items():
        made_here = Path(config.results).resolve() in Path(path).resolve().parents  # as DBB's variations may be
        if path and not made_here and not Path(path).is_file():
            yield f"{key}: {path!r} is not a file {_tried(path)}; correct the path, or leave the key out"


def _unmeasured(config: Config) -> Iterator[str]:
    for name, run in config.benchmarks.items():
        template_files = [
            protocol for protocol in run.protocols if not selection.missing_templates(config, name, protocol)
        ]
        if not template_files:
            yield f"benchmarks.{name}: nothing would be measured: {'; '.join(selection.left_out(config, name))}"
            continue
        if any(selection.models(config, name, protocol) for protocol in template_files):
            continue
        reasons = "; ".join(_unable(config, name, model) for model in run.models or config.models)
        yield (
            f"benchmarks.{name}: nothing would be measured: {reasons}. Add a model that can answer it, or leave the "
            "benchmark out"
        )


def _unprinted(config: Config) -> Iterator[str]:
    """What is wrong with a file of printed prompts."""
    for name, run in config.benchmarks.items():
        path = run.files.get(FILE)
        if path and Path(path).is_file():
            try:
                read_published(path, run.benchmark, Resources.shipped(f"prompts/{run.benchmark}/printed.csv"))
            except UserError as error:
                yield f"benchmarks.{name}.files.{FILE}: {error}"


def _unreadable(config: Config) -> Iterator[str]:
    """What is wrong with the beginning of a user's file, if its benchmark checks such files."""
    given = [
        (f"benchmarks.{name}.{key}", run.benchmark, what, path)
        for name, run in config.benchmarks.items()
        for key, what, path in [
            *((f"files.{what}", what, path) for what, path in run.files.items()),
            *([("data", "data", run.folder)] if run.folder else []),
        ]
        if is_benchmark(run.benchmark)
    ]
    for name, entry in config.models.items():
        if isinstance(entry, ReleasedEntry) and entry.path and not entry.column and len(entry.files) == 1:
            spec = config.spec(entry.benchmark)
            (path,) = entry.files.values()
            given.append((f"models.{name}.path", config.benchmark(entry.benchmark), format_of(entry, spec), path))
    for key, benchmark, what, path in given:
        check = file_checks(benchmark).get(what) if Path(path).exists() else None
        if check:
            try:
                check(path)
            except UserError as error:
                yield f"{key}: {error}"


def _unable(config: Config, benchmark: str, model: str) -> str:
    """Why a model answers nothing of a benchmark."""
    entry = config.models[model]
    kind = KINDS[entry.kind]
    if not kind.tasks(entry, benchmark, config.spec(benchmark)):
        return f"{model}, of kind {kind.name}, can answer none of its tasks"
    if not selection.tasks(config, benchmark, model):
        return (
            f"{model} can answer none of the tasks that are left ({'; '.join(selection.left_out(config, benchmark))})"
        )
    return f"{model}, of kind {kind.name}, answers under the protocol {selection.stands_under(entry)} alone"
