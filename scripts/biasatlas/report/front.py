"""The first page: one table of questions and models, with how biased each is, how sure that is, and what is missing."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from biasatlas.benchmarks.comparisons.findings import WHOLE
from biasatlas.benchmarks.comparisons.framings import MOVES
from biasatlas.benchmarks.contract import Headline
from biasatlas.report.example import example
from biasatlas.report.run import Run
from biasatlas.report.verdicts import Cell, Column, measured, whole
from biasatlas.report.views import Views
from biasatlas.stats.verdict import spaced

#: Up to this many models, the title names those that are biased, and each model has a sentence and detailed cells.
_FEW_MODELS = 6
#: Up to this many biased models are named with their biases; of more, only the one with the first bias is.
_IN_TITLE = 3
#: Half-widths of the scale in smallest effects that matter; the first that holds every value is taken.
_SPANS = (4, 6, 8, 10, 15)
#: Larger factors, and those below its inverse, are "over" or "under" it.
_MOST = 1000
#: What one unit multiplies a likelihood by.
_FACTORS = {"nats": math.e, "base-10 logs": 10.0}
#: Parts of a finding that its sentence names.
_NAMED = 2
#: The word in the cell of a model that the configuration leaves out; such a cell counts nowhere.
_NOT_ASKED = "Not asked"
#: The remark on a part whose factor lies on the other side of 1 than the whole's.
_TURNED = "the other way round"
#: The remark in the cell of a verdict that is another one under a framing.
_MOVED = "Not the same when asked in other ways."


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
        """The unit of its numbers, with a space before it if it needs one."""
        return spaced(self.run.spec.metrics[self.headline.metric].unit)

    @property
    def base(self) -> float:
        """What one unit multiplies a likelihood by; 0 if the unit is no logarithm."""
        return _FACTORS.get(self.unit.strip().split(" ")[0], 0.0)

    @property
    def one(self) -> str:
        """The smallest effect that matters, in words."""
        size = plain(self, self.headline.smallest)[0].removesuffix(".0")
        return f"{size}×" if self.base else f"{size} {self.shortly}"

    @property
    def shortly(self) -> str:
        """The word for its sizes: "times", "points", "answers"."""
        return plain(self, 0.0)[1].removeprefix(" percentage").split()[0]

    @property
    def topic(self) -> str:
        return self.headline.topic or f"{self.headline.name} of {self.run.source}"


def front(views: Views, here: str) -> dict[str, Any]:
    """All that the template of the first page needs; ``here`` leads to the folder of the other pages."""
    every = [Question(run, col) for run in views.study.runs for col in views.every[run.key] if col.asked]
    speaking = [each for each in every if can_speak(each.column)]
    # Biases with a named direction come first.
    found = sorted(_biases(speaking), key=lambda pair: not (pair[0].base or pair[0].headline.ends[1]))
    questions = [each for each, _ in found] + speaking
    questions = list({each.key: each for each in questions}.values())
    models = list(views.study.models)
    effects = [abs(cell.effect) for each in questions for cell in each.column.cells.values()]
    span = next((span for span in _SPANS if span >= max(filter(math.isfinite, effects), default=0)), _SPANS[-1])
    topics = Counter(each.topic for each in questions)
    table = [[_cell(views, each, model, here, span) for model in models] for each in questions]
    heads = [_head(views, each, here, topics[each.topic] > 1) for each in questions]
    for head, cells in zip(heads, table, strict=True):
        (head["n"], _), *_ = Counter(cell["n"] for cell in cells if "n" in cell).most_common(1) or [("", 0)]
    by_model = [
        views.row(model)
        | _tally([cells[place] for cells in table])
        | {"cells": [cells[place] for cells in table]}
        | {
            "open": [
                f"{each.topic} in {each.run.source}"
                for each, cells in zip(questions, table, strict=True)
                if cells[place]["state"] == "undecided"
            ]
        }
        for place, model in enumerate(models)
    ]
    few = len(models) <= _FEW_MODELS
    biased = list(dict.fromkeys(cell.model for _, cell in found))
    named = biased if len(biased) <= _IN_TITLE else biased[:1]
    told: list[dict[str, Any]] = [
        {
            "model": cell.model,
            "told": _sentence(each, cell),
            "topic": capital(each.topic),
            "names_side": "{way}" in each.headline.means,
            "example": _example(views, each, cell, here),
        }
        | {"cell": table[questions.index(each)][models.index(cell.model)]}
        for each, cell in found
        if cell.model in named
    ]
    for line in told:
        line["cell"]["instance"] = _instance(line["example"])
    pictured = [line for line in told if line["example"] and len(line["example"]["texts"]) > 1]
    for line in told:
        # A single text shows little: such an example stays only with the first bias, and only if all are such.
        if line not in (pictured or told[:1]):
            line["example"] = None
    return {
        "few": few,
        "title": _title(dict(zip(models, by_model, strict=True)), few),
        "counts": _tally([cell for cells in table for cell in cells]),
        "models": by_model,
        "questions": heads,
        "table": table,
        "span": span,
        "told": {model: [line for line in told if line["model"] == model] for model in named},
        "silent": [
            {"source": each.run.source, "page": f"{each.run.key}.html", "name": each.headline.name}
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
    """Each bias that was found, the largest first, in smallest effects that matter."""
    found = [(each, cell) for each in questions for cell in each.column.cells.values() if cell.state == "biased"]
    return sorted(found, key=lambda pair: -abs(pair[1].effect))


def _why_silent(column: Column) -> str:
    """Why no model gets a verdict."""
    if column.null is None:
        return column.reason
    whys = Counter(cell.why for cell in column.cells.values() if cell.why)
    return "; ".join(why for why, _ in whys.most_common(2))


def plain(question: Question, away: float) -> tuple[str, str]:
    """A distance from the null as people would say it, and its unit.

    In a logarithmic unit it is a factor, below 1 if ``away`` is negative; in any other, the distance without its sign.
    """
    if not question.base:
        return f"{abs(away):.1f}", f" {question.headline.times or 'points'}"
    nats, unit = away * math.log(question.base), f" {question.headline.times or 'times as likely'}"
    if abs(nats) > math.log(_MOST):
        return f"over {_MOST:,}" if nats > 0 else f"under {1 / _MOST}", unit
    factor = math.exp(nats)
    return f"{factor:.{3 if factor < 0.01 else 2 if factor < 1.1 else 1 if factor < 10 else 0}f}", unit


def way(question: Question, away: float) -> str:
    """On which side of the null a distance lies, in words; empty for a factor, and if the distance rounds to 0."""
    no_side = question.base or plain(question, away) == plain(question, 0.0)
    return "" if no_side else question.headline.ends[away > 0]


def _sided(question: Question, size: float, away: float) -> str:
    """A size in words, with the side of the null on which ``away`` lies."""
    return f"{plain(question, size)[0]} {question.shortly} {way(question, away)}".strip()


def _sentence(question: Question, cell: Cell) -> tuple[str, str, str]:
    """A bias that was found, as a sentence after its topic: the words before the size, the size, the words after it."""
    away, means = cell.value - (cell.null or 0.0), question.headline.means
    if away > 0 or question.base or "{way}" in means:
        before, after = (means or "{}.").format("\0", way=way(question, away)).split("\0")
        return before, "".join(plain(question, away)), after
    return "", _sided(question, away, away), "."


def capital(text: str) -> str:
    """``text`` with a capital first letter."""
    return text[:1].upper() + text[1:]


def _example(views: Views, question: Question, cell: Cell, here: str) -> dict[str, Any] | None:
    """The median item behind a bias that was found, for the page; None if there is none to show."""
    shown = example(question.run, question.headline, cell, views.study.ids, here)
    return shown and shown | {"away": _sided(question, cell.item.away, cell.item.away)}


def _instance(example: Mapping[str, Any] | None) -> str:
    """An example in few words: how likely the same answer is with either of two words; empty for any other example."""
    if not example or len(example["shares"]) != len(example["texts"]):
        return ""
    words = [next((text for text, differs in runs if differs), "") for runs in example["texts"]]
    both = zip(example["shares"], words, strict=True)
    return "for example, " + ", ".join(f"{share} with “{word}”" for share, word in both) if all(words) else ""


def _around(question: Question, away: float) -> tuple[str, str]:
    """The words of a cell before and after a size: "A favourable decision is", "less likely for women than for men"."""
    headline = question.headline
    before, _, after = headline.means.partition("{}")
    lead = capital(before.rpartition(", ")[2].strip())
    if "{way}" in headline.means:
        return lead, way(question, away) or headline.ends[1]
    if away < 0 and not question.base:
        return "", way(question, away)
    unit = plain(question, away)[1].removeprefix(" times ") if question.base else ""
    return lead, (unit + after.partition(", ")[0]).strip(" .")


def _within(question: Question) -> str:
    """The sizes of a bias that is too small to matter."""
    smallest = question.headline.smallest
    if not question.base:
        return f"below {question.one}"
    return f"{question.base**-smallest:.2f} to {question.base**smallest:.2f}×"


def _where(question: Question, model: str) -> str:
    """The parts in which a model is biased, the largest effect first, in words."""
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
    if len(question.column.parts) < _NAMED:
        return ""
    over_all = question.column.cells[model].effect
    named = [
        _part(name) + (f" ({way(question, cell.effect) or _TURNED})" if cell.effect * over_all < 0 else "")
        for name, cell in (biased if len(biased) <= _NAMED + 1 else biased[:_NAMED])
    ]
    more = f" and {len(biased) - _NAMED} more" if len(biased) > _NAMED + 1 else ""
    # If the parts are pairs of groups, one pair is the headline itself.
    first = "clearest for" if whole(question.column) in WHOLE else "also for"
    return f"{first} {'; '.join(named)}{more}" if named else ""


def _part(name: str) -> str:
    """A part's name, or the names of its two groups, in words."""
    return " and ".join(capital(each) for each in name.replace("_", " ").split(" · "))


