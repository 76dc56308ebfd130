"""What every artefact of a finished run says of its claims: findings, summaries, pages, exports, pairs. They must agree."""

import html
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from biasatlas.benchmarks.registry import load_spec
from biasatlas.files import read_csv
from biasatlas.report.exports import FORMATS
from biasatlas.stats.verdict import STATES, words

#: What a claim is about: model, benchmark, metric, part, category.
Key = tuple[str, str, str, str, str]
_KEYS = ["model", "benchmark", "measure", "part", "category"]
_WHOLE = ("overall", "All", "all")
#: The headings of a summary, by the verdict whose claims stand under them.
_HEADINGS = {"Biased": "biased", "Unbiased": "unbiased", "Undecided": "undecided", "Untestable": "untestable"}


class Said(NamedTuple):
    """One artefact's word and number of one claim; ``digits`` of the number are shown (None: all), "" is said of no unit."""

    artefact: str
    verdict: str
    value: float
    low: float
    high: float
    said: str = ""


def read(path: Path) -> pd.DataFrame:
    """A table of comparisons, texts as they are."""
    table = read_csv(path, model="str")
    texts = ["part", "unit", "why"]
    return table.astype(dict.fromkeys(texts, object)).fillna(dict.fromkeys(texts, ""))


def findings(results: Path, protocol: str) -> dict[Key, Said]:
    """The claims of a run as its findings have them: what all others must repeat."""
    rows = read(results / f"tables/comparison/{protocol}/findings.csv").query("metric == 'value'")
    return {
        tuple(row[key] for key in _KEYS): Said(
            *("findings", row["verdict"], row["value"], row["ci_low"], row["ci_high"]),
            words(row["verdict"], row["smallest"], row["unit"]),
        )
        for row in rows.to_dict("records")
    }


def every(results: Path, protocol: str) -> Iterator[tuple[Key, Said]]:
    """What the other artefacts say, one after the other."""
    claims = findings(results, protocol)
    models = sorted({key[0] for key in claims})
    yield from _exports(results, protocol)
    for model in models:
        yield from _summary(results, protocol, model)
        yield from _page(results, model, claims)
    yield from _compared(results, models, claims)


def disagreements(results: Path, protocol: str) -> list[str]:
    """A sentence on each artefact that says another word, value or interval of a claim than the findings do."""
    claims, found = findings(results, protocol), []
    for key, said in every(results, protocol):
        claim = claims.get(key)
        if claim is None:
            if said.verdict != "untestable":
                found.append(f"{said.artefact}: {key} is {said.verdict}, and the findings do not have it")
            continue
        if said.verdict != claim.verdict or (said.said and said.said != claim.said):
            found.append(f"{said.artefact}: {key} is {said.said or said.verdict}, in the findings {claim.said}")
        for name in ("value", "low", "high"):
            ours, theirs = getattr(said, name), getattr(claim, name)
            if not (math.isnan(ours) and math.isnan(theirs)) and not math.isclose(
                ours, theirs, rel_tol=6e-3, abs_tol=0.06
            ):
                found.append(f"{said.artefact}: {name} of {key} is {ours:g}, in the findings {theirs:g}")
    return found


def artefacts(results: Path, protocol: str) -> set[str]:
    """Names of the artefacts that say anything."""
    return {said.artefact for _, said in every(results, protocol)}


def _exports(results: Path, protocol: str) -> Iterator[tuple[Key, Said]]:
    folder = results / "report/pages/exports"
    own = findings(results, protocol)
    for ending in FORMATS:
        path = folder / f"comparison.{protocol}.findings.{ending}"
        text = path.read_text(encoding="utf-8")
        if ending == "csv":
            rows = read(path).query("metric == 'value'").to_dict("records")
        elif ending == "json":
            rows = [row for row in json.loads(text)["rows"] if row["metric"] == "value"]
        else:
            # A line a row, in the order of the table; its cells say what the row is and what it is called.
            cells = [re.split(r" *[|&] *", line) for line in text.splitlines()]
            lines = [line for line in cells if "value" in line and not set(STATES).isdisjoint(line)]
            for (key, claim), line in zip(own.items(), lines, strict=True):
                state = [word for word in line if word in STATES][-1]  # a model may be called so, too
                yield key, claim._replace(artefact=f"export {ending}", verdict=state)
            continue
        for row in rows:
            key = tuple(row[name] or "" for name in _KEYS)
            numbers = (math.nan if row[name] is None else row[name] for name in ("value", "ci_low", "ci_high"))
            yield key, Said(f"export {ending}", row["verdict"], *numbers)


