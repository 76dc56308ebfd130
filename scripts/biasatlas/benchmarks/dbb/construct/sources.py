"""Items of other benchmarks as the rows that DBB's construction starts from."""

import csv
import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TextIO

import pandas as pd

from biasatlas.errors import UserError

#: ``row_id`` is the source and its id. ``form`` says which prompts apply: "sentences" (a stereotype and its opposite),
#: "question" (with its context) or "stereotype" (with its targets). Texts that a form does not have are empty.
SOURCE_COLUMNS = [
    "row_id",
    "form",
    "bias_type",
    "target",
    "sentence_1",
    "sentence_2",
    "context_source",
    "question",
    "stereotype",
]


def read_rows(source: str, files: Mapping[str, str | Path]) -> pd.DataFrame:
    """Rows of ``source`` ("crows_pairs", "stereoset", "bbq" or "sofa"), columns :data:`SOURCE_COLUMNS`.

    ``files`` maps upstream paths to paths on disk, those of that source. CrowS-Pairs: every pair. StereoSet: the
    stereotype and the anti-stereotype of every item, after the context where the sentences follow it. BBQ: the negative
    questions in ambiguous contexts, each question once. SOFA: every stereotype once.

    Raises :class:`UserError` where no file of the source is among ``files`` or a file is not in its format.
    """
    if source not in _ROWS:
        raise UserError(f"source {source!r}: expected one of {', '.join(_ROWS)}.")
    rows, path = [], None
    try:
        for name, path in sorted(files.items()):
            rows += [dict.fromkeys(SOURCE_COLUMNS, "") | row for row in _ROWS[source](name, path)]
    except (KeyError, ValueError, csv.Error) as error:
        raise UserError(f"{path}: not a file of {source} ({error!r}). Fetch it again.") from None
    if not rows:
        raise UserError(f"{source}: no items in {', '.join(map(str, files.values())) or 'no files'}. Fetch the source.")
    frame = pd.DataFrame(rows, columns=SOURCE_COLUMNS)
    # A question of BBQ stands in many items.
    repeated = (frame["form"] != "sentences") & frame.duplicated(["question", "stereotype"])
    return frame[~repeated].reset_index(drop=True)


def _open(path: str | Path) -> TextIO:
    opener = gzip.open if str(path).endswith(".gz") else open
    return opener(path, "rt", encoding="utf-8-sig", newline="")


def _crows_pairs(name: str, path: str | Path) -> Iterator[dict]:
    if not name.endswith("crows_pairs_anonymized.csv"):
        return
    with _open(path) as file:
        for row in csv.DictReader(file):
            yield {
                "row_id": f"crows_pairs/{row['']}",
                "form": "sentences",
                "bias_type": row["bias_type"],
                "sentence_1": row["sent_more"],
                "sentence_2": row["sent_less"],
            }


def _stereoset(name: str, path: str | Path) -> Iterator[dict]:
    if ".json" not in name:
        return
    with _open(path) as file:
        content = json.load(file)
    if "data" not in content:  # a file of predictions
        return
    for task, items in content["data"].items():
        for item in items:
            sentences = {entry["gold_label"]: entry["sentence"] for entry in item["sentences"]}
            before = f"{item['context']} " if task == "intersentence" else ""
            yield {
                "row_id": f"stereoset/{item['id']}",
                "form": "sentences",
                "bias_type": item["bias_type"],
                "target": item["target"],
                "sentence_1": before + sentences["stereotype"],
                "sentence_2": before + sentences["anti-stereotype"],
            }


def _bbq(name: str, path: str | Path) -> Iterator[dict]:
    if ".jsonl" not in name or Path(name).parts[0] != "data":
        return
    with _open(path) as file:
        for line in file:
            item = json.loads(line)
            if item["question_polarity"] == "neg" and item["context_condition"] == "ambig":
                yield {
                    "row_id": f"bbq/{item['category']}/{item['example_id']}",
                    "form": "question",
                    "bias_type": item["category"],
                    "context_source": item["context"],
                    "question": item["question"],
                }


def _sofa(name: str, path: str | Path) -> Iterator[dict]:
    if ".csv" not in name:
        return
    with _open(path) as file:
        seen = set()  # a stereotype stands in thousands of 1.5 million rows
        for row in csv.DictReader(file):
            if row["stereotype"] in seen:
                continue
            seen.add(row["stereotype"])
            yield {
                "row_id": f"sofa/{row['id']}",
                "form": "stereotype",
                "bias_type": row["category"],
                "target": row["target"],
                "stereotype": row["stereotype"],
            }


_ROWS = {"crows_pairs": _crows_pairs, "stereoset": _stereoset, "bbq": _bbq, "sofa": _sofa}
