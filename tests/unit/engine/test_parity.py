"""A dozen architectures of each route against one forward pass of one sequence; bench/parity.py has them all."""

import pytest

from . import architectures, parity

ROUTES = {
    "qwen2": "tree",  # layers with and without a window
    "mistral": "tree",  # one window for all
    "gpt_oss": "tree",  # attention sinks, eager
    "gemma3n_text": "tree",  # shared keys and values
    "llama4_text": "tree",  # chunks
    "deepseek_v3": "tree",  # experts, compressed keys
    "modernbert-decoder": "tree",  # a head of several layers
    "bloom": "states",  # ALiBi
    "mamba2": "states",
    "qwen3_next": "states",
    "lfm2": "states",
    "rwkv": "states",  # no cache, and a loop that takes one text at a time
    "mamba": "plain",  # forgets its states when it goes on with several tokens
}


@pytest.mark.parametrize("name", ROUTES)
def test_the_engine_says_what_one_sequence_at_a_time_says(name):
    found = parity.compare(architectures.build(name))
    assert found.route.name == ROUTES[name] and bool(found.route.reason) == (ROUTES[name] != "tree"), found.route
    assert found.likelihood < 1e-4 and found.choice < 1e-4
    assert found.texts == found.of
