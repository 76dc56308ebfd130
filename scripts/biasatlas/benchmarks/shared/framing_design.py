"""Which framings of a benchmark are asked: a balanced fraction of all combinations. Planning uses it: keep it light."""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

#: Suffix of the name of a protocol that is asked under its framings. A protocol's file cannot have it.
FRAMED = "+framings"

#: Suffix of a framing's name: its answers, drawn again from their shares.
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

    In any two columns every pair of levels occurs equally often, so that no factor's effect is mixed with another's.
    Columns of the same prime size q are those of Rao and Hamming (q^r rows have (q^r - 1)/(q - 1) of them). Different
    sizes are crossed with each other; so are factors of the same size if it is not prime.
    """
    rows: list[dict[int, int]] = [{}]
    for q in dict.fromkeys(sizes):
        places = [place for place, size in enumerate(sizes) if size == q]
        prime = all(q % divisor for divisor in range(2, q))
        r = next(r for r in itertools.count(1) if len(places) <= ((q**r - 1) // (q - 1) if prime else r))
        points = list(itertools.product(range(q), repeat=r))
        # One of all multiples of a vector: the one whose first non-zero entry is 1. Those with one entry come first.
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
