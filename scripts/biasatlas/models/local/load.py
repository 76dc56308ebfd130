"""Load, check and identify causal language models from a folder or the hub."""

import logging
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from biasatlas.engine.layers import compile_layers, through_onednn
from biasatlas.engine.masks import share_heads
from biasatlas.engine.memory import keep_freed
from biasatlas.engine.routes import IN_WORDS, Route
from biasatlas.engine.selfcheck import choose_route
from biasatlas.errors import UserError
from biasatlas.models.hub import ADAPTER, adapter_sha256, checkpoint_sha256, first_line, model_folder
from biasatlas.models.local.checkpoint import (
    DTYPES,
    Checkpoint,
    causal_architecture,
    check_causality,
    check_numbers,
    load_weights,
    read_checkpoint,
    read_shapes,
)
from biasatlas.models.local.split import Others, why_whole

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LoadedModel:
    """A causal language model ready to answer, with what identifies it.

    ``eos_token_ids`` end an answer: those of tokenizer, configuration and generation configuration. The latter also has
    the sampling settings named "checkpoint"; nothing else of it is used. ``route`` is that of its forward passes, with
    a reason if it is not the tree. ``adapter_sha256`` is '' without an adapter. ``others`` are the processes with the
    other parts of a model that is split over several devices. ``not_compiled`` says why layers that should be compiled
    are not.
    """

    name: str
    revision: str | None
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    weights_sha256: str
    config_sha256: str
    eos_token_ids: tuple[int, ...]
    route: Route
    adapter_sha256: str = ""
    others: Others | None = None
    not_compiled: str = ""

    @property
    def text_config(self) -> PretrainedConfig:
        """The configuration of its text decoder."""
        return self.model.config.get_text_config()

    @property
    def device(self) -> str:
        """The device of the model or, if it has several, how many of them and how they share the layers."""
        placed = set(getattr(self.model, "hf_device_map", {}).values())
        if self.others:
            return f"{self.others.count} × {self.model.device.type}, tensor parallel"
        if len(placed) > 1:
            return f"{len(placed)} × {self.model.device.type}, one layer after the other"
        return str(self.model.device)


def check_folder(folder: Path, source: str = "", trust_remote_code: bool = False) -> Checkpoint:
    """Check a causal language model's files, but not its weights (:func:`read_checkpoint`); raises UserError."""
    return read_checkpoint(folder, source or str(folder), causal_architecture, trust_remote_code)


def check_adapter(folder: Path, source: str = "") -> None:
    """Check the files of a LoRA adapter, and that peft is installed to load it; raises UserError."""
    source = source or str(folder)
    for name in ("adapter_config.json", ADAPTER):
        if not (folder / name).is_file():
            raise UserError(f"{source}: no {name} there, expected a LoRA adapter that peft saved: correct `adapter`.")
    read_shapes([folder / ADAPTER], source)
    if find_spec("peft") is None:
        raise UserError(f"{source}: an adapter needs the package peft, which is not installed: `pip install peft`.")


