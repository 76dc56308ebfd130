"""The selection of a configuration: which model answers which tasks of which benchmark under which protocol, and what
is compared: benchmarks under one protocol, and models on the same items.
"""

import os
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from biasatlas.benchmarks.comparisons.declared import COMPARED, COMPARISONS, POPULATIONS
from biasatlas.benchmarks.contract import OUTCOMES, Need, ReadingStep, Table
from biasatlas.benchmarks.dbb import CONSTRUCTED_FILES
from biasatlas.benchmarks.registry import has_evidence
from biasatlas.benchmarks.shared.framing_design import FRAMED
from biasatlas.benchmarks.shared.templates import FILE, as_copied
from biasatlas.models.entry import Entry
from biasatlas.models.kinds import KINDS
from biasatlas.simulation.studies import Study, load_studies
from biasatlas.sources import names_in
from biasatlas.workflow.config import Config
from biasatlas.workflow.paths import File, Paths


class Scored(NamedTuple):
    """The scores of a model's answers to one task under a protocol."""

    model: str
    benchmark: str
    protocol: str
    task: str


@cache
def runs(config: Config) -> list[tuple[str, str]]:
    """Every configured (benchmark, protocol) whose prompt templates are all given."""
    return [
        (benchmark, protocol)
        for benchmark, run in config.benchmarks.items()
        for protocol in run.protocols
        if not missing_templates(config, benchmark, protocol)
    ]


def framed_runs(config: Config) -> list[tuple[str, str]]:
    """(benchmark, name of the framed protocol) of every run that is asked in other framings, too."""
    return [(name, protocol + FRAMED) for name, protocol in runs(config) if config.benchmarks[name].framings]


def models(config: Config, benchmark: str, protocol: str) -> list[str]:
    """Models measured on ``benchmark`` under ``protocol``; some kinds answer under one protocol alone."""
    chosen = config.benchmarks[benchmark].models or list(config.models)
    return [
        name
        for name in chosen
        if tasks(config, benchmark, name, protocol) and stands_under(config.models[name]) in (None, protocol)
    ]


def stands_under(entry: Entry) -> str | None:
    """The only protocol that a model answers under; None if it answers under any."""
    return KINDS[entry.kind].protocol(entry)


@cache
def tasks(config: Config, benchmark: str, model: str, protocol: str = "") -> list[str]:
    """Tasks of ``benchmark`` that ``model`` can answer and the configuration asks for; fewer under framings."""
    entry, spec = config.models[model], config.spec(benchmark)
    able = KINDS[entry.kind].tasks(entry, benchmark, spec)
    if protocol.endswith(FRAMED):
        reads = entry.kind not in ("released", "simulated")
        able = tuple(task for task in able if reads and spec.tasks[task].is_framed)
    return [task for task in able if categories(config, benchmark, task)]


def tasks_asked(config: Config, benchmark: str) -> list[str]:
    """Tasks of ``benchmark`` that the configuration asks for, whoever can answer them."""
    return [task for task in config.spec(benchmark).tasks if categories(config, benchmark, task)]


def categories(config: Config, benchmark: str, task: str) -> list[str]:
    """Categories of ``task`` that the configuration asks for, in the benchmark's order."""
    run, declared = config.benchmarks[benchmark], config.spec(benchmark).tasks[task]
    if missing_input(config, benchmark, task) or not is_wanted(config, benchmark, task):
        return []
    return [category for category in declared.categories if run.categories is None or category in run.categories]


def tasks_by_categories(config: Config) -> list[tuple[str, str, list[str], list[str]]]:
    """(name, benchmark, categories, tasks) of each group of a benchmark's asked tasks that have the same categories.

    The name is the benchmark's if the group has all of its asked tasks.
    """
    rules = []
    for benchmark in config.benchmarks:
        asked, together = tasks_asked(config, benchmark), defaultdict(list)
        for task in asked:
            together[tuple(categories(config, benchmark, task))].append(task)
        for names, tasks in together.items():
            name = benchmark if tasks == asked else "_".join([benchmark, *tasks])
            rules.append((name, benchmark, list(names), tasks))
    return rules


def in_rounds(config: Config) -> list[str]:
    """Names of the benchmarks whose models are asked in rounds."""
    return [name for name, run in config.benchmarks.items() if run.effort == "rounds"]


def is_wanted(config: Config, benchmark: str, task: str) -> bool:
    """Whether the configuration asks for a task; if it names none, for all but those asked ``by_name``."""
    wanted = config.benchmarks[benchmark].tasks
    return not config.spec(benchmark).tasks[task].by_name if wanted is None else task in wanted


def left_out(config: Config, benchmark: str) -> list[str]:
    """Why tasks and protocols of ``benchmark`` are not run, a sentence or two for each."""
    wanted = (task for task in config.spec(benchmark).tasks if is_wanted(config, benchmark, task))
    reasons = {f"task {task}": missing_input(config, benchmark, task) for task in wanted}
    protocols = config.benchmarks[benchmark].protocols
    reasons |= {f"protocol {protocol}": missing_templates(config, benchmark, protocol) for protocol in protocols}
    return [f"{benchmark}: {what} is left out: {reason}" for what, reason in reasons.items() if reason]


