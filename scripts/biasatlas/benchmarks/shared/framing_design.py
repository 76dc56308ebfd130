"""Which framings of a benchmark are asked: a balanced fraction of all combinations. Light, for planning."""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

#: What a protocol that is asked under its framings has behind its name. A file of a protocol cannot have it.
FRAMED = "+framings"

#: Behind the name of a framing: the same answers, drawn again from what they were.
AGAIN = " (drawn again)"

#: More framings than this are a mistake.
MOST = 32


class Framing(NamedTuple):
    """One way of asking: its ``name``, and what differs from the protocol's own; '' where nothing does."""

    name: str
    system: str = ""
    persona: str = ""
    option_order: str = ""


def fraction(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """An orthogonal array of strength 2 for factors of these ``sizes`` (levels): rows of levels, the first all 0.

    In any two columns every two levels meet equally often, so that no factor's effect is another's. Columns of one
    prime size q are those of Rao and Hamming (q^r rows hold (q^r - 1)/(q - 1) of them); sizes are crossed with each
    other, and factors of one size that is no prime, too.
    """
    rows: list[dict[int, int]] = [{}]
    for q in dict.fromkeys(sizes):
        places = [place for place, size in enumerate(sizes) if size == q]
        prime = all(q % divisor for divisor in range(2, q))
        r = next(r for r in itertools.count(1) if len(places) <= ((q**r - 1) // (q - 1) if prime else r))
        points = list(itertools.product(range(q), repeat=r))
        # Of the multiples of a vector one: that whose first entry but 0 is 1. Those of a single entry come first.
        vectors = [v for v in points if next(filter(None, v), 0) == 1]
        vectors = sorted(vectors, key=lambda v: sum(map(bool, v)))[: len(places)]
        levels = [[sum(map(int.__mul__, point, vector)) % q for vector in vectors] for point in points]
        rows = [row | dict(zip(places, level, strict=True)) for row in rows for level in levels]
    return [tuple(row[place] for place in range(len(sizes))) for row in rows]


def framings(section: Mapping[str, Sequence[str]]) -> list[Framing]:
    """The framings of a section of the configuration, without the protocol's own.

    A level of an order is named by its word, a text by its number, as "system 1 + option_order reversed".
    """
    factors = [name for name in Framing._fields[1:] if section[name]]
    found = []
    for row in fraction([1 + len(section[name]) for name in factors])[1:]:
        chosen = {name: level for name, level in zip(factors, row, strict=True) if level}
        values = {name: section[name][level - 1] for name, level in chosen.items()}
        words = [f"{name} {values[name] if name == 'option_order' else level}" for name, level in chosen.items()]
        found.append(Framing(" + ".join(words), **values))
    return found
