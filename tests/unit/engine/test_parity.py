"""Architectures of each route against one forward pass of one sequence; bench/parity.py has them all."""

import pytest
import transformers
from composite_models import NAMES as COMPOSITE
from transformers import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from biasatlas.engine import masks
from biasatlas.engine.memory import layer_shapes
from biasatlas.errors import UserError
from biasatlas.models.local.checkpoint import causal_architecture, check_causality

from . import architectures, parity

ROUTES = {
    "qwen2": "tree",  # layers with and without a window
    "mistral": "tree",  # one window for all
    "gpt_oss": "tree",  # attention sinks, eager
    "gemma3n_text": "tree",  # shared keys and values
    "gemma4_text": "tree",  # heads of two sizes
    "deepseek_v3": "tree",  # experts, compressed keys
    "modernbert-decoder": "tree",  # a head of several layers
    "bloom": "states",  # ALiBi
    "mamba2": "states",
    "bamba": "states",  # counts positions from 0 unless they are given
    "minimax": "states",  # a cache that reorders half of what it keeps
    "qwen3_next": "states",
    "lfm2": "states",
    "llama4_text": "states",  # attention is scaled by a token's place in what is kept
    "dots3_note_text": "states",  # looks at chosen tokens, layers of several shapes
    "rwkv": "states",  # no cache, and a loop that takes one text at a time
    "mamba": "plain",  # forgets its states when it goes on with several tokens
    "xlstm": "plain",  # the library's own loop fails on what it keeps
}
#: What is not a causal language model -> words of the sentence that a user gets.
REFUSED = {
    "is an encoder-decoder model": "bart bigbird_pegasus blenderbot blenderbot-small marian mbart mvp pegasus plbart "
    "prophetnet whisper",
    "is a bidirectional model": "bert big_bird camembert data2vec-text electra ernie megatron-bert reformer rembert "
    "roberta roberta-prelayernorm roc_bert roformer xlm xlm-roberta xlm-roberta-xl xmod",
    "is not a language model": "musicgen musicgen_melody",
    "drafts tokens for another model": "gemma4_assistant gemma4_unified_assistant",
    "has several decoders": "blt",
    "move by .* nats when later tokens change": "cpmant xlnet",
}
#: What the library's own default lacks.
DEFAULTS = {
    "gemma4_assistant": {
        "text_config": {"model_type": "gemma4_text", "hidden_size_per_layer_input": 0, "vocab_size_per_layer_input": 0}
    }
}


@pytest.mark.parametrize("name", ROUTES)
def test_the_engine_says_what_one_sequence_at_a_time_says(name):
    found = parity.compare(architectures.build(name))
    assert found.route.name == ROUTES[name] and bool(found.route.reason) == (ROUTES[name] != "tree"), found.route
    assert found.likelihood < 1e-4 and found.choice < 1e-4
    assert found.texts == found.of


@pytest.mark.parametrize("name, route", [("qwen2", "states"), ("mistral", "states"), ("llama", "tree")])
def test_a_decoder_whose_code_cannot_be_read_loses_a_route_at_most(name, route, monkeypatch):
    monkeypatch.setattr(masks, "_source", lambda forward: "")  # which says what masks it takes
    found = parity.compare(architectures.build(name))
    assert found.route.name == route and found.likelihood < 1e-4 and found.choice < 1e-4
    assert found.texts == found.of


def test_every_causal_class_of_the_library_is_compared_or_refused():
    refused = {name for names in REFUSED.values() for name in names.split()}
    others = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.keys() - refused - {*architectures.NAMES, *COMPOSITE}
    for name in others:  # of images or sound too: their texts are a decoder's that is on the list
        config = CONFIG_MAPPING[name]()
        text = config.get_text_config()
        assert text is not config or config.model_type != name, name
        assert text.model_type in architectures.NAMES, name
    assert not refused & {*architectures.NAMES}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_no_causal_language_model_is_refused_in_a_sentence(words):
    for name in REFUSED[words].split():
        with pytest.raises(UserError, match=words):
            model, _ = causal_architecture(CONFIG_MAPPING[name](**DEFAULTS.get(name, {})), name)
            check_causality(model(architectures.config(name)).eval(), name)


def test_nothing_that_differs_in_a_default_is_made_equal():
    transformers.logging.set_verbosity_error()
    for name in architectures.NAMES:
        default, tiny = CONFIG_MAPPING[name]().get_text_config(), architectures.config(name).get_text_config()
        given = architectures.MORE.get(name, {})
        shapes = [{one[:3] for one in layer_shapes(config)} for config in (default, tiny)]
        if not given:
            assert len(shapes[0]) == len(shapes[1]), name
            assert any(one.heads > one.kept_heads for one in layer_shapes(default)) == any(
                one.heads > one.kept_heads for one in layer_shapes(tiny)
            ), name
        for field, length in architectures.LENGTHS.items():
            if isinstance(getattr(default, field, None), int) and getattr(default, field) > 1:
                assert getattr(tiny, field) <= length < parity.LENGTH, (name, field)
