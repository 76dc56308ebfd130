"""The results of a run, and those that can still be made after a job failed."""

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from biasatlas.benchmarks.comparisons.declared import MATCHES
from biasatlas.benchmarks.shared.framing_design import FRAMED
from biasatlas.workflow import failures, selection
from biasatlas.workflow.config import Config
from biasatlas.workflow.paths import Paths
from biasatlas.workflow.selection import Scored


class Crossing(NamedTuple):
    """A "table" or "figure" across benchmarks."""

    kind: str
    protocol: str
    comparison: str


class Targets:
    """The results of a configuration.

    ``partial`` is the level of a run that goes on after a failure (:mod:`biasatlas.workflow.failures`), '' for any
    other; ``exists`` says whether a file is there, on whatever storage.
    """

    def __init__(self, config: Config, paths: Paths, partial: str, exists: Callable[[str], bool]):
        self.config, self.paths, self.partial, self.exists = config, paths, partial, exists
        self.runs, self.framed = selection.runs(config), selection.framed_runs(config)
        self._all_scores: dict[tuple[str, str], list[Scored]] = {}

    def is_complete(self, score: Scored) -> bool:
        """Whether to use scores: if a run goes on after a failure, only if all files behind them exist."""
        steps = failures.steps(self.config, self.paths, score) if self.partial else ()
        return all(self.exists(path) for path, _ in steps)

    def is_usable(self, path: str) -> bool:
        """Whether to use a result: at the level "report", only if it exists."""
        return self.partial != "report" or self.exists(path)

    def framed_scores(self, benchmark: str, protocol: str) -> list[Scored]:
        """The scores of a benchmark under a protocol's framings; none where it has none."""
        wanted = [
            Scored(model, benchmark, framed, task)
            for name, framed in self.framed
            if (name, framed) == (benchmark, protocol + FRAMED)
            for model in selection.models(self.config, benchmark, framed)
            for task in selection.tasks(self.config, benchmark, model, framed)
        ]
        return [score for score in wanted if self.is_complete(score)]

    def scores(self, benchmark: str, protocol: str, table: str, models: list[str]) -> list[Scored]:
        """The scores that a table reads: those of ``models`` that have them."""
        wanted = selection.scores(self.config, benchmark, protocol, table, models)
        return [score for score in wanted if self.is_complete(score)]

    @cached_property
    def evidence(self) -> list[Scored]:
        """The complete scores of all runs."""
        scores = (
            Scored(model, benchmark, protocol, task)
            for benchmark, protocol in self.runs
            for model in selection.models(self.config, benchmark, protocol)
            for task in selection.tasks(self.config, benchmark, model)
        )
        return [score for score in scores if self.is_complete(score)]

    @cached_property
    def tables(self) -> list[tuple[str, str, str]]:
        """(benchmark, protocol, table) of every table."""
        return [
            (benchmark, protocol, table)
            for benchmark, protocol in self.runs
            for table in selection.tables(self.config, benchmark, protocol)
            if self._has_scores(benchmark, protocol, table)
            and self.is_usable(self.paths.table.format(benchmark=benchmark, protocol=protocol, table=table))
        ]

    def _has_scores(self, benchmark: str, protocol: str, table: str) -> bool:
        if not self.partial or not self.config.spec(benchmark).tables[table].tasks:
            return True
        models = selection.models(self.config, benchmark, protocol)
        return bool(self.scores(benchmark, protocol, table, models))

    @cached_property
    def figures(self) -> list[tuple[str, str, str]]:
        """(benchmark, protocol, figure) of every figure."""
        made = set(self.tables)

        def has_tables(benchmark: str, protocol: str, figure: str) -> bool:
            needed = self.config.spec(benchmark).figures[figure].tables
            return made.issuperset((benchmark, protocol, table) for table in needed)

        return [
            (benchmark, protocol, figure)
            for benchmark, protocol in self.runs
            for figure in selection.figures(self.config, benchmark, protocol)
            if has_tables(benchmark, protocol, figure)
            and self.is_usable(self.paths.figure.format(benchmark=benchmark, protocol=protocol, figure=figure))
        ]

    @cached_property
    def comparisons(self) -> list[Crossing]:
        """All tables and figures across benchmarks: DBB's Tables 1 and 5 and Figures 5 to 7, comparisons of models."""
        keys = [Crossing("table", *key) for key in selection.comparisons(self.config) if self.compared_tables(*key)]
        keys += [Crossing(kind, p, name) for p in self._matched_protocols() for kind, name in MATCHES]
        keys += [Crossing("table", protocol, "findings") for protocol in self.protocols_with_evidence]
        keys += [Crossing(kind, p, "pairs") for p in self._shared_protocols(2) for kind in ("table", "figure")]
        keys += [Crossing("table", protocol, "reliability") for protocol in self._shared_protocols(3)]
        framed = (p for p, name in self._evidence_runs() if self.framed_scores(name, p))
        keys += [Crossing(kind, p, "framings") for p in dict.fromkeys(framed) for kind in ("table", "figure")]
        return [key for key in keys if self.is_usable(self.comparison_path(key))]

    def compared_tables(self, protocol: str, comparison: str) -> list[tuple[str, str]]:
        """(benchmark, table) that stand side by side."""
        wanted = selection.compared_tables(self.config, protocol, comparison)
        return [(benchmark, table) for benchmark, table in wanted if (benchmark, protocol, table) in self.tables]

    def _matched_protocols(self) -> list[str]:
        return [
            protocol
            for protocol in selection.matches(self.config)
            if all(
                self.scores(name, protocol, "bias", selection.matched_models(self.config, protocol))
                for name in ("dbb", "bbq")
            )
        ]

    def comparison_path(self, key: Crossing) -> str:
        """The path of a comparison."""
        template = self.paths.comparison if key.kind == "table" else self.paths.comparison_figure
        return template.format(protocol=key.protocol, comparison=key.comparison)

    def with_evidence(self, protocol: str) -> list[str]:
        """Names of the benchmarks whose scores are evidence under a protocol."""
        return [name for name in selection.with_evidence(self.config, protocol) if self.all_scores(name, protocol)]

    def all_scores(self, benchmark: str, protocol: str) -> list[Scored]:
        """The scores that any table of a benchmark reads, table by table, each once."""
        if (benchmark, protocol) not in self._all_scores:
            models = selection.models(self.config, benchmark, protocol)
            scores = (self.scores(benchmark, protocol, table, models) for table in self.config.spec(benchmark).tables)
            self._all_scores[benchmark, protocol] = list(dict.fromkeys(score for part in scores for score in part))
        return self._all_scores[benchmark, protocol]

    @cached_property
    def protocols_with_evidence(self) -> list[str]:
        """Protocols under which there is any evidence."""
        return [protocol for protocol in dict.fromkeys(p for _, p in self.runs) if self.with_evidence(protocol)]

    def _shared_protocols(self, models: int) -> list[str]:
        """Protocols under which at least this many ``models`` answer the same benchmark."""
        runs = self._evidence_runs()
        return list(dict.fromkeys(p for p, name in runs if len(selection.models(self.config, name, p)) >= models))

    def _evidence_runs(self) -> list[tuple[str, str]]:
        return [(protocol, name) for protocol in self.protocols_with_evidence for name in self.with_evidence(protocol)]

    def universes(self) -> list[tuple[str, str, str]]:
        """(protocol, model, benchmark) of every multiverse; benchmarks that are asked in rounds have none."""
        rounds = selection.in_rounds(self.config)
        return [
            (p, model, name)
            for p, name in self._evidence_runs()
            if name not in rounds
            for model in selection.models(self.config, name, p)
        ]

    def planned_effects(self) -> list[tuple[str, str]]:
        """(benchmark, protocol) whose smallest detectable effects are planned: those whose scores are evidence."""
        return [(name, p) for name, p in self.runs if name in selection.with_evidence(self.config, p)]

    def all_summaries(self) -> list[str]:
        """Paths of a summary of each model that there is any evidence about, in each form."""
        paths = [
            self.paths.summary.format(model=model, form=form)
            for model in self.models_with_evidence()
            for form in ("md", "tex", "json")
        ]
        return [path for path in paths if self.is_usable(path)]

    def models_with_evidence(self) -> list[str]:
        """Models that answer a benchmark whose scores are evidence."""
        runs = self.planned_effects()
        asked = {model for name, p in runs for model in selection.models(self.config, name, p)}
        return [model for model in self.config.models if model in asked]

    def all_tables(self, benchmark: str = "") -> list[str]:
        """Paths of every table of the configuration, or of one of its benchmarks."""
        chosen = [key for key in self.tables if benchmark in ("", key[0])]
        return [self.paths.table.format(benchmark=name, protocol=p, table=table) for name, p, table in chosen]

    def drawn(self, benchmark: str, protocol: str) -> list[str]:
        """Figures of a benchmark that are drawn under a protocol."""
        return [figure for name, p, figure in self.figures if (name, p) == (benchmark, protocol)]

    def all_figures(self, benchmark: str = "") -> list[str]:
        """Paths of every figure of the configuration, or of one of its benchmarks."""
        chosen = [key for key in self.figures if benchmark in ("", key[0])]
        return [self.paths.figure.format(benchmark=name, protocol=p, figure=figure) for name, p, figure in chosen]

    def all_comparisons(self) -> list[str]:
        """Paths of all tables and figures across benchmarks."""
        return [self.comparison_path(key) for key in self.comparisons]

    def construction(self) -> list[str]:
        """Paths of a construction's costs and verdicts on items and, if configured, of its manual evaluation."""
        if not self.config.construction or self.partial:
            return []
        evaluation = ["evaluation"] if self.config.construction.evaluation else []
        return [f"{self.paths.construction}/{name}.csv" for name in ("costs", "verdicts", *evaluation)]

    def everything(self) -> list[str]:
        """All that a run makes, and the check before it."""
        page = [self.paths.report] if self.partial else [self.paths.report, self.paths.check]
        made = (self.all_tables, self.all_figures, self.all_comparisons, self.all_summaries, self.construction)
        return [path for paths in made for path in paths()] + page
