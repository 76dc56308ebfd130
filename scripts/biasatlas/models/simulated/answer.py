"""Answer requests of any kind by the formula; nothing is stored, since nothing takes long."""

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from biasatlas.benchmarks import registry
from biasatlas.columns import RESPONSE_COLUMNS
from biasatlas.errors import UserError
from biasatlas.files import read_parquet
from biasatlas.models.interface import ModelContext
from biasatlas.models.simulated import formula
from biasatlas.models.simulated.entry import SimulatedEntry
from biasatlas.models.store import ResponseStore

#: What it writes in place of a label or an analysis, by language: a refusal, and a reply that cannot be parsed.
_REFUSAL = {"en": "I'm sorry, I cannot answer that.", "zh": "抱歉，我无法回答。"}
_UNREADABLE = {"en": "Hm.", "zh": "嗯……"}
_ANALYSIS = "分析如上。质量：{:.4f}"

#: Replaces the formula's log odds, or the nats of texts, by others.
Change = Callable[[SimulatedEntry, NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True)
class SimulatedModel:
    """A simulated model and the ``items`` of the benchmark that it is asked about."""

    name: str
    entry: SimulatedEntry
    benchmark: str
    items: pd.DataFrame

    def answer(
        self, requests: pd.DataFrame, task: str, store: ResponseStore | None = None, share: tuple[int, int] = (0, 1)
    ) -> tuple[pd.DataFrame, dict]:
        """The formula's responses to ``requests``; they depend on nothing but the entry and the items."""
        metadata = {"model": self.name, "entry": self.entry.model_dump(mode="json", exclude={"published_as"})}
        questions = Questions.of(self.benchmark, self.items, requests, task)
        return questions.answer(self.entry), metadata


@dataclass(frozen=True)
class Questions:
    """Requests of one kind, prepared for entries to answer: what does not depend on the entry is computed once.

    ``change`` is how a simulation study changes the formula's values; None in a run.
    """

    requests: pd.DataFrame
    kind: str
    language: str
    asked: formula.TaskRun
    texts: "Texts | None" = None
    labels: Sequence[Sequence[str]] = ()
    #: The texts that labels stand for, if requests ask for a choice between texts; one label after the other.
    chosen_texts: "Texts | None" = None
    change: Change | None = None

    @classmethod
    def of(cls, benchmark: str, items: pd.DataFrame, requests: pd.DataFrame, task: str) -> "Questions":
        """The ``requests`` of a task of ``benchmark``, or a judge's about it."""
        kind, language = requests["kind"].iloc[0], registry.spec_view(benchmark, "bias_roles").language[:2]
        roles = registry.bias_roles(benchmark)(items, requests, task)
        asked = formula.TaskRun.of(roles, requests["request_id"].to_numpy(object))
        if kind == "likelihood":
            texts = Texts.of(requests["continuation"], items[list(registry.texts(benchmark))], language)
            return cls(requests, kind, language, asked, texts=texts)
        listed = requests["labels"] if "labels" in requests else pd.Series([None] * len(requests))
        parsed = {text: json.loads(text) if isinstance(text, str) else [] for text in listed.unique()}
        named = _texts_of_labels(requests, items, registry.texts(benchmark), language)
        return cls(requests, kind, language, asked, labels=[parsed[text] for text in listed], chosen_texts=named)

    def answer(self, entry: SimulatedEntry) -> pd.DataFrame:
        """The responses of ``entry``, in the RESPONSE_COLUMNS of the requests' kind."""
        answer = {"likelihood": self._likelihoods, "choice": self._choices, "generation": self._replies}
        return answer[self.kind](entry)[list(RESPONSE_COLUMNS[self.kind])]

    def _likelihoods(self, entry: SimulatedEntry) -> pd.DataFrame:
        return self.told(self.log_likelihoods(entry))

    def told(self, value: NDArray[np.float64]) -> pd.DataFrame:
        """Responses whose texts have these log-likelihoods, in nats."""
        return self._frame(log_likelihood=value, tokens=self.tokens, nll_per_token=-value / self.tokens)

    def log_likelihoods(self, entry: SimulatedEntry) -> NDArray[np.float64]:
        """The log-likelihood of each text, in nats."""
        if self.texts is None:
            raise ValueError("requests for likelihoods have texts")
        value = formula.log_likelihoods(entry, self.asked, self.texts.cost(entry))
        return self.change(entry, value) if self.change else value

    @cached_property
    def tokens(self) -> NDArray[np.int_]:
        """How many tokens each text has."""
        if self.texts is None:
            raise ValueError("requests for likelihoods have texts")
        return self.texts.tokens

    def _choices(self, entry: SimulatedEntry) -> pd.DataFrame:
        *labels, refused, unparseable = self.chosen(entry).T
        rows = np.column_stack(labels).tolist()
        shares = [json.dumps(row[: len(names)]) for row, names in zip(rows, self.labels, strict=True)]
        return self._frame(
            probabilities=shares, refused=refused, ambiguous=0.0, unparseable=unparseable, unresolved=0.0, replies=None
        )

    def chosen(self, entry: SimulatedEntry) -> NDArray[np.float64]:
        """The masses as :meth:`_masses` has them or, if the entry is ``certain``, 1 for the outcome that is drawn."""
        masses = self._masses(entry)
        return np.eye(masses.shape[1])[formula.drawn(entry, self.asked, masses, 0)] if entry.certain else masses

    def _masses(self, entry: SimulatedEntry) -> NDArray[np.float64]:
        """Probabilities of the labels, of a refusal and of a reply that cannot be read: (requests, labels + 2)."""
        cost: NDArray[np.float64] | float = 0.0
        if self.chosen_texts is not None and entry.text_cost:
            cost = self.chosen_texts.cost(entry).reshape(-1, self.asked.roles.stereotype_sign.shape[1])
        own = self.change
        change = (lambda z: own(entry, z)) if own else None
        return np.column_stack(formula.probabilities(entry, self.asked, self._characters, cost, change))

    @cached_property
    def _characters(self) -> NDArray[np.float64]:
        """How many characters each label has; 1 for one that a request lacks."""
        width = self.asked.roles.stereotype_sign.shape[1]
        return np.array([[*map(len, row), *[1] * (width - len(row))] for row in self.labels], float)

    def _replies(self, entry: SimulatedEntry) -> pd.DataFrame:
        """A reply for each repeat: a label, an analysis that states its quality, a refusal, or nothing readable."""
        refusal, unreadable = _REFUSAL[self.language], _UNREADABLE[self.language]
        if self.asked.roles.stereotype_sign.ndim == 2:
            masses, says = self._masses(entry), self.labels
        else:
            masses, says = self._analysis_masses(entry), [[_ANALYSIS.format(entry.quality)]] * len(self.requests)
            unreadable = ""
        width = masses.shape[1] - 2
        parts = []
        for repeat in range(int(self.requests["repeats"].max())):
            place = formula.drawn(entry, self.asked, masses, repeat)
            texts = [
                row[at] if at < width else refusal if at == width else unreadable
                for row, at in zip(says, place, strict=True)
            ]
            part = self._frame(repeat=repeat, text=texts)
            parts.append(part[(self.requests["repeats"] > repeat).to_numpy()])
        replies = pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)
        length = replies["text"].str.len()
        return replies.assign(finish_reason="stop", prompt_tokens=0, completion_tokens=length)

    def _analysis_masses(self, entry: SimulatedEntry) -> NDArray[np.float64]:
        groups = self.asked.roles.group
        refused = formula.by_name(entry.refused, entry.refused_by_group, groups)
        unreadable = (1 - refused) * formula.by_name(entry.unreadable, entry.unreadable_by_group, groups)
        return np.column_stack([1 - refused - unreadable, refused, unreadable])

    def _frame(self, repeat: int = 0, **values: object) -> pd.DataFrame:
        keys = {"request_id": self.requests["request_id"].to_numpy(), "repeat": repeat, "status": "ok", "detail": ""}
        return pd.DataFrame({**keys, **values})


