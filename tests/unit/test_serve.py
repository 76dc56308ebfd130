"""A server beside the job: it writes texts where it writes as the engine does, and never outlives its job."""

import json
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
import torch
from conftest import ROOT, python
from engine import tiny
from needs import need
from transformers import LlamaConfig, LlamaForCausalLM

from biasatlas.benchmarks.shared.parsing.named import PARSERS
from biasatlas.errors import UserError
from biasatlas.models.local import keeper, serve
from biasatlas.models.local.answer import CausalModel
from biasatlas.models.local.entry import HfEntry
from biasatlas.models.local.generation import answer_generations
from biasatlas.models.local.inputs import encode_prompts
from biasatlas.models.local.load import load
from biasatlas.models.store import ResponseStore

PROMPTS = ["The nurse said", "The doctor said", "A man", "A woman walked"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    tiny.model().save_pretrained(path)
    tiny.tokenizer(True).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def loaded(folder):
    return load(str(folder))


def requests(**settings):
    rows = [{"request_id": f"r{i}", "item_id": f"i{i}", "prefix": text} for i, text in enumerate(PROMPTS)]
    said = {"kind": "generation", "temperature": 0.7, "max_tokens": 12, "repeats": 2} | settings
    return pd.DataFrame(rows).assign(**said)


def gone(pids):
    """Whether none of the processes runs; one that is dead may wait for its parent to notice."""
    states = [
        subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout for pid in pids
    ]
    return all(state.strip()[:1] in ("", "Z") for state in states)


def pids_of(log):
    while not (found := [line for line in log.read_text().splitlines() if line.startswith("pids ")]):
        time.sleep(0.02)
    return [int(pid) for pid in found[-1].split()[1:]]


def wait_until_gone(pids, within_s=60):
    until = time.monotonic() + within_s
    while not gone(pids):
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.fixture
def model(loaded, folder, tmp_path, monkeypatch):
    """The tiny model with a stub of vLLM beside it that behaves as it is told."""
    greedy = requests(temperature=0.0, max_tokens=8, repeats=1).reindex(
        columns=[*requests(), "top_p", "top_k", "repetition_penalty", "frequency_penalty", "special_tokens"]
    )
    model, tokens = CausalModel("tiny", loaded), encode_prompts(greedy, PROMPTS, loaded)
    texts, _ = answer_generations(greedy, tokens, loaded, model.memory)
    known = {json.dumps(ids.tolist()): text for ids, text in zip(tokens, texts["text"], strict=True)}
    (tmp_path / "answers").write_text(json.dumps(known))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    def behaving(how):
        program = tmp_path / "vllm"
        program.write_text(f"#!/bin/sh\nexec {sys.executable} {ROOT}/tests/served.py {tmp_path}/answers {how} $@\n")
        program.chmod(0o755)
        entry = HfEntry(
            kind="hf", source=str(folder), size_billion=1, serve="vllm", serve_arguments=["--enforce-eager"]
        )
        serving = serve.Serving.of(entry, folder, 0, tmp_path / "logs/m.server.log")
        return CausalModel("tiny", loaded, parsers=PARSERS, serving=serving)

    return behaving


def test_texts_come_from_the_server_and_all_else_from_the_engine(model, loaded, tmp_path):
    served, store = model("taken"), ResponseStore(tmp_path / "store")
    responses, metadata = served.answer(requests(), "task", store)
    (server,) = served._servers
    assert len(set(responses["text"])) == 8 and responses["text"].str.startswith("served ").all()
    assert set(responses["status"]) == {"ok"} and set(responses["completion_tokens"]) == {2}
    assert metadata["serve"] == {"kind": "vllm", "version": "0.33.0", "arguments": ["--enforce-eager"]}
    assert set(served.answer(requests(max_tokens=9), "task")[0]["status"]) == {"truncated"}
    asked = requests(kind="likelihood").assign(continuation=" so.")
    pd.testing.assert_frame_equal(served.answer(asked)[0], CausalModel("tiny", loaded).answer(asked)[0])
    server.close()
    wait_until_gone(pids_of(tmp_path / "logs/m.server.log"))
    again, _ = model("dies").answer(requests(), "task", store)  # nothing is asked again, so nothing starts
    pd.testing.assert_frame_equal(again, responses)
    assert not CausalModel("tiny", loaded).answer(requests(), "task", store)[0].equals(responses)


@pytest.mark.parametrize(
    ("how", "asked", "says"),
    [
        (
            "dies",
            {},
            r"ended with exit status 3\. Its last words: loading \| CUDA error: no kernel image .*m\.server\.log$",
        ),
        ("hangs", {}, r"did not come up within 1 s\. Its last words: pids .*m\.server\.log$"),
        (
            "crashes",
            {},
            r"ended with exit status 1\. Its last words: .*EngineCore encountered an issue.*m\.server\.log$",
        ),
        ("other", {}, "writes 4 of 4 greedy texts otherwise than the engine .as 'something else', not"),
        ("well", {"max_tokens": 13}, r"refuses a prompt \(400 .*too long"),
    ],
)
def test_a_server_that_cannot_be_used_ends_the_job_with_its_last_words(model, monkeypatch, tmp_path, how, asked, says):
    monkeypatch.setattr(serve, "_START_S", 1.0 if how == "hangs" else 60.0)
    with pytest.raises(UserError, match=says):
        model(how).answer(requests(**asked))
    if how != "dies":
        wait_until_gone(pids_of(tmp_path / "logs/m.server.log"))


JOB = """
import subprocess, sys, time
subprocess.Popen([sys.executable, *sys.argv[1:]], stdin=subprocess.PIPE, start_new_session=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_no_server_outlives_its_job(tmp_path, ending):
    """Nor do its children, one of which does not heed SIGTERM."""
    (tmp_path / "answers").write_text("{}")
    log = tmp_path / "log"
    log.touch()
    served = [sys.executable, ROOT / "tests/served.py", tmp_path / "answers", "hangs"]
    job = python(JOB, keeper.__file__, log, *served)
    pids = pids_of(log)
    job.send_signal(ending)
    job.wait()
    wait_until_gone(pids, within_s=10)  # 2 s and a bit where nothing else runs


def test_a_program_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    entry = HfEntry(kind="hf", source="./m", size_billion=1, serve="vllm")
    with pytest.raises(UserError, match=r"serve: vllm: `vllm --version` fails .* put that on the PATH"):
        serve.Serving.of(entry, tmp_path, 0, tmp_path / "log")


def test_other_weights_in_a_servers_file_are_another_model(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    (tmp_path / "llama-server").write_text("#!/bin/sh\necho version: 1\n")
    (tmp_path / "llama-server").chmod(0o755)
    weights = tmp_path / "m.gguf"
    entry = HfEntry(kind="hf", source="./m", size_billion=1, serve="llama.cpp", serve_arguments=["-m", str(weights)])
    identities = []
    for content in ("one", "two"):
        weights.write_text(content)
        identities.append(serve.Serving.of(entry, tmp_path, 0, tmp_path / "log").identity)
    assert identities[0] != identities[1] and entry.serve_files == [str(weights)]


def test_vllm_writes_what_the_engine_writes(tmp_path, monkeypatch):
    """A model whose heads are as large as its kernels on a CPU need, and whose predictions are far from flat."""
    need("vllm")
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    torch.manual_seed(0)
    size = {"vocab_size": tiny.VOCABULARY, "hidden_size": 128, "intermediate_size": 64, "num_hidden_layers": 2}
    config = LlamaConfig(**size, num_attention_heads=4, num_key_value_heads=2, bos_token_id=1, eos_token_id=0)
    tiny.spread(LlamaForCausalLM(config)).save_pretrained(tmp_path)
    tiny.tokenizer(True).save_pretrained(tmp_path)
    arguments = ["--enforce-eager", "--max-model-len", "256"]
    entry = HfEntry(
        kind="hf", source=str(tmp_path), size_billion=1, dtype="float32", serve="vllm", serve_arguments=arguments
    )
    serving, loaded = serve.Serving.of(entry, tmp_path, 0, tmp_path / "server.log"), load(str(tmp_path))
    asked = requests(temperature=0.0, repeats=1)
    served = CausalModel("tiny", loaded, parsers=PARSERS, serving=serving)
    responses, metadata = served.answer(asked)
    assert metadata["serve"]["version"] == serving.version
    texts = CausalModel("tiny", loaded).answer(asked)[0]["text"].str.rstrip("\ufffd")  # vLLM gives no half character
    assert list(responses["text"]) == list(texts) and texts.str.len().gt(4).all()
    (server,) = served._servers
    server.close()
