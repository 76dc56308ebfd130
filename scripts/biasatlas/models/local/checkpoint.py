"""What a checkpoint's files say before its weights are read: whether they are whole, and fit one another.

Names and shapes of tensors come from the headers of the safetensors files, and the library's own loader matches them
with the architecture on the device `meta`, where nothing has content: seconds, whatever the size.
"""

import json
import logging
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.distributed import DistributedConfig
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
)

from biasatlas.errors import UserError
from biasatlas.models.hub import INDEX, WEIGHTS, first_line, weight_files
from biasatlas.models.local.checks import check_keys, check_numbers, check_tokenizer

Architecture = tuple[type[PreTrainedModel], PretrainedConfig]

#: Composite models whose other parts need packages of their own: their text decoder is a class by itself.
_TEXT_ALONE = {"gemma3n"}


def causal_architecture(config: PretrainedConfig, source: str) -> Architecture:
    """The class of a causal language model, and the configuration that it takes.

    A model of images or sound and text is loaded whole, and asked in text alone. Raises UserError for one that is no
    causal language model.
    """
    kind = config.model_type
    try:
        text = config.get_text_config()
    except ValueError as error:  # it has several
        raise UserError(
            f"{source}: {kind} is no language model ({first_line(error)}): choose another model."
        ) from error
    if kind in _TEXT_ALONE:
        text.quantization_config = getattr(config, "quantization_config", None)
        return MODEL_FOR_CAUSAL_LM_MAPPING[type(text)], text
    if getattr(config, "is_encoder_decoder", False):
        raise UserError(f"{source}: {kind} is an encoder-decoder model, expected a causal one: choose another model.")
    if type(config) in MODEL_FOR_MASKED_LM_MAPPING and not getattr(config, "is_decoder", False):
        raise UserError(
            f"{source}: {kind} is a bidirectional model, whose tokens see those after them: give the entry `kind: "
            "masked`."
        )
    if kind.endswith("_assistant"):
        raise UserError(
            f"{source}: {kind} drafts tokens for another model, from what that computes: choose that model."
        )
    if not hasattr(text, "hidden_size"):
        raise UserError(f"{source}: {kind} has several decoders, of bytes and of groups of them: choose another model.")
    mappings = [MODEL_FOR_CAUSAL_LM_MAPPING]
    if text is not config:
        mappings.insert(0, MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING)
    for mapping in mappings:
        if type(config) in mapping:
            return mapping[type(config)], config
    raise UserError(
        f"{source}: the installed transformers knows no causal language model of model_type {kind!r}: choose another "
        "model, or give the entry trust_remote_code where its folder brings code."
    )


def masked_architecture(config: PretrainedConfig, source: str) -> Architecture:
    """The class of a masked language model, and its configuration. Raises UserError for one that is none."""
    if type(config) not in MODEL_FOR_MASKED_LM_MAPPING:
        raise UserError(
            f"{source}: {config.model_type} is no masked language model: give the entry `kind: hf`, or choose another."
        )
    return MODEL_FOR_MASKED_LM_MAPPING[type(config)], config


DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "auto": "auto"}

#: What transformers loads quantised weights with; other ways of quantising say themselves what they lack.
_PACKAGES = {"bitsandbytes": ["bitsandbytes"], "awq": ["gptqmodel"], "gptq": ["gptqmodel", "optimum"]}
#: Bytes; the format allows no more.
_LONGEST_HEADER = 100_000_000
#: Files that the library does without, also where they are damaged.
_OPTIONAL = ("generation_config.json", "tokenizer_config.json", "special_tokens_map.json")
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Checkpoint:
    """A folder whose files fit one another; ``source`` is what the user calls it.

    ``model_class`` is None where only the folder's own code knows it.
    """

    source: str
    folder: Path
    config: PretrainedConfig
    model_class: type[PreTrainedModel] | None
    tokenizer: PreTrainedTokenizerBase


