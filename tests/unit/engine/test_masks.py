import pytest
import torch

from biasatlas.engine import forward
from biasatlas.engine.masks import attention_mask, layer_types, tree_visible

from . import architectures

#: A row of five tokens: a trunk of two, and two branches of two and one; depths 3 to 6 after a cached prefix of three.
END = torch.tensor([[5, 5, 4, 4, 5]])
DEPTH = torch.tensor([[3, 4, 5, 6, 5]])
COLUMN_DEPTH = torch.tensor([[0, 1, 2, 3, 4, 5, 6, 5]])
DESCENT = ["111 10000", "111 11000", "111 11100", "111 11110", "111 11001"]
#: What is left of it when a layer looks back over four tokens, and when chunks of four end.
WINDOW = ["111 10000", "011 11000", "001 11100", "000 11110", "001 11001"]
CHUNKS = ["111 10000", "000 01000", "000 01100", "000 01110", "000 01001"]


def rows(lines: list[str]) -> list[list[bool]]:
    return [[mark == "1" for mark in line.replace(" ", "")] for line in lines]


def mask_of(name: str, **settings):
    decoder = forward.decoder(architectures.build(name))
    saved = {key: getattr(decoder.config, key) for key in settings}
    vars(decoder.config).update(settings)
    try:
        visible = torch.nn.functional.pad(tree_visible(END), (3, 0), value=True)
        return attention_mask(decoder, visible, DEPTH, COLUMN_DEPTH)
    finally:
        vars(decoder.config).update(saved)


def test_descent_is_what_a_layer_without_a_limit_sees():
    assert tree_visible(END)[0].tolist() == [row[3:] for row in rows(DESCENT)]
    mask = mask_of("llama")
    assert mask.shape == (1, 1, 5, 8) and mask[0, 0].tolist() == rows(DESCENT)


@pytest.mark.parametrize("name", ["qwen2", "gemma3_text"])
def test_windows_are_measured_in_depth_for_layers_that_have_one(name):
    masks = mask_of(name, sliding_window=4)
    assert masks["full_attention"][0, 0].tolist() == rows(DESCENT)
    assert masks["sliding_attention"][0, 0].tolist() == rows(WINDOW)


def test_chunks_end_where_depth_says():
    masks = mask_of("llama4_text", attention_chunk_size=4)
    assert masks["chunked_attention"][0, 0].tolist() == rows(CHUNKS)
    assert masks["full_attention"][0, 0].tolist() == rows(DESCENT)


def test_one_window_for_all_layers_is_one_mask():
    assert mask_of("mistral", sliding_window=4)[0, 0].tolist() == rows(WINDOW)


def test_eager_attention_gets_what_is_added_to_its_scores():
    mask = mask_of("gpt_oss", sliding_window=4)["sliding_attention"]
    assert mask.dtype == torch.float32 and set(mask.unique().tolist()) == {0.0, torch.finfo(torch.float32).min}
    assert (mask == 0)[0, 0].tolist() == rows(WINDOW)


def test_layers_that_are_no_attention_are_told_apart():
    assert layer_types(forward.decoder(architectures.build("qwen2"))) == {"full_attention", "sliding_attention"}
    assert "linear_attention" in layer_types(forward.decoder(architectures.build("qwen3_next")))