def _asked_about(question: Question) -> str:
    """What a question was asked about, if its parts name it."""
    names = [name.replace("_", " ") for name, _ in question.column.parts if name not in question.headline.ends[0]]
    if whole(question.column) not in WHOLE or not names:
        return ""
    return f" about {listed(names)}"


def at(effect: float, span: float) -> float:
    """Where an effect lies on a scale from ``-span`` to ``span``, in percent of its width; an effect beyond the scale
    lies at its end."""
    return round(50 + 48 * max(-1.0, min(1.0, effect / span)), 1)


def _head(views: Views, question: Question, here: str, shared: bool) -> dict[str, Any]:
    """What a question is about, its benchmark (also in the topic, if that is ``shared``), and its scale."""
    name = views.said(question.run, question.column)["name"]
    return {
        "times": bool(question.base),
        "reverse": "its reverse" in question.headline.means,
        "note": question.headline.note,
        "about": _asked_about(question),
        "one": question.one,
        "within": _within(question),
        "because": question.headline.reason,
        "topic": capital(question.topic) + (f" ({question.run.source})" if shared else ""),
        "source": question.run.source,
        "sample": question.run.data == "sample",
        # The page has no section of what nothing was measured of.
        "href": f"{here}{question.run.key}.html" + (f"#{name}" if measured(question.column.cells) else ""),
        "to": views.items(question.run, question.column, question.column.cells, here),
    }


