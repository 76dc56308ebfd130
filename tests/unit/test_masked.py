"""Pseudo-log-likelihood of a tiny masked model against masking one token at a time by hand."""

import json

import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

from biasatlas.errors import UserError
from biasatlas.models.masked import answer
from biasatlas.models.masked.answer import MaskedModel, load, shared_tokens
from biasatlas.models.store import ResponseStore

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS += [
    "the",
    "old",
    "young",
    "man",
    "lady",
    "could",
    "not",
    "work",
    "machine",
    "she",
    "he",
    "is",
    "late",
    "very",
    ".",
]
PAIR = ("The old man could not work the machine.", "The very young lady could not work the machine.")


@pytest.fixture(scope="module")
def tokenizer():
    core = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    core.normalizer = normalizers.Lowercase()
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = BertConfig(vocab_size=len(WORDS), initializer_range=0.5, pad_token_id=0, **sizes)
    return BertForMaskedLM(config).eval()


def requests(*pairs):
    rows = [(sentence, json.dumps(pair)) for pair in pairs for sentence in pair]
    table = pd.DataFrame(rows, columns=["continuation", "pair"]).assign(kind="likelihood", prefix="", messages=None)
    return table.assign(request_id=[f"{row // 2}/{('more', 'less')[row % 2]}" for row in range(len(rows))])


def masked(model, tokenizer, **settings):
    return MaskedModel("tiny", None, model, tokenizer, "0" * 64, "0" * 64, **settings)


def by_hand(sentence, kept, model, tokenizer):
    """One forward per kept word, no batch and no padding."""
    ids = tokenizer(sentence, return_tensors="pt")["input_ids"]
    total = 0.0
    for position in range(1, ids.shape[1] - 1):
        if tokenizer.convert_ids_to_tokens(int(ids[0, position])) in kept:
            masked = ids.clone()
            masked[0, position] = tokenizer.mask_token_id
            with torch.no_grad():
                total += model(masked).logits[0, position].log_softmax(-1)[ids[0, position]].item()
    return total


@pytest.mark.parametrize("token_budget", [1, 25, 8192])
def test_equals_masking_one_token_at_a_time(model, tokenizer, token_budget):
    table = requests(PAIR, ("She is late.", "He is late."))
    responses, metadata = masked(model, tokenizer, token_budget=token_budget).answer(table)
    kept = {"the", "could", "not", "work", "machine", "."}
    expected = [by_hand(text, kept, model, tokenizer) for text in PAIR]
    expected += [by_hand(text, {"is", "late", "."}, model, tokenizer) for text in ("She is late.", "He is late.")]
    assert responses["log_likelihood"].tolist() == pytest.approx(expected, abs=1e-4)
    assert responses["tokens"].tolist() == [7, 7, 3, 3]
    assert responses["request_id"].tolist() == table["request_id"].tolist()
    assert metadata["masked_tokens"] == 20


def test_memory_that_runs_out_halves_the_batches(model, tokenizer, monkeypatch, caplog):
    table, real, calls = requests(PAIR), answer._log_probabilities, []
    wanted, _ = masked(model, tokenizer).answer(table)

    def fails_once(*arguments):
        calls.append(1)
        if len(calls) == 1:
            raise torch.OutOfMemoryError("injected")
        return real(*arguments)

    monkeypatch.setattr(answer, "_log_probabilities", fails_once)
    found, _ = masked(model, tokenizer, token_budget=64).answer(table)
    assert len(calls) > 2 and "going on with passes of at most 32 tokens" in caplog.text
    assert found["log_likelihood"].tolist() == pytest.approx(wanted["log_likelihood"].tolist(), abs=1e-5)


def test_both_sentences_of_a_pair_score_the_same_tokens(tokenizer):
    # From the second to the first, difflib would match "he" and not "the he".
    pair = ["she late she the he", "the he late she"]
    words = []
    for sentence in pair:
        ids, positions = shared_tokens(sentence, pair, tokenizer)
        words.append(tokenizer.convert_ids_to_tokens([ids[position] for position in positions]))
    assert words[0] == words[1] != []


def test_a_pair_without_shared_tokens_is_not_applicable(model, tokenizer):
    responses, _ = masked(model, tokenizer).answer(requests(("She", "He")))
    assert responses["status"].eq("not_applicable").all()
    assert responses["log_likelihood"].isna().all()


def test_without_a_pair_every_token_of_the_text_is_scored(model, tokenizer):
    texts = ["The old man is late.", "He"]
    table = requests(texts).drop(columns="pair")
    responses, _ = masked(model, tokenizer).answer(table)
    expected = [by_hand(text, set(WORDS), model, tokenizer) for text in texts]
    assert responses["log_likelihood"].tolist() == pytest.approx(expected, abs=1e-4)
    assert responses["tokens"].tolist() == [6, 1]


def test_answers_are_kept_and_not_computed_again(model, tokenizer, tmp_path):
    whole, metadata = masked(model, tokenizer).answer(requests(PAIR), store=ResponseStore(tmp_path))
    assert metadata["run"]["computed"] == 2
    again, metadata = masked(model, tokenizer).answer(requests(PAIR), store=ResponseStore(tmp_path))
    assert metadata["run"]["computed"] == 0
    pd.testing.assert_frame_equal(again, whole, check_exact=True)


def test_the_end_of_a_text_of_a_pair_is_answered_as_the_text_is(model, tokenizer, tmp_path):
    """What both texts share is scored, wherever the request begins; so it costs nothing."""
    whole = requests(PAIR)
    words = whole["continuation"].str.split(" ", n=1)
    ends = whole.assign(request_id=whole["request_id"] + "_end", prefix=words.str[0], continuation=" " + words.str[1])
    found, metadata = masked(model, tokenizer).answer(pd.concat([whole, ends], ignore_index=True))
    assert found["log_likelihood"].tolist()[:2] == found["log_likelihood"].tolist()[2:]
    assert metadata["run"]["computed"] == 2


@pytest.mark.parametrize(
    ("changed", "words"),
    [({"kind": "choice"}, "kind choice"), ({"prefix": "He "}, "has prefix"), ({"messages": "[{}]"}, "has messages")],
)
def test_what_a_masked_model_cannot_answer_is_said(model, tokenizer, changed, words):
    with pytest.raises(UserError, match=words) as error:
        masked(model, tokenizer).answer(requests(PAIR).assign(**changed))
    assert "\n" not in str(error.value)


def test_saved_model_loads_and_gives_the_same(model, tokenizer, tmp_path):
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    before, _ = masked(model, tokenizer).answer(requests(PAIR))
    after, _ = load(str(tmp_path)).answer(requests(PAIR))
    assert after["log_likelihood"].tolist() == pytest.approx(before["log_likelihood"].tolist(), abs=1e-4)


def test_what_is_no_masked_model_is_named(model, tokenizer, tmp_path):
    with pytest.raises(UserError, match="no weights there"):
        load(str(tmp_path))
    model.save_pretrained(tmp_path)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer.backend_tokenizer, unk_token="[UNK]").save_pretrained(tmp_path)
    with pytest.raises(UserError, match="no mask token"):
        load(str(tmp_path))
