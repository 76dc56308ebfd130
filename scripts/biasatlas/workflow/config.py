"""The configuration: one typed model, from which the JSON schema and the reference in docs/ are generated.

Run as a module (``make docs``) it writes both files.
"""

import difflib
import json
import os
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Annotated, Any, Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from biasatlas import benchmarks as benchmark_package
from biasatlas.errors import UserError
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.benchmarks.contract import Benchmark, Kind

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "config" / "schema.json"
REFERENCE = ROOT / "docs" / "configuration.md"

#: Names become parts of paths and of rule names.
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"


class Strict(BaseModel):
    """A section of the configuration: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid")


class Template(Strict):
    """A chat template as two literal strings, for protocols that ask for one instead of the tokenizer's own."""

    prompt: str = Field(description="Text before the answer; `{user}` stands for the user's message.")
    empty: str = Field(description="The same where the user's message is empty.")


class Sampling(Strict):
    """Sampling settings of a model, for protocols that leave them to it."""

    temperature: float = Field(ge=0, description="Temperature; 0 is greedy.")
    top_p: float = Field(1.0, gt=0, le=1, description="Smallest share of the probability that tokens are drawn from.")
    top_k: int = Field(0, ge=0, description="Most tokens that are drawn from; 0 is no limit.")
    repetition_penalty: float = Field(1.0, gt=0, description="Penalty on tokens that occurred; 1 is none.")


class Model(Strict):
    """What entries of every kind share."""

    published_as: str | None = Field(
        None, description="The model's name in the papers' tables; puts the published number beside ours."
    )


def is_hub_id(source: str) -> bool:
    """Whether a model's ``source`` is the id of a repository on the Hugging Face hub rather than a folder."""
    return not source.startswith((".", "/", "~"))


def _pinned(entry: "HfModel | MaskedModel") -> "HfModel | MaskedModel":
    """Refuse a hub id without a revision: its weights, and code where it is trusted, could change under our feet."""
    if entry.revision is None and is_hub_id(entry.source):
        raise ValueError(
            "a hub id needs `revision`, the commit to pin; a folder must start with ./ or / (which is this?)"
        )
    return entry


class HfModel(Model):
    """A causal language model in Hugging Face format, run in process."""

    kind: Literal["hf"] = Field(description="What the model is.")
    source: str = Field(description="Folder, or id on the Hugging Face hub. Weights load from safetensors only.")
    revision: str | None = Field(None, description="Commit of the hub repository; needed for a hub id.")
    dtype: Literal["float32", "bfloat16", "float16"] = Field("bfloat16", description="Precision of the weights.")
    size_billion: float = Field(gt=0, description="Parameters, in billions; memory and run time are requested from it.")
    gpu: int = Field(1, ge=0, description="GPUs that one job takes; 0 runs on the CPU.")
    token_budget: int | None = Field(
        None, ge=1, description="Most tokens in one forward pass; chosen from the free memory if not given."
    )
    shards: int = Field(
        1, ge=1, description="Jobs that share a benchmark's requests, each with `gpu` GPUs; changes no result."
    )
    trust_remote_code: bool = Field(False, description="Run the code in the model's repository; needs a revision.")
    templates: dict[str, Template] = Field({}, description="Literal chat templates, by the name protocols use.")
    sampling: dict[str, Sampling] = Field({}, description="Sampling settings, by the name protocols use.")

    _pinned = model_validator(mode="after")(_pinned)


class MaskedModel(Model):
    """A masked language model in Hugging Face format, run in process; it answers the tasks made for its kind."""

    kind: Literal["masked"] = Field(description="What the model is.")
    source: str = Field(description="Folder, or id on the Hugging Face hub. Weights load from safetensors only.")
    revision: str | None = Field(None, description="Commit of the hub repository; needed for a hub id.")
    size_billion: float = Field(
        0.5, gt=0, description="Parameters, in billions; memory and run time are requested from it."
    )
    gpu: int = Field(0, ge=0, description="GPUs that one job takes; 0 runs on the CPU.")

    _pinned = model_validator(mode="after")(_pinned)