@dataclass(frozen=True)
class Texts:
    """Texts as tokens: words or, in Chinese, characters. ``place`` says which of the ``distinct`` texts each is."""

    place: NDArray[np.int_]
    distinct: Sequence[Sequence[str]]
    log_frequency: dict[str, float]
    unseen: float

    @classmethod
    def of(cls, texts: pd.Series, known: pd.DataFrame, language: str) -> "Texts":
        """``texts``, with tokens' frequencies in the columns of ``known``; one that never occurs there counts half."""
        counts: Counter[str] = Counter()
        for column in known:
            for text in known[column].dropna():
                counts.update(words_of(text, language))
        total = sum(counts.values()) or 1
        place, distinct = pd.factorize(texts)
        frequencies = {token: math.log(count / total) for token, count in counts.items()}
        return cls(place, [words_of(text, language) or [text] for text in distinct], frequencies, math.log(0.5 / total))

    @property
    def tokens(self) -> NDArray[np.int_]:
        """How many tokens each text has, at least 1."""
        return np.array([len(tokens) for tokens in self.distinct])[self.place]

    def cost(self, entry: SimulatedEntry) -> NDArray[np.float64]:
        """What the tokens of each text cost, in nats."""
        if not (entry.frequency or entry.token_noise):
            return entry.nats_per_token * self.tokens.astype(float)
        counts, names, log_frequency = self._occurring
        costs = entry.nats_per_token - entry.frequency * log_frequency
        if entry.token_noise:
            costs = costs + entry.token_noise * formula.normal(names, entry.seed, "token")
        return (counts @ costs)[self.place]

    @cached_property
    def _occurring(self) -> tuple[csr_array, formula.Hashes, NDArray[np.float64]]:
        """Counts of tokens (distinct texts × tokens), the tokens' hashes, and their log frequencies."""
        tokens, codes = np.unique([token for text in self.distinct for token in text], return_inverse=True)
        ends = np.cumsum([0, *map(len, self.distinct)])
        counts = csr_array((np.ones(len(codes)), codes, ends), shape=(len(self.distinct), len(tokens)))
        log_frequency = np.array([self.log_frequency.get(token, self.unseen) for token in tokens])
        return counts, formula.hashed(tokens.astype(object)), log_frequency


