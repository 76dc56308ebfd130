"""Texts to tokens: a prefix and a continuation become one sequence and the index where the continuation starts."""

from collections.abc import Sequence

import numpy as np
from transformers import PreTrainedTokenizerBase

SPECIAL_TOKENS = ("once", "tokenizer", "none")
BOUNDARIES = ("offsets", "prefix_length", "separate")

#: Texts in one call of the tokenizer; the lists that it returns take fifteen times the memory of the ids.
_TEXTS = 1024


def encode_texts(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], special_tokens: str) -> list[np.ndarray]:
    """The int32 token ids of each text.

    ``special_tokens``: "once" puts the tokenizer's begin token in front, unless the text already starts with it or the
    tokenizer has none; "tokenizer" adds whatever the tokenizer adds to raw text; "none" adds nothing.
    """
    encoded = []
    for first in range(0, len(texts), _TEXTS):
        part = list(texts[first : first + _TEXTS])
        ids = tokenizer(part, add_special_tokens=special_tokens == "tokenizer", verbose=False)["input_ids"]
        encoded += [_ids(tokenizer, row, special_tokens) for row in ids]
    return encoded


def encode_pairs(
    tokenizer: PreTrainedTokenizerBase,
    prefixes: Sequence[str],
    continuations: Sequence[str],
    special_tokens: str,
    boundary: str,
) -> tuple[list[np.ndarray], np.ndarray]:
    """Tokens (int32) of each prefix and continuation together, and the index of the first token of the continuation.

    ``boundary``:

    - "offsets": the joint text is tokenised; the continuation starts at the first token that covers any of its
      characters. A token that spans the boundary therefore belongs to the continuation: no character of it goes
      unscored, and the characters of the prefix in that token are scored with it.
    - "prefix_length": the joint text is tokenised; the prefix has as many tokens as it has when tokenised alone. Where
      the two tokenisations differ at the boundary this is off by the difference.
    - "separate": both are tokenised apart and concatenated; the continuation gets special tokens of its own only where
      ``special_tokens`` is "tokenizer".

    An empty continuation starts at the end of the sequence: it has nothing to score.
    Raises NotImplementedError for "offsets" if the tokenizer cannot report character offsets.
    """
    if not len(prefixes):
        return [], np.zeros(0, np.int64)
    if boundary == "offsets":
        return _encode_by_offsets(tokenizer, prefixes, continuations, special_tokens)
    distinct = list(dict.fromkeys(prefixes))
    alone = dict(zip(distinct, encode_texts(tokenizer, distinct, special_tokens), strict=True))
    if boundary == "prefix_length":
        joint = encode_texts(tokenizer, [p + c for p, c in zip(prefixes, continuations, strict=True)], special_tokens)
        start = [min(len(alone[p]), len(tokens)) for p, tokens in zip(prefixes, joint, strict=True)]
    else:
        own = "tokenizer" if special_tokens == "tokenizer" else "none"
        tails = encode_texts(tokenizer, continuations, own)
        joint = [np.concatenate([alone[p], tail]) for p, tail in zip(prefixes, tails, strict=True)]
        start = [len(alone[p]) for p in prefixes]
    return joint, np.asarray(start, np.int64)


def _encode_by_offsets(
    tokenizer: PreTrainedTokenizerBase, prefixes: Sequence[str], continuations: Sequence[str], special_tokens: str
) -> tuple[list[np.ndarray], np.ndarray]:
    joint: list[np.ndarray] = []
    start = np.zeros(len(prefixes), np.int64)
    for first in range(0, len(prefixes), _TEXTS):
        part = slice(first, first + _TEXTS)
        encoded = tokenizer(
            [p + c for p, c in zip(prefixes[part], continuations[part], strict=True)],
            add_special_tokens=special_tokens == "tokenizer",
            return_offsets_mapping=True,
            verbose=False,
        )
        for row, offsets, prefix in zip(encoded["input_ids"], encoded["offset_mapping"], prefixes[part], strict=True):
            ids = _ids(tokenizer, row, special_tokens)
            ends = np.asarray(offsets, np.int64).reshape(-1, 2)[:, 1]
            # Tokens that the tokenizer adds by itself have the empty offset (0, 0), so they never end after the prefix.
            inside = np.flatnonzero(ends > len(prefix))
            start[len(joint)] = len(ids) - len(row) + (inside[0] if len(inside) else len(row))
            joint.append(ids)
    return joint, start


def _ids(tokenizer: PreTrainedTokenizerBase, row: Sequence[int], special_tokens: str) -> np.ndarray:
    """The ids of a text, after the begin token if ``special_tokens`` asks for it and ``row`` lacks it."""
    bos = tokenizer.bos_token_id
    missing = special_tokens == "once" and bos is not None and (len(row) == 0 or row[0] != bos)
    return np.asarray([bos, *row] if missing else row, np.int32)
