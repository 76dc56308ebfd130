"""Benchmarks by name: their specs, protocols and functions of steps. All other code gets benchmarks from here."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from biasatlas import ROOT, benchmarks
from biasatlas.benchmarks import contract
from biasatlas.benchmarks.checks import check_spec, resource_patterns
from biasatlas.benchmarks.contract import Options, Spec
from biasatlas.benchmarks.families.description import Description
from biasatlas.benchmarks.shared.framing_design import FRAMED
from biasatlas.benchmarks.shared.metrics import OUTCOME_METRICS
from biasatlas.benchmarks.shared.parsing import VERSION
from biasatlas.benchmarks.visible import SPEC, View, plain
from biasatlas.errors import UserError
from biasatlas.resources import names
from biasatlas.sources import load_sources
from biasatlas.stages import Stage, fields_affecting
from biasatlas.userfiles import shown
from biasatlas.validation import read_yaml, unknown, validated

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing
    from pandas import DataFrame

    from biasatlas.benchmarks.shared.bias_roles import Roles
    from biasatlas.benchmarks.shared.evidence import Evidence
    from biasatlas.benchmarks.shared.parsing.named import Parser

_FOLDER = Path(benchmarks.__path__[0])
_PROTOCOLS = ROOT / "config" / "protocols"
_DESCRIPTIONS = ROOT / "config" / "benchmarks"
FAMILIES = ("pairs", "questions", "decisions", "contexts")
#: Step -> the last stage whose fields of a description it may see. Other steps see all stages but "nothing".
_MARKED: Mapping[str, Stage] = {
    **dict.fromkeys(("read_items", "check_items", "build_requests", "import_responses", "read_predictions"), "answers"),
    **dict.fromkeys(("bias_roles", "build_judge_requests", "build_order_requests"), "answers"),
    "score_responses": "scores",
}

#: A function of what a step is given (:data:`.contract.GIVEN`), in that order or by name. It returns a frame.
Made: TypeAlias = "Callable[..., DataFrame]"


@cache
def benchmark_names() -> tuple[str, ...]:
    """Names of all benchmarks: folders beside this module that hold a spec, and files in ``config/benchmarks``."""
    described = [path.stem for path in _DESCRIPTIONS.glob("*.yaml")]
    folders = [path.parent.name for spec in ("spec.py", "spec.yaml") for path in _FOLDER.glob(f"*/{spec}")]
    return tuple(sorted([*folders, *described]))


def is_benchmark(name: str) -> bool:
    """Whether ``name`` is that of a benchmark, or may be the path of a description."""
    return name in benchmark_names() or name.endswith(".yaml")


def description_file(benchmark: str) -> Path | None:
    """The YAML file of a benchmark, in its own folder or in ``config/benchmarks``; None if it has none."""
    if benchmark.endswith(".yaml"):
        return Path(benchmark)
    places = (_FOLDER / benchmark / "spec.yaml", _DESCRIPTIONS / f"{benchmark}.yaml")
    return next((place for place in places if place.is_file()), None)


@cache
def description(benchmark: str) -> Description | None:
    """The description in a benchmark's YAML file; None if it has none.

    Raises UserError for a faulty file. It names the file, key and value of each fault, and the nearest valid name.
    """
    path = description_file(benchmark)
    if path is None:
        return None
    raw, where = read_yaml(path), str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)
    if not isinstance(raw, dict):
        held = "no key" if raw is None else shown(raw)
        raise UserError(f"{where}: the file holds {held}. Expected a mapping of keys (docs/adding.md).")
    family = raw.get("family")
    if family is None:
        raise UserError(f"{where}: family: required key is missing; expected one of: {', '.join(FAMILIES)}")
    if family not in FAMILIES:
        raise UserError(f"{where}: {unknown('family', family, 'a family of benchmarks', FAMILIES)}")
    module = _family(family)
    own_items = (path.parent / "items.py").is_file() and path.name == "spec.yaml"
    described = validated(
        getattr(module, "WITHOUT_ROWS", module.DESCRIPTION) if own_items else module.DESCRIPTION, raw, where
    )
    if described.tables and path.name != "spec.yaml":
        raise UserError(f"{where}: tables: modules beside a spec.yaml of the library make them; leave the key out.")
    for key, value, what, known in (
        ("source", described.source, "in sources.csv", load_sources()),
        ("sample", described.sample, "in resources/samples", {name.split("/")[1] for name in names(["samples/**/*"])}),
        (
            "published",
            described.published,
            "in resources/published",
            [Path(name).stem for name in names(["published/*.csv"])],
        ),
    ):
        if value and value not in known:
            raise UserError(f"{where}: {unknown(key, value, what, known)}")
    for prompt in described.prompt_files:
        if not names([prompt], needed=False):
            here = ", or write the template itself here" if prompt == described.prompt else ""
            raise UserError(f"{where}: prompt: the workflow has no file resources/{prompt}. Put it there{here}.")
    return described


@cache
def load_spec(benchmark: str) -> Spec:
    """The declaration of a benchmark. Raises UserError if it names something that does not exist."""
    described = description(benchmark)
    try:
        spec = (
            _family(described.family).make_spec(described)
            if described
            else import_module(f"{benchmarks.__name__}.{benchmark}.spec").SPEC
        )
    except AttributeError:
        spec = None
    except TypeError as error:  # a field of a spec, task or option that is missing, unknown or not marked
        raise UserError(f"benchmark {benchmark}: {error}.") from error
    return check_spec(benchmark, spec, load_sources())


def spec_view(benchmark: str, step: str, **chosen: str) -> Spec:
    """The part of a spec that a step of :data:`.visible.SPEC` may see, with only the ``chosen`` task or table."""
    return cast(Spec, View(load_spec(benchmark), SPEC[step], step, chosen))


def visible(benchmark: str, step: str, **chosen: str) -> list[Any]:
    """The parts of the declaration and the description that are in a step's identity, as values for JSON."""
    described = _description_view(benchmark, step)
    return [plain(spec_view(benchmark, step, **chosen)), plain(described) if described else {}]


