"""Causal language models as they lie in a folder or on the hub, loaded and identified."""

import logging
from dataclasses import dataclass
from pathlib import Path

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from biasatlas.engine.likelihood import check_tree
from biasatlas.errors import UserError
from biasatlas.models.hub import checkpoint_sha256, first_line, model_folder

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LoadedModel:
    """A causal language model ready to answer, with what identifies it.

    ``eos_token_ids`` end an answer: the tokenizer's, and those of the checkpoint's generation configuration, which is
    also where sampling settings named "checkpoint" come from; nothing else of it is used. ``tree_refusal`` is '' where
    the engine's tree is exact for this model, else the reason why it is not.
    """

    name: str
    revision: str | None
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    weights_sha256: str
    config_sha256: str
    eos_token_ids: tuple[int, ...]
    tree_refusal: str


def load(
    source: str,
    *,
    name: str = "",
    revision: str | None = None,
    dtype: str = "float32",
    device_map: str | dict | None = None,
    trust_remote_code: bool = False,
) -> LoadedModel:
    """Load a causal language model and its tokenizer from a folder or a hub id.

    Weights come from safetensors only. ``device_map`` is accelerate's; without one the whole model goes to the first
    GPU, or to the CPU where there is none. Code from a hub runs only if ``trust_remote_code`` and at a pinned
    ``revision``. Messages and metadata call the model by its ``name``, its source if it has none.
    Raises UserError where the folder or hub id cannot be used, and says what to do.
    """
    transformers.utils.logging.disable_progress_bar()  # a log is no terminal
    if dtype not in DTYPES:
        raise UserError(f"{source}: dtype {dtype!r} is not known: use one of {', '.join(DTYPES)}.")
    folder = model_folder(source, revision, trust_remote_code)
    _check_files(folder, source)
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=trust_remote_code)
        model = AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=DTYPES[dtype],
            device_map=device_map or ("cuda" if torch.cuda.is_available() else None),
            trust_remote_code=trust_remote_code,
            use_safetensors=True,
        ).eval()
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"{source}: cannot be loaded as a causal language model with a tokenizer ({first_line(error)}): check "
            "that the folder is complete."
        ) from error
    tree_refusal = check_tree(model)
    if tree_refusal:
        _log.info("%s: padded batches in place of the token tree: %s", source, tree_refusal)
    eos_token_ids = _eos_token_ids(model, tokenizer)
    checksums = checkpoint_sha256(folder)
    return LoadedModel(name or source, revision, model, tokenizer, *checksums, eos_token_ids, tree_refusal)


def _check_files(folder: Path, source: str) -> None:
    if not any(folder.glob("*.safetensors")):
        pickled = [path.name for pattern in _PICKLED for path in sorted(folder.glob(pattern))]
        raise UserError(
            f"{source}: the weights ({pickled[0]}) are pickled, which may run any code when loaded: convert them to "
            "safetensors with save_pretrained and point to the new folder."
            if pickled
            else f"{source}: no weights (*.safetensors) there: download the whole model, or correct the path."
        )
    if not (folder / "config.json").is_file():
        raise UserError(f"{source}: no config.json beside the weights: point to a folder made by save_pretrained.")


def _eos_token_ids(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...]:
    declared = [tokenizer.eos_token_id, model.generation_config.eos_token_id, model.config.eos_token_id]
    flat = [token for ids in declared for token in (ids if isinstance(ids, list) else [ids])]
    return tuple(sorted({token for token in flat if token is not None}))
