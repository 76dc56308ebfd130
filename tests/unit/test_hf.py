import dataclasses
import json
import os
import signal

import numpy as np
import pandas as pd
import pytest
import torch
from engine import tiny

from biasatlas.benchmarks.shared.parsing.named import PARSERS
from biasatlas.columns import RESPONSE_COLUMNS
from biasatlas.engine.generate import _SideBySide
from biasatlas.engine.routes import Route, States
from biasatlas.errors import UserError
from biasatlas.models import UNRESOLVED_BOUND, batches
from biasatlas.models.entry import Template
from biasatlas.models.local import generation, probabilities
from biasatlas.models.local.answer import CausalModel
from biasatlas.models.local.load import load
from biasatlas.models.store import ResponseStore

USER = json.dumps([{"role": "user", "content": "Who said that?"}])
TEMPLATES = {"ours": Template(prompt="USER: {user} ASSISTANT:", empty="USER: ASSISTANT:")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    tiny.model().save_pretrained(path)
    tiny.tokenizer(True).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def model(folder):
    return load(str(folder))


def answer(requests, loaded, store=None, share=(0, 1), **settings):
    return CausalModel("tiny", loaded, **{"parsers": PARSERS} | settings).answer(requests, "task", store, share)


def requests(rows: list[dict], kind: str = "likelihood") -> pd.DataFrame:
    return pd.DataFrame([{"request_id": f"r{i}", "item_id": f"i{i}", "kind": kind} | row for i, row in enumerate(rows)])


def test_a_loaded_model_is_the_saved_one(model, folder):
    for ours, saved in zip(model.model.parameters(), tiny.model().parameters(), strict=True):
        assert torch.equal(ours, saved)
    assert len(model.weights_sha256) == 64


def test_likelihoods_match_one_sentence_at_a_time(model):
    asked = requests(
        [
            {"continuation": "The nurse said that she would help."},
            {"prefix": "The nurse said", "continuation": " that she would help."},
            {"prefix": "The nurse said", "continuation": " that she would help."},
            {"messages": USER, "template": "tokenizer", "continuation": "The doctor", "special_tokens": "none"},
            {"messages": USER, "template": "ours", "continuation": "女人", "boundary": "separate"},
            {"messages": json.dumps([{"role": "user", "content": ""}]), "template": "ours", "continuation": "he"},
        ]
    )
    responses, metadata = answer(asked, model, templates=TEMPLATES, token_budget=50)
    assert list(responses.columns) == list(RESPONSE_COLUMNS["likelihood"])
    assert list(responses["request_id"]) == list(asked["request_id"])
    assert (responses["status"] == "ok").all()
    texts = [
        ("<s>", "The nurse said that she would help."),
        ("<s>The nurse said", " that she would help."),
        ("<s>The nurse said", " that she would help."),
        ("<|user|>Who said that?\n<|assistant|>", "The doctor"),
        ("<s>USER: Who said that? ASSISTANT:", "女人"),
        ("<s>USER: ASSISTANT:", "he"),
    ]
    for (prefix, continuation), row in zip(texts, responses.itertuples(), strict=True):
        head, tail = (model.tokenizer(text, add_special_tokens=False)["input_ids"] for text in (prefix, continuation))
        expected = tiny.one_at_a_time(model.model, np.asarray(head + tail), len(head))
        assert row.log_likelihood == pytest.approx(expected, abs=1e-4)
        assert row.tokens == len(tail)
        assert row.nll_per_token == pytest.approx(-row.log_likelihood / row.tokens)
    assert metadata["run"]["tokens_asked"] > metadata["run"]["tokens_fed"]
    told = CausalModel("tiny", model, templates=TEMPLATES, token_budget=50).tokens(asked)
    assert [len(tokens) for tokens in told] == responses["tokens"].tolist()
    assert [sum(value for _, value in tokens) for tokens in told] == pytest.approx(
        responses["log_likelihood"], abs=1e-4
    )
    assert "".join(text for text, _ in told[1]) == " that she would help."


def test_what_cannot_be_scored_is_missing_with_its_reason(model):
    asked = requests([{"prefix": "a", "continuation": ""}, {"continuation": "a", "special_tokens": "none"}])
    responses, _ = answer(asked, model)
    assert CausalModel("tiny", model).tokens(asked) == [[], []]
    assert list(responses["status"]) == ["not_applicable"] * 2
    assert responses[["log_likelihood", "nll_per_token"]].isna().all(axis=None)
    assert list(responses["tokens"]) == [0, 0]


def test_a_text_longer_than_the_model_takes_fails_alone(model):
    limited = dataclasses.replace(model, model=tiny.model("gpt2"))
    long = "The nurse said that he could not. " * 200
    responses, _ = answer(requests([{"continuation": long}, {"continuation": "he"}]), limited)
    assert list(responses["status"]) == ["failed", "ok"]
    assert "1024" in responses["detail"][0] and np.isnan(responses["log_likelihood"][0])


def test_a_nan_names_model_and_request(model, folder, tmp_path):
    broken = load(str(folder))
    with torch.no_grad():
        broken.model.model.norm.weight[0] = float("nan")
    with pytest.raises(UserError, match=r"'r0'.*nan") as error:
        answer(requests([{"continuation": "The nurse"}]), broken)
    assert str(folder) in str(error.value)


def test_choices_hold_every_label_and_all_of_the_mass(model):
    ask = {"messages": USER, "template": "tokenizer", "parser": "letter", "labels": '["A", "B", "C"]', "max_tokens": 2}
    asked = requests([ask | {"top_k": 5}, ask | {"temperature": 0.0}, ask | {"top_k": 5}, ask], "choice")
    responses, metadata = answer(asked, model)
    assert list(responses.columns) == list(RESPONSE_COLUMNS["choice"])
    assert list(responses["request_id"]) == list(asked["request_id"])
    for row in responses.itertuples():
        probabilities = json.loads(row.probabilities)
        assert len(probabilities) == 3
        total = sum(probabilities) + row.refused + row.ambiguous + row.unparseable + row.unresolved
        assert total == pytest.approx(1, abs=1e-5)
        assert row.status == ("ok" if row.unresolved <= UNRESOLVED_BOUND else "failed")
        assert ("generation" in row.detail) == (row.status == "failed")
    assert responses["probabilities"][0] == responses["probabilities"][2]
    assert metadata["engine"] == "tree"


def test_labels_that_are_hardly_ever_said_are_no_answer(model, monkeypatch):
    ask = {"messages": USER, "template": "tokenizer", "parser": "length", "labels": '["even", "odd"]', "top_k": 5}
    parsers = {"length": lambda text, labels, complete, known: len(text) % 2}
    before = answer(requests([ask], "choice"), model, parsers=parsers)[0].iloc[0]
    labelled = sum(json.loads(before["probabilities"]))
    assert labelled > probabilities.LEAST_ANSWERED
    monkeypatch.setattr(probabilities, "LEAST_ANSWERED", 1.01)
    after = answer(requests([ask], "choice"), model, parsers=parsers)[0].iloc[0]
    assert json.loads(after["probabilities"]) == [0, 0]
    assert after["unparseable"] == pytest.approx(before["unparseable"] + labelled)


def test_generations_are_kept_whole_and_repeat(model):
    ask = {"messages": USER, "template": "tokenizer", "max_tokens": 8, "temperature": 1.5}
    asked = requests([ask | {"repeats": 3}, ask | {"temperature": 0.0, "repeats": 2}, ask], "generation")
    responses, _ = answer(asked, model)
    assert list(responses.columns) == list(RESPONSE_COLUMNS["generation"])
    assert list(responses["request_id"]) == ["r0"] * 3 + ["r1"] * 2 + ["r2"]
    assert list(responses["repeat"]) == [0, 1, 2, 0, 1, 0]
    assert len(set(responses["text"][:3])) == 3 and responses["text"][3] == responses["text"][4]
    assert responses["text"][5] == responses["text"][0]  # the same content and repeat: the same text
    assert set(responses["status"]) <= {"ok", "truncated"}
    truncated = responses["status"] == "truncated"
    assert ((responses["completion_tokens"] == 8) >= truncated).all() and responses["text"].notna().all()
    assert ((responses["finish_reason"] == "length") == truncated).all()
    again, _ = answer(asked, model, token_budget=8)
    pd.testing.assert_frame_equal(again, responses)


@pytest.mark.parametrize("kind", ["choice", "generation"])
def test_prompts_that_cannot_be_answered_fail_alone(model, kind):
    limited = dataclasses.replace(model, model=tiny.model("gpt2"))
    ask = {"parser": "letter", "labels": '["A", "B"]', "max_tokens": 2, "special_tokens": "none", "top_k": 3}
    texts = ["", "The nurse said that he could not. " * 200, "The nurse"]
    responses, _ = answer(requests([ask | {"prefix": text} for text in texts], kind), limited)
    assert list(responses["status"][:2]) == ["failed", "failed"] and responses["status"][2] != "not_applicable"
    assert "empty" in responses["detail"][0] and "1024" in responses["detail"][1]


def test_a_choice_may_use_what_the_prompt_leaves_of_the_context(model):
    limited = dataclasses.replace(model, model=tiny.model("gpt2"))
    prompt = "The nurse said that he could not. " * 200
    ids = model.tokenizer(prompt, add_special_tokens=False)["input_ids"]
    texts = {left: model.tokenizer.decode(ids[: 1024 - left]) for left in (0, 2)}
    ask = {"parser": "letter", "labels": '["A", "B"]', "special_tokens": "none", "top_k": 3}
    asked = [
        ask | {"prefix": texts[2], "max_tokens": 2048},
        ask | {"prefix": texts[2], "max_tokens": 2},
        ask | {"prefix": texts[2]},
        ask | {"prefix": texts[0], "max_tokens": 1},
    ]
    responses, _ = answer(requests(asked, "choice"), limited)
    assert list(responses["status"]) == ["ok", "ok", "ok", "failed"]
    assert responses["probabilities"][0] == responses["probabilities"][1] == responses["probabilities"][2]
    assert "longer than the 1024 tokens" in responses["detail"][3]


def test_folders_that_cannot_be_loaded_say_what_to_do(tmp_path, folder, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    empty, pickled, bare = (tmp_path / name for name in ("empty", "pickled", "bare"))
    for path in (empty, pickled, bare):
        path.mkdir()
    tiny.model().config.save_pretrained(empty)
    (pickled / "pytorch_model.bin").write_bytes(b"x")
    (bare / "model.safetensors").write_bytes(b"x")
    cases = {
        str(empty): "no weights",
        str(pickled): "pytorch_model.bin.*pickled",
        str(bare): "config.json",
        str(tmp_path / "absent"): "no such folder",
        "nobody/no-such-model": "check the spelling",
    }
    for source, words in cases.items():
        with pytest.raises(UserError, match=words) as error:
            load(source)
        assert source in str(error.value) and "\n" not in str(error.value)
    with pytest.raises(UserError, match="dtype 'half'"):
        load(str(folder), dtype="half")
    for moves in (None, "main", "v1.0", "0123456"):
        with pytest.raises(UserError, match="nobody/no-such-model: trust_remote_code: give `revision` as the commit"):
            load("nobody/no-such-model", revision=moves, trust_remote_code=True)


def test_answers_are_kept_and_not_computed_again(model, tmp_path, monkeypatch):
    asked = requests([{"prefix": "once ", "continuation": text} for text in ("upon", "more", "upon", "again")])
    monkeypatch.setattr(batches, "BATCH", 2)
    store = ResponseStore(tmp_path)
    whole, metadata = answer(asked, model, store=store)
    assert metadata["run"]["computed"] == 3
    plain, _ = answer(asked, model)
    pd.testing.assert_frame_equal(whole, plain)
    more = requests([{"prefix": "once ", "continuation": text} for text in ("more", "bitten")])
    _, metadata = answer(more, model, store=ResponseStore(tmp_path))
    assert metadata["run"]["computed"] == 1


@pytest.mark.parametrize("route, holder, step", [("tree", _SideBySide, "_step"), ("states", States, "_go_on")])
def test_kill_9_during_long_texts_loses_none_that_is_finished(model, route, holder, step, tmp_path, monkeypatch):
    words = ["The nurse", "The doctor", "女人", "老人坐在新电脑前", "Answer with A", "The score is"]
    rows = [
        {"prefix": f"{word} said {i}", "max_tokens": 3 + 4 * i, "temperature": 1.0, "repeats": 2}
        for i, word in enumerate(words)
    ]
    asked, loaded = requests(rows, "generation"), dataclasses.replace(model, route=Route(route))
    whole, _ = answer(asked, loaded)
    child = os.fork()
    if not child:
        steps, real = [], getattr(holder, step)

        def killed(*arguments):
            steps.append(1)
            if len(steps) == 16:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments)

        torch.set_num_threads(1)  # the others did not come along
        generation.KEPT = 2
        setattr(holder, step, killed)
        answer(asked, loaded, store=ResponseStore(tmp_path))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    again, metadata = answer(asked, loaded, store=ResponseStore(tmp_path))
    assert 0 < metadata["run"]["computed"] <= 4  # of six: the first had ended
    pd.testing.assert_frame_equal(again, whole, check_exact=True)


LETTER = {"parser": "letter", "labels": '["A", "B"]', "max_tokens": 2, "top_k": 5}


@pytest.mark.parametrize(
    ("kind", "settings"),
    [("likelihood", {}), ("choice", LETTER), ("generation", {"max_tokens": 4, "temperature": 1.5, "repeats": 2})],
)
def test_shares_are_the_whole_to_the_last_bit(model, kind, settings, tmp_path, monkeypatch):
    words = ["The nurse", "The doctor", "女人", "老人坐在新电脑前", "Answer with A", "The score is"]
    rows = [
        settings | {"prefix": f"{first} and {second} said", "continuation": f" that {first} would help."}
        for first in words
        for second in [*words, words[0]]  # some questions are asked twice
    ]
    asked = requests(rows, kind).sample(frac=1, random_state=1)
    monkeypatch.setattr(batches, "BATCH", 8 // (batches.TEXTS if kind == "generation" else 1))
    whole, metadata = answer(asked, model)
    order = {request_id: i for i, request_id in enumerate(asked["request_id"])}
    for shares in (2, 3, 11):
        # One store serves every number of shares: what is there is not computed again, and keeps its digits.
        store = ResponseStore(tmp_path / "one") if shares == 3 else None
        parts = [answer(asked, model, share=(part, shares), store=store) for part in range(shares)]
        assert sum(run["run"]["requests"] for _, run in parts) == len(asked)
        assert sum(run["run"]["computed"] for _, run in parts) == metadata["run"]["computed"] == 36
        assert sum(len(part) > 0 for part, _ in parts) == min(shares, 6)  # six batches
        joined = pd.concat([part for part, _ in parts if len(part)])
        joined = joined.sort_values("request_id", key=lambda ids: ids.map(order), kind="stable")
        pd.testing.assert_frame_equal(joined.reset_index(drop=True), whole, check_exact=True)
    again, metadata = answer(asked, model, store=ResponseStore(tmp_path / "one"))
    assert metadata["run"]["computed"] == 0
    pd.testing.assert_frame_equal(again, whole, check_exact=True)
