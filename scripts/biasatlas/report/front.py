"""The first page: which model is biased, how much, how sure that is, and what is missing, in everyday words."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from biasatlas.benchmarks.contract import Headline
from biasatlas.report.example import example
from biasatlas.report.run import Run
from biasatlas.report.text import number, visible
from biasatlas.report.verdicts import Cell, Column, measured
from biasatlas.report.views import Views

#: Up to so many models there is a block of sentences a model, beyond a line a question.
FEW_MODELS = 4
#: Half the width of a scale, in smallest effects that matter: the first that holds every value.
SPANS = (4, 6, 8, 10, 15)
#: Marks on a scale, in smallest effects that matter: the largest below its end stands on either side.
_TICKS = (2, 3, 5, 10)
#: What one unit multiplies a likelihood by.
_FACTORS = {"nats": math.e, "base-10 logs": 10.0}
#: Parts of a finding that its sentence names.
_NAMED = 3


@dataclass(frozen=True)
class Question:
    """A headline of a run whose numbers can get a verdict, or would if there were any."""

    run: Run
    column: Column

    @property
    def headline(self) -> Headline:
        return self.column.headline

    @property
    def unit(self) -> str:
        """The unit of its numbers, with the space before it, where it needs one."""
        unit = self.run.spec.metrics[self.headline.metric].unit
        return unit if len(unit) == 1 else f" {unit}" if unit else ""

    @property
    def source(self) -> str:
        """Its benchmark, and its protocol unless it is ours."""
        return self.run.title + ("" if self.run.protocol == "recommended" else f" under {self.run.protocol}")

    @property
    def topic(self) -> str:
        return self.headline.topic or f"{self.headline.name} of {self.source}"


def front(views: Views, here: str) -> dict[str, Any]:
    """All that the template of the first page needs; ``here`` leads to the folder of the other pages."""
    every = [Question(run, col) for run in views.study.runs for col in views.every[run.key]]
    questions = sorted((each for each in every if can_speak(each.column)), key=lambda each: -_largest_bias(each))
    models = list(views.study.models)
    few = len(models) <= FEW_MODELS
    span = _span(questions)
    return {
        "counts": _counts(questions) | {"questions": len(questions)},
        "models": len(models),
        "benchmarks": len({run.benchmark for run in views.study.runs}),
        "by_model": [views.row(model) | {"lines": list(_of_model(views, questions, model))} for model in models]
        if few
        else [],
        "by_question": [] if few else [{"topic": each.topic, "line": _of_all(views, each)} for each in questions],
        "panels": [_panel(views, each, here, span) for each in questions],
        "example": _example(views, questions, here),
        "silent": [
            {"source": each.source, "page": f"{each.run.key}.html", "name": each.headline.name}
            | {"question": each.headline.question, "why": _why_silent(each.column)}
            for each in every
            if not can_speak(each.column)
        ],
    }


def can_speak(column: Column) -> bool:
    """Whether a column has a verdict for some model, or would have one if any answer could be read."""
    if column.null is None:
        return False
    cells = [cell for cell in column.cells.values() if math.isfinite(cell.value)]
    return not measured(column.cells) or any(cell.state != "untestable" for cell in cells)


def _largest_bias(question: Question) -> float:
    """The largest bias that was found, in smallest effects that matter; 0 where none was."""
    return max((abs(cell.effect) for cell in question.column.cells.values() if cell.state == "biased"), default=0.0)


def _counts(questions: Sequence[Question]) -> dict[str, int]:
    """Results by state; those without a value are "missing"."""
    cells = [cell for each in questions for cell in each.column.cells.values()]
    counts = Counter(cell.state if math.isfinite(cell.value) else "missing" for cell in cells)
    return {"all": len(cells), **counts}


def _why_silent(column: Column) -> str:
    """Why no model gets a verdict."""
    if column.null is None:
        return column.reason
    whys = Counter(cell.why for cell in column.cells.values() if cell.why)
    return "; ".join(why for why, _ in whys.most_common(2))


def _span(questions: Sequence[Question]) -> int:
    """Half the width of all scales, in smallest effects that matter: by the largest value of the run."""
    cells = (cell for each in questions for cell in each.column.cells.values())
    largest = max((abs(cell.effect) for cell in cells if math.isfinite(cell.effect)), default=0.0)
    return next((span for span in SPANS if span >= largest), SPANS[-1])


def _size(views: Views, question: Question, cell: Cell) -> str:
    """A value as the chart shows it, with its unit."""
    return f"{views.cell(question.run, question.column, cell.model, cell, '')['raw']}{question.unit}"


def _of_model(views: Views, questions: Sequence[Question], model: str) -> Iterator[dict[str, str]]:
    """What is said of a model: a line for each bias, then one each for what is unbiased, undecided and missing."""
    mine = [(each, each.column.cells[model]) for each in questions if model in each.column.cells]
    known = [(each, cell) for each, cell in mine if math.isfinite(cell.value)]
    for each, cell in known:
        if cell.state == "biased":
            yield {
                "css": "biased",
                "state": "Biased",
                "text": f"on {each.topic}: it {phrase(each, cell)}{_where(each, model)}",
                "size": f"{sureness(each, cell)}; {times_what_matters(cell)}; {each.source}",
            }
    unbiased = [f"{each.topic} ({each.source})" for each, cell in known if cell.state == "unbiased"]
    if unbiased:
        text = "or too little to matter, on " + ", ".join(unbiased)
        yield {"css": "unbiased", "state": "Unbiased,", "text": text, "size": ""}
    for each, cell in known:
        if cell.state in ("undecided", "untestable"):
            text = f"on {each.topic}: {cell.why}"
            yield {"css": cell.state, "state": cell.state.capitalize(), "text": text, "size": each.source}
    for each, cell in mine:
        if math.isnan(cell.value):
            yield {
                "css": "missing",
                "state": "No result",
                "text": f"for {each.topic} ({each.source}): {cell.why}",
                "size": "",
            }


def _of_all(views: Views, question: Question) -> str:
    """What is said of a question about many models."""
    cells = list(question.column.cells.values())
    known = [cell for cell in cells if math.isfinite(cell.value)]
    biased = sorted((cell for cell in known if cell.state == "biased"), key=lambda cell: -abs(cell.effect))
    said = [f"{len(biased)} of {len(cells)} models biased" if biased else f"None of {len(cells)} models found biased"]
    if biased:
        most = biased[0]
        said[0] += f", {visible(most.model)} most ({_size(views, question, most)})"
    counts = Counter(cell.state for cell in known if cell.state != "biased") + Counter(missing=len(cells) - len(known))
    names = {
        "unbiased": "unbiased",
        "undecided": "undecided",
        "untestable": "untestable",
        "missing": "without a result",
    }
    return ". ".join([*said, ", ".join(f"{counts[key]} {name}" for key, name in names.items() if counts[key])]).strip(
        ". "
    )


def phrase(question: Question, cell: Cell) -> str:
    """What a model does, in everyday words: the headline's own where it has some."""
    headline, away = question.headline, abs(cell.value - (cell.null or 0.0))
    pattern = headline.above if cell.effect > 0 else headline.below
    if not pattern:
        end = headline.ends[1] if cell.effect > 0 else headline.ends[0]
        return f"leans {end} by {number(away)}{question.unit}"
    return pattern.replace("{times}", f"{_factor(question, away):.2g} times").replace("{value}", number(round(away, 1)))


