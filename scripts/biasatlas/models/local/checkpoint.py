"""Check a checkpoint's files before its weights are read: whether they are complete, and fit one another.

Names and shapes of tensors come from the headers of the safetensors files. The library's own loader matches them with
the architecture on the device `meta`, where tensors have no content. This takes seconds, whatever the size.
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
from torch.distributed.tensor import DTensor
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

from biasatlas.engine.forward import decoder
from biasatlas.errors import UserError
from biasatlas.models.hub import INDEX, WEIGHTS, first_line, weight_files

Architecture = tuple[type[PreTrainedModel], PretrainedConfig]

#: Composite models of which only the text decoder is loaded, by a class of its own: other parts need more packages.
_TEXT_ALONE = {"gemma3n"}


def causal_architecture(config: PretrainedConfig, source: str) -> Architecture:
    """The class of a causal language model, and the configuration that it takes.

    A model of images or sound and text is loaded whole, but gets text only. Raises UserError for one that is no causal
    language model.
    """
    kind = config.model_type
    try:
        text = config.get_text_config()
    except ValueError as error:  # it has several
        raise UserError(
            f"{source}: {kind} is not a language model ({first_line(error)}): choose another model."
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
    """The class of a masked language model, and its configuration. Raises UserError for any other model."""
    if type(config) not in MODEL_FOR_MASKED_LM_MAPPING:
        raise UserError(
            f"{source}: {config.model_type} is not a masked language model: use `kind: hf`, or choose another."
        )
    return MODEL_FOR_MASKED_LM_MAPPING[type(config)], config


DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "auto": "auto"}

#: Method of quantisation -> the packages that transformers needs for it; other methods report what they lack.
_PACKAGES = {"bitsandbytes": ["bitsandbytes"], "awq": ["gptqmodel"], "gptq": ["gptqmodel", "optimum"]}
#: Bytes; the format allows no more.
_LONGEST_HEADER = 100_000_000
#: Files that the library does without, even if they are damaged.
_OPTIONAL = ("generation_config.json", "tokenizer_config.json", "special_tokens_map.json")
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Checkpoint:
    """A folder whose files fit one another; ``source`` is what the user calls it.

    ``model_class`` is None if only the folder's own code knows it.
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
    """Check everything in ``folder`` but the numbers in its weights, which are not read.

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
    # A folder's own code may have another name for it; then it is checked with the weights.
    check_tokenizer(tokenizer, getattr(config.get_text_config(), "vocab_size", sys.maxsize), source)
    quantised = getattr(config, "quantization_config", None)
    if quantised:
        _check_packages(dict(quantised).get("quant_method", "bitsandbytes"), source)
    elif model_class:
        check_keys(*_load_shapes(model_class, config, shapes, source), source)
    return Checkpoint(source, folder, config, model_class, tokenizer)


def load_weights(checkpoint: Checkpoint, dtype: str, devices: int = 1, split: bool = False) -> PreTrainedModel:
    """The model with its weights, which were all in the files and are finite.

    ``dtype`` is one of DTYPES. The model goes to the first GPU, or to the CPU if there is none. Each of several
    ``devices`` gets some of the layers; if ``split``, this process gets its part of each layer. Raises UserError.
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
            ignore_mismatched_sizes=True,  # check_keys has a better message
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
            raise UserError(f"{source}: {path.name} is not a JSON object: download it again, or take it away.")


def _check_packages(quant_method: str, source: str) -> None:
    lacking = [name for name in _PACKAGES.get(quant_method, []) if find_spec(name) is None]
    if lacking:
        raise UserError(
            f"{source}: its weights are quantised ({quant_method}), which needs {' and '.join(lacking)} beside "
            f"transformers: `pip install {' '.join(lacking)}`."
        )


def read_shapes(files: Collection[Path], source: str) -> dict[str, list[int]]:
    """The shape of each tensor, from the headers of safetensors files. Raises UserError for an incomplete file."""
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
    """A model without content, loaded from tensors without content, and the loader's report."""
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


#: Tokens of the text that tests causality, and how many of the last are changed.
_TOKENS, _CHANGED = 24, 4
#: How far rounding may move log-probabilities before the change, as a share of the movement after it: in 32 bits, and
#: in fewer, where other experts may be chosen and a quantiser looks at all tokens. Bidirectional models have 0.3.
_MOVEMENT_FP32, _MOVEMENT = 1e-3, 0.05


