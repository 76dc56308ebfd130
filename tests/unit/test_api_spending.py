"""What calls may cost, as it is said before the first: never less than what is charged; and what answers, and was charged."""

import base64
import json
import random
import urllib.parse

import pandas as pd
import pytest
from api_server import MODEL, Server, requests_for

from biasatlas.benchmarks.shared.parsing.named import PARSERS
from biasatlas.errors import UserError
from biasatlas.models.endpoint import Found, same_model, services, transport
from biasatlas.models.endpoint.answer import Endpoint
from biasatlas.models.endpoint.calls import bound, cost, prices
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.store import ResponseStore
from biasatlas.workflow import check, sizes


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    monkeypatch.setattr(transport, "BACKOFF_S", 0.01)
    monkeypatch.setattr("ssl.SSLContext.load_verify_locations", lambda *_: None)  # slow, and nothing here is encrypted
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def entry(**settings):
    return ApiEntry(**{"kind": "api", "base_url": "https://host/v1", "model": MODEL} | settings)


def drawn(seed):
    """An endpoint, requests to it, and how many answers it gives in a call, drawn at random."""
    draw = random.Random(seed)
    dialect = draw.choice(list(services().dialects))
    tops = draw.choice([0, 0, 5]) if services().dialects[dialect].most_top_logprobs >= 5 else 0
    thinking = draw.choice([None, None, {"budget": draw.randint(1, 9000), "how": draw.choice(["body", "tags"])}])
    paid = {name: draw.choice([0.1, 3.0, 75.0]) for name in ("price_input_per_million", "price_output_per_million")}
    extra = draw.choice([{}, {"reasoning_effort": "high"}, {"enable_thinking": True, "thinking_budget": 50}])
    found = Found(n=draw.choice([1, 8, 128]))
    asked = entry(
        dialect=dialect,
        top_logprobs=tops,
        thinking=thinking,
        extra_body=extra,
        n=draw.choice([None, 1, 3]),
        prompt_logprobs=draw.random() < 0.5,
        system=draw.choice(["separate", "user"]),
        **paid,
    )
    kind = draw.choice(["generation", "choice"])
    words = ["".join(draw.choice("ab \n你好é") for _ in range(draw.randint(1, 300))) for _ in range(3)]
    columns = {"labels": '["A", "B"]', "parser": "letter"} if kind == "choice" else {}
    temperature = 1.0 if dialect == "reasoning" else 0.7
    requests = requests_for(words, kind, temperature=temperature, **columns)
    return asked, requests.assign(repeats=draw.randint(1, 9), max_tokens=draw.randint(1, 4000)), found


class Biller(Server):
    """It writes as long as bodies allow, counts a token for every character that is not ASCII, and keeps the bill."""

    def answer(self, path, body):
        status, reply = super().answer(path, body)
        text = "".join(message["content"] for message in body["messages"])
        longest = max(body.get(name, 0) for name in ("max_tokens", "max_completion_tokens"))
        prompt_tokens = round(sum(1 if character > "\x7f" else 1 / 3 for character in text) + 8)
        usage = {"prompt_tokens": prompt_tokens, "completion_tokens": longest * len(reply["choices"])}
        self.bill = [had + more for had, more in zip(self.bill, usage.values(), strict=True)]
        return status, reply | {"usage": usage}


def test_the_bound_is_never_below_the_bill(tmp_path):
    ratios = []
    with Biller(answers=128, reply=lambda *_: "A") as server:
        for seed in range(200):
            asked, requests, found = drawn(seed)
            asked, server.bill = asked.model_copy(update={"base_url": server.url}), [0, 0]
            most = bound(asked, sizes.of_frame(requests), found)["cost"]
            _, metadata = Endpoint(asked, parsers=PARSERS, found=found).answer(
                requests, "task", ResponseStore(tmp_path / str(seed))
            )
            bill = cost(asked, *server.bill)
            assert 0 < bill <= most * (1 + 1e-9), (seed, asked)
            assert metadata["cost"] == pytest.approx(bill)
            ratios.append(most / bill)
    assert sorted(ratios)[100] < 1.1  # nor far above it


def test_known_prices_need_no_network():
    known = entry(prices="known", base_url="https://api.openai.com/v1", model="gpt-5")
    assert prices(known) == (1.25, 10)
    with pytest.raises(UserError, match=r"genai-prices knows no price of nobody at https://api\.openai\.com/v1"):
        prices(known.model_copy(update={"model": "nobody"}))


def test_known_prices_without_the_package_say_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "genai_prices", None)
    with pytest.raises(UserError, match="pip install genai-prices"):
        prices(entry(prices="known", model="another"))


def test_a_check_holds_each_bound_against_its_budget():
    table = pd.DataFrame(
        {"model": ["a", "a", "b"], "currency": "USD", "calls": 5, "cost": [2.0, 3.13, 1.0], "minutes": 1.0}
    ).assign(benchmark=["x", "y", "x"])
    priced = {"price_input_per_million": 1, "price_output_per_million": 1}
    models = {"a": entry(budget=5, **priced), "b": entry(**priced)}
    said, kept = check.budgets(table, models, {"a": 0.5, "b": 0.25}.get)
    assert said.splitlines() == [
        "a: spent so far 0.5000 USD, at most 5.13 in all; the budget of 5 cannot be kept",
        "b: spent so far 0.2500 USD",
    ]
    assert not kept
    assert check.budgets(table, models | {"a": entry(budget=6, **priced)}, lambda _: 0.0)[1]
    said, kept = check.budgets(table, models, lambda _: 0.0, rounds=["y"])
    assert "the budget of 5 ends the rounds" in said and kept
    assert not check.budgets(table, models | {"a": entry(budget=1, **priced)}, lambda _: 0.0, rounds=["y"])[1]


