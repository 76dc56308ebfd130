"""A model split over two processes on a CPU, as over two GPUs."""

import json
import logging
import threading

import numpy as np
import pandas as pd
import pytest
from engine import tiny

from biasatlas.benchmarks.shared.parsing.named import PARSERS
from biasatlas.models.local import split
from biasatlas.models.local.answer import CausalModel
from biasatlas.models.local.load import load

TEXTS = ["The nurse said", "The doctor said that he"]
LABELS = json.dumps(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))  # of which a random model says some


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("qwen2")
    tiny.model().save_pretrained(path)
    tiny.tokenizer(True).save_pretrained(path)
    return path


def requests(kind: str, **settings) -> pd.DataFrame:
    rows = [{"request_id": f"{i}", "item_id": f"{i}", "kind": kind, "prefix": text} for i, text in enumerate(TEXTS)]
    return pd.DataFrame(rows).assign(**settings)


def test_two_processes_answer_as_one(folder, monkeypatch, caplog):
    whole = CausalModel("whole", load(str(folder)), parsers=PARSERS)
    parts = CausalModel("parts", load(str(folder), devices=2), parsers=PARSERS, token_budget=64)
    own = sum(
        parameter.to_local().numel() for parameter in parts.loaded.model.parameters() if hasattr(parameter, "to_local")
    )
    assert own < 0.6 * sum(parameter.numel() for parameter in whole.loaded.model.parameters())
    for asked, column in (
        (requests("likelihood", continuation=" that she would help."), "log_likelihood"),
        (requests("choice", parser="letter", labels=LABELS, max_tokens=1, top_k=40), "probabilities"),
        (requests("generation", max_tokens=12, temperature=0.0), "text"),
    ):
        (wanted, _), (found, metadata) = whole.answer(asked), parts.answer(asked)
        assert (found["status"] == wanted["status"]).all() and (found["status"] != "failed").all()
        if column == "text":
            assert list(found[column]) == list(wanted[column])
        else:
            of_parts, of_whole = (np.asarray([json.loads(f"{value}") for value in f[column]]) for f in (found, wanted))
            assert np.abs(of_parts - of_whole).max() < 1e-4 < np.abs(of_whole).max()
    assert metadata["device"] == "2 × cpu, tensor parallel" and metadata["engine"] == "tree"

    ended = threading.Event()
    monkeypatch.setattr(split.os, "_exit", lambda status: ended.set())
    others = parts.loaded.others
    others._processes[0].kill()
    assert ended.wait(10) and "ended" in caplog.text  # else this process would wait for it
    others.close()


def test_layers_that_cannot_be_split_are_dealt_out_and_the_log_says_why(tmp_path, caplog):
    tiny.model("gpt2").save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    with caplog.at_level(logging.INFO):
        loaded = load(str(tmp_path), devices=2)
    assert loaded.others is None and loaded.device == "cpu"
    assert "no plan for its layers" in caplog.text