def check_keys(model: PreTrainedModel, info: Mapping[str, Collection], source: str) -> None:
    """Compare the tensors in the weights with those that the model needs; ``info`` is the loader's own report.

    Raises UserError for a missing tensor, one of another shape, and one of a decoder layer that the model does not
    have. Other tensors without a place (a vision tower, a pooler) are logged.
    """
    needed = f"which {type(model).__name__} by config.json needs"
    names = {module: name for name, module in model.named_modules()}
    base, text = names[model.base_model], names[decoder(model)]
    for name, stored, expected in sorted(info["mismatched_keys"]):
        raise UserError(
            f"{source}: tensor {name} has the shape {list(stored)}, expected {list(expected)} by config.json: point "
            "to a folder whose weights and config.json belong together."
        )
    missing = sorted(info["missing_keys"])
    if missing and base and not any(name.startswith(f"{base}.") for name in missing):
        raise UserError(
            f"{source}: the language-model head is not in the weights (no tensor {missing[0]}, {needed}): save the "
            "model with its head, as AutoModelForCausalLM or AutoModelForMaskedLM, or choose another."
        )
    if missing:
        raise UserError(
            f"{source}: tensor {missing[0]}{_others(missing)} is not in the weights, {needed}: download the folder "
            "again, or correct config.json."
        )
    layers = [f"{name}." for name, module in model.named_modules() if isinstance(module, torch.nn.ModuleList)]
    layers = [name for name in layers if name.startswith(f"{text}.")]
    unexpected = sorted(info["unexpected_keys"])
    # The weights may be those of the model without its head, whose names lack the first part.
    extra = [
        name
        for name in unexpected
        if f"{model.base_model_prefix}.{name}".startswith(tuple(layers)) or name.startswith(tuple(layers))
    ]
    if extra:
        raise UserError(
            f"{source}: tensor {extra[0]}{_others(extra)} of the weights has no place in {type(model).__name__} by "
            "config.json: point to a folder whose weights and config.json belong together."
        )
    if unexpected:
        _log.info("%s: not needed, and left out: %s%s", source, unexpected[0], _others(unexpected))


def check_numbers(model: PreTrainedModel, source: str) -> None:
    """Raise UserError for a weight that is NaN or infinite."""
    for name, parameter in model.named_parameters():
        # Weights of 8 and 4 bits are whole numbers here; those of an offloaded layer are not in memory.
        if parameter.dtype not in (torch.float16, torch.bfloat16, torch.float32) or parameter.is_meta:
            continue
        own = parameter.detach()
        own = own.to_local() if isinstance(own, DTensor) else own
        low, high = own.aminmax()
        if not torch.isfinite(low) or not torch.isfinite(high):
            bad = int((~torch.isfinite(own)).sum())
            raise UserError(
                f"{source}: tensor {name} holds {bad} numbers that are NaN or infinite as "
                f"{str(parameter.dtype).removeprefix('torch.')}, "
                "expected finite ones: download the weights again, or give the entry another dtype."
            )


def check_tokenizer(tokenizer: PreTrainedTokenizerBase, embeddings: int, source: str) -> None:
    """Raise UserError for a tokenizer without a vocabulary, or with tokens beyond the model's ``embeddings``.

    An added token (such as an image's placeholder) may lie beyond, unless it is in the chat template or begins or ends
    a text: the model can be asked all texts without it.
    """
    vocabulary = tokenizer.get_vocab()
    added = {token.content for token in tokenizer.added_tokens_decoder.values()}
    if not vocabulary.keys() - added - set(tokenizer.all_special_tokens):
        raise UserError(
            f"{source}: no tokenizer there (expected tokenizer.json, tokenizer.model or a vocabulary): add the files "
            "of the tokenizer that the model was trained with."
        )
    template = str(tokenizer.chat_template or "")
    used = {tokenizer.bos_token, tokenizer.eos_token}
    beyond = [
        (index, token)
        for token, index in vocabulary.items()
        if index >= embeddings and (token not in added or token in used or token in template)
    ]
    if beyond:
        index, token = min(beyond)
        raise UserError(
            f"{source}: the tokenizer has token {token!r} of index {index}, and the model embeddings for indices below "
            f"{embeddings}: put the tokenizer there that belongs to the weights."
        )


@torch.inference_mode()
def check_causality(model: PreTrainedModel, source: str) -> None:
    """Raise UserError if a token changes the probabilities of those before it."""
    embeddings = model.get_input_embeddings().weight
    vocabulary, device = embeddings.shape[0], embeddings.device
    ids = torch.randint(vocabulary, (_TOKENS,), generator=torch.Generator().manual_seed(0))
    changed = ids.clone()
    changed[-_CHANGED:] = (ids[-_CHANGED:] + vocabulary // 2) % vocabulary
    try:
        before, after = (
            model(input_ids=row[None].to(device), use_cache=False).logits[0].float().log_softmax(-1)
            for row in (ids, changed)
        )
    except Exception as error:  # of any architecture, or of code from a hub
        _log.info("the first forward pass failed", exc_info=True)
        raise UserError(
            f"{source}: a first forward pass fails ({type(error).__name__}: {first_line(error)}): the installed "
            "transformers may be too old or too new for this model."
        ) from error
    moved = (before - after).abs().mean(-1)
    earlier, later = float(moved[:-_CHANGED].mean()), float(moved[-_CHANGED:].mean())
    exact = model.dtype == torch.float32 and not getattr(model, "is_quantized", False)
    if earlier > (_MOVEMENT_FP32 if exact else _MOVEMENT) * later:
        raise UserError(
            f"{source}: no causal language model: log-probabilities move by {earlier:.2g} nats when later tokens "
            "change, expected 0: choose another model, or give a masked one `kind: masked`."
        )


def _others(names: list[str]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""
