"""Models that take more than weights and a decoder: composite ones, longrope, adapters, quantised weights."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from composite_models import NAMES, save
from engine import architectures, tiny
from needs import need, needs
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, LlamaConfig, Phi3Config

from biasatlas.benchmarks.shared.parsing.named import PARSERS
from biasatlas.errors import UserError
from biasatlas.models.local.answer import CausalModel
from biasatlas.models.local.load import load
from biasatlas.models.local.preview import slower
from biasatlas.models.store import ResponseStore

USER = json.dumps([{"role": "user", "content": "Who said that?"}])
SAID = "The nurse said that she would help."


def requests(rows, kind="likelihood"):
    return pd.DataFrame([{"request_id": f"r{i}", "item_id": f"i{i}", "kind": kind} | row for i, row in enumerate(rows)])


@pytest.mark.parametrize("name", NAMES)
def test_composite_models_answer_as_their_text_forward_does(name, tmp_path):
    whole = save(name, tmp_path)
    loaded = load(str(tmp_path))
    assert loaded.route.name == "tree" and loaded.eos_token_ids == (0,)
    model = CausalModel(name, loaded, parsers=PARSERS, token_budget=64)
    texts = ["The nurse said that she would help.", "The nurse said that he could not.", "The doctor", "女人比較理性。"]
    asked = [{"prefix": "Answer: ", "continuation": text} for text in texts]
    asked += [{"messages": USER, "template": "tokenizer", "continuation": "The doctor", "special_tokens": "none"}]
    responses, metadata = model.answer(requests(asked))
    assert metadata["engine"] == "tree" and list(responses["status"]) == ["ok"] * 5
    prefixes = ["<s>Answer: "] * 4 + ["<|user|>Who said that?\n<|assistant|>"]
    for prefix, text, row in zip(prefixes, [*texts, "The doctor"], responses.itertuples(), strict=True):
        ids = np.asarray(loaded.tokenizer(prefix + text, add_special_tokens=False)["input_ids"])
        start = len(ids) - row.tokens
        assert row.log_likelihood == pytest.approx(tiny.one_at_a_time(whole, ids, start), abs=1e-4)
    choice = {"messages": USER, "template": "tokenizer", "parser": "letter", "labels": '["A", "B"]', "top_k": 4}
    responses, _ = model.answer(requests([choice | {"max_tokens": 2}], "choice"))
    row = responses.iloc[0]
    assert sum(json.loads(row["probabilities"])) + row[
        ["refused", "ambiguous", "unparseable", "unresolved"]
    ].sum() == pytest.approx(1)
    ask = {"messages": USER, "template": "tokenizer", "max_tokens": 6, "temperature": 0.0}
    responses, _ = model.answer(requests([ask], "generation"))
    prompt = loaded.tokenizer("<|user|>Who said that?\n<|assistant|>", return_tensors="pt", add_special_tokens=False)
    prompt = torch.cat([torch.tensor([[1]]), prompt["input_ids"]], 1)
    said = whole.generate(input_ids=prompt, max_new_tokens=6, do_sample=False)[0, prompt.shape[1] :]
    assert responses["text"][0] == loaded.tokenizer.decode(said, skip_special_tokens=True)


def test_longrope_scales_each_text_by_its_own_length(tmp_path):
    torch.manual_seed(0)
    shape = {"vocab_size": tiny.VOCABULARY, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    shape |= {
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 0,
    }
    rope = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0] * 4, "long_factor": [6.0] * 4}
    config = Phi3Config(
        **shape,
        max_position_embeddings=256,
        original_max_position_embeddings=64,
        rope_parameters=rope,
        sliding_window=None,
    )
    model = AutoModelForCausalLM.from_config(config).eval()
    tiny.spread(model).save_pretrained(tmp_path)
    tiny.tokenizer(True).save_pretrained(tmp_path)
    loaded = load(str(tmp_path))
    ours = CausalModel("phi", loaded, parsers=PARSERS)
    words = "The nurse said that he could not. "
    texts = [words * 2, words * 4, words * 12, words * 13 + "She", words * 2 + "She"]
    responses, metadata = ours.answer(requests([{"continuation": text} for text in texts]))
    assert "texts beyond 64 tokens" in metadata["engine_reason"]
    assert slower(config) in metadata["engine_reason"]
    lengths = []
    for text, row in zip(texts, responses.itertuples(), strict=True):
        ids = np.asarray(loaded.tokenizer(text)["input_ids"])
        lengths.append(len(ids))
        assert row.log_likelihood == pytest.approx(tiny.one_at_a_time(model, ids, 1), abs=1e-3)
    assert min(lengths) < 64 < max(lengths)
    ask = {"parser": "letter", "labels": '["A", "B"]', "top_k": 3, "max_tokens": 4, "special_tokens": "none"}
    prompts = [words * 2, words * 12]
    together, _ = ours.answer(requests([ask | {"prefix": prompt} for prompt in prompts], "choice"))
    for i, prompt in enumerate(prompts):
        alone, _ = ours.answer(requests([ask | {"prefix": prompt}], "choice"))
        assert json.loads(alone["probabilities"][0]) == pytest.approx(
            json.loads(together["probabilities"][i]), abs=1e-5
        )
    write = {"temperature": 0.0, "special_tokens": "none"}
    rows = [write | {"prefix": words * n, "max_tokens": m} for n, m in ((2, 8), (12, 8), (2, 60))]
    written, _ = ours.answer(requests(rows, "generation"))
    assert written["status"][2] == "failed" and "64 tokens" in written["detail"][2]
    for i, prompt in enumerate(prompts):
        ids = loaded.tokenizer(prompt, return_tensors="pt", add_special_tokens=False)["input_ids"]
        said = model.generate(input_ids=ids, max_new_tokens=8, do_sample=False)[0, ids.shape[1] :]
        assert written["text"][i] == loaded.tokenizer.decode(said, skip_special_tokens=True)


def test_what_no_tree_can_hold_is_known_before_a_run():
    assert slower(tiny.model().config) == ""
    assert "linear_attention are no attention" in slower(architectures.config("qwen3_next"))


@pytest.fixture
def adapted(tmp_path):
    """A folder with a model, one with an adapter, and the two together in peft's own hands."""
    need("peft")
    import peft

    tiny.model().save_pretrained(tmp_path / "model")
    tiny.tokenizer(True).save_pretrained(tmp_path / "model")
    torch.manual_seed(1)
    config = peft.LoraConfig(r=4, target_modules=["q_proj", "down_proj"], init_lora_weights=False)
    both = peft.get_peft_model(AutoModelForCausalLM.from_pretrained(tmp_path / "model"), config).eval()
    both.save_pretrained(tmp_path / "lora")
    return str(tmp_path / "model"), tmp_path / "lora", both


