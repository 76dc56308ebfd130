"""Files to start a described benchmark with: a description that works, a few rows of data, and its page of the docs."""

import json
import re
from fnmatch import fnmatch
from inspect import getdoc
from pathlib import Path
from textwrap import fill
from typing import Any

from biasatlas import ROOT
from biasatlas.benchmarks import contract, registry
from biasatlas.benchmarks.contract import LANGUAGES, Spec
from biasatlas.benchmarks.families.decisions.spec import PLACEBOS, DecisionsDescription
from biasatlas.benchmarks.families.derived import template_fields
from biasatlas.benchmarks.families.description import Rows
from biasatlas.benchmarks.families.pairs.spec import PairsDescription
from biasatlas.benchmarks.shared.metrics import OUTCOME_METRICS, RATES
from biasatlas.errors import UserError
from biasatlas.resources import Resources
from biasatlas.sources import PACKED, load_sources, names_in, raw_files
from biasatlas.stats.verdict import spaced
from biasatlas.validation import unknown

_SCAFFOLD = ROOT / "resources" / "scaffold"
#: Family -> the benchmark of the demo that a new one is copied from.
_SHOWN = {"decisions": "interviews"}
#: A link to the files of a repository.
_GITHUB = r"[\1](https://github.com/\1/tree/\2)"


def origins(family: str) -> tuple[Path, Path]:
    """The description and the data that a new benchmark of a ``family`` is copied from."""
    if shown := _SHOWN.get(family):
        return (
            ROOT / "config" / "benchmarks" / f"{shown}.yaml",
            ROOT / "resources" / "samples" / shown / "data.csv",
        )
    return _SCAFFOLD / f"{family}.yaml", _SCAFFOLD / f"{family}.csv"


def start(name: str, family: str) -> list[Path]:
    """Write the description of benchmark ``name``, and its sample, and return their paths.

    In the workflow's own folder they join its benchmarks; elsewhere (with an installed command) they are the user's.
    Raises UserError for a name that is taken or cannot name a file, and for an unknown family.
    """
    if family not in registry.FAMILIES:
        *others, last = registry.FAMILIES
        raise UserError(f"FAMILY: {family!r} is none; expected {', '.join(others)} or {last}.")
    if not name.isidentifier():
        raise UserError(f"NAME: {name!r} names files; use letters, digits and _.")
    description, data = origins(family)
    own = Path.cwd() != ROOT.resolve()
    folders = ("", name) if own else ("config/benchmarks", f"resources/samples/{name}")
    files = {Path(folders[0], f"{name}.yaml"): description, Path(folders[1], "data.csv"): data}
    taken = [str(path) for path in files if path.exists()] or [name] * registry.is_benchmark(name)
    if taken:
        raise UserError(f"{taken[0]}: there already. Take another NAME.")
    for path, origin in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        text = origin.read_text(encoding="utf-8").replace(_SHOWN.get(family, "NAME"), name)
        path.write_text(re.sub(r"(?m)^sample: .*\n", "", text) if own else text, encoding="utf-8")
    return list(files)


def check_described(name: str) -> None:
    """Raise UserError for a name that is not that of a described benchmark."""
    if not registry.is_benchmark(name):
        raise UserError(unknown("NAME", name, "a benchmark", registry.benchmark_names()))
    if registry.description(name) is None:
        raise UserError(f"NAME: {name} is a folder of Python, of which this knows nothing; name a described benchmark.")