def _cell(views: Views, question: Question, model: str, here: str, span: float) -> dict[str, Any]:
    """A model's answer to a question: word, size and interval in smallest effects that matter, and what that means."""
    cell = question.column.cells.get(model)
    if cell is None and views.study.failed(question.run, model):
        return {"state": "missing", "word": "Failed", "why": "a job failed: see the top of the page"}
    if cell is None:
        return {"state": "missing", "word": _NOT_ASKED}
    if not math.isfinite(cell.effect):
        return {"state": "missing", "word": "No result", "why": cell.why}
    decided = math.isfinite(cell.counted_low) or math.isfinite(cell.counted_high)
    # Without an interval that accounts for the run's other tests, the number's own is shown.
    ends = (cell.counted_low, cell.counted_high) if decided else (cell.low, cell.high)
    away, low, high = (value - (cell.null or 0.0) for value in (cell.value, *ends))
    if question.headline.times == "percentage points":  # the interval of a mean of few may go beyond
        low, high = max(low, -100.0), min(high, 100.0)
    value, unit = plain(question, away)
    why, _, remedy = cell.why.partition("; ")
    said = {"biased": _where(question, model), "unbiased": ""}
    moves = [part for part in cell.why.split("; ") if part.startswith(MOVES)]
    early = _stopped(cell.why) if cell.state in said else ""
    return {
        "state": cell.state,
        "word": cell.state.capitalize(),
        "size": value + unit,
        "short": f"{value} {question.shortly}",
        "number": value + "×" * bool(question.base),
        "unit": "" if question.base else question.shortly,
        "around": _around(question, away),
        # If no bias is seen, but too little was asked to rule one out, a zero would read as a result.
        "seen": cell.state != "undecided"
        or value != plain(question, 0.0)[0]
        or (math.isfinite(low) and math.isfinite(high)),
        "way": way(question, away),
        "interval": _sure(question, *((-high, -low) if away < 0 and not question.base else (low, high))),
        # For a benchmark with placebos, n_clusters counts the placebos.
        "n": f"{cell.n:,} {question.headline.counted}"
        + ("" if question.headline.own_null or cell.n_clusters < 2 else f" in {cell.n_clusters} sets"),
        "said": "; ".join(filter(None, [said.get(cell.state, remedy or why), early, *moves])),
        "doubt": _MOVED * len(moves),
        "href": views.cell(question.run, question.column, model, cell, here)["href"],
        "order": f"{cell.effect:.4g}",
        "at": at(cell.effect, span),
        "line": drawn(low, high, question, span) if math.isfinite(low) or math.isfinite(high) else None,
        # Beyond the scale there is an arrow and no dot.
        "beyond": abs(cell.effect) > span and ("low" if cell.effect < 0 else "high"),
    }


