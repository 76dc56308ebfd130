"""What a model without bias may do that a metric could mistake for bias: a function for each, marked with its class.

A new one is one function here: its docstring's first line says what the model does, and every study with requests of
its kinds tries it, except studies of trained models. Its first parameter decides which of three forms it has:

``groups``                 returns settings of the simulated model; ``groups`` are those it is asked about, by category
``asked, values, seed``    returns other values than the formula's: nats of texts, or log odds of labels (requests,
                           labels)
``scores, cluster, seed``  returns other scores of the model; ``cluster`` is the column that they are sampled by

Light to import, since planning reads it: what is heavy is done by :class:`biasatlas.simulation.asked.TaskRequests`.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd

    from biasatlas.benchmarks.contract import Spec
    from biasatlas.simulation.asked import Array, TaskRequests

Class = Literal["additive", "interactive", "asking", "data"]

TEXTS, CHOICES = ("likelihood",), ("choice",)
BOTH = (*TEXTS, *CHOICES)

#: Groups that the requests of a study are about, by category.
Groups = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Nuisance:
    """A nuisance of a class: the function, the kinds of request that it is for, the columns of items that it reads."""

    kind: Class
    act: Callable[..., Any]
    of: Collection[str]
    columns: Collection[str] = ()

    @property
    def name(self) -> str:
        """The name of its function."""
        return self.act.__name__

    @property
    def sentence(self) -> str:
        """What the model does."""
        return (inspect.getdoc(self.act) or "").partition("\n")[0]

    @property
    def form(self) -> str:
        """What the function is given first: "groups", "asked" or "scores"."""
        return next(iter(inspect.signature(self.act).parameters))

    def fits(self, spec: "Spec", tasks: Collection[str]) -> bool:
        """Whether it applies to the ``tasks`` of a benchmark."""
        asked = {spec.tasks[task].kind for task in tasks}
        return not asked.isdisjoint(self.of) and set(self.columns) <= set(spec.items)

    def source(self) -> str:
        """Its code without comments: what decides its experiments."""
        return ast.unparse(ast.parse(textwrap.dedent(inspect.getsource(self.act))))


#: What a nuisance may be given first.
FORMS = ("groups", "asked", "scores")

#: Every nuisance by its name.
NUISANCES: dict[str, Nuisance] = {}


def nuisance(kind: Class, of: Collection[str], columns: Collection[str] = ()) -> Callable[[Callable], Callable]:
    """Register a function as a nuisance under its class and name. Raises ValueError if it has none of three forms."""

    def mark(function: Callable) -> Callable:
        made = Nuisance(kind, function, of, columns)
        if made.form not in FORMS:  # it would count as tried, and do nothing
            raise ValueError(f"{made.name}: its first parameter is {made.form!r}, expected one of {', '.join(FORMS)}")
        NUISANCES[made.name] = made
        return function

    return mark


def half(groups: Groups, value: float) -> dict[str, float]:
    """``value`` for every second group of each category, in alphabetical order."""
    return dict.fromkeys(sorted({name for names in groups.values() for name in names[::2]}), value)


# Additive: what a word, a side or a cluster costs by itself.


@nuisance("additive", BOTH)
def clusters(groups: Groups) -> dict[str, Any]:
    """30% of the variance of preferences belongs to the cluster."""
    return {"icc": 0.3}


@nuisance("additive", BOTH)
def noise(groups: Groups) -> dict[str, Any]:
    """The noise of a text or an option is 3 nats or log odds."""
    return {"noise": 3.0}


@nuisance("additive", TEXTS)
def length(groups: Groups) -> dict[str, Any]:
    """A token costs 4 nats."""
    return {"nats_per_token": 4.0}


@nuisance("additive", TEXTS)
def frequency(groups: Groups) -> dict[str, Any]:
    """Common words cost less: 0.3 of the log of their frequency."""
    return {"frequency": 0.3}


@nuisance("additive", TEXTS)
def token_noise(groups: Groups) -> dict[str, Any]:
    """Each word has a cost of its own, SD 1 nat."""
    return {"token_noise": 1.0}


@nuisance("additive", TEXTS)
def edit(groups: Groups) -> dict[str, Any]:
    """Each place that is not as the writer had it costs half a nat."""
    return {"edit": 0.5}


@nuisance("additive", BOTH, columns=("direction",))
def side(groups: Groups) -> dict[str, Any]:
    """One side of the pairs is liked by a nat, whatever the stereotype."""
    names = sorted({name for names in groups.values() for name in names})
    return {"bias_by_group": {name: 0.5 if place % 2 else -0.5 for place, name in enumerate(names)}}


# Interactive: what no sum of single words' costs can say.


@nuisance("interactive", TEXTS)
def swap(asked: "TaskRequests", values: "Array", seed: int) -> "Array":
    """Every swap of words has a cost of its own, SD 0.3 nats."""
    return values + 0.3 * asked.swaps.draw(seed)


@nuisance("interactive", TEXTS)
def term_by_next_word(asked: "TaskRequests", values: "Array", seed: int) -> "Array":
    """Every two words in a row have a cost of their own, SD 0.3 nats."""
    return values + 0.3 * asked.bigrams.draw(seed)


@nuisance("interactive", TEXTS)
def term_by_attribute(asked: "TaskRequests", values: "Array", seed: int) -> "Array":
    """Every two of the words that tell an item's texts apart have a cost of their own together, SD 0.5 nats."""
    return values + 0.5 * asked.told_apart.draw(seed)


