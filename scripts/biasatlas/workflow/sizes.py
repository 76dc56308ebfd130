"""Counts of requests by their settings, made column by column, since a benchmark may have millions."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.contract import Options
from biasatlas.benchmarks.shared import second_parse
from biasatlas.columns import REQUEST_COLUMNS
from biasatlas.resources import Resources

_TEXTS = ("messages", "prefix", "continuation")
#: What decides, beside its texts, whether and how a request is answered.
_SETTINGS = (
    "kind",
    "template",
    "special_tokens",
    "boundary",
    "temperature",
    "top_p",
    "top_k",
    "repetition_penalty",
    "frequency_penalty",
    "max_tokens",
    "repeats",
    "sampling",
)


def sizes(batches: Iterable[pa.RecordBatch]) -> pd.DataFrame:
    """Requests by their settings: a row for each combination, with the longest of its requests.

    Beside that request's columns: ``requests`` (how many), ``prompt_tokens`` (estimated, of all: 1 for each character
    outside ASCII, 1 for every three others, 16 for a template), ``characters`` (of the longest).
    """
    parts = pd.concat([_sizes(pa.Table.from_batches([batch])) for batch in batches], ignore_index=True)
    by = _by(parts)
    totals = parts.groupby(by, dropna=False, sort=False)[["requests", "prompt_tokens"]].sum().reset_index(drop=True)
    longest = parts.loc[parts.groupby(by, dropna=False, sort=False)["characters"].idxmax()].reset_index(drop=True)
    return longest.assign(**totals)


def _sizes(requests: pa.Table) -> pd.DataFrame:
    characters, extra = np.zeros((2, len(requests)))
    given = {}
    for name in _TEXTS:
        text = pc.fill_null(requests[name].cast(pa.large_string()), "")
        length = pc.utf8_length(text).to_numpy()
        characters += length
        # A Chinese character has three bytes in UTF-8, two more than one of ASCII.
        extra += (pc.binary_length(text).to_numpy() - length) / 2
        given[f"has_{name}"] = length > 0
    settings = requests.select([name for name in _SETTINGS if name in requests.column_names])
    frame = settings.to_pandas(strings_to_categorical=True).assign(**given, characters=characters)
    frame["prompt_tokens"] = 16 + extra + np.ceil((characters - extra) / 3)
    frame["requests"] = 1
    groups = frame.groupby(_by(frame), dropna=False, sort=False, observed=True)
    totals = groups[["requests", "prompt_tokens"]].sum().reset_index(drop=True)
    row = groups["characters"].idxmax().to_numpy()
    texts = requests.select(_TEXTS).take(row).to_pandas()
    longest = frame.iloc[row].reset_index(drop=True)
    longest = longest.astype(dict.fromkeys(longest.select_dtypes("category"), object))
    return longest.assign(**texts, **totals, request_id=requests["request_id"].take(row).to_pandas())


def _by(frame: pd.DataFrame) -> list[str]:
    given = [f"has_{name}" for name in _TEXTS]
    return [name for name in (*_SETTINGS, *given) if name in frame]


def of_frame(requests: pd.DataFrame) -> pd.DataFrame:
    """:func:`sizes` of requests in memory."""
    requests = requests.reindex(columns=list(dict.fromkeys([*REQUEST_COLUMNS, *requests.columns])))
    return sizes(pa.Table.from_pandas(requests, preserve_index=False).to_batches())


def of_judge(
    benchmark: str, items: pd.DataFrame, requests: pd.DataFrame, task: str, options: Options, resources: Resources
) -> pd.DataFrame:
    """:func:`sizes` of the most that a judge may be asked about the answers to ``requests``.

    This assumes that every answer is judged and as long as it may be, and that no reply of the judge can be parsed.
    """
    given = (items, requests, _replies(requests, "x"), task, options, resources)
    build = registry.build_judge_requests(benchmark)
    asked = build(*given)
    while len(asked) and not (again := build(*given, _replies(asked, ""))).equals(asked):
        asked = again
    counted = of_frame(asked)
    return counted.assign(prompt_tokens=counted["prompt_tokens"] + counted["requests"] * requests["max_tokens"].max())


def of_second_parse(asked: Sequence[tuple[pd.DataFrame | None, bool]]) -> pd.DataFrame | None:
    """:func:`sizes` of the most that a second parser may be asked; None if not all requests are known yet.

    This assumes that no reply can be parsed and each is as long as it may be. ``asked`` has the requests of each
    model and task, and whether its choices are answered by replies.
    """
    known = [
        frame[(frame["kind"] == "generation") | (frame["kind"].eq("choice") & told)]
        for frame, told in asked
        if frame is not None
    ]
    replies = pd.concat(known) if known else pd.DataFrame()
    if len(known) < len(asked) or replies.empty:
        return None
    count = replies["requests"] * replies["repeats"].fillna(1)
    text = {"asked": "x", "item_id": "x", "text": "x", "labels": [["x"]], "options": None}
    one = of_frame(second_parse.build_requests(pd.DataFrame(text)))
    # Options are part of a request, so they are no longer than it.
    given = replies["prompt_tokens"] * replies["repeats"].fillna(1) + count * replies["max_tokens"].fillna(1)
    return one.assign(requests=count.sum(), prompt_tokens=one["prompt_tokens"] * count.sum() + given.sum())


def _replies(requests: pd.DataFrame, text: str) -> pd.DataFrame:
    """A reply of ``text`` to each request and repeat."""
    replies = requests.loc[requests.index.repeat(requests["repeats"].fillna(1).astype(int)), ["request_id"]]
    return replies.assign(repeat=replies.groupby("request_id").cumcount(), status="ok", detail="", text=text)
