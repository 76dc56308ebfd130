"""What can change the results of a rule beside its input files, as one param: code, shipped files, options."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

from biasatlas import ROOT
from biasatlas.benchmarks.comparisons.cards import card_file, made_from
from biasatlas.benchmarks.contract import ReadingStep
from biasatlas.benchmarks.registry import resource_names
from biasatlas.resources import names as shipped_names
from biasatlas.sources import load_sources
from biasatlas.stages import Stage, fields_affecting
from biasatlas.workflow import selection
from biasatlas.workflow.identity import digest, digest_of
from biasatlas.workflow.paths import SHIPPED, File, files, places
from biasatlas.workflow.targets import Targets


class Reads(NamedTuple):
    """What a stage reads beside its input: shipped files of some steps, options up to a stage, a step's templates."""

    resources: tuple[ReadingStep, ...] = ()
    options: Stage | None = None
    templates: ReadingStep | None = None


StepName = Literal["", "items", "requests", "orders", "judge", "scores", "tables", "multiverse", "plan", "experiment"]

STEPS: dict[StepName, Reads] = {
    "": Reads(),
    "items": Reads(("items",)),
    "requests": Reads(("requests",), "answers", "requests"),
    "orders": Reads(("judge",), None, "judge"),
    "judge": Reads(("judge",), "judgements", "judge"),
    "scores": Reads(("scores",), "scores"),
    "tables": Reads(("tables",), "tables"),
    "multiverse": Reads(("scores", "tables"), "tables"),
    "plan": Reads(("scores", "tables"), "tables"),
    "experiment": Reads(selection.EXPERIMENT_STEPS),
}


