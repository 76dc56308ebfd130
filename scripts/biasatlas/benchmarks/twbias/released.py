"""Import the TWBias authors' own sentence perplexities as responses."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from biasatlas.benchmarks.twbias import GENDERS, PROMPT_TYPES
from biasatlas.errors import UserError

_TARGETS = {"female": "Female", "male": "Male", "indigenous": "NT", "hakka": "hakka", "hoklo": "B", "waishengren": "W"}
_REFERENCES = {"indigenous": "T4", "hakka": "T5", "hoklo": "T1", "waishengren": "T2", "han": "T3"}
_GENDER_REFERENCES = {"male": "T1", "female": "T2"}
_COLUMNS = ["Sentence ID", "Biased Sentences", "origin_ppl", "replace_ppl"]
_KEYS = ["item_id", "prompt_type", "reference_group"]

ONLY_MEAN = "published only as the mean perplexity over all variants, which variant 1 carries"


def import_responses(
    name: str, files: Mapping[str, str | Path], items: pd.DataFrame, requests: pd.DataFrame, task: str
) -> pd.DataFrame:
    """The published perplexities of the model ``name`` (upstream's folder name) as one response per request.

    ``files`` maps upstream paths to paths on disk. Perplexities were published without token counts, so
    ``nll_per_token`` is their logarithm (nats) and ``log_likelihood`` and ``tokens`` are missing. Of a replaced
    sentence only the mean perplexity over its variants was published: the first variant's response carries it, and the
    others are "not_applicable". (The sentence stored beside it is the variant of least perplexity, not the one meant.)

    Raises :class:`UserError` naming the file that is missing, lacks a column, has other sentences than ``items``, or
    holds a value that is no perplexity; or if the original's perplexity differs between directions.
    """
    asked = requests.merge(items[["item_id", "target_group"]], on="item_id")
    directions = asked[["target_group", "reference_group"]].dropna().drop_duplicates()
    published = pd.concat(
        [
            _read_direction(files, name, items, target, reference, prompt_type)
            for target, reference in directions.itertuples(index=False)
            for prompt_type in PROMPT_TYPES
        ],
        ignore_index=True,
    )
    # An original sentence was scored again for each direction; the results agree to the last bit.
    originals = published[["item_id", "prompt_type", "origin_ppl"]].drop_duplicates()
    differing = originals[originals.duplicated(["item_id", "prompt_type"])]
    if len(differing):
        raise UserError(
            f"{name}: item {differing['item_id'].iloc[0]!r} has several values of origin_ppl under prompt type "
            f"{differing['prompt_type'].iloc[0]!r}. Fetch the released files again."
        )
    replaced = published[[*_KEYS, "replace_ppl"]].assign(variant=1)
    answers = requests.merge(originals.assign(variant=0), how="left", on=["item_id", "prompt_type", "variant"])
    answers = answers.merge(replaced, how="left", on=[*_KEYS, "variant"])
    first = answers["variant"] <= 1
    return pd.DataFrame(
        {
            "request_id": answers["request_id"],
            "repeat": 0,
            "status": np.where(first, "ok", "not_applicable"),
            "detail": np.where(answers["variant"] == 0, "", ONLY_MEAN),
            "log_likelihood": np.nan,
            "tokens": np.nan,
            "nll_per_token": np.log(answers["origin_ppl"].fillna(answers["replace_ppl"])),
        }
    )


def _path(name: str, target: str, reference: str, prompt_type: str) -> str:
    """Upstream's path. Its files number the prompt types 0 and 00 as 0 and 1, and prompts 1 to 10 as 2 to 11."""
    if target in GENDERS:
        folder, direction = "gender", f"{_TARGETS[target]}_{_GENDER_REFERENCES[reference]}"
    else:
        folder, direction = "ethical_group", f"{_TARGETS[target]}_{_REFERENCES[reference]}"
    file = f"{name}_{direction}_output_{PROMPT_TYPES.index(prompt_type)}.csv"
    return f"data/{folder}/result_wo_outliers/{name}/{direction}/{file}"


def _read_direction(
    files: Mapping[str, str | Path], name: str, items: pd.DataFrame, target: str, reference: str, prompt_type: str
) -> pd.DataFrame:
    upstream = _path(name, target, reference, prompt_type)
    if upstream not in files:
        raise UserError(f"{upstream}: not among the released files of {name}. Fetch them again, whole.")
    path = files[upstream]
    rows = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    missing = [column for column in _COLUMNS if column not in rows]
    if missing:
        raise UserError(f"{path}: no column {missing[0]!r}; found {list(rows)}. Fetch the released files again.")
    sentences = dict(zip(target + "-" + rows["Sentence ID"], rows["Biased Sentences"], strict=True))
    expected = dict(items.loc[items["target_group"] == target, ["item_id", "sentence"]].itertuples(index=False))
    if len(sentences) < len(rows) or sentences != expected:
        differing = sorted(set(sentences.items()) ^ set(expected.items()))
        example = f", the first is {differing[0][0]!r}" if differing else ", one sentence is repeated"
        raise UserError(
            f"{path}: {len(rows)} sentences that are not the dataset's {len(expected)} of {target!r}{example}. "
            "Use the dataset and the released files of the commits in resources/sources.csv."
        )
    perplexities = rows[["origin_ppl", "replace_ppl"]].apply(pd.to_numeric, errors="coerce")
    bad = ~(np.isfinite(perplexities) & (perplexities >= 1)).all(axis=1)
    if bad.any():
        row = rows[bad].iloc[0]
        raise UserError(
            f"{path}, Sentence ID {row['Sentence ID']}: origin_ppl {row['origin_ppl']!r}, replace_ppl "
            f"{row['replace_ppl']!r}; expected two numbers of at least 1. Fetch the released files again."
        )
    return perplexities.assign(
        item_id=target + "-" + rows["Sentence ID"], prompt_type=prompt_type, reference_group=reference
    )
