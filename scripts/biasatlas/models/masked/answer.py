"""Masked language models: pseudo-log-likelihood of the tokens that two sentences share (CrowS-Pairs)."""

import dataclasses
import json
import logging
from collections.abc import Iterator
from difflib import SequenceMatcher
from importlib.metadata import version

import pandas as pd
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from biasatlas.errors import UserError
from biasatlas.models.hub import model_folder, weights_sha256

_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class MaskedModel:
    """A masked language model ready to answer, with what identifies it."""

    name: str
    revision: str | None
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    weights_sha256: str


def load(source: str, *, revision: str | None = None) -> MaskedModel:
    """Load a masked language model in fp32 and its tokenizer from a folder or a hub id at a pinned ``revision``.

    Weights come from safetensors only. Raises UserError where the folder or hub id cannot be used.
    """
    folder = model_folder(source, revision)
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32, use_safetensors=True)
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(
            f"{source}: cannot be loaded as a masked language model ({reason}). Check folder, or hub id and revision."
        ) from error
    if tokenizer.mask_token_id is None:
        raise UserError(f"{source}: its tokenizer has no mask token, so this is no masked language model.")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    weights = weights_sha256(sorted(folder.glob("*.safetensors")))
    return MaskedModel(source, revision, model.to(device).eval(), tokenizer, weights)


def answer(requests: pd.DataFrame, model: MaskedModel, *, token_budget: int = 8192) -> tuple[pd.DataFrame, dict]:
    """Likelihood responses to CrowS-Pairs requests, in their order, and how they were made.

    ``log_likelihood`` is equation 1 of Nangia et al. 2020: the sum, over the tokens u that ``continuation`` shares with
    the other sentence of its ``pair``, of log P(u | all other tokens), each masked in turn, in nats; ``tokens`` counts
    them. Special tokens are never scored. A sentence that shares no token is "not_applicable". ``token_budget`` bounds
    the tokens of one forward pass.
    """
    tokenizer = model.tokenizer
    shared = [
        shared_tokens(continuation, json.loads(pair), tokenizer)
        for continuation, pair in zip(requests["continuation"], requests["pair"], strict=True)
    ]
    # Every masked copy of every sentence is a row; rows of like length share a batch.
    rows = sorted(
        ((place, ids, position) for place, (ids, positions) in enumerate(shared) for position in positions),
        key=lambda row: len(row[1]),
    )
    total = torch.zeros(len(requests), dtype=torch.float64)
    for batch in _batches(rows, token_budget):
        places, ids, positions = zip(*batch, strict=True)
        total.index_add_(0, torch.tensor(places), _log_probabilities(ids, positions, model).double().cpu())
    tokens = pd.Series([len(positions) for _, positions in shared], requests.index)
    some = tokens > 0
    log_likelihood = pd.Series(total.numpy(), requests.index).where(some)
    responses = pd.DataFrame(
        {
            "request_id": requests["request_id"],
            "repeat": 0,
            "status": some.map({True: "ok", False: "not_applicable"}),
            "detail": some.map({True: "", False: "no token shared with the other sentence"}),
            "log_likelihood": log_likelihood,
            "tokens": tokens,
            "nll_per_token": -log_likelihood / tokens.where(some),
        }
    )
    metadata = {
        "model": model.name,
        "revision": model.revision,
        "weights_sha256": model.weights_sha256,
        "dtype": "float32",
        "device": str(model.model.device),
        "masked_tokens": len(rows),
        "versions": {name: version(name) for name in ("torch", "transformers", "tokenizers")},
    }
    _log.info("%s: %d sentences scored: %s", model.name, len(requests), json.dumps(metadata))
    return responses, metadata


def shared_tokens(sentence: str, pair: list[str], tokenizer: PreTrainedTokenizerBase) -> tuple[list[int], list[int]]:
    """Token ids of ``sentence`` and the positions of those that both sentences of ``pair`` share, but special tokens.

    These are the longest matching blocks from the first sentence to the second, as in the authors' code: difflib may
    match otherwise from the second to the first, so the order of ``pair`` matters.
    """
    first, second = (tokenizer(text)["input_ids"] for text in pair)
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    ids, starts = (
        (first, [block.a for block in blocks]) if sentence == pair[0] else (second, [block.b for block in blocks])
    )
    positions = [start + step for start, block in zip(starts, blocks, strict=True) for step in range(block.size)]
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    return ids, [position for position in positions if ids[position] not in special]


def _log_probabilities(ids: tuple[list[int], ...], positions: tuple[int, ...], model: MaskedModel) -> torch.Tensor:
    """log P of the token at each row's position, given all others of the row, shape (rows,)."""
    encoded = model.tokenizer.pad({"input_ids": list(ids)}, return_tensors="pt").to(model.model.device)
    rows = torch.arange(len(ids), device=model.model.device)
    masked = torch.tensor(positions, device=model.model.device)
    tokens = encoded["input_ids"][rows, masked]
    encoded["input_ids"][rows, masked] = model.tokenizer.mask_token_id
    with torch.inference_mode():
        logits = model.model(**encoded).logits[rows, masked].float()
    return logits.log_softmax(dim=-1)[rows, tokens]


def _batches(rows: list[tuple], token_budget: int) -> Iterator[list[tuple]]:
    """Runs of ``rows`` (in growing length) that fit ``token_budget`` tokens when padded; at least one row each."""
    batch = []
    for row in rows:
        if batch and len(row[1]) * (len(batch) + 1) > token_budget:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
