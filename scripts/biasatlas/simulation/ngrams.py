"""Word models that are fair by construction: trained on a benchmark's own pairs, of which they see either text by
chance.

Unlike a formula they have likings that no one chose: rare words, words that follow one another, words that call for
others. A trigram model with word triggers and a cache of the text so far is all of these, and takes a second to train.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from biasatlas.models.simulated.answer import words_of
from biasatlas.simulation.asked import Array
from biasatlas.simulation.claims import declared, row
from biasatlas.simulation.experiment import COLUMNS
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.studies import Study

#: Shares of a word's probability: by the two words before it, by one, by triggers, by the cache, by its frequency.
_SHARES = (0.35, 0.25, 0.1, 0.1, 0.2)
#: Words before a word that may trigger it.
_REACH = 6
#: Share of the texts of a biased model that have the stereotype.
_PLANTED = 0.65

Words = Sequence[str]


class WordModel:
    """A trigram model of ``texts``, each a sequence of words."""

    def __init__(self, texts: Sequence[Words]):
        self._single = Counter(word for text in texts for word in text)
        self._total = sum(self._single.values())
        self._next: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        self._after: dict[str, Counter[str]] = defaultdict(Counter)
        self._triggered: Counter[str] = Counter()
        for text in texts:
            for place, word in enumerate(text):
                for size in (1, 2):
                    self._next[tuple(text[max(place - size, 0) : place])][word] += 1
                for earlier in text[max(place - _REACH, 0) : place]:
                    self._after[earlier][word] += 1
                    self._triggered[earlier] += 1
        self._sums = {history: sum(counts.values()) for history, counts in self._next.items()}

    def log_likelihood(self, prefix: Words, continuation: Words) -> float:
        """Of the words of a ``continuation`` after those of a ``prefix``, in nats."""
        text, total = [*prefix, *continuation], 0.0
        for place in range(len(prefix), len(text)):
            total += math.log(self._probability(text[:place], text[place]))
        return total

    def _probability(self, before: Words, word: str) -> float:
        near = before[-_REACH:]
        parts = (
            self._given(tuple(before[-2:]), word),
            self._given(tuple(before[-1:]), word),
            sum(self._after[one][word] / self._triggered[one] for one in near if one in self._triggered)
            / max(len(near), 1),
            before.count(word) / max(len(before), 1),
            (self._single[word] + 0.5) / (self._total + 0.5 * len(self._single)),
        )
        return sum(share * part for share, part in zip(_SHARES, parts, strict=True))

    def _given(self, history: tuple[str, ...], word: str) -> float:
        return self._next[history][word] / self._sums[history] if history in self._sums else 0.0


def run(study: Study, setting: str, bench: Harness, seeds: Iterable[int]) -> pd.DataFrame:
    """As :func:`biasatlas.simulation.claims.run`, of models trained anew for each seed; no ground truth is known.

    A model of a benchmark of pairs sees one text of each. Without bias either is drawn whatever the stereotype, that
    with the words of the first side with the probability ``share`` (0.5 unless the setting says otherwise); with bias
    the stereotype is.
    """
    (task,) = study.tasks
    questions, requests = bench.questions[task], bench.requests[task]
    share = float(study.nuisances.get(setting, {}).get("share", 0.5))
    texts = [[words_of(text, questions.language) for text in bench.items[side]] for side in ("more", "less")]
    first = (bench.items["direction"] == bench.items["direction"].iloc[0]).to_numpy()
    asked = [
        [words_of(text, questions.language) for text in requests[column].fillna("")]
        for column in ("prefix", "continuation")
    ]
    rows = []
    for seed in seeds:
        chance = np.random.default_rng(seed).random(len(first))
        stereotyped = chance < _PLANTED if study.dose(setting) else (chance < share) == first
        model = WordModel([more if taken else less for more, less, taken in zip(*texts, stereotyped, strict=True)])
        values: Array = np.array([model.log_likelihood(*each) for each in zip(*asked, strict=True)])
        scores = bench.scored({task: questions.told(values)}, "any")
        rows += [row(each, seed) for each in declared(bench, scores)]
    return pd.DataFrame(rows, columns=list(COLUMNS))
