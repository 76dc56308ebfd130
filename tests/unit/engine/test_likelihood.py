import functools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from biasatlas.engine import plain, plan
from biasatlas.engine.generate import Slots
from biasatlas.engine.live import LiveRows
from biasatlas.engine.memory import Memory, NotFiniteError
from biasatlas.engine.routes import TREE, Route, log_likelihoods
from biasatlas.engine.selfcheck import choose_route
from biasatlas.engine.tree import Arriving, Tree

from . import tiny

#: ALiBi counts columns, which a tree does not have in order: its prefixes are copied, and the reason is said.
NOT_ON_TREE = {"bloom": "states"}
TOLERANCE = 1e-4

refusal = functools.cache(lambda name: choose_route(tiny.model(name)))


def hard_cases() -> tuple[list[np.ndarray], np.ndarray]:
    """Requests with all that is awkward: identical, prefixes of each other, one token, no context, over a row long."""
    random = np.random.default_rng(0)
    trunk = random.integers(2, tiny.VOCABULARY, 40)
    a, b, c = (np.append(trunk, random.integers(2, tiny.VOCABULARY, n)) for n in (9, 6, 5))
    long = np.append(trunk, random.integers(2, tiny.VOCABULARY, 290))
    requests = [(a, 40), (a, 40), (a[:-1], 40), (a[:-4], 3), (a[:41], 40), (b, 40), (b, 45), (c, 1), (c[3:], 1)]
    requests += [(long, 40), (long[:-1], 200), (np.append(a[:-1], 5), 48), (trunk[:2], 1)]
    return [ids.astype(np.int32) for ids, _ in requests], np.asarray([start for _, start in requests])


@functools.cache
def expected(name: str) -> np.ndarray:
    return np.asarray([tiny.one_at_a_time(tiny.model(name), *request) for request in zip(*hard_cases(), strict=True)])


@pytest.mark.parametrize("name", tiny.CONFIGS)
def test_equal_to_one_sentence_at_a_time(name):
    tokens, start = hard_cases()
    route = refusal(name)
    values, run = log_likelihoods(tiny.model(name), tokens, start, Memory(512), route)
    assert np.abs(values - expected(name)).max() < TOLERANCE
    assert route.name == NOT_ON_TREE.get(name, "tree") and bool(route.reason) == (name in NOT_ON_TREE), route
    assert run["tokens_unique"] <= run["tokens_fed"] <= run["tokens_asked"] == sum(map(len, tokens)) - len(tokens)


@pytest.mark.parametrize("name", ["qwen2", "gemma2", "gpt2"])
@pytest.mark.parametrize(("row_tokens", "pass_tokens"), [(8, -200), (20, 0), (64, 64)])
def test_rows_and_cached_prefixes_change_nothing(name, row_tokens, pass_tokens):
    tokens, start = hard_cases()
    trie, where = plan.build_trie(tokens, start)
    tree = Tree(tiny.model(name), Memory(128))
    tree.row_tokens, tree.pass_tokens = row_tokens, pass_tokens
    assert np.abs(tree.log_likelihoods(trie)[where] - expected(name)).max() < TOLERANCE


def test_values_that_come_late_are_the_same_to_the_bit():
    tokens, start = hard_cases()
    trie, _ = plan.build_trie(tokens[:9], start[:9])
    values = []
    for ahead in (0, 2):
        tree = Tree(tiny.model(), Memory(64))
        tree.row_tokens, tree.pass_tokens, tree.ahead = 8, -200, ahead
        done: list[int] = []
        values.append(tree.log_likelihoods(trie, done.append))
        assert sum(done) == len(trie.tokens)
    assert values[0].tolist() == values[1].tolist()


@pytest.mark.parametrize("name", ["qwen2", "gemma2", "mistral_window"])
def test_no_pass_waits_for_the_device(name, monkeypatch):
    """The device meta stands in for a busy GPU: it has no values, so to ask for one is an error."""

    class Never(Arriving):
        def __init__(self, values: torch.Tensor):
            assert len(values) == 0 or values.is_meta
            super().__init__(torch.zeros(len(values)))

    monkeypatch.setattr("biasatlas.engine.tree.Arriving", Never)
    trie, _ = plan.build_trie(*hard_cases())
    tree = Tree(tiny.fresh(name).to("meta"), Memory(64))
    tree.row_tokens, tree.pass_tokens = 8, -200
    slots = Slots(tree.forward, 100)

    def follow(live: LiveRows, layout: plan.Layout) -> None:
        slots.add(live, live.asked(layout)[:1])
        assert slots.feed([7] * len(slots.lengths)).is_meta

    assert not tree.run(trie, tree._log_probabilities, follow=follow).any()
    assert len(slots.lengths) > 3


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(["qwen2", "gpt_neox", "bloom"]),
    st.lists(st.lists(st.integers(2, 4), min_size=2, max_size=9), min_size=1, max_size=12),
    st.randoms(use_true_random=False),
    st.sampled_from([8, 40, 512]),
)
def test_any_requests_in_any_order_under_any_budget(name, requests, random, token_budget):
    tokens = [np.asarray(ids, np.int32) for ids in requests]
    start = np.asarray([random.randint(1, len(ids) - 1) for ids in requests])
    values, _ = log_likelihoods(tiny.model(name), tokens, start, Memory(token_budget), refusal(name))
    wanted = [tiny.one_at_a_time(tiny.model(name), *request) for request in zip(tokens, start, strict=True)]
    assert np.abs(values - wanted).max() < TOLERANCE
    order = random.sample(range(len(tokens)), len(tokens))
    half = len(order) // 2 or 1
    for shard in (order[:half], order[half:]):
        part, _ = log_likelihoods(tiny.model(name), [tokens[i] for i in shard], start[shard], Memory(64), refusal(name))
        assert np.abs(part - values[shard]).max(initial=0) < TOLERANCE