def _factor(question: Question, away: float) -> float:
    """By what a distance from the null multiplies a likelihood; missing (NaN) in other units."""
    return _FACTORS.get(question.unit.strip().split(" ")[0], math.nan) ** away


def sureness(question: Question, cell: Cell) -> str:
    """How sure a bias is: its interval in the unit of :func:`phrase`, or, where none is shown, what it is at least."""
    if math.isnan(cell.low):
        return f"at least {number(question.headline.smallest)}{question.unit}, but no interval from so few samples"
    away = sorted(abs(end - (cell.null or 0.0)) for end in (cell.low, cell.high))
    low, high = (_factor(question, end) for end in away)
    if math.isnan(low):
        return f"95%: {number(round(away[0], 1))} to {number(round(away[1], 1))}{question.unit}"
    return f"95%: {low:.2g} to {high:.2g} times"


def _example(views: Views, questions: Sequence[Question], here: str) -> dict[str, Any] | None:
    """The median item behind the largest bias that was found; None where none was found, or no item has a side."""
    found = [(each, cell) for each in questions for cell in each.column.cells.values() if cell.state == "biased"]
    for each, cell in sorted(found, key=lambda pair: -abs(pair[1].effect)):
        shown = example(each.run, each.headline, cell, views.study.ids, here)
        if shown:
            said = {"source": each.source, "topic": each.topic, "n": cell.item.n, "value": _size(views, each, cell)}
            return shown | views.row(cell.model) | said | {"away": f"{number(cell.item.away)}{each.unit}"}
    return None


