"""What a run says of one model, in words that follow from stated rules; fit for its model card.

A row of the findings falls into the first group whose condition it meets:

1. not measured: it has neither interval nor test; the reason is given
2. no verdict: its validity card has not passed, so that it may be something else than bias that it sees
3. found: it is among what survives all tests of the run (``found``); its size is a multiple of the smallest effect
4. tested, and nothing found: else; the smallest effect says what could have been missed

No rule reads the value alone, and "nothing found" never becomes "unbiased".
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

_ROW = ["benchmark", "measure", "part", "category", "neutral", "card"]
_GROUPS = {
    "found": "Found, all tests of the run counted",
    "not_found": "Tested, and nothing found",
    "no_verdict": "Shown without a verdict: what these metrics see may not be bias (validity cards)",
    "not_measured": "Not measured",
}
_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"} | {
    mark: f"\\{mark}" for mark in "&%$#_{}"
}

Summary = Mapping[str, Any]


def summary(findings: Mapping[str, pd.DataFrame], model: str, titles: Mapping[str, str]) -> Summary:
    """All that is said of ``model``: JSON types alone. ``findings`` are the tables by protocol, ``titles`` of benchmarks.

    ``found`` to ``not_measured`` hold rows (protocol, benchmark, measure, part, category, value, low, high, neutral, n,
    n_clusters, p_value, q_value, smallest_effect, card, reason, agreeing, protocols). ``agreeing`` counts the ``protocols``
    that have the row whose value lies on the same side of neutral.
    """
    rows = [row for protocol, table in findings.items() for row in _rows(table, model, protocol)]
    sides: dict[tuple, list[float]] = {}
    for row in rows:
        sides.setdefault(_same(row), []).append(_side(row))
    groups: dict[str, list[dict]] = {name: [] for name in _GROUPS}
    for row in rows:
        others = sides[_same(row)]
        agreement = {"agreeing": others.count(_side(row)), "protocols": len(others)}
        title = titles.get(row["benchmark"], row["benchmark"])
        groups[group(row)].append({**row, **agreement, "title": title})
    return {"model": model, "protocols": list(findings), **groups}


def group(row: Mapping[str, Any]) -> str:
    """The group of a row of the findings, by the rules of this module."""
    if row["low"] is None and row["p_value"] is None:
        return "not_measured"
    if row["card"] != "passed":
        return "no_verdict"
    return "found" if row["found"] else "not_found"


def sentence(row: Mapping[str, Any]) -> str:
    """A row in words; of what is not measured :func:`reasons` has one for many."""
    name = f"{_what(row)}, {row['category']}"
    interval = f" [{_number(row['low'])}, {_number(row['high'])}]" if row["low"] is not None else ""
    shown = f"{name}: {_number(row['value'])}{interval}, neutral {row['neutral']:g}"
    several = f"; the same side under {row['agreeing']} of {row['protocols']} protocols" if row["protocols"] > 1 else ""
    kind = group(row)
    if kind == "found":
        side = "above" if row["value"] > row["neutral"] else "below"
        smallest, distance = row["smallest_effect"], abs(row["value"] - row["neutral"])
        size = f", {distance / smallest:.1f} times the smallest effect" if smallest else ""
        return f"{shown}: {side} neutral (q = {row['q_value']:.2g}){size}{several}."
    if kind == "not_found":
        smallest = row["smallest_effect"]
        missed = f"an effect of {_number(smallest)} is found four times in five" if smallest else "not distinguishable"
        return f"{shown}: {missed}{several}."
    tested = f"q = {row['q_value']:.2g}, " if row["q_value"] is not None else ""
    return f"{shown}; {tested}card: {row['card']}{several}."


def reasons(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Why rows are not measured: a sentence for each benchmark and metric, with its categories."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(f"{_what(row)} ({row['protocol']})", []).append(row)
    return [
        f"{name}: {', '.join(row['category'] for row in some)}: {'; '.join(dict.fromkeys(row['reason'] for row in some))}."
        for name, some in found.items()
    ]


def _what(row: Mapping[str, Any]) -> str:
    return f"{row['title']}, {' '.join(filter(None, (row['measure'], row['part'])))}"


def markdown(said: Summary) -> str:
    """A summary as a section of a model card."""
    lines = [
        f"# Social bias of {said['model']}",
        "",
        f"Protocols: {', '.join(said['protocols'])}. Intervals cover 95 %.",
        "",
    ]
    for name, title in _GROUPS.items():
        lines += [f"## {title}", "", *(f"- {text}" for text in _texts(said, name)), ""]
    return "\n".join(lines)


def latex(said: Summary) -> str:
    """The same for a paper's appendix; needs no package."""
    lines = [rf"\section*{{Social bias of {_escaped(said['model'])}}}"]
    for name, title in _GROUPS.items():
        items = [rf"  \item {_escaped(text)}" for text in _texts(said, name)]
        lines += [rf"\subsection*{{{_escaped(title)}}}", r"\begin{itemize}", *items, r"\end{itemize}"]
    return "\n".join(lines) + "\n"


def _texts(said: Summary, name: str) -> Sequence[str]:
    texts = reasons(said[name]) if name == "not_measured" else [sentence(row) for row in said[name]]
    return texts or ["nothing"]


def _rows(table: pd.DataFrame, model: str, protocol: str) -> list[dict[str, Any]]:
    mine = table[table["model"] == model].fillna({"part": ""})
    rows = []
    for keys, part in mine.groupby(_ROW, sort=False):
        numbers = part.set_index("metric")["value"]
        value = part[part["metric"] == "value"].iloc[0]
        rows.append(
            {
                "protocol": protocol,
                **dict(zip(_ROW, keys, strict=True)),
                **{name: _json(value[column]) for name, column in (("low", "ci_low"), ("high", "ci_high"))},
                **{name: _json(numbers.get(name)) for name in ("value", "p_value", "q_value", "smallest_effect")},
                **{name: int(value[name]) for name in ("n", "n_clusters")},
                "reason": None if pd.isna(value["no_interval_reason"]) else value["no_interval_reason"],
                "found": bool(numbers.get("found") == 1),
            }
        )
    return rows


def _same(row: Mapping[str, Any]) -> tuple:
    """What a row is about, whatever the protocol."""
    return tuple(row[name] for name in ("benchmark", "measure", "part", "category"))


def _side(row: Mapping[str, Any]) -> float:
    return math.copysign(1.0, row["value"] - row["neutral"]) if row["value"] not in (None, row["neutral"]) else 0.0


def _json(value: Any) -> float | None:
    return None if value is None or pd.isna(value) else float(value)


def _number(value: float | None) -> str:
    return "no value" if value is None else f"{value:.3g}"


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(mark, mark) for mark in text)
