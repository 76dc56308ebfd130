"""The replies of a finished run: a table of what they came to, every unread one, and readings by another reader."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared import replies as kit
from biasatlas.benchmarks.shared.readers import Reader
from biasatlas.errors import UserError
from biasatlas.files import read_parquet, write_csv
from biasatlas.validation import nearest

_KEYS = ["model", "benchmark", "protocol", "task"]


def sampled(results: Path) -> Iterator[tuple[dict[str, str], pd.DataFrame, pd.DataFrame]]:
    """Keys, replies and items of every sampled task below ``results``; a judge's replies are those of ``{task} judge``."""
    for path in sorted(results.glob("responses/*/*/*.parquet")):
        keys = dict(zip(_KEYS[:3], (*path.relative_to(results / "responses").parts[:2], path.stem), strict=True))
        items = read_parquet(results / "items" / f"{keys['benchmark']}.parquet")
        responses = read_parquet(path)
        for task, part in responses.groupby("task", sort=False):
            asked = results / "requests" / keys["benchmark"] / keys["protocol"] / f"{task}.parquet"
            yield keys | {"task": task}, kit.sampled_replies(read_parquet(asked), part), items
    for path in sorted(results.glob("judge/responses/*/*/*/*.parquet")):
        parts = path.relative_to(results / "judge" / "responses").with_suffix("").parts
        keys = dict(zip(_KEYS, (*parts[:3], f"{parts[3]} judge"), strict=True))
        items = read_parquet(results / "items" / f"{keys['benchmark']}.parquet")
        requests = read_parquet(results.joinpath("judge", "requests", *parts).with_suffix(".parquet"))
        yield keys, kit.sampled_replies(requests, read_parquet(path)), items


def _readers() -> dict[str, Reader]:
    """The readers of all benchmarks: a run may give a benchmark another name."""
    return {
        name: reader for benchmark in registry.benchmark_names() for name, reader in registry.readers(benchmark).items()
    }


def summary(results: Path, examples: int) -> str:
    """Write the tables of ``results``/replies, and return what a person should see of them."""
    tables: dict[str, list[pd.DataFrame]] = {name: [] for name in ("table", "unread", "groups", "bounds")}
    for keys, replies, items in sampled(results):
        if not len(replies):
            continue
        found = kit.read(replies, _readers())
        parts = {
            "table": pd.DataFrame([kit.counts(found) | _disagreement(found)]),
            "unread": kit.unread(found)[["outcome", "form", "request_id", "repeat", "text"]],
            "groups": kit.by_group(found, items),
            "bounds": kit.bounds(found, items),
        }
        for name, part in parts.items():
            tables[name].append(pd.DataFrame([keys], index=part.index).join(part) if len(part) else part)
    if not tables["table"]:
        raise UserError(f"{results}: no sampled replies: expected responses of tasks that were sampled.")
    whole = {name: pd.concat(parts, ignore_index=True) for name, parts in tables.items()}
    for name, table in whole.items():
        write_csv(table, results / "replies" / f"{name}.csv")
    shown = [whole["table"].to_string(index=False), *_examples(whole["unread"], examples)]
    differ = whole["groups"]
    if len(differ) and (differ["p_value"] < 0.05).any():
        shown += ["Groups differ in how many replies could not be read (Kruskal-Wallis over items, p < 0.05):"]
        shown += [differ[differ["p_value"] < 0.05].to_string(index=False)]
    if len(whole["bounds"]):
        shown += ["Share of each answer (%): if no unread reply gave it, of those read, if all did:"]
        shown += [whole["bounds"].round(1).to_string(index=False)]
    return "\n\n".join(shown)


def _disagreement(found: pd.DataFrame) -> dict[str, float]:
    """Percentage of the requests with several replies whose readings are not all the same: of a judge at temperature 0,
    how often it contradicts itself. Missing where each request has one reply."""
    readings = found["found"].fillna(found["outcome"]).groupby(found["request_id"])
    several = readings.size() > 1
    return {"disagreement_percent": 100 * (readings.nunique()[several] > 1).mean() if several.any() else float("nan")}


def _examples(unread: pd.DataFrame, examples: int) -> Iterator[str]:
    if not len(unread):
        return
    for (outcome, form), rows in unread.groupby(["outcome", "form"], sort=False):
        texts = rows["text"].value_counts().head(examples)
        lines = [f"{n:>6}  {text[:100]!r}" for text, n in texts.items()]
        yield "\n".join([f"{outcome}, {form}: {len(rows)}", *lines])


def reread(results: Path, reader: str, examples: int) -> str:
    """Read the replies of ``results`` with ``reader``: what changes, as text; all changes in replies/changes.csv."""
    readers = _readers()
    if reader not in readers:
        raise UserError(f"--reader {reader}: there is no such reader{nearest(reader, readers)}.")
    changes, shown = [], []
    for keys, replies, _ in sampled(results):
        if not len(replies):
            continue
        before, after = kit.read(replies, readers), kit.read(replies, readers, reader)
        was, now = (part["found"].fillna(part["outcome"]) for part in (before, after))
        changed = replies.assign(was=was, now=now)[was != now]
        shown.append(f"{' '.join(keys.values())}: {len(changed)} of {len(replies)} replies are read otherwise")
        pairs = changed.groupby(["was", "now"])["text"]
        shown += [f"  {a} -> {b}: {len(texts)}, as {texts.iloc[0][:80]!r}" for (a, b), texts in pairs][:examples]
        columns = changed[["request_id", "repeat", "reader", "was", "now", "text"]]
        changes.append(pd.DataFrame([keys], index=columns.index).join(columns))
    if not shown:
        raise UserError(f"{results}: no sampled replies: expected responses of tasks that were sampled.")
    write_csv(pd.concat(changes, ignore_index=True), results / "replies" / "changes.csv")
    return "\n".join(shown)
