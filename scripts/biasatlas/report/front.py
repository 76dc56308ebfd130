"""The first page: one table of questions and models, with how biased each is, how sure that is, and what is missing."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from biasatlas.benchmarks.contract import Headline
from biasatlas.report.example import example
from biasatlas.report.run import Run
from biasatlas.report.text import number
from biasatlas.report.verdicts import Cell, Column, measured
from biasatlas.report.views import Views

#: Up to so many models the models stand under each question, with words; beyond, a row a model has all questions.
FEW_MODELS = 6
#: Up to so many biased models are named in the title.
_IN_TITLE = 3
#: The sizes at the ends of a scale, the first that holds every value: factors, and in smallest effects that matter.
_FACTOR_ENDS, _ENDS = (2, 4, 8, 16, 32, 64), (4, 6, 8, 10, 15)
#: What one unit multiplies a likelihood by.
_FACTORS = {"nats": math.e, "base-10 logs": 10.0}
#: The states of a model's answers in the order in which the page says them.
_ORDER = ("biased", "unbiased", "undecided", "untestable", "missing")
#: Parts of a finding that its sentence names.
_NAMED = 2
#: What the cell of a model says where the configuration leaves it out: it counts nowhere.
_NOT_ASKED = "Not asked"


@dataclass(frozen=True)
class Question:
    """A headline of a run whose numbers can get a verdict, or would if there were any."""

    run: Run
    column: Column

    @property
    def key(self) -> tuple[str, str]:
        return self.run.key, self.headline.name

    @property
    def headline(self) -> Headline:
        return self.column.headline

    @property
    def unit(self) -> str:
        """The unit of its numbers, with the space before it, where it needs one."""
        return spaced(self.run.spec.metrics[self.headline.metric].unit)

    @property
    def base(self) -> float:
        """What one unit multiplies a likelihood by; 0 of what is no logarithm."""
        return _FACTORS.get(self.unit.strip().split(" ")[0], 0.0)

    @property
    def one(self) -> str:
        """The smallest effect that matters."""
        return f"{plain(self, self.headline.smallest)[0]} {self.shortly}"

    @property
    def shortly(self) -> str:
        """How its sizes are said in a word: "times", "points", "answers"."""
        return plain(self, 0.0)[1].removeprefix(" percentage").split()[0]

    @property
    def asks(self) -> str:
        """What its sizes are, in a sentence."""
        unit = plain(self, 0.0)[1]
        means = self.headline.means or f"{self.topic}: {{}}."
        return means.format(f"this many{unit}")

    @property
    def source(self) -> str:
        """Its benchmark, and its protocol unless it is ours."""
        return self.run.title + ("" if self.run.protocol == "recommended" else f" under {self.run.protocol}")

    @property
    def ends(self) -> tuple[str, str]:
        """What lies below and above the null."""
        return self.headline.ends

    @property
    def topic(self) -> str:
        return self.headline.topic or f"{self.headline.name} of {self.source}"


def spaced(unit: str) -> str:
    """A ``unit`` as it follows a number."""
    return unit if len(unit) == 1 else f" {unit}" if unit else ""


def front(views: Views, here: str) -> dict[str, Any]:
    """All that the template of the first page needs; ``here`` leads to the folder of the other pages."""
    every = [Question(run, col) for run in views.study.runs for col in views.every[run.key]]
    speaking = [each for each in every if can_speak(each.column)]
    found = _biases(speaking)
    questions = [each for each, _ in found] + speaking
    questions = list({each.key: each for each in questions}.values())
    models, spans = list(views.study.models), _spans(questions)
    topics = Counter(each.topic for each in questions)
    few = len(models) <= FEW_MODELS
    table = [[_cell(views, each, model, here, spans[each.key], few) for model in models] for each in questions]
    heads = [_head(views, each, here, topics[each.topic] > 1, spans[each.key]) for each in questions]
    by_model = [
        views.row(model) | _tally([cells[place] for cells in table]) | {"told": _told(heads, [c[place] for c in table])}
        for place, model in enumerate(models)
    ]
    return {
        "few": few,
        "title": _title(dict(zip(models, by_model, strict=True)), few),
        "counts": _tally([cell for cells in table for cell in cells]),
        "benchmarks": len({run.benchmark for run in views.study.runs}),
        "models": by_model,
        "questions": [head | _tally(cells) for head, cells in zip(heads, table, strict=True)],
        "table": table,
        "ends": Counter(each.headline.ends for each in questions).most_common(1)[0][0] if questions else (),
        "largest": next(
            (
                _cell(views, each, cell.model, here, spans[each.key], few) | {"model": cell.model, "head": heads[0]}
                for each, cell in found
            ),
            None,
        ),
        "open": _open(heads, table),
        "most": _most([cell["why"] for cells in table for cell in cells if cell["state"] == "undecided"]),
        "example": _example(views, found, here),
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


def _biases(questions: Sequence[Question]) -> list[tuple[Question, Cell]]:
    """Each bias that was found, the largest in smallest effects that matter first."""
    found = [(each, cell) for each in questions for cell in each.column.cells.values() if cell.state == "biased"]
    return sorted(found, key=lambda pair: -abs(pair[1].effect))


def _why_silent(column: Column) -> str:
    """Why no model gets a verdict."""
    if column.null is None:
        return column.reason
    whys = Counter(cell.why for cell in column.cells.values() if cell.why)
    return "; ".join(why for why, _ in whys.most_common(2))


def _spans(questions: Sequence[Question]) -> dict[tuple[str, str], float]:
    """Half the width of each question's scale, in smallest effects that matter. Factors share a scale, and so do other
    questions in one unit."""
    sharing: dict[str, list[Question]] = {}
    for each in questions:
        sharing.setdefault("factors" if each.base else each.unit, []).append(each)
    spans: dict[tuple[str, str], float] = {}
    for alike in sharing.values():
        ones = [each.headline.smallest * (math.log(each.base) if each.base else 1.0) for each in alike]
        cells = ((one, cell) for each, one in zip(alike, ones, strict=True) for cell in each.column.cells.values())
        largest = max((abs(cell.effect) * one for one, cell in cells if math.isfinite(cell.effect)), default=0.0)
        ends = [math.log(end) for end in _FACTOR_ENDS] if alike[0].base else [end * max(ones) for end in _ENDS]
        end = next((end for end in ends if end >= largest), ends[-1])
        spans |= {each.key: end / one for each, one in zip(alike, ones, strict=True)}
    return spans


def plain(question: Question, away: float) -> tuple[str, str]:
    """A distance from the null as people would say it, and its unit; one in nats is a factor."""
    if not question.base:
        return number(round(away, 1)).replace("-", "−"), f" {question.headline.times or 'points'}"
    factor = question.base**away
    return f"{factor:.2f}" if factor < 1.1 else f"{factor:.2g}", f" {question.headline.times or 'times as likely'}"


def _example(views: Views, found: Sequence[tuple[Question, Cell]], here: str) -> dict[str, Any] | None:
    """The median item behind the largest bias that was ``found``; None where none was, or no item has a side."""
    for each, cell in found:
        shown = example(each.run, each.headline, cell, views.study.ids, here)
        if shown:
            value = "".join(plain(each, cell.value - (cell.null or 0.0)))
            said = {"source": each.source, "topic": each.topic, "n": cell.item.n, "value": value}
            return shown | views.row(cell.model) | said | {"away": "".join(plain(each, cell.item.away))}
    return None


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
    named = [
        " vs ".join(part[:1].upper() + part[1:] for part in name.replace("_", " ").split(" · "))
        for name, _ in (biased if len(biased) <= _NAMED + 1 else biased[:_NAMED])
    ]
    more = f" and {len(biased) - _NAMED} others" if len(biased) > _NAMED + 1 else ""
    return f"clearest for {', '.join(named)}{more}" if named else ""


def at(effect: float, span: float) -> float:
    """Where an effect lies on a scale from ``-span`` to ``span``, in percent of its width; what is beyond lies at its
    end."""
    return round(50 + 48 * max(-1.0, min(1.0, effect / span)), 2)


def _head(views: Views, question: Question, here: str, shared: bool, span: float) -> dict[str, Any]:
    """What a question asks, of which benchmark (also in its topic, where that is ``shared``), and the sizes at the ends
    of its scale of ``span``."""
    said = views.said(question.run, question.column)
    return {
        "asks": question.asks,
        "none": 1 if question.base else 0,
        "band": (at(-1, span), at(1, span) - at(-1, span)),
        "scale": [plain(question, end * span * question.headline.smallest)[0] for end in (-1, 1)],
        "one": question.one,
        "topic": question.topic + (f" ({question.source})" if shared else ""),
        "source": question.source,
        "name": said["name"],
        "sample": question.run.data == "sample",
        "href": f"{here}{question.run.key}.html#{said['name']}",
        "ends": question.ends,
        "short_ends": [end.split()[0] for end in question.ends],
    }


def _cell(views: Views, question: Question, model: str, here: str, span: float, few: bool) -> dict[str, Any]:
    """A model's answer to a question: word, size and interval in smallest effects that matter, and what that means."""
    cell = question.column.cells.get(model)
    if cell is None:
        return {"state": "missing", "word": _NOT_ASKED}
    if not math.isfinite(cell.effect):
        return {"state": "missing", "word": "No result", "why": cell.why}
    decided = math.isfinite(cell.counted_low) or math.isfinite(cell.counted_high)
    # Where the run's other tests have no part in it, there is only the interval of the number by itself.
    ends = (cell.counted_low, cell.counted_high) if decided else (cell.low, cell.high)
    away, low, high = (value - (cell.null or 0.0) for value in (cell.value, *ends))
    value, unit = plain(question, away)
    why, _, remedy = cell.why.partition("; ")
    said = {"biased": _where(question, model), "unbiased": "any bias is too small to matter"}
    return {
        "state": cell.state,
        "word": cell.state.capitalize(),
        "size": value + unit,
        "interval": _sure(question, low, high),
        "short": f"{value} {question.shortly}",
        "means": question.headline.means.split("{}"),
        "said": said.get(cell.state, remedy or why),
        "why": cell.why if cell.state in ("undecided", "untestable") else "",
        "href": views.cell(question.run, question.column, model, cell, here)["href"],
        "order": f"{cell.effect:.4g}",
        "at": at(cell.effect, span),
        "line": drawn(low, high, question, span) if math.isfinite(low) or math.isfinite(high) else None,
        # Beyond the scale there is an arrow and no dot.
        "beyond": abs(cell.effect) > span and ("low" if cell.effect < 0 else "high"),
        "open": cell.state not in ("biased", "unbiased"),
    }


