"""What stands behind a number: the rows of scores of a task, its items, requests and responses, packed for the pages.

Files of a task, below its folder: ``rows`` (what distinguishes rows, and the texts by which they are found),
``{model}`` (each row's score and status) and, in chunks of items or rows, ``texts-{n}`` (items and what was asked),
``{model}-{n}`` (what was answered) and ``{model}-scores-{n}`` (what the scores are made from).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from biasatlas.benchmarks.contract import ScoreView, Spec
from biasatlas.columns import SCORE_KEYS, STATUSES
from biasatlas.files import read_parquet, read_repeated
from biasatlas.report.answers import CHUNK, write_answers
from biasatlas.report.packing import pack, pack_codes, pack_floats, pack_text, put
from biasatlas.report.run import Run, TaskRun

#: The most requests whose details are kept; a task with more keeps those of the items that count most.
KEPT_REQUESTS = 200_000

_SETTINGS = ["temperature", "top_p", "top_k", "repetition_penalty", "frequency_penalty", "max_tokens", "repeats"]
_SETTINGS += ["template", "special_tokens", "boundary", "parser"]


def shown_of(spec: Spec, task: str) -> ScoreView:
    """How a task's scores are read: as declared, else by their first column that may be a score."""
    if task in spec.shown:
        return spec.shown[task]
    columns = [name for name in spec.tasks[task].scores if name not in {"status", "item_id", *spec.items}]
    score = "score" if "score" in columns else columns[0] if columns else "status"
    texts = tuple(name for name, kind in spec.items.items() if kind == "string" and name != "category")
    return ScoreView(score, texts=texts)


class Rows:
    """The rows of all models' scores, each once; new rows of a later model come last."""

    def __init__(self, shown: ScoreView):
        self._shown = shown
        self.frame = pd.DataFrame()
        self._index = pd.Index([], dtype=object)

    def places(self, scores: pd.DataFrame) -> np.ndarray:
        """The index of each row of ``scores`` among the rows; new ones are added."""
        keys = joined(scores, ["category", *self._shown.key])
        if len(keys) != len(self._index) or not np.array_equal(keys.to_numpy(), self._index.to_numpy()):
            new = ~keys.isin(self._index)
            told = scores[
                [name for name in scores if name == "category" or name in self._shown.key or _tells(scores[name])]
            ]
            self.frame = pd.concat([self.frame, told[new.to_numpy()]], ignore_index=True)
            self._index = self._index.append(pd.Index(keys[new]))
        return self._index.get_indexer(keys)


def _tells(values: pd.Series) -> bool:
    """Whether a column of scores is text about the item (JSON and numbers are not)."""
    if pd.api.types.is_numeric_dtype(values) or values.name in (*SCORE_KEYS, "status", "detail", "answer"):
        return False
    first = values.first_valid_index()
    return first is not None and not str(values[first]).startswith(("[{", "{"))


@dataclass(frozen=True)
class Adds:
    """What each item adds to the value of a headline: ``away`` by model and item. It counts in the rows whose keys have
    the values of ``where``, in any order (two groups are compared both ways). ``values``: distances from the null."""

    name: str
    unit: str
    where: Mapping[str, str]
    away: pd.DataFrame
    values: Mapping[str, float]

    def of(self, model: str, scores: pd.DataFrame, key: str) -> np.ndarray:
        """What the item of each of the ``scores`` of ``model`` adds; missing (NaN) where it adds nothing."""
        mine = self.away[self.away["model"] == model].set_index("item")["away"]
        adds = scores[key].astype(str).map(mine).to_numpy(float)
        for name in self.where:
            adds = np.where(scores[name].astype(str).isin(list(self.where.values())), adds, np.nan)
        return adds

    def told(self, ids: Mapping[str, str]) -> dict[str, Any]:
        """Name, unit and, for each model, what its items add on average and the headline's distance from the null."""
        means = self.away.groupby("model")["away"].mean()
        numbers = {ids[model]: [mean, self.values[model]] for model, mean in means.items() if model in self.values}
        return {"name": self.name, "unit": self.unit, "of": numbers}