@pytest.mark.parametrize(
    ("served", "asked", "same"),
    [
        ("gpt-4o-2024-08-06", "gpt-4o", True),
        ("gpt-4-0613", "gpt-4", True),
        ("Qwen/Qwen3-0.6B@main", "Qwen/Qwen3-0.6B", True),
        ("claude-opus-4-20250514", "claude-opus-4", True),
        ("gemini-1.5-pro-002", "gemini-1.5-pro", True),
        ("models/gemini-2.5-flash", "gemini-2.5-flash", True),
        ("Qwen3-8B", "Qwen/Qwen3-8B", True),
        ("gpt-4o-mini", "gpt-4o", False),
        ("gpt-4-turbo", "gpt-4", False),
        ("glm-4-flash", "glm-4", False),
        ("gemini-2.5-flash-lite", "gemini-2.5-flash", False),
        ("claude-opus-4-1", "claude-opus-4", False),
        ("deepseek/deepseek-chat:free", "deepseek/deepseek-chat", False),
    ],
)
def test_a_release_is_the_same_model_and_a_smaller_one_is_not(served, asked, same):
    assert same_model(served, asked) == same_model(asked, served) == same


class Another(Server):
    """A server that answers as another model, each time with the same id."""

    def answer(self, path, body):
        status, reply = super().answer(path, body)
        return status, reply | {"model": f"{MODEL}-mini", "id": "1"}


@pytest.mark.parametrize("changed", ["warn", "stop"])
def test_a_changed_model_warns_or_stops_as_the_entry_says(tmp_path, changed):
    with Another() as server:
        endpoint = Endpoint(entry(base_url=server.url, changed_model=changed, concurrency=1), found=Found())
        requests, store = requests_for(["one", "two", "three"]), ResponseStore(tmp_path / "store")
        if changed == "stop":
            with pytest.raises(UserError, match=f"answers as {MODEL}-mini, not as {MODEL}, and the entry says"):
                endpoint.answer(requests, "task", store)
            assert server.calls["/chat/completions"] == 1
        else:
            _, metadata = endpoint.answer(requests, "task", store)
            answered, repeated = metadata["warnings"]
            assert answered == f"the endpoint answers as {MODEL}-mini, not as {MODEL}"
            assert repeated.startswith("2 replies have the id of another")


class Ponderous(Server):
    """A server that thinks beside the tokens that it was asked for, and charges for that."""

    def answer(self, path, body):
        status, reply = super().answer(path, body)
        return status, reply | {"usage": {"prompt_tokens": 3, "completion_tokens": 11, "total_tokens": 300}}


def test_a_service_that_charges_beyond_what_was_asked_for_is_stopped_early(tmp_path):
    """Where its calls have a price; with tokens of its own for thinking the bound holds."""
    requests, paid = requests_for(map(str, range(100))), {"price_output_per_million": 10, "concurrency": 4}
    with Ponderous() as server:
        with pytest.raises(
            UserError, match=r"charges 0\.0594 USD for the first 20 calls, which .* at most 0\.0032: it thinks"
        ):
            Endpoint(entry(base_url=server.url, **paid), found=Found()).answer(
                requests, "", ResponseStore(tmp_path / "a")
            )
        assert server.calls["/chat/completions"] <= 24
        for settings in ({"thinking": {"budget": 300}} | paid, {"prices": "free"}):
            asked = entry(base_url=server.url, **settings)
            frame, _ = Endpoint(asked, found=Found()).answer(requests, "", ResponseStore(tmp_path / "b"))
            assert set(frame["status"]) == {"ok"}


@pytest.mark.parametrize(
    "spelt",
    [
        lambda key: key,
        lambda key: json.dumps(key)[1:-1].replace("/", "\\/"),
        lambda key: json.dumps(json.dumps(key.replace("/", "\\u002f"))),
        lambda key: "".join(f"\\u{ord(letter):04x}" for letter in key),
        lambda key: urllib.parse.quote(key, safe=""),
        lambda key: urllib.parse.quote(urllib.parse.quote(key, safe=""), safe=""),
        lambda key: "".join(f"%{ord(letter):02X}" for letter in key),
        lambda key: key.replace("/", "&#47;").replace("+", "&#x2B;"),
        lambda key: base64.b64encode(key.encode()).decode(),
    ],
)
def test_a_key_is_taken_out_however_it_is_escaped(monkeypatch, spelt):
    key = 'sk-canary/with+signs=and"quotes'
    monkeypatch.setenv("HKEY", key)
    redacted = transport.redact_key(f"before {spelt(key)} after", entry(key_env="HKEY"))
    assert redacted.replace('"', "").replace("\\", "") == "before *** after"


def test_the_check_prices_the_first_round():
    row = {"remark": "no tokenizer is known"}
    said = check.in_rounds(row, 95, {"requests": 354, "cost": 0.0213, "currency": "USD"})
    assert said == (
        "no tokenizer is known; asked in rounds: the first has 95 items, 354 requests and may cost 0.0213 USD; this is what "
        "all may come to"
    )
    assert check.in_rounds({"remark": ""}, 95, {"requests": 354}).startswith("asked in rounds: the first has 95 items")
