"""Inputs and params of a benchmark's rules, as functions of a job's wildcards. Snakemake itself is not needed here."""

import os
import re
from collections.abc import Callable, Iterable
from typing import Any

from biasatlas.benchmarks.contract import OUTCOMES
from biasatlas.benchmarks.shared.framing_design import FRAMED
from biasatlas.report.replication import computing, part_name
from biasatlas.stages import fields_affecting
from biasatlas.workflow import selection
from biasatlas.workflow.paths import File, files
from biasatlas.workflow.selection import Scored
from biasatlas.workflow.steps import Steps


class Lookup(Steps):
    """Inputs and params of a benchmark's rules."""

    # Raw data, items, requests.

    def raw(self, benchmark: str) -> dict[str, File]:
        """Tree: a benchmark's raw data, by source, or by upstream path in its sample or the user's folder.

        Folders count by their checksums alone: Snakemake knows only a folder's time.
        """
        run, spec = self.config.benchmarks[benchmark], self.config.spec(benchmark)
        if run.is_published:
            sources = spec.sources_of(run.data)
            return {name: File(self.unchanged(self.paths.source.format(source=name))) for name in sources}
        if run.folder:
            folder = os.path.normpath(run.folder)
            return {
                name: File(self.local(f"{folder}/{name}")) for name in selection.user_file_names(self.config, benchmark)
            }
        sample = f"samples/{spec.sample}/"
        return {name.removeprefix(sample): file for name, file in self.shipped(f"{sample}**/*").items()}

    def raw_checksums(self, benchmark: str) -> list[str]:
        """Checksums of a benchmark's raw data that were fetched; shipped data are compared file by file."""
        return self.checksums(self.config.spec(benchmark).sources_of(self.config.benchmarks[benchmark].data))

    def data_files(self, wildcards: Any) -> dict[str, File]:
        """Tree: the raw data of the items, and the user's own files that are read together with them."""
        user_files = selection.data_files(self.config, wildcards.benchmark)
        return self.raw(wildcards.benchmark) | {name: File(path) for name, path in user_files.items()}

    def data_checksums(self, wildcards: Any) -> list[str]:
        """Input: checksums of the raw data that were fetched."""
        return self.raw_checksums(wildcards.benchmark)

    def pins(self, wildcards: Any) -> dict[str, Any]:
        """Param: a source's version, and the checksum that pins each of its listed files."""
        source = self.sources[wildcards.source]
        return {"version": source.version} | {file.path: file.pin for file in source.files}

    def read_options(self, wildcards: Any) -> dict[str, Any]:
        """Param: the keys of a run that the parser of a benchmark's data takes by name."""
        run = self.config.benchmarks[wildcards.benchmark]
        return {key: getattr(run, key) for key in self.config.spec(wildcards.benchmark).reads}

    def orders(self, wildcards: Any) -> str | list[str]:
        """Input: a judge's order of each item's parts, if the judge is asked before requests are built."""
        w = wildcards
        return self.paths.orders if selection.is_ordered(self.config, w.benchmark, w.protocol, w.task) else []

    def framings(self, wildcards: Any) -> dict[str, Any]:
        """Param: the section `framings` for the framed version of a protocol; empty for the protocol itself."""
        section = self.config.benchmarks[wildcards.benchmark].framings
        return section.model_dump() if section and wildcards.protocol.endswith(FRAMED) else {}

    def categories(self, wildcards: Any) -> list[str]:
        """Categories of a task that the configuration asks for."""
        return selection.categories(self.config, wildcards.benchmark, wildcards.task)

    def request_group(self, wildcards: Any) -> str | None:
        """Group of a job that builds requests: that of its items' job, unless a judge's job comes in between."""
        return None if self.orders(wildcards) else "requests"

    # Responses and scores.

    def grammar(self, wildcards: Any) -> list[str]:
        """Input: the grammar that planted models of a language are trained with; only its content counts."""
        return [self.unchanged(path) for path in files(self.shipped(f"planted/{wildcards.language}.yaml"))]

    def grammar_digest(self, wildcards: Any) -> str:
        """Param: a digest of the content of that grammar."""
        return self.digest(self.shipped(f"planted/{wildcards.language}.yaml"))

    def taught(self, wildcards: Any) -> list[tuple[str, File]]:
        """Tree: each task of a benchmark and its requests, under every protocol that is asked."""
        name = wildcards.benchmark
        return [
            (task, File(self.paths.requests.format(benchmark=name, protocol=protocol, task=task)))
            for benchmark, protocol in self.targets.runs
            for task in selection.tasks_asked(self.config, name)
            if benchmark == name
        ]

    def tasks(self, wildcards: Any) -> list[str]:
        """Tasks that a model answers."""
        return selection.tasks(self.config, wildcards.benchmark, wildcards.model, wildcards.protocol)

    def requests(self, wildcards: Any) -> dict[str, File]:
        """Tree: task -> its requests, of the tasks that a model answers."""
        return self._requests_of(self.tasks(wildcards))

    def _requests_of(self, tasks: list[str]) -> dict[str, File]:
        return {task: File(self.paths.requests.replace("{task}", task)) for task in tasks}

    def simulated_items(self, wildcards: Any) -> str | list[str]:
        """Input: the items, for models that answer from these and not from the text of a request."""
        return self.paths.items if self.config.models[wildcards.model].kind in ("released", "simulated") else []

    def response_group(self, wildcards: Any) -> str | None:
        """Group of a job that imports published outputs: that of the jobs that use them."""
        return "results" if self.config.models[wildcards.model].kind == "released" else None

    def gathering_group(self, wildcards: Any) -> str | None:
        """Group of a job that joins responses: that of the scoring jobs, unless a judge's job comes in between."""
        declared = self.config.spec(wildcards.benchmark).tasks
        return None if any(declared[task].judged for task in self.tasks(wildcards)) else "results"

    def stop(self, wildcards: Any) -> str | list[str]:
        """Input: where asking stopped, of a model that is asked in rounds."""
        return self.paths.stop if self.config.benchmarks[wildcards.benchmark].effort == "rounds" else []

    def stops(self, benchmark: str, protocol: str, models: list[str]) -> dict[str, File]:
        """Tree: model -> where asking stopped, of ``models`` that are asked in rounds."""
        if self.config.benchmarks[benchmark].effort != "rounds":
            return {}
        answered = {score.model for score in self.targets.all_scores(benchmark, protocol)}
        path = self.paths.stop.format(model="{model}", benchmark=benchmark, protocol=protocol)
        return {model: File(path.format(model=model)) for model in models if model in answered}

    def table_stops(self, wildcards: Any) -> dict[str, File]:
        """Tree: model -> where asking stopped, of the models that a table is about."""
        return self.stops(wildcards.benchmark, self.protocol(wildcards), self.models(wildcards))

    def families(self, wildcards: Any) -> int:
        """Param: how many families of tests are judged together; a model's tests on a benchmark are a family."""
        protocol = wildcards.protocol
        return sum(
            len(selection.models(self.config, name, protocol))
            for name in selection.with_evidence(self.config, protocol)
        )

    def families_in_rounds(self, wildcards: Any) -> int:
        """Param: the number of these families if the benchmark is asked in rounds, else 0."""
        return self.families(wildcards) if wildcards.benchmark in selection.in_rounds(self.config) else 0

    def asked_categories(self, wildcards: Any) -> dict[str, list[str]]:
        """Param: task -> its categories, of the tasks that a model answers."""
        return {task: selection.categories(self.config, wildcards.benchmark, task) for task in self.tasks(wildcards)}

    def judgements(self, wildcards: Any) -> str | list[str]:
        """Input: a judge's replies about the answers, if a judge scores the task."""
        judged = self.config.spec(wildcards.benchmark).tasks[wildcards.task].judged
        return self.paths.judgements if judged else []

    # Tables and figures.

    def models(self, wildcards: Any) -> list[str]:
        """Models that a table is about, in the order of its rows."""
        protocol = self.protocol(wildcards)
        if not hasattr(wildcards, "protocol"):
            return selection.released_models(self.config)
        return selection.models(self.config, wildcards.benchmark, protocol)

    def _files_of(self, scores: Iterable[Scored]) -> list[str]:
        return [self.paths.task_scores.format(**score._asdict()) for score in scores]

    def table(self, wildcards: Any) -> dict[str, list[str] | str]:
        """Inputs of a table: scores, a file of the user's, or a source of printed data."""
        w, table = wildcards, self.config.spec(wildcards.benchmark).tables[wildcards.table]
        given: list[str] | str = self.config.benchmarks[w.benchmark].files.get(table.file or "", [])
        return {
            "scores": self._files_of(self.targets.scores(w.benchmark, self.protocol(w), w.table, self.models(w))),
            "stops": files(self.table_stops(w)),
            "resources": files(self.resources("tables")(w)),
            "own": self.unchanged(self.paths.source.format(source=table.source)) if table.source else given,
            "checksums": self.paths.checksums.format(source=table.source) if table.source else [],
        }

    def deviations(self, wildcards: Any) -> dict[str, str]:
        """Param: model of a table -> how its requests deviate from the protocol, in words."""
        return selection.deviations(self.config, self.models(wildcards))

    def is_partial_data(self, wildcards: Any) -> bool:
        """Param: whether a benchmark is measured on some of its categories alone."""
        return bool(self.config.benchmarks[wildcards.benchmark].categories)

    def published_names(self, models: Callable) -> Callable:
        """Param of: our name of a model -> its published name, of the models that a table may hold."""

        def names(wildcards: Any) -> dict[str, str]:
            entries = {name: self.config.models[name] for name in models(wildcards)}
            return {name: entry.published_as for name, entry in entries.items() if entry.published_as}

        return names

    def drawn_as(self, wildcards: Any) -> dict[str, str]:
        """Param: model with published outputs -> its published name, which figures show if no other model has it."""
        entries = {name: self.config.models[name] for name in self.models(wildcards)}
        names = {n: e.published_as for n, e in entries.items() if e.kind == "released" and e.published_as}
        taken = [*names.values(), *self.config.models]
        return {name: published for name, published in names.items() if taken.count(published) == 1}

    def colours(self, models: Callable) -> Callable:
        """Param of: each drawn model's place among the configured ones, which gives it its colour."""

        def places_of(wildcards: Any) -> dict[str, int]:
            drawn = models(wildcards)
            return {name: place for place, name in enumerate(self.config.models) if name in drawn}

        return places_of

    def answers(self, wildcards: Any) -> list[dict[str, Any]]:
        """Tree: the answers of a benchmark that can be counted, by model and task: those of models, then of judges."""
        w, declared = wildcards, self.config.spec(wildcards.benchmark).tasks
        keys = self.targets.scores(w.benchmark, w.protocol, OUTCOMES, self.models(w))
        roles = [(key, key.task, self.paths.requests, self.paths.responses) for key in keys]
        judged = [key for key in keys if declared[key.task].judged]
        roles += [(key, f"{key.task} judge", self.paths.judge_requests, self.paths.judgements) for key in judged]
        return [
            {
                "model": key.model,
                "name": name,
                "task": key.task,
                "requests": File(requests.format(**key._asdict())),
                "responses": File(responses.format(**key._asdict())),
            }
            for key, name, requests, responses in roles
        ]

    def parse_with(self, wildcards: Any) -> str | None:
        """Param: the model that parses replies again, if one is configured."""
        return self.config.benchmarks[wildcards.benchmark].parse_with

    def second_parse(self, wildcards: Any) -> str | list[str]:
        """Input: a model's parse of unparsed replies, if one is configured; after a failure, only if it is there."""
        path = self.paths.second_parse("responses")
        path = path.format(benchmark=wildcards.benchmark, protocol=wildcards.protocol)
        exists = not self.targets.partial or self.targets.exists(path)
        return path if self.config.benchmarks[wildcards.benchmark].parse_with and exists else []

    def figure_tables(self, wildcards: Any) -> dict[str, File]:
        """Tree: the tables of a figure, by name; without a protocol those of published outputs."""
        names = self.config.spec(wildcards.benchmark).figures[wildcards.figure].tables
        template = self.paths.table if hasattr(wildcards, "protocol") else self.paths.released_table
        return {name: File(template.replace("{table}", name)) for name in names}

    # Across benchmarks.

    def compared_tables(self, wildcards: Any) -> dict[tuple[str, str], File]:
        """Tree: the tables that stand side by side, by benchmark and name."""
        keys = self.targets.compared_tables(wildcards.protocol, wildcards.comparison)
        return {
            (name, table): File(self.paths.table.format(benchmark=name, protocol=wildcards.protocol, table=table))
            for name, table in keys
        }

    def compared_models(self, wildcards: Any) -> list[str]:
        """Models of the benchmarks that stand side by side."""
        protocol = wildcards.protocol
        names = [name for name, _ in self.targets.compared_tables(protocol, wildcards.comparison)]
        return list(dict.fromkeys(m for name in names for m in selection.models(self.config, name, protocol)))

    def measured_as_published(self, wildcards: Any) -> list[str]:
        """Param: the benchmarks that are measured as DBB's paper does."""
        return selection.measured_as_published(self.config, wildcards.protocol)

    def matched_models(self, wildcards: Any) -> list[str]:
        """Models that both DBB and BBQ measure."""
        return selection.matched_models(self.config, wildcards.protocol)

    def matched_scores(self, wildcards: Any) -> dict[str, list[str]]:
        """Inputs: the scores of the models that both DBB and BBQ measure."""
        models, protocol = self.matched_models(wildcards), wildcards.protocol
        return {name: self._files_of(self.targets.scores(name, protocol, "bias", models)) for name in ("dbb", "bbq")}

    def evidence(self, wildcards: Any) -> list[dict[str, Any]]:
        """Tree: each benchmark that is evidence, with its scores."""
        protocol = wildcards.protocol
        return [
            {
                "name": name,
                "benchmark": self.config.benchmark(name),
                "scores": list(map(File, self._files_of(self.targets.all_scores(name, protocol)))),
                "stops": self.stops(name, protocol, selection.models(self.config, name, protocol)),
                "framed": list(map(File, self._files_of(self.targets.framed_scores(name, protocol)))),
            }
            for name in self.targets.with_evidence(protocol)
        ]

    def evidence_options(self, wildcards: Any) -> dict[str, Any]:
        """Param: the options of those benchmarks that can change results up to tables."""
        protocol = wildcards.protocol
        names = self.targets.with_evidence(protocol)
        return {name: fields_affecting(self.config.options(name, protocol), "tables") for name in names}

    def seeds(self) -> list[list[str]]:
        """Param: groups of models that differ by their seed alone."""
        groups: dict[str, list[str]] = {}
        for name, entry in self.config.models.items():
            if hasattr(entry, "seed"):
                groups.setdefault(entry.model_dump_json(exclude={"seed", "published_as"}), []).append(name)
        return [names for names in groups.values() if len(names) > 1]

    def findings(self) -> dict[str, File]:
        """Tree: the table of all tests under each protocol with evidence."""
        protocols = self.targets.protocols_with_evidence
        return {p: File(self.paths.comparison.format(protocol=p, comparison="findings")) for p in protocols}

    def multiverses(self) -> dict[str, list[File]]:
        """Tree: protocol -> the files of numbers under every choice of analysis."""
        tree: dict[str, list[File]] = {}
        for protocol, model, name in self.targets.universes():
            path = self.paths.multiverse.format(model=model, benchmark=name, protocol=protocol)
            tree.setdefault(protocol, []).append(File(path))
        return tree

    def unjudged_requests(self, wildcards: Any) -> dict[str, File]:
        """Tree: task -> its requests, of the tasks that a model answers and that are scored without a judge."""
        declared = self.config.spec(wildcards.benchmark).tasks
        return self._requests_of([task for task in self.tasks(wildcards) if not declared[task].judged])

    def replicated_tables(self) -> dict[tuple[str, str], File]:
        """Tree: (benchmark, table) -> the tables that are checked against published ones."""
        template = self.paths.released_table
        keys = selection.replicable_tables(self.config)
        return {(name, table): File(template.format(benchmark=name, table=table)) for name, table in keys}

    def part_tables(self, wildcards: Any) -> dict[tuple[str, str], File]:
        """Tree: our tables that are compared with a paper, or with one of its tables or figures."""
        name, part = wildcards.benchmark, wildcards.part
        return {
            key: file
            for key, file in self.replicated_tables().items()
            if key[0] == name and (part == "all" or key[1] in computing(self.config.benchmark(name), part_name(part)))
        }

    def part_figures(self, wildcards: Any) -> list[str]:
        """Input: a paper's figures, drawn from published outputs; for one figure or table, those that show it."""
        return self.released_figures(wildcards.benchmark, "" if wildcards.part == "all" else part_name(wildcards.part))

    def released_figures(self, name: str, part: str = "") -> list[str]:
        """A paper's figures, drawn from published outputs; for a ``part``, such as "Figure 7", those that show it."""
        what, _, number = part.partition(" ")
        shown = rf"{what}s? (\d+(, | and ))*{number}\b.* of the paper" if part else " of the paper"
        made = {table for benchmark, table in selection.replicable_tables(self.config) if benchmark == name}
        return [
            self.paths.released_figure.format(benchmark=name, figure=figure)
            for figure, declared in self.config.spec(name).figures.items()
            if re.search(shown, declared.caption) and made.issuperset(declared.tables)
        ]

    def planned_requests(self, wildcards: Any) -> dict[str, File]:
        """Tree: task -> its requests, of the tasks that are asked and scored without a judge."""
        name, protocol = wildcards.benchmark, wildcards.protocol
        declared = self.config.spec(name).tasks
        return self._requests_of(
            [
                task
                for task in selection.tasks_asked(self.config, name)
                if not declared[task].judged and not selection.is_ordered(self.config, name, protocol, task)
            ]
        )

    def study(self, wildcards: Any) -> dict[str, Any]:
        """Param: the part of a study that decides its experiments."""
        study, setting = selection.simulated_studies(self.config)[wildcards.study], wildcards.setting
        nuisance = study.nuisance(setting)
        return study.model_dump(include={"tasks", "categories", "headlines", "every", "one_prompt", "most"}) | {
            "base": study.base,
            "dose": study.dose(setting),
            "own": study.nuisances.get(setting, {}),
            "nuisance": nuisance.source() if nuisance else "",
            "options": fields_affecting(self.config.options(study.benchmark, study.protocol), "tables"),
        }

    def categories_of(self, requests: Callable) -> Callable:
        """Param of: categories of each task of a tree of requests."""
        return lambda w: {task: selection.categories(self.config, w.benchmark, task) for task in requests(w)}