def _summary(results: Path, protocol: str, model: str) -> Iterator[tuple[Key, Said]]:
    folder = results / "summary"
    told = json.loads((folder / f"{model}.json").read_text(encoding="utf-8"))
    texts = {ending: _sections((folder / f"{model}.{ending}").read_text(encoding="utf-8")) for ending in ("md", "tex")}
    for state in STATES:
        for row in (row for row in told[state] if row["protocol"] == protocol):
            key = (model, *(row[name] for name in _KEYS[1:]))
            numbers = [math.nan if row[name] is None else row[name] for name in ("value", "low", "high")]
            assert row["verdict"] == state
            yield key, Said("summary json", state, *numbers, words(state, row["smallest"] or 0, row["unit"]))
            for ending, sections in texts.items():
                what = f"{row['title']}, {' '.join(filter(None, (row['measure'], row['part'])))}"
                under = [
                    heading
                    for heading, lines in sections.items()
                    for line in lines
                    if what in line
                    and re.search(rf"[ ,]{re.escape(row['category'])}\b", line)
                    and (heading == "untestable" or _shown(row["value"]) in line)
                ]
                yield key, Said(f"summary {ending}", under[0] if len(set(under)) == 1 else f"in {under}", *numbers)


def _shown(value: float | None) -> str:
    return "no value" if value is None else f"{value:.3g}"


def _sections(text: str) -> dict[str, list[str]]:
    """Lines of a summary by the verdict of their heading."""
    sections, current = {}, ""
    for line in text.replace("\\", "").splitlines():
        if line.startswith(("## ", "subsection*{")):
            current = _HEADINGS[re.search(r"[A-Z]\w+", line)[0]]
        elif current and line.strip().startswith(("- ", "item ")):
            sections.setdefault(current, []).append(line)
    return sections


def _headlines(claims: dict[Key, Said]) -> Iterator[tuple[str, str, str, tuple[str, str, str]]]:
    """(benchmark, title, question, metric with part and category) of each headline of a run that is about one part."""
    for benchmark in dict.fromkeys(key[1] for key in claims):
        spec = load_spec(benchmark)
        for headline in spec.headlines:
            rows = headline.rows
            task = rows.get("task", "")
            parts = headline.parts if not task or task in _WHOLE else (task,)
            groups = "-".join(value for name, value in rows.items() if name in ("group", "other_group"))
            category = rows.get("category", groups)
            about = (headline.metric, parts[0] if parts else "", "overall" if category in _WHOLE else category)
            if len(parts) < 2:
                yield benchmark, spec.title, headline.question, about


def _page(results: Path, model: str, claims: dict[Key, Said]) -> Iterator[tuple[Key, Said]]:
    """The table of a model's page, and the overview's cell of the same link."""
    text = (results / f"report/pages/model-{model}.html").read_text(encoding="utf-8")
    rows = {}
    for row in re.findall(r"<tr><td><a href.*?</tr>", text, flags=re.DOTALL):
        cells = [" ".join(html.unescape(re.sub(r"<[^>]+>", "", cell)).split()) for cell in re.split(r"</td>", row)]
        rows[cells[0], cells[1]] = cells
    for benchmark, title, question, about in _headlines(claims):
        cells = rows.get((title, question))
        if cells and cells[3]:
            said = cells[2].split(" ", 1)[1]
            numbers = [float(n) for n in re.findall(r"-?[\d.]+", f"{cells[3]} {cells[4]}".replace("−", "-"))]
            value, low, high = numbers if len(numbers) == 3 else (numbers[0], math.nan, math.nan)
            yield (model, benchmark, *about), Said("page", said.split()[0], value, low, high, said)


def _compared(results: Path, models: list[str], claims: dict[Key, Said]) -> Iterator[tuple[Key, Said]]:
    """The data of the page that puts two models side by side."""
    (path,) = (results / "report/pages/data").glob("headlines.*")
    rows = json.loads(re.search(r"\[.*\]", path.read_text(encoding="utf-8"), flags=re.DOTALL)[0])
    index = (results / "report/pages/numbers.html").read_text(encoding="utf-8")
    ids = dict(re.findall(r'class="pick" value="(m\d+)".*?model-(.*?)\.html', index, flags=re.DOTALL))
    for benchmark, _, question, about in _headlines(claims):
        for row in rows:
            if row["run"].startswith(f"{benchmark}.") and row["question"] == question:
                for name, cell in row["cells"].items():
                    numbers = [math.nan if cell[part] is None else cell[part] for part in ("value", "low", "high")]
                    if not math.isnan(numbers[0]) and ids[name] in models:
                        state = cell["state"].split()[0]
                        yield (ids[name], benchmark, *about), Said("compare", state, *numbers, cell["state"])