def write_task(
    run: Run, asked: TaskRun, folder: Path, ids: Mapping[str, str], adding: Sequence[Adds] = ()
) -> dict[str, Any]:
    """Write all files of a task; return what the explorer has to know before it opens one.

    ``folder`` is the task's; ``ids`` names models in files; ``adding`` are the headlines that the items add to.
    """
    spec, shown, root = run.spec, shown_of(run.spec, asked.task), folder.name
    rows, weight, lost = Rows(shown), np.zeros(0), {}
    for answered in asked.answers:
        scores = read_parquet(answered.scores)
        if scores.empty:
            continue
        places = rows.places(scores)
        value = value_of(scores, shown)
        counted = np.zeros(len(rows.frame))
        counted[: len(weight)] = weight
        counted[places] = np.maximum(counted[places], np.nan_to_num(np.abs(value - shown.neutral), nan=0.0))
        weight = counted
        adds = [each.of(answered.model, scores, shown.key[0]) for each in adding]
        _write_scores(scores, [value, *adds], places, len(rows.frame), folder, root, ids[answered.model], shown)
        lost[ids[answered.model]] = int((scores["status"] != "ok").sum())
    items = read_repeated(run.items, ["item_id"])
    asked_of = pq.read_table(asked.requests, columns=["item_id"], read_dictionary=["item_id"])["item_id"].to_pandas()
    items = items[items["item_id"].isin(set(asked_of.unique()))].reset_index(drop=True)
    parts = [_place(rows.frame, items, part) for part in shown.parts]
    kept = _kept(items, asked_of, parts, weight)
    _write_rows(rows.frame, items, parts, shown, folder, root)
    numbers = _write_requests(asked.requests, items, kept, spec, folder, root)
    for answered in asked.answers:
        write_answers(answered, asked.task, numbers, items, folder, ids[answered.model])
    return {
        "key": root,
        "run": run.key,
        "task": asked.task,
        "title": f"{run.title} · {asked.task}" + (f" · {run.protocol}" if run.protocol != "recommended" else ""),
        "language": spec.language,
        "kind": spec.tasks[asked.task].kind,
        "rows": len(rows.frame),
        "models": [ids[answered.model] for answered in asked.answers if ids[answered.model] in lost],
        "shown": {name: value for name, value in asdict(shown).items() if name != "parts"},
        "chunk": CHUNK,
        "kept": int(kept.sum()),
        "items": len(items),
        "adds": [each.told(ids) for each in adding],
    }


def value_of(scores: pd.DataFrame, shown: ScoreView) -> np.ndarray:
    """The value with which each row counts; missing (NaN) unless its status is ok."""
    value = pd.to_numeric(scores[shown.score], errors="coerce").to_numpy(float)
    if shown.minus:
        less = pd.to_numeric(scores[shown.minus.removeprefix("log ")], errors="coerce").to_numpy(float)
        value = value - (np.log(less) if shown.minus.startswith("log ") else less)
    return np.where(scores["status"] == "ok", value, np.nan)