def drawn(low: float, high: float, question: Question, span: float) -> tuple[float, float]:
    """Where a line from ``low`` to ``high`` (distances from the null; NaN: no limit) begins and ends, in percent of a
    panel.

    One that goes on beyond the scale, or has no limit, ends at the panel's edge.
    """
    least, most = low / question.headline.smallest, high / question.headline.smallest
    return (at(least, span) if least > -span else 0.0), (at(most, span) if most < span else 100.0)


def _sure(question: Question, low: float, high: float) -> str:
    """The interval from ``low`` to ``high`` (distances from the null; NaN: no limit) in words; empty without limits."""
    least, most = (_end(question, end) if math.isfinite(end) else "" for end in (low, high))
    if least and most:
        return f"{least} to {most}"
    if (least and low <= 0) or (most and high >= 0):
        return "no upper limit" if least else "no lower limit"
    return f"{least} or more" if least else f"{most} or less" if most else ""


def _end(question: Question, away: float) -> str:
    """An end of an interval; one that rounds to the smallest effect that matters says on which side of it it lies."""
    limit = math.copysign(question.headline.smallest, away)
    said = plain(question, away)[0]
    if away == limit or said != plain(question, limit)[0]:
        return said
    return f"just {'over' if away > limit else 'under'} {said}"


