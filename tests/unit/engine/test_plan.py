import math

import numpy as np
import pytest
from counting import calls
from hypothesis import given, settings
from hypothesis import strategies as st

from biasatlas.engine import plan

SEQUENCES = st.lists(
    st.lists(st.integers(0, 2), min_size=2, max_size=12).flatmap(
        lambda ids: st.tuples(st.just(ids), st.integers(1, len(ids) - 1))
    ),
    min_size=1,
    max_size=30,
)

FEW = settings(max_examples=40, deadline=None)


def trie_of(requests, trunk=0):
    """The trie of some requests, after a trunk of tokens that all share."""
    tokens = [np.asarray([7] * trunk + ids, np.int32) for ids, _ in requests]
    return plan.build_trie(tokens, np.asarray([trunk + start for _, start in requests])), tokens


def fed_paths(trie) -> set[tuple]:
    return {tuple(ids[:n].tolist()) for ids in trie.tokens for n in range(1, len(ids))}


@FEW
@given(SEQUENCES)
def test_a_trie_holds_every_request_once_in_depth_first_order(requests):
    (trie, where), tokens = trie_of(requests)
    assert [trie.tokens[at].tolist() for at in where] == [ids.tolist() for ids in tokens]
    assert [int(trie.start[at]) for at in where] == [start for _, start in requests]
    listed = [(ids.tolist(), int(start)) for ids, start in zip(trie.tokens, trie.start, strict=True)]
    assert listed == sorted(listed) and len(set(map(str, listed))) == len(listed)
    assert trie.unique_tokens == len(fed_paths(trie))


@FEW
@given(SEQUENCES, st.sampled_from([0, 5, 40]), st.sampled_from([4, 9, 256]), st.sampled_from([-50, 0, 64]))
def test_every_sequence_is_in_one_row_after_its_own_prefix(requests, trunk, row_tokens, pass_tokens):
    (trie, _), _ = trie_of(requests, trunk)
    root = plan.plan_prefixes(trie, row_tokens, pass_tokens)
    seen, fed = [], 0
    for prefix in plan.walk(root):
        for child in prefix.children:
            assert child.begin == prefix.end < child.end
        fed += prefix.end - prefix.begin
        shared = trie.tokens[prefix.of][: prefix.end].tolist()
        rows = plan.cut_rows(trie, prefix.members, prefix.end, row_tokens)
        for row in rows:
            assert all(trie.tokens[i][: prefix.end].tolist() == shared and trie.fed[i] >= prefix.end for i in row)
            assert all(trie.start[i] >= prefix.scored_from for i in row)
            width = plan.row_width(trie, row, prefix.end)
            paths = {
                tuple(trie.tokens[i][:n].tolist()) for i in row for n in range(prefix.end + 1, len(trie.tokens[i]))
            }
            assert width == len(paths)
            assert width <= row_tokens + trie.fed[row[0]] - prefix.end
            fed += width
        seen += [i for row in rows for i in row.tolist()]
    assert sorted(seen) == list(range(len(trie.tokens)))
    assert fed >= trie.unique_tokens


@FEW
@given(SEQUENCES, st.sampled_from([5, 9]), st.sampled_from([1, 8, 40, math.inf]), st.sampled_from([0, 4]))
def test_cuts_are_the_cheapest_there_are(requests, row_tokens, columns, row_worth):
    trunk = 3
    (trie, _), _ = trie_of(requests[:9], trunk)
    members = np.arange(len(trie.tokens))

    def cost(row: np.ndarray) -> float:
        width = plan.row_width(trie, row, trunk)
        return width * (1 + (trunk + width) / columns) + row_worth

    def cheapest(first: int) -> float:
        if first == len(members):
            return 0
        costs = [np.inf]
        for last in range(first + 1, len(members) + 1):
            if plan.row_width(trie, members[first:last], trunk) <= row_tokens + trie.fed[first] - trunk:
                costs.append(cost(members[first:last]) + cheapest(last))
        return min(costs)

    rows = plan.cut_rows(trie, members, trunk, row_tokens, columns, row_worth)
    assert sum(map(cost, rows)) == pytest.approx(cheapest(0))


