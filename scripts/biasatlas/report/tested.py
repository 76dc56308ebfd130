"""What the findings of a run say of a row of a headline: its verdict, and the validity cards behind it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from biasatlas.benchmarks.comparisons.cards import Card
from biasatlas.benchmarks.comparisons.findings import about, about_row, closed_by
from biasatlas.benchmarks.contract import Headline
from biasatlas.stats.verdict import Verdict


class MedianItem(NamedTuple):
    """The item in the middle of the ``n`` that lie on a value's side, ``away`` from neutral in the metric's unit; '' if
    none."""

    name: str = ""
    away: float = math.nan
    n: int = 0


NO_ITEM = MedianItem()

_ROW = ["model", "measure", "part", "category", "verdict", "why", "neutral", "smallest"]


class Judging:
    """The cards of a run's benchmark, and the run's findings (a table as ``findings_table`` makes it; None: nothing was
    judged)."""

    def __init__(self, cards: Sequence[Card], findings: pd.DataFrame | None = None):
        self._cards = cards
        self._verdicts: dict[tuple[str, str, str, str], Verdict] = {}
        self._items: dict[tuple[str, str, str, str], MedianItem] = {}
        if findings is not None:
            table = findings.astype({"part": object, "why": object}).fillna({"part": "", "why": ""})
            for key, rows in table.groupby(_ROW, sort=False, dropna=False):
                model, measure, part, category, state, why, neutral, smallest = key
                numbers = rows.set_index("metric")["value"]
                (value,) = rows[rows["metric"] == "value"].to_dict("records")
                tests = [float(numbers.get(name, math.nan)) for name in ("findable", "p_outside", "p_inside", "q")]
                told = (value["value"], neutral, smallest, value["ci_low"], value["ci_high"], *tests)
                for decides in rows[rows["metric"] == "decides"].to_dict("records"):
                    told += (decides["ci_low"], decides["ci_high"])
                self._verdicts[model, measure, part, category] = Verdict(state, why, *told)
                for middle in rows[rows["metric"] == "median_item"].to_dict("records"):
                    item = MedianItem(str(middle["item"]), float(middle["value"]), int(middle["n"]))
                    self._items[model, measure, part, category] = item

    def cards(self, headline: Headline, where: Mapping[str, str]) -> list[Card]:
        """The validity cards of the row whose keys are ``where``."""
        parts, category = about_row(headline, where)
        return about(self._cards, headline.metric, parts, category)

    def verdict(self, headline: Headline, model: str, where: Mapping[str, str], missing: str = "") -> Verdict:
        """What was said of a model's row, else why nothing was: ``missing`` where it has no value."""
        parts, category = about_row(headline, where)
        part = parts[0] if len(parts) == 1 else ""
        told = None if len(parts) > 1 else self._verdicts.get((model, headline.metric, part, category))
        return told or Verdict("untestable", missing or self._unjudged(headline, where, parts))

    def item(self, headline: Headline, model: str, where: Mapping[str, str]) -> MedianItem:
        """The median item behind a model's row."""
        parts, category = about_row(headline, where)
        return self._items.get((model, headline.metric, parts[0] if len(parts) == 1 else "", category), NO_ITEM)

    def _unjudged(self, headline: Headline, where: Mapping[str, str], parts: Sequence[str]) -> str:
        if headline.null is None:
            return headline.reason
        if why := headline.closed_by or closed_by(self.cards(headline, where), headline.own_null):
            return why
        return f"{', '.join(parts)} are judged each by itself" if len(parts) > 1 else "no claim is made about it"


def declared_null(headline: Headline, cards: Sequence[Mapping[str, Any]]) -> tuple[float | None, str]:
    """What a model without bias has, and why; None where the metric is known to see something else, too."""
    descriptive = any(card["verdict"] == "descriptive" for card in cards)
    if headline.null is None or not (descriptive or headline.closed_by):
        return headline.null, ". ".join([headline.reason, *(spot.says for spot in headline.confounders)])
    return None, headline.closed_by or closed_by(cards)
