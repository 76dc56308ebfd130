import contextlib

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from biasatlas.engine import masks, selfcheck
from biasatlas.engine.routes import States
from biasatlas.engine.selfcheck import choose_route

from . import architectures


@contextlib.contextmanager
def in_bfloat16(name):
    model = architectures.build(name).to(torch.bfloat16)
    try:
        yield model
    finally:
        architectures.build.cache_clear()


def siblings(end):
    """Each token sees all before it, of other branches too."""
    return torch.ones(len(end), end.shape[1], end.shape[1], dtype=torch.bool).tril()


@pytest.mark.parametrize("name", ["qwen2", "gpt_oss", "mixtral"])
def test_rounding_of_16_bits_is_no_reason_to_refuse(name):
    with in_bfloat16(name) as model:
        assert choose_route(model).name == "tree"


@pytest.mark.parametrize("name", ["qwen2", "mixtral"])
@pytest.mark.parametrize("wrong", ["siblings are seen", "windows are forgotten"])
def test_a_wrong_mask_is_refused_in_16_bits_too(name, wrong, monkeypatch):
    if wrong == "siblings are seen":
        monkeypatch.setattr("biasatlas.engine.tree.tree_visible", siblings)
    else:
        monkeypatch.setattr(masks, "span", lambda config, layer_type: None)
    with in_bfloat16(name) as model:
        route = choose_route(model)
        assert route.name == "states" and "does not follow a tree mask" in route.reason


def test_states_that_are_forgotten_are_refused(monkeypatch):
    def forgetful(self, layout, cached, keep):
        prefix = None if cached.state is None else torch.zeros(1)
        hidden, state = real(self, layout, type(cached)(None, cached.last, cached.log_probabilities), keep)
        return hidden, state if prefix is None else None

    real = States._forward
    assert choose_route(architectures.build("mamba2")).name == "states"
    monkeypatch.setattr(States, "_forward", forgetful)
    route = choose_route(architectures.build("mamba2"))
    assert route.name == "plain" and "does not follow copies of its states" in route.reason


@pytest.mark.parametrize("name, found", [("jamba", "plain"), ("lfm2", "states")])
def test_lost_states_show_in_32_bits_where_16_hide_them(name, found, monkeypatch):
    monkeypatch.setattr(selfcheck, "LIMITS", {0.9: 1e9})  # as rounding would on a model that hardly uses its states
    with in_bfloat16(name) as model:
        weights = {key: tensor.clone() for key, tensor in model.state_dict().items()}
        assert choose_route(model).name == found
        after = model.state_dict()
        assert all(torch.equal(after[key], kept) and after[key].dtype == kept.dtype for key, kept in weights.items())
        assert all(tensor.dtype == torch.bfloat16 for tensor in model.parameters())


def test_windows_are_short_for_the_check_alone():
    model = architectures.build("qwen2")
    model.config.sliding_window = 4096
    try:
        assert choose_route(model).name == "tree" and model.config.sliding_window == 4096
    finally:
        model.config.sliding_window = architectures.LENGTHS["sliding_window"]


def test_a_model_of_few_positions_is_checked_within_them():
    config = GPT2Config(
        vocab_size=97, n_embd=24, n_layer=2, n_head=2, n_positions=30, bos_token_id=None, eos_token_id=0
    )
    assert choose_route(GPT2LMHeadModel(config).eval()).name == "tree"


def test_a_loop_that_mixes_up_its_rows_writes_one_text_at_a_time():
    assert choose_route(architectures.build("rwkv")).writes == "alone"
    assert choose_route(architectures.build("mamba2")).writes == "rows"


def test_the_route_of_a_model_is_the_same_every_time():
    model = architectures.build("mamba")
    assert choose_route(model) == choose_route(model)