def notes(config: Config, benchmark: str) -> list[str]:
    """What every start of a run says about ``benchmark``: what is left out, and the benchmark's own note."""
    note = config.spec(benchmark).note
    return [*left_out(config, benchmark), *([f"{benchmark}: {note}"] if note else [])]


def requirements(config: Config, benchmark: str, protocol: str, role: str = "") -> list[Need]:
    """What a protocol needs for the tasks that are asked and does not ship; for one step, if ``role`` names it."""
    options, asked = config.options(benchmark, protocol), set(tasks_asked(config, benchmark))
    return [
        need
        for need in config.spec(benchmark).requirements
        if getattr(options, need.option) == need.value
        and asked.intersection(need.tasks or asked)
        and role in ("", need.step)
    ]


def deviations(config: Config, models: list[str]) -> dict[str, str]:
    """Model -> how its requests deviate from the protocol, in words; those of ``models`` that do not are left out."""
    said = {model: getattr(config.models[model], "deviation", "") for model in models}
    return {model: words for model, words in said.items() if words}


def measured_data(config: Config, benchmark: str, protocol: str) -> str:
    """The key `data` of a run, or "own copy" if prompts come from a user's file that is not as printed."""
    run = config.benchmarks[benchmark]
    file = run.files.get(FILE, "")
    asks = file and any(need.file == FILE for need in requirements(config, benchmark, protocol))
    return "own copy" if asks and Path(file).is_file() and as_copied(file) else run.data


def missing_templates(config: Config, benchmark: str, protocol: str) -> str:
    """Why ``protocol`` is left out: prompt templates do not ship, and their file is not given; '' if it has all."""
    run = config.benchmarks[benchmark]
    for need in requirements(config, benchmark, protocol):
        if need.file and need.file not in run.files:
            return (
                f"it asks in words that do not ship. Copy {need.copied} into a file of yours and set "
                f"`benchmarks.{benchmark}.files.{need.file}`; docs/{run.benchmark}.md says under which names."
            )
    return ""


def templates(config: Config, benchmark: str, protocol: str, step: str) -> tuple[list[str], list[str]]:
    """The prompt templates of others that a step reads under a protocol: names of sources, and of the user's files."""
    needed = [need for need in requirements(config, benchmark, protocol, step) if not need.setting]
    sources = dict.fromkeys(need.source for need in needed if need.source)
    return list(sources), list(dict.fromkeys(need.file for need in needed if need.file))


def missing_input(config: Config, benchmark: str, task: str) -> str:
    """The input that ``task`` needs and the configuration does not give, in words; '' if it has all."""
    run, spec = config.benchmarks[benchmark], config.spec(benchmark)
    declared = spec.tasks[task]
    if declared.judged and not run.judge:
        return f"it needs a model that judges the answers. Set `benchmarks.{benchmark}.judge`."
    if declared.file and run.data in ("full", "released") and declared.file not in run.files:
        return (
            f"it needs {spec.files[declared.file]}, and the published data lack them. Set "
            f"`benchmarks.{benchmark}.files.{declared.file}`; docs/{run.benchmark}.md says how to make that file."
        )
    return ""


def is_ordered(config: Config, benchmark: str, protocol: str, task: str) -> bool:
    """Whether a judge is asked for the order of an item's parts before the requests of ``task`` are built."""
    ordered = config.spec(benchmark).tasks[task].ordered
    return ordered is not None and getattr(config.options(benchmark, protocol), ordered[0]) == ordered[1]


def data_files(config: Config, benchmark: str) -> dict[str, str]:
    """The user's own files that items of ``benchmark`` are read from, by name, without those for tables and prompts."""
    spec = config.spec(benchmark)
    others = {table.file for table in spec.tables.values()} | {need.file for need in spec.requirements}
    return {name: path for name, path in config.benchmarks[benchmark].files.items() if name not in others}


def user_file_names(config: Config, benchmark: str) -> list[str]:
    """Paths of the files below the user's folder of a benchmark; if the run constructs it, the files it will have."""
    folder = config.benchmarks[benchmark].folder or ""
    made = config.construction and os.path.normpath(folder) == os.path.normpath(
        f"{config.results}/construction/dataset"
    )
    return list(CONSTRUCTED_FILES) if made else names_in(folder)


def tables(config: Config, benchmark: str, protocol: str) -> list[str]:
    """Tables of ``benchmark`` that read the scores of at least one measured model, or a file or source that is there.

    One that reads a task asked ``by_name`` needs that task, unless it is the table of outcomes. One that is computed
    from print alone is about the published data, and is left out for other data.
    """
    spec, run = config.spec(benchmark), config.benchmarks[benchmark]
    answered = {task for model in models(config, benchmark, protocol) for task in tasks(config, benchmark, model)}

    def is_made(name: str, table: Table) -> bool:
        if table.file:
            return table.file in run.files
        if table.source or not table.tasks:
            return run.is_published
        by_name = {task for task in table.tasks if spec.tasks[task].by_name}
        return bool(answered.intersection(table.tasks)) and (name == OUTCOMES or by_name <= answered)

    return [name for name, table in spec.tables.items() if is_made(name, table)]


