"""The plan of a run: which tokens are computed, once each where possible, and in which forward pass. Pure numpy.

Sequences sorted by token ids are the leaves of a trie in depth-first order, so the whole trie is two arrays: how many
tokens a sequence feeds, and how many of them it shares with its neighbour. A sequence's last token is never fed:
nothing is predicted from it, and sequences that differ in it alone share one forward pass.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

#: Tokens compared at a time when neighbours' common prefixes are found: 8 MiB of temporary arrays.
BLOCK = 2**18


@dataclass(frozen=True)
class Trie:
    """Distinct (tokens, start) pairs in depth-first order.

    ``fed[i]`` = len(tokens[i]) − 1; the first ``shared[i]`` of these are also the first of sequence i − 1 (0 for the
    first). Tokens from ``start[i]`` (at least 1) are scored. Holds references to the caller's arrays and 24 bytes a
    sequence; while sorting, 4 bytes a token and 100 bytes a sequence more.
    """

    tokens: list[np.ndarray]
    start: np.ndarray
    fed: np.ndarray
    shared: np.ndarray

    @property
    def unique_tokens(self) -> int:
        """Distinct prefixes: the fewest tokens that can be fed."""
        return int((self.fed - self.shared).sum())


@dataclass
class Prefix:
    """Tokens [begin, end) of sequence ``of``, computed once into a cache, and all that continues them.

    ``members`` are the sequences fed in rows right after this prefix, ``children`` the longer prefixes that get a cache
    of their own. Inside the prefix, tokens from ``scored_from`` are scored by some sequence. The root is empty.
    """

    of: int
    begin: int
    end: int
    scored_from: int
    members: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    children: list["Prefix"] = field(default_factory=list)


@dataclass(frozen=True)
class Layout:
    """One forward pass: arrays of rows × width, padded on the right, and what is asked of its hidden states.

    Token j of a row is visible to token i when j ≤ i < end[j]: inside j's subtree. ``position`` is the depth in the
    trie. ``parent`` holds the distinct flat indices whose hidden states are asked for. Ask k wants the log-probability
    of ``target[k]`` on behalf of ``sequence[k]``, after state ``slot[k]`` of these; with ``after_prefix``, slot 0 is
    the last state of the cached prefix and the others follow it.
    """

    ids: np.ndarray
    position: np.ndarray
    end: np.ndarray
    fed: int
    parent: np.ndarray
    after_prefix: bool
    slot: np.ndarray
    target: np.ndarray
    sequence: np.ndarray


def build_trie(tokens: Sequence[np.ndarray], start: np.ndarray) -> tuple[Trie, np.ndarray]:
    """The trie of the sequences (int32 ids, at least 2 each), and the index in it of every sequence."""
    keys = [(ids.astype(">u4").tobytes(), begin) for ids, begin in zip(tokens, start.tolist(), strict=True)]
    order = np.asarray(sorted(range(len(keys)), key=keys.__getitem__), np.int64)
    repeats = np.zeros(len(order), bool)
    repeats[1:] = [keys[a] == keys[b] for a, b in itertools.pairwise(order)]
    del keys
    where = np.empty(len(order), np.int64)
    where[order] = np.cumsum(~repeats) - 1
    distinct = order[~repeats]
    ordered = [tokens[i] for i in distinct]
    fed = np.fromiter(map(len, ordered), np.int64, len(ordered)) - 1
    shared = np.minimum(_common_prefixes(ordered, fed + 1), fed)
    shared[1:] = np.minimum(shared[1:], fed[:-1])
    return Trie(ordered, np.asarray(start)[distinct], fed, shared), where


def _common_prefixes(tokens: list[np.ndarray], length: np.ndarray) -> np.ndarray:
    """Length of the common prefix of each sequence and the one before it (0 for the first), in bounded blocks."""
    common = np.zeros(len(tokens), np.int64)
    block = np.cumsum(length) // BLOCK
    for first in np.flatnonzero(np.diff(block, prepend=-1)):
        last = int(np.searchsorted(block, block[first], side="right"))
        lo = max(int(first), 1)
        if lo >= last:
            continue
        flat = np.concatenate(tokens[lo - 1 : last])
        begins = np.cumsum(length[lo - 1 : last]) - length[lo - 1 : last]
        compared = np.minimum(length[lo - 1 : last - 1], length[lo:last])
        bounds = np.cumsum(compared) - compared
        offset = np.arange(compared.sum()) - np.repeat(bounds, compared)
        same = flat[np.repeat(begins[:-1], compared) + offset] == flat[np.repeat(begins[1:], compared) + offset]
        common[lo:last] = np.minimum.reduceat(np.where(same, np.repeat(compared, compared), offset), bounds)
    return common


def plan_prefixes(trie: Trie, row_tokens: int, pass_tokens: int) -> Prefix:
    """Choose the prefixes that are computed once into a cache, given rows of ``row_tokens``.

    A run of sequences with u unique tokens after a common prefix of m, under a cached prefix of d, makes about
    n = max(1, u / row) rows that each feed m − d tokens again. A cache saves all but one of these. It costs two forward
    passes, its own and one for rows that nothing else joins, counted as three: 3 ``pass_tokens``.

    ``row_tokens`` 0: each row is one sequence (or several that differ in their last token only), and copying what is
    kept of a prefix costs little beside a pass: a cache is made when (m − d)(rows − 1) > pass.
    """
    before = np.concatenate([[0], np.cumsum(trie.fed - trie.shared)])
    root = Prefix(0, 0, 0, 0)
    direct: dict[int, list[np.ndarray]] = {}
    stack = [(0, len(trie.fed), root)] if len(trie.fed) else []
    while stack:
        lo, hi, under = stack.pop()
        shared = trie.shared[lo + 1 : hi]
        common = int(shared.min()) if len(shared) else int(trie.fed[lo])
        unique = trie.fed[lo] - common + before[hi] - before[lo + 1]
        longer = common - under.end
        bounds = np.concatenate([[lo], lo + 1 + np.flatnonzero(shared == common), [hi]])
        if row_tokens:
            rows, cost = max(1.0, unique / row_tokens), 3 * pass_tokens
        else:
            rows, cost = 1 + np.count_nonzero(trie.fed[lo + 1 : hi] > shared), pass_tokens
        if longer > 0 and len(bounds) > 2 and longer * (rows - 1) > cost:
            child = Prefix(lo, under.end, common, int(trie.start[lo:hi].min()))
            under.children.append(child)
            under = child
        a, b = bounds[:-1], bounds[1:]
        large = (b - a > 1) & (trie.fed[a] - common + before[b] - before[a + 1] > row_tokens)
        stack.extend((int(x), int(y), under) for x, y in zip(a[large], b[large], strict=True))
        direct.setdefault(id(under), []).extend(np.arange(x, y) for x, y in zip(a[~large], b[~large], strict=True))
    for prefix in walk(root):
        parts = direct.get(id(prefix), [])
        prefix.members = np.sort(np.concatenate(parts)) if parts else prefix.members
        prefix.children.sort(key=lambda child: child.of)
    return root


def walk(prefix: Prefix) -> list[Prefix]:
    """The prefix and all below it, parents first."""
    found, stack = [], [prefix]
    while stack:
        found.append(stack.pop())
        stack.extend(reversed(found[-1].children))
    return found


def cut_rows(
    trie: Trie, members: np.ndarray, depth: int, row_tokens: int, columns: float = math.inf, row_worth: int = 0
) -> list[np.ndarray]:
    """Cut ``members`` (rising) into rows after a cached prefix of ``depth``.

    A row feeds its first sequence's whole path from ``depth``, and at most ``row_tokens`` that the others add to it. A
    cut repeats what its two sides share. A row of w tokens attends to depth + w columns; ``columns`` of them cost as
    much as all else that a layer does for a token. The cuts within the limit that minimise the sum over rows of
    w (1 + (depth + w) / columns) + ``row_worth`` are taken.
    """
    if not len(members):
        return []
    fed, shared = trie.fed[members] - depth, _shared_between(trie, members) - depth
    shared[0] = 0
    new = np.concatenate([[0], np.cumsum(fed - shared)])

    def cost(first: int, last: int) -> np.ndarray:
        width = shared[first:last] + new[last] - new[first:last]
        return width * (1 + (depth + width) / columns) + row_worth

    cuts = _cheapest(len(members), lambda first, last: new[last] - new[first + 1] <= row_tokens, cost)
    return [members[a:b] for a, b in cuts]


def _cheapest(
    count: int, fits: Callable[[int, int], bool], cost: Callable[[int, int], np.ndarray]
) -> list[tuple[int, int]]:
    """The cheapest way to cut ``count`` things into parts [first, last) that all fit.

    One thing always fits, and so does any part of what fits. ``cost(first, last)`` has the cost of each part that ends
    at ``last`` and begins at ``first`` or later.
    """
    # least[i]: the least cost of the first i things, where the last part begins at begin[i].
    least, begin = np.zeros(count + 1), np.zeros(count + 1, np.int64)
    first = 0
    for last in range(1, count + 1):
        while first < last - 1 and not fits(first, last):
            first += 1
        total = least[first:last] + cost(first, last)
        begin[last] = first + int(total.argmin())
        least[last] = total[begin[last] - first]
    cuts = [count]
    while cuts[-1]:
        cuts.append(int(begin[cuts[-1]]))
    return list(itertools.pairwise(reversed(cuts)))


def _shared_between(trie: Trie, members: np.ndarray) -> np.ndarray:
    """Fed tokens that each member shares with the member before it (for the first: with its neighbour in the trie)."""
    shared = trie.shared[members]
    if len(members) > 1:
        shared[1:] = np.minimum.reduceat(trie.shared[: members[-1] + 1], members[:-1] + 1)
    return shared


def row_width(trie: Trie, row: np.ndarray, depth: int) -> int:
    """Tokens that a row feeds."""
    shared = _shared_between(trie, row)
    return int(trie.fed[row[0]] - depth + (trie.fed[row] - shared)[1:].sum())


def pack_batches(widths: Sequence[int], token_budget: int, pass_tokens: int, most_rows: int) -> list[list[int]]:
    """Batches of rows by falling width: at most ``most_rows`` each, and ``token_budget`` padded tokens or one row.

    Of all such batches, those with the fewest padded tokens, where each batch counts as ``pass_tokens`` more.
    """
    order = sorted(range(len(widths)), key=lambda row: (-widths[row], row))
    falling = np.asarray([widths[row] for row in order], np.int64)

    def fits(first: int, last: int) -> bool:
        return last - first <= most_rows and falling[first] * (last - first) <= token_budget

    def cost(first: int, last: int) -> np.ndarray:
        return falling[first:last] * np.arange(last - first, 0, -1) + pass_tokens

    return [order[a:b] for a, b in _cheapest(len(order), fits, cost)]


def lay_out(trie: Trie, rows: Sequence[np.ndarray], depth: int) -> Layout:
    """The forward pass of some rows after a cached prefix of ``depth`` tokens."""
    widths = [row_width(trie, row, depth) for row in rows]
    width = max(widths)
    ids, position = np.zeros((len(rows), width), np.int64), np.zeros((len(rows), width), np.int64)
    end = np.full((len(rows), width), width, np.int64)
    parents, targets, sequences = [], [], []
    for r, row in enumerate(rows):
        path = np.full(int(trie.fed[row].max()) - depth + 1, -1)  # path[1 + k]: column of the path's token depth + k
        filled = open_to = 0
        for i, shared in zip(row.tolist(), _shared_between(trie, row).tolist(), strict=True):
            tokens, fed = trie.tokens[i], int(trie.fed[i])
            at = depth if not filled else shared
            added = fed - at
            if filled:
                end[r, path[1 + at - depth : open_to]] = filled
            ids[r, filled : filled + added] = tokens[at:fed]
            position[r, filled : filled + added] = np.arange(at, fed)
            path[1 + at - depth : 1 + fed - depth] = np.arange(filled, filled + added)
            filled, open_to = filled + added, 1 + fed - depth
            begin = max(int(trie.start[i]), depth)
            parent = path[begin - depth : 1 + fed - depth]
            parents.append(np.where(parent < 0, -1, parent + r * width))
            targets.append(tokens[begin:])
            sequences.append(np.full(len(parent), i))
        end[r, path[1:open_to]] = filled
    states, slot = np.unique(np.concatenate(parents), return_inverse=True)
    after_prefix = bool(len(states) and states[0] < 0)
    return Layout(
        ids,
        position,
        end,
        sum(widths),
        states[after_prefix:],
        after_prefix,
        slot,
        np.concatenate(targets),
        np.concatenate(sequences),
    )


def lay_out_prefix(trie: Trie, prefix: Prefix) -> Layout:
    """The forward pass of a prefix on top of the one above it: one row, plain causal order."""
    tokens = trie.tokens[prefix.of]
    width = prefix.end - prefix.begin
    asked = np.arange(max(prefix.scored_from, prefix.begin), prefix.end)
    states = asked - 1 - prefix.begin
    after_prefix = bool(len(states) and states[0] < 0)
    return Layout(
        tokens[None, prefix.begin : prefix.end].astype(np.int64),
        np.arange(prefix.begin, prefix.end)[None],
        np.full((1, width), width),
        width,
        states[after_prefix:],
        after_prefix,
        np.arange(len(asked)),
        tokens[asked],
        np.full(len(asked), prefix.of),
    )
