"""Masked language models: the pseudo-log-likelihood of a text, or of the tokens that it shares with another."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple, cast

import pandas as pd
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from biasatlas.columns import RESPONSE_COLUMNS
from biasatlas.engine.memory import Memory
from biasatlas.errors import UserError
from biasatlas.models.batches import answer_batches
from biasatlas.models.entry import pinned_revision
from biasatlas.models.hub import checkpoint_sha256, model_folder
from biasatlas.models.interface import ModelContext
from biasatlas.models.local.checkpoint import Checkpoint, load_weights, masked_architecture, read_checkpoint
from biasatlas.models.masked import VERSION
from biasatlas.models.masked.entry import MaskedEntry
from biasatlas.models.store import ResponseStore, key
from biasatlas.progress import Progress

_log = logging.getLogger(__name__)


class Text(NamedTuple):
    """A text's token ids and the positions of those that are scored."""

    ids: list[int]
    scored: list[int]


@dataclass(frozen=True)
class MaskedModel:
    """A masked language model ready to answer, with what identifies it; ``token_budget`` bounds a forward pass."""

    name: str
    revision: str | None
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    weights_sha256: str
    config_sha256: str
    token_budget: int = 8192

    def answer(
        self,
        requests: pd.DataFrame,
        task: str = "",
        store: ResponseStore | None = None,
        share: tuple[int, int] = (0, 1),
    ) -> tuple[pd.DataFrame, dict]:
        """Likelihood responses in the order of ``requests``, and how they were made
        (:class:`biasatlas.models.interface.Model`).

        ``log_likelihood`` is the sum of log P(token | all other tokens), in nats, each scored token masked in turn;
        ``tokens`` counts them. All of ``continuation`` is scored or, if a request has a ``pair`` (a JSON list of two
        texts, prefix and continuation being one of them), the tokens that both share, as in equation 1 of Nangia et
        al. 2020. Special tokens are never scored. A text without a token to score is "not_applicable".

        Raises UserError for requests other than likelihoods of raw text.
        """
        _check(requests, self.name)
        pairs = list(requests["pair"]) if "pair" in requests else [None] * len(requests)
        wholes = _wholes(requests, pairs, self.name)
        texts = [_text(*row, self.tokenizer) for row in zip(wholes, pairs, strict=True)]
        request_ids = list(requests["request_id"])
        rows, run = answer_batches(
            request_ids,
            [key(self._identity(), text._asdict(), 0) for text in texts],
            ([""] * len(texts), wholes),
            sorted,  # the order of texts decides which share a pass, and so the last digits
            lambda left, _: _score([request_ids[i] for i in left], [texts[i] for i in left], self),
            store,
            share,
        )
        metadata = {
            "model": self.name,
            "revision": self.revision,
            "weights_sha256": self.weights_sha256,
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "device": str(self.model.device),
            "masked_tokens": sum(len(text.scored) for text in texts),
            "versions": {name: version(name) for name in ("torch", "transformers", "tokenizers")},
            "run": run,
        }
        _log.info("%s: %d texts scored: %s", self.name, len(rows), json.dumps(metadata))
        return rows.reindex(columns=list(RESPONSE_COLUMNS["likelihood"])), metadata

    def _identity(self) -> dict:
        return {
            "kind": "masked",
            "weights_sha256": self.weights_sha256,
            "config_sha256": self.config_sha256,
            "dtype": str(self.model.dtype),
            "device": self.model.device.type,
            "version": VERSION,
        }


def check_folder(folder: Path, source: str = "") -> Checkpoint:
    """Check a masked language model's files, but not its weights (:func:`read_checkpoint`); raises UserError."""
    source = source or str(folder)
    checkpoint = read_checkpoint(folder, source, masked_architecture)
    if checkpoint.tokenizer.mask_token_id is None:
        raise UserError(
            f"{source}: its tokenizer has no mask token, so this is not a masked language model: choose another model."
        )
    return checkpoint


def load(source: str, *, revision: str | None = None, hashes: Path | None = None) -> MaskedModel:
    """Load a masked language model in fp32 and its tokenizer from a folder or a hub id at a pinned ``revision``.

    Weights come from safetensors only; hashes of the files are kept in the file ``hashes``. Raises UserError where the
    folder or hub id cannot be used.
    """
    folder = model_folder(source, revision)
    checkpoint = check_folder(folder, source)
    model = load_weights(checkpoint, "float32")
    return MaskedModel(source, revision, model, checkpoint.tokenizer, *checkpoint_sha256(folder, hashes))


def open_masked(context: ModelContext) -> MaskedModel:
    """The model of an entry, loaded. Raises UserError if it cannot be loaded."""
    entry = cast(MaskedEntry, context.entry)
    return load(entry.source, revision=pinned_revision(entry, context.ready), hashes=context.hashes)


