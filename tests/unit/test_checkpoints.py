"""Checkpoints as people have them: each damaged or unfit one is refused in one sentence, before a weight is read."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import pandas as pd
import pytest
import torch
from composite_models import NAMES, save
from engine import tiny
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    BertConfig,
    BertForMaskedLM,
    BertModel,
    PreTrainedTokenizerFast,
    T5Config,
    XLNetConfig,
)

from biasatlas.errors import UserError
from biasatlas.models import hub
from biasatlas.models.entry import Thinking
from biasatlas.models.hub import checkpoint_sha256, weight_files
from biasatlas.models.interface import ModelContext
from biasatlas.models.kinds import open_model
from biasatlas.models.local.answer import CausalModel
from biasatlas.models.local.entry import HfEntry
from biasatlas.models.local.load import check_folder, load
from biasatlas.models.local.preview import check_model
from biasatlas.models.masked import answer as masked
from biasatlas.models.masked.entry import MaskedEntry


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved")
    tiny.model().save_pretrained(path)
    tiny.tokenizer(True).save_pretrained(path)
    return path


@pytest.fixture
def folder(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "model")


def refusal(folder, check=check_folder):
    """The one sentence with which a folder is refused."""
    with pytest.raises(UserError) as error:
        check(folder)
    message = str(error.value)
    assert "\n" not in message and message.startswith(str(folder)) and message.endswith(".")
    return message


def edit_tensors(folder, change):
    """Save the weights again after ``change`` of their dictionary."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path, {"format": "pt"})


def edit_config(folder, **values):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def requests(rows, kind="likelihood"):
    return pd.DataFrame([{"request_id": f"r{i}", "item_id": f"i{i}", "kind": kind} | row for i, row in enumerate(rows)])


def test_a_whole_folder_passes_and_reads_no_weight(folder):
    names = sorted(path.name for path in folder.iterdir())
    with (folder / "model.safetensors").open("r+b") as file:  # numbers may be anything
        file.seek(-1000, 2)
        file.write(b"\xff" * 1000)
    checkpoint = check_folder(folder)
    assert checkpoint.model_class.__name__ == "Qwen2ForCausalLM" and checkpoint.config.num_hidden_layers == 2
    assert sorted(path.name for path in folder.iterdir()) == names


def test_an_entry_is_checked_with_all_that_its_job_would_stop_at(folder):
    entry = HfEntry(kind="hf", source=str(folder), size_billion=1)
    check_model(ModelContext("m", entry))
    for update, words in (
        ({"thinking": Thinking()}, "m: template_arguments.enable_thinking"),
        ({"template_arguments": {"enable_thinking": False}}, "m: template_arguments.enable_thinking"),
        ({"adapter": str(folder)}, "no adapter_config.json"),
        ({"source": str(folder / "nope")}, "no such folder"),
    ):
        with pytest.raises(UserError, match=words):
            check_model(ModelContext("m", entry.model_copy(update=update)))


def test_every_missing_tensor_is_named(folder):
    whole = load_file(folder / "model.safetensors")
    for name in whole:
        save_file({n: t for n, t in whole.items() if n != name}, folder / "model.safetensors", {"format": "pt"})
        assert name in refusal(folder)
    assert len(whole) == 27


def rename(tensors):
    for name in list(tensors):
        tensors[f"wrong.{name}"] = tensors.pop(name)


def headless(tensors):
    """As AutoModel saves it."""
    for name in list(tensors):
        tensor = tensors.pop(name)
        if name.startswith("model."):
            tensors[name.removeprefix("model.")] = tensor


def misshape(tensors):
    tensors["model.norm.weight"] = torch.ones(7)


def stray(tensors):
    tensors["model.layers.0.self_attn.extra"] = torch.ones(7)


