"""Log-likelihoods of token sequences by the fastest way that is right for a model."""

import numpy as np
from transformers import PreTrainedModel

from biasatlas.engine import plain, plan
from biasatlas.engine.memory import Memory, NotFiniteError
from biasatlas.engine.routes import TREE, Route, tree_of
from biasatlas.progress import Progress


def log_likelihoods(
    model: PreTrainedModel, tokens: list[np.ndarray], start: np.ndarray, memory: Memory, route: Route = TREE
) -> tuple[np.ndarray, dict]:
    """Sum of log p(tokens[start:] | tokens[:start]) of each sequence in nats (float64), and how it was computed.

    Sequences are int32 ids, ``start`` at least 1 and below their length; equal ones are computed once.
    ``route`` is what ``choose_route`` found at load. The dictionary holds it and why, and the tokens asked, unique
    (distinct prefixes) and fed. Raises NotFiniteError, whose ``sequence`` is an index into ``tokens``.
    """
    trie, where = plan.build_trie(tokens, start)
    progress = Progress("sequences", len(trie.tokens))
    run = {"route": route.name, "reason": route.reason}
    try:
        if route.name == "plain":
            values = plain.log_likelihoods(model, trie.tokens, trie.start, memory, progress.advance)
            fed = int(trie.fed.sum())
        else:
            tree = tree_of(model, memory, route)
            values = tree.log_likelihoods(trie, progress.advance)
            fed = tree.tokens_fed
    except NotFiniteError as error:
        raise NotFiniteError(int(np.flatnonzero(where == error.sequence)[0]), error.value) from error
    asked = int(sum(map(len, tokens)) - len(tokens))
    return values[where], run | {"tokens_asked": asked, "tokens_unique": trie.unique_tokens, "tokens_fed": fed}
