"""The replies of a finished run, parsed by another parser; no model is asked."""

import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared import replies as kit
from biasatlas.benchmarks.shared.parsing.named import Parser
from biasatlas.benchmarks.shared.parsing.options import asked_options
from biasatlas.errors import UserError
from biasatlas.files import atomic_file, read_asked, read_parquet, read_responses, write_csv
from biasatlas.validation import nearest

_KEYS = ["model", "benchmark", "protocol", "task"]


def _answered(results: Path) -> Iterator[tuple[dict[str, str], pd.DataFrame, pd.DataFrame]]:
    """Keys, requests and responses of every task below ``results``; a judge's are those of ``{task} judge``."""
    for path in sorted(results.glob("responses/*/*/*.parquet")):
        keys = dict(zip(_KEYS[:3], (*path.relative_to(results / "responses").parts[:2], path.stem), strict=True))
        for task in read_parquet(path)["task"].unique():
            asked = results / "requests" / keys["benchmark"] / keys["protocol"] / f"{task}.parquet"
            yield keys | {"task": task}, read_asked(asked), read_responses(path, task)
    for path in sorted(results.glob("judge/responses/*/*/*/*.parquet")):
        parts = path.relative_to(results / "judge" / "responses").with_suffix("").parts
        requests = read_asked(results.joinpath("judge", "requests", *parts).with_suffix(".parquet"))
        yield dict(zip(_KEYS, (*parts[:3], f"{parts[3]} judge"), strict=True)), requests, read_responses(path, parts[3])


def _all_parsers() -> dict[str, Parser]:
    """The parsers of all benchmarks: a run may give a benchmark another name."""
    return {
        name: parser for benchmark in registry.benchmark_names() for name, parser in registry.parsers(benchmark).items()
    }


def reparse_replies(results: Path, parser: str, examples: int) -> str:
    """Parse the replies of ``results`` with ``parser``: what changes, as text; all changes in replies/changes.csv."""
    parsers = _all_parsers()
    if parser not in parsers:
        raise UserError(f"parser {parser!r}: there is no such parser{nearest(parser, parsers)}")
    changes, shown = [], []
    for keys, requests, responses in _answered(results):
        kind, before = kit.answers(requests, responses, parsers)
        if kind != "replies" or not before["parser"].notna().any():
            continue
        after = kit.answers(requests, responses, parsers, parser)[1]
        was, now = (part["found"].fillna(part["outcome"]) for part in (before, after))
        changed = before.assign(was=was, now=now)[was != now]
        shown.append(f"{' '.join(keys.values())}: {len(changed)} of {len(before)} replies are parsed differently")
        pairs = changed.groupby(["was", "now"])["text"]
        shown += [f"  {a} -> {b}: {len(texts)}, as {texts.iloc[0][:80]!r}" for (a, b), texts in pairs][:examples]
        columns = changed[["request_id", "repeat", "parser", "was", "now", "text"]]
        changes.append(pd.DataFrame([keys], index=columns.index).join(columns))
    if not shown:
        raise UserError(f"{results}: no sampled replies: expected responses of tasks that were sampled.")
    write_csv(pd.concat(changes, ignore_index=True), results / "replies" / "changes.csv")
    return "\n".join(shown)


def unparsed(results: Path, most: int) -> str:
    """The replies of ``results`` that give no answer, by form, as text, the ``most`` frequent of each.

    All of them go to replies/unparsed.jsonl, one a line, with an empty ``truth``: as rows of tests/replies, to label.
    """
    parsers = _all_parsers()
    shown, rows, sampled = [], [], 0
    for keys, requests, responses in _answered(results):
        kind, found = kit.answers(requests, responses, parsers)
        if kind != "replies":
            continue
        sampled += len(found)
        rest = kit.unparsed(found)
        if len(rest):
            shown.append(f"{' '.join(keys.values())}: {len(rest)} of {len(found)}\n\n{kit.examples(rest, most)}")
        asked = found.set_index(["request_id", "repeat"])[["parser", "labels", "options"]]
        for row in rest.itertuples():
            parser, labels, given = asked.loc[(row.request_id, row.repeat)]
            texts = [option.text for option in asked_options(json.dumps(labels or ["answered"]), given)]
            known = {"reader": parser if isinstance(parser, str) else "refusal", "labels": labels or ["answered"]}
            known |= {"options": texts if any(texts) else None, "form": row.form, "found": row.outcome}
            rows.append(keys | known | {"truth": "", "text": row.text})
    if not sampled:
        raise UserError(f"{results}: no sampled replies: expected responses of tasks that were sampled.")
    if rows:
        path = results / "replies" / "unparsed.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as temporary:
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            Path(temporary).write_text("".join(lines), encoding="utf-8")
    return "\n\n\n".join(shown) or f"{results}: every reply was parsed."
