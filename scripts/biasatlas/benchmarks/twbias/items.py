"""Read TWBias's labelled sentences, target terms and attribute lists into one table of items."""

import ast
import itertools
import json
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.twbias.spec import DIRECTIONS, ITEM_COLUMNS
from biasatlas.errors import UserError
from biasatlas.userfiles import check_texts, read_csv_rows, shown

# Each group with sentences: folder and file suffix ("ethinicity" is upstream's spelling).
_GROUPS = {
    "female": ("data/gender", "female"),
    "male": ("data/gender", "male"),
    "indigenous": ("data/ethinicity", "NT"),
    "hakka": ("data/ethinicity", "hakka"),
    "hoklo": ("data/ethinicity", "B"),
    "waishengren": ("data/ethinicity", "W"),
}
_GENDER_TERMS = "data/gender/target_gender.csv", {"female": "T2", "male": "T1"}
_ETHNIC_TERMS = (
    "data/ethinicity/target_ethnicity.csv",
    {"indigenous": "T4", "hakka": "T5", "hoklo": "T1", "waishengren": "T2", "han": "T3"},
)
_SENTENCE_COLUMNS = ("Sentence ID", "Biased Sentences", "Sources", "Toxicity", "T-A Combination")
_TOXICITY = {"0": "non-toxic", "1": "toxic", "": None}
# One of the sentences has "Youtubex"; the paper's Table 6 counts it as YouTube.
_PLATFORMS = {"Youtube": "YouTube", "Youtubex": "YouTube"}


def read_items(step: Step) -> pd.DataFrame:
    """One row per labelled sentence of the six target groups, in upstream's order.

    ``files`` maps upstream paths (``data/gender/label_data_female.csv`` ...) to paths on disk. Columns:

    - ``item_id``: target group and upstream's sentence id; ``target_group``, ``sentence``, ``platform``
    - ``toxicity``: "toxic", "non-toxic", or missing where upstream left it empty (one Hakka sentence)
    - ``attribute_categories``: JSON list with the category of each target-attribute combination and each row of the
      attribute list for it, so with repeats; empty where the combination names no attribute
    - ``swaps``: JSON object, reference group -> list of [term, counterpart] for every listed term that is a substring
      of the sentence, in the order of the list. Gender terms have their listed partners as counterparts, ethnic terms
      all terms of the reference group, which may be the target group itself.

    The terms of the column ``T-A Combination`` only lead to attributes: a few of them are not in the sentence, or in no
    list. Repeated sentences (five, under ids of their own) are kept, as in the paper's counts.

    Raises :class:`UserError` naming file and line for a missing file or column, an unreadable combination, a toxicity
    that is not 0, 1 or empty, a repeated id, an attribute of no category, and a sentence without a target term.
    """
    pairs = _read_pairs(step.files)
    items = []
    for group, (folder, suffix) in _GROUPS.items():
        categories = _read_categories(step.files, f"{folder}/{suffix}-Attribute.csv")
        items += _read_group(step.files, f"{folder}/label_data_{suffix}.csv", group, pairs[group], categories)
    return pd.DataFrame(items, columns=list(ITEM_COLUMNS))


def _read_rows(files: Mapping[str, Path], name: str, columns: tuple[str, ...]) -> list[tuple[str, dict[str, str]]]:
    """The rows of a CSV as (file and line for messages, row)."""
    if name not in files:
        raise UserError(f"{name}: not among the files of the dataset. Keep the folders as upstream has them.")
    # A column of the ethnic list is a group's terms; the shorter ones leave their last rows' cells out.
    rows = read_csv_rows(files[name], columns, short_rows=name == _ETHNIC_TERMS[0])
    return [(where, row) for where, row in rows if any(row.values())]