@nuisance("interactive", TEXTS)
def term_by_topic(asked: "TaskRequests", values: "Array", seed: int) -> "Array":
    """Every word that tells texts apart has a cost of its own in each category, SD 0.3 nats."""
    return values + 0.3 * asked.by_category.draw(seed)


@nuisance("interactive", TEXTS)
def rarity_by_length(asked: "TaskRequests", values: "Array", seed: int) -> "Array":
    """A rare word costs more the more words follow it: 0.02 of the log of its frequency for each."""
    return values + 0.02 * asked.rarity * asked.scored


@nuisance("interactive", TEXTS)
def confidence_by_word(asked: "TaskRequests", values: "Array", seed: int) -> "Array":
    """Each word moves the cost of every word after it, SD 0.05 nats."""
    return values + 0.05 * asked.confidence.draw(seed)


@nuisance("interactive", TEXTS)
def surer_of_the_original(asked: "TaskRequests", values: "Array", seed: int) -> "Array":
    """In a text that is not as its writer had it everything costs 5% more, and common words cost less."""
    costly = values + 0.3 * asked.log_frequency
    return costly * (1 + 0.05 * (asked.bias_roles.edits > 0))


# Of asking: position, framing, verbosity, abstention.


@nuisance("asking", CHOICES)
def letter(groups: Groups) -> dict[str, Any]:
    """The option shown first is preferred by a log odds of 1."""
    return {"letter": 1.0}


@nuisance("asking", CHOICES)
def letter_by_group(groups: Groups) -> dict[str, Any]:
    """The option shown first is preferred by 1.5 in questions about every second group."""
    return {"letter_by_group": half(groups, 1.5)}


@nuisance("asking", BOTH)
def orders(groups: Groups) -> dict[str, Any]:
    """Every prompt and order of a question has noise of its own."""
    return {"prompt_correlation": 0.0}


@nuisance("asking", CHOICES)
def verbosity(groups: Groups) -> dict[str, Any]:
    """A label is preferred by 0.1 for each of its characters."""
    return {"label_length": 0.1}


@nuisance("asking", CHOICES)
def unknown(groups: Groups) -> dict[str, Any]:
    """The option that says it cannot be known is preferred by 1.5."""
    return {"unknown": 1.5}


@nuisance("asking", CHOICES)
def refused_by_group(groups: Groups) -> dict[str, Any]:
    """Questions about every second group are refused with a probability of 0.6."""
    return {"refused_by_group": half(groups, 0.6)}


@nuisance("asking", CHOICES)
def unreadable_by_group(groups: Groups) -> dict[str, Any]:
    """Replies to questions about every second group cannot be read with a probability of 0.6."""
    return {"unreadable_by_group": half(groups, 0.6)}


