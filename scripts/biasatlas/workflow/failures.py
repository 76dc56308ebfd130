"""After a failure: a run whose job failed goes on with the tables, figures and report of all that did not fail.

The same workflow runs once more, as a child of the failed run (:func:`go_on`). In it, input functions leave out
missing files (:func:`steps`), and the report says what is missing and why (:func:`gaps`).
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from biasatlas.benchmarks.comparisons.declared import MATCHES
from biasatlas.benchmarks.contract import OUTCOMES
from biasatlas.models.kinds import KINDS
from biasatlas.progress import ENDED
from biasatlas.workflow import selection
from biasatlas.workflow.config import Config
from biasatlas.workflow.paths import WEIGHT_FILES, Paths
from biasatlas.workflow.selection import Scored

#: LEVEL is the environment variable with a run's level, _NEXT the level after each: "tables" makes all tables and
#: figures that can still be made; if one of them fails, "report" reports those that are there.
#: A run at the level ``CHECK`` checks the models that did not fail.
LEVEL, CHECK = "BIASATLAS_PARTIAL", "check"
_NEXT = {"": "tables", "tables": "report"}

#: What Snakemake prints if jobs failed; after an interruption it prints something else.
_FAILED = "Exiting because a job execution failed"

#: The reason given for a job whose log has neither an error nor an end: only its Snakemake process knows how it ended.
KILLED = (
    "it ended without a word: killed, most often for want of memory, or crashed. Run again, with more memory: stored "
    "answers are kept"
)

#: The reason given if, instead, the log's disk is full: the job could not log its error.
FULL = "the disk is full. Free some space and run again: stored answers are kept"
_ROOM = 1 << 20

#: Flags that would make everything again: those without names, and those with.
_FORCE, _FORCE_NAMED = {"-F", "--forceall", "-f", "--force"}, {"-R", "--forcerun"}

#: A file and the log of the job that makes it.
Step = tuple[str, str]


def steps(config: Config, paths: Paths, score: Scored) -> Iterator[Step]:
    """All files behind scores, first to last, with logs: a file that exists is current only if all of them exist."""
    names = score._asdict()

    def step(path: str, rule: str, *wildcards: str, **others: str) -> Step:
        values = names | others
        return path.format(**values), paths.log(rule, *wildcards).format(**values)

    benchmark, task = score.benchmark, config.spec(score.benchmark).tasks[score.task]
    judge = config.benchmarks[benchmark].judge
    for source in config.spec(benchmark).sources_of(config.benchmarks[benchmark].data):
        yield step(paths.source, "fetch_source", "source", source=source)
    yield step(paths.items, "read_items", "benchmark")
    if judge and selection.is_ordered(config, benchmark, score.protocol, score.task):
        yield from _ready(config, paths, judge, benchmark)
        yield step(paths.orders, "order_contexts", "benchmark", "task")
    yield step(paths.requests, "build_requests", "benchmark", "protocol", "task")
    yield from _ready(config, paths, score.model, benchmark)
    answered = ("model", "benchmark", "protocol")
    count = getattr(config.models[score.model], "shards", 1)
    for number in range(count if count > 1 else 0):
        yield step(paths.shard, "answer_shard", *answered, "shard", shard=f"{number + 1}-of-{count}")
    yield step(paths.responses, "gather_responses" if count > 1 else "answer_requests", *answered)
    if judge and task.judged:
        yield from _ready(config, paths, judge, benchmark)
        yield step(paths.judgements, "judge_responses", *answered, "task")
    yield step(paths.task_scores, "score_responses", *answered, "task")


def _ready(config: Config, paths: Paths, model: str, benchmark: str) -> Iterator[Step]:
    """The files that a model needs before it can answer, with logs."""
    entry = config.models[model]
    kind = KINDS[entry.kind]
    match kind.ready(entry):
        case "weights":
            spec = config.spec(benchmark)
            rule_name, path, corpus = "train_planted", paths.weights, {"language": spec.language}
            if spec.taught_by_questions:
                rule_name, path, corpus = "train_on_questions", paths.taught, {"benchmark": benchmark}
            names = {"model": model} | corpus
            yield path.format(file=WEIGHT_FILES[0], **names), paths.log(rule_name, *names).format(**names)
        case "fetched":
            yield paths.fetched.format(model=model), paths.log("fetch_model", "model").format(model=model)
    if kind.check:
        yield paths.checked.format(model=model), paths.log("check_model", "model").format(model=model)
    if kind.calls_api and config.max_cost is not None:
        yield paths.accepted, paths.log("check_cost")


def results(config: Config, paths: Paths) -> Iterator[tuple[str, Step]]:
    """Every table and figure of the benchmarks, and of their comparison, with its name."""
    for benchmark, protocol in selection.runs(config):
        names = {"benchmark": benchmark, "protocol": protocol}
        for table in selection.tables(config, benchmark, protocol):
            wildcards = ("benchmark", "protocol") if table == OUTCOMES else ("benchmark", "protocol", "table")
            rule_name = "summarise_outcomes" if table == OUTCOMES else "summarise_scores"
            log = paths.log(rule_name, *wildcards).format(**names, table=table)
            yield f"table {table} of {benchmark} ({protocol})", (paths.table.format(**names, table=table), log)
        for figure in selection.figures(config, benchmark, protocol):
            log = paths.log("draw_figure", "benchmark", "protocol", "figure").format(**names, figure=figure)
            yield f"figure {figure} of {benchmark} ({protocol})", (paths.figure.format(**names, figure=figure), log)
    for protocol, name in selection.comparisons(config):
        log = paths.log("compare_benchmarks", "protocol", "comparison").format(protocol=protocol, comparison=name)
        yield f"comparison {name} ({protocol})", (paths.comparison.format(protocol=protocol, comparison=name), log)
    compared = [(protocol, "compare_dbb_bbq", "dbb_bbq") for protocol in selection.matches(config)]
    for protocol in dict.fromkeys(protocol for _, protocol in selection.runs(config)):
        if selection.with_evidence(config, protocol):
            compared.append((protocol, "compare_models", "findings"))
    for protocol, rule, name in compared:
        log = paths.log(rule, "protocol").format(protocol=protocol)
        yield f"{rule} ({protocol})", (paths.comparison.format(protocol=protocol, comparison=name), log)
    for protocol in selection.matches(config):
        for name in (name for kind, name in MATCHES if kind == "figure"):
            names = {"protocol": protocol, "comparison": name}
            log = paths.log("draw_comparison", "protocol", "comparison").format(**names)
            yield f"figure {name} ({protocol})", (paths.comparison_figure.format(**names), log)


def gaps(config: Config, paths: Paths, results: Iterable[tuple[str, Step]], exists: Callable[[str], bool]) -> list[str]:
    """A sentence on every model that is missing somewhere, and on each of the ``results`` (name, step) that failed."""
    missing: dict[tuple[str, str], list[str]] = {}
    for benchmark, protocol in selection.runs(config) + selection.framed_runs(config):
        for model in selection.models(config, benchmark, protocol):
            for task in selection.tasks(config, benchmark, model, protocol):
                made = steps(config, paths, Scored(model, benchmark, protocol, task))
                if lost := next((log for path, log in made if not exists(path)), ""):
                    missing.setdefault((f"model {model}", lost), []).append(f"{benchmark} ({protocol}) {task}")
    sentences = [
        f"{name} in {', '.join(places)}: {reason(log) or f'it was not made; {log}, if its job began, says why'}"
        for (name, log), places in missing.items()
    ]
    failed = [(name, why) for name, (path, log) in results if not exists(path) and (why := reason(log))]
    return sentences + [f"{name}: {why}" for name, why in failed]


def reason(log: str) -> str:
    """Why the job of a ``log`` failed: the first line of its error, or that it left none; '' if it did not fail.

    A log without our lines, such as a pod's, gives its line ``error: ...`` or else its last line.
    """
    path = Path(re.sub(r"^(\w+)://", r".snakemake/storage/\1/", log))  # Snakemake's local copy of a stored log
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else f"00:00:00 {ENDED}"
    if text.strip() and not re.search("^[0-9:]{8} ", text, flags=re.MULTILINE):
        said = re.search("^error: (.*)", text, flags=re.MULTILINE)
        return said[1] if said else text.strip().splitlines()[-1]
    end = re.search(rf"^[0-9:]{{8}} (?:error: (.*)|{ENDED}$)", text, flags=re.MULTILINE)
    if end:
        return end[1] or ""
    return f"{path.parent}: {FULL}" if shutil.disk_usage(path.parent).free < _ROOM else KILLED


def unchecked(config: Config, paths: Paths, exists: Callable[[str], bool]) -> dict[str, str]:
    """Model -> why the check of a run leaves it out: it could not be fetched, or failed its own check."""
    benchmark = next(iter(config.benchmarks))
    ready = [(name, *step) for name in config.models for step in _ready(config, paths, name, benchmark)]
    return {
        name: f"it failed: {log} says why"
        for name, path, log in reversed(ready)
        if re.search("/(check|fetch)_model/", log) and not exists(path)
    }


def go_on(logs: Iterable[str], arguments: Sequence[str]) -> None:
    """Run the workflow once more with the same ``arguments``, if jobs failed according to Snakemake's ``logs``.

    Does nothing after an interruption, after the last level, or if no table, figure or report was wanted.
    """
    said = "\n".join(Path(log).read_text(encoding="utf-8", errors="replace") for log in logs)
    level = os.environ.get(LEVEL, "")
    wanted = re.search(r"^(summarise_scores|draw_figure|write_report) ", said, flags=re.MULTILINE)
    if level not in _NEXT or _FAILED not in said or not wanted:
        return
    print("note: jobs failed; going on with the tables, figures and report of what is there", file=sys.stderr)
    command = [sys.executable, "-P", "-m", "snakemake", "--nolock", "--keep-going", *_without_force(arguments)]
    subprocess.run(command, env=os.environ | {LEVEL: _NEXT[level]}, cwd=_called_in(arguments), check=False)


def _called_in(arguments: Sequence[str]) -> str:
    """The folder that paths in ``arguments`` start from; Snakemake has since changed to that of ``--directory``."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("-d", "--directory", default=".")
    folder = os.environ.get("PWD", ".")
    directory = parser.parse_known_args(arguments)[0].directory
    return folder if Path(folder, directory).resolve() == Path.cwd() else "."


def _without_force(arguments: Sequence[str]) -> Iterator[str]:
    named = False
    for argument in arguments:
        named = argument in _FORCE_NAMED or (named and not argument.startswith("-"))
        if not named and argument not in _FORCE:
            yield argument