WEIGHTS = {
    "renamed": (lambda f: edit_tensors(f, rename), ["lm_head.weight (and 26 more) is not in the weights"]),
    "without head": (lambda f: edit_tensors(f, headless), ["language-model head", "lm_head.weight"]),
    "another shape": (lambda f: edit_tensors(f, misshape), ["model.norm.weight", "[7]", "expected [32]"]),
    "stray": (lambda f: edit_tensors(f, stray), ["model.layers.0.self_attn.extra", "no place"]),
    "layers missing": (
        lambda f: edit_config(f, num_hidden_layers=4, layer_types=["full_attention"] * 4),
        ["model.layers.2", "not in the weights"],
    ),
    "layers to spare": (
        lambda f: edit_config(f, num_hidden_layers=1, layer_types=["full_attention"]),
        ["model.layers.1", "no place"],
    ),
    "narrower": (lambda f: edit_config(f, intermediate_size=40), ["[32, 48]", "expected [32, 40]"]),
}
FILES = {
    "cut off": (
        lambda f: (f / "model.safetensors").write_bytes((f / "model.safetensors").read_bytes()[:-100]),
        ["model.safetensors has 167628 bytes, expected 167728"],
    ),
    "garbage": (lambda f: (f / "model.safetensors").write_bytes(b"x" * 5000), ["model.safetensors", "download"]),
    "empty": (
        lambda f: (f / "model.safetensors").write_bytes(b""),
        ["model.safetensors (0 bytes) has no safetensors header"],
    ),
    "git-lfs": (
        lambda f: (f / "model.safetensors").write_text(
            "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
        ),
        ["model.safetensors", "git-lfs pointer", "git lfs pull"],
    ),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), ["no weights", "expected model.safetensors"]),
    "pickled": (lambda f: (f / "model.safetensors").rename(f / "pytorch_model.bin"), ["pickled", "safetensors"]),
    "other names": (lambda f: (f / "model.safetensors").rename(f / "consolidated.safetensors"), ["no weights"]),
    "shard missing": (
        lambda f: (
            (f / "model.safetensors.index.json").write_text(
                json.dumps(
                    {"weight_map": {"lm_head.weight": (f / "model.safetensors").rename(f / "a.safetensors").name}}
                )
            )
            and (f / "a.safetensors").unlink()
        ),
        ["a.safetensors is missing", "index"],
    ),
    "no config": (lambda f: (f / "config.json").unlink(), ["no config.json"]),
    "config garbage": (lambda f: (f / "config.json").write_text("{"), ["config.json cannot be read"]),
    "config empty": (lambda f: (f / "config.json").write_text("{}"), ["config.json cannot be read"]),
    "config list": (lambda f: (f / "config.json").write_text("[]"), ["config.json cannot be read"]),
    "config latin-1": (lambda f: (f / "config.json").write_bytes(b'{"a": "\xe9"}'), ["config.json cannot be read"]),
    "unknown architecture": (lambda f: edit_config(f, model_type="nobody"), ["config.json cannot be read", "nobody"]),
    "heads": (lambda f: edit_config(f, hidden_size=30, num_attention_heads=0), ["config.json"]),
    "generation": (lambda f: (f / "generation_config.json").write_text("{"), ["generation_config.json is not a JSON"]),
    "tokenizer configuration": (
        lambda f: (f / "tokenizer_config.json").write_text("[]"),
        ["tokenizer_config.json is not a JSON object"],
    ),
    "adapter": (lambda f: (f / "adapter_config.json").write_text("{}"), ["LoRA adapter", "`adapter`"]),
}
TOKENIZERS = {
    "none": (lambda f: [path.unlink() for path in f.glob("tokenizer*")], ["no tokenizer"]),
    "its configuration alone": (lambda f: (f / "tokenizer.json").unlink(), ["no tokenizer"]),
    "garbage": (lambda f: (f / "tokenizer.json").write_text("{"), ["tokenizer cannot be read"]),
    "half": (lambda f: (f / "tokenizer.json").write_text('{"version": "1.0"}'), ["tokenizer cannot be read"]),
}
ARCHITECTURES = {
    "BERT over other weights": (lambda f: BertConfig().save_pretrained(f), ["bert", "bidirectional", "kind: masked"]),
    "T5": (lambda f: T5Config().save_pretrained(f), ["t5", "encoder-decoder"]),
}
QUANTISED = {
    method: (
        lambda f, method=method: edit_config(f, quantization_config={"quant_method": method, "bits": 4}),
        ["quantised", f"`pip install {package}"],
    )
    for method, package in {"awq": "gptqmodel", "gptq": "gptqmodel optimum", "bitsandbytes": "bitsandbytes"}.items()
}
DAMAGE = WEIGHTS | FILES | {f"tokenizer: {name}": case for name, case in TOKENIZERS.items()} | ARCHITECTURES


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_folder_is_refused_before_a_weight_is_read(folder, name):
    damage, words = DAMAGE[name]
    damage(folder)
    message = refusal(folder)
    assert all(word in message for word in words), message
    with pytest.raises(UserError):
        load(str(folder))


@pytest.mark.parametrize("method", QUANTISED)
def test_quantised_weights_name_the_package_that_they_need(folder, method, monkeypatch):
    monkeypatch.setattr("biasatlas.models.local.checkpoint.find_spec", lambda name: None)
    damage, words = QUANTISED[method]
    damage(folder)
    assert all(word in refusal(folder) for word in words)