def load(
    source: str,
    *,
    name: str = "",
    revision: str | None = None,
    dtype: str = "float32",
    devices: int = 1,
    compiled: bool = False,
    follow: bool = False,
    trust_remote_code: bool = False,
    adapter: str | None = None,
    adapter_revision: str | None = None,
    hashes: Path | None = None,
) -> LoadedModel:
    """Load a causal language model and its tokenizer from a folder or a hub id, and an ``adapter`` from another.

    Weights come from safetensors only, quantised ones as transformers loads them; ``dtype`` "auto" is that of the
    weights. The model goes to the first GPU, or to the CPU if there is none. Over several ``devices`` each layer is
    split, with a process for each part; all but the first ``follow`` it. If that is impossible, each device gets some
    of the layers. Layers are ``compiled`` only on one GPU. Code from a hub runs only if ``trust_remote_code`` and at a
    pinned ``revision``. Messages and metadata call the model by its ``name``, or its source if it has none. Hashes of
    its files are kept in the file ``hashes``. Raises UserError, with what to do, for a folder or hub id that is unfit.
    """
    if dtype not in DTYPES:
        raise UserError(f"{source}: dtype {dtype!r} is not known: use one of {', '.join(DTYPES)}.")
    folder = model_folder(source, revision, trust_remote_code)
    checkpoint = check_folder(folder, source, trust_remote_code)
    adapter_folder = model_folder(adapter, adapter_revision) if adapter else None
    if adapter_folder:
        check_adapter(adapter_folder, str(adapter))
    split, others = devices > 1 and _splits(checkpoint, devices, adapter), None
    if split and not follow:
        others = Others(devices, partial(load, source, revision=revision, dtype=dtype, devices=devices, follow=True))
    model = load_weights(checkpoint, dtype, devices, split)
    if adapter_folder:
        _add_adapter(model, adapter_folder, str(adapter))
    through_onednn(model)
    if model.device.type == "cpu":
        keep_freed()
        share_heads()
    check_causality(model, source)
    not_compiled = ""
    if compiled and (devices > 1 or model.device.type != "cuda"):
        not_compiled = "its layers are not compiled (they are not on one GPU)"
        _log.warning("%s: %s", source, not_compiled)
    elif compiled:
        not_compiled = compile_layers(model, source)
    try:
        route = choose_route(model)
    except Exception as error:  # of any architecture or hub's code; errors of one route alone are its reason
        _log.info("padded batches failed", exc_info=True)
        raise UserError(
            f"{source}: a forward pass of several texts fails ({type(error).__name__}: {first_line(error)}): the "
            "installed transformers may be too old or too new for this model."
        ) from error
    if route.reason:
        _log.info("%s: %s in place of the token tree: %s", source, IN_WORDS[route.name], route.reason)
    return LoadedModel(
        name or source,
        revision,
        model,
        checkpoint.tokenizer,
        *(("", "") if follow else checkpoint_sha256(folder, hashes)),
        _eos_token_ids(model, checkpoint.tokenizer),
        route,
        adapter_sha256(adapter_folder, hashes) if adapter_folder else "",
        others,
        not_compiled,
    )


def _splits(checkpoint: Checkpoint, devices: int, adapter: str | None) -> bool:
    """Whether layers are split over ``devices``; if they are not, the log says why."""
    whole = "an adapter is added to it" if adapter else "its code is its own"
    if checkpoint.model_class and not adapter:
        whole = why_whole(checkpoint.config, devices)
    if whole:
        _log.info("%s: on %d devices one layer after the other: %s", checkpoint.source, devices, whole)
    return not whole


def _add_adapter(model: PreTrainedModel, folder: Path, source: str) -> None:
    """Add a LoRA adapter to the model's layers, beside their weights."""
    try:
        info = model.load_adapter(str(folder), ignore_mismatched_sizes=True)
    except Exception as error:  # of peft, or of the library
        _log.info("loading an adapter failed", exc_info=True)
        raise UserError(
            f"{source}: cannot be added to the model ({first_line(error)}): name the model that the adapter was "
            "trained on."
        ) from error
    for words, names in (
        ("is not in the adapter", info.missing_keys),
        ("has no place in the model", info.unexpected_keys),
        ("has another shape than the model needs", {name for name, *_ in info.mismatched_keys}),
    ):
        if names:
            raise UserError(f"{source}: tensor {min(names)} {words}: name the model that the adapter was trained on.")
    check_numbers(model.eval(), source)


def _eos_token_ids(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...]:
    text = model.config.get_text_config()
    declared = [tokenizer.eos_token_id, model.generation_config.eos_token_id, text.eos_token_id]
    flat = [token for ids in declared for token in (ids if isinstance(ids, list) else [ids])]
    return tuple(sorted({token for token in flat if token is not None}))
