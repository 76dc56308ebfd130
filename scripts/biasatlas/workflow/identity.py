"""What identifies a result: an edit that can change a number reruns the rules that use it, and no other edit does.

What is evaluated when a run is planned enters by value. What runs in a job enters by the definitions that its script
can reach (:mod:`.reach`). A model's answers enter by versions that golden tests guard (:mod:`biasatlas.models.kinds`),
so that no refactoring asks a model again.

:data:`BOUNDARIES` names the definitions that are not followed, and what takes their place.
"""

import contextlib
import csv
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import yaml

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.models.entry import Entry
from biasatlas.models.kinds import KINDS
from biasatlas.stages import fields_affecting
from biasatlas.workflow.normal_form import Reference
from biasatlas.workflow.reach import METHODS, Library, Reach

_BENCHMARKS = "biasatlas.benchmarks"
_REGISTRY = f"{_BENCHMARKS}.registry"
_CONTRACT = f"{_BENCHMARKS}.contract"
_JOB = "biasatlas.workflow.job"


@dataclass(frozen=True)
class Step:
    """What the code of a step depends on beside its script.

    ``packages`` are each benchmark's packages below ``biasatlas.benchmarks``, its own before its family's; ``classes``
    are those of the benchmarks' options and descriptions; ``table`` and ``figure`` name the one that is made ("": any);
    ``kind`` is the kind of the model that answers.
    """

    script: str
    packages: tuple[tuple[str, ...], ...] = ()
    classes: tuple[str, ...] = ()
    table: str = ""
    figure: str = ""
    kind: str = ""


#: Gives the names that take a boundary's place: definitions, modules (their mentioned definitions count), or
#: ``methods of`` a class.
Behind = Callable[[Library, Step, Reference], Iterable[str]]


def _definitions(*names: str) -> Behind:
    return lambda library, step, reference: names


def _all_defined(library: Library, step: Step, reference: Reference) -> Iterator[str]:
    """For ``_all_defined(benchmark, "x")``: each ``x`` in a benchmark's packages."""
    yield from (place for found in _places(library, step, reference) for place in found)


def _defined(library: Library, step: Step, reference: Reference) -> Iterator[str]:
    """For ``_defined(benchmark, "x")``: a benchmark's own ``x``, or else its family's."""
    yield from (found[0] for found in _places(library, step, reference) if found)


def _places(library: Library, step: Step, reference: Reference) -> Iterator[list[str]]:
    name = reference.literals[1] if len(reference.literals) > 1 else None
    if name is None:
        raise ValueError(f"{reference.name}: give the name of what is defined as a literal, so that it can be told")
    for packages in step.packages:
        modules = (module for package in packages for module in library.modules(f"{_BENCHMARKS}.{package}"))
        yield [f"{module.name}.{name}" for module in modules if name in module.bound]


def _marked(decorator: str, chosen: Callable[[Step], str]) -> Behind:
    """Functions marked ``@decorator(name)`` with the ``chosen`` name ("": any): a benchmark's, or else its family's."""

    def functions(library: Library, step: Step, reference: Reference) -> Iterator[str]:
        for packages in step.packages:
            seen: set[str] = set()
            for package in packages:
                marked = list(library.marked(f"{_BENCHMARKS}.{package}", f"{_CONTRACT}.{decorator}"))
                for function, names in marked:
                    if not seen.issuperset(names) and (not chosen(step) or chosen(step) in names):
                        yield function
                seen.update(name for _, names in marked for name in names)

    return functions


def _classes(*names: str) -> Behind:
    """The methods alone of some classes: their objects, made from what the user wrote, enter by value."""
    return lambda library, step, reference: [METHODS + name for name in (*names, *step.classes)]


def _model(library: Library, step: Step, reference: Reference) -> tuple[str, ...]:
    """The code that reads published outputs; nothing for other models, whose answers enter by versions."""
    answer = "biasatlas.models.released.answer"
    return (f"{answer}.open_released", f"{answer}.ReleasedModel.answer") if step.kind == "released" else ()


_SPEC = tuple(f"{_CONTRACT}.{name}" for name in ("Spec", "Task", "Table", "Figure", "Metric"))


def _on_page(name: str) -> Behind:
    """``name`` for the report alone: other scripts know a metric by its name, which tables hold."""
    return lambda library, step, reference: [name] if step.script == "write_report" else []


