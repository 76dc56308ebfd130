"""How answers are parsed, token by token: texts to outcomes, many next tokens at once."""

from collections.abc import Callable, Sequence

import numpy as np

#: Parses that one parser remembers, 6 bytes each; beyond, it starts anew.
_REMEMBERED = 4_000_000

#: A text so far, and whether it is complete after one more token.
_Key = tuple[tuple[int, ...], bool]


class TokenParser:
    """``read(text, complete)`` gives an outcome's index, or None while more text may change it.

    ``decode`` turns lists of token ids into texts, ``eos_token_ids`` are the tokens that complete a text. Parses are
    remembered by the text so far, since many questions have the same few answers.
    """

    def __init__(
        self,
        read: Callable[[str, bool], int | None],
        outcomes: int,
        decode: Callable[[list[list[int]]], list[str]],
        eos_token_ids: Sequence[int],
    ):
        self.read, self.outcomes, self.decode = read, outcomes, decode
        self.eos_token_ids = frozenset(eos_token_ids)
        self._known: dict[_Key, tuple[np.ndarray, np.ndarray]] = {}
        self._remembered = 0

    def parse_next(self, asked: Sequence[tuple[tuple[int, ...], np.ndarray, bool]]) -> list[np.ndarray]:
        """For each (answer, token ids, last), the outcome of the answer followed by each of the tokens, −1 while open.

        ``last``: no other token may follow.
        """
        if self._remembered > _REMEMBERED:
            self._known, self._remembered = {}, 0
        by_key: dict[_Key, list[np.ndarray]] = {}
        for answer, ids, last in asked:
            by_key.setdefault((answer, last), []).append(ids)
        new = {}
        for key, parts in by_key.items():
            known = self._known.get(key)
            ids = np.unique(np.concatenate(parts))
            new[key] = ids if known is None else np.setdiff1d(ids, known[0], assume_unique=True)
        self._learn({key: ids for key, ids in new.items() if len(ids)})
        found = []
        for answer, ids, last in asked:
            learnt, outcomes = self._known[answer, last]
            found.append(outcomes[np.searchsorted(learnt, ids)])
        return found

    def _learn(self, new: dict[_Key, np.ndarray]) -> None:
        """Parse the texts that are not known yet, all of them decoded in one call."""
        tokens = [
            list(answer) if token in self.eos_token_ids else [*answer, token]
            for (answer, _), ids in new.items()
            for token in ids.tolist()
        ]
        texts = iter(self.decode(tokens) if tokens else [])
        for (answer, last), ids in new.items():
            complete = [last or token in self.eos_token_ids for token in ids.tolist()]
            outcomes = np.asarray([self._outcome(next(texts), last) for last in complete], np.int16)
            if (answer, last) in self._known:
                known = self._known[answer, last]
                ids, outcomes = np.append(known[0], ids), np.append(known[1], outcomes)
                order = np.argsort(ids)
                ids, outcomes = ids[order], outcomes[order]
            self._known[answer, last] = ids.astype(np.int32), outcomes
            self._remembered += len(complete)

    def _outcome(self, text: str, complete: bool) -> int:
        # A character cut between its bytes decodes to a replacement mark: wait for the rest of it.
        found = None if text.endswith("\ufffd") and not complete else self.read(text, complete)
        return -1 if found is None else found
