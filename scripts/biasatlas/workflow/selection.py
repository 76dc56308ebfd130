"""What a configuration asks for: which model answers which tasks of which benchmark under which protocol."""

from collections.abc import Iterator
from typing import Any

from biasatlas.workflow.config import Config, answered_kinds, load_benchmark
from biasatlas.errors import UserError


def runs(config: Config) -> Iterator[tuple[str, str]]:
    """Every configured (benchmark, protocol)."""
    for benchmark, run in config.benchmarks.items():
        for protocol in run.protocols:
            yield benchmark, protocol


def models(config: Config, benchmark: str, protocol: str) -> list[str]:
    """Models measured on ``benchmark`` under ``protocol``; published outputs exist under ``released`` alone."""
    chosen = config.benchmarks[benchmark].models or list(config.models)
    return [
        name
        for name in chosen
        if tasks(config, benchmark, name) and (config.models[name].kind != "released" or protocol == "released")
    ]


def tasks(config: Config, benchmark: str, model: str) -> list[str]:
    """Tasks of ``benchmark`` that ``model`` can answer and the configuration asks for; what it cannot is not applicable."""
    spec, entry = load_benchmark(benchmark), config.models[model]
    if entry.kind == "released":
        answered = spec.released_tasks if entry.benchmark == benchmark else ()
    elif entry.kind == "masked":
        answered = [name for name, task in spec.tasks.items() if task.masked]
    else:
        kinds = answered_kinds(entry)
        answered = [name for name, task in spec.tasks.items() if task.kind in kinds]
    return [task for task in answered if categories(config, benchmark, task)]


def categories(config: Config, benchmark: str, task: str) -> list[str]:
    """Categories of ``task`` that the configuration asks for, in the benchmark's order."""
    run, declared = config.benchmarks[benchmark], load_benchmark(benchmark).tasks[task]
    if _left_out(config, benchmark, task):
        return []
    return [category for category in declared.categories if run.categories is None or category in run.categories]


def _left_out(config: Config, benchmark: str, task: str) -> str:
    """What ``task`` cannot do without and the configuration does not give, in words; '' where nothing is amiss."""
    run, spec = config.benchmarks[benchmark], load_benchmark(benchmark)
    declared = spec.tasks[task]
    if declared.judged and not run.judge:
        return f"it needs a model that judges the answers. Set `benchmarks.{benchmark}.judge`."
    if declared.file and run.data == "full" and declared.file not in run.files:
        return (
            f"it needs {spec.files[declared.file]}, and the published data lack them. Set "
            f"`benchmarks.{benchmark}.files.{declared.file}`; docs/{benchmark}.md says how to make that file."
        )
    return ""


def left_out(config: Config, benchmark: str) -> list[str]:
    """Why tasks of ``benchmark`` are not run, a sentence or two for each."""
    found = {task: _left_out(config, benchmark, task) for task in load_benchmark(benchmark).tasks}
    return [f"{benchmark}: task {task} is left out: {reason}" for task, reason in found.items() if reason]


def ordered(benchmark: str, task: str, options: dict[str, Any]) -> bool:
    """Whether a judge is asked for the order of an item's parts before the requests of ``task`` are built."""
    asks = load_benchmark(benchmark).tasks[task].ordered
    return asks is not None and options[asks[0]] == asks[1]


def check_judges(config: Config, protocols: dict[tuple[str, str], dict[str, Any]]) -> None:
    """Raise UserError where a protocol asks a judge for an order and the configuration names none."""
    for (benchmark, protocol), options in protocols.items():
        for name, task in load_benchmark(benchmark).tasks.items():
            if ordered(benchmark, name, options) and not config.benchmarks[benchmark].judge:
                option, value = task.ordered
                raise UserError(
                    f"benchmarks.{benchmark}.judge: this key is needed and not there: protocol {protocol!r} has "
                    f"`{option}: {value}`. Name one of the configured models, or choose another protocol."
                )


def data_files(config: Config, benchmark: str) -> dict[str, str]:
    """The user's own files that items of ``benchmark`` are read from, by name; the others are tables'."""
    tabled = {table.file for table in load_benchmark(benchmark).tables.values()}
    return {name: path for name, path in config.benchmarks[benchmark].files.items() if name not in tabled}


def tables(config: Config, benchmark: str, protocol: str) -> list[str]:
    """Tables of ``benchmark`` that read the scores of at least one measured model, a file that is given, or neither."""
    spec, files = load_benchmark(benchmark), config.benchmarks[benchmark].files
    answered = {task for model in models(config, benchmark, protocol) for task in tasks(config, benchmark, model)}
    return [
        name
        for name, table in spec.tables.items()
        if (table.file in files if table.file else not table.tasks or answered.intersection(table.tasks))
    ]


def figures(config: Config, benchmark: str, protocol: str) -> list[str]:
    """Figures of ``benchmark`` whose tables are all made."""
    made = set(tables(config, benchmark, protocol))
    return [name for name, figure in load_benchmark(benchmark).figures.items() if made.issuperset(figure.tables)]