def _write_scores(
    scores: pd.DataFrame,
    numbers: Sequence[np.ndarray],
    places: np.ndarray,
    count: int,
    folder: Path,
    root: str,
    model: str,
    shown: ScoreView,
) -> None:
    """Write a model's ``numbers`` in the order of the rows (the score, then what the item adds to each headline), the
    status and, in chunks, what the scores are made from."""
    ordered = np.full((len(numbers), count), np.nan)
    ordered[:, places] = numbers
    status = np.full(count, len(STATUSES))
    status[places] = scores["status"].map({name: place for place, name in enumerate(STATUSES)}).to_numpy()
    packed = {f"adds{place - 1}" if place else "score": pack_floats(each) for place, each in enumerate(ordered)}
    put(folder.parent, f"{root}/{model}", {"status": pack_codes(status)} | packed)
    made_from = scores[
        [
            name
            for name in scores
            if name not in (*SCORE_KEYS, *shown.key, "status")
            and (pd.api.types.is_numeric_dtype(scores[name]) or name in ("answer", "detail"))
            and scores[name].notna().any()
        ]
    ]
    order = np.full(count, -1)
    order[places] = np.arange(len(scores))
    for number in range(-(-count // CHUNK)):
        mine = order[number * CHUNK : (number + 1) * CHUNK]
        put(folder.parent, f"{root}/{model}-scores-{number}", pack(made_from.reindex(mine).reset_index(drop=True)))


def _place(rows: pd.DataFrame, items: pd.DataFrame, part: Mapping[str, str]) -> np.ndarray:
    """The index of the item that each row is about, by one of its parts; -1 where there is none."""
    mine, theirs = joined(rows, list(part.values())), joined(items, list(part))
    first = theirs.drop_duplicates()
    found = pd.Index(first).get_indexer(mine)
    return np.where(found < 0, -1, first.index.to_numpy()[found])


def joined(frame: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    """Values of ``columns`` as one text a row."""
    text = frame[columns[0]].astype(str)
    for name in columns[1:]:
        text = text + "\x1f" + frame[name].astype(str)
    return text


def _kept(items: pd.DataFrame, asked_of: pd.Series, parts: Sequence[np.ndarray], weight: np.ndarray) -> np.ndarray:
    """Which items keep their requests and responses: all, or those that count most."""
    if len(asked_of) <= KEPT_REQUESTS:
        return np.ones(len(items), dtype=bool)
    counts = np.zeros(len(items))
    for part in parts:
        there = part >= 0
        np.maximum.at(counts, part[there], weight[there])
    most = np.argsort(-counts, kind="stable")[: int(KEPT_REQUESTS * len(items) / len(asked_of))]
    kept = np.zeros(len(items), dtype=bool)
    kept[most] = True
    return kept


def _write_rows(
    rows: pd.DataFrame, items: pd.DataFrame, parts: Sequence[np.ndarray], shown: ScoreView, folder: Path, root: str
) -> None:
    """Write what distinguishes rows, and the texts of all items."""
    texts = [name for name in shown.texts if name in items]
    value = {
        "columns": pack(rows.drop(columns=[name for name in rows if rows[name].isna().all()])),
        "parts": [pack_codes(part + 1) for part in parts],
        "texts": {name: pack_text(items[name]) for name in texts},
    }
    put(folder.parent, f"{root}/rows", value)


def _write_requests(
    path: str, items: pd.DataFrame, kept: np.ndarray, spec: Spec, folder: Path, root: str
) -> pd.DataFrame:
    """Write the items and requests of each chunk of ``items``. Return each kept request's id, chunk, place in it and
    labels."""
    wanted = dict(zip(items["item_id"][kept], np.flatnonzero(kept), strict=True))
    requests = read_repeated(path, ["item_id", "request_id", "messages"], items["item_id"][kept])
    constant = {}
    for name in _SETTINGS:
        if len(requests) and requests[name].nunique(dropna=False) == 1:
            value = requests[name].iloc[0]
            constant[name] = None if pd.isna(value) else value.item() if hasattr(value, "item") else value
            requests = requests.drop(columns=name)
    requests = requests.drop(columns=[name for name in requests if requests[name].isna().all()])
    item = requests["item_id"].map(wanted).to_numpy(int)
    order = np.argsort(item // CHUNK, kind="stable")
    requests, item = requests.iloc[order].reset_index(drop=True), item[order]
    chunk = item // CHUNK
    place = np.arange(len(requests)) - np.searchsorted(chunk, chunk)
    # A request's id begins with its item's; the page joins the two.
    suffixes = [whole.removeprefix(of) for whole, of in zip(requests["request_id"], requests["item_id"], strict=True)]
    shown_items = items.drop(columns=[name for name in items if items[name].isna().all() or (items[name] == "").all()])
    for number in range(-(-len(items) // CHUNK)):
        mine = requests.assign(request_id=suffixes)[chunk == number].drop(columns=["item_id", "kind"])
        part = shown_items.iloc[number * CHUNK : (number + 1) * CHUNK].reset_index(drop=True)
        value = {
            "items": pack(part),
            "requests": pack(mine.reset_index(drop=True)),
            "item": pack_codes(item[chunk == number] - number * CHUNK),
            "settings": constant,
        }
        put(folder.parent, f"{root}/texts-{number}", value)
    labels = requests.get("labels")
    return pd.DataFrame({"request_id": requests["request_id"], "chunk": chunk, "place": place, "labels": labels})
