"""Log-likelihoods of token sequences by the fastest way that is right for a model."""

import numpy as np
import torch
from transformers import PreTrainedModel

from biasatlas.engine import plain, plan
from biasatlas.engine.memory import Memory, NotFiniteError
from biasatlas.engine.tree import Tree
from biasatlas.progress import Progress

#: Largest difference in nats between tree and plain forward pass that rounding explains.
TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 0.5, torch.float16: 0.5}


def log_likelihoods(
    model: PreTrainedModel, tokens: list[np.ndarray], start: np.ndarray, memory: Memory, tree_refusal: str = ""
) -> tuple[np.ndarray, dict]:
    """Sum of log p(tokens[start:] | tokens[:start]) of each sequence in nats (float64), and how it was computed.

    Sequences are int32 ids, ``start`` at least 1 and below their length; equal ones are computed once.
    ``tree_refusal`` is what :func:`check_tree` said at load. The dictionary holds the path taken (``tree`` or
    ``plain``) and why, and the tokens asked, unique (distinct prefixes) and fed. Raises NotFiniteError, whose
    ``sequence`` is an index into ``tokens``.
    """
    trie, where = plan.build_trie(tokens, start)
    longest = int(trie.fed.max(initial=0))
    window = attention_window(model)
    if not tree_refusal and window is not None and longest > window:
        tree_refusal = f"the attention window of {window} tokens is shorter than a sequence of {longest}"
    progress = Progress("sequences", len(trie.tokens))
    run = {"path": "plain" if tree_refusal else "tree", "reason": tree_refusal}
    try:
        if tree_refusal:
            values = plain.log_likelihoods(model, trie.tokens, trie.start, memory, progress.advance)
            fed = int(trie.fed.sum())
        else:
            tree = Tree(model, memory)
            values = tree.log_likelihoods(trie, progress.advance)
            fed = tree.tokens_fed
    except NotFiniteError as error:
        raise NotFiniteError(int(np.flatnonzero(where == error.sequence)[0]), error.value) from error
    asked = int(sum(map(len, tokens)) - len(tokens))
    return values[where], run | {"tokens_asked": asked, "tokens_unique": trie.unique_tokens, "tokens_fed": fed}


def attention_window(model: PreTrainedModel) -> int | None:
    """The shortest span that some layer's attention is limited to, or None: a tree mask would see beyond it."""
    config = model.config.get_text_config()
    spans = [getattr(config, name, None) for name in ("sliding_window", "attention_chunk_size", "window_size")]
    if set(getattr(config, "layer_types", None) or ["sliding_attention"]) <= {"full_attention"}:
        return None
    return min((span for span in spans if isinstance(span, int)), default=None)


def check_tree(model: PreTrainedModel) -> str:
    """Compare tree and plain forward pass on a few synthetic sequences: '' if they agree, else why the tree is unfit.

    The sequences share a prefix, branch twice, and are prefixes of each other. They are computed once as one row of
    many branches and once with short rows after cached prefixes, so that all parts of the engine take part.
    """
    random = np.random.default_rng(0)
    vocabulary = min(model.get_input_embeddings().weight.shape[0], model.config.get_text_config().vocab_size)
    longest = min(attention_window(model) or 48, 48)

    def draw(length: int) -> np.ndarray:
        return random.integers(0, vocabulary, length).astype(np.int32)

    trunk = draw(longest // 2)
    branches = [np.append(trunk, draw(longest // 4)) for _ in range(4)]
    tokens = [np.append(branch, draw(longest // 8)) for branch in branches for _ in range(2)] + [trunk, draw(longest)]
    start = np.asarray([1 + i % (len(ids) - 1) for i, ids in enumerate(tokens)])
    trie, _ = plan.build_trie(tokens, start)
    try:
        plainly = plain.log_likelihoods(model, trie.tokens, trie.start, Memory(256))
        largest = 0.0
        for row_tokens, pass_tokens in ((256, 256), (16, -longest)):
            tree = Tree(model, Memory(256))
            tree.row_tokens, tree.pass_tokens = row_tokens, pass_tokens
            largest = max(largest, float(np.abs(tree.log_likelihoods(trie) - plainly).max()))
    except Exception as error:  # whatever a model raises on a mask or a cache that it does not know, the tree is unfit
        first = (str(error).splitlines() or [""])[0]
        return f"its forward pass does not take a tree mask ({type(error).__name__}: {first[:100]})"
    if largest > TOLERANCE[model.dtype]:
        return f"its attention does not follow a tree mask (off by {largest:.2g} nats)"
    return ""
