"""Models that are measured with and without thinking in one run: an endpoint and weights, from one entry each."""

import csv
import json

import pandas as pd
import pytest
import torch
from api_server import MODEL, RANDOM, Server
from conftest import ROOT, snakemake
from transformers import LlamaConfig, LlamaForCausalLM
from unit.engine import tiny

from biasatlas.files import read_parquet

with (ROOT / "resources/samples/crows_pairs/data/crows_pairs_anonymized.csv").open(encoding="utf-8") as lines:
    STEREOTYPES = {row["sent_more"] for row in csv.DictReader(lines)}
THOUGHT = "The stereotype says A. Or is it B?"


class Thinker(Server):
    """Thinks unless it is told not to, and then chooses the sentence that is no stereotype, else the other."""

    def answer(self, path, body):
        status, answer = super().answer(path, body)
        prompt = body["messages"][-1]["content"]
        if prompt == RANDOM:
            return status, answer
        thinks, message = body["chat_template_kwargs"].get("enable_thinking", True), answer["choices"][0]["message"]
        stereotype = "A" if prompt.split("A. ")[1].split("\nB. ")[0] in STEREOTYPES else "B"
        message["content"] = {"A": "B", "B": "A"}[stereotype] if thinks else stereotype
        if thinks:
            message["reasoning_content"] = THOUGHT
            answer["usage"] |= {"completion_tokens": 40, "completion_tokens_details": {"reasoning_tokens": 37}}
        return status, answer


def save_thinker(folder):
    """Weights that say B after a thought, which the template opens unless it is told not to, else A: each token names
    the next."""
    tokenizer = tiny.tokenizer()
    words = ["<|assistant|>", "<think>", "hm", "</think>"]
    tokenizer.add_tokens(words)
    at = {word: tokenizer.convert_tokens_to_ids(word) for word in [*words, "A", "B", "</s>"]}
    tokenizer.chat_template = (
        tiny.CHAT_TEMPLATE + "{% if enable_thinking is undefined or enable_thinking %}<think>{% endif %}"
    )
    size = len(tokenizer)
    config = LlamaConfig(
        vocab_size=size,
        hidden_size=4 * -(-size // 4),
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        bos_token_id=None,
        eos_token_id=at["</s>"],
        tie_word_embeddings=False,
    )
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for parameter in (model.lm_head.weight, *(part.weight for part in _outputs(model))):
            parameter.zero_()
        model.model.embed_tokens.weight.copy_(torch.eye(size, config.hidden_size))
        for before, after in [("<|assistant|>", "A"), ("<think>", "hm"), ("hm", "</think>"), ("</think>", "B")]:
            model.lm_head.weight[at[after], at[before]] = 10
        for letter in "AB":
            model.lm_head.weight[at["</s>"], at[letter]] = 10
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _outputs(model):
    return [part for layer in model.model.layers for part in (layer.self_attn.o_proj, layer.mlp.down_proj)]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A run of both under `thinking: [off, on]`."""
    folder = tmp_path_factory.mktemp("thinking")
    save_thinker(folder / "weights")
    ways = {"thinking": [False, {"budget": 30}]}
    with Thinker() as server:
        endpoint = {"kind": "api", "base_url": server.url, "model": MODEL, "dialect": "vllm"} | ways
        weights = {"kind": "hf", "source": str(folder / "weights"), "dtype": "float32", "size_billion": 0.001} | ways
        models = {"endpoint": endpoint, "weights": weights}
        run = {"data": "sample", "tasks": ["pair_choice"]}
        config = {"results": "results", "models": models, "benchmarks": {"crows_pairs": run}}
        (folder / "config.json").write_text(json.dumps(config))
        done = snakemake("--configfile", str(folder / "config.json"), folder=folder)
    assert done.returncode == 0, done.stdout
    return folder / "results"


def test_each_way_is_asked_for_and_counted_as_it_was(results):
    """Off is told, too: these models think unless they are told not to. Both sentences of each pair come first once."""
    recorded = json.loads((results / "tables/crows_pairs/recommended/prompted.json").read_text())["scores"]
    asked = {made["name"]: made["model"] for made in recorded.values()}
    assert asked["endpoint"]["extra_body"] == {"chat_template_kwargs": {"enable_thinking": False}}
    assert asked["weights"]["template_arguments"] == {"enable_thinking": False}
    assert asked["endpoint-thinking"]["extra_body"] == {}
    assert asked["endpoint-thinking"]["thinking_tokens"] == 168 * 37
    assert asked["weights-thinking"]["template_arguments"] == {"enable_thinking": True}
    said = {name: read_parquet(results / f"responses/{name}/crows_pairs/recommended.parquet") for name in asked}
    assert set(said["weights"]["probabilities"]) == {"[1.0, 0.0]"}
    assert set(said["weights-thinking"]["replies"]) == {'[["ok", "B"]]'}
    for name in ("endpoint", "endpoint-thinking"):
        assert said[name]["probabilities"].value_counts().to_dict() == {"[1.0, 0.0]": 84, "[0.0, 1.0]": 84}


def test_what_was_thought_is_kept_beside_the_answer(results):
    store = {
        name: [json.loads(line)["value"] for file in (results / "store" / name).glob("*.jsonl") for line in file.open()]
        for name in ("endpoint", "endpoint-thinking")
    }
    assert [len(values) for values in store.values()] == [168, 168]
    assert {value["thinking"] for value in store["endpoint-thinking"]} == {THOUGHT}
    assert not any(value.get("thinking") for value in store["endpoint"])


def test_the_report_compares_both_ways_of_one_model(results):
    pairs = pd.read_csv(results / "tables/comparison/recommended/pairs.csv")
    pairs = pairs[(pairs["category"] == "overall") & (pairs["measure"] == "stereotype_score")]
    found = pairs.set_index(["model", "other_model", "metric"])["value"]
    assert found["endpoint", "endpoint-thinking", "difference"] == 100
    assert found["endpoint", "endpoint-thinking", "flipped"] == 100
    assert (
        found["weights", "weights-thinking", "difference"] == 0
    )  # each takes the first or the second, whatever it says
    page = (results / "report/pages/compare.html").read_text("utf-8")
    for name in ("endpoint", "endpoint-thinking", "weights", "weights-thinking"):
        assert f">{name}</option>" in page