def test_an_adapter_is_added_and_in_the_key(adapted, tmp_path):
    model, adapter, both = adapted
    asked, values = requests([{"continuation": SAID}]), {}
    for name, settings in {"none": {}, "lora": {"adapter": str(adapter)}}.items():
        loaded = load(model, **settings)
        responses, metadata = CausalModel("m", loaded).answer(asked, store=ResponseStore(tmp_path / "store"))
        assert metadata["run"]["computed"] == 1 and metadata["engine"] == "tree"
        assert bool(metadata["adapter_sha256"]) == (name == "lora")
        values[name] = responses["log_likelihood"][0]
    ids = np.asarray(loaded.tokenizer(SAID)["input_ids"])
    assert values["lora"] == pytest.approx(tiny.one_at_a_time(both, ids, 1), abs=1e-4)
    assert abs(values["lora"] - values["none"]) > 0.1


def test_an_adapter_that_does_not_fit_says_what_to_do(adapted):
    model, adapter, _ = adapted
    path = adapter / "adapter_model.safetensors"
    whole, first = load_file(path), "base_model.model.model.layers.0.mlp.down_proj.lora_A.weight"
    cases = {
        "is not in the adapter": {name: tensor for name, tensor in whole.items() if name != first},
        "another shape": whole | {first: torch.zeros(4, 7)},
        "no place in the model": whole | {first.replace("layers.0", "layers.7"): whole[first].clone()},
        "NaN": whole | {first: torch.full_like(whole[first], torch.nan)},
    }
    for words, tensors in cases.items():
        save_file(tensors, path, {"format": "pt"})
        with pytest.raises(UserError, match=words) as error:
            load(model, adapter=str(adapter))
        assert str(error.value).startswith(str(adapter)) and "\n" not in str(error.value)
    path.unlink()
    with pytest.raises(UserError, match=r"no adapter_model\.safetensors"):
        load(model, adapter=str(adapter))


def test_an_adapter_without_peft_names_the_package(tmp_path, monkeypatch):
    tiny.model().save_pretrained(tmp_path / "model")
    tiny.tokenizer(True).save_pretrained(tmp_path / "model")
    (tmp_path / "lora").mkdir()
    (tmp_path / "lora/adapter_config.json").write_text("{}")
    save_file({"a": torch.zeros(1)}, tmp_path / "lora/adapter_model.safetensors")
    monkeypatch.setattr("biasatlas.models.local.load.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"lora: an adapter needs the package peft.*`pip install peft`"):
        load(str(tmp_path / "model"), adapter=str(tmp_path / "lora"))


@needs("bitsandbytes")
@pytest.mark.parametrize(("bits", "engine"), [(4, "tree"), (8, "plain")])
def test_weights_quantised_with_bitsandbytes_load_as_they_are(tmp_path, bits, engine):
    shape = {"vocab_size": tiny.VOCABULARY, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2}
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(
        LlamaConfig(**shape, num_attention_heads=4, initializer_range=0.1, bos_token_id=None, eos_token_id=0)
    ).save_pretrained(tmp_path / "whole")
    quantised = AutoModelForCausalLM.from_pretrained(
        tmp_path / "whole",
        quantization_config=BitsAndBytesConfig(load_in_4bit=bits == 4, load_in_8bit=bits == 8),
        dtype=torch.float32,
    )
    quantised.save_pretrained(tmp_path / "quantised")
    tiny.tokenizer(True).save_pretrained(tmp_path / "quantised")
    loaded = load(str(tmp_path / "quantised"), dtype="auto")
    responses, metadata = CausalModel("m", loaded).answer(requests([{"continuation": SAID}]))
    ids = np.asarray(loaded.tokenizer(SAID)["input_ids"])
    assert responses["log_likelihood"][0] == pytest.approx(tiny.one_at_a_time(quantised, ids, 1), abs=1e-4)
    assert metadata["engine"] == engine


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_dtype_auto_is_that_of_the_weights(tmp_path, dtype):
    model = AutoModelForCausalLM.from_config(tiny.model().config).to(getattr(torch, dtype))
    model.save_pretrained(tmp_path)
    tiny.tokenizer(True).save_pretrained(tmp_path)
    assert str(load(str(tmp_path), dtype="auto").model.dtype) == f"torch.{dtype}"