def _texts_of_labels(
    requests: pd.DataFrame, items: pd.DataFrame, columns: Sequence[str], language: str
) -> Texts | None:
    """The texts behind the labels of choices whose ``order`` names ``columns`` of items; None without an order."""
    first = requests["order"].iloc[0] if "order" in requests else None
    if not isinstance(first, str) or not set(json.loads(first)) <= set(columns):
        return None
    asked = items.set_index("item_id").loc[requests["item_id"], list(columns)].to_dict("records")
    texts = [row[name] for row, order in zip(asked, requests["order"], strict=True) for name in json.loads(order)]
    return Texts.of(pd.Series(texts), items[list(columns)], language)


def open_simulated(context: ModelContext) -> SimulatedModel:
    """The simulated model of an entry. Raises UserError without a benchmark's items: it can answer nothing else."""
    if not context.benchmark or context.items is None:
        raise UserError(
            f"models.{context.name}: a model of kind simulated answers a benchmark's items alone; name another writer."
        )
    return SimulatedModel(
        context.name, cast(SimulatedEntry, context.entry), context.benchmark, read_parquet(context.items)
    )


def words_of(text: str, language: str) -> list[str]:
    """The words of a text or, if it is Chinese, its characters."""
    return [character for character in text if not character.isspace()] if language == "zh" else text.split()