@FEW
@given(SEQUENCES, st.sampled_from([0, 3]))
def test_a_token_sees_its_ancestors_and_itself(requests, trunk):
    (trie, _), _ = trie_of(requests, trunk)
    rows = plan.cut_rows(trie, np.arange(len(trie.tokens)), trunk, 9)
    layout = plan.lay_out(trie, rows, trunk)
    at = np.arange(layout.ids.shape[1])
    found = set()
    for r in range(len(rows)):
        visible = (at <= at[:, None]) & (at[:, None] < layout.end[r])
        width = plan.row_width(trie, rows[r], trunk)
        for i in range(width):
            ancestors = np.flatnonzero(visible[i])
            assert layout.position[r, ancestors].tolist() == list(range(trunk, trunk + len(ancestors)))
            found.add((7,) * trunk + tuple(layout.ids[r, ancestors].tolist()))
    assert found | {(7,) * n for n in range(1, trunk + 1)} == fed_paths(trie)
    asked = sorted((int(s), int(t)) for s, t in zip(layout.sequence, layout.target, strict=True))
    wanted = [(i, int(ids[p])) for i, ids in enumerate(trie.tokens) for p in range(max(trie.start[i], trunk), len(ids))]
    assert asked == sorted(wanted)


def test_a_shared_prompt_gets_a_cache_of_its_own():
    random = np.random.default_rng(0)
    prompts = [np.append(np.full(50, 9), random.integers(0, 5, 100)) for _ in range(2)]
    tokens = [np.append(p, random.integers(0, 99, 40)).astype(np.int32) for p in prompts for _ in range(60)]
    trie, _ = plan.build_trie(tokens, np.full(len(tokens), 150))
    root = plan.plan_prefixes(trie, 256, 64)
    ends = [(prefix.begin, prefix.end, len(prefix.members)) for prefix in plan.walk(root)]
    assert ends == [(0, 0, 0), (0, 50, 0), (50, 150, 60), (50, 150, 60)] or ends[-1] == (0, 150, 60)
    few, _ = plan.build_trie(tokens[:10], np.full(10, 150))
    assert plan.plan_prefixes(few, 256, 64).children == []


def planning_calls(requests: int) -> int:
    random = np.random.default_rng(0)
    prompts = random.integers(0, 9, (12, 30), dtype=np.int32)
    tails = random.integers(0, 20, (requests, 8), dtype=np.int32)
    tokens = [np.concatenate([prompts[i % 12], tail]) for i, tail in enumerate(tails)]
    start = np.full(requests, 30)

    def planning() -> None:
        trie, _ = plan.build_trie(tokens, start)
        for prefix in plan.walk(plan.plan_prefixes(trie, 256, 64)):
            plan.cut_rows(trie, prefix.members, prefix.end, 256)

    return calls(planning)[1]


def test_planning_grows_no_faster_than_n_log_n():
    planning_calls(500)
    small, large = (planning_calls(n) for n in (1000, 8000))
    assert large < small * 8 * 1.4  # log 8000 / log 1000 is 1.3


@FEW
@given(st.lists(st.integers(1, 50), min_size=1, max_size=9), st.integers(1, 200), st.integers(0, 60), st.integers(1, 9))
def test_batches_are_the_cheapest_there_are(widths, budget, pass_tokens, most_rows):
    batches = plan.pack_batches(widths, budget, pass_tokens, most_rows)
    assert sorted(row for batch in batches for row in batch) == list(range(len(widths)))
    assert all(len(batch) == 1 or len(batch) * max(widths[row] for row in batch) <= budget for batch in batches)
    assert max(map(len, batches)) <= most_rows
    falling = sorted(widths, reverse=True)

    def cheapest(first: int) -> float:
        if first == len(widths):
            return 0
        most = max(1, min(most_rows, budget // falling[first]))
        return pass_tokens + min(
            rows * falling[first] + cheapest(first + rows) for rows in range(1, 1 + min(most, len(widths) - first))
        )

    tokens = sum(len(batch) * max(widths[row] for row in batch) for batch in batches)
    assert tokens + pass_tokens * len(batches) == cheapest(0)
