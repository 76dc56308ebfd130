"""What the row of a headline says of a model: found, not found, cannot tell, or no verdict."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from biasatlas.benchmarks.comparisons.findings import Card, worst
from biasatlas.benchmarks.contract import Headline
from biasatlas.report.tested import WHOLE, Judging, Outcome

#: "found": the interval leaves out the null, and the test survives all of the run; "not found": the interval lies within the
#: smallest effect that matters; "cannot tell": neither, or there is no interval; "no verdict": the metric has no null, or its
#: validity card has not passed; "missing": there is no value.
State = Literal["found", "not found", "cannot tell", "no verdict", "missing"]
STATES: tuple[State, ...] = ("found", "not found", "cannot tell", "no verdict", "missing")

#: Statuses of units without a value that a model could have had.
_LOST = ("refused", "ambiguous", "unparseable", "truncated", "failed")
#: Half the width of a 95 % interval in standard errors.
_HALF_WIDTH = 1.96


@dataclass(frozen=True)
class Cell:
    """One number of the index, with all that is said about it.

    ``null`` is what a model without bias has, None where the metric sees something else, too. ``effect`` is the distance from it in smallest effects that matter, ``errors`` in standard errors (of the
    interval's width); both missing (NaN) where there is no null. ``unread`` is the share, 0 to 1, of answers that refuse, name several
    options or cannot be read, or of units that were lost so; missing where none is known. ``where`` are the keys of the row.
    """

    model: str
    state: State
    why: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    clusters: int = 0
    effect: float = math.nan
    errors: float = math.nan
    unread: float = math.nan
    null: float | None = None
    published: str = ""
    where: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Column:
    """A headline of a run, with its cells by model, and those of its parts: (part's name, cells by model).

    Parts without a value are left out. ``cards`` are the validity cards of the headline's own row, ``verdict`` what they say together.
    """

    headline: Headline
    null: float | None
    reason: str
    cards: Sequence[Card]
    verdict: str
    cells: Mapping[str, Cell]
    parts: Sequence[tuple[str, Mapping[str, Cell]]]


def state(value: float, low: float, high: float, null: float | None, smallest: float) -> State:
    """The state of an estimate by itself; the order matters: an interval within the smallest effect is "not found" wherever it lies."""
    if math.isnan(value):
        return "missing"
    if null is None:
        return "no verdict"
    if math.isnan(low) or math.isnan(high):
        return "cannot tell"
    if null - smallest <= low and high <= null + smallest:
        return "not found"
    return "found" if low > null or high < null else "cannot tell"


def column(headline: Headline, table: pd.DataFrame, models: Sequence[str], tests: Judging) -> Column:
    """The cells of ``headline`` in its ``table`` for each of ``models``, judged with what ``tests`` know of each row."""
    found, rates = (_by_key(table, list(headline.rows), metric) for metric in (headline.metric, "unanswered_rate"))
    own = tuple(headline.rows.values())
    opened = [place for place, name in enumerate(headline.rows) if name in headline.by]
    closed = [place for place, name in enumerate(headline.rows) if name not in headline.by]

    def cells(key: tuple[str, ...]) -> dict[str, Cell]:
        rows, unread = found.get(key, {}), rates.get(key, {})
        where = dict(zip(headline.rows, key, strict=True))
        cards = tests.cards(headline, where)
        told = {m: tests.outcome(headline, m, where) for m in models}
        return {m: _cell(headline, cards, m, where, rows.get(m), unread.get(m), told[m]) for m in models}

    others = [key for key in found if key != own and all(key[place] == own[place] for place in closed)]
    parts = [(" · ".join(key[place] for place in opened), cells(key)) for key in others] if opened else []
    parts = [(name, of) for name, of in parts if measured(of)]
    cards = tests.cards(headline, headline.rows)
    return Column(headline, *_null(headline, cards), cards, worst(cards), cells(own), parts)


def measured(cells: Mapping[str, Cell]) -> bool:
    """Whether any model has a value."""
    return any(cell.state != "missing" for cell in cells.values())


def _null(headline: Headline, cards: Sequence[Card]) -> tuple[float | None, str]:
    """What a model without bias has, and why that is so; None where the metric is known to see something else, too."""
    if headline.null is None or worst(cards) != "descriptive":
        return headline.null, headline.reason
    why = "; ".join(dict.fromkeys(card["reason"] for card in cards if card["verdict"] == "descriptive"))
    return None, f"in the laboratory it mistakes something else for bias: {why.replace('_', ' ')}"


#: Values of the key columns -> model -> row.
_Rows = dict[tuple[str, ...], dict[str, dict[str, Any]]]


def _by_key(table: pd.DataFrame, keys: Sequence[str], metric: str) -> _Rows:
    """Rows of a metric by their keys."""
    rows: _Rows = {}
    for row in table[table["metric"] == metric].to_dict("records"):
        rows.setdefault(tuple(str(row[key]) for key in keys), {})[str(row["model"])] = row
    return rows


def _cell(
    headline: Headline,
    cards: Sequence[Card],
    model: str,
    where: Mapping[str, str],
    row: Mapping[str, Any] | None,
    rate: Mapping[str, Any] | None,
    outcome: Outcome | None,
) -> Cell:
    null, reason = _null(headline, cards)
    if row is None:
        return Cell(model, "missing", "not measured", null=null, where=where)
    value, low, high = (float(row[key]) for key in ("value", "ci_low", "ci_high"))
    lost = sum(int(row[key]) for key in _LOST)
    share = (
        rate["value"] / 100 if rate is not None else lost / (lost + int(row["n"])) if lost + int(row["n"]) else math.nan
    )
    no_interval = "" if pd.isna(row["no_interval"]) else str(row["no_interval"])
    judged, why = state(value, low, high, null, headline.smallest), reason
    if judged == "missing":
        why = no_interval or (f"no answer has a value: {lost} refused, unread or failed" if lost else "no value")
    elif judged != "no verdict":
        judged, why = _judged(judged, cards, outcome, no_interval)
    width = (high - low) / 2 / _HALF_WIDTH
    away = math.nan if null is None else value - null
    return Cell(
        model=model,
        state=judged,
        why=why,
        value=value,
        low=low,
        high=high,
        n=int(row["n"]),
        clusters=int(row["clusters"]),
        effect=away / headline.smallest if headline.smallest else math.nan,
        errors=away / width if width > 0 else math.nan,
        unread=share,
        null=null,
        published="" if pd.isna(row["published"]) else str(row["published"]),
        where=where,
    )


def _judged(by_itself: State, cards: Sequence[Card], outcome: Outcome | None, no_interval: str) -> tuple[State, str]:
    """The state of a number that has a null, and why, in words: its card first, then its interval, then all tests."""
    if worst(cards) != "passed":
        whys = [card["reason"] for card in cards if isinstance(card["reason"], str) and card["reason"]]
        unknown = whys[0] if whys else "was tried on too few models" if cards else "was not tried"
        return "no verdict", f"what this number mistakes for bias {unknown} in the laboratory"
    q = f"q = {outcome.q:.2g} with all tests of the run counted" if outcome else "a test by itself"
    if by_itself == "not found":
        return by_itself, "the whole interval lies within the smallest effect that matters"
    if no_interval:
        return "cannot tell", f"no interval: {no_interval}"
    if by_itself == "cannot tell":
        return by_itself, "the interval holds both no bias and one that matters"
    if outcome is not None and not outcome.survives:
        return "cannot tell", f"its own interval leaves out what a model without bias has, but {q}"
    return "found", f"the interval leaves out what a model without bias has; {q}"


def whole(column: Column) -> str:
    """The name of the headline's own row among its parts: "all", or what the spec chose for it."""
    names = [column.headline.rows[key] for key in column.headline.by]
    return "all" if not names or any(name in WHOLE for name in names) else " · ".join(names)


def all_cells(columns: Sequence[Column]) -> Iterator[Cell]:
    """Every headline cell of ``columns``, without their parts."""
    for one in columns:
        yield from one.cells.values()
