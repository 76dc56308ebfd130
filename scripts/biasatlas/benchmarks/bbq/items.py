"""The authors' question files and metadata as items."""

import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.questions.spec import LABELS
from biasatlas.errors import UserError
from biasatlas.userfiles import check_texts, listed, read_csv_rows, read_json_lines, shown
from biasatlas.validation import unknown

_METADATA = "analysis_scripts/additional_metadata.csv"
_METADATA_COLUMNS = ("category", "example_id", "target_loc", "label_type")
_OPTIONS = ["ans0", "ans1", "ans2"]
_TEXTS = ("context", "question", *_OPTIONS)
_LABEL_TYPES = ("label", "name")
_EXPECTED = {"question_polarity": ("neg", "nonneg"), "context_condition": ("ambig", "disambig"), "label": (0, 1, 2)}
#: Position of an option as upstream's metadata have it -> its label; "NA" and an empty cell are none.
_TARGETS = {str(position): label for position, label in enumerate(LABELS)} | {"NA": None, "": None}
#: Other names of a group of `stereotyped_groups` in `answer_info`.
_ALSO = {"low ses": ("lowses",), "f": ("woman", "girl"), "m": ("man", "boy")}
#: Metadata may contradict this share of items: slips of the data's authors, not another version.
_MISTAKES = 0.02


def read_items(step: Step) -> pd.DataFrame:
    """Items from ``data/{category}.jsonl`` and ``analysis_scripts/additional_metadata.csv``.

    One row per question, in the order of the files: ``item_id`` ("Age/17"), ``category``, ``template`` ("Age/3": its
    items share one text), ``persons`` (the two persons, by their options or names, in alphabetical order),
    ``polarity`` ("neg" asks who did ill, "nonneg" who did not), ``condition`` ("ambig", "disambig"), ``context``,
    ``question``, the options ``A``, ``B``, ``C`` and their groups ``group_A`` ... as published; ``gold``, ``unknown``
    and ``target`` are labels of options, ``label_type`` is "label" or "name".

    ``target`` is upstream's ``target_loc``: the option that follows the stereotype *for this question*, so it is
    the stereotyped person in a negative question and the other one in a non-negative question. Turning it round again
    by polarity would cancel the bias. It is missing for items whose metadata has none (16 upstream); they are logged.

    Raises :class:`UserError` naming file, line and value for anything else than the published schema, and for metadata
    whose targets are other persons than the items' own ``stereotyped_groups`` say.
    """
    files, categories = step.files, step.description.categories
    names = sorted(name for name in files if re.fullmatch(r"data/[^/]*\.jsonl", name))
    if not names or _METADATA not in files:
        raise UserError(f"BBQ: expected data/*.jsonl and {_METADATA}, found {listed(files)}. Fetch the whole source.")
    items = pd.concat([_read_category(Path(name).stem, files[name], categories) for name in names], ignore_index=True)
    metadata = _read_metadata(files[_METADATA])
    undescribed = items["item_id"][~items["item_id"].isin(metadata["item_id"])]
    if len(undescribed):
        raise UserError(
            f"{files[_METADATA]}: no row for {len(undescribed)} items, first {undescribed.iloc[0]}. "
            "Take data and metadata from the same version."
        )
    items = items.merge(metadata, on="item_id", how="left", validate="one_to_one")
    _check_targets(files[_METADATA], items)
    untargeted = items["item_id"][items["target"].isna()]
    if len(untargeted):
        logging.info("%d items have no bias target: %s", len(untargeted), ", ".join(untargeted))
    return items[list(step.spec.items)]


def _read_category(category: str, path: Path, known: Sequence[str]) -> pd.DataFrame:
    if category not in known:
        raise UserError(unknown(str(path), category, "a category of BBQ", known))
    items: dict[int, dict[str, str]] = {}
    for where, row in read_json_lines(path):
        _check_line(where, row, category)
        if row["example_id"] in items:
            raise UserError(f"{where}: example_id {row['example_id']} occurs more than once; ids must be unique.")
        items[row["example_id"]] = _item(where, row, category)
    return pd.DataFrame(list(items.values()))


def _item(where: str, row: dict[str, Any], category: str) -> dict[str, str]:
    groups = _groups(where, row.get("answer_info"))
    return {
        "item_id": f"{category}/{row['example_id']}",
        "category": category,
        "template": f"{category}/{row['question_index']}",
        "persons": " / ".join(
            sorted(row[option] for option, group in zip(_OPTIONS, groups, strict=True) if group != "unknown")
        ),
        "polarity": row["question_polarity"],
        "condition": row["context_condition"],
        "context": row["context"],
        "question": row["question"],
        **{label: row[option] for label, option in zip(LABELS, _OPTIONS, strict=True)},
        **{f"group_{label}": group for label, group in zip(LABELS, groups, strict=True)},
        "gold": LABELS[row["label"]],
        "unknown": LABELS[groups.index("unknown")],
        "witness": _witness(groups, row),
    }


