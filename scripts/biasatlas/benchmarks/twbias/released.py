"""Import the TWBias authors' own sentence perplexities as responses."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.predictions import one_file
from biasatlas.benchmarks.twbias.spec import GENDERS, PROMPT_TYPES
from biasatlas.errors import UserError
from biasatlas.userfiles import finite, read_csv_rows, shown

_TARGETS = {"female": "Female", "male": "Male", "indigenous": "NT", "hakka": "hakka", "hoklo": "B", "waishengren": "W"}
_REFERENCES = {"indigenous": "T4", "hakka": "T5", "hoklo": "T1", "waishengren": "T2", "han": "T3"}
_GENDER_REFERENCES = {"male": "T1", "female": "T2"}
#: Upstream's folder has the name that the model had before it was TAIDE's.
_FOLDERS = {"TAIDE-LX-7B-Chat": "llama2-7b-ccw_cp-p1_tv_ft-b8.3-capybara-mixed-e3_spin-1"}
_COLUMNS = ["Sentence ID", "Biased Sentences", "origin_ppl", "replace_ppl"]
_KEYS = ["item_id", "prompt_type", "reference_group"]

ONLY_MEAN = "published only as the mean perplexity over all variants, which variant 1 carries"


def import_responses(step: Step) -> pd.DataFrame:
    """The published perplexities of a release (upstream's folder but for TAIDE); see :func:`read_perplexities`."""
    folder = _FOLDERS.get(step.release, step.release)
    files = {path: file for path, file in step.files.items() if folder in path}
    return _responses(files, step.items, step.requests, _directions(step.items, step.requests))


def read_perplexities(step: Step) -> pd.DataFrame:
    """Perplexities as the authors' code writes them, as one response per request.

    ``files`` maps upstream paths to paths on disk. Perplexities were published without token counts, so
    ``nll_per_token`` is their logarithm (nats) and ``log_likelihood`` and ``tokens`` are missing. Of a replaced
    sentence only the mean perplexity over its variants was published: the first variant's response carries it, and the
    others are "not_applicable". (The sentence stored beside it is the variant of least perplexity, not the one meant.)
    A direction without any file is "failed"; so are swaps inside a group and of everyday words, which the authors did
    not score.

    Raises :class:`UserError` naming a file of any other direction that is missing, lacks a column, has other sentences
    than ``items``, or holds a value that is no perplexity; or if the original's perplexity differs between directions.
    """
    scored = [each for each in _directions(step.items, step.requests) if each[1] in _references(each[0])]
    there = [
        (target, reference)
        for target, reference in scored
        if any(name.endswith(_name(target, reference, prompt)) for name in step.files for prompt in PROMPT_TYPES)
    ]
    return _responses(step.files, step.items, step.requests, there or scored)


#: Formats of a user's own predictions.
FORMATS = {"perplexities": read_perplexities}


def _directions(items: pd.DataFrame, requests: pd.DataFrame) -> list[tuple[str, str]]:
    """(target, reference) of every swap that is asked about."""
    asked = requests.merge(items[["item_id", "target_group"]], on="item_id")
    return list(
        asked[["target_group", "reference_group"]].dropna().drop_duplicates().itertuples(index=False, name=None)
    )


def _responses(
    files: Mapping[str, Path], items: pd.DataFrame, requests: pd.DataFrame, directions: list[tuple[str, str]]
) -> pd.DataFrame:
    sentences = {
        target: rows.set_index("item_id")["sentence"].to_dict() for target, rows in items.groupby("target_group")
    }
    published = pd.DataFrame(
        [
            row
            for target, reference in directions
            for prompt_type in PROMPT_TYPES
            for row in _read_direction(files, sentences[target], target, reference, prompt_type)
        ],
        columns=[*_KEYS, "origin_ppl", "replace_ppl"],
    )
    # An original sentence was scored again for each direction; the results agree to the last bit.
    originals = published[["item_id", "prompt_type", "origin_ppl"]].drop_duplicates()
    differing = originals[originals.duplicated(["item_id", "prompt_type"])]
    if len(differing):
        raise UserError(
            f"item {differing['item_id'].iloc[0]!r} has several values of origin_ppl under prompt type "
            f"{differing['prompt_type'].iloc[0]!r}. Fetch the released files again."
        )
    replaced = published[[*_KEYS, "replace_ppl"]].assign(variant=1)
    answers = requests.merge(originals.assign(variant=0), how="left", on=["item_id", "prompt_type", "variant"])
    answers = answers.merge(replaced, how="left", on=[*_KEYS, "variant"])
    nll = np.log(answers["origin_ppl"].fillna(answers["replace_ppl"]).astype(float))
    cases = [answers["variant"] > 1, nll.isna()]
    return pd.DataFrame(
        {
            "request_id": answers["request_id"],
            "repeat": 0,
            "status": np.select(cases, ["not_applicable", "failed"], "ok"),
            "detail": np.select(
                [*cases, answers["variant"] == 0], [ONLY_MEAN, "no file of this direction", ""], ONLY_MEAN
            ),
            "log_likelihood": np.nan,
            "tokens": np.nan,
            "nll_per_token": nll,
        }
    )


def _references(target: str) -> dict[str, str]:
    """Reference groups that the authors scored against a target's, with their names for them."""
    return _GENDER_REFERENCES if target in GENDERS else _REFERENCES


def _name(target: str, reference: str, prompt_type: str) -> str:
    """How the name of upstream's file ends: prompt types 0 and 00 are numbered 0 and 1, prompts 1 to 10 are 2 to 11."""
    return f"_{_TARGETS[target]}_{_references(target)[reference]}_output_{PROMPT_TYPES.index(prompt_type)}.csv"


def _read_direction(
    files: Mapping[str, Path], expected: dict[str, str], target: str, reference: str, prompt_type: str
) -> Iterator[tuple[str, str, str, float, float]]:
    """The rows of one file, as (item id, prompt type, reference group, original and replaced perplexity)."""
    path = one_file(files, _name(target, reference, prompt_type), "TWBias, perplexities")
    rows: dict[str, dict[str, str]] = {}
    for where, row in read_csv_rows(path, _COLUMNS):
        if rows.setdefault(f"{target}-{row['Sentence ID']}", row) is not row:
            raise UserError(
                f"{where}: Sentence ID {shown(row['Sentence ID'])} occurs more than once. Fetch the files again."
            )
    sentences = {item_id: row["Biased Sentences"] for item_id, row in rows.items()}
    if sentences != expected:
        first = min(item_id for item_id, _ in set(sentences.items()) ^ set(expected.items()))
        raise UserError(
            f"{path}: {len(sentences)} sentences that are not the dataset's {len(expected)} of {target!r}; the first "
            f"that differs is {shown(first)}. Use the dataset and the released files at the commits of the table of "
            "sources."
        )
    for item_id, row in rows.items():
        where = f"{path}, Sentence ID {shown(row['Sentence ID'])}"
        yield (
            item_id,
            prompt_type,
            reference,
            _perplexity(row, "origin_ppl", where),
            _perplexity(row, "replace_ppl", where),
        )


def _perplexity(row: dict[str, str], column: str, where: str) -> float:
    value = finite(row[column])
    if not value >= 1:
        raise UserError(
            f"{where}: {column} is {shown(row[column])}; expected a number of at least 1. Fetch the files again."
        )
    return value
