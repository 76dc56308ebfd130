import numpy as np
import pytest

from biasatlas.engine.encode import BOUNDARIES, encode_pairs, encode_texts

from .tiny import TEXTS, tokenizer

BOS = 1
PREFIXES = ["The nurse said ", "The nurse said", "", "老人坐在", "a"]
CONTINUATIONS = ["that she would help.", " that he could not.", TEXTS[1], "新电脑前，𝄞", "b"]


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("special_tokens", ["once", "tokenizer", "none"])
def test_tokens_spell_the_text_and_begin_as_asked(boundary, bos, special_tokens):
    coder = tokenizer(bos)
    tokens, start = encode_pairs(coder, PREFIXES, CONTINUATIONS, special_tokens, boundary)
    for prefix, continuation, ids, begin in zip(PREFIXES, CONTINUATIONS, tokens, start, strict=True):
        assert ids.dtype == np.int32
        assert coder.decode(ids, skip_special_tokens=True) == prefix + continuation
        if boundary != "prefix_length":  # off by one where " that" of the joint text merges over the boundary
            assert coder.decode(ids[begin:], skip_special_tokens=True).endswith(continuation)
        leading = bos and special_tokens != "none"
        assert (ids[0] == BOS) == leading
        inner = bos and special_tokens == "tokenizer" and boundary == "separate"
        assert (ids == BOS).sum() == leading + inner


def test_a_begin_token_that_the_text_holds_is_not_doubled():
    assert [(ids == BOS).sum() for ids in encode_texts(tokenizer(True), ["<s>a", "a"], "once")] == [1, 1]
    assert [(ids == BOS).sum() for ids in encode_texts(tokenizer(True), ["<s>a", "a"], "tokenizer")] == [2, 1]


def test_a_spanning_token_belongs_to_the_continuation():
    coder = tokenizer()
    (word,) = coder(" said")["input_ids"]  # one token, cut between its third and fourth character
    tokens, start = encode_pairs(coder, [" sa"], ["id"], "none", "offsets")
    assert list(tokens[0]) == [word] and start[0] == 0
    tokens, start = encode_pairs(coder, [" sa"], ["id"], "none", "separate")
    assert len(tokens[0]) > 1 and coder.decode(tokens[0][start[0] :]) == "id"
    tokens, start = encode_pairs(coder, [" sa"], ["id"], "none", "prefix_length")
    assert start[0] == len(tokens[0])  # the documented failing of that rule: nothing is left to score


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_empty_continuations_score_nothing(boundary):
    tokens, start = encode_pairs(tokenizer(), ["The nurse", ""], ["", ""], "once", boundary)
    assert list(start) == [len(ids) for ids in tokens]