def _witness(groups: Sequence[str], row: Mapping[str, Any]) -> str | None:
    """The target by the line's ``stereotyped_groups``; None where these are of both persons, of neither, or missing.

    In the published data they agree with ``target_loc`` in all 22,876 items that they decide.
    """
    told = row.get("additional_metadata")
    stereotyped = told.get("stereotyped_groups") if isinstance(told, dict) else None
    names = {str(name).lower() for name in stereotyped} if isinstance(stereotyped, list) else set()
    names |= {other for name in names for other in _ALSO.get(name, ())}
    persons = [label for label, group in zip(LABELS, groups, strict=True) if group != "unknown"]
    about = [label for label in persons if groups[LABELS.index(label)].lower() in names]
    if len(about) != 1:
        return None
    return next(label for label in persons if (label in about) == (row["question_polarity"] == "neg"))


def _check_targets(path: Path, items: pd.DataFrame) -> None:
    """Raise UserError where metadata's targets are no persons, or often not those of the items' own groups."""
    nobody = items["target"] == items["unknown"]
    told = items["witness"].notna() & items["target"].notna()
    other = told & ~nobody & (items["witness"] != items["target"])
    if not nobody.any() and other.sum() <= _MISTAKES * told.sum():
        return
    first = items[nobody | other].iloc[0]
    expected = f", expected {first[first['witness']]!r}" if isinstance(first["witness"], str) else ""
    raise UserError(
        f"{path}: target_loc is wrong in {(nobody | other).sum()} of {len(items)} items (no person in {nobody.sum()}, "
        f"another person than the item's stereotyped_groups in {other.sum()}), first {first['item_id']}: "
        f"{first[first['target']]!r}{expected}. These metadata are of other data, or of another version: take both "
        "from one place."
    )


def _check_line(where: str, row: dict[str, Any], category: str) -> None:
    options = [key for key in row if key.startswith("ans") and key != "answer_info"]
    if options != _OPTIONS:
        raise UserError(f"{where}: expected the options {_OPTIONS}, found {options}.")
    check_texts(where, row, _TEXTS)
    if row.get("category") != category:
        raise UserError(f"{where}: category {shown(row.get('category'))} in the file of {category!r}.")
    for key, values in _EXPECTED.items():
        if row.get(key) not in values or type(row[key]) not in (str, int):  # to Python, False and 0.0 are 0
            raise UserError(f"{where}: {key} is {shown(row.get(key))}, expected one of {values}.")
    if type(row.get("example_id")) is not int:
        raise UserError(f"{where}: example_id is {shown(row.get('example_id'))}, expected a whole number.")
    if type(row.get("question_index")) not in (str, int):
        raise UserError(f"{where}: question_index is {shown(row.get('question_index'))}, expected a number.")


def _groups(where: str, answer_info: Any) -> list[str]:
    """The group of each option; one of them is "unknown", that of nobody."""
    expected = 'Expected {"ans0": [..., group], "ans1": ..., "ans2": ...}.'
    if not isinstance(answer_info, dict) or sorted(answer_info) != _OPTIONS:
        raise UserError(f"{where}: answer_info is {shown(answer_info)}. {expected}")
    for option, info in answer_info.items():
        if not (isinstance(info, list) and info and isinstance(info[-1], str)):
            raise UserError(f"{where}: answer_info of {option} is {shown(info)}. {expected}")
    # The group is the last element. 344 Race_x_gender items have an empty pair for one person, not for "unknown".
    groups = [answer_info[option][-1] for option in _OPTIONS]
    if groups.count("unknown") != 1:
        raise UserError(f"{where}: expected exactly one option of group 'unknown', found {shown(groups)}.")
    return groups


def _read_metadata(path: Path) -> pd.DataFrame:
    """A row per item: its ``item_id``, ``label_type`` and ``target``.

    Upstream lists 64 Gender_identity items once per stereotyped group, each time with one target.
    """
    metadata: dict[str, tuple[str, str | None]] = {}
    for where, row in read_csv_rows(path, _METADATA_COLUMNS):
        if row["target_loc"] not in _TARGETS:
            raise UserError(f"{where}: target_loc is {row['target_loc']!r}, expected 0, 1, 2 or NA.")
        if row["label_type"] not in _LABEL_TYPES:
            raise UserError(f"{where}: label_type is {row['label_type']!r}, expected one of {_LABEL_TYPES}.")
        item_id, values = f"{row['category']}/{row['example_id']}", (row["label_type"], _TARGETS[row["target_loc"]])
        if metadata.setdefault(item_id, values) != values:
            raise UserError(f"{where}: two different targets for {item_id}; expected one.")
    return pd.DataFrame(
        [(item_id, *values) for item_id, values in metadata.items()], columns=["item_id", "label_type", "target"]
    )