def check_model(context: ModelContext) -> None:
    """Raise UserError if a model's files, its weights aside, show that it cannot work."""
    entry = cast(MaskedEntry, context.entry)
    check_folder(model_folder(entry.source, pinned_revision(entry, context.ready)), entry.source)


def _check(requests: pd.DataFrame, name: str) -> None:
    kinds = set(requests["kind"]) - {"likelihood"}
    if kinds:
        raise UserError(
            f"{name}: a masked language model answers no requests of kind {kinds.pop()}: leave it out of this task."
        )
    if "messages" in requests and any(isinstance(value, str) and value for value in requests["messages"]):
        raise UserError(f"{name}: a masked language model scores whole texts, and a request has messages.")


def _wholes(requests: pd.DataFrame, pairs: Sequence[str | None], name: str) -> list[str]:
    """The text of each request: its continuation, after its prefix if a pair says which tokens are scored."""
    before = requests["prefix"] if "prefix" in requests else [""] * len(requests)
    prefixes = [prefix if isinstance(prefix, str) else "" for prefix in before]
    wholes = [prefix + continuation for prefix, continuation in zip(prefixes, requests["continuation"], strict=True)]
    for prefix, whole, pair in zip(prefixes, wholes, pairs, strict=True):
        if prefix and not (isinstance(pair, str) and whole in json.loads(pair)):
            raise UserError(f"{name}: a masked language model scores whole texts, and a request has prefix.")
    return wholes


def _text(continuation: str, pair: str | None, tokenizer: PreTrainedTokenizerBase) -> Text:
    if isinstance(pair, str):
        return Text(*shared_tokens(continuation, json.loads(pair), tokenizer))
    ids = tokenizer(continuation)["input_ids"]
    return Text(ids, _but_special(ids, range(len(ids)), tokenizer))


def shared_tokens(text: str, pair: list[str], tokenizer: PreTrainedTokenizerBase) -> tuple[list[int], list[int]]:
    """Token ids of ``text`` and the positions of those that both texts of ``pair`` share, but special tokens.

    These are the longest matching blocks from the first text to the second, as in CrowS-Pairs' own code. From the
    second to the first, difflib may find other blocks, so the order of ``pair`` matters.
    """
    first, second = (tokenizer(each)["input_ids"] for each in pair)
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    ids, starts = (first, [block.a for block in blocks]) if text == pair[0] else (second, [block.b for block in blocks])
    positions = [start + step for start, block in zip(starts, blocks, strict=True) for step in range(block.size)]
    return ids, _but_special(ids, positions, tokenizer)


def _but_special(ids: list[int], positions: Sequence[int], tokenizer: PreTrainedTokenizerBase) -> list[int]:
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    return [position for position in positions if ids[position] not in special]


def _score(request_ids: list[str], texts: list[Text], model: MaskedModel) -> tuple[pd.DataFrame, dict]:
    """Likelihood responses to ``texts``, in their order, and what computing them took."""
    # Every masked copy of every text is a row; rows of like length share a forward pass.
    rows = sorted(
        ((i, text.ids, position) for i, text in enumerate(texts) for position in text.scored),
        key=lambda row: len(row[1]),
    )
    total = torch.zeros(len(texts), dtype=torch.float64)
    progress = Progress("masked texts", len(rows))
    memory = Memory(model.token_budget)
    while rows:
        batch = _first(rows, memory.token_budget)
        owners, ids, positions = zip(*batch, strict=True)
        with memory.halved_if_exhausted(splittable=len(batch) > 1) as attempt:
            found = _log_probabilities(ids, positions, model).double().cpu()
        if not attempt.failed:
            total.index_add_(0, torch.tensor(owners), found)
            progress.advance(len(batch))
            rows = rows[len(batch) :]
    tokens = pd.Series([len(text.scored) for text in texts], dtype="int64")
    some = tokens > 0
    log_likelihood = pd.Series(total.numpy()).where(some)
    responses = pd.DataFrame(
        {
            "request_id": request_ids,
            "repeat": 0,
            "status": some.map({True: "ok", False: "not_applicable"}),
            "detail": some.map({True: "", False: "no token to score"}),
            "log_likelihood": log_likelihood,
            "tokens": tokens,
            "nll_per_token": -log_likelihood / tokens.where(some),
        }
    )
    return responses, {"masked_tokens": int(tokens.sum())}


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


def _first(rows: list[tuple], token_budget: int) -> list[tuple]:
    """The first of ``rows`` (in growing length) that fit ``token_budget`` tokens when padded; at least one."""
    count = next((i for i, row in enumerate(rows, 1) if len(row[1]) * i > token_budget), len(rows) + 1) - 1
    return rows[: max(1, count)]
