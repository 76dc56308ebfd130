"""The claims of a finished run in all its artefacts (findings, summaries, pages, exports, pairs): they must agree."""

import html
import json
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from biasatlas.benchmarks.registry import load_spec
from biasatlas.files import read_csv
from biasatlas.report.exports import FORMATS
from biasatlas.stats.verdict import STATES, words

#: What a claim is about: model (of a pair, two), benchmark, metric, part, category.
Key = tuple[str, ...]
_KEYS = ["model", "benchmark", "measure", "part", "category"]
#: Table of claims -> the metric of the rows that hold their values, and the columns of their keys.
_CLAIMS = {"findings": ("value", _KEYS), "pairs": ("difference", ["model", "other_model", *_KEYS[1:]])}
_WHOLE = ("overall", "All", "all")
#: The headings of a summary, by the verdict whose claims stand under them.
_HEADINGS = {"Biased": "biased", "Unbiased": "unbiased", "Undecided": "undecided", "Untestable": "untestable"}


#: A number with all of its digits, or a text that shows some of them.
Number = float | str


class Said(NamedTuple):
    """One artefact's word, numbers and reason for one claim; None, and "" in ``said``, where it does not say."""

    artefact: str
    verdict: str
    value: Number | None
    low: Number | None
    high: Number | None
    said: str = ""
    why: str | None = None


def agrees(shown: Number | None, known: float) -> bool:
    """Whether ``shown`` is ``known`` to its last digit; "" and "no value" show a missing number; None always agrees."""
    if shown is None or shown in ("", "no value"):
        return shown is None or math.isnan(known)
    if isinstance(shown, float):
        return (math.isnan(shown) and math.isnan(known)) or math.isclose(shown, known, rel_tol=1e-9)
    digits = shown.replace("−", "-")
    mantissa, _, exponent = digits.partition("e")
    last = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return abs(float(digits) - known) <= 0.51 * last


def read(path: Path) -> pd.DataFrame:
    """A table of comparisons; missing texts are ""."""
    table = read_csv(path, model="str")
    texts = ["part", "unit", "why"]
    return table.astype(dict.fromkeys(texts, object)).fillna(dict.fromkeys(texts, ""))


def claimed(results: Path, protocol: str, table: str) -> dict[Key, Said]:
    """A run's claims from a table of comparisons, which all other artefacts must repeat."""
    rows = read(results / f"tables/comparison/{protocol}/{table}.csv").to_dict("records")
    return {key: said._replace(artefact=table) for key, said in _rows_said(rows, table)}


def _rows_said(rows: Iterable[dict], table: str) -> Iterator[tuple[Key, Said]]:
    metric, keys = _CLAIMS[table]
    for row in (row for row in rows if row["metric"] == metric and isinstance(row["verdict"], str) and row["verdict"]):
        numbers = (math.nan if row[name] is None else row[name] for name in ("value", "ci_low", "ci_high"))
        said = words(row["verdict"], float(row["smallest"] or "nan"), row["unit"] or "", pair=table == "pairs")
        yield tuple(row[name] or "" for name in keys), Said("", row["verdict"], *numbers, said, row["why"])


def every(results: Path, protocol: str) -> Iterator[tuple[Key, Said]]:
    """Yield the claims of all other artefacts."""
    claims = claimed(results, protocol, "findings")
    models = sorted({key[0] for key in claims})
    for table in _CLAIMS:
        yield from _exports(results, protocol, table)
    for model in models:
        yield from _summary(results, protocol, model)
        yield from _page(results, model, claims)
    yield from _compared(results, models, claims)
    yield from _matrices(results, claims)
    yield from _first_page(results, claims)


def disagreements(results: Path, protocol: str) -> list[str]:
    """A sentence for each claim whose word, value or interval differs between an artefact and the comparisons."""
    claims = {key: said for table in _CLAIMS for key, said in claimed(results, protocol, table).items()}
    found = []
    for key, said in every(results, protocol):
        claim = claims.get(key)
        if claim is None:
            if said.verdict != "untestable" or key[1:] in {each[1:] for each in claims}:
                found.append(f"{said.artefact}: {key} is {said.verdict}, and the comparisons do not have it")
            continue
        if said.verdict != claim.verdict or (said.said and said.said != claim.said):
            found.append(f"{said.artefact}: {key} is {said.said or said.verdict}, in the {claim.artefact} {claim.said}")
        for name in ("value", "low", "high"):
            ours, theirs = getattr(said, name), getattr(claim, name)
            if not agrees(ours, theirs):
                found.append(f"{said.artefact}: {name} of {key} is {ours}, in the {claim.artefact} {theirs:g}")
        # After the reason, an undecided claim says what would have been found.
        if said.why is not None and not said.why.startswith(claim.why):
            found.append(
                f"{said.artefact}: {key} is so since {said.why!r}, in the {claim.artefact} since {claim.why!r}"
            )
    return found