#: A definition, or a module with all of its definitions -> what takes its place.
BOUNDARIES: Mapping[str, Behind] = {
    # By value: :mod:`biasatlas.benchmarks.visible`, and the rules' other params.
    f"{_REGISTRY}.load_spec": _classes(*_SPEC),
    f"{_REGISTRY}.spec_view": _classes(*_SPEC),
    f"{_BENCHMARKS}.visible": _definitions(),
    f"{_REGISTRY}.description": _classes(),
    f"{_REGISTRY}.load_options": _classes(),
    "biasatlas.workflow.config.load_config": _classes(
        "biasatlas.workflow.config.Config", "biasatlas.workflow.config.run.Run"
    ),
    "biasatlas.simulation.studies.load_studies": _classes(
        "biasatlas.simulation.studies.Study", "biasatlas.simulation.studies.Headline"
    ),
    # By the source of the nuisance that is meant, a param of its own.
    "biasatlas.simulation.nuisances": _definitions(),
    # Code that asks what options there are: the classes of options themselves.
    "biasatlas.stages.declaration": lambda library, step, reference: step.classes,
    "biasatlas.sources.load_sources": _classes("biasatlas.sources.Source"),
    # By the definitions of the benchmark that is meant.
    f"{_REGISTRY}._defined": _defined,
    f"{_REGISTRY}._all_defined": _all_defined,
    f"{_REGISTRY}._has": _definitions(),
    f"{_REGISTRY}._read_marks": _definitions(),
    f"{_REGISTRY}._description_view": _definitions(),
    f"{_REGISTRY}.owners": _definitions(),
    f"{_CONTRACT}.TABLES": _marked("table", lambda step: step.table),
    f"{_CONTRACT}.FIGURES": _marked("figure", lambda step: step.figure),
    f"{_CONTRACT}.METRICS": _definitions(),
    **{
        name: _on_page(name)
        for name in (f"{_BENCHMARKS}.comparison.METRICS", f"{_BENCHMARKS}.comparisons.declared.METRICS")
    },
    f"{_CONTRACT}.table": _definitions(),
    f"{_CONTRACT}.figure": _definitions(),
    f"{_CONTRACT}.metric": _definitions(),
    # By version: :func:`biasatlas.workflow.identity.answer_identity`.
    f"{_JOB}.Job.open_model": _model,
    f"{_JOB}.Job.store": _definitions(),
    "biasatlas.models.scheduling": _definitions(),
    "biasatlas.models.simulated.answer.SimulatedModel": _definitions(),
    "biasatlas.models.local.load.load": _definitions("biasatlas.models.local.VERSION"),
    "biasatlas.models.local.answer.CausalModel": _definitions(),
    "biasatlas.models.kinds.KINDS": _definitions(),
    # Nothing: logs, signals and progress reach no output.
    f"{_JOB}.job": _definitions(f"{METHODS}{_JOB}.Job"),
    f"{_JOB}.Job.count_run": _definitions(),
    f"{_JOB}.Job.at": _definitions(),
    "biasatlas.progress": _definitions(),
}

#: Class that renders templates -> their folder. Templates name methods and properties of the objects given to them,
#: which no Python code need name.
TEMPLATES: Mapping[str, str] = {"biasatlas.report.pages.Pages": "biasatlas/report/templates"}

#: Calls and decorators that are distinguished by their literal arguments.
BY_LITERALS = frozenset(
    name for name in BOUNDARIES if name.rpartition(".")[2] in {"_defined", "_all_defined", "table", "figure", "metric"}
)


SCRIPTS = ROOT / "scripts"
#: Digests that were computed, in a file for each state of the library.
KEPT = ROOT / ".snakemake" / "identity"

#: YAML is read in C where it can be.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

#: Script -> the steps of a benchmark that it takes (:data:`biasatlas.benchmarks.visible.SPEC`).
STEPS: Mapping[str, tuple[str, ...]] = {
    "read_items": ("read_items", "check_items"),
    "build_requests": ("build_requests", "rounds"),
    "train_on_questions": ("bias_roles",),
    "order_contexts": ("build_order_requests",),
    "judge_responses": ("build_judge_requests",),
    "answer_requests": ("import_responses", "read_predictions"),
    "answer_in_rounds": ("score_responses", "evidence", "rounds"),
    "score_responses": ("score_responses",),
    "summarise_scores": ("table",),
    "summarise_outcomes": ("outcomes",),
    "draw_figure": ("figure",),
    "compare_models": ("evidence",),
    "score_again": ("score_responses", "table", "evidence"),
    "analyse_sensitivity": ("sensitivity",),
    "run_experiment": ("build_requests", "bias_roles", "build_judge_requests", "score_responses", "table", "studies"),
    "plan_effects": (
        *("build_requests", "bias_roles", "build_judge_requests"),
        *("score_responses", "table", "studies", "evidence"),
    ),
    "run_study": ("studies",),
    "start_variations": ("read_items",),
    "write_report": ("page",),
}


def digest(script: str, names: Mapping[str, str | Sequence[str]]) -> str:
    """What identifies the work of ``scripts/{script}.py`` in a job, beside inputs and other params: 16 hex digits.

    ``names`` are those of the job: ``benchmark`` (a benchmark's name or the path of a description, not its name in the
    configuration; several as a list), and where the job has them ``task``, ``table``, ``figure``, and ``kind`` (of the
    model that answers). Others are ignored, so a job's wildcards will do once ``benchmark`` is put in.

    The digest changes where a definition that the script can reach does something else, or where the benchmark's
    declaration says something else in a field that the script's steps may see. Options of protocols, entries of models
    and shipped files are params of their own. Raises ValueError for code whose reach cannot be told (``from x import
    *``).
    """
    given = names.get("benchmark") or ()
    benchmarks = tuple(dict.fromkeys([given] if isinstance(given, str) else given))
    one = {name: value for name in ("table", "figure", "kind") if isinstance(value := names.get(name, ""), str)}
    code = _code(step_of(script, benchmarks, **one))
    chosen = {name: str(names[name]) for name in ("task", "table", "figure") if names.get(name)}
    seen = [_visible(name, step, **chosen) for name in benchmarks for step in STEPS.get(script, ())]
    return hashlib.sha256(json.dumps([code, seen]).encode()).hexdigest()[:16]


