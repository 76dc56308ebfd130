"""Where asking a model in rounds stopped, and how tables are made from its answers."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from biasatlas.benchmarks.shared.evidence import OVERALL, Evidence
from biasatlas.stats.intervals import confidence
from biasatlas.stats.multiplicity import ALPHA
from biasatlas.stats.rounds import Analysis, level

#: What a piece of evidence is about: metric, part, category.
Key = tuple[str, str, str]

#: Columns that depend on the level.
_LIMITS = ["ci_low", "ci_high", "no_interval_reason"]

#: A remark about values at which asking stopped early.
EARLY = "stopping early overstates effects on average; the intervals allow for this"


@dataclass(frozen=True)
class Stop:
    """Where asking a model ended.

    ``asked`` are the items (``item_id``) that it was asked; there are ``of`` in all, which ``by_category`` counts.
    ``why`` says in words why asking ended. ``analyses`` are those of each piece of evidence. They give the level of its
    interval, so that it holds in every round. ``level``, two-sided, is the strictest among evidence for whose verdict
    the rounds went on, and that of all other intervals. ``rounds`` says what each round showed.
    """

    asked: Sequence[str]
    of: int
    by_category: Mapping[str, int]
    why: str
    level: float
    analyses: Mapping[Key, tuple[Analysis, ...]]
    rounds: Sequence[Mapping[str, Any]]

    @property
    def is_early(self) -> bool:
        """Whether any item was left out."""
        return len(self.asked) < self.of

    @property
    def words(self) -> str:
        """The remark beside the model's numbers; empty if everything was asked."""
        return f"stopped after {len(self.asked):,} of {self.of:,} items: {self.why}; {EARLY}" if self.is_early else ""

    def cut(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The ``rows`` (items or requests) of items that were asked."""
        return rows[rows["item_id"].isin(set(self.asked))].reset_index(drop=True) if self.is_early else rows

    def seen(self, evidence: Iterable[Evidence]) -> list[Evidence]:
        """``evidence`` from the model's answers, with the analyses of each piece."""
        return [replace(each, analyses=self.analyses.get(each.key, ())) for each in evidence]

    def of_category(self, category: str) -> int | None:
        """How many items a category has, or all together; None if that is not known, or all were asked."""
        return self.by_category.get(category, self.of if category == OVERALL else None) if self.is_early else None

    def to_json(self) -> str:
        """The text of its file."""
        analyses = [[*key, *map(list, each)] for key, each in self.analyses.items()]
        return json.dumps(asdict(self) | {"analyses": analyses}, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def read(cls, path: str | PathLike) -> "Stop":
        """Read it from its file."""
        raw = json.loads(Path(path).read_text(encoding="utf-8"))
        analyses = {(*row[:3],): tuple(Analysis(*each) for each in row[3:]) for row in raw["analyses"]}
        return cls(**raw | {"analyses": analyses})


def in_rounds(
    make: Callable[[pd.DataFrame], pd.DataFrame],
    scores: pd.DataFrame,
    stops: Mapping[str, Stop],
    whole: Collection[str] = (),
) -> pd.DataFrame:
    """The table that ``make`` makes of ``scores``, with ``of``, and each row's interval at its level (:func:`_levels`).

    For a model that was asked only some items, ``of`` counts all that there are, in the row's category or in total, and
    metrics in ``whole`` are missing, with this as the reason. Rows without a model have the strictest level of all.
    """
    if not stops or scores.empty:
        return make(scores)
    with confidence(1 - min(stop.level for stop in stops.values())):
        table = make(scores)
    if "model" not in table:
        return table
    keys, own = [*table.columns[: table.columns.get_loc("metric") + 1]], _levels(table, stops)
    for alpha in own.unique():
        rows = (own == alpha) & table["model"].isin(scores["model"])
        if not rows.any():
            continue
        with confidence(1 - alpha):
            other = make(scores[scores["model"].isin(table.loc[rows, "model"])])
        table.loc[rows, _LIMITS] = table.loc[rows, keys].merge(other, "left", keys, validate="1:1")[_LIMITS].to_numpy()
    early = {model: stop for model, stop in stops.items() if stop.is_early}
    category = table["category"] if "category" in table else pd.Series(OVERALL, table.index)
    told = table["model"].isin(early)
    counts = {
        model: {"overall": stop.of, "All": stop.of, "all": stop.of} | dict(stop.by_category)
        for model, stop in early.items()
    }
    of = [counts.get(model, {}).get(name) for model, name in zip(table["model"], category, strict=True)]
    table = table.assign(of=pd.array(of, dtype="Int64"))
    unknown = told & table["metric"].isin(whole)
    table.loc[unknown, ["value", "ci_low", "ci_high"]] = np.nan
    table.loc[unknown, "no_interval_reason"] = "it cannot be had of a part of the items"
    return table.assign(published=table["published"].where(~told), difference=table["difference"].where(~told))


def _levels(table: pd.DataFrame, stops: Mapping[str, Stop]) -> pd.Series:
    """The level of each row of ``table``: if its metric was analysed, that of these analyses, as in the findings; else
    that of its model's stop."""
    return pd.Series([_level(row, stops.get(row["model"])) for row in table.to_dict("records")], table.index)


def _level(row: Mapping[str, Any], stop: Stop | None) -> float:
    if stop is None:
        return ALPHA
    groups = "-".join(str(row[name]) for name in ("group", "other_group") if name in row)
    category = row.get("category", groups)
    category = OVERALL if category in ("", "All", "all") else category
    about = [key for key in stop.analyses if (key[0], key[2]) == (row["metric"], category)]
    named = [key for key in about if not key[1] or key[1] in row.values()] or about
    return level(stop.analyses[named[0]], ALPHA) if len(named) == 1 else stop.level