@nuisance("asking", CHOICES, columns=("polarity",))
def abstention_by_polarity(asked: "TaskRequests", values: "Array", seed: int) -> "Array":
    """In negative questions "unknown" is preferred by 1.5; the group they put down is liked by 1 in all questions."""
    negative = (asked.column("polarity") == "neg")[:, None]
    return (
        values + 1.5 * asked.bias_roles.unknown * negative + asked.bias_roles.stereotype_sign * (2.0 * negative - 1.0)
    )


@nuisance("asking", CHOICES, columns=("polarity",))
def framing(asked: "TaskRequests", values: "Array", seed: int) -> "Array":
    """In negative questions every answer is half as sure."""
    return values * (1 - 0.5 * (asked.column("polarity") == "neg"))[:, None]


@nuisance("asking", CHOICES, columns=("identity",))
def confidence_by_identity(asked: "TaskRequests", values: "Array", seed: int) -> "Array":
    """Answers about one identity of each sort are 20% less sure, in log odds whose SD over templates is 1.5."""
    sure = values + 1.5 * asked.leaning(seed)
    return sure * (1 - 0.2 * asked.first_groups)[:, None]


@nuisance("asking", CHOICES, columns=("identity",))
def twice_as_sure(asked: "TaskRequests", values: "Array", seed: int) -> "Array":
    """Answers about one identity of each sort are twice as sure, in log odds whose SD over templates is 1.5."""
    sure = values + 1.5 * asked.leaning(seed)
    return sure * (1 + asked.first_groups)[:, None]


@nuisance("asking", CHOICES, columns=("document",))
def edits(asked: "TaskRequests", values: "Array", seed: int) -> "Array":
    """Every change of a case has an effect of its own in all scenarios, a placebo, too: SD 1 from least to most."""
    return values + asked.arms(seed)[:, None] * asked.ladder


@nuisance("asking", CHOICES, columns=("document",))
def earlier_edits(asked: "TaskRequests", values: "Array", seed: int) -> "Array":
    """As `edits`, but an effect is 1.5 times as large at the beginning of a case and falls to half of it at its end."""
    return values + (asked.arms(seed) * (1.5 - asked.places))[:, None] * asked.ladder


@nuisance("asking", CHOICES, columns=("document",))
def withheld(groups: Groups) -> dict[str, Any]:
    """Of the unfavourable decisions about every second group, 0.6 are refusals instead."""
    names = sorted({name for names in groups.values() for name in names if name})
    return {"withheld_by_group": dict.fromkeys(names[::2], 0.6)}


@nuisance("asking", CHOICES, columns=("document",))
def longer_is_better(asked: "TaskRequests", values: "Array", seed: int) -> "Array":
    """Each character of a case is liked by 0.02 between least and greatest answer."""
    return values + 0.02 * asked.characters[:, None] * asked.ladder


@nuisance("asking", CHOICES, columns=("document",))
def rounding(groups: Groups) -> dict[str, Any]:
    """The likeliest answer is always given, so that scores are whole numbers."""
    return {"certain": True}


# Of data: what is sampled is not as even as it looks.


@nuisance("data", TEXTS)
def heavy_tails(asked: "TaskRequests", values: "Array", seed: int) -> "Array":
    """Noise has the tails of Student's t with 2 degrees of freedom."""
    return values + 0.7 * asked.heavy(seed)


@nuisance("data", BOTH)
def duplicates(scores: "pd.DataFrame", cluster: str, seed: int) -> "pd.DataFrame":
    """Every item of a fifth of the clusters stands there four times."""
    few = scores[scores[cluster].astype("category").cat.codes.astype(int).mul(7919).add(seed) % 5 == 0]
    return _joined(scores, *[few.assign(item_id=few["item_id"] + f"#{copy}") for copy in (1, 2, 3)])


@nuisance("data", BOTH)
def few_clusters(scores: "pd.DataFrame", cluster: str, seed: int) -> "pd.DataFrame":
    """Twelve clusters of very unequal sizes are all there is."""
    largest = scores[cluster].value_counts().index
    kept = [*largest[:2], *largest[2 + seed % 5 :: max(1, len(largest) // 10)][:10]]
    return scores[scores[cluster].isin(kept)]


def _joined(*parts: "pd.DataFrame") -> "pd.DataFrame":
    import pandas as pd

    return pd.concat(parts, ignore_index=True)
