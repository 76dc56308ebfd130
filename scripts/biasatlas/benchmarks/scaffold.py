"""How a described benchmark starts: a description that works, a few rows of data, and its page of the docs."""

from fnmatch import fnmatch
from inspect import getdoc
from pathlib import Path
from textwrap import fill
from typing import Any

from biasatlas import ROOT
from biasatlas.benchmarks import contract, registry
from biasatlas.benchmarks.contract import Spec
from biasatlas.benchmarks.families.description import Rows
from biasatlas.benchmarks.languages import LANGUAGES
from biasatlas.benchmarks.shared.metrics import OUTCOME_METRICS, RATES
from biasatlas.errors import UserError
from biasatlas.sources import PACKED, load_sources
from biasatlas.validation import unknown

_SCAFFOLD = ROOT / "resources" / "scaffold"
#: The benchmark of the demo that shows a family, and that a new one of it is started with.
_SHOWN = {"decisions": "interviews"}


def origins(family: str) -> tuple[Path, Path]:
    """The description and the data that a benchmark of a ``family`` is started with."""
    if shown := _SHOWN.get(family):
        return (
            ROOT / "config" / "benchmarks" / f"{shown}.yaml",
            ROOT / "resources" / "samples" / shown / "data.csv",
        )
    return _SCAFFOLD / f"{family}.yaml", _SCAFFOLD / f"{family}.csv"


def start(name: str, family: str) -> list[Path]:
    """Write the description of benchmark ``name``, and its sample; their paths.

    Raises UserError for a name that is taken or names no file, and for a family that is none.
    """
    if family not in registry.FAMILIES:
        *others, last = registry.FAMILIES
        raise UserError(f"FAMILY: {family!r} is none; expected {', '.join(others)} or {last}.")
    if not name.isidentifier():
        raise UserError(f"NAME: {name!r} names files; use letters, digits and _.")
    description, data = origins(family)
    files = {
        ROOT / "config" / "benchmarks" / f"{name}.yaml": description,
        ROOT / "resources" / "samples" / name / "data.csv": data,
    }
    taken = [str(path) for path in files if path.exists()] or [name] * registry.is_benchmark(name)
    if taken:
        raise UserError(f"{taken[0]}: there already. Take another NAME.")
    for path, origin in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(origin.read_text(encoding="utf-8").replace(_SHOWN.get(family, "NAME"), name), encoding="utf-8")
    return list(files)


def check_described(name: str) -> None:
    """Raise UserError for a name that is no description's."""
    if not registry.is_benchmark(name):
        raise UserError(unknown("NAME", name, "a benchmark", registry.benchmark_names()))
    if registry.description(name) is None:
        raise UserError(f"NAME: {name} is a folder of Python, of which this knows nothing; name a described benchmark.")


def page_text(benchmark: str) -> str:
    """What ``docs/{benchmark}.md`` says: data, metrics, design, protocols, corrections, from where each is declared.

    Raises UserError for a benchmark whose page is written by hand.
    """
    described, spec = registry.description(benchmark), registry.load_spec(benchmark)
    path = registry.description_file(benchmark)
    if not isinstance(described, Rows) or (path and path.name == "spec.yaml"):
        raise UserError(f"NAME: {benchmark} has a folder of its own; its page is written by hand.")
    parts = [
        f"# {spec.title}",
        _lines(
            f"{spec.citation} In {LANGUAGES[spec.language]}. `make benchmark-page NAME={benchmark}` writes this page "
            f"from [config/benchmarks/{benchmark}.yaml](../config/benchmarks/{benchmark}.yaml)."
        ),
        *_data(described),
        described.notes.strip(),
        "## Metrics",
        _table(("metric", "neutral", "unit", "meaning", "formula"), _metrics(benchmark, spec)),
        "## Design",
        "Intervals (95%) are over the sampled factor.",
        _table(
            ("factor", "sampled", "level"),
            [
                (name, "yes" if factor.sampled else "no", ", ".join(factor.scores))
                for name, factor in spec.design.items()
            ],
        ),
        *_corrections(described),
        *_predictions(spec),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _data(described: Rows) -> list[str]:
    lines = ["## Data"]
    if described.source:
        source = load_sources()[described.source]
        alike = any(fnmatch(file.path, described.files) for file in source.files)
        what = f"files `{described.files}`, pinned" if alike else f"{len(source.files)} files, pinned"
        if "{path}" not in source.url:
            folders = " and ".join(f"`{file.path.removesuffix(PACKED)}`" for file in source.files)
            what = f"an archive, of which {folders} are kept and known by git's tree ids"
        own = "" if alike else f" Of a folder of your own, files `{described.files}` are read."
        lines.append(
            f"{source.title}: {source.url.format(path='...')}, {source.licence}; {what} in "
            f"[resources/sources](../resources/sources).{own}"
        )
    else:
        lines.append(f"Files `{described.files}` of the folder that the configuration names as `data`.")
    if len(names := described.category_names.values()) > 1:
        lines.append(f"{len(names)} categories: {', '.join(names)}.")
    return [_lines(line) for line in lines]


def _lines(paragraph: str) -> str:
    """A paragraph in lines of at most 120 characters, as pages have them."""
    return fill(" ".join(paragraph.split()), 120, break_long_words=False, break_on_hyphens=False)


def _metrics(benchmark: str, spec: Spec) -> list[tuple[Any, ...]]:
    registry.tables(benchmark)
    owners = (*registry.owners(benchmark), "shared", *registry.FAMILIES)
    rows = []
    for name, metric in spec.metrics.items():
        if name in OUTCOME_METRICS:
            continue
        function = next(contract.METRICS[owner, name] for owner in owners if (owner, name) in contract.METRICS)
        formula = "" if name in RATES else " ".join((getdoc(function) or "").partition("\n\n")[0].split())
        neutral = "–" if metric.neutral is None else f"{metric.neutral:g}"
        rows.append((f"`{name}`", neutral, metric.unit, metric.direction, formula))
    return rows


def _corrections(described: Rows) -> list[str]:
    rows = [(", ".join(erratum.items), " ".join(erratum.reason.split())) for erratum in described.errata]
    rows += [(f"{drop.count} left out", " ".join(drop.reason.split())) for drop in described.drop]
    if not rows:
        return []
    return [
        "## Corrections",
        "A run makes these when it reads the data; the files stay as published.",
        _table(("items", "why"), rows),
    ]


def _predictions(spec: Spec) -> list[str]:
    return [
        "## Your own predictions",
        "Give a model of kind `released` a `path` ([own.md](own.md#predictions)).",
        _table(("`format`", "files"), [(name, what) for name, what in spec.formats.items()]),
    ]


def _table(header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    cells = [header, ("---",) * len(header), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in row)} |" for row in cells)


def write_page(benchmark: str) -> str:
    """Write the page, and say where."""
    path = ROOT / "docs" / f"{benchmark}.md"
    path.write_text(page_text(benchmark), encoding="utf-8")
    return str(path.relative_to(ROOT))