def _description_view(benchmark: str, step: str) -> Description | None:
    """The fields of a description that a step may see: those of the stage that it makes, and of earlier ones."""
    described, upto = description(benchmark), _MARKED.get(step, "tables")
    if described is None:
        return None
    return cast(Description, View(described, dict.fromkeys(fields_affecting(described, upto)), step))


def resource_names(benchmark: str, step: contract.ReadingStep, task: str = "") -> list[str]:
    """The shipped files below ``resources/`` that a benchmark's step reads, for one ``task`` or for all ("").

    The step ``tables`` reads the benchmark's published tables, too.
    """
    spec, printed = load_spec(benchmark), []
    if step == "tables":  # a description of any name may name a printed table
        named = {f"published/{table.published}.csv" for table in spec.tables.values() if table.published}
        printed = names([f"published/{benchmark}_*.csv", *sorted(named)], needed=False)
    return [*names(resource_patterns(spec, step, task)), *printed]


def protocol_names(benchmark: str) -> list[str]:
    """Names of a benchmark's protocols: the files in its (or its family's) folder, and those of its description."""
    described = description(benchmark)
    return sorted(
        {path.stem for path in _protocols(benchmark).glob("*.yaml")}.union(described.protocols if described else ())
    )


def protocol_file(benchmark: str, protocol: str) -> Path:
    """The file that sets the options of a protocol; for a description's own protocol, the file of ``recommended``."""
    described = description(benchmark)
    own = described.protocols if described else {}
    return _protocols(benchmark) / f"{protocol if protocol not in own else 'recommended'}.yaml"


def _protocols(benchmark: str) -> Path:
    """The folder of a benchmark's protocols: its own, or else its family's."""
    described = description(benchmark)
    mine = _PROTOCOLS / benchmark
    return _PROTOCOLS / described.family if described and not mine.is_dir() else mine


@cache
def load_options(benchmark: str, protocol: str) -> Options:
    """The validated options of a protocol: every option is set, to one of its values.

    A protocol of a description has the options of ``recommended``, except those that the description sets. Framings
    of a protocol have the same options.
    """
    described = description(benchmark)
    own = described.protocols if described else {}
    protocol = protocol.removesuffix(FRAMED)
    path = protocol_file(benchmark, protocol)
    where = f"{benchmark}: protocols.{protocol}" if protocol in own else str(path.relative_to(ROOT))
    raw = read_yaml(path)
    return validated(load_spec(benchmark).options, raw | own[protocol] if protocol in own else raw, where)


def read_items(benchmark: str) -> Made:
    """The function that turns raw data into items, a row each; a UserError names file, row and value at fault."""
    return _stepwise(benchmark, "read_items", _defined(benchmark, "read_items"))


def check_items(benchmark: str) -> Callable[..., list[str]] | None:
    """The check of items against published counts, or None: it returns remarks on accepted differences, or raises."""
    if not _has(benchmark, "check_items"):
        return None
    return _stepwise(benchmark, "check_items", _defined(benchmark, "check_items"))


def build_requests(benchmark: str) -> Made:
    """The function that turns items into the requests of one task."""
    return _stepwise(benchmark, "build_requests", _defined(benchmark, "build_requests"))


