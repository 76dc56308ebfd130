"""Items of other benchmarks as the rows that DBB's construction starts from."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.bbq.items import read_items as read_bbq
from biasatlas.benchmarks.crows_pairs.items import read_items as read_crows_pairs
from biasatlas.errors import UserError
from biasatlas.resources import Resources
from biasatlas.userfiles import check_texts, read_csv_rows

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

#: The other benchmarks' readers read no shipped files.
_NONE = Resources({})


def read_rows(source: str, files: Mapping[str, str | Path]) -> pd.DataFrame:
    """Rows of ``source`` ("crows_pairs", "stereoset", "bbq" or "sofa"), columns :data:`SOURCE_COLUMNS`.

    ``files`` maps upstream paths to paths on disk, those of that source. CrowS-Pairs: every pair. StereoSet: the
    stereotype and the anti-stereotype of every item, after the context where the sentences follow it. BBQ: the negative
    questions in ambiguous contexts, each question once. SOFA: every stereotype once.

    Raises :class:`UserError` where a file of the source is not among ``files`` or not in its format.
    """
    if source not in _ROWS:
        raise UserError(f"source {source!r}: expected one of {', '.join(_ROWS)}.")
    rows = _ROWS[source]({name: Path(path) for name, path in files.items()})
    return rows.reindex(columns=SOURCE_COLUMNS, fill_value="").reset_index(drop=True)


def sample(rows: pd.DataFrame, size: int, seed: int) -> pd.DataFrame:
    """``size`` of ``rows``, drawn without replacement, as many of each ``bias_type`` as there are; in the order of ``rows``.

    Types take turns, so that none has more than one row more than another which has rows left. Fewer rows: all.
    """
    shuffled = rows.sample(frac=1, random_state=seed)
    turn = shuffled.groupby("bias_type", sort=False).cumcount()
    drawn = shuffled.assign(turn=turn).sort_values("turn", kind="stable").head(size)
    return rows.loc[drawn.index].sort_index()


def _crows_pairs(files: Mapping[str, Path]) -> pd.DataFrame:
    items = read_crows_pairs(files, _NONE)
    return pd.DataFrame(
        {
            "row_id": "crows_pairs/" + items["item_id"],
            "form": "sentences",
            "bias_type": items["category"],
            "sentence_1": items["more"],
            "sentence_2": items["less"],
        }
    )


def _stereoset(files: Mapping[str, Path]) -> pd.DataFrame:
    items = registry.read_items("stereoset")(files, _NONE)
    follows = items["task"] == "intersentence"
    before = (items["context"] + " ").where(follows, "")
    rows = pd.DataFrame(
        {
            "row_id": "stereoset/" + items["item_id"],
            "form": "sentences",
            "bias_type": items["category"],
            "target": items["target"],
            "sentence_1": before + items["stereotype"],
            "sentence_2": before + items["anti-stereotype"],
        }
    )
    return pd.concat([rows[follows], rows[~follows]])  # upstream's order


def _bbq(files: Mapping[str, Path]) -> pd.DataFrame:
    items = read_bbq(files, _NONE).query("polarity == 'neg' and condition == 'ambig'")
    rows = pd.DataFrame(
        {
            "row_id": "bbq/" + items["item_id"],
            "form": "question",
            "bias_type": items["category"],
            "context_source": items["context"],
            "question": items["question"],
        }
    )
    return rows.drop_duplicates("question")  # a question stands in many items


def _sofa(files: Mapping[str, Path]) -> pd.DataFrame:
    if len(files) != 1:
        raise UserError(f"SOFA: expected one CSV, found {len(files)} files. Name its table.")
    rows: dict[str, dict[str, str]] = {}
    for path in files.values():
        for where, row in read_csv_rows(path, ("id", "category", "target", "stereotype")):
            check_texts(where, row, ("id", "stereotype"))
            # A stereotype stands in thousands of 1.5 million rows.
            rows.setdefault(
                row["stereotype"],
                {
                    "row_id": f"sofa/{row['id']}",
                    "form": "stereotype",
                    "bias_type": row["category"],
                    "target": row["target"],
                    "stereotype": row["stereotype"],
                },
            )
    return pd.DataFrame(list(rows.values()))


_ROWS = {"crows_pairs": _crows_pairs, "stereoset": _stereoset, "bbq": _bbq, "sofa": _sofa}
