"""Where what a script can reach is not followed on: what was evaluated when the run was planned enters a step's
identity by value, what a model answered by version, and what cannot reach an output not at all.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from biasatlas.workflow.normal_form import Reference
from biasatlas.workflow.reach import METHODS, Library

_BENCHMARKS = "biasatlas.benchmarks"
_REGISTRY = f"{_BENCHMARKS}.registry"
_CONTRACT = f"{_BENCHMARKS}.contract"
_JOB = "biasatlas.workflow.job"


@dataclass(frozen=True)
class Step:
    """What the code of a step depends on beside its script.

    ``packages`` are those of each of its benchmarks below ``biasatlas.benchmarks``, its own before its family's;
    ``classes`` are those of their options and descriptions; ``table`` and ``figure`` name the one that is made ("":
    any); ``kind`` is that of the model that answers.
    """

    script: str
    packages: tuple[tuple[str, ...], ...] = ()
    classes: tuple[str, ...] = ()
    table: str = ""
    figure: str = ""
    kind: str = ""


#: What stands behind a boundary: names of definitions, of modules (what is mentioned of them), or ``methods of`` a
#: class.
Behind = Callable[[Library, Step, Reference], Iterable[str]]


def _definitions(*names: str) -> Behind:
    return lambda library, step, reference: names


def _all_defined(library: Library, step: Step, reference: Reference) -> Iterator[str]:
    """Each ``x`` of a benchmark's packages, of ``_all_defined(benchmark, "x")``."""
    yield from (place for found in _places(library, step, reference) for place in found)


def _defined(library: Library, step: Step, reference: Reference) -> Iterator[str]:
    """A benchmark's own ``x`` or else its family's, of ``_defined(benchmark, "x")``."""
    yield from (found[0] for found in _places(library, step, reference) if found)


def _places(library: Library, step: Step, reference: Reference) -> Iterator[list[str]]:
    name = reference.literals[1] if len(reference.literals) > 1 else None
    if name is None:
        raise ValueError(f"{reference.name}: give the name of what is defined as a literal, so that it can be told")
    for packages in step.packages:
        modules = (module for package in packages for module in library.modules(f"{_BENCHMARKS}.{package}"))
        yield [f"{module.name}.{name}" for module in modules if name in module.bound]


def _marked(decorator: str, chosen: Callable[[Step], str]) -> Behind:
    """Functions marked ``@decorator(name)`` with the name made, or any: a benchmark's own, or else its family's."""

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
    """Methods of some classes: their objects were made from what the user wrote, and enter by value."""
    return lambda library, step, reference: [METHODS + name for name in (*names, *step.classes)]


def _model(library: Library, step: Step, reference: Reference) -> tuple[str, ...]:
    """Published outputs are read by code as any other; what all other models answer is told by versions."""
    answer = "biasatlas.models.released.answer"
    return (f"{answer}.open_released", f"{answer}.ReleasedModel.answer") if step.kind == "released" else ()


_SPEC = tuple(f"{_CONTRACT}.{name}" for name in ("Spec", "Task", "Table", "Figure", "Metric"))


def _on_page(name: str) -> Behind:
    """What only the page shows: to other scripts a metric is its name, which its tables hold."""
    return lambda library, step, reference: [name] if step.script == "write_report" else []


#: A definition, or a module with all of its own -> what stands in its place.
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
    # By its own source, of the one that is meant.
    "biasatlas.simulation.nuisances": _definitions(),
    # What options could be, where code asks for it: the classes themselves.
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
        for name in (f"{_BENCHMARKS}.comparison.METRICS", f"{_BENCHMARKS}.comparisons.metrics.METRICS")
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

#: What renders templates -> their folder: they name methods and properties of what is handed to them, which no Python
#: need name.
TEMPLATES: Mapping[str, str] = {"biasatlas.report.pages.Pages": "biasatlas/report/templates"}

#: Calls, and marks, that are told by their literal arguments.
BY_LITERALS = frozenset(
    name for name in BOUNDARIES if name.rpartition(".")[2] in {"_defined", "_all_defined", "table", "figure", "metric"}
)