@cache
def _visible(benchmark: str, step: str, **chosen: str) -> str:
    """What ``step`` may see of a declaration, as JSON. Cached, since jobs of a rule differ in few wildcards."""
    return json.dumps(registry.visible(benchmark, step, **chosen), ensure_ascii=False)


def step_of(script: str, benchmarks: Iterable[str] = (), **names: str) -> Step:
    """What the code of a step depends on: packages, and classes whose objects were made when the run was planned."""
    benchmarks = tuple(benchmarks)
    packages = dict.fromkeys(map(registry.packages, benchmarks))
    objects: list[type] = [registry.load_spec(name).options for name in benchmarks]
    objects += [type(described) for name in benchmarks if (described := registry.description(name))]
    classes = sorted({f"{each.__module__}.{each.__qualname__}" for each in map(_written, objects)})
    return Step(script, tuple(packages), tuple(classes), **names)


def _written(made: type) -> type:
    """The class that the source defines: ``made`` itself, or its base if it was made from a description."""
    return next(each for each in made.__mro__ if getattr(sys.modules[each.__module__], each.__qualname__, None) is each)


def reach(library: Library, step: Step) -> Reach:
    """All definitions that a step's script can reach."""
    boundaries = {name: partial(behind, library, step) for name, behind in BOUNDARIES.items()}
    return library.reach(library.script(step.script), boundaries)


def library(edited: Mapping[str, str] | None = None) -> Library:
    """The library's source; ``edited`` are files with another text, by their paths below ``scripts/``."""
    return Library(SCRIPTS, edited, BY_LITERALS, TEMPLATES)


_library = cache(library)


@cache
def _code(step: Step) -> str:
    """The digest of what a step reaches; read from :data:`KEPT` while the library is unchanged."""
    key = hashlib.sha256(repr(step).encode()).hexdigest()[:16]
    kept = _kept()
    if key not in kept:
        kept[key] = reach(_library(), step).digest()
        with contextlib.suppress(OSError):  # the library's folder may not be writable
            KEPT.mkdir(parents=True, exist_ok=True)
            with (KEPT / _state()).open("a", encoding="utf-8") as file:
                file.write(f"{key} {kept[key]}\n")
    return kept[key]


@cache
def _kept() -> dict[str, str]:
    try:
        lines = (KEPT / _state()).read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return dict(pair for line in lines if len(pair := line.split()) == 2 and len(pair[1]) == 64)


@cache
def _state() -> str:
    """A digest of all sources, templates among them."""
    state = hashlib.sha256(sys.version.encode())
    folders = (SCRIPTS / folder for folder in TEMPLATES.values())
    for path in [*sorted(SCRIPTS.rglob("*.py")), *sorted(path for folder in folders for path in folder.iterdir())]:
        state.update(path.relative_to(SCRIPTS).as_posix().encode() + b"\0" + path.read_bytes())
    return state.hexdigest()[:16]


def answer_identity(entry: Entry, benchmark: str | None) -> dict:
    """What can change a model's answers: fields of its entry, and versions of the code that computes and parses them.

    Golden tests say when a version must be raised.
    """
    versions = {
        "answers": KINDS[entry.kind].version,
        "parsers": registry.parser_version(benchmark) if benchmark else "",
    }
    if entry.kind == "released":  # no model answers, and nothing is stored: the parser of a format is code as any other
        versions["import"] = digest("answer_requests", {"benchmark": benchmark or "", "kind": "released"})
    return {"kind": entry.kind, "versions": versions} | fields_affecting(entry, "answers")


def digest_of(paths: Iterable[str]) -> str:
    """SHA-256 over the content of shipped files, whatever their layout: 16 hex digits.

    YAML and JSON count as loaded, CSV by its rows without blank ones (cells are text: printed digits count), other text
    as :meth:`biasatlas.resources.Resources.text` gives it, and all else by its bytes.
    """
    said = hashlib.sha256()
    for path in paths:
        said.update(hashlib.sha256(_said(Path(path)).encode()).digest())
    return said.hexdigest()[:16]


def _said(path: Path) -> str:
    content = path.read_bytes()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return hashlib.sha256(content).hexdigest()
    if path.suffix in (".yaml", ".yml", ".json"):
        return repr(yaml.load(text, Loader=_LOADER))  # keys keep their order, which loops follow
    if path.suffix == ".csv":
        return repr([row for row in csv.reader(text.splitlines(keepends=True)) if row])
    return text.strip()