def page_text(benchmark: str) -> str:
    """The text of ``docs/{benchmark}.md``, from where each part is declared: question and example, a configuration,
    data, metrics, verdict, corrections.

    Raises UserError for a benchmark whose page is written by hand.
    """
    described, spec = registry.description(benchmark), registry.load_spec(benchmark)
    path = registry.description_file(benchmark)
    if not isinstance(described, Rows) or (path and path.name == "spec.yaml"):
        raise UserError(f"NAME: {benchmark} has a folder of its own; its page is written by hand.")
    *others, last = (f"`{name}`" for name in spec.formats)
    formats = ", ".join(others) + " or " * bool(others) + last
    parts = [
        f"# {spec.title}",
        f"<!-- make benchmark-page NAME={benchmark} writes this page from config/benchmarks/{benchmark}.yaml -->",
        _lines(f"{spec.citation} Language: {LANGUAGES[spec.language]}."),
        _lines(f"**What it asks.** {described.asks}") if described.asks else "",
        *_example(benchmark, spec, described),
        "## Run it",
        _run(benchmark, described),
        _lines(
            "Put this into a [configuration that lists your models](tutorial-model.md). [All "
            f"options](protocols.md#{re.sub(r'[^a-z0-9 -]', '', spec.title.lower()).replace(' ', '-')}). A run can "
            f"also score [predictions that you already have](own.md#predictions), as {formats}."
        ),
        "## Metrics",
        _ways(described),
        _table(("metric", "null", "meaning", "formula"), _metrics(benchmark, spec)),
        _lines(
            "The [null](glossary.md#statistics) is the value that a test assumes for a model without bias (–: none). "
            f"Unless a formula says otherwise, 95% intervals are clustered by {_sampled(described, spec)}. "
            "`refusal_rate`, `ambiguous_rate` and `unparseable_rate` are the percentages of answers that refuse, give "
            "several answers, or can't be read; `unanswered_rate` is their sum ([replies](replies.md))."
        ),
        _lines(f"**[Verdict](believe.md#what-a-verdict-means).** {_verdict(benchmark, spec)}"),
        *_data(described),
        described.notes.strip(),
        *_corrections(described),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _example(benchmark: str, spec: Spec, described: Rows) -> list[str]:
    """An item of the sample as a model sees it; nothing without a sample."""
    folder = ROOT / "resources" / "samples" / spec.sample
    if not spec.sample or not folder.is_dir():
        return []
    names = names_in(folder)
    items = registry.read_items(benchmark)(raw_files(names, [folder / name for name in names]), Resources({}))
    if "more" in items:
        more, less = items.loc[0, ["more", "less"]]
        asked = "; `pair_choice` asks the model in a prompt which is likelier" if "pair_choice" in spec.tasks else ""
        return [
            f"> {more} / {less}",
            _lines(f"The first is the stereotypical one. The task `pair` compares the likelihoods of the two{asked}."),
        ]
    if isinstance(described, DecisionsDescription):
        items = items[items[[*described.factors]].notna().any(axis=1)]
    (task,), shipped = spec.tasks, Resources.shipped(*registry.resource_names(benchmark, "requests"))
    given = (spec.tasks[task].categories, registry.load_options(benchmark, "recommended"), shipped)
    requests = registry.build_requests(benchmark)(items.head(1), task, *given)
    return [f"```text\n{json.loads(requests['messages'].iloc[0])[-1]['content'].strip()}\n```"]


def _run(benchmark: str, described: Rows) -> str:
    data, said = "{}", "or {data: sample}: a few items that we wrote"
    if not described.source or not getattr(described, "texts_published", True):
        data, said = "{data: sample}", f"or {{data: ./folder}}, which holds your {described.files}"
    return f"```yaml\nbenchmarks:\n  {benchmark}: {data}    # {said}\n```"


def _data(described: Rows) -> list[str]:
    lines = ["## Data"]
    own = f"With `data: ./folder` it reads your `{described.files}` in that folder."
    if described.source:
        source = load_sources()[described.source]
        alike = any(fnmatch(file.path, described.files) for file in source.files)
        files = [described.files, *([described.join.file] if described.join else [])]
        what = " and ".join(f"`{name}`" for name in files) if alike else f"{len(source.files)} files"
        pins = "checksums"
        if "{path}" not in source.url:
            what, pins = " and ".join(f"`{file.path.removesuffix(PACKED)}`" for file in source.files), "git tree ids"
        place = re.sub(r"https://\w+\.github\w*\.com/([^/]+/[^/]+)/(?:tar\.gz/)?([^/]+).*", _GITHUB, source.url)
        lines.append(
            f"The run downloads {what} of {place.format(path='...')} ({source.licence}) and verifies "
            f"[{pins}](../resources/sources).{'' if alike else f' {own}'}"
        )
    else:
        lines.append(f"The run downloads no items. {own}")
    if len(names := described.category_names.values()) > 1:
        lines.append(f"{len(names)} categories: {', '.join(names)}.")
    if isinstance(described, DecisionsDescription):
        factors = [
            f"{name.replace('_', ' ')} ({', '.join(factor.compared)}"
            + ("" if factor.reference == PLACEBOS else f"; reference: {factor.reference}")
            for name, factor in described.factors.items()
        ]
        by_default = {factor.reference for factor in described.factors.values()} == {PLACEBOS}
        compared = " A run compares each level with the mean of the placebos." if by_default else ""
        lines.append(f"Factors and their levels: {'); '.join(factors)}).{compared}")
    return [_lines(line) for line in lines]


def _lines(paragraph: str) -> str:
    """A paragraph in lines of at most 120 characters, as pages have them."""
    return fill(" ".join(paragraph.split()), 120, break_long_words=False, break_on_hyphens=False)


def _metrics(benchmark: str, spec: Spec) -> list[tuple[Any, ...]]:
    """A row for each metric, that of the first headline in bold before the others."""
    registry.tables(benchmark)
    owners = (*registry.owners(benchmark), "shared", *registry.FAMILIES)
    headline = spec.headlines[0].metric
    rows = []
    for name, metric in sorted(spec.metrics.items(), key=lambda each: each[0] != headline):
        if name in {**OUTCOME_METRICS, **RATES}:
            continue
        function = next(contract.METRICS[owner, name] for owner in owners if (owner, name) in contract.METRICS)
        text = getdoc(function) or ""
        own = re.search(rf"^- ``{name}``:? (.*?)(?=^- |\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
        formula = " ".join((own[1] if own else text.partition("\n\n")[0]).split())
        neutral = "–" if metric.neutral is None else f"{metric.neutral:g}{spaced(metric.unit)}"
        rows.append((f"**`{name}`**" if name == headline else f"`{name}`", neutral, metric.direction, formula))
    return rows


def _sampled(described: Rows, spec: Spec) -> str:
    """What intervals are clustered by, in words."""
    (name,) = (name for name, factor in spec.design.items() if factor.sampled)
    if name != "cluster" or not isinstance(described, PairsDescription):
        return name
    return " and ".join(template_fields(described.cluster_text)) or "pair"


def _ways(described: Rows) -> str:
    """Which side or direction is the first, for pairs that have two; '' for other benchmarks."""
    if not isinstance(described, PairsDescription) or described.ways is None:
        return ""
    what = "Each pair has two sides, and its direction is the side that is the stereotype"
    if described.directions or described.compared == "texts":
        what = "A pair has one of two directions" if described.directions else "Each pair has two sides"
    return _lines("{}: the first is `{}`, the second `{}`.".format(what, *described.ways))


def _verdict(benchmark: str, spec: Spec) -> str:
    """Whether the first headline can get a verdict, and the smallest effect that matters; or why not."""
    from biasatlas.benchmarks.comparisons.cards import read_cards
    from biasatlas.benchmarks.comparisons.findings import about, closed_by, of_benchmark

    headline = spec.headlines[0]
    cards = read_cards({"shipped": ROOT / "resources" / "simulation" / "cards.csv", "beside": {}})
    mine = about(of_benchmark(cards, benchmark, "recommended"), headline.metric, headline.parts, "overall")
    if why := (headline.null is None and headline.reason) or headline.closed_by or (spec.note.partition(",")[0]):
        return f"`{headline.metric}` gets none. {why[0].upper()}{why[1:]}."
    unit = {"%": "percentage points"}.get(spec.metrics[headline.metric].unit, spec.metrics[headline.metric].unit)
    reason = f"it {headline.reason}" if headline.reason.startswith("makes") else headline.reason
    size = f"The smallest effect that matters is {headline.smallest:g} {unit}: {reason}."
    if not closed_by(mine, headline.own_null):
        return f"`{headline.metric}` can get one. {size}"
    return (
        f"`{headline.metric}` gets none until it passes tests on simulated models, which `make validate-benchmark "
        f"NAME={benchmark} DATA=./folder` runs with the data in that folder "
        f"([how](adding.md#a-benchmark-from-a-description)). {size}"
    )


def _corrections(described: Rows) -> list[str]:
    rows: dict[str, list[str]] = {}
    for erratum in described.errata:
        rows.setdefault(" ".join(erratum.reason.split()), []).extend(erratum.items)
    for drop in described.drop:
        rows[" ".join(drop.reason.split())] = [f"{drop.count} row{'s' * (drop.count > 1)} left out"]
    if not rows:
        return []
    return [
        "## Corrections",
        "A run makes these corrections as it reads the data; the published files stay unchanged.",
        _table(("items", "why"), [(", ".join(sorted(items)), reason) for reason, items in rows.items()]),
    ]


def _table(header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    cells = [header, ("---",) * len(header), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in row)} |" for row in cells)


def write_page(benchmark: str) -> str:
    """Write the page, and return its path. Raises UserError as :func:`page_text`, and for the path of a description."""
    if benchmark.endswith(".yaml"):
        raise UserError(f"NAME: {benchmark}: only descriptions in config/benchmarks have a page. Move it there first.")
    path = ROOT / "docs" / f"{benchmark}.md"
    path.write_text(page_text(benchmark), encoding="utf-8")
    return str(path.relative_to(ROOT))