def build_judge_requests(benchmark: str) -> Made:
    """The function that builds a judge's requests about responses."""
    return _stepwise(benchmark, "build_judge_requests", _defined(benchmark, "build_judge_requests"))


def build_order_requests(benchmark: str) -> Made:
    """The function that builds a judge's requests about the order of an item's parts."""
    return _stepwise(benchmark, "build_order_requests", _defined(benchmark, "build_order_requests"))


def import_responses(benchmark: str) -> Made:
    """The function that turns the authors' published outputs (by path upstream) into a response for each request."""
    return _stepwise(benchmark, "import_responses", _defined(benchmark, "import_responses"))


def has_roles(spec: Spec) -> bool:
    """Whether a benchmark has ``bias_roles``, so that a model of kind ``simulated`` can answer its requests.

    It looks in the package of the spec's options, since the benchmark's name in a configuration may differ.
    """
    beside = spec.options.__module__.removeprefix(f"{benchmarks.__name__}.").rpartition(".")[0]
    return bool(_defining(beside, "bias_roles"))


def bias_roles(benchmark: str) -> "Callable[..., Roles]":
    """The function that says what a task's requests, or a judge's, are about, given all items of the benchmark."""
    return _stepwise(benchmark, "bias_roles", _defined(benchmark, "bias_roles"))


def texts(benchmark: str) -> tuple[str, ...]:
    """The columns of items that hold the texts whose likelihood is asked."""
    return _defined(benchmark, "TEXTS")


def file_checks(benchmark: str) -> dict[str, Callable[[str], None]]:
    """Name in `files`, or format -> a check of the beginning of such a file of the user's, which raises UserError."""
    return {name: check for checks in _all_defined(benchmark, "CHECKS") for name, check in checks.items()}


def formats(benchmark: str) -> dict[str, Made]:
    """Format -> the function that turns users' predictions into responses. UserError if the spec has other formats."""
    from biasatlas.benchmarks.shared.predictions import FORMATS  # imports pandas: planning reads specs alone

    described = description(benchmark)
    found = {name: function for each in _all_defined(benchmark, "FORMATS") for name, function in each.items()}
    own = {
        name: _stepwise(benchmark, "read_predictions", function)
        for name, function in found.items()
        # A family reads more than each description may take.
        if not described or name in load_spec(benchmark).formats
    }
    if own.keys() != load_spec(benchmark).formats.keys():
        raise UserError(
            f"benchmark {benchmark}: formats are {sorted(load_spec(benchmark).formats)} in its spec, and "
            f"{sorted(own)} in FORMATS."
        )
    return FORMATS | own


def score_responses(benchmark: str) -> Made:
    """The function that turns responses into the scores of one category, with the columns that the task declares."""
    return _stepwise(benchmark, "score_responses", _defined(benchmark, "score_responses"))


def tables(benchmark: str) -> dict[str, Made]:
    """Table (except ``outcomes``) -> the function that makes it. Raises UserError where spec and functions differ."""
    spec = load_spec(benchmark)
    _read_marks(benchmark, "table")
    for name in spec.metrics.keys() - OUTCOME_METRICS.keys():
        if not any((owner, name) in contract.METRICS for owner in (*owners(benchmark), "shared", *FAMILIES)):
            raise UserError(f"benchmark {benchmark}: metric {name!r} is in its spec, but no function computes it.")
    own = {name: table for name, table in spec.tables.items() if name != contract.OUTCOMES}
    return _declared(benchmark, "table", contract.TABLES, own)


def figures(benchmark: str) -> "dict[str, Callable[..., Drawing]]":
    """Figure -> the function that draws it. Raises UserError where spec and functions differ."""
    _read_marks(benchmark, "figure")
    return _declared(benchmark, "figure", contract.FIGURES, load_spec(benchmark).figures)


def has_evidence(benchmark: str) -> bool:
    """Whether models are compared by the benchmark's scores."""
    return bool(load_spec(benchmark).unit)


def evidence(benchmark: str) -> "tuple[tuple[str, ...], Callable[..., Iterator[Evidence]]] | None":
    """The columns that identify an item's score, and the function that turns one model's scores into evidence.

    These are the scores of all tasks and categories. None for a benchmark by which models are not compared.
    """
    from biasatlas.benchmarks.shared.evidence import complete

    if not has_evidence(benchmark):
        return None
    spec, made = spec_view(benchmark, "evidence"), _defined(benchmark, "evidence")
    one = _stepwise(benchmark, "evidence", made)
    return spec.unit, lambda scores, options: complete(spec, lambda rows: one(rows, options), scores)


