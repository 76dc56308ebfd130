"""Inputs, params and resources of the jobs in which a model answers, judges, parses or writes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from biasatlas.models.entry import is_hub_id
from biasatlas.models.interface import Kind
from biasatlas.models.kinds import KINDS
from biasatlas.stages import fields_affecting
from biasatlas.workflow.config import Config
from biasatlas.workflow.identity import answer_identity
from biasatlas.workflow.job_resources import job_resources
from biasatlas.workflow.paths import WEIGHT_FILES, Paths
from biasatlas.workflow.retries import failing_runs

#: Which model of a job: the one under test, a benchmark's judge or second parser, the writer of the construction.
Role = Literal["model", "judge", "second_parser", "writer"]


class ModelJobs:
    """Inputs, params and resources of these jobs, as functions of their wildcards.

    ``unchanged`` marks a folder whose modification time does not count (``ancient``), ``local`` a path that is never on
    remote storage.
    """

    def __init__(self, config: Config, paths: Paths, unchanged: Callable, local: Callable):
        self.config, self.paths, self.unchanged, self.local = config, paths, unchanged, local
        self.checked = [name for name in config.models if self.kind(name).check]
        self.sharded = [name for name, entry in config.models.items() if getattr(entry, "shards", 1) > 1]
        self.unsharded = [name for name in config.models if name not in self.sharded]

    def kind(self, name: str) -> Kind:
        """The kind of a configured model."""
        return KINDS[self.config.models[name].kind]

    def of_kinds(self, *kinds: str) -> list[str]:
        """Names of the configured models of the given kinds."""
        return [name for name, entry in self.config.models.items() if entry.kind in kinds]

    def prepared_by(self, how: str) -> list[str]:
        """Names of the configured models that are prepared in the given way."""
        return [name for name, entry in self.config.models.items() if self.kind(name).ready(entry) == how]

    def name(self, role: Role, wildcards: Any) -> str:
        """The model of a job in a ``role``."""
        if role == "judge":
            return self.config.benchmarks[wildcards.benchmark].judge or ""
        if role == "second_parser":
            return self.config.benchmarks[wildcards.benchmark].parse_with or ""
        if role == "writer":
            return self.config.construction.writer if self.config.construction else ""
        return wildcards.model

    def ready(self, role: Role) -> Callable:
        """Input of: what must be there before a model can answer: its weights, commit or outputs, a check, a cost."""

        def paths(wildcards: Any) -> list[str]:
            name = self.name(role, wildcards)
            checked = [self.paths.checked.format(model=name)] if name in self.checked else []
            accepted = self.config.max_cost is not None and self.kind(name).calls_api
            return self._opened_from(name, wildcards) + checked + [self.paths.accepted] * accepted

        return paths

    def opened_from(self, wildcards: Any) -> list[str]:
        """Input: the files that the model under test is opened from."""
        return self._opened_from(wildcards.model, wildcards)

    def _opened_from(self, name: str, wildcards: Any) -> list[str]:
        entry: Any = self.config.models[name]
        match self.kind(name).ready(entry):
            case "weights":
                benchmark = getattr(wildcards, "benchmark", "dbb")  # a writer makes questions for DBB
                names = {"model": name, "benchmark": benchmark, "language": self.config.spec(benchmark).language}
                path = self.paths.taught if self.config.spec(benchmark).taught_by_questions else self.paths.weights
                return [path.format(file=file, **names) for file in WEIGHT_FILES]
            case "fetched":
                return [self.paths.fetched.format(model=name)]
            case "release":
                source = self.config.spec(entry.benchmark).released[entry.release]
                folder = self.unchanged(self.paths.source.format(source=source))
                return [folder, self.paths.checksums.format(source=source)]
            case "files":
                return [self.local(path) for path in entry.files.values()]
        return []

    def local_model_files(self, wildcards: Any) -> list[str]:
        """Input: the local files of a model, its adapter and its server; if they change, so does the model."""
        entry: Any = self.config.models[wildcards.model]
        sources = filter(None, (getattr(entry, key, None) for key in ("source", "adapter")))
        folders = [Path(source).expanduser() for source in sources if not is_hub_id(source)]
        files = [str(path) for folder in folders for path in sorted(folder.glob("[!.]*")) if path.is_file()]
        return [self.local(path) for path in [*files, *getattr(entry, "serve_files", [])]]

    def entry(self, wildcards: Any) -> dict[str, Any]:
        """Param: the fields of a model's entry that can change its answers."""
        return fields_affecting(self.config.models[wildcards.model], "answers")

    def fetched(self, wildcards: Any) -> dict[str, Any]:
        """Param: the fields of a model's entry that say what is fetched."""
        keys = ("source", "revision", "trust_remote_code", "adapter", "adapter_revision")
        return {key: getattr(self.config.models[wildcards.model], key, None) for key in keys}

    def identity(self, role: Role) -> Callable:
        """Param of: the entry's fields that affect answers, and versions of the code that computes and parses these."""

        def value(wildcards: Any) -> dict[str, Any]:
            benchmark = getattr(wildcards, "benchmark", None)
            entry = self.config.models[self.name(role, wildcards)]
            return answer_identity(entry, self.config.benchmark(benchmark) if benchmark else None)

        return value

    def budget(self, wildcards: Any) -> float | None:
        """Param: a model's budget, if it has one, which can decide how much it is asked."""
        return getattr(self.config.models[wildcards.model], "budget", None)

    def failing_runs(self, role: Role, part: str) -> Callable:
        """Param of: how many runs left calls to an endpoint unanswered; one more retries the job."""

        def count(wildcards: Any) -> int:
            name = self.name(role, wildcards)
            return failing_runs(self.paths.unanswered.format(model=name, part=part.format(**wildcards)))

        return count

    def environment(self, role: Role) -> Callable:
        """Conda environment of: the packages that a kind of model needs."""

        def path(wildcards: Any) -> str:
            name = self.name(role, wildcards)
            return f"../envs/{self.kind(name).environment(self.config.models[name])}.yaml"

        return path

    def threads(self, role: Role) -> Callable:
        """Threads of a model's job."""
        return self._need(role, "threads")

    def resources(self, role: Role) -> dict[str, Callable]:
        """Resources of a model's job: GPUs where any model has some, calls to an endpoint, memory, time."""
        gpu = ["gpu"] if any(getattr(entry, "gpu", 0) for entry in self.config.models.values()) else []
        return {name: self._need(role, name) for name in (*gpu, "api", "mem_mb", "runtime")}

    def _need(self, role: Role, resource: str) -> Callable:
        def amount(wildcards: Any, input: Any, attempt: int) -> int:
            return job_resources(self.config.models[self.name(role, wildcards)], attempt, input)[resource]

        return amount

    def shards(self, template: str) -> Callable:
        """Input of: the path of each shard of a model's responses: 1-of-3, 2-of-3, 3-of-3."""

        def paths(wildcards: Any) -> list[str]:
            count = getattr(self.config.models[wildcards.model], "shards", 1)
            shards = (f"{number + 1}-of-{count}" for number in range(count))
            return [template.format(**{**wildcards, "shard": shard}) for shard in shards]

        return paths

    def rates(self) -> dict[str, dict[str, Any]]:
        """Model -> prices and rate limits of an endpoint; nothing for other models."""
        fields = (
            "price_input_per_million",
            "price_output_per_million",
            "currency",
            "requests_per_minute",
            "tokens_per_minute",
        )
        return {
            name: {field: getattr(entry, field) for field in fields} if self.kind(name).calls_api else {}
            for name, entry in self.config.models.items()
        }