def artefacts(results: Path, protocol: str) -> set[str]:
    """Names of the artefacts that state any claim."""
    return {said.artefact for _, said in every(results, protocol)}


def _exports(results: Path, protocol: str, table: str) -> Iterator[tuple[Key, Said]]:
    for ending in (*FORMATS, "csv.zip"):
        path = results / f"report/pages/exports/comparison.{protocol}.{table}.{ending}"
        if not path.exists():  # a long table is only in a zip, a short one never
            continue
        if ending.startswith("csv"):
            rows = read(path).to_dict("records")
        elif ending == "json":
            rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
        else:
            rows = _lines(path.read_text(encoding="utf-8"))
        for key, said in _rows_said(rows, table):
            yield key, said._replace(artefact=f"{table} {ending}")


def _lines(text: str) -> Iterator[dict[str, str]]:
    """The rows of a table in Markdown or LaTeX, keyed by its header."""
    head: list[str] = []
    for line in text.replace("\\_", "_").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)[|&]", line.strip().removesuffix("\\\\").strip("|"))]
        if "metric" in cells:
            head = cells
        elif head and len(cells) == len(head):
            yield dict(zip(head, cells, strict=True))


def _summary(results: Path, protocol: str, model: str) -> Iterator[tuple[Key, Said]]:
    folder = results / "summary"
    told = json.loads((folder / f"{model}.json").read_text(encoding="utf-8"))
    texts = {ending: _sections((folder / f"{model}.{ending}").read_text(encoding="utf-8")) for ending in ("md", "tex")}
    for state in STATES:
        for row in (row for row in told[state] if row["protocol"] == protocol):
            key = (model, *(row[name] for name in _KEYS[1:]))
            numbers = [math.nan if row[name] is None else row[name] for name in ("value", "low", "high")]
            assert row["verdict"] == state
            said = words(state, row["smallest"] or 0, row["unit"])
            yield key, Said("summary json", state, *numbers, said, row["why"])
            what = f"{row['title']}, {' '.join(filter(None, (row['measure'], row['part'])))}"
            category = rf"[ ,]{re.escape(row['category'])}"
            for ending, sections in texts.items():
                under = [
                    (heading, found, line)
                    for heading, lines in sections.items()
                    for line in lines
                    if line.startswith((f"{what},", f"{what} ("))
                    for found in [re.search(category + (_LISTED if heading == "untestable" else _TOLD), line)]
                    if found
                ]
                if len(under) != 1:
                    yield key, Said(f"summary {ending}", f"in {[heading for heading, *_ in under]}", *numbers)
                    continue
                ((heading, found, line),) = under
                shown = {"low": None, "high": None, "unit": "", "said": ""} | found.groupdict()
                said = f"{shown['said']}{shown['unit'] if shown['unit'] != row['unit'] else ''}"
                limits = (shown["low"], shown["high"])
                why = row["why"] if row["why"] in line else line
                yield key, Said(f"summary {ending}", heading, shown["value"], *limits, said, why)


#: A claim in a line of a summary: "overall: 0.9 nats [0.5, 1.3], without bias 0: biased by ..." and "overall (0.9)".
_TOLD = r": (?P<value>[^\s%,]+)(?: ?(?P<unit>[^,\[]+?))?(?: \[(?P<low>\S+), (?P<high>\S+)\])?, without bias \S+: (?P<said>[^:(;]+?)(?: \(q|:|;)"
_LISTED = r"(?: \((?P<value>[^)]+)\))?(?=[,:])"


def _sections(text: str) -> dict[str, list[str]]:
    """Lines of a summary by the verdict of their heading."""
    sections, current = {}, ""
    for line in text.replace("\\", "").splitlines():
        if line.startswith(("## ", "subsection*{")):
            current = _HEADINGS[re.search(r"[A-Z]\w+", line)[0]]
        elif current and line.strip().startswith(("- ", "item ")):
            sections.setdefault(current, []).append(re.sub(r"^\s*(- |item )", "", line))
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
    """The claims in the table of a model's page, and in the overview's cell with the same link."""
    text = (results / f"report/pages/model-{model}.html").read_text(encoding="utf-8")
    rows = {}
    for row in re.findall(r"<tr><td><a href.*?</tr>", text, flags=re.DOTALL):
        row = row.replace("<small", "\N{BULLET}<small", 1)  # the reason is below the word
        cells = [" ".join(html.unescape(re.sub(r"<[^>]+>", "", cell)).split()) for cell in re.split(r"</td>", row)]
        rows[cells[0], cells[1]] = cells
    for benchmark, title, question, about in _headlines(claims):
        cells = rows.get((title, question))
        if cells:
            said, _, why = cells[2].split(" ", 1)[1].partition("\N{BULLET}")
            low, high = re.findall(r"[-−\d.e]+", cells[4]) or (None, None)
            yield (
                (model, benchmark, *about),
                Said("page", said.split()[0], cells[3], low, high, said.strip(), why.strip()),
            )


