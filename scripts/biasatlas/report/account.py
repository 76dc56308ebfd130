"""What the pages say of a study's data sets, and of its answers: how many were asked for, stored and paid for."""

from collections.abc import Mapping, Sequence
from typing import Any

from biasatlas.benchmarks.contract import LANGUAGES
from biasatlas.benchmarks.shared.audit import audit
from biasatlas.files import count_rows, read_metadata, read_parquet
from biasatlas.report.run import Run, Study

#: Columns that may say which group of people an item is about; the first that a benchmark has does.
_GROUPS = ("category", "target_group", "group")
#: Counts in the metadata of an endpoint's answers.
_COUNTS = ("calls", "failed", "prompt_tokens", "completion_tokens", "cost")


def data_sets(study: Study) -> list[dict[str, Any]]:
    """For each data set of a study that any model answered: its items by category, its files, its requests, and what an
    audit finds odd in it."""
    first = {run.name: run for run in reversed(study.runs) if run.items}
    return [_data_set(run, [each for each in study.runs if each.name == run.name]) for run in reversed(first.values())]


def _data_set(run: Run, runs: Sequence[Run]) -> dict[str, Any]:
    items = read_parquet(run.items)
    column = next((name for name in _GROUPS if name in items), "")
    counts = items[column].value_counts(sort=False).items() if column else ()
    return {
        "title": run.title,
        "page": f"{run.key}.html",
        "data": {"full": "published", "sample": "a small sample of our own"}.get(run.data, run.data),
        "language": LANGUAGES[run.spec.language],
        "citation": run.spec.citation,
        "items": len(items),
        "counts": [(str(name).replace("_", " "), count) for name, count in counts],
        "files": list(read_metadata(run.items).get("files", {}).items()),
        "most": "at most " * run.in_rounds,
        "requests": [
            (each.protocol, asked.task.replace("_", " "), count_rows(asked.requests))
            for each in runs
            for asked in each.asked
        ],
        "odd": audit(items),
        "left_out": list(dict.fromkeys(sentence for each in runs for sentence in each.left_out)),
    }


def cost(study: Study) -> dict[str, Any]:
    """What each model was asked on each benchmark, how many answers are stored, and what the endpoints were paid."""
    rows = []
    for run in study.runs:
        requests: dict[str, int] = {}
        stored: dict[str, dict[str, Mapping[str, Any]]] = {}
        for asked in run.asked:
            for answered in asked.answers:
                requests[answered.model] = requests.get(answered.model, 0) + count_rows(asked.requests)
                stored.setdefault(answered.model, {})[answered.responses] = read_metadata(answered.responses)
        for model, files in stored.items():
            tasks = [task for metadata in files.values() for task in metadata.values() if "calls" in task]
            taken: dict[str, Any] = {
                "model": model,
                "benchmark": run.title,
                "protocol": run.protocol,
                "page": f"{run.key}.html",
            }
            taken |= {"requests": requests[model], "answers": sum(map(count_rows, files))}
            rows.append(taken | {"paid": spent(model, tasks) if tasks else None})
    return {"paid": [spent(model, answers) for model, answers in study.paid.items()], "rows": rows}


def spent(model: str, answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What an endpoint's answers cost, in its currency, their numbers of calls and tokens, and warnings about them."""
    return {name: sum(answer[name] for answer in answers) for name in _COUNTS} | {
        "model": model,
        "currency": answers[0]["currency"],
        "warnings": sorted({warning for answer in answers for warning in answer.get("warnings", ())}),
    }
