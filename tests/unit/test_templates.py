"""Messages as text: the tokenizer's chat template, an entry's literal ones, and models without any; thinking cut off."""

import copy
import dataclasses
import json

import pandas as pd
import pytest
from engine import tiny

from biasatlas.benchmarks.shared.parsing.named import PARSERS
from biasatlas.errors import UserError
from biasatlas.models.entry import Template, Thinking
from biasatlas.models.local.answer import CausalModel
from biasatlas.models.local.load import load
from biasatlas.models.store import ResponseStore

USER = json.dumps([{"role": "user", "content": "Who said that?"}])
TEMPLATES = {"ours": Template(prompt="USER: {user} ASSISTANT:", empty="USER: ASSISTANT:")}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    tiny.model().save_pretrained(path)
    tiny.tokenizer(True).save_pretrained(path)
    return load(str(path))


def answer(requests, loaded, store=None, share=(0, 1), **settings):
    return CausalModel("tiny", loaded, parsers=PARSERS, **settings).answer(requests, "task", store, share)


def requests(rows: list[dict], kind: str = "likelihood") -> pd.DataFrame:
    return pd.DataFrame([{"request_id": f"r{i}", "item_id": f"i{i}", "kind": kind} | row for i, row in enumerate(rows)])


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"messages": USER, "template": "other"}, ["r0", "other", "ours"]),
        ({"messages": json.dumps([{"role": "system", "content": "x"}]), "template": "ours"}, ["system", "tokenizer"]),
    ],
)
def test_templates_that_do_not_fit_say_what_to_do(model, row, words):
    with pytest.raises(UserError) as error:
        answer(requests([row | {"continuation": "x"}]), model, templates=TEMPLATES)
    assert all(word in str(error.value) for word in words)


SYSTEM = json.dumps([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}])
EMPTY_SYSTEM = json.dumps([{"role": "system", "content": ""}, {"role": "user", "content": "Who?"}])
GEMMA = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}"
SILENT = "{% for m in messages if m['role'] != 'system' %}{{ m['content'] }}|{% endfor %}"
ANSWERING = {
    "likelihood": {"continuation": "x"},
    "choice": {"parser": "letter", "labels": '["A", "B"]', "max_tokens": 2, "top_k": 5},
    "generation": {"max_tokens": 4, "repeats": 2},
}


def with_template(model, template):
    """The model with another chat template of its tokenizer, or none."""
    tokenizer = copy.deepcopy(model.tokenizer)
    tokenizer.chat_template = template
    return dataclasses.replace(model, tokenizer=tokenizer)


@pytest.mark.parametrize("kind", ANSWERING)
def test_a_base_model_answers_what_needs_no_template(model, kind):
    rows = [
        {"messages": USER, "template": "tokenizer"},
        {"prefix": "He said"},
        {"messages": USER, "template": "tokenizer"},
    ]
    asked = requests([ANSWERING[kind] | row for row in rows], kind)
    bare = with_template(model, None)
    responses, metadata = answer(asked, bare)
    repeats = 2 if kind == "generation" else 1
    assert list(responses["request_id"]) == ["r0", *["r1"] * repeats, "r2"]
    assert set(responses["status"][responses["request_id"] != "r1"]) == {"not_applicable"}
    assert "no chat template" in responses["detail"][0] and "templates.default" in responses["detail"][0]
    assert "not_applicable" not in set(responses["status"][responses["request_id"] == "r1"])
    assert metadata["run"]["requests"] == 1
    parts = [answer(asked, bare, share=(part, 3))[0] for part in range(3)]
    order = {"r0": 0, "r1": 1, "r2": 2}
    joined = pd.concat([part for part in parts if len(part)]).sort_values("request_id", key=lambda ids: ids.map(order))
    assert list(joined["request_id"]) == list(responses["request_id"])
    nothing, metadata = answer(asked[asked["request_id"] != "r1"], bare)
    assert list(nothing["status"]) == ["not_applicable"] * 2 and metadata["run"]["requests"] == 0


@pytest.mark.parametrize("chat_template", [None, "the tokenizer's own"])
@pytest.mark.parametrize(
    ("messages", "text"),
    [
        (USER, "USER: Who said that? ASSISTANT:"),
        (SYSTEM, "USER: Be brief.\n\nWho? ASSISTANT:"),
        (EMPTY_SYSTEM, "USER: Who? ASSISTANT:"),
        (json.dumps([{"role": "user", "content": ""}]), "USER: ASSISTANT:"),
    ],
)
def test_an_entry_s_default_template_takes_the_place_of_the_tokenizer_s(model, messages, text, chat_template):
    templates = {"default": TEMPLATES["ours"]}
    rows = [{"messages": messages, "template": "tokenizer"}, {"prefix": text}]
    responses, metadata = answer(
        requests([row | {"continuation": " He"} for row in rows]),
        with_template(model, chat_template),
        templates=templates,
    )
    assert list(responses["status"]) == ["ok", "ok"]
    assert responses["log_likelihood"][0] == responses["log_likelihood"][1]
    assert metadata["system_message"] == ("before the user's" if "system" in messages else "by the template")


