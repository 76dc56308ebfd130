"""Whether the parts of a checkpoint fit one another: tensors, tokenizer and embeddings, and what the model computes."""

import logging
from collections.abc import Collection, Mapping

import torch
from torch.distributed.tensor import DTensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from biasatlas.engine.forward import decoder
from biasatlas.errors import UserError
from biasatlas.models.hub import first_line

#: Tokens of the test of causality, and how many of the last are changed.
_TOKENS, _CHANGED = 24, 4
#: Movement of log-probabilities before the change, as a share of that after it, which rounding explains: in 32 bits,
#: and in fewer, where experts are dealt out otherwise or a quantiser looks at all tokens. Bidirectional models have
#: 0.3.
_MOVEMENT_FP32, _MOVEMENT = 1e-3, 0.05

_log = logging.getLogger(__name__)


def check_keys(model: PreTrainedModel, info: Mapping[str, Collection], source: str) -> None:
    """Hold the tensors that the weights have against those that the model needs; ``info`` is the loader's own account.

    Raises UserError for a missing tensor, one of another shape, and one of a decoder layer that the model does not
    have. Others that are left over (a vision tower, a pooler) are logged.
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
        # Weights of 8 and 4 bits are whole numbers here; those of a layer put off to a disk are not there.
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

    A token that was added, and that neither the chat template nor the beginning or end of a text holds (an image's
    place), may lie beyond: only a text that has it cannot be asked.
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
    """Raise UserError where a token changes the probabilities of those before it."""
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
