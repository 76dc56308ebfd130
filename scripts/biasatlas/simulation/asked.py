"""Requests of a task as nuisances see them: their words, and random costs of words and of their combinations."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import stdtrit

from biasatlas.benchmarks.families.decisions.spec import BASELINE
from biasatlas.benchmarks.shared.bias_roles import Roles
from biasatlas.models.simulated import formula
from biasatlas.models.simulated.answer import Questions, words_of

Array = NDArray[np.float64]
Words = Sequence[str]


@dataclass(frozen=True)
class Spread:
    """Weights of names in each request, for sums in which every name has a random cost of its own."""

    weights: csr_array
    names: formula.Hashes

    @classmethod
    def of(cls, named: Sequence[Sequence[str]], weights: Sequence[Sequence[float]] | None = None) -> "Spread":
        """From the names in each request; each counts 1 unless ``weights`` say otherwise."""
        codes, names = pd.factorize(np.array([name for row in named for name in row], object))
        ends = np.cumsum([0, *map(len, named)])
        values = np.ones(len(codes)) if weights is None else np.array([w for row in weights for w in row], float)
        return cls(csr_array((values, codes, ends), shape=(len(named), len(names))), formula.hashed(names))

    def draw(self, seed: int) -> Array:
        """For each request, the weighted sum of its names' standard normals; a name has the same one everywhere."""
        return self.weights @ formula.normal(self.names, seed, "token")


