"""A causal language model's entry in the configuration, and what the kind ``hf`` can do."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import field_validator, model_validator

from biasatlas.models.entry import (
    THINKING,
    HubEntry,
    SamplingSettings,
    Template,
    Thinks,
    environment,
    every_task,
    fetched,
    is_hub_id,
    lacks_setting,
    refuse_both,
    turned_off,
)
from biasatlas.models.interface import Kind
from biasatlas.models.local import VERSION
from biasatlas.stages import field

#: Arguments of a chat template's rendering that an entry may not set.
_RENDERING = {
    "conversation",
    "tokenize",
    "add_generation_prompt",
    "continue_final_message",
    "chat_template",
    "messages",
}

#: Arguments that say where a server is and what it serves, which the workflow sets.
_SERVED = {
    *("--host", "--port", "--served-model-name", "--alias", "--dtype", "--model-path", "--api-key", "--root-path"),
    *("--revision", "--tokenizer", "--tokenizer-path", "--tokenizer-revision", "--trust-remote-code", ""),
}


class HfEntry(HubEntry):
    """A causal language model in Hugging Face format, run locally."""

    kind: Literal["hf"] = field("answers", description="How the model is reached; its other keys depend on it.")
    dtype: Literal["float32", "bfloat16", "float16", "auto"] = field(
        "answers", "bfloat16", description="Precision of the weights; `auto`: that of the checkpoint."
    )
    size_billion: float = field(
        "nothing",
        gt=0,
        le=10_000,
        description="Parameters in billions, from which follow the memory and the time that a job asks for.",
    )
    gpu: int = field(
        "nothing",
        1,
        ge=0,
        le=64,
        description="GPUs of a job, over which the model is split; 0: the CPU.",
    )
    token_budget: int | None = field(
        "nothing",
        None,
        ge=1,
        description="Maximum tokens in one forward pass. Default: as many as memory has room for, up to 1024 on "
        "a CPU and 8192 on a GPU. Halved if memory runs out, except over several GPUs.",
    )
    compiled: bool = field(
        "nothing",
        False,
        description="Compile norms and MLPs; needs one GPU and a compiler. With a 7B model, loading took 8 s "
        "longer, likelihoods 8% less time, choices 22% less.",
    )
    shards: int = field(
        "nothing",
        1,
        ge=1,
        le=1000,
        description="Jobs that share a benchmark's requests, each with `gpu` GPUs.",
    )
    trust_remote_code: bool = field(
        "answers",
        False,
        description="Run the code in the model's repository. On the hub, `revision` must then be a commit.",
    )
    adapter: str | None = field(
        "answers",
        None,
        description="LoRA adapter for the model: a folder or a hub id. Needs the package peft.",
    )
    adapter_revision: str | None = field(
        "answers", None, description="Commit of the adapter's hub repository; required for a hub id."
    )
    templates: dict[str, Template] = field(
        "answers",
        {},
        description="Chat templates by name: those that a protocol needs, such as TWBias's `paper`; and "
        "`default`, to replace the tokenizer's own, or for a base model, which has none.",
    )
    template_arguments: dict[str, Any] = field(
        "answers",
        {},
        description="Arguments for the tokenizer's chat template, such as `{enable_thinking: false}`.",
    )
    thinking: Thinks = field("answers", None, description=THINKING)
    serve: Literal["vllm", "sglang", "llama.cpp"] | None = field(
        "answers",
        None,
        description="Server that generates texts in place of our engine. A job starts and stops it; its program "
        "must be on the PATH. Likelihoods and choices stay with the engine.",
    )
    serve_arguments: list[str] = field(
        "answers", [], description="Further arguments of that server, such as `[--max-model-len, '8192']`."
    )
    sampling: dict[str, SamplingSettings] = field(
        "answers",
        {},
        description="Sampling settings by name, for protocols that need them, such as `{table8: {temperature: "
        "0.7}}` for McBE.",
    )

    @model_validator(mode="before")
    @classmethod
    def _told_not_to_think(cls, entry: Any) -> Any:
        return turned_off(entry, "template_arguments", {"enable_thinking": False})

    @field_validator("template_arguments")
    @classmethod
    def _not_ours(cls, arguments: dict[str, Any]) -> dict[str, Any]:
        """Refuse arguments that say how a template is rendered rather than what it says."""
        for name in arguments:
            if name in _RENDERING:
                raise ValueError(f"{name!r} is set by the workflow; leave it out")
        return arguments

    @property
    def serve_files(self) -> list[str]:
        """The arguments of its server that are files."""
        return [argument for argument in self.serve_arguments if Path(argument).is_file()]

    @model_validator(mode="after")
    def _can_be_served(self) -> "HfEntry":
        """Refuse what a server cannot do, and arguments that the workflow sets."""
        if self.serve_arguments and not self.serve:
            raise ValueError("serve_arguments: there is no `serve` that takes them; add it, or leave them out")
        for argument in self.serve_arguments:
            flag = argument.partition("=")[0]
            if flag in _SERVED or (flag == "--model" and self.serve != "llama.cpp"):
                raise ValueError(f"serve_arguments: {argument!r} is set by the workflow; leave it out")
        if self.serve and self.adapter:
            raise ValueError("serve: a server does not get the `adapter`; leave one of them out")
        if self.serve == "llama.cpp" and not {"-m", "--model"} & set(self.serve_arguments):
            raise ValueError(
                "serve: llama.cpp reads a file of its own; name it, such as `serve_arguments: [-m, model.gguf]`"
            )
        return self

    @model_validator(mode="after")
    def _thinks_as_said(self) -> "HfEntry":
        """Refuse an argument of the template that `thinking` sets, too."""
        if self.thinking and self.thinking.how == "body":
            refuse_both("template_arguments", self.template_arguments, {"enable_thinking": True})
        return self

    @model_validator(mode="after")
    def _adapter_pinned(self) -> "HfEntry":
        if self.adapter and self.adapter_revision is None and is_hub_id(self.adapter):
            raise ValueError(
                "start an adapter's folder with ./ or /; otherwise add `adapter_revision`, the commit to pin"
            )
        return self


def template_arguments(entry: HfEntry) -> dict[str, Any]:
    """Arguments of the tokenizer's chat template, including those that ask for thinking."""
    asks = entry.thinking is not None and entry.thinking.how == "body"
    return entry.template_arguments | ({"enable_thinking": True} if asks else {})


def _ready(entry: HfEntry) -> Literal["fetched", ""]:
    return "fetched" if entry.adapter and is_hub_id(entry.adapter) else fetched(entry)


def adapter_commit(entry: HfEntry, ready: Sequence[Path]) -> str | None:
    """The adapter's commit that rule fetch_model recorded in the file ``ready``; for a folder, the entry's revision."""
    if not entry.adapter or not is_hub_id(entry.adapter) or not ready:
        return entry.adapter_revision
    return json.loads(ready[0].read_text(encoding="utf-8"))["adapter_commit"]


KIND = Kind(
    entry=HfEntry,
    open="biasatlas.models.local.answer:open_causal",
    check="biasatlas.models.local.preview:check_model",
    preview="biasatlas.models.local.preview:preview",
    tasks=every_task,
    ready=_ready,
    environment=environment,
    writes=True,
    version=VERSION,
    lacks=lambda entry, setting: setting != "sampling.checkpoint" and lacks_setting(entry, setting),
    threads=8,
)