def multiverses(benchmark: str) -> tuple[contract.Multiverse, ...]:
    """The rows of its tables that are recomputed under every choice of analysis."""
    return spec_view(benchmark, "evidence").multiverses


def parsers(benchmark: str) -> dict[str, "Parser"]:
    """Name -> parser of choices that a benchmark's requests may name: the shared ones, and its own."""
    from biasatlas.benchmarks.shared.parsing.named import PARSERS

    return PARSERS | (_defined(benchmark, "PARSERS") if _has(benchmark, "PARSERS") else {})


def parser_version(benchmark: str) -> str:
    """The version of :func:`parsers`: answers parsed under another version are out of date."""
    return f"{VERSION}.{load_spec(benchmark).parser_version}"


def _declared(benchmark: str, what: str, functions: Mapping, declared: Mapping) -> dict:
    """Functions marked with the ``declared`` names: the benchmark's own, or else its family's (it may have more)."""
    marked = {name: function for (owner, name), function in functions.items() if owner == benchmark}
    for name in marked.keys() - declared.keys():
        raise UserError(f"benchmark {benchmark}: {what} {name!r} is marked, but not in its spec.")
    described = description(benchmark)
    for name in declared.keys() - marked.keys():
        if not described or (described.family, name) not in functions:
            raise UserError(
                f"benchmark {benchmark}: {what} {name!r} is in its spec, but no function is marked with it."
            )
        marked[name] = functions[described.family, name]
    return {name: _stepwise(benchmark, what, marked[name]) for name in declared}


def owners(benchmark: str) -> tuple[str, ...]:
    """The owners of a benchmark's tables, figures and metrics: itself and, if it has a description, its family."""
    described = description(benchmark)
    return (benchmark, described.family) if described else (benchmark,)


def packages(benchmark: str) -> tuple[str, ...]:
    """A benchmark's packages below ``biasatlas.benchmarks``: its own (if any), then its family's (if any)."""
    described = description(benchmark)
    own = (benchmark,) if (_FOLDER / benchmark).is_dir() else ()
    return (*own, *([f"families.{described.family}"] if described else []))


@cache
def _sources(package: str) -> dict[str, str]:
    """Module -> its source, for a package. The source says what a module defines without importing it."""
    paths = sorted((_FOLDER / package.replace(".", "/")).glob("*.py"))
    return {f"{benchmarks.__name__}.{package}.{path.stem}": path.read_text(encoding="utf-8") for path in paths}


def _defining(package: str, name: str) -> list[str]:
    """The modules of a package that define a function or a constant ``name``."""
    definition = re.compile(rf"^(?:def {name}\(|{name}\b.* = )", re.MULTILINE)
    return [module for module, text in _sources(package).items() if definition.search(text)]


def _places(benchmark: str, name: str) -> list[str]:
    """The modules that define ``name``: those of a benchmark's own package, then those of its family's."""
    return [module for package in packages(benchmark) for module in _defining(package, name)]


def _has(benchmark: str, name: str) -> bool:
    return bool(_places(benchmark, name))


def _all_defined(benchmark: str, name: str) -> list[Any]:
    """The object called ``name`` from each module of a benchmark and its family that has one; imports only these."""
    return [getattr(import_module(module), name) for module in _places(benchmark, name)]


def _defined(benchmark: str, name: str) -> Any:
    """The step's function or constant called ``name``, from a module of a benchmark, or else of its family."""
    places = _places(benchmark, name)
    if not places:
        raise UserError(f"benchmark {benchmark}: no module of its folder defines {name!r}.")
    return getattr(import_module(places[0]), name)


def _read_marks(benchmark: str, mark: str) -> None:
    """Import a benchmark's modules that use the decorator ``mark``, which registers the functions it marks."""
    for package in packages(benchmark):
        for module, text in _sources(package).items():
            if f"\n@{mark}(" in text:
                import_module(module)


def _stepwise(benchmark: str, step: str, function: Callable) -> Callable[..., Any]:
    """Wrap ``function``, which takes a :class:`.contract.Step`: callers pass the step's values in order or by name."""
    described = _description_view(benchmark, step)
    names = contract.GIVEN[step]

    def call(*values: Any, **named: Any) -> Any:
        if "run" in names:
            named = {"run": named}
        given = dict(zip(names[: len(values)], values, strict=True)) | named
        chosen = {"task": given["task"]} if "task" in given else {}
        given["spec"] = spec_view(benchmark, step, **chosen)
        return function(contract.Step(step, **given, **({"description": described} if described else {})))

    return call


def _family(name: str) -> Any:
    """The module ``spec`` of a family, which makes a spec from a description."""
    return import_module(f"biasatlas.benchmarks.families.{name}.spec")
