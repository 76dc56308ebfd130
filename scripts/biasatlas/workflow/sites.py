"""The tree of the report: every file that a page shows or opens, by what it is, and what stands beside it."""

from typing import Any

from biasatlas.benchmarks.comparisons.declared import CAPTIONS, COMPARISONS, FIGURE_CAPTIONS, MATCHES
from biasatlas.models.kinds import KINDS
from biasatlas.stages import fields_affecting
from biasatlas.workflow import failures, selection
from biasatlas.workflow.paths import File
from biasatlas.workflow.selection import Scored
from biasatlas.workflow.targets import Crossing, Targets


def site_tree(targets: Targets) -> dict[str, Any]:
    """What the site of a run is made from, as :class:`biasatlas.report.run.Study` has it."""
    config, paths = targets.config, targets.paths
    return {
        "runs": [_run(targets, name, protocol) for name, protocol in targets.runs],
        "models": {name: fields_affecting(entry, "tables") for name, entry in config.models.items()},
        "comparisons": [_comparison(targets, key) for key in targets.comparisons],
        "paid": _paid(targets),
        "missing": _missing(targets),
        "replication": File(paths.replication) if targets.exists(paths.replication) else "",
        "claims": File(paths.claims) if targets.exists(paths.claims) else "",
        "summaries": list(map(File, targets.all_summaries())),
        "contributions": {
            key.protocol: File(paths.contributions.format(protocol=key.protocol))
            for key in targets.comparisons
            if (key.kind, key.comparison) == ("table", "findings")
        },
    }


def _run(targets: Targets, name: str, protocol: str) -> dict[str, Any]:
    """A benchmark under a protocol."""
    config, paths, key = targets.config, targets.paths, {"benchmark": name, "protocol": protocol}
    tasks: dict[str, list] = {}
    for score in targets.evidence:
        if (score.benchmark, score.protocol) == (name, protocol):
            tasks.setdefault(score.task, []).append(_answers(targets, score))
    return {
        "name": name,
        "protocol": protocol,
        "benchmark": config.benchmark(name),
        "data": selection.measured_data(config, name, protocol),
        "left_out": [
            *selection.left_out(config, name),
            *(
                f"{model} is {said}."
                for model, said in selection.deviations(config, selection.models(config, name, protocol)).items()
            ),
        ],
        "tables": {
            t: File(paths.table.format(**key, table=t)) for n, p, t in targets.tables if (n, p) == (name, protocol)
        },
        "figures": {
            f: File(paths.figure.format(**key, figure=f)) for n, p, f in targets.figures if (n, p) == (name, protocol)
        },
        "items": File(paths.items.format(**key)) if tasks else "",
        "in_rounds": name in selection.in_rounds(config),
        "asked": [
            {"task": task, "requests": File(paths.requests.format(**key, task=task)), "answers": answers}
            for task, answers in tasks.items()
        ],
    }


def _answers(targets: Targets, key: Scored) -> dict[str, Any]:
    """A model's answers to one task, and what was made of them."""
    paths, names = targets.paths, key._asdict()
    judged = targets.config.spec(key.benchmark).tasks[key.task].judged
    tokens = paths.tokens.format(**names)
    return {
        "model": key.model,
        "scores": File(paths.task_scores.format(**names)),
        "responses": File(paths.responses.format(**names)),
        "judged": tuple(File(path.format(**names)) for path in (paths.judge_requests, paths.judgements))
        if judged
        else None,
        "tokens": File(tokens) if targets.exists(tokens) else "",
    }


def _comparison(targets: Targets, key: Crossing) -> dict[str, Any]:
    """A table or figure across benchmarks."""
    captions = {("table", name): caption for name, caption in (COMPARISONS | CAPTIONS).items()} | MATCHES
    captions |= {("figure", name): caption for name, caption in FIGURE_CAPTIONS.items()}
    return {
        "kind": key.kind,
        "protocol": key.protocol,
        "name": key.comparison,
        "caption": captions.get((key.kind, key.comparison), key.comparison.replace("_", " ").capitalize()),
        "path": File(targets.comparison_path(key)),
    }


def _paid(targets: Targets) -> dict[str, list[dict[str, Any]]]:
    """Endpoint -> the responses, judgements and orders that it was paid for, as the model under test or as a judge.

    Several models and protocols may share one file, which was paid for once.
    """
    config, paths = targets.config, targets.paths
    rows: list[tuple[str, str, str]] = []
    for benchmark, protocol in targets.runs + targets.framed:
        judge, declared = config.benchmarks[benchmark].judge or "", config.spec(benchmark).tasks
        for model in selection.models(config, benchmark, protocol):
            for task in selection.tasks(config, benchmark, model, protocol):
                names = {"model": model, "benchmark": benchmark, "protocol": protocol, "task": task}
                rows.append((model, task, paths.responses.format(**names)))
                if declared[task].judged:
                    rows.append((judge, task, paths.judgements.format(**names)))
                if selection.is_ordered(config, benchmark, protocol, task):
                    rows.append((judge, task, paths.orders.format(**names)))
    paid: dict[str, list] = {}
    for payer, task, path in dict.fromkeys(rows):
        if KINDS[config.models[payer].kind].calls_api and (not targets.partial or targets.exists(path)):
            paid.setdefault(payer, []).append({"task": task, "path": File(path)})
    return paid


def _missing(targets: Targets) -> list[str]:
    """What the report cannot show since jobs failed, a sentence each."""
    if not targets.partial:
        return []
    results = failures.results(targets.config, targets.paths) if targets.partial == "report" else []
    return failures.gaps(targets.config, targets.paths, results, targets.exists)