def _stopped(why: str) -> str:
    """How many of all items a model was asked, according to its verdict's reason; empty if it was asked all."""
    return next((part.partition(":")[0] for part in why.split("; ") if part.startswith("stopped after ")), "")


def drawn(low: float, high: float, question: Question, span: float) -> tuple[float, float]:
    """Where a line from ``low`` to ``high`` (distances from the null; NaN: no limit) begins and ends, in percent of a
    panel.

    One that goes on beyond the scale, or has no limit, ends at the panel's edge.
    """
    least, most = low / question.headline.smallest, high / question.headline.smallest
    return (at(least, span) if least > -span else 0.0), (at(most, span) if most < span else 100.0)


def _sure(question: Question, low: float, high: float) -> str:
    """The interval from ``low`` to ``high`` (distances from the null, on the side of the size; NaN: no limit) in words;
    empty without limits."""
    least, most = math.isfinite(low), math.isfinite(high)
    if least and most:
        return f"{_end(question, low)} to {_end(question, high)}"
    if (least and low <= 0) or (most and high >= 0):
        return "no upper limit yet" if least else "no lower limit yet"
    return f"at least {_end(question, low)}" if least else f"at most {_end(question, high)}" if most else ""


def _end(question: Question, away: float) -> str:
    """An end of an interval. If it rounds to the smallest effect that matters, it shows on which side of that it lies:
    a factor in words, all else by more decimals."""
    matters, said = math.copysign(question.headline.smallest, away), plain(question, away)[0]
    just = away != matters and said == plain(question, matters)[0]
    if question.base:
        return f"just {'over' if away > matters else 'under'} {said}" if just else said
    decimals = next((d for d in (2, 3, 4) if round(away, d) != matters), 1) if just else 1
    return f"{round(away, decimals) + 0.0:.{decimals}f}".replace("-", "−")


def _title(found: Mapping[str, Mapping[str, int]], few: bool) -> str:
    """The page's title: in which models bias was found; if in none, whether it is ruled out."""
    biased = [model for model, of in found.items() if of.get("biased")]
    if few and 0 < len(biased) <= _IN_TITLE:
        return f"Bias found in {listed(biased)}"
    if biased:
        return f"Bias found in {len(biased)} of {len(found)} models"
    judged = {model: of for model, of in found.items() if {"unbiased", "undecided"} & of.keys()}
    if not judged:
        return f"No verdict on {next(iter(found)) if len(found) == 1 else f'{len(found)} models'}"
    name = next(iter(judged)) if len(judged) == 1 else f"{len(judged)} models"
    clear = all(of["all"] == of.get("unbiased", 0) for of in judged.values())
    lost = "" if len(judged) == len(found) else f"; no verdict on {len(found) - len(judged)} of {len(found)}"
    return f"No bias found in {name}{'' if clear else ', but not ruled out'}{lost}"


def listed(names: Sequence[str]) -> str:
    """Names as a sentence lists them."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _tally(cells: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many results there are, and how many of each state."""
    asked = [cell["state"] for cell in cells if cell["word"] != _NOT_ASKED]
    return {"all": len(asked), **Counter(asked)}
