"""What identifies a result: an edit that can change a number reruns the rules that use it, and no other edit does.

What is evaluated when a run is planned enters by value, what runs in a job by the definitions that its script can reach
(:mod:`.reach`), and what a model answered by the versions that golden tests guard (:mod:`biasatlas.models.kinds`), so
that no refactoring asks a model again.
"""

import contextlib
import csv
import hashlib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

import yaml

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.models.entry import Entry
from biasatlas.models.kinds import KINDS
from biasatlas.stages import fields_affecting
from biasatlas.workflow.boundaries import BOUNDARIES, BY_LITERALS, TEMPLATES, Step
from biasatlas.workflow.reach import Library, Reach

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
    """Jobs of a rule differ in few of their wildcards."""
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
    """The class that stands in the source: itself, or the base of one that was made from a description."""
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
    """The digest of what a step reaches; from the folder of digests where the library is as it was."""
    key = hashlib.sha256(repr(step).encode()).hexdigest()[:16]
    kept = _kept()
    if key not in kept:
        kept[key] = reach(_library(), step).digest()
        with contextlib.suppress(OSError):  # where the library lies in a folder that is not ours
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
    """What can change a model's answers: the marked fields of its entry, the versions of what computes and reads them.

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
    """SHA-256 over what shipped files say, whatever their layout: 16 hex digits.

    Of YAML and JSON what is loaded, of CSV the rows but blank ones (cells are text: printed digits count), of other
    texts what :meth:`biasatlas.resources.Resources.text` gives, else the bytes.
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
        return repr(yaml.load(text, Loader=_LOADER))  # keys in their order, which loops follow
    if path.suffix == ".csv":
        return repr([row for row in csv.reader(text.splitlines(keepends=True)) if row])
    return text.strip()