class PlantedModel(Model):
    """A tiny causal language model trained in the workflow on a synthetic corpus with a known bias."""

    kind: Literal["planted"] = Field(description="What the model is.")
    odds_ratio: float = Field(
        gt=0, description="Odds of a stereotyped attribute for its group against the other; 1 is fair."
    )
    seed: int = Field(1, ge=0, description="Seed of the corpus and of the training; the same seed, the same weights.")


class ApiModel(ApiEntry, Model):
    """An OpenAI-compatible endpoint, as the model under test, a judge or a writer."""

    kind: Literal["api"] = Field(description="What the model is.")
    sampling: dict[str, Sampling] = Field({}, description="Sampling settings, by the name protocols use.")


class ReleasedModel(Model):
    """Model outputs published by a benchmark's authors, imported as responses."""

    kind: Literal["released"] = Field(description="What the model is.")
    benchmark: str = Field(description="The benchmark whose authors published them.")
    release: str = Field(description="Which of the benchmark's published sets of outputs.")


ModelEntry = Annotated[HfModel | MaskedModel | PlantedModel | ApiModel | ReleasedModel, Field(discriminator="kind")]

KINDS: dict[str, type[Model]] = {
    get_args(model.model_fields["kind"].annotation)[0]: model for model in get_args(get_args(ModelEntry)[0])
}


class Run(Strict):
    """How one benchmark is run."""

    data: Literal["full", "sample"] = Field(
        "full", description="The published data, or the small sample of our own that ships with the workflow."
    )
    protocols: list[str] = Field(["recommended"], min_length=1, description="Named option sets to run, one or more.")
    models: list[str] | None = Field(None, min_length=1, description="Names of models to measure; all if not given.")
    categories: list[str] | None = Field(
        None, min_length=1, description="Categories to measure; all of the benchmark's if not given."
    )
    judge: str | None = Field(
        None, description="Name of the model that judges answers; tasks that need a judge are left out if not given."
    )
    files: dict[str, str] = Field(
        {},
        description="Paths of files of your own by what they are: `variations` for DBB, `annotations` and `ratings` for "
        "McBE. The benchmark's page has their formats.",
    )


class Construction(Strict):
    """The making of new questions in the manner of DBB from the items of CrowS-Pairs, StereoSet, BBQ and SOFA."""

    writer: str = Field(description="Name of the model that writes and checks.")
    items_per_source: int = Field(20, ge=1, description="Items taken from each configured source benchmark.")
    sofa: str | None = Field(None, description="Your copy of SOFA's table as CSV, one more source.")
    evaluation: str | None = Field(
        None,
        description="Your filled-in copy of `construction/evaluation_sheet.csv`; it is summed up, if given. Keep it outside "
        "the results, where a new construction would replace it.",
    )


class Config(Strict):
    """The configuration of a run of the workflow."""

    results: str = Field("results", min_length=1, description="Folder that everything computed goes to.")
    data: str = Field("data", min_length=1, description="Folder that downloaded data go to.")
    mirror: str | None = Field(
        None,
        description="Folder with copies of the published data, used in place of downloads. "
        "The environment variable BIASATLAS_MIRROR serves where this is not given.",
    )
    models: dict[Annotated[str, Field(pattern=NAME)], ModelEntry] = Field(
        min_length=1, description="The models to measure, by a name of your choice."
    )
    benchmarks: dict[str, Run] = Field(min_length=1, description="The benchmarks to run, by name.")
    construction: Construction | None = Field(
        None, description="Makes new questions, if given (target `construction`)."
    )


def answered_kinds(entry: Model) -> tuple[Kind, ...]:
    """Kinds of request that a causal model, local or behind an endpoint, answers."""
    if entry.kind == "api" and not entry.prompt_logprobs:
        return ("choice", "generation")
    return ("likelihood", "choice", "generation")


def benchmark_names() -> list[str]:
    """Names of all benchmarks: the folders of :mod:`biasatlas.benchmarks`."""
    return sorted(module.name for module in iter_modules(benchmark_package.__path__) if module.ispkg)