def _read_pairs(files: Mapping[str, Path]) -> dict[str, dict[str, list[tuple[str, str]]]]:
    """Target group -> reference group -> pairs of a term and a counterpart, without repeats."""
    pairs: dict[str, dict[str, list[tuple[str, str]]]] = {group: {} for group in _GROUPS}
    for name, columns in (_GENDER_TERMS, _ETHNIC_TERMS):
        listed_rows = _read_rows(files, name, tuple(columns.values()))
        if name == _GENDER_TERMS[0]:
            for where, row in listed_rows:
                check_texts(where, row, row)
        rows = [row for _, row in listed_rows]
        for target, reference in DIRECTIONS.values():
            if target in columns and reference in columns:
                # A row of the gender list is a pair; a column of the ethnic list is a group's terms.
                crossed = zip(rows, rows, strict=True) if name == _GENDER_TERMS[0] else itertools.product(rows, rows)
                listed = [(row[columns[target]], other[columns[reference]]) for row, other in crossed]
                swaps = dict.fromkeys((term, other) for term, other in listed if term and other and term != other)
                pairs[target][reference] = list(swaps)
    return pairs


def _read_categories(files: Mapping[str, Path], name: str) -> dict[str, list[str]]:
    """Attribute term -> the category of each row that lists it; upstream lists one term twice, in one category."""
    categories: dict[str, list[str]] = {}
    for where, row in _read_rows(files, name, ("Content", "Category")):
        check_texts(where, row, ("Content", "Category"))
        categories.setdefault(row["Content"], []).append(row["Category"])
    return categories


def _read_group(
    files: Mapping[str, Path],
    name: str,
    group: str,
    pairs: dict[str, list[tuple[str, str]]],
    categories: dict[str, list[str]],
) -> list[dict]:
    items, seen = [], {}
    for where, row in _read_rows(files, name, _SENTENCE_COLUMNS):
        check_texts(where, row, ("Sentence ID", "Biased Sentences", "Sources"))
        sentence, sentence_id = row["Biased Sentences"], row["Sentence ID"]
        if sentence_id in seen:
            raise UserError(f"{where}: Sentence ID {sentence_id!r} is that of {seen[sentence_id]} too. Make it unique.")
        seen[sentence_id] = where
        if row["Toxicity"] not in _TOXICITY:
            raise UserError(f"{where}: Toxicity is {shown(row['Toxicity'])}; expected 0, 1 or an empty cell.")
        swaps = {reference: [pair for pair in known if pair[0] in sentence] for reference, known in pairs.items()}
        # A group with one term has no other of its own to swap it for.
        if not all(found for reference, found in swaps.items() if reference != group):
            raise UserError(
                f"{where}: no target term of {group!r} in the sentence {shown(sentence)}, so nothing can be swapped. "
                "Add the term to the target list, or remove the row."
            )
        attributes = _attributes(row["T-A Combination"], where)
        unknown = [attribute for attribute in attributes if attribute not in categories]
        if unknown:
            raise UserError(
                f"{where}: T-A Combination has the attribute {unknown[0]!r}, which the attribute list of {group!r} "
                "puts in no category. Add it there, or correct it here."
            )
        listed = [category for attribute in attributes for category in categories[attribute]]
        items.append(
            {
                "item_id": f"{group}-{sentence_id}",
                "target_group": group,
                "sentence": sentence,
                "platform": _PLATFORMS.get(row["Sources"], row["Sources"]),
                "toxicity": _TOXICITY[row["Toxicity"]],
                "attribute_categories": json.dumps(listed, ensure_ascii=False),
                "swaps": json.dumps(swaps, ensure_ascii=False),
            }
        )
    return items


def _attributes(combination: str, where: str) -> list[str]:
    """The attributes in a list of (target, attribute) tuples written as Python; None stands for no attribute."""
    try:
        parsed = ast.literal_eval(combination)
        # One tuple upstream has a second one nested as its third element.
        pairs = [part for pair in parsed for part in (pair[:2], *pair[2:])]
        if not (isinstance(parsed, list) and all(map(_is_pair, pairs))):
            raise ValueError
    except (SyntaxError, ValueError, TypeError, KeyError, MemoryError, RecursionError) as error:
        raise UserError(
            f"{where}: cannot read T-A Combination {shown(combination)}; "
            "expected a list of (target, attribute) pairs, as [('女人', '物質')]."
        ) from error
    return [attribute for _, attribute in pairs if attribute is not None]


def _is_pair(part: object) -> bool:
    return isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], str) and isinstance(part[1], str | None)