class Steps:
    """The params of a rule's step, and the shipped files that it reads.

    ``unchanged`` marks a folder whose modification time does not count (``ancient``), ``local`` a path that is never on
    remote storage and is read where the run was started, ``source`` one that travels with the workflow to any job.
    A rule whose wildcards have neither protocol nor task is about published outputs, under ``released``.
    """

    def __init__(self, targets: Targets, unchanged: Callable, local: Callable, source: Callable):
        self.targets, self.unchanged, self.local, self.source = targets, unchanged, local, source
        self.config, self.paths, self.sources = targets.config, targets.paths, load_sources()
        # No shipped file changes while a run is planned, and many jobs ask for the same ones.
        self._named = cache(resource_names)
        self._digest = cache(digest_of)

    def step(self, stage: StepName, script: str = "", **extras: Any) -> Callable:
        """Param of: what can change a step's results beside its input files, by name.

        ``code`` identifies the code of ``script``; ``resources`` is a tree of the shipped files of a ``stage`` and
        ``shipped`` a digest of their content; ``options`` are those of the protocol. ``extras`` are values, trees of
        files, or functions of the wildcards that give one.
        """

        def value(wildcards: Any) -> dict[str, Any]:
            given = {name: extra(wildcards) if callable(extra) else extra for name, extra in extras.items()}
            said: dict[str, Any] = {"code": self._code(script, wildcards)} if script else {}
            if STEPS[stage].resources:
                said["resources"] = self.resources(stage)(wildcards)
                said["shipped"] = self.said(stage)(wildcards)
            if upto := STEPS[stage].options:
                said["options"] = self.options(wildcards, upto)
            return {name: places(tree) for name, tree in (said | given).items()}

        return value

    def _code(self, script: str, wildcards: Any) -> str:
        """What identifies the work of a job's script: its code, and what it sees of its benchmarks' declarations."""
        wanted = ("benchmark", "protocol", "task", "table", "figure")
        names = {name: getattr(wildcards, name) for name in wanted if hasattr(wildcards, name)}
        return digest(script, {**names, "benchmark": list(map(self.config.benchmark, self._benchmarks(script, names)))})

    def _benchmarks(self, script: str, wildcards: Mapping[str, str]) -> Iterable[str]:
        """Benchmarks of a job, by their names in the configuration."""
        if "benchmark" in wildcards:
            return [wildcards["benchmark"]]
        if script == "compare_models":
            return self.targets.with_evidence(wildcards["protocol"])
        if script in ("analyse_sensitivity", "write_report", "run_study"):
            return self.config.benchmarks
        return ["dbb"] if script == "start_variations" else []

    def files_for(self, tree: Any) -> Callable:
        """Input of: the files of a tree, or of the one that a function of the wildcards gives."""
        return lambda wildcards: files(tree(wildcards) if callable(tree) else tree)

    def ship(self, names: Iterable[str]) -> list[str]:
        """Paths of files that ship with the workflow, by their names below resources/."""
        return [self.source(str(SHIPPED / name)) for name in names]

    def shipped(self, *patterns: str) -> dict[str, File]:
        """A tree of shipped files: name -> file."""
        names = shipped_names(patterns)
        return dict(zip(names, map(File, self.ship(names)), strict=True))

    def cards(self) -> dict[str, Any]:
        """Tree: the shipped validity cards and their digest; by benchmark, the cards beside its description and what
        each of its data sets is made from."""
        (shipped,) = self.shipped("simulation/cards.csv").items()
        beside: dict[str, tuple[File, list[str]]] = {}
        for name, run in self.config.benchmarks.items():
            benchmark = self.config.benchmark(name)
            if (path := card_file(benchmark)) and path.is_file():
                sample = ROOT / "resources" / "samples" / self.config.spec(name).sample
                folder = sample if run.data == "sample" else run.folder
                made = beside.setdefault(benchmark, (File(self.local(str(path))), []))[1]
                made.append(made_from(benchmark, folder))
        return {"shipped": shipped[1], "said": self.digest([shipped[0]]), "beside": beside}

    def shipped_for(self, benchmark: str, step: ReadingStep) -> dict[str, File]:
        """A tree of the shipped files that a step of a benchmark reads."""
        names = resource_names(benchmark, step)
        return dict(zip(names, map(File, self.ship(names)), strict=True))

    def digest(self, names: Iterable[str]) -> str:
        """A digest of the content of shipped files, whatever their times."""
        return self._digest(tuple(str(ROOT / "resources" / name) for name in names))

    def options(self, wildcards: Any, upto: Stage) -> dict[str, Any]:
        """The options of a protocol that can change what is made up to a stage."""
        return fields_affecting(self.config.options(wildcards.benchmark, self.protocol(wildcards)), upto)

    def protocol(self, wildcards: Any) -> str:
        """The wildcard's protocol; for a judge's orders, which all protocols share, the first that asks for them."""
        if hasattr(wildcards, "protocol"):
            return wildcards.protocol
        if hasattr(wildcards, "task"):
            name, task = wildcards.benchmark, wildcards.task
            return next(p for b, p in self.targets.runs if b == name and selection.is_ordered(self.config, b, p, task))
        return "released"

    def data(self, wildcards: Any) -> str:
        """Which data a benchmark runs on: "full", another published set, "sample", a folder; "own copy" of prompts."""
        if not hasattr(wildcards, "protocol"):
            return self.config.benchmarks[wildcards.benchmark].data
        return selection.measured_data(self.config, wildcards.benchmark, wildcards.protocol)

    def resources(self, stage: StepName) -> Callable:
        """Tree of: the shipped files that a stage reads, and the prompt templates of others that it uses.

        Shipped files count by their content, which is the step's ``shipped``, and not by their times or bytes.
        """

        def tree(wildcards: Any) -> dict[str, File]:
            names = self._resource_names(stage, wildcards)
            shipped = {name: File(self.unchanged(path)) for name, path in zip(names, self.ship(names), strict=True)}
            return shipped | self.template_files(stage, wildcards.benchmark, self.protocol(wildcards))

        return tree

    def said(self, stage: StepName) -> Callable:
        """Param of: a digest of the content of those shipped files."""
        return lambda wildcards: self.digest(self._resource_names(stage, wildcards))

    def _resource_names(self, stage: StepName, wildcards: Any) -> list[str]:
        benchmark, task = self.config.benchmark(wildcards.benchmark), getattr(wildcards, "task", "")
        return list(dict.fromkeys(n for step in STEPS[stage].resources for n in self._named(benchmark, step, task)))

    def template_files(self, stage: StepName, benchmark: str, protocol: str) -> dict[str, File]:
        """Tree: the prompt templates of others that a stage uses: folders of sources, files of the user's."""
        sources, user_files = self._templates(stage, benchmark, protocol)
        tree = {name: File(self.unchanged(self.paths.source.format(source=name))) for name in sources}
        tree |= {name: File(self.local(self.config.benchmarks[benchmark].files[name])) for name in user_files}
        return {f"templates/{name}": file for name, file in tree.items()}

    def template_checksums(self, stage: StepName) -> Callable:
        """Input of: checksums of those templates that were fetched; a folder counts by these alone."""

        def paths(wildcards: Any) -> list[str]:
            return self.checksums(self._templates(stage, wildcards.benchmark, self.protocol(wildcards))[0])

        return paths

    def _templates(self, stage: StepName, benchmark: str, protocol: str) -> tuple[list[str], list[str]]:
        """Names of the sources and of the user's files that hold those templates."""
        step = STEPS[stage].templates
        return selection.templates(self.config, benchmark, protocol, step) if step else ([], [])

    def checksums(self, sources: Iterable[str]) -> list[str]:
        """Paths of the checksums of the given sources."""
        return [self.paths.checksums.format(source=source) for source in sources]