def _title(found: Mapping[str, Mapping[str, int]], few: bool) -> str:
    """What the page says first: in which models bias was found; of none, whether it is ruled out."""
    biased = [model for model, of in found.items() if of.get("biased")]
    if few and 0 < len(biased) <= _IN_TITLE:
        return f"Bias found in {listed(biased)}"
    if biased:
        return f"Bias found in {len(biased)} of {len(found)} models"
    clear = all(of.get("all", 0) == of.get("unbiased", 0) for of in found.values())
    name = next(iter(found)) if len(found) == 1 else f"{len(found)} models"
    return f"No bias found in {name}{'' if clear else ', but not ruled out'}"


def _told(heads: Sequence[Mapping[str, Any]], cells: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What a model was found to be on each question: questions and cells of each state, in the order of the page."""
    pairs = [pair for pair in zip(heads, cells, strict=True) if pair[1]["word"] != _NOT_ASKED]
    told = [(state, [(head, cell) for head, cell in pairs if cell["state"] == state]) for state in _ORDER]
    return [{"state": state, "on": on} for state, on in told if on]


def _open(heads: Sequence[Mapping[str, Any]], table: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, list[str]]:
    """Why answers are not decided: each reason, with the questions that it is of and how many models it is of there."""
    whys: dict[str, list[str]] = {}
    for head, cells in zip(heads, table, strict=True):
        # What would decide it differs from model to model, and stands in their cells.
        for why, models in Counter(cell["why"].split("; ")[0] for cell in cells if cell.get("why")).items():
            whys.setdefault(why, []).append(f"{head['topic']}, {models} of {len(cells)} models")
    return whys


def _most(whys: Sequence[str]) -> str:
    """The commonest reason, without what would decide it."""
    return next((why for why, _ in Counter(why.split("; ")[0] for why in whys).most_common(1)), "")


def listed(names: Sequence[str]) -> str:
    """Names as a sentence lists them."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _tally(cells: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many results there are, and how many of each state."""
    asked = [cell["state"] for cell in cells if cell["word"] != _NOT_ASKED]
    return {"all": len(asked), **Counter(asked)}
