"""Checks of the names in a configuration: benchmarks, protocols, models, categories, releases, files."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biasatlas import ROOT
from biasatlas.benchmarks.registry import benchmark_names, has_evidence, is_benchmark, protocol_names
from biasatlas.models.kinds import KINDS
from biasatlas.models.released.entry import OWN, format_of
from biasatlas.simulation.studies import load_studies
from biasatlas.validation import unknown

if TYPE_CHECKING:
    from biasatlas.benchmarks.contract import Spec
    from biasatlas.workflow.config.run import Run
    from biasatlas.workflow.config.schema import Config


def unknown_names(config: "Config") -> Iterator[str]:
    """A sentence for every unknown name, and for every model that cannot do what is asked of it."""
    for section in ("models", "benchmarks"):
        seen: dict[str, str] = {}
        for name in getattr(config, section):
            if (other := seen.setdefault(name.lower(), name)) != name:
                yield (
                    f"{section}.{name}: differs from {other!r} by case alone, and some file systems hold one of them; "
                    "rename one"
                )
    for name, entry in config.models.items():
        if entry.kind == "released":
            yield from _unknown_release(config, name, entry)
        if entry.kind == "simulated":
            yield from _unknown_categories(config, name, entry)
        yield from _unprinted(config, name)
    if config.construction:
        yield from _unfit_writer(config, "construction.writer", config.construction.writer, "write")
    if config.simulation:
        yield from _unknown_studies(config.simulation.studies or [], config)
    for name, run in config.benchmarks.items():
        key = f"benchmarks.{name}" + (".benchmark" if run.benchmark != name else "")
        if fault := _is_none(key, run.benchmark, benchmark_names()):
            yield fault
        else:
            if name in benchmark_names() and name != run.benchmark:
                free = f"{run.benchmark}-mine"
                yield f"benchmarks.{name}.benchmark: {name!r} is a benchmark itself; name the section {free}"
            yield from _unknown_in_run(config, name)


def _is_none(key: str, benchmark: str, known: Iterable[str] = ()) -> str:
    """The sentence on a ``benchmark`` that does not exist; '' for one that does."""
    if not is_benchmark(benchmark):
        return unknown(key, benchmark, "a benchmark", known)
    missing = benchmark.endswith(".yaml") and not Path(benchmark).is_file()
    return f"{key}: {benchmark!r} is not a file; correct the path" if missing else ""


def _unknown_categories(config: "Config", name: str, entry: Any) -> Iterator[str]:
    """A sentence for each category of a simulated model that no benchmark has."""
    if any(_is_none(section, run.benchmark) for section, run in config.benchmarks.items()):  # reported elsewhere
        return
    tasks = [task for section in config.benchmarks for task in config.spec(section).tasks.values()]
    # A category of TWBias is a direction, whose requests are about its first group.
    known = sorted({each for task in tasks for part in task.categories for each in (part, part.partition("-")[0])})
    for key in ("bias_by_category", "right_by_category"):
        for category in getattr(entry, key):
            if category not in known:
                yield unknown(f"models.{name}.{key}", category, "a category of the benchmarks", known)


def _unknown_studies(names: Sequence[str], config: "Config") -> Iterator[str]:
    known = {name: study.benchmark for name, study in load_studies().items()}
    for number, name in enumerate(names):
        if name not in known:
            yield unknown(f"simulation.studies.{number}", name, "a study", known)
        elif known[name] not in config.benchmarks:
            yield f"simulation.studies.{number}: {name} is about {known[name]}, which is not among `benchmarks`; add it"


def _unknown_release(config: "Config", name: str, entry: Any) -> Iterator[str]:
    known = dict.fromkeys([*config.benchmarks, *benchmark_names()])
    if fault := _is_none(f"models.{name}.benchmark", config.benchmark(entry.benchmark), known):
        yield fault
        return
    spec = config.spec(entry.benchmark)
    formats = [*spec.formats, OWN]
    if entry.release and entry.release not in spec.released:
        yield unknown(f"models.{name}.release", entry.release, f"a release of {entry.benchmark}", spec.released)
    elif entry.format and entry.format not in formats:
        yield unknown(f"models.{name}.format", entry.format, f"a format of {entry.benchmark}", formats)
    elif entry.path and not format_of(entry, spec):
        yield f"models.{name}.format: required key is missing; expected one of: {', '.join(formats)}"


def _unprinted(config: "Config", name: str) -> Iterator[str]:
    published_as = config.models[name].published_as
    # DBB's paper prints numbers of other benchmarks, too.
    benchmarks = {"dbb", *(run.benchmark for run in config.benchmarks.values())}
    printed = {model for benchmark in benchmarks for model in published_models(benchmark)}
    if published_as is not None and published_as not in printed:
        where = f"a model in the printed tables of {', '.join(config.benchmarks)}"
        yield unknown(f"models.{name}.published_as", published_as, where, sorted(printed))


@cache
def published_models(benchmark: str) -> frozenset[str]:
    """Names of models in the printed tables of a benchmark; none where it has no such tables."""
    names: set[str] = set()
    for path in (ROOT / "resources" / "published").glob(f"{Path(benchmark).stem}[._]*csv"):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                names.update(row[column] for column in ("model", "model_a", "model_b") if column in row)
    return frozenset(names)


def _unknown_in_run(config: "Config", name: str) -> Iterator[str]:
    run, spec = config.benchmarks[name], config.spec(name)
    categories = dict.fromkeys(category for task in spec.tasks.values() for category in task.categories)
    checks = (
        ("protocols", run.protocols, "a protocol", protocol_names(run.benchmark)),
        ("models", run.models or (), "one of the configured models", config.models),
        ("tasks", run.tasks or (), "a task", spec.tasks),
        ("categories", run.categories or (), "a category", categories),
        ("files", run.files, f"a file that {run.benchmark} reads", spec.files),
    )
    for key, values, what, names in checks:
        for number, value in enumerate(values):
            if value not in names:
                yield unknown(f"benchmarks.{name}.{key}", value, what, names)
            elif value in list(values)[:number]:
                yield f"benchmarks.{name}.{key}: {value!r} is listed twice; name it once"
    yield from _unusable_data(config, run, name, spec)
    yield from _missing_settings(config, name)
    if run.effort == "rounds":
        yield from _unfit_for_rounds(config, name)
    yield from _unfit_for_framings(config, name)
    if run.judge is not None:
        yield from _unfit_writer(config, f"benchmarks.{name}.judge", run.judge, "judge")
        if not any(task.judged or task.ordered for task in spec.tasks.values()):
            yield f"benchmarks.{name}.judge: no task of {name} takes a judge; leave the key out"
    yield from _unfit_second_parser(config, name)
    if run.judge is not None:
        return
    for protocol in set(run.protocols).intersection(protocol_names(run.benchmark)):
        options = config.options(name, protocol)
        for task in spec.tasks.values():
            if task.ordered and getattr(options, task.ordered[0]) == task.ordered[1]:
                yield (
                    f"benchmarks.{name}.judge: required key is missing: protocol {protocol!r} has `{task.ordered[0]}: "
                    f"{task.ordered[1]}`. Name one of the configured models, or choose another protocol."
                )


def _unfit_for_rounds(config: "Config", name: str) -> Iterator[str]:
    """A sentence for each reason why a benchmark cannot be asked in rounds."""
    run, spec, key = config.benchmarks[name], config.spec(name), f"benchmarks.{name}.effort"
    if not has_evidence(run.benchmark):
        yield f"{key}: {run.benchmark} has no verdict that rounds could stop at; leave the key out"
    elif all(headline.own_null for headline in spec.headlines):
        yield (
            f"{key}: {run.benchmark} is judged by its placebos, and a round would have too few of them; leave the key "
            "out"
        )
    for task, declared in spec.tasks.items():
        if run.tasks is None or task in run.tasks:
            if "reply_to" in declared.requests:
                yield f"{key}: task {task} is a conversation, which is asked in full; leave the key out"
            elif (declared.judged or declared.ordered) and run.judge:
                yield (
                    f"{key}: task {task} takes a judge, which answers in a job of its own, so that it is asked in "
                    "full; leave the key or the judge out"
                )
    for model in run.models or config.models:
        entry = config.models.get(model)
        if getattr(entry, "shards", 1) > 1:
            yield (
                f"{key}: {model!r} answers in shards, which would wait for each other every round; remove its "
                "`shards`, or the key"
            )
        if getattr(entry, "batch", False):
            yield f"{key}: {model!r} is asked in batches, which may take a day a round; remove its `batch`, or the key"
    others = {other.benchmark for other in config.benchmarks.values()}
    if run.benchmark in ("bbq", "dbb") and {"bbq", "dbb"} <= others:
        yield (
            f"{key}: DBB's questions are compared with those of BBQ that they were made from, which takes all of "
            "both; leave the key out, or run one of the two alone"
        )


def _unfit_for_framings(config: "Config", name: str) -> Iterator[str]:
    """A sentence for each reason why a benchmark cannot be asked in other framings."""
    run, spec, key = config.benchmarks[name], config.spec(name), f"benchmarks.{name}.framings"
    if not run.framings:
        return
    if run.effort == "rounds":
        yield (
            f"{key}: rounds stop at a part of the items, and framings are compared on the same; leave out this key or "
            "`effort`"
        )
    if not has_evidence(run.benchmark):
        yield f"{key}: {run.benchmark} has no verdict that could move with the framing; leave the key out"
    asked = [task for task in spec.tasks if run.tasks is None or task in run.tasks]
    if asked and not any(spec.tasks[task].is_framed for task in asked):
        yield (
            f"{key}: {', '.join(asked)} of {run.benchmark} {'has' if len(asked) == 1 else 'have'} no prompt to "
            "change, or take a judge; leave the key out, or name other tasks"
        )
    kinds = {config.models[model].kind for model in run.models or config.models if model in config.models}
    if kinds <= {"released", "simulated", "masked"}:
        yield (
            f"{key}: no model of kind {' or '.join(sorted(kinds))} reads a prompt; leave the key out, or add a model "
            "that does"
        )


def _unfit_second_parser(config: "Config", name: str) -> Iterator[str]:
    """A sentence where ``parse_with`` names a model that cannot parse."""
    key, model = f"benchmarks.{name}.parse_with", config.benchmarks[name].parse_with
    if model is not None:
        yield from _unfit_writer(config, key, model, "parse")
        if model in config.models and config.models[model].kind == "simulated":
            yield f"{key}: {model!r} is simulated: it answers by a formula and reads no reply. Name another model."


def _unusable_data(config: "Config", run: "Run", name: str, spec: "Spec") -> Iterator[str]:
    """A sentence for data that a benchmark does not have, or a choice about them that it does not take."""
    for key in {"skip_invalid", "cells"} & run.model_fields_set - set(spec.reads):
        yield f"benchmarks.{name}.{key}: {run.benchmark} has no such choice; leave the key out"
    if run.data == "sample" and not spec.sample:
        yield f"benchmarks.{name}.data: {run.benchmark} has no sample; leave the key out, or name a folder as ./data"
    if run.is_published and run.data != "full" and run.data not in spec.datasets:
        yield unknown(
            f"benchmarks.{name}.data", run.data, f"published data of {run.benchmark}", ("full", *spec.datasets)
        )
    if run.data == "full" and not spec.sources and not spec.files:
        yield f"benchmarks.{name}.data: {run.benchmark} names no source; name the folder of its data, as ./data"
    if run.is_published and not spec.texts_published:
        for model in run.models or config.models:
            if model in config.models and config.models[model].kind not in ("released", "simulated"):
                yield (
                    f"benchmarks.{name}.data: the published data of {run.benchmark} lack the texts that {model} would "
                    f"be asked about; name a folder that has them, as ./data, or leave {model} out of "
                    f"`benchmarks.{name}.models`"
                )


def _missing_settings(config: "Config", name: str) -> Iterator[str]:
    """A sentence for each setting that a protocol needs of an entry that lacks it."""
    run, spec = config.benchmarks[name], config.spec(name)
    known = set(run.protocols).intersection(protocol_names(run.benchmark))
    for protocol in sorted(known):
        options = config.options(name, protocol)
        for need in spec.requirements:
            asked = [task for task in need.tasks or spec.tasks if run.tasks is None or task in run.tasks]
            if not need.setting or getattr(options, need.option) != need.value or not asked:
                continue
            if any(
                n.file and n.file not in run.files and getattr(options, n.option) == n.value for n in spec.requirements
            ):
                continue  # the protocol is left out
            for model in [run.judge] if need.judges else run.models or config.models:
                entry = config.models.get(model or "")
                if entry is not None and KINDS[entry.kind].lacks(entry, need.setting):
                    section, key = need.setting.split(".")
                    alike = get_close_matches(key, getattr(entry, section, {}), n=1)
                    slip = f" (it has {alike[0]!r})" if alike else ""
                    yield (
                        f"models.{model}.{need.setting}: required key is missing{slip}: protocol {protocol!r} of "
                        f"{name} has `{need.option}: {need.value}`; docs/{run.benchmark}.md says what it is"
                    )


def _unfit_writer(config: "Config", key: str, model: str, work: str) -> Iterator[str]:
    if model not in config.models:
        yield unknown(key, model, "one of the configured models", config.models)
        return
    kind = config.models[model].kind
    if not KINDS[kind].writes:
        able = ", ".join(name for name, other in KINDS.items() if other.writes)
        yield (
            f"{key}: {model!r} is of kind {kind!r}, which cannot {work}: it writes no text. Name a model of kind "
            f"{able}."
        )