def times_what_matters(cell: Cell) -> str:
    """A distance from the null in smallest effects that matter, in words."""
    size = abs(cell.effect)
    return f"{size:.0f} times what matters" if size >= 10 else f"{size:.1f} times what matters"


def _where(question: Question, model: str) -> str:
    """The parts in which a model is biased by itself, the largest effect first."""
    others = [
        other.rows
        for other in question.run.spec.headlines
        if other.metric == question.headline.metric and other.rows != question.headline.rows
    ]
    parts = [
        (name, cells[model])
        for name, cells in question.column.parts
        # A part that is a headline itself has a sentence of its own.
        if model in cells and not any(rows.items() <= dict(cells[model].where or {}).items() for rows in others)
    ]
    biased = sorted((part for part in parts if part[1].state == "biased"), key=lambda part: -abs(part[1].effect))
    named = [name.replace("_", " ").replace(" · ", "–") for name, _ in biased[:_NAMED]]
    more = f" and {len(biased) - _NAMED} more" if len(biased) > _NAMED else ""
    return f"; clearest for {', '.join(named)}{more}" if named else ""


def _panel(views: Views, question: Question, here: str, span: int) -> dict[str, Any]:
    """A question's scale from ``-span`` to ``span``, with a row for each model."""
    column = question.column
    said = views.said(question.run, column)
    rows = []
    for model, cell in column.cells.items():
        shown = views.cell(question.run, column, model, cell, here)
        without = f"at least {number(question.headline.smallest)}{question.unit}" if cell.state == "biased" else ""
        times = _factor(question, abs(cell.value - (cell.null or 0.0)))
        shown |= {"interval": shown["interval"] or without or "no interval"}
        shown |= {"times": "" if math.isnan(times) else f"{times:.2g} times"}
        rows.append(views.row(model) | {"cell": shown, "mark": _mark(cell, column, span)})
    return {
        "key": question.run.key,
        "page": f"{question.run.key}.html",
        "question": said["question"],
        "source": question.source,
        "name": said["name"],
        "data": "sample" if question.run.data == "sample" else "",
        "smallest": said["smallest"],
        "reason": question.headline.reason,
        "unit": question.unit,
        "ends": question.headline.ends,
        "ticks": [(at(tick, span), f"{tick:+d}".replace("-", "−") if tick else "0") for tick in _ticks(span)],
        "band": (at(-1, span), at(1, span) - at(-1, span)),
        "rows": rows,
    }


def at(effect: float, span: int) -> float:
    """Where an effect lies on a scale from ``-span`` to ``span``, in percent of its width; what is beyond lies at its end."""
    return round(50 + 48 * max(-1.0, min(1.0, effect / span)), 2)


def _ticks(span: int) -> tuple[int, ...]:
    far = max(tick for tick in _TICKS if tick < span)
    return -far, -1, 0, 1, far


def _mark(cell: Cell, column: Column, span: int) -> Mapping[str, Any] | None:
    """Dot and interval of a cell on a scale, in percent; None without a value."""
    if not math.isfinite(cell.effect) or cell.null is None:
        return None
    low, high = ((end - cell.null) / column.headline.smallest for end in (cell.low, cell.high))
    known = math.isfinite(low)
    return {
        "at": at(cell.effect, span),
        "low": at(low, span) if known else None,
        "high": at(high, span) if known else None,
        # Beyond the scale there is an arrow and no dot.
        "beyond": abs(cell.effect) > span,
        "cut_low": (known and low < -span) or cell.effect < -span,
        "cut_high": (known and high > span) or cell.effect > span,
        "decided": cell.state in ("biased", "unbiased"),
    }
