"""The configuration as one typed model; the JSON schema and the reference in docs/ are made from it.

Models' entries are declared with their kinds (:mod:`biasatlas.models.kinds`), protocols with their benchmarks.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from biasatlas.benchmarks.contract import Options, Spec
from biasatlas.benchmarks.registry import load_options, load_spec
from biasatlas.models.entry import variants
from biasatlas.models.kinds import ModelEntry
from biasatlas.stages import StagedModel, field
from biasatlas.validation import FilePath
from biasatlas.workflow.config.run import Run

#: Names become parts of paths and of rule names.
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"


def _with_variants(run: Any, several: Mapping[str, Mapping]) -> Any:
    """A benchmark's section, with each model replaced by all the variants that were made from it."""
    listed = run.get("models") if isinstance(run, dict) else None
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        return run
    return run | {"models": [made for name in listed for made in several.get(name, [name])]}


class Construction(StagedModel):
    """New questions like DBB's, written by a model ([dbb.md](dbb.md#construct-new-questions))."""

    writer: str = field("answers", description="Model that writes questions and checks them.")
    items_per_source: int = field(
        "answers",
        20,
        ge=1,
        le=1_000_000,
        description="Items to draw from each source: a configured benchmark, or SOFA.",
    )
    seed: int = field(
        "answers",
        0,
        ge=0,
        le=2**32 - 1,
        description="Seed of this draw, which takes equally many of each type of bias.",
    )
    templates: Literal["ours", "released", "paper"] = field(
        "answers",
        "ours",
        description="The writer's prompts. `ours`; `released`: the authors', which are fetched; `paper`: only those in "
        "the paper's Tables 12 to 15; steps without one are left out.",
    )
    sofa: FilePath | None = field("answers", None, description="Your copy of SOFA's table (CSV), as one more source.")
    evaluation: FilePath | None = field(
        "tables",
        None,
        description="Your filled-in copy of `construction/evaluation_sheet.csv`, to get a table of its "
        "judgements. Keep it outside the results, where a new construction would replace it.",
    )


class Simulation(StagedModel):
    """Tests of metrics on simulated models; `resources/simulation/studies.yaml` declares them."""

    seeds: int = field("scores", 200, ge=2, le=100_000, description="Simulated models per setting.")
    studies: list[str] | None = field("nothing", None, description="Studies to run, by name. Default: all.")


class Config(BaseModel):
    """The top level of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    results: FilePath = Field("results", description="Folder for everything computed.")
    data: FilePath = Field("data", description="Folder for downloaded data.")
    mirror: FilePath | None = Field(
        None,
        description="Folder with copies of the published data, used in place of downloads. Default: what the "
        "environment variable BIASATLAS_MIRROR names.",
    )
    store: str | None = Field(
        None,
        pattern=r"^(s3|gs|az)://[^./?#@\s][^/?#@\s]*(/[^./?#\s][^/?#\s]*)*/?$",
        description="Object storage for answers, such as `s3://bucket/folder`, if jobs run on machines without a "
        "common file system (docs/api.md).",
    )
    max_cost: float | None = Field(
        None,
        ge=0,
        description="Maximum cost of the run, in the currency of the models' entries. If our estimate is higher, "
        "no endpoint is called.",
    )
    models: dict[Annotated[str, Field(pattern=NAME)], ModelEntry] = Field(
        min_length=1, description="Entries of the models to measure, by a name of your choice."
    )
    benchmarks: dict[Annotated[str, Field(pattern=NAME)], Run] = Field(
        min_length=1, description="Benchmarks to run, by name, such as `bbq: {}`."
    )
    construction: Construction | None = Field(
        None, description="Makes new questions, with `snakemake ... -- construction`."
    )
    simulation: Simulation | None = Field(
        None, description="Tests metrics on simulated models, with `snakemake ... -- simulation`."
    )

    @model_validator(mode="before")
    @classmethod
    def _named(cls, raw: Any) -> Any:
        """``raw`` with each section's name as its default benchmark, and with a model for each way of thinking."""
        runs = raw.get("benchmarks") if isinstance(raw, dict) else None
        if not isinstance(runs, dict):
            return raw
        named = {name: {"benchmark": name} | run if isinstance(run, dict) else run for name, run in runs.items()}
        models = raw.get("models")
        if not isinstance(models, dict):
            return raw | {"benchmarks": named}
        several = {
            name: variants(name, entry) if isinstance(entry, dict) else {name: entry} for name, entry in models.items()
        }
        named = {name: _with_variants(run, several) for name, run in named.items()}
        entries = [pair for made in several.values() for pair in made.items()]
        if twice := {name for name, count in Counter(name for name, _ in entries).items() if count > 1}:
            raise ValueError(f"models.{min(twice)}: another entry's `thinking` makes a model of this name; rename one")
        return raw | {"benchmarks": named, "models": dict(entries)}

    def __hash__(self) -> int:
        """A hash by identity, since results that are computed once for a configuration are cached by it."""
        return id(self)

    def benchmark(self, name: str) -> str:
        """The benchmark that a ``name`` in the configuration stands for; a name that is not there stands for itself."""
        return self.benchmarks[name].benchmark if name in self.benchmarks else name

    def spec(self, name: str) -> Spec:
        """The declaration of the benchmark of this ``name``."""
        return load_spec(self.benchmark(name))

    def options(self, name: str, protocol: str) -> Options:
        """The options of a protocol of the benchmark."""
        return load_options(self.benchmark(name), protocol)
