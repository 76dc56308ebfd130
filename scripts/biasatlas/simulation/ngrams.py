"""Word models that are fair by construction: trained on a benchmark's own texts, in which groups are exchanged at
random.

Unlike a formula they have preferences that nobody chose, as for rare words, or for words that follow or trigger others.
A trigram model with word triggers and a cache of the text so far has all of these, and trains in a second.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from biasatlas.benchmarks.stereoset.items import TARGETS, swaps
from biasatlas.benchmarks.stereoset.spec import COMPARED
from biasatlas.benchmarks.twbias.spec import of_group
from biasatlas.models.simulated.answer import Questions, words_of
from biasatlas.simulation import own_group
from biasatlas.simulation.asked import Array
from biasatlas.simulation.claims import declared, row
from biasatlas.simulation.experiment import COLUMNS
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.studies import Study

#: Shares of a word's probability: by the two words before it, by one, by triggers, by the cache, by its frequency.
_SHARES = (0.35, 0.25, 0.1, 0.1, 0.2)
#: How many words before a word may trigger it.
_REACH = 6
#: Share of a biased model's texts that have the stereotype; times its bias, share of the texts that keep their group.
_PLANTED, _KEPT = 0.65, 0.5

Words = Sequence[str]
#: (generator, bias, share) -> the texts that a model sees, one of each item; ``share`` is that of one side's texts.
Draw = Callable[[np.random.Generator, float, float], Iterator[str]]


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
        """The log-likelihood of the words of ``continuation`` after those of ``prefix``, in nats."""
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
    """As :func:`biasatlas.simulation.claims.run`, for models trained anew for each seed; no ground truth is known.

    A model sees one text of each item, drawn by the benchmark's function here: without bias all groups are treated
    alike, with bias they are not.
    """
    (task,) = study.tasks
    drawn = {"stereoset": _sentences, "twbias": _exchanged}.get(study.benchmark, _either)(bench)
    bias, share = study.dose(setting), float(study.nuisances.get(setting, study.base).get("share", 0.5))

    known_by = _network if study.base.get("network") else _words

    def values(questions: Questions, seed: int) -> Array:
        return known_by([*drawn(np.random.default_rng(seed), bias, share)], questions, seed)

    if study.benchmark == "twbias":
        return own_group.run(study, setting, bench, seeds, values)
    scores = {
        seed: bench.scored({task: bench.questions[task].told(values(bench.questions[task], seed))}, "any")
        for seed in seeds
    }
    return pd.DataFrame(
        [row(each, seed) for seed in seeds for each in declared(bench, scores[seed])], columns=list(COLUMNS)
    )


def _words(texts: Sequence[str], questions: Questions, seed: int) -> Array:
    """Log-likelihoods of the requests by a word model of ``texts``."""
    model = WordModel([words_of(text, questions.language) for text in texts])
    asked = pd.MultiIndex.from_frame(questions.requests[["prefix", "continuation"]].fillna(""))
    codes, distinct = pd.factorize(asked)  # the same under every prompt, which the model does not see
    each = [[words_of(part, questions.language) for part in parts] for parts in distinct]
    return np.array([model.log_likelihood(*parts) for parts in each])[codes]


def _network(texts: Sequence[str], questions: Questions, seed: int) -> Array:
    """Log-likelihoods by a transformer of 2 layers that is trained on ``texts``, and asked as any model is."""
    from biasatlas.models.local.answer import CausalModel  # torch takes seconds, and other studies need none
    from biasatlas.models.local.load import load
    from biasatlas.models.planted.train import train_on

    with TemporaryDirectory() as folder:
        train_on(texts, Path(folder, "model"), seed=seed % 2**32, steps=200)
        answers, _ = CausalModel("network", load(str(Path(folder, "model")))).answer(questions.requests, "")
    return answers["log_likelihood"].to_numpy(float)


def _either(bench: Harness) -> Draw:
    """One text of each pair: without bias, that with the words of the first side with the probability ``share``; with
    bias, the stereotype with the probability ``_PLANTED``."""
    first = (bench.items["direction"] == bench.items["direction"].iloc[0]).to_numpy()

    def drawn(rng: np.random.Generator, bias: float, share: float) -> Iterator[str]:
        chance = rng.random(len(first))
        stereotyped = chance < _PLANTED if bias else (chance < share) == first
        return iter(np.where(stereotyped, bench.items["more"], bench.items["less"]))

    return drawn


def _sentences(bench: Harness) -> Draw:
    """The stereotype of an item with the probability ``share``, else the other sentence, with any target of its form in
    place of its own; with a bias of 1, half of the sentences keep their own."""
    own = bench.items.set_index("item_id")[list(COMPARED)].to_dict("index")
    known: dict[str, list[Mapping[str, str]]] = {name: [texts] for name, texts in own.items()}
    for swap in swaps(bench.items, bench.resources.yaml(TARGETS), None):
        known[swap.item_id].append(swap.sentences)

    def drawn(rng: np.random.Generator, bias: float, share: float) -> Iterator[str]:
        for texts in known.values():
            kept = bias and rng.random() < _KEPT * bias
            yield texts[0 if kept else rng.integers(len(texts))][COMPARED[int(rng.random() >= share)]]

    return drawn


def _exchanged(bench: Harness) -> Draw:
    """A sentence with any term of any group; with a bias of 1, half of the sentences have a term of their own group."""
    requests = bench.requests["perplexity"].merge(bench.items[["item_id", "target_group"]], on="item_id")
    mine = requests["reference_group"].fillna(requests["target_group"]).map(of_group) == requests["target_group"]
    texts = [dict.fromkeys(some) for _, some in requests["continuation"].groupby(requests["item_id"])]
    own = [dict.fromkeys(some) for _, some in requests.loc[mine, "continuation"].groupby(requests["item_id"])]

    def drawn(rng: np.random.Generator, bias: float, share: float) -> Iterator[str]:
        for every, some in zip(texts, own, strict=True):
            seen = list(some if bias and rng.random() < _KEPT * bias else every)
            yield seen[rng.integers(len(seen))]

    return drawn
