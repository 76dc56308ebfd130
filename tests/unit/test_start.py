"""A first configuration: what `init` writes is whole, and what it cannot know it asks for."""

import json
import math

import pytest
import yaml

from biasatlas.errors import UserError
from biasatlas.workflow.config import load_config
from biasatlas.workflow.start import configuration

ENDPOINT = {"model": "", "endpoint": "https://host/v1", "served": "org/gpt-mini", "budget": None, "prices": None}


def local(model):
    return {"model": str(model), "endpoint": "", "served": "", "budget": None, "prices": None}


@pytest.fixture
def folder(tmp_path):
    """A model of 3 million weights in bfloat16, as far as its files say."""
    folder = tmp_path / "my model: #1"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"dtype": "bfloat16"}))
    (folder / "model.safetensors").write_bytes(b"\0" * 6_000_000)
    return folder


@pytest.mark.parametrize("sample", [False, True])
def test_a_folder_makes_a_configuration_that_loads(folder, sample):
    text = configuration(**local(folder), sample=sample)
    entry = load_config(yaml.safe_load(text)).models["my-model-1"]
    assert entry.kind == "hf" and entry.source == str(folder) and entry.size_billion == pytest.approx(0.003)
    assert ("data: sample" in text) == sample


def test_an_endpoint_makes_a_configuration_that_loads():
    text = configuration(**ENDPOINT | {"budget": 2e6, "prices": [0.15, 0.6]}, sample=True)
    entry = load_config(yaml.safe_load(text)).models["org-gpt-mini"]
    assert (entry.budget, entry.price_input_per_million, entry.model) == (2e6, 0.15, "org/gpt-mini")
    assert len(text.splitlines()) == 10


@pytest.mark.parametrize("served", ["4", "null", "1.5", "a: b", "#1", "'x'", "org/mini:free"])
def test_what_a_service_calls_its_model_is_kept_to_the_letter(served):
    text = configuration(**ENDPOINT | {"served": served}, sample=True)
    (entry,) = load_config(yaml.safe_load(text)).models.values()
    assert entry.model == served


def test_a_name_on_the_hub_gives_an_entry_that_a_run_takes():
    text = configuration(**local("Qwen/Qwen2.5-0.5B-Instruct"), sample=True)
    entry = load_config(yaml.safe_load(text)).models["Qwen2.5-0.5B-Instruct"]
    assert (entry.size_billion, entry.revision) == (0.5, "main")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (ENDPOINT | {"served": ""}, "--served"),
        (ENDPOINT | {"budget": 5}, "--prices"),
        (ENDPOINT | {"endpoint": "localhost:8000"}, r"models\.org-gpt-mini\.base_url: got 'localhost:8000'"),
        (ENDPOINT | {"budget": 0, "prices": [0, 0]}, "budget: nothing would count against it"),
        (ENDPOINT | {"budget": math.nan, "prices": [1, 1]}, "budget: expected a number, got 'nan'"),
        (ENDPOINT | {"budget": 5, "prices": [1, -1]}, "price_output_per_million: must be at least 0, got -1"),
        (local("a/b-1b") | {"served": "x", "budget": 5, "prices": [1, 1]}, "--served, --budget, --prices"),
        (local("./nowhere"), "no folder there"),
        (local("nowhere"), "owner/name"),
        (local("openai-community/gpt2"), "how large"),
    ],
)
def test_what_is_missing_is_asked_for(given, said):
    with pytest.raises(UserError, match=said):
        configuration(**given, sample=False)


def test_a_folder_without_weights_is_no_model(tmp_path):
    with pytest.raises(UserError, match=r"config\.json and \*\.safetensors"):
        configuration(**local(tmp_path), sample=False)


@pytest.mark.parametrize(
    ("content", "said"),
    [("{", r"config\.json, column 2: not JSON"), ("[]", r"expected config\.json"), ("\xe9", "not UTF-8")],
)
def test_damaged_settings_are_one_sentence(folder, content, said):
    (folder / "config.json").write_text(content, encoding="latin-1")
    with pytest.raises(UserError, match=said):
        configuration(**local(folder), sample=False)