#: A number with its verdict in a matrix of models and headlines: its state, interval and number.
_CELL = re.compile(
    r'<td class="cell (?P<state>\w*)[^>]*?(?: data-is="(?P<low>[^|"]*)\|(?P<high>[^|"]*)[^"]*")?>'
    r'<(?:i>(?P<word>\w+): </i>(?P<value>[^<]*)|span[^>]*? title="(?P<why>[^"]*)").*?</td>'
)


def _matrices(results: Path, claims: dict[Key, Said]) -> Iterator[tuple[Key, Said]]:
    """The page of all numbers, with a column per headline, and the benchmarks' pages, with a matrix per headline."""
    pages = results / "report/pages"
    whole = (pages / "numbers.html").read_text(encoding="utf-8")
    heads = re.findall(r'class="head[^>]*', whole)
    about = {(benchmark, question): (benchmark, *of) for benchmark, _, question, of in _headlines(claims)}
    for model, cells in _rows(whole):
        for head, cell in zip(heads, cells, strict=True):
            question = html.unescape(re.search(r' title="([^"]*)"', head)[1])
            benchmark = re.search(r"#set=(\w+)|$", head)[1]
            yield from _cell("numbers", model, about.get((benchmark, question)), cell, head)
    for benchmark in dict.fromkeys(key[1] for key in claims):
        for path in pages.glob(f"{benchmark}.*.html"):
            for section in path.read_text(encoding="utf-8").split("<section>")[1:]:
                question = html.unescape(re.search(r"<h2[^>]*>(.*?)</h2>", section, flags=re.DOTALL)[1])
                for model, cells in _rows(section) if (benchmark, question) in about else ():
                    head = re.search(r'class="head[^>]*', section)[0]
                    yield from _cell("benchmark page", model, about[benchmark, question], cells[0], head)


def _rows(text: str) -> Iterator[tuple[str, list[re.Match[str]]]]:
    """The models of a matrix with their cells."""
    for row in re.findall(r'<tr data-a="\w+"><th scope="row" class="name">.*?</tr>', text, flags=re.DOTALL):
        yield re.search(r'href="model-(.*?)\.html"', row)[1], list(_CELL.finditer(row))


def _cell(artefact: str, model: str, about: tuple | None, cell: re.Match[str], head: str) -> Iterator[tuple[Key, Said]]:
    if about and cell["why"] and cell["why"] != "not measured":
        yield (model, *about), Said(artefact, "untestable", "no value", None, None, "", html.unescape(cell["why"]))
    if about and cell["value"]:
        numbers = (cell["value"], cell["low"] or None, cell["high"] or None)
        word = cell["state"] if cell["state"] == cell["word"] else f"{cell['state']} and {cell['word']}"
        said = html.unescape(found[1]) if (found := re.search(r' data-said="([^"]*)"', head)) else ""
        yield (model, *about), Said(artefact, word, *numbers, said if word == "biased" else "")


def _first_page(results: Path, claims: dict[Key, Said]) -> Iterator[tuple[Key, Said]]:
    """The verdicts in the first page's rows and grid, and the smallest effect that matters; its other numbers are in
    everyday units."""
    text = (results / "report/index.html").read_text(encoding="utf-8")
    about = {(benchmark, question): of for benchmark, _, question, of in _headlines(claims)}
    grid = dict(re.findall(r'<td class="\w+"[^>]*><a href="#(q\d+m\d+)"><b>(\w+)', text))
    for block in re.findall(r'<tbody id="q\d+"[^>]*>.*?</tbody>', text, flags=re.DOTALL):
        found = re.search(r'href="pages/(\w+)\.[^"#]*#([^"]*)"', block)
        benchmark = found[1]
        spec = load_spec(benchmark)
        (headline,) = (each for each in spec.headlines if each.name == html.unescape(found[2]))
        if (benchmark, headline.question) not in about:
            continue
        unit, smallest = spec.metrics[headline.metric].unit, headline.smallest
        known = f"{math.exp(smallest):.2g}×" if unit.startswith("nats") else f"{smallest:g} points"
        shown = html.unescape(re.search(r"threshold (.*?) \(", block)[1])
        rows = re.findall(r'class="(\w+)" id="(q\d+m\d+)"><th scope="row">(.*?)<.*?<b>(\w+)</b>', block)
        for state, place, model, word in rows:
            said = words(state, smallest, unit) if shown == known else f"{state}, with the threshold {shown}"
            key = (model, benchmark, *about[benchmark, headline.question])
            yield key, Said("first page", word.lower(), None, None, None, said)
            yield key, Said("grid", grid[place].lower(), None, None, None)


def _compared(results: Path, models: list[str], claims: dict[Key, Said]) -> Iterator[tuple[Key, Said]]:
    """The data of the page that compares two models."""
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