def load_benchmark(name: str) -> Benchmark:
    """The declaration of benchmark ``name``."""
    return import_module(f"biasatlas.benchmarks.{name}").SPEC


def protocol_names(benchmark: str) -> list[str]:
    """Names of the protocols in ``config/protocols/{benchmark}``."""
    return sorted(path.stem for path in (ROOT / "config" / "protocols" / benchmark).glob("*.yaml"))


def load_protocol(benchmark: str, protocol: str) -> dict[str, Any]:
    """The options of a named protocol, validated: every option has one of its values, none is left out."""
    path = ROOT / "config" / "protocols" / benchmark / f"{protocol}.yaml"
    options = import_module(f"biasatlas.benchmarks.{benchmark}").OPTIONS
    try:
        return options.model_validate(yaml.safe_load(path.read_text(encoding="utf-8"))).model_dump()
    except ValidationError as error:
        raise UserError(explain(error, options, str(path.relative_to(ROOT)))) from None


def load_config(raw: dict[str, Any], files: Iterable[str | os.PathLike] = ()) -> Config:
    """Validate a configuration as Snakemake merged it from ``files``. Raises UserError with every fault, one a line."""
    where = ", ".join(map(str, files)) or "configuration"
    try:
        config = Config.model_validate(raw)
    except ValidationError as error:
        raise UserError(explain(error, Config, where)) from None
    faults = list(_dangling_names(config))
    if faults:
        raise UserError("\n".join(f"{where}: {fault}" for fault in faults))
    return config


def _dangling_names(config: Config) -> Iterable[str]:
    """Names in the configuration that nothing bears: benchmarks, protocols, models, categories, releases."""
    known = benchmark_names()
    for name, entry in config.models.items():
        if entry.kind != "released":
            continue
        if entry.benchmark not in known:
            yield _unknown(f"models.{name}.benchmark", entry.benchmark, "a benchmark", known)
            continue
        releases = load_benchmark(entry.benchmark).released
        if entry.release not in releases:
            yield _unknown(f"models.{name}.release", entry.release, f"a release of {entry.benchmark}", releases)
    if config.construction and config.construction.writer not in config.models:
        yield _unknown("construction.writer", config.construction.writer, "one of the configured models", config.models)
    for name, run in config.benchmarks.items():
        if name not in known:
            yield _unknown(f"benchmarks.{name}", name, "a benchmark", known)
            continue
        spec = load_benchmark(name)
        categories = dict.fromkeys(category for task in spec.tasks.values() for category in task.categories)
        checks = (
            ("protocols", run.protocols, "a protocol", protocol_names(name)),
            ("models", run.models or (), "one of the configured models", config.models),
            ("judge", [run.judge] if run.judge else (), "one of the configured models", config.models),
            ("categories", run.categories or (), "a category", categories),
            ("files", run.files, f"a file that {name} reads", spec.files),
        )
        for key, values, what, names in checks:
            for value in values:
                if value not in names:
                    yield _unknown(f"benchmarks.{name}.{key}", value, what, names)


def _unknown(key: str, value: object, what: str, known: Iterable[str]) -> str:
    return f"{key}: {value!r} is not {what}{_nearest(value, known)}"


