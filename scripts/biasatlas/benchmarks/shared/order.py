"""The order in which items are asked in rounds: any first part of it is a small copy of the benchmark."""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biasatlas.columns import Factor
from biasatlas.stats import Array

#: The seed of every order, so that all models of all runs are asked in the same order.
SEED = 1

#: Shares of the items that rounds end with: 1/64, 1/48, 1/32 and so on, closest where most plain biases show.
SHARES = tuple(n / 192 for n in (3, 4, 6, 8, 12, 16, 24, 32, 40, 48, 60, 72, 96, 128, 192))

#: If a column has at most this many values, each value has its share of every first part.
_FEW = 8

#: From this many items on, a round need not have one of every cluster: those that it has are a sample of them.
MANY = 100


def clusters(items: pd.DataFrame, design: Mapping[str, Factor]) -> list[str]:
    """The columns of ``items`` that name their clusters (templates, writers); empty if each item is a cluster."""
    named = (name for factor in design.values() if factor.sampled for name in factor.items)
    return [name for name in dict.fromkeys(named) if name != "item_id" and name in items]


def asking_order(items: pd.DataFrame, design: Mapping[str, Factor], seed: int = SEED) -> list[str]:
    """The ``item_id`` of all ``items``, ordered so that each first part has its share of every category and cluster.

    Within a cluster, the values of every column with few values are spread evenly (a condition, a direction, the
    answer's place). The levels of a factor that is asked whole follow one another. The order depends on ``seed``, on
    names and on values, not on the order of the rows.
    """
    return next(asking_orders(items, design, [seed]))


def asking_orders(items: pd.DataFrame, design: Mapping[str, Factor], seeds: Iterable[int]) -> Iterator[list[str]]:
    """Yield :func:`asking_order` for each of ``seeds``."""
    ids = items["item_id"].astype(str).to_numpy(object)
    by_name = pd.factorize(ids, sort=True)[0]
    if whole := _whole(design):
        levels = [pd.factorize(_cells(items, whole))]
    else:
        sampled = clusters(items, design)
        values = {name: _named(items[name]).nunique() for name in items if name not in sampled}
        strata = sorted((name for name, count in values.items() if 1 < count <= _FEW), key=lambda name: values[name])
        # From the finest cells to the coarsest: each spreads its items evenly, and keeps the order they have by then.
        columns = [[*sampled, *strata[:depth]] for depth in range(len(strata), -1, -1)]
        columns += [["category"]] if "category" in items else []
        levels = [pd.factorize(_cells(items, each)) for each in columns]
    for seed in seeds:
        if whole:
            ((codes, names),) = levels
            place = _fractions(seed, names)[codes]
        else:
            place = _fractions(seed, ids)
            for codes, names in levels:
                place = _spread(place, codes, _fractions(seed, names))
        yield ids[np.lexsort((by_name, place))].tolist()


def first_part(items: pd.DataFrame, design: Mapping[str, Factor], share: float) -> set[str]:
    """The first items of the order, a ``share`` of all (above 0, at most 1); whole levels of a factor asked whole."""
    order = asking_order(items, design)
    part = items["item_id"].astype(str).isin(order[: math.ceil(share * len(order))])
    if whole := _whole(design):
        cells = _cells(items, whole)
        part = cells.isin(cells[part])
    return set(items.loc[part, "item_id"])


def _whole(design: Mapping[str, Factor]) -> list[str]:
    return [name for factor in design.values() if factor.whole for name in factor.items]


def rounds_of(
    items: pd.DataFrame, design: Mapping[str, Factor], order: Sequence[str], tasks: Iterable[Iterable[str]] = ()
) -> list[tuple[float, list[str]]]:
    """For each round, the share of ``order`` that it ends with, and the items of all rounds up to it.

    A level of a factor that is asked whole is in a round with all its items or with none. Rounds have at least as many
    items as there are clusters (or :data:`MANY`), and an item of each of ``tasks``.
    """
    sampled = clusters(items, design)
    asked = items if len(order) == len(items) else items[items["item_id"].isin(order)]
    least = len(asked[sampled].drop_duplicates()) if sampled else 1
    least = min(least, MANY)
    place = {item: number for number, item in enumerate(order, 1)}
    least = max([least, *(min(place[item] for item in of_task) for of_task in tasks)])
    ends = _ends(asked, design, place)
    shares = {int(ends[np.searchsorted(ends, share * len(order))]): share for share in SHARES}
    return [(share, list(order[:size])) for size, share in shares.items() if share == 1 or size >= least]


def _ends(asked: pd.DataFrame, design: Mapping[str, Factor], place: Mapping[str, int]) -> NDArray[np.int_]:
    """The numbers of items, rising, after which a round may end."""
    if whole := _whole(design):
        return np.sort(asked["item_id"].map(place).groupby(_cells(asked, whole)).max().to_numpy(int))
    return np.arange(1, len(place) + 1)


def _cells(items: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    named = [_named(items[name]) for name in columns]
    return named[0].str.cat(named[1:], sep="\0") if named else pd.Series("", items.index)


def _named(column: pd.Series) -> pd.Series:
    """The values of a column as texts; missing counts as a value, too."""
    return column.astype(str).fillna("")


def _spread(place: Array, codes: NDArray[np.int_], start: Array) -> Array:
    """Places from 0 to 1 in the same order within each cell (``codes`` are cells): (rank + ``start``) / cell size."""
    order, sizes = np.lexsort((place, codes)), np.bincount(codes)
    rank = np.empty(len(codes))
    rank[order] = np.arange(len(codes)) - np.repeat(sizes.cumsum() - sizes, sizes)
    return (rank + start[codes]) / sizes[codes]


def _fractions(seed: int, names: Iterable[str]) -> Array:
    """A number from 0 to 1 for each name, which depends on the seed and the name alone."""
    digests = (hashlib.blake2b(f"{seed}\0{name}".encode(), digest_size=8).digest() for name in names)
    return np.array([int.from_bytes(digest, "big") / 2**64 for digest in digests])