@pytest.mark.parametrize(("prefix", "end"), [(GEMMA, "\n<|assistant|>"), (SILENT, "|")])
def test_a_system_message_that_a_template_does_not_take_goes_before_the_user_s(model, prefix, end):
    refusing = with_template(model, prefix + tiny.CHAT_TEMPLATE if prefix == GEMMA else SILENT)
    begin = "<|user|>" if prefix == GEMMA else ""
    for messages, text in ((SYSTEM, "Be brief.\n\nWho?"), (EMPTY_SYSTEM, "Who?")):
        rows = [{"messages": messages, "template": "tokenizer"}, {"prefix": begin + text + end}]
        responses, metadata = answer(requests([row | {"continuation": " He"} for row in rows]), refusing)
        assert responses["log_likelihood"][0] == responses["log_likelihood"][1]
        folded = prefix == GEMMA or "brief" in messages  # an empty message that is dropped is no loss
        assert metadata["system_message"] == ("before the user's" if folded else "by the template")
    _, metadata = answer(requests([{"messages": SYSTEM, "template": "tokenizer", "continuation": "x"}]), model)
    assert metadata["system_message"] == "by the template"


def test_a_template_that_cannot_be_rendered_is_named(model):
    for template in ("{% if %}", "{{ messages[0]['content'] + 1 }}", "{{ raise_exception('never') }}"):
        with pytest.raises(UserError, match=r"tiny: .*chat template cannot be rendered") as error:
            answer(requests([{"continuation": "x"}]), with_template(model, template))
        assert "\n" not in str(error.value)
    alternating = with_template(model, "{% if messages[1:] %}{{ raise_exception('one message') }}{% endif %}")
    two = json.dumps([{"role": "user", "content": "Who?"}, {"role": "user", "content": "Where?"}])
    with pytest.raises(UserError, match=r"'r0' \(one message\).*templates\.default"):
        answer(requests([{"messages": two, "template": "tokenizer", "continuation": "x"}]), alternating)


def test_template_arguments_reach_the_template_and_the_metadata(model):
    thinking = with_template(model, tiny.CHAT_TEMPLATE + "{% if not enable_thinking %}<think></think>{% endif %}")
    row = {"messages": USER, "template": "tokenizer", "continuation": "He"}
    off, metadata = answer(requests([row]), thinking, template_arguments={"enable_thinking": False})
    on, _ = answer(requests([row]), thinking, template_arguments={"enable_thinking": True})
    text = "<|user|>Who said that?\n<|assistant|><think></think>"
    raw, _ = answer(requests([{"prefix": text, "continuation": "He"}]), thinking)
    assert off["log_likelihood"][0] == raw["log_likelihood"][0] != on["log_likelihood"][0]
    assert metadata["template_arguments"] == {"enable_thinking": False}
    with pytest.raises(UserError, match=r"template_arguments\.enable_thinkin is nothing"):
        answer(requests([row]), thinking, template_arguments={"enable_thinkin": False})


def test_thinking_is_cut_at_its_end(model, monkeypatch, tmp_path):
    tokenizer = copy.deepcopy(model.tokenizer)
    tokenizer.add_tokens(["</think>"])
    (end,) = tokenizer("</think>", add_special_tokens=False)["input_ids"]
    thinker = dataclasses.replace(model, tokenizer=tokenizer)
    say = {
        name: tokenizer(text, add_special_tokens=False)["input_ids"] for name, text in (("A", "He?"), ("B", " She."))
    }
    said = [
        ([*say["A"], end, *say["B"]], "stop"),
        ([*say["A"], end, *say["B"], end, *say["A"]], "length"),
        (say["A"], "stop"),
        (say["A"], "length"),
    ]
    longest = []

    def generate(_, prompts, *given):
        longest.extend(prompt.max_tokens for prompt in prompts)
        for at, answer in enumerate(said[: len(prompts)]):
            given[-1](at, *answer)
        return said[: len(prompts)], {}

    monkeypatch.setattr("biasatlas.models.local.generation.generate", generate)
    ask = [{"prefix": f"{i}", "max_tokens": 9} for i in range(4)]
    store = ResponseStore(tmp_path)
    thinks = Thinking(budget=50, how="tags")
    responses, metadata = answer(requests(ask, "generation"), thinker, store, thinking=thinks)
    assert list(responses["text"]) == ["She.", "He?", "He?", ""]
    assert list(responses["status"]) == ["ok", "truncated", "ok", "thought"]
    a, b = len(say["A"]), len(say["B"])
    cuts = (a + 1, a + b + 2, 0, a)
    assert list(responses["detail"]) == [f"{n} tokens of thinking cut" if n else "" for n in cuts]
    assert responses["completion_tokens"][0] == len(said[0][0])
    assert metadata["thinking"] == {"budget": 50, "how": "tags"}
    kept = [value["responses"][0]["thinking"] for value in store.values()]
    assert kept == ["He?", "He? She.", "", "He?"]
    assert set(longest) == {59}
    whole, metadata = answer(requests(ask, "generation"), thinker, store)
    assert whole["text"][0] == "He?</think> She." and metadata["run"]["computed"] == 4
    choice = ANSWERING["choice"] | {"messages": USER, "template": "tokenizer"}
    choice |= {"repeats": 4, "max_tokens": 9, "temperature": 1.0}
    said[:] = [([*say["A"], end, *tokenizer("B", add_special_tokens=False)["input_ids"]], "stop")] * 3 + [
        (say["A"], "length")
    ]
    responses, _ = answer(requests([choice], "choice"), thinker, thinking=thinks)
    assert responses["probabilities"][0] == "[0.0, 0.75]" and responses["unparseable"][0] == 0.25
    assert responses["detail"][0] == "the model thought and did not answer in 1 of 4 samples"
