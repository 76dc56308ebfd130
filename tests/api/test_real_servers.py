"""Servers that others wrote, with a tiny model: what our check finds of them, and that their answers can be read.

They are no part of requirements.in; a test of one that is not installed is skipped.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pandas as pd
import pytest
from api_server import MODEL, Server, requests_for, said
from conftest import snakemake
from golden.tiny_models import save_causal
from needs import need

from biasatlas.errors import UserError
from biasatlas.models.endpoint.answer import Endpoint
from biasatlas.models.endpoint.capability_check import check
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.store import ResponseStore


@contextlib.contextmanager
def serving(*command, path, **environment):
    """The base URL of a server that ``command`` starts, with a free port put in for PORT, once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(part).replace("PORT", str(port)) for part in command]
    with (path / "server.log").open("w") as output:
        process = subprocess.Popen(command, env=os.environ | environment, stdout=output, stderr=subprocess.STDOUT)
    try:
        url, end = f"http://127.0.0.1:{port}/v1", time.monotonic() + 120
        while True:
            try:
                urllib.request.urlopen(f"{url}/models", timeout=5).close()
                break
            except urllib.error.HTTPError:
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < end, (path / "server.log").read_text()[-2000:]
                time.sleep(0.5)
        yield url
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(autouse=True)
def own_limits(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def transformers_serve(tmp_path_factory):
    need("transformers serve")
    tmp_path = tmp_path_factory.mktemp("served")
    model = tmp_path / "model"
    save_causal(model)
    program = Path(sys.executable).parent / "transformers"
    with serving(program, "serve", "--port", "PORT", "--device", "cpu", path=tmp_path, HF_HUB_OFFLINE="1") as url:
        yield {"kind": "api", "base_url": url, "model": str(model)}


def test_transformers_serve_is_greedy_until_told(transformers_serve, tmp_path):
    entry = ApiEntry(**transformers_serve)
    found = check(entry)
    assert (found.n, found.samples, found.seed) == (1, False, False)
    requests = requests_for(["Hello", "Who?"], repeats=4)
    with pytest.raises(UserError, match="do_sample"):
        Endpoint(entry, found=found).answer(requests, "task", ResponseStore(tmp_path / "store"))
    entry = ApiEntry(**transformers_serve, extra_body={"generation_config": json.dumps({"do_sample": True})})
    found = check(entry)
    assert found.samples
    frame, metadata = Endpoint(entry, found=found).answer(requests, "task", ResponseStore(tmp_path / "store"))
    assert set(frame["status"]) <= {"ok", "truncated"}
    assert frame["text"].nunique() > 2
    assert (metadata["answers"], metadata["failed"], metadata["uncounted"]) == (8, 0, 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "no-such"}, r"no-such at .* has a fault of its own \(500 .*look at `model`"),
        ({"top_logprobs": 5}, "gives no 5 top log-probabilities"),
        ({"prompt_logprobs": True}, "returns no log-probabilities of a prompt"),
        ({"dialect": "vllm"}, "422 .*top_k"),
    ],
)
def test_what_transformers_serve_cannot_do_is_refused(transformers_serve, settings, message):
    with pytest.raises(UserError, match=message):
        check(ApiEntry(**transformers_serve | settings))


@contextlib.contextmanager
def behind_litellm(path, monkeypatch, **settings):
    """The entry of a server of ours behind a proxy that says 400 to a wrong key and an unknown model."""
    need("litellm")
    program = shutil.which("litellm")
    monkeypatch.setenv("ATLAS_PROXY_KEY", "sk-proxy-1234567890")
    with Server(answers=128, **settings) as server:
        parameters = {"model": f"openai/{MODEL}", "api_base": server.url, "api_key": "none"}
        config = {
            "model_list": [{"model_name": "proxied", "litellm_params": parameters}],
            "general_settings": {"master_key": "sk-proxy-1234567890"},
        }
        (path / "config.yaml").write_text(json.dumps(config))
        command = [program, "--config", path / "config.yaml", "--host", "127.0.0.1", "--port", "PORT"]
        with serving(*command, path=path) as url:
            yield {"kind": "api", "base_url": url, "model": "proxied", "key_env": "ATLAS_PROXY_KEY"}


def test_behind_litellm(tmp_path, monkeypatch):
    with behind_litellm(tmp_path, monkeypatch) as usual:
        found = check(ApiEntry(**usual))
        assert found.n == 128
        requests = requests_for(["one", "two"], repeats=3)
        frame, _ = Endpoint(ApiEntry(**usual), found=found).answer(requests, "task", ResponseStore(tmp_path / "store"))
        assert list(frame["text"]) == [said("one")] * 3 + [said("two")] * 3
        with pytest.raises(UserError, match="no-such"):
            check(ApiEntry(**usual | {"model": "no-such"}))
        monkeypatch.setenv("ATLAS_PROXY_KEY", "sk-wrong-1234567890")
        with pytest.raises(UserError):
            check(ApiEntry(**usual))


def test_a_benchmark_of_both_comes_to_the_report(transformers_serve, tmp_path, monkeypatch):
    sampled = {"extra_body": {"generation_config": json.dumps({"do_sample": True})}}
    with behind_litellm(tmp_path, monkeypatch, reply=lambda *_: "A") as proxied:
        models = {"tiny": transformers_serve | sampled, "proxied": proxied}
        run = {"data": "sample", "tasks": ["pair_choice"]}
        config = {"results": "results", "models": models, "benchmarks": {"crows_pairs": run}}
        (tmp_path / "config.json").write_text(json.dumps(config))
        done = snakemake("--configfile", str(tmp_path / "config.json"), folder=tmp_path)
        assert done.returncode == 0, done.stdout
    table = pd.read_csv(tmp_path / "results/tables/crows_pairs/recommended/outcomes.csv")
    table = table[table["grouped_by"].isna()].set_index("model")
    assert table.loc["proxied", "n"] == 168
    other = ["refused", "filtered", "thought", "ambiguous", "unparseable", "truncated", "failed"]
    assert table.loc["tiny", ["n", *other]].sum() == 168 and table.loc["tiny", "failed"] == 0
    assert (tmp_path / "results/report/index.html").exists()
