"""The tasks of every model in a run, and why it does not do the others."""

from collections.abc import Collection, Container, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

from biasatlas.models.kinds import KINDS
from biasatlas.workflow import selection
from biasatlas.workflow.config import Config
from biasatlas.workflow.lookup import Lookup
from biasatlas.workflow.model_jobs import ModelJobs
from biasatlas.workflow.paths import File

#: Roles of a judge.
_JUDGES = ("judges", "orders")


class Planned(NamedTuple):
    """The requests of a benchmark's task to a ``model`` in a ``role``; ``reason`` is why it is not asked, '' if it is.

    Roles: "answers" (the model under test), "judges" (the answers of ``of``), "orders" (an item's parts, before
    requests are built), "parses" (the replies that could not be parsed, of all models and tasks).
    """

    model: str
    role: str
    benchmark: str
    protocol: str
    task: str
    of: str = ""
    reason: str = ""


def plan(config: Config, failed: Mapping[str, str] = MappingProxyType({})) -> list[Planned]:
    """A row for each model, benchmark, protocol and task, and for what is asked of judges.

    Models that ``failed`` their own check (model -> reason) are asked nothing.
    """
    rows: list[Planned] = []
    for benchmark, protocol in selection.runs(config):
        run, judge = config.benchmarks[benchmark], config.benchmarks[benchmark].judge or ""
        asked = selection.tasks_asked(config, benchmark)
        for model in run.models or config.models:
            for task in config.spec(benchmark).tasks:
                why = _why_not(config, benchmark, protocol, task, model)
                rows.append(Planned(model, "answers", benchmark, protocol, task, reason=why))
                if not why and config.spec(benchmark).tasks[task].judged:
                    rows.append(Planned(judge, "judges", benchmark, protocol, task, of=model))
        ordered = [task for task in asked if selection.is_ordered(config, benchmark, protocol, task)]
        rows += [Planned(judge, "orders", benchmark, protocol, task) for task in ordered]
        if run.parse_with:
            rows.append(Planned(run.parse_with, "parses", benchmark, protocol, ""))
    for benchmark, protocol in selection.framed_runs(config):
        for model in selection.models(config, benchmark, protocol):
            for task in selection.tasks(config, benchmark, model, protocol):
                rows.append(Planned(model, "answers", benchmark, protocol, task))
    return [row._replace(reason=row.reason or failed.get(row.model, "")) for row in rows]


def _why_not(config: Config, benchmark: str, protocol: str, task: str, model: str) -> str:
    """Why ``model`` does not do ``task``, '' if it does."""
    if not selection.is_wanted(config, benchmark, task):
        return "the configuration does not ask for it"
    if missing := selection.missing_input(config, benchmark, task):
        return missing
    if not selection.categories(config, benchmark, task):
        return "it has none of the categories that are asked for"
    kind, only = KINDS[config.models[model].kind], selection.stands_under(config.models[model])
    if only not in (None, protocol):
        return f"a model of kind {kind.name} answers under the protocol {only} alone"
    if task not in selection.tasks(config, benchmark, model):
        return f"as its entry stands, a model of kind {kind.name} does not answer such requests"
    return ""


def check_tree(find: Lookup, jobs: ModelJobs, construction: str, failed: Container[str] = ()) -> dict[str, Any]:
    """Tree: what the check of a run counts: checked models, requests, and files that judges' requests are made from.

    Models that ``failed`` their own check have no file of it. ``construction`` is the path of a construction's costs,
    '' without one.
    """
    config, paths = find.config, find.paths
    planned = plan(config)
    # Requests that can be counted before any judge is asked.
    counted = dict.fromkeys(
        (row.benchmark, row.protocol, row.task)
        for row in planned
        if row.role == "answers"
        and not row.reason
        and not selection.is_ordered(config, row.benchmark, row.protocol, row.task)
    )
    judged = dict.fromkeys(row.benchmark for row in planned if row.role in _JUDGES)
    fetched = [name for name in jobs.prepared_by("fetched") if name not in failed]
    rounds = [name for name in selection.in_rounds(config) if any(name == each for each, *_ in counted)]
    return {
        "checked": {name: File(paths.checked.format(model=name)) for name in jobs.checked if name not in failed},
        "fetched": {name: File(paths.fetched.format(model=name)) for name in fetched},
        "requests": {
            (name, protocol, task): File(paths.requests.format(benchmark=name, protocol=protocol, task=task))
            for name, protocol, task in counted
        },
        "items": {name: File(paths.items.format(benchmark=name)) for name in [*judged, *rounds]},
        "resources": {(w.benchmark, w.protocol): find.resources("judge")(w) for w in _runs_of(find, judged)},
        "construction": File(construction) if construction else "",
    }


def asked_with(find: Lookup) -> list[str]:
    """Digests of the shipped files that judges' requests are made from."""
    judged = {row.benchmark for row in plan(find.config) if row.role in _JUDGES}
    return [find.said("judge")(w) for w in _runs_of(find, judged)]


def _runs_of(find: Lookup, benchmarks: Collection[str]) -> list[SimpleNamespace]:
    runs = [SimpleNamespace(benchmark=name, protocol=protocol) for name, protocol in find.targets.runs]
    return [each for each in runs if each.benchmark in benchmarks]