def figures(config: Config, benchmark: str, protocol: str) -> list[str]:
    """Figures of ``benchmark`` whose tables are all made."""
    made = set(tables(config, benchmark, protocol))
    return [name for name, figure in config.spec(benchmark).figures.items() if made.issuperset(figure.tables)]


def scores(config: Config, benchmark: str, protocol: str, table: str, chosen: list[str]) -> list[Scored]:
    """The scores that a table reads: those of the ``chosen`` models that have them."""
    wanted = config.spec(benchmark).tables[table].tasks
    return [
        Scored(model, benchmark, protocol, task)
        for model in chosen
        for task in tasks(config, benchmark, model)
        if task in wanted
    ]


def released_models(config: Config) -> list[str]:
    """Names of the models whose published outputs are imported."""
    return [name for name, entry in config.models.items() if stands_under(entry) == "released"]


def replicable_tables(config: Config) -> list[tuple[str, str]]:
    """(benchmark, table) that need no model: from released outputs, published data, or other printed tables.

    From released outputs, only tables with published numbers, or that a figure of the paper is drawn from.
    """
    released = {
        name
        for name, run in config.benchmarks.items()
        if "released" in run.protocols and any(tasks(config, name, model) for model in released_models(config))
    }
    drawn = {
        name: {
            table
            for figure in config.spec(name).figures.values()
            if "of the paper" in figure.caption
            for table in figure.tables
        }
        for name in config.benchmarks
    }
    return [
        (name, table)
        for name, run in config.benchmarks.items()
        if run.is_published
        for table, declared in config.spec(name).tables.items()
        if not declared.file
        and (not declared.tasks or (name in released and (declared.published or table in drawn[name])))
    ]


def compared_tables(config: Config, protocol: str, comparison: str) -> list[tuple[str, str]]:
    """(benchmark, table) that stand side by side in a ``comparison`` under a protocol."""
    configured = runs(config)
    return [
        (benchmark, table)
        for benchmark, table in COMPARED[comparison]
        if (benchmark, protocol) in configured and table in tables(config, benchmark, protocol)
    ]


def with_evidence(config: Config, protocol: str) -> list[str]:
    """Names of the benchmarks that are run under a protocol and whose scores are evidence."""
    return [name for name, each in runs(config) if each == protocol and has_evidence(config.benchmark(name))]


def measured_as_published(config: Config, protocol: str) -> list[str]:
    """The benchmarks that are measured on the same data and questions as their numbers in DBB's Tables 1 and 5."""
    if protocol != "paper":
        return []
    names = dict.fromkeys(benchmark for benchmark, _ in compared_tables(config, protocol, "scores"))
    every = {name: {c for task in config.spec(name).tasks.values() for c in task.categories} for name in names}
    return [
        name
        for name in names
        if config.benchmarks[name].is_published
        and set(config.benchmarks[name].categories or every[name]) == set(POPULATIONS.get(name, every[name]))
    ]


def matched_models(config: Config, protocol: str) -> list[str]:
    """Models that both DBB's choices and BBQ are run with under a protocol."""
    if not {("dbb", protocol), ("bbq", protocol)} <= set(runs(config)):
        return []
    asked = models(config, "bbq", protocol)
    return [m for m in models(config, "dbb", protocol) if m in asked and "MCQ" in tasks(config, "dbb", m)]


def comparisons(config: Config) -> Iterator[tuple[str, str]]:
    """(protocol, comparison) of every table across benchmarks: each needs two of them."""
    for protocol in dict.fromkeys(protocol for _, protocol in runs(config)):
        for comparison in COMPARISONS:
            if len({benchmark for benchmark, _ in compared_tables(config, protocol, comparison)}) > 1:
                yield protocol, comparison


def matches(config: Config) -> list[str]:
    """Protocols under which DBB's concepts stand beside BBQ's questions."""
    return [p for p in dict.fromkeys(protocol for _, protocol in runs(config)) if matched_models(config, p)]


#: Steps of a benchmark that an experiment does in process.
EXPERIMENT_STEPS: tuple[ReadingStep, ...] = ("requests", "judge", "scores", "tables")


def simulated_studies(config: Config) -> dict[str, Study]:
    """The studies that the section `simulation` names, or all of the configured benchmarks; none without a section."""
    if config.simulation is None:
        return {}
    known = load_studies()
    wanted = config.simulation.studies or [
        name for name, study in known.items() if study.benchmark in map(config.benchmark, config.benchmarks)
    ]
    return {name: known[name] for name in wanted}


def experiment_files(config: Config, paths: Paths) -> list[dict[str, Any]]:
    """Tree: the runs of every setting of every study, on each data set that is configured for the study's benchmark."""
    return [
        {
            "data": run.data,
            "study": study,
            "setting": setting,
            "runs": File(paths.experiment.format(benchmark=name, study=study, setting=setting)),
        }
        for study, declared in simulated_studies(config).items()
        for name, run in config.benchmarks.items()
        if run.benchmark == declared.benchmark
        for setting in declared.settings()
    ]
