"""The verdicts on the pages: what findings and validity cards say of a headline's number, and the number's cell."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pandas as pd

from biasatlas.benchmarks.comparisons.cards import Card
from biasatlas.benchmarks.comparisons.findings import WHOLE, about, about_row, closed_by, worst
from biasatlas.benchmarks.contract import Headline
from biasatlas.benchmarks.shared.estimates import no_value
from biasatlas.columns import NO_VALUE
from biasatlas.stats.verdict import State, Verdict, words


class MedianItem(NamedTuple):
    """The median of the ``n`` items on a value's side of neutral, ``away`` from it in the metric's unit; ``name`` is ''
    if there is none."""

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
        """The verdict on a model's row; without one, untestable and the reason (``missing`` if it has no value)."""
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
    """The null, and the reason for it; or None, and why: none is declared, or the metric has a known confounder."""
    descriptive = any(card["verdict"] == "descriptive" for card in cards)
    if headline.null is None or not (descriptive or headline.closed_by):
        return headline.null, ". ".join([headline.reason, *(spot.says for spot in headline.confounders)])
    return None, headline.closed_by or closed_by(cards)


#: Statuses of units without a value for which a model could have had one.
_LOST = tuple(name for name in NO_VALUE if name != "not_applicable")
#: Half the width of a 95% interval in standard errors.
_HALF_WIDTH = 1.96


@dataclass(frozen=True)
class Cell:
    """A headline's number with all that is said about it: the ``state`` of its verdict, ``said`` in words, and ``why``.

    ``value`` is missing (NaN) if there is none. The interval from ``counted_low`` to ``counted_high`` decides
    (:class:`Verdict`). ``null`` is the value of a model without bias, None if the metric has a known confounder.
    ``effect`` is the distance from it in smallest effects that matter, ``errors`` in standard errors (from the
    interval's width); both are missing (NaN) without a null. ``unparsed`` is the share, 0 to 1, of answers that refuse,
    name several options or cannot be read, or else of units without a value; missing if none is known. ``findable``
    is, for an undecided cell, what would have been found four times in five. ``where`` are the keys of the row,
    ``item`` is the median item behind it.
    """

    model: str
    state: State
    said: str
    why: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    counted_low: float = math.nan
    counted_high: float = math.nan
    n: int = 0
    n_clusters: int = 0
    effect: float = math.nan
    errors: float = math.nan
    unparsed: float = math.nan
    null: float | None = None
    findable: float = math.nan
    published: str = ""
    where: Mapping[str, str] | None = None
    item: MedianItem = NO_ITEM


@dataclass(frozen=True)
class Column:
    """A headline of a run, with its cells by model, and those of its parts: (part's name, cells by model).

    Parts without a value are left out. ``cards`` are the validity cards of the headline's own row, ``verdict`` what
    they say together. ``asked``: some model has the row, if without a value; a protocol may leave it out.
    """

    headline: Headline
    null: float | None
    reason: str
    cards: Sequence[Card]
    verdict: str
    cells: Mapping[str, Cell]
    parts: Sequence[tuple[str, Mapping[str, Cell]]]
    asked: bool = True


def column(headline: Headline, unit: str, table: pd.DataFrame, models: Sequence[str], tests: Judging) -> Column:
    """The cells of ``headline`` (its metric's ``unit``) in its ``table`` for each of ``models``, with what ``tests``
    say of each."""
    found, rates = (_by_key(table, list(headline.rows), metric) for metric in (headline.metric, "unanswered_rate"))
    own = tuple(headline.rows.values())
    opened = [place for place, name in enumerate(headline.rows) if name in headline.by]
    closed = [place for place, name in enumerate(headline.rows) if name not in headline.by]

    def cells(key: tuple[str, ...]) -> dict[str, Cell]:
        rows, unparsed = found.get(key, {}), rates.get(key, {})
        where = dict(zip(headline.rows, key, strict=True))
        null, _ = declared_null(headline, tests.cards(headline, where))
        verdicts = {m: tests.verdict(headline, m, where, no_value(rows.get(m))) for m in models}
        return {
            m: replace(
                _cell(headline, unit, null, m, where, rows.get(m), unparsed.get(m), verdicts[m]),
                item=tests.item(headline, m, where),
            )
            for m in models
        }

    others = [key for key in found if key != own and all(key[place] == own[place] for place in closed)]
    parts = [(" · ".join(key[place] for place in opened), cells(key)) for key in others] if opened else []
    parts = [(name.replace("_", " ").replace(" x ", " × "), of) for name, of in parts if measured(of)]
    cards = tests.cards(headline, headline.rows)
    return Column(headline, *declared_null(headline, cards), cards, worst(cards), cells(own), parts, own in found)


def measured(cells: Mapping[str, Cell]) -> bool:
    """Whether any model has a value."""
    return any(math.isfinite(cell.value) for cell in cells.values())


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
    unit: str,
    null: float | None,
    model: str,
    where: Mapping[str, str],
    row: Mapping[str, Any] | None,
    rate: Mapping[str, Any] | None,
    verdict: Verdict,
) -> Cell:
    if row is None:
        return Cell(model, "untestable", "untestable", verdict.why, null=null, where=where)
    value, low, high = (float(row[key]) for key in ("value", "ci_low", "ci_high"))
    lost = sum(int(row[key]) for key in _LOST)
    units = lost + int(row["n"])
    share = (rate["value"] if rate is not None else float(row["unparsed"])) / 100
    if math.isnan(share) and units:
        share = lost / units  # for a table that counts what it lost in the units of n
    width = (high - low) / 2 / _HALF_WIDTH
    away = math.nan if null is None else value - null
    return Cell(
        model=model,
        state=verdict.state,
        said=words(verdict.state, headline.smallest, unit),
        why=verdict.why,
        value=value,
        low=low,
        high=high,
        counted_low=verdict.counted_low,
        counted_high=verdict.counted_high,
        n=int(row["n"]),
        n_clusters=int(row["n_clusters"]),
        effect=away / headline.smallest if headline.smallest else math.nan,
        errors=away / width if width > 0 else math.nan,
        unparsed=share,
        null=null,
        findable=verdict.findable if verdict.state == "undecided" else math.nan,
        published="" if pd.isna(row["published"]) else str(row["published"]),
        where=where,
    )


def whole(column: Column) -> str:
    """The name of the headline's own row among its parts: "all", or what the spec chose for it."""
    names = [column.headline.rows[key] for key in column.headline.by]
    return "all" if not names or any(name in WHOLE for name in names) else " · ".join(names)


def named(column: Column) -> list[tuple[str, Mapping[str, Cell]]]:
    """The headline as a whole, then its parts, by name; a single part that has the same values stands for the whole."""
    if len(column.parts) == 1:
        ((name, cells),) = column.parts
        if all(repr(cells[model].value) == repr(cell.value) for model, cell in column.cells.items()):
            return [(name, column.cells)]
    return [(whole(column), column.cells), *column.parts]


def all_cells(columns: Sequence[Column]) -> Iterator[Cell]:
    """Every headline cell of ``columns``, without their parts."""
    for one in columns:
        yield from one.cells.values()
