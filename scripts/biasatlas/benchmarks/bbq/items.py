"""The authors' question files and metadata as items."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from biasatlas.benchmarks.bbq.vocabulary import LABELS
from biasatlas.errors import UserError
from biasatlas.resources import Resources

_METADATA = "analysis_scripts/additional_metadata.csv"
_OPTIONS = ["ans0", "ans1", "ans2"]
_EXPECTED = {
    "question_polarity": {"neg", "nonneg"},
    "context_condition": {"ambig", "disambig"},
    "label": {0, 1, 2},
}


def read_items(files: Mapping[str, Path], resources: Resources) -> pd.DataFrame:
    """Items from ``data/{category}.jsonl`` and ``analysis_scripts/additional_metadata.csv``.

    One row per question, in the order of the files: ``item_id`` ("Age/17"), ``category``, ``template`` ("Age/3": its
    items share their wording), ``polarity`` ("neg" asks who did ill, "nonneg" who did not), ``condition`` ("ambig",
    "disambig"), ``context``, ``question``, the options ``A``, ``B``, ``C`` and their groups ``group_A`` ... as
    published; ``gold``, ``unknown`` and ``target`` are labels of options, ``label_type`` is "label" or "name".

    ``target`` is upstream's ``target_loc``: the option that follows the stereotype *for this question*, so it is
    the stereotyped person in a negative question and the other one in a non-negative question. Turning it round again
    by polarity would cancel the bias. It is missing for items whose metadata has none (16 upstream); they are logged.

    Raises :class:`UserError` naming file, line and value for anything else than the published schema.
    """
    names = sorted(name for name in files if name.startswith("data/") and name.endswith(".jsonl"))
    if not names or _METADATA not in files:
        raise UserError(f"BBQ: expected data/*.jsonl and {_METADATA}, found {sorted(files)}. Fetch the whole source.")
    items = pd.concat([_read_category(Path(name).stem, files[name]) for name in names], ignore_index=True)
    metadata = _read_metadata(files[_METADATA])
    items = items.merge(metadata, on=["category", "example_id"], how="left", validate="one_to_one", indicator=True)
    unknown = items["item_id"][items["_merge"] == "left_only"]
    if len(unknown):
        raise UserError(
            f"{files[_METADATA]}: no row for {len(unknown)} items, first {unknown.iloc[0]}. "
            "Take data and metadata from the same version."
        )
    items["target"] = _label(items["target_loc"])
    untargeted = items["item_id"][items["target"].isna()]
    if len(untargeted):
        logging.info("%d items have no bias target: %s", len(untargeted), ", ".join(untargeted))
    return items.drop(columns=["example_id", "target_loc", "_merge"])


def _read_category(category: str, path: Path) -> pd.DataFrame:
    raw = _read_lines(category, path)
    groups, unknown = _groups(raw["answer_info"], path)
    items = pd.DataFrame(
        {
            "item_id": category + "/" + raw["example_id"].astype(str),
            "example_id": raw["example_id"],
            "category": category,
            "template": category + "/" + raw["question_index"].astype(str),
            "polarity": raw["question_polarity"],
            "condition": raw["context_condition"],
            "context": raw["context"],
            "question": raw["question"],
            **dict(zip(LABELS, (raw[option] for option in _OPTIONS), strict=True)),
            **{f"group_{label}": groups[:, column] for column, label in enumerate(LABELS)},
        }
    )
    items["gold"] = _label(raw["label"])
    items["unknown"] = _label(pd.Series(unknown))
    return items


def _read_lines(category: str, path: Path) -> pd.DataFrame:
    """The lines of a file as they are, after a look at the fields that scores rest on."""
    rows = []
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            row = json.loads(line)
            options = [key for key in row if key.startswith("ans") and key != "answer_info"]
            if options != _OPTIONS or sorted(row["answer_info"]) != _OPTIONS:
                raise UserError(f"{path}, line {number}: expected the options {_OPTIONS}, found {options}.")
            if row["category"] != category:
                raise UserError(f"{path}, line {number}: category {row['category']!r} in the file of {category!r}.")
            for key, values in _EXPECTED.items():
                if row[key] not in values:
                    raise UserError(f"{path}, line {number}: {key} is {row[key]!r}, expected one of {sorted(values)}.")
            rows.append(row)
    raw = pd.DataFrame(rows)
    repeated = raw["example_id"][raw["example_id"].duplicated()]
    if len(repeated):
        raise UserError(f"{path}: example_id {repeated.iloc[0]} occurs more than once; ids must be unique.")
    return raw


def _groups(answer_info: pd.Series, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The group of each option, (items, 3), and the position of the option that names nobody."""
    # The group is the last element. 344 Race_x_gender items have an empty pair for one person, not for "unknown".
    groups = np.array([[info[option][-1] for option in _OPTIONS] for info in answer_info])
    is_unknown = groups == "unknown"
    wrong = is_unknown.sum(axis=1) != 1
    if wrong.any():
        line = int(wrong.argmax()) + 1
        raise UserError(
            f"{path}, line {line}: expected exactly one option of group 'unknown', found {groups[line - 1]}."
        )
    return groups, is_unknown.argmax(axis=1)


def _read_metadata(path: Path) -> pd.DataFrame:
    """A row per item. Upstream lists 64 Gender_identity items once per stereotyped group, each time with one target."""
    metadata = pd.read_csv(
        path, usecols=["category", "example_id", "target_loc", "label_type"], dtype={"target_loc": "Int64"}
    ).drop_duplicates()
    clash = metadata[metadata.duplicated(["category", "example_id"])]
    if len(clash):
        first = clash.iloc[0]
        raise UserError(f"{path}: two different targets for {first['category']}/{first['example_id']}; expected one.")
    return metadata


def _label(index: pd.Series) -> pd.Series:
    return index.map(dict(enumerate(LABELS)))