def read_checkpoint(
    folder: Path,
    source: str,
    architecture: Callable[[PretrainedConfig, str], Architecture],
    trust_remote_code: bool = False,
) -> Checkpoint:
    """Check all of ``folder`` but the numbers in its weights; no weight is read.

    Names and shapes of quantised weights, and of models with code of their own, are checked when they are loaded.
    Raises UserError for the first thing that is missing, damaged or does not fit.
    """
    transformers.utils.logging.disable_progress_bar()  # a log is no terminal
    transformers.utils.logging.set_verbosity_error()  # what matters is said in a message of ours
    _check_files(folder, source)
    shapes = read_shapes(weight_files(folder), source)
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=trust_remote_code)
    except Exception as error:  # the library's, a parser's, or that of code from a hub
        raise UserError(
            f"{source}: config.json cannot be read ({first_line(error)}): expected that of a model in Hugging Face "
            "format; download it again, or give the entry trust_remote_code where the folder brings code."
        ) from error
    own_code = trust_remote_code and bool(getattr(config, "auto_map", None))
    model_class, config = (None, config) if own_code else architecture(config, source)
    tokenizer = _read_tokenizer(folder, source, trust_remote_code)
    # Code of a folder's own may call it otherwise; then it is checked with the weights.
    check_tokenizer(tokenizer, getattr(config.get_text_config(), "vocab_size", sys.maxsize), source)
    quantised = getattr(config, "quantization_config", None)
    if quantised:
        _check_packages(dict(quantised).get("quant_method", "bitsandbytes"), source)
    elif model_class:
        check_keys(*_load_shapes(model_class, config, shapes, source), source)
    return Checkpoint(source, folder, config, model_class, tokenizer)


def load_weights(checkpoint: Checkpoint, dtype: str, devices: int = 1, split: bool = False) -> PreTrainedModel:
    """The model with its weights, each of them from the files and finite.

    ``dtype`` is one of DTYPES. All goes to the first GPU, or to the CPU where there is none; of several ``devices``
    each has some of the layers, or, if ``split``, this process its part of each layer. Raises UserError.
    """
    own_code = checkpoint.model_class is None
    where: dict[str, Any] = {"device_map": "cuda" if torch.cuda.is_available() else None}
    if split:
        where = {"distributed_config": DistributedConfig(tp_size=devices)}
    elif devices > 1:
        where = {"device_map": "auto"}
    try:
        model, info = (checkpoint.model_class or AutoModelForCausalLM).from_pretrained(
            checkpoint.folder,
            config=checkpoint.config,
            dtype=DTYPES[dtype],
            use_safetensors=True,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # check_keys has better words
            **where,
            **({"trust_remote_code": True} if own_code else {}),
        )
    except torch.OutOfMemoryError as error:
        raise UserError(
            f"{checkpoint.source}: the weights do not fit into the memory of the GPU: use a smaller dtype, a larger "
            "GPU, or more GPUs."
        ) from error
    except ImportError as error:
        raise UserError(
            f"{checkpoint.source}: loading it needs a package that is not installed ({first_line(error)}): install it "
            "beside transformers."
        ) from error
    except Exception as error:  # of the library, a quantiser, or code from a hub
        _log.info("loading failed", exc_info=True)
        raise UserError(
            f"{checkpoint.source}: cannot be loaded ({first_line(error)}): check that the folder "
            "is complete, and that the installed transformers is new enough for it."
        ) from error
    check_keys(model, info, checkpoint.source)
    if own_code:
        check_tokenizer(checkpoint.tokenizer, model.get_input_embeddings().weight.shape[0], checkpoint.source)
    check_numbers(model, checkpoint.source)
    return model.eval()