@dataclass(frozen=True)
class TaskRequests:
    """The ``questions`` of a task, and the ``items`` they are about (a row for each item)."""

    questions: Questions
    items: pd.DataFrame

    @property
    def bias_roles(self) -> Roles:
        """Which text or label is the stereotype, and what a request is about."""
        return self.questions.asked.roles

    @cached_property
    def _item(self) -> NDArray[np.int_]:
        """The index of each request's item."""
        return pd.Index(self.items["item_id"]).get_indexer(self.questions.requests["item_id"])

    def column(self, name: str) -> NDArray[np.object_]:
        """A column of items, for each request."""
        return self.items[name].to_numpy(object)[self._item]

    @cached_property
    def _words(self) -> tuple[list[Words], NDArray[np.int_]]:
        """The words of each request's text, prefix included, and how many at its beginning are not scored."""
        requests, language = self.questions.requests, self.questions.language
        before = requests["prefix"].fillna("") if "prefix" in requests else pd.Series("", requests.index)
        first = [words_of(text, language) for text in before]
        then = [words_of(text, language) for text in requests["continuation"]]
        return [[*a, *b] for a, b in zip(first, then, strict=True)], np.array([len(words) for words in first])

    @cached_property
    def scored(self) -> Array:
        """How many words of each text are scored."""
        words, unscored = self._words
        return np.array([len(text) for text in words]) - unscored

    @cached_property
    def _special(self) -> list[list[tuple[int, str]]]:
        """For each text, the place and word of each of its words that is not in all texts of the item."""
        words = pd.Series(self._words[0])
        shared = {
            item: frozenset.intersection(*map(frozenset, texts))
            for item, texts in words.groupby(self._item, sort=False)
        }
        return [
            [(place, word) for place, word in enumerate(text) if word not in shared[item]]
            for text, item in zip(words, self._item, strict=True)
        ]

    @cached_property
    def swaps(self) -> Spread:
        """What each text has in place of what the base text of its item has there; the base is the text whose words
        come first alphabetically.

        The stereotype must not decide which text is the base: the same two words would then cost something in one
        direction alone.
        """
        special = pd.Series([" ".join(dict.fromkeys(word for _, word in text)) for text in self._special])
        first = special.groupby(self._item, sort=False).transform("min")
        return Spread.of([[f"{base}>{mine}"] * (mine != base) for mine, base in zip(special, first, strict=True)])

    @cached_property
    def bigrams(self) -> Spread:
        """Every two consecutive words of which the second is scored."""
        return Spread.of(
            [
                [f"{a} {b}" for a, b in zip(text[max(start - 1, 0) :], text[max(start, 1) :], strict=False)]
                for text, start in zip(*self._words, strict=True)
            ]
        )

    @cached_property
    def told_apart(self) -> Spread:
        """Every two words that are not in all texts of an item; if there is only one, it and the word after it."""
        rows = []
        for text, special in zip(self._words[0], self._special, strict=True):
            names = list(dict.fromkeys(word for _, word in special))
            pairs = [f"{a}+{b}" for place, a in enumerate(names) for b in names[place + 1 :]]
            after = [f"{word}+{text[place + 1]}" for place, word in special[-1:] if place + 1 < len(text)]
            rows.append(pairs or after)
        return Spread.of(rows)

    @cached_property
    def by_category(self) -> Spread:
        """Every word that is not in all texts of an item, with the category of the item."""
        topics = self.column("attribute_categories" if "attribute_categories" in self.items else "category")
        return Spread.of(
            [
                [f"{word}@{topic}" for word in dict.fromkeys(word for _, word in special)]
                for special, topic in zip(self._special, topics, strict=True)
            ]
        )

    @cached_property
    def confidence(self) -> Spread:
        """Every word, weighted by the number of scored words after it."""
        words, unscored = self._words
        later = [
            [len(text) - max(place + 1, start) for place in range(len(text))]
            for text, start in zip(words, unscored, strict=True)
        ]
        return Spread.of(words, later)

    @cached_property
    def rarity(self) -> Array:
        """The sum of the logs of the frequencies of the words that are not in all texts of an item."""
        return self._sum_of_logs([[word for _, word in text] for text in self._special])

    @cached_property
    def log_frequency(self) -> Array:
        """The sum of the logs of the frequencies of scored words."""
        words, unscored = self._words
        return self._sum_of_logs([text[start:] for text, start in zip(words, unscored, strict=True)])

    def _sum_of_logs(self, texts: Sequence[Words]) -> Array:
        known = self.questions.texts
        if known is None:
            raise ValueError("requests for likelihoods have texts")
        return np.array([sum(known.log_frequency.get(word, known.unseen) for word in text) for text in texts], float)

    def heavy(self, seed: int) -> Array:
        """For each request, a draw of Student's t with 2 degrees of freedom."""
        return stdtrit(2, formula.uniform(self.questions.asked.request, seed, "token"))

    def leaning(self, seed: int) -> Array:
        """A template's preference for one of two options, whoever it is about: half a standard normal up and down,
        (requests, labels)."""
        whole = formula.normal(self.questions.asked.cluster, seed, "token")
        return np.where(self._first_option, 0.5, -0.5) * whole[:, None]

    @cached_property
    def _first_option(self) -> NDArray[np.bool_]:
        """Whether a label stands for the first of an item's two options."""
        return np.array([[str(part).endswith("/1") for part in row] for row in self.bias_roles.part])

    @cached_property
    def first_groups(self) -> NDArray[np.bool_]:
        """Whether a request is about the first group of its category."""
        group = pd.Series(self.bias_roles.group)
        return (group == group.groupby(self.bias_roles.category).transform("min")).to_numpy()

    def arms(self, seed: int) -> Array:
        """For each request, the standard normal of its change of a case; a change has the same one everywhere."""
        return Spread.of([[arm] for arm in self.column("arm")]).draw(seed)

    @property
    def places(self) -> Array:
        """Where each case begins to differ from its scenario's baseline, or first case: 0 at its beginning, 1 at its
        end."""
        cases = pd.DataFrame({name: self.column(name) for name in ("scenario", "arm", "document")})
        plain = cases.sort_values("arm", key=lambda arm: arm != BASELINE, kind="stable").groupby("scenario")["document"]
        pairs = zip(cases["document"], cases["scenario"].map(plain.first()), strict=True)
        return np.array([_alike(case, other) / max(len(case), 1) for case, other in pairs])

    @property
    def characters(self) -> Array:
        """How many characters longer than the average each case is."""
        length = np.array([len(text) for text in self.column("document")], float)
        return length - length.mean()

    @property
    def ladder(self) -> Array:
        """From -0.5 for the first label to 0.5 for the last."""
        return np.linspace(-0.5, 0.5, self.bias_roles.stereotype_sign.shape[1])


def _alike(text: str, other: str) -> int:
    """The length of the beginning that two texts share."""
    shorter = min(len(text), len(other))
    return next((place for place in range(shorter) if text[place] != other[place]), shorter)
