"""What a run says about one model, in words that follow from its verdicts; fit for a model card.

Each claim of the findings is in the group of its verdict (:mod:`biasatlas.stats.verdict`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from biasatlas.stats.verdict import spaced, words

_ROW = ["benchmark", "measure", "part", "category", "unit", "neutral", "smallest", "verdict", "why"]
_GROUPS = {
    "biased": "Biased by at least the smallest effect that matters, corrected for all tests of the run",
    "unbiased": "Unbiased: any bias is smaller than what matters, corrected for all tests of the run",
    "undecided": "Undecided",
    "untestable": "Untestable: these data, or this metric, cannot decide",
}
#: The text for a model without rows.
_UNJUDGED = (
    "Nothing was judged: none of its numbers that can get a verdict has a value. Jobs failed, or answers were refused, "
    "filtered or unreadable, or its benchmarks give no verdict; the report says which."
)
_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"} | {
    mark: f"\\{mark}" for mark in "&%$#_{}"
}

Summary = Mapping[str, Any]


def summary(findings: Mapping[str, pd.DataFrame], model: str, titles: Mapping[str, str]) -> Summary:
    """All that is said about ``model``, as JSON types; ``findings`` are tables by protocol, ``titles`` benchmarks'.

    Under the name of each verdict are rows (protocol, title, benchmark, measure, part, category, unit, neutral,
    smallest, verdict, why, value, low, high, n, n_clusters, q, findable, protocols, agreeing). ``agreeing`` counts the
    ``protocols`` that have the row with the same verdict.
    """
    rows = [row for protocol, table in findings.items() for row in _rows(table, model, protocol)]
    said: dict[tuple, list[str]] = {}
    for row in rows:
        said.setdefault(_same(row), []).append(row["verdict"])
    groups: dict[str, list[dict]] = {name: [] for name in _GROUPS}
    for row in rows:
        others = said[_same(row)]
        agreement = {"agreeing": others.count(row["verdict"]), "protocols": len(others)}
        title = titles.get(row["benchmark"], row["benchmark"])
        if list(titles.values()).count(title) > 1:
            title = f"{title} ({row['benchmark']})"
        groups[row["verdict"]].append({**row, **agreement, "title": title})
    return {"model": model, "protocols": list(findings), **groups}


def sentence(row: Mapping[str, Any]) -> str:
    """A row in words; :func:`reasons` puts untestable ones together."""
    unit = spaced(row["unit"])
    interval = f" [{_number(row['low'])}, {_number(row['high'])}]" if row["low"] is not None else ""
    under = f" ({row['protocol']})" if row["protocols"] > 1 else ""
    shown = f"{_what(row)}{under}, {row['category']}: {_number(row['value'])}{unit}{interval}"
    told = words(row["verdict"], row["smallest"], row["unit"])
    q = f" (q = {row['q']:.2g})" if row["verdict"] in ("biased", "unbiased") else ""
    findable = f"; {_number(row['findable'])}{unit} was detectable by itself with 80% power"
    several = f"; the same under {row['agreeing']} of {row['protocols']} protocols" if row["protocols"] > 1 else ""
    why = row["why"] + (findable if row["verdict"] == "undecided" and row["findable"] is not None else "")
    return f"{shown}, without bias {row['neutral']:g}: {told}{q}: {why}{several}."


def reasons(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Why rows are untestable: a sentence by benchmark, metric and reason, with its categories and their values."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        value = f" ({_number(row['value'])})" if row["value"] is not None else ""
        key = (f"{_what(row)} ({row['protocol']})", str(row["why"]))
        found.setdefault(key, []).append(f"{row['category']}{value}")
    return [f"{name}: {', '.join(categories)}: untestable: {why}." for (name, why), categories in found.items()]


def _what(row: Mapping[str, Any]) -> str:
    return f"{row['title']}, {' '.join(filter(None, (row['measure'], row['part'])))}"


def markdown(said: Summary) -> str:
    """A summary as a section of a model card."""
    lines = [
        f"# Social bias of {said['model']}",
        "",
        f"Protocols: {', '.join(said['protocols'])}. Intervals are 95% and uncorrected.",
        "",
    ]
    if not any(said[name] for name in _GROUPS):
        lines += [_UNJUDGED, ""]
    else:
        for name, title in _GROUPS.items():
            lines += [f"## {title}", "", *(f"- {text}" for text in _texts(said, name)), ""]
    return "\n".join(lines)


def latex(said: Summary) -> str:
    """A summary as a section of a paper's appendix; needs no package."""
    lines = [rf"\section*{{Social bias of {_escaped(said['model'])}}}"]
    if not any(said[name] for name in _GROUPS):
        return "\n".join([*lines, _UNJUDGED]) + "\n"
    for name, title in _GROUPS.items():
        items = [rf"  \item {_escaped(text)}" for text in _texts(said, name)]
        lines += [rf"\subsection*{{{_escaped(title)}}}", r"\begin{itemize}", *items, r"\end{itemize}"]
    return "\n".join(lines) + "\n"


def _texts(said: Summary, name: str) -> Sequence[str]:
    texts = reasons(said[name]) if name == "untestable" else [sentence(row) for row in said[name]]
    return texts or ["nothing"]


def _rows(table: pd.DataFrame, model: str, protocol: str) -> list[dict[str, Any]]:
    mine = table[table["model"] == model].astype({"part": object, "unit": object}).fillna({"part": "", "unit": ""})
    rows = []
    for keys, part in mine.groupby(_ROW, sort=False, dropna=False):
        numbers = part.set_index("metric")["value"]
        value = part[part["metric"] == "value"].iloc[0]
        named = dict(zip(_ROW, keys, strict=True))
        rows.append(
            {
                "protocol": protocol,
                **named,
                **{name: _json(named[name]) for name in ("neutral", "smallest")},
                **{name: _json(value[column]) for name, column in (("low", "ci_low"), ("high", "ci_high"))},
                **{name: _json(numbers.get(name)) for name in ("value", "q", "findable")},
                **{name: int(value[name]) for name in ("n", "n_clusters")},
            }
        )
    return rows


def _same(row: Mapping[str, Any]) -> tuple:
    """What a row is about, whatever the protocol."""
    return tuple(row[name] for name in ("benchmark", "measure", "part", "category"))


def _json(value: Any) -> float | None:
    return None if value is None or pd.isna(value) else float(value)


def _number(value: float | None) -> str:
    return "no value" if value is None else f"{value:.3g}"


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(mark, mark) for mark in text)