def _check_files(folder: Path, source: str) -> None:
    if (folder / "adapter_config.json").is_file():
        raise UserError(
            f"{source}: adapter_config.json says that this is a LoRA adapter: name the model that it was trained on "
            "under `source`, and this folder under `adapter`."
        )
    if not weight_files(folder):
        pickled = [path.name for pattern in _PICKLED for path in sorted(folder.glob(pattern))]
        raise UserError(
            f"{source}: the weights ({pickled[0]}) are pickled, which may run any code when loaded: convert them to "
            "safetensors with save_pretrained and point to the new folder."
            if pickled
            else f"{source}: no weights there (expected {WEIGHTS} or {INDEX}): download the whole model, or correct "
            "the path."
        )
    if not (folder / "config.json").is_file():
        raise UserError(f"{source}: no config.json beside the weights: point to a folder made by save_pretrained.")
    for path in filter(Path.is_file, (folder / name for name in _OPTIONAL)):
        try:
            whole = isinstance(json.loads(path.read_text(encoding="utf-8")), dict)
        except ValueError:
            whole = False
        if not whole:
            raise UserError(f"{source}: {path.name} is no JSON object: download it again, or take it away.")


def _check_packages(quant_method: str, source: str) -> None:
    lacking = [name for name in _PACKAGES.get(quant_method, []) if find_spec(name) is None]
    if lacking:
        raise UserError(
            f"{source}: its weights are quantised ({quant_method}), which needs {' and '.join(lacking)} beside "
            f"transformers: `pip install {' '.join(lacking)}`."
        )


def read_shapes(files: Collection[Path], source: str) -> dict[str, list[int]]:
    """The shape of each tensor, from the headers of safetensors files. Raises UserError for one that is not whole."""
    shapes: dict[str, list[int]] = {}
    for path in files:
        if not path.is_file():
            raise UserError(f"{source}: {path.name} is missing, which {INDEX} names: download the whole model.")
        with path.open("rb") as file:
            start = file.read(8)
            if start == b"version ":
                raise UserError(
                    f"{source}: {path.name} is a git-lfs pointer in place of weights: run `git lfs pull` in the "
                    "folder, or download the file."
                )
            length = int.from_bytes(start, "little")
            text = file.read(length) if length < _LONGEST_HEADER else b""
        try:
            header = json.loads(text)
            header.pop("__metadata__", None)
            shapes |= {name: tensor["shape"] for name, tensor in header.items()}
            size = 8 + length + max((tensor["data_offsets"][1] for tensor in header.values()), default=0)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise UserError(
                f"{source}: {path.name} ({path.stat().st_size} bytes) has no safetensors header: download it again."
            ) from error
        if path.stat().st_size != size:
            raise UserError(
                f"{source}: {path.name} has {path.stat().st_size} bytes, expected {size} by its header: download it "
                "again."
            )
    return shapes


def _read_tokenizer(folder: Path, source: str, trust_remote_code: bool) -> PreTrainedTokenizerBase:
    try:
        return AutoTokenizer.from_pretrained(folder, trust_remote_code=trust_remote_code)
    except Exception as error:  # of the library, a parser, sentencepiece, or code from a hub
        raise UserError(
            f"{source}: the tokenizer cannot be read ({first_line(error)}): expected the files that save_pretrained "
            "of the model's tokenizer writes; download them again."
        ) from error


def _load_shapes(
    model_class: type[PreTrainedModel], config: PretrainedConfig, shapes: Mapping[str, list[int]], source: str
) -> tuple[PreTrainedModel, Any]:
    """A model without content, loaded from tensors without content, and the loader's account of it."""
    state = {name: torch.empty(shape, device="meta") for name, shape in shapes.items()}
    try:
        return model_class.from_pretrained(
            None,
            config=config,
            state_dict=state,
            device_map="meta",
            output_loading_info=True,
            ignore_mismatched_sizes=True,
        )
    except Exception as error:  # a configuration may ask for layers that no class can build
        raise UserError(
            f"{source}: {model_class.__name__} cannot be built from config.json ({first_line(error)}): correct it, or "
            "download it again."
        ) from error