def test_a_tokenizer_that_is_too_large_is_named(folder):
    edit_tensors(folder, lambda t: t.update({n: t[n][:300] for n in ("lm_head.weight", "model.embed_tokens.weight")}))
    edit_config(folder, vocab_size=300)
    message = refusal(folder)
    assert "of index 300" in message and "below 300" in message


def test_a_token_for_images_may_lie_beyond_the_embeddings(folder):
    tokenizer = tiny.PreTrainedTokenizerFast.from_pretrained(folder)
    rows = tiny.VOCABULARY - len(tokenizer)
    tokenizer.add_tokens([f"<image {number}>" for number in range(rows + 1)])
    tokenizer.save_pretrained(folder)
    model = CausalModel("tiny", load(str(folder)))
    responses, _ = model.answer(requests([{"continuation": f"He <image {rows}>."}, {"continuation": "He."}]))
    assert list(responses["status"]) == ["failed", "ok"] and "embeddings" in responses["detail"][0]
    tokenizer.chat_template = f"<image {rows}>"
    tokenizer.save_pretrained(folder)
    assert f"<image {rows}>" in refusal(folder)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_weight_that_is_no_number_is_named(folder, number):
    edit_tensors(folder, lambda tensors: tensors["model.layers.1.mlp.up_proj.weight"][3:5, 2].fill_(number))
    message = refusal(folder, lambda path: load(str(path)))
    assert "model.layers.1.mlp.up_proj.weight holds 2 numbers" in message


def test_a_weight_that_overflows_in_16_bits_is_named(folder):
    edit_tensors(folder, lambda tensors: tensors["model.norm.weight"].fill_(1e6))
    load(str(folder))
    assert "float16" in refusal(folder, lambda path: load(str(path), dtype="float16"))


def test_a_model_whose_tokens_see_those_after_them_is_refused(tmp_path):
    torch.manual_seed(0)
    config = XLNetConfig(vocab_size=tiny.VOCABULARY, d_model=32, n_layer=2, n_head=4, d_inner=48)
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    assert "no causal language model" in refusal(tmp_path, lambda path: load(str(path)))


def test_a_tied_head_is_not_missing(tmp_path):
    tiny.model("gemma2").save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    assert "lm_head.weight" not in load_file(tmp_path / "model.safetensors")
    assert check_folder(tmp_path)
    AutoModel.from_pretrained(tmp_path).save_pretrained(tmp_path)  # has all that is needed, too
    torch.testing.assert_close(load(str(tmp_path)).model.state_dict(), tiny.model("gemma2").state_dict())


def test_only_what_is_loaded_is_hashed(folder):
    before = checkpoint_sha256(folder)
    (folder / "consolidated.safetensors").write_bytes(b"the same in another layout")
    assert checkpoint_sha256(folder) == before
    AutoModelForCausalLM.from_pretrained(folder).save_pretrained(folder, max_shard_size="50kB")
    (folder / "model.safetensors").unlink()
    assert len(weight_files(folder)) > 1 and checkpoint_sha256(folder)[0] != before[0]
    load(str(folder))
    for name in ("config.json", "tokenizer.json", "chat_template.jinja", "generation_config.json"):
        now = checkpoint_sha256(folder)
        with (folder / name).open("a") as file:
            file.write("\n")
        assert checkpoint_sha256(folder)[1] != now[1]