def _nearest(value: object, known: Iterable[str]) -> str:
    known = list(known)
    lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(str(value).lower(), lower, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {lower[close[0]]!r}?"
    return f"; expected one of: {', '.join(known) or 'none'}"


def explain(error: ValidationError, model: type[BaseModel], where: str) -> str:
    """Pydantic's faults as one line each: file, key, value, what was expected and the closest valid spelling."""
    return "\n".join(f"{where}: {_fault(fault, model)}" for fault in error.errors())


def _fault(fault: dict[str, Any], model: type[BaseModel]) -> str:
    path = list(fault["loc"])
    # Pydantic puts a model's kind, and a mark on a key, into the path; neither is a key of the file.
    if path[:1] == ["models"] and path[2:3] and path[2] in KINDS:
        del path[2]
    key = ".".join(str(part) for part in path if part != "[key]")
    value = fault["input"]
    match fault["type"]:
        case "extra_forbidden":
            return f"{key}: unknown key{_nearest(path[-1], _keys(model, fault['loc'][:-1]))}"
        case "missing":
            return f"{key}: this key is needed and not there"
        case "literal_error":
            values = [name.strip("' ") for name in fault["ctx"]["expected"].replace(" or ", ", ").split(",")]
            return f"{key}: {value!r} is not allowed{_nearest(value, values)}"
        case "union_tag_invalid":
            values = [name.strip("' ") for name in fault["ctx"]["expected_tags"].split(",")]
            return f"{key}.kind: {fault['ctx']['tag']!r} is not a kind of model{_nearest(fault['ctx']['tag'], values)}"
        case "union_tag_not_found":
            return f"{key}: the key `kind` is needed and not there"
        case "string_pattern_mismatch":
            return f"{key}: {value!r}: expected letters, digits, '.', '_' and '-', the first a letter or digit"
        case "value_error":
            return f"{key}: {fault['ctx']['error']}"
        case _:
            message = fault["msg"].replace("Input should be", "expected").replace("valid dictionary", "mapping of keys")
            message = message.partition(" or instance of")[0]
            return f"{key or 'the file'}: {value!r}: {message}"


def _keys(model: type[BaseModel], path: tuple) -> Iterable[str]:
    """Valid keys of the section at ``path`` of ``model``."""
    match path:
        case ("models", _, kind):
            model = KINDS[kind]
        case ("models", _, _, "templates", _):
            model = Template
        case ("models", _, _, "sampling", _):
            model = Sampling
        case ("benchmarks", _):
            model = Run
        case ("construction",):
            model = Construction
    return model.model_fields


def schema_text() -> str:
    """The JSON schema of a configuration file."""
    return json.dumps(Config.model_json_schema(), indent=2) + "\n"


def _rows(model: type[BaseModel]) -> Iterable[str]:
    schema = model.model_json_schema()
    for name, field in model.model_fields.items():
        shape = schema["properties"][name]
        kinds = " or ".join(_type(option) for option in shape.get("anyOf", [shape]) if option.get("type") != "null")
        default = "needed" if field.is_required() else f"`{json.dumps(field.get_default(call_default_factory=True))}`"
        yield f"| `{name}` | {kinds} | {default} | {field.description} |"


def _type(shape: dict[str, Any]) -> str:
    if "const" in shape:
        return f"`{shape['const']}`"
    if "enum" in shape:
        return ", ".join(f"`{value}`" for value in shape["enum"])
    if shape.get("type") == "array":
        return "list of strings"
    if shape.get("type") == "object" or "$ref" in shape:
        return "mapping"
    bound = next(
        (f" {sign} {shape[key]}" for key, sign in (("exclusiveMinimum", ">"), ("minimum", "≥")) if key in shape), ""
    )
    return {"string": "string", "integer": "integer", "number": "number", "boolean": "true or false"}[
        shape["type"]
    ] + bound


def reference_text() -> str:
    """The reference table of every key, in Markdown."""
    sections = [("The file", Config), ("`benchmarks.{name}`", Run)]
    sections += [(f"`models.{{name}}` of kind `{kind}`", model) for kind, model in KINDS.items()]
    sections += [
        ("`models.{name}.sampling.{name}`", Sampling),
        ("`models.{name}.templates.{template}`", Template),
        ("`construction`", Construction),
    ]
    parts = [
        "# Configuration\n\nGenerated from `scripts/biasatlas/config.py` by `make docs`. "
        "`config/schema.json` is the same as a JSON schema, for editors.\n"
    ]
    for title, model in sections:
        parts.append(f"## {title}\n\n{model.__doc__}\n\n| key | type | default | meaning |\n| --- | --- | --- | --- |")
        parts[-1] += "\n" + "\n".join(_rows(model)) + "\n"
    return "\n".join(parts)


if __name__ == "__main__":
    SCHEMA.write_text(schema_text(), encoding="utf-8")
    REFERENCE.write_text(reference_text(), encoding="utf-8")
