"""A causal language model's entry in the configuration, and what the kind ``hf`` can do."""

from typing import TYPE_CHECKING, Literal, cast

from biasatlas.marks import field
from biasatlas.models.entry import (
    HubEntry,
    Kind,
    Preview,
    SamplingSettings,
    Template,
    every_task,
    fetched,
    pinned_revision,
)
from biasatlas.models.local import VERSION

if TYPE_CHECKING:
    import pandas as pd

    from biasatlas.models.door import Model, Opening


class HfEntry(HubEntry):
    """A causal language model in Hugging Face format, run in process."""

    kind: Literal["hf"] = field("tables", description="What the model is.")
    dtype: Literal["float32", "bfloat16", "float16"] = field(
        "answers", "bfloat16", description="Precision of the weights."
    )
    size_billion: float = field(
        "nothing", gt=0, description="Parameters, in billions; memory and run time are requested from it."
    )
    gpu: int = field("nothing", 1, ge=0, description="GPUs that one job takes; 0 runs on the CPU.")
    token_budget: int | None = field(
        "nothing",
        None,
        ge=1,
        description="Most tokens in one forward pass; 1024 on a CPU and 8192 on a GPU if not given. Halved when memory "
        "runs out.",
    )
    shards: int = field(
        "nothing",
        1,
        ge=1,
        description="Jobs that share a benchmark's requests, each with `gpu` GPUs; changes no result.",
    )
    trust_remote_code: bool = field(
        "answers", False, description="Run the code in the model's repository; needs a revision."
    )
    templates: dict[str, Template] = field(
        "answers", {}, description="Literal chat templates, by the name protocols use."
    )
    sampling: dict[str, SamplingSettings] = field(
        "answers", {}, description="Sampling settings, by the name protocols use."
    )


def environment(entry: HubEntry) -> str:
    """The environment of a job that runs a model in process."""
    return "model-gpu" if getattr(entry, "gpu", 0) else "model"


def _open(opening: "Opening") -> "Model":
    from biasatlas.models.local.answer import CausalModel  # imports torch
    from biasatlas.models.local.load import load

    entry = cast(HfEntry, opening.entry)
    loaded = load(
        entry.source,
        revision=pinned_revision(entry, opening.ready),
        dtype=entry.dtype,
        device_map="auto" if opening.gpus > 1 else None,
        trust_remote_code=entry.trust_remote_code,
    )
    return CausalModel(
        opening.name,
        loaded,
        templates=entry.templates,
        sampling={name: settings.model_dump() for name, settings in entry.sampling.items()},
        readers=opening.readers,
        reader_version=opening.reader_version,
        token_budget=entry.token_budget,
    )


def _check(opening: "Opening") -> None:
    from biasatlas.models.checkpoint import check_folder  # imports the hub's client

    entry = cast(HfEntry, opening.entry)
    check_folder(entry.source, pinned_revision(entry, opening.ready), entry.trust_remote_code)


def _preview(opening: "Opening", requests: "pd.DataFrame") -> list[Preview]:
    from biasatlas.models.local.preview import preview  # imports transformers

    return preview(opening, requests)


KIND = Kind(
    entry=HfEntry,
    open=_open,
    tasks=every_task,
    ready=fetched,
    environment=environment,
    writes=True,
    version=VERSION,
    check=_check,
    preview=_preview,
    threads=8,
)