@pytest.mark.parametrize("kind", ["hf", "masked"])
def test_the_jobs_of_a_run_hash_weights_once(kind, folder, tmp_path, monkeypatch):
    if kind == "masked":
        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
        BertForMaskedLM(BertConfig(vocab_size=tiny.VOCABULARY, **sizes)).save_pretrained(folder)
        tokenizer = tiny.tokenizer()
        tokenizer.add_special_tokens({"mask_token": "[MASK]"})
        tokenizer.save_pretrained(folder)
    entry = {"hf": HfEntry, "masked": MaskedEntry}[kind](kind=kind, source=str(folder), size_billion=0.001)
    context = ModelContext("mine", entry, hashes=tmp_path / "store/mine/sha256.json")
    read, digest = [], hashlib.file_digest

    def counted(file, name):
        read.append(Path(file.name).name)
        return digest(file, name)

    def identity():
        read.clear()
        model = open_model(context)
        model = model.loaded if kind == "hf" else model
        return model.weights_sha256, model.config_sha256

    monkeypatch.setattr(hashlib, "file_digest", counted)
    first = identity()
    assert first == checkpoint_sha256(folder) and "model.safetensors" in read
    assert identity() == first and not read  # another job of the run

    weights = folder / "model.safetensors"
    before = weights.stat()
    edit_tensors(folder, lambda tensors: tensors[min(tensors)].add_(1))
    os.utime(weights, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert weights.stat().st_size == before.st_size and weights.stat().st_mtime_ns == before.st_mtime_ns
    assert identity()[0] not in (first[0], "") and read == ["model.safetensors"]


MINE = """
from transformers import Qwen2Config, Qwen2ForCausalLM


class MineConfig(Qwen2Config):
    model_type = "mine"


class Mine(Qwen2ForCausalLM):
    config_class = MineConfig
"""


def test_a_folder_s_own_code_is_checked_with_its_weights(folder, monkeypatch, tmp_path):
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(tmp_path / "modules")
    (folder / "mine.py").write_text(MINE)
    edit_config(
        folder, model_type="mine", auto_map={"AutoConfig": "mine.MineConfig", "AutoModelForCausalLM": "mine.Mine"}
    )
    assert "trust_remote_code" in refusal(folder)
    trusted = {"trust_remote_code": True, "revision": "0123456"}
    loaded = load(str(folder), **trusted)
    assert type(loaded.model).__name__ == "Mine" and loaded.route.name == "tree"
    edit_tensors(folder, lambda tensors: tensors.pop("model.norm.weight"))
    assert "model.norm.weight is not in the weights" in refusal(folder, lambda path: load(str(path), **trusted))


COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_an_entry_s_model_and_adapter_are_fetched_at_their_commits(monkeypatch):
    asked = []

    def download(source, revision, trust_remote_code=False):
        asked.append((source, revision, trust_remote_code))
        return Path(f"snapshots/{source.partition('/')[2]}-commit")

    monkeypatch.setattr(hub, "model_folder", download)
    model = {"kind": "hf", "source": "owner/model", "revision": COMMIT, "size_billion": 1, "trust_remote_code": True}
    known = {"source": "owner/model", "revision": COMMIT, "commit": "model-commit"}
    assert hub.fetch(HfEntry(**model)) == hub.fetch(HfEntry(**model, adapter="./lora")) == known
    both = HfEntry(**model, adapter="owner/lora", adapter_revision="v1")
    assert hub.fetch(both) == known | {"adapter": "owner/lora", "adapter_commit": "lora-commit"}
    assert asked[-2:] == [("owner/model", COMMIT, True), ("owner/lora", "v1", False)]
    local = HfEntry(**model | {"source": "./model", "revision": "main"}, adapter="owner/lora", adapter_revision="v1")
    assert hub.fetch(local) == {"source": "./model", "revision": "main"} | {
        "adapter": "owner/lora",
        "adapter_commit": "lora-commit",
    }


def test_a_hub_id_that_is_also_a_folder_here_is_refused(monkeypatch, tmp_path):
    (tmp_path / "owner/model").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    model = HfEntry(kind="hf", source="owner/model", revision="main", size_billion=1)
    with pytest.raises(UserError, match=r"owner/model: a folder of this name is in .*: write ./owner/model"):
        hub.fetch(model)


MASKED_WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "he", "she", "is", "late"]


@pytest.fixture
def masked_folder(tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(MASKED_WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    BertForMaskedLM(BertConfig(vocab_size=len(MASKED_WORDS), **sizes)).save_pretrained(tmp_path)
    PreTrainedTokenizerFast(tokenizer_object=words, **names).save_pretrained(tmp_path)
    return tmp_path


def test_a_masked_model_passes_with_its_head_alone(masked_folder):
    assert masked.check_folder(masked_folder).model_class is BertForMaskedLM
    BertModel.from_pretrained(masked_folder).save_pretrained(masked_folder)
    message = refusal(masked_folder, masked.check_folder)
    assert "language-model head is not in the weights" in message and "cls.predictions" in message
    with pytest.raises(UserError, match="head"):
        masked.load(str(masked_folder))


def test_a_causal_model_is_no_masked_one(folder, masked_folder):
    assert "kind: hf" in refusal(folder, masked.check_folder)
    assert "kind: masked" in refusal(masked_folder)
    edit_tensors(masked_folder, lambda tensors: tensors["bert.embeddings.LayerNorm.weight"].fill_(float("nan")))
    assert "LayerNorm" in refusal(masked_folder, lambda path: masked.load(str(path)))


@pytest.mark.parametrize("name", NAMES)
def test_a_composite_model_misses_no_tensor_of_its_text(name, tmp_path):
    save(name, tmp_path)
    query = "layers.0.self_attn.q_proj.weight"
    stored = [key for key in load_file(tmp_path / "model.safetensors") if key.endswith(query) and "vision" not in key]
    edit_tensors(tmp_path, lambda tensors: tensors.pop(*stored))
    message = refusal(tmp_path)
    assert query in message and "is not in the weights" in message