def test_a_boolean_mask_under_eager_attention_would_be_caught():
    """The trap that the self-check is there for: a wrong mask gives numbers, only wrong ones."""
    model = tiny.model("gemma2")
    assert choose_route(model).name == "tree"
    base, forward = model.base_model, model.base_model.forward

    def causal_only(*arguments, attention_mask=None, **keywords):
        if isinstance(attention_mask, dict):
            attention_mask = {name: mask.bool() for name, mask in attention_mask.items()}
        return forward(*arguments, attention_mask=attention_mask, **keywords)

    base.forward = causal_only
    try:
        assert "does not follow a tree mask" in choose_route(model).reason
    finally:
        del base.forward


@pytest.mark.parametrize("route", [TREE, Route("plain", "the test asks for padded batches")])
def test_out_of_memory_halves_the_budget_and_goes_on(route, monkeypatch):
    model, fed, random = tiny.model("qwen2"), [], np.random.default_rng(0)
    tokens = [np.append([7, 8], random.integers(2, 9, random.integers(1, 40))).astype(np.int32) for _ in range(60)]
    start = np.full(len(tokens), 2)
    forward = model.base_model.forward

    def short_of_memory(input_ids, **keywords):
        if input_ids.numel() > 150:
            raise torch.OutOfMemoryError("injected")
        fed.append(input_ids.numel())
        return forward(input_ids=input_ids, **keywords)

    monkeypatch.setattr(model.base_model, "forward", short_of_memory)
    memory = Memory(2048)
    values, run = log_likelihoods(model, tokens, start, memory, route)
    assert memory.token_budget in (64, 128, 256) and max(fed) <= 150
    assert sum(fed) < 1.5 * run["tokens_fed"]  # it went on from where it was
    monkeypatch.undo()
    wanted = [tiny.one_at_a_time(model, *request) for request in zip(tokens, start, strict=True)]
    assert np.abs(values - wanted).max() < TOLERANCE

    monkeypatch.setattr(model.base_model, "forward", lambda *a, **k: (_ for _ in ()).throw(torch.OutOfMemoryError("x")))
    with pytest.raises(torch.OutOfMemoryError):
        log_likelihoods(model, tokens, start, Memory(2048), route)


def test_a_fixed_budget_is_not_halved():
    memory = Memory(64, fixed=True)
    with pytest.raises(torch.OutOfMemoryError), memory.halved_if_exhausted(splittable=True):
        raise torch.OutOfMemoryError("injected")
    assert memory.token_budget == 64


@pytest.mark.parametrize("route", [TREE, Route("plain", "the test asks for padded batches")])
def test_a_nan_names_the_sequence(route):
    model = tiny.model("qwen2")
    embeddings = model.get_input_embeddings().weight
    saved = embeddings[399].clone()
    tokens = [np.asarray(ids, np.int32) for ids in ([2, 3, 4], [2, 399, 4], [2, 3, 5])]
    with torch.no_grad():
        embeddings[399] = float("nan")
    try:
        with pytest.raises(NotFiniteError) as error:
            log_likelihoods(model, tokens, np.asarray([1, 1, 1]), Memory(64), route)
    finally:
        with torch.no_grad():
            embeddings[399] = saved
    assert error.value.sequence == 1 and np.isnan(error.value.value)


def test_next_logits_are_those_of_the_plain_forward_pass():
    model = tiny.model("qwen2")
    tokens = [ids[:-1] for ids in hard_cases()[0]]
    for run in (
        lambda visit: Tree(model, Memory(64)).next_logits(tokens, visit),
        lambda visit: plain.next_logits(model, tokens, Memory(64), visit),
    ):
        found = {}
        run(lambda at, logits, found=found: found.update(zip(at, logits.clone(), strict=True)))
        assert sorted(found) == list(range(len(tokens)))
        for i, logits in found.items():
            with torch.inference_mode():
                wanted = model(input_ids=torch.as_tensor(tokens[i][None].astype(np.int64))).logits[0, -1]
            assert torch.allclose(logits, wanted, atol=1e-4)


def test_16_bit_stays_within_its_rounding():
    model = tiny.model("qwen2").to(torch.bfloat16)
    try:
        assert choose_route(model).name == "tree"
        values, _ = log_likelihoods(model, *hard_cases(), Memory(512))
    finally:
        model.to(torch.float32)
    scale = np.abs(expected("qwen2"))
    assert (np.abs(values - expected("qwen2")) < 0.05 * scale + 0.5).all()
