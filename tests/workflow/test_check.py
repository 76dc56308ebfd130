"""The check of a run: models and files of the user first, then the number of requests and their cost."""

import json
import os
import re
import subprocess
import sys

import pandas as pd
import pyarrow.parquet as pq
import pytest
from api_server import MODEL, Server, requests_for
from conftest import ROOT, snakemake
from counting import calls
from golden.tiny_models import save_masked
from small_run import write_config

from biasatlas.columns import REQUEST_COLUMNS
from biasatlas.files import read_csv, read_parquet, write_requests
from biasatlas.models.endpoint.calls import Unsupported, bound, planned_call
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.workflow import sizes

PRICES = {"price_input_per_million": 100, "price_output_per_million": 1000, "requests_per_minute": 600}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A folder with the check of a run of every kind of model, the endpoint's server, and a way to run it again."""
    folder = tmp_path_factory.mktemp("check")
    config = write_config(folder, 1)
    written = json.loads(config.read_text())
    save_masked(folder / "masked")
    with Server() as server:
        written["models"] |= {
            "endpoint": {"kind": "api", "base_url": server.url, "model": MODEL, **PRICES},
            "masked": {"kind": "masked", "source": str(folder / "masked")},
        }
        written["benchmarks"] = {
            "crows_pairs": {"data": "sample", "parse_with": "endpoint"},
            "mcbe": {"data": "sample", "categories": ["age"], "judge": "endpoint"},
        }

        def again(*targets, **changes):
            config.write_text(json.dumps(written | changes))
            return snakemake(*targets, "--configfile", str(config), folder=folder)

        done = again("check")
        assert done.returncode == 0, done.stdout
        yield folder, server, again


def test_every_task_is_measured_or_says_why_not(run):
    folder, server, _ = run
    table = read_csv(folder / "results/check.csv").set_index(["model", "role", "task"])
    assert not server.bodies
    assert set(table.loc[["tiny-0"], "measured"]) == {"yes"}
    assert table.loc[("masked", "answers", "pair"), "measured"] == "yes"
    assert table.loc[("masked", "answers", "SC"), "measured"] == "no"
    assert "kind masked does not answer" in table.loc[("masked", "answers", "SC"), "remark"]
    requests = read_parquet(folder / "results/requests/crows_pairs/recommended/pair_choice.parquet")
    row = table.loc[("endpoint", "answers", "pair_choice")]
    assert row["calls"] == row["requests"] == len(requests)
    assert row["minutes"] == pytest.approx(len(requests) / (600 * 0.95))
    judged = table.loc[("endpoint", "judges tiny-0", "BA")]
    assert judged["cost"] > 0
    # Only the endpoint's choices are replies, and each may have to be parsed again.
    parsed = table.xs("parses", level="role").iloc[0]
    assert parsed["calls"] == parsed["requests"] == (requests["repeats"].fillna(1)).sum()
    assert parsed["cost"] > 0 and parsed["prompt_tokens"] > row["prompt_tokens"]
    assert table.loc[("tiny-0", "answers", "pair_choice"), ["longest_tokens", "context_tokens"]].notna().all()
    text = (folder / "results/check.txt").read_text()
    assert "all: " in text and " USD" in text


def verb(folder, name, *options):
    command = [sys.executable, "-m", "biasatlas", name, "config.json", "--cores", "2", "--profile", "none", *options]
    env = os.environ | {"PYTHONPATH": str(ROOT / "scripts")}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_the_command_prints_what_the_check_found(run):
    folder, _, _ = run
    done = verb(folder, "check")
    assert done.returncode == 0, done.stderr
    said = (folder / "results/check.txt").read_text()
    assert done.stdout == said + "endpoint: spent so far 0.0000 USD\n"


def test_one_model_that_fails_hides_no_price(tmp_path):
    with Server() as server:
        entry = {"kind": "api", "base_url": server.url, "model": MODEL, **PRICES}
        models = {"gone": entry | {"base_url": "http://127.0.0.1:9/v1"}, "mine": entry}
        run = {"models": models, "benchmarks": {"crows_pairs": {"data": "sample"}}}
        (tmp_path / "config.json").write_text(json.dumps(run))
        assert verb(tmp_path, "check", "--dry-run").returncode == 0  # which leaves nothing to print
        done = verb(tmp_path, "check")
        assert done.returncode == 1
        assert re.search(r"^mine: 168 calls, at most \d+\.\d\d USD", done.stdout, re.MULTILINE)
        assert "pair_choice gone: it failed: results/logs/check_model/gone.log says why\n" in done.stdout
        assert done.stdout.endswith("USD\nwithout gone: see the error above\n")
        assert done.stderr.count("models.gone: http://127.0.0.1:9/v1 cannot be reached") == 1
        # A run holds a cost against a check of all.
        dry = verb(tmp_path, "run", "--dry-run")
        assert dry.returncode == 0
        assert re.search(r"^ +1 check$", dry.stderr, re.MULTILINE)
        assert "dry-run" not in dry.stderr and "total" not in dry.stderr


def test_nothing_is_called_above_the_accepted_cost(run):
    _, server, again = run
    target = "results/responses/endpoint/crows_pairs/recommended.parquet"
    above = again(target, max_cost=0.001)
    assert above.returncode != 0
    assert "`max_cost` is 0.001. Nothing was asked. Raise it, or ask for less" in above.stdout
    assert not server.bodies
    assert again(target, max_cost=1000).returncode == 0
    assert server.bodies


def test_a_model_is_looked_at_before_it_is_loaded_and_again_when_its_folder_changes(run):
    folder, _, again = run
    weights = folder / "tiny-0/model.safetensors"
    weights.rename(folder / "weights")
    broken = again("check")
    assert broken.returncode != 0
    assert f": {folder}/tiny-0: no weights there" in broken.stdout
    (folder / "weights").rename(weights)
    assert again("check").returncode == 0


def test_a_dry_run_says_what_is_left_out(tmp_path):
    path = tmp_path / "config.json"
    models = {"planted": {"kind": "planted", "odds_ratio": 1}}
    path.write_text(json.dumps({"models": models, "benchmarks": {"mcbe": {"data": "sample"}}}))
    dry = snakemake("--dry-run", "--configfile", str(path), folder=tmp_path)
    assert dry.returncode == 0, dry.stdout
    assert dry.stdout.count("note: mcbe: task BA is left out: it needs a model that judges the answers.") == 1


@pytest.mark.parametrize("settings", [{}, {"top_logprobs": 5}, {"prompt_logprobs": True}])
@pytest.mark.parametrize("kind", ["generation", "choice", "likelihood"])
def test_the_bound_is_no_less_than_what_the_calls_may_cost(tmp_path, kind, settings):
    """And not more than a few tokens of JSON a call above it."""
    entry = ApiEntry(kind="api", base_url="http://127.0.0.1:9/v1", model=MODEL, **PRICES, **settings)
    prompts = ["short", "一段比较长的中文", "an English prompt of some length " * 9]
    raw = {"messages": None, "continuation": "and so on", "boundary": "offsets", "special_tokens": "once"}
    own = raw if kind == "likelihood" else {"labels": '["A", "B"]', "repeats": 3, "temperature": 1.0}
    requests = requests_for(prompts, kind=kind, **own)
    path = tmp_path / "requests.parquet"
    write_requests(requests, path, {})
    counted = sizes.sizes(pq.ParquetFile(path).iter_batches(2))
    assert counted["requests"].sum() == 3
    planned = [planned_call(row, entry) for row in requests.to_dict("records")]
    sent = [call for call in planned if not isinstance(call, Unsupported) for _ in call.keys]
    if sent:
        most = bound(entry, counted)
        assert most["calls"] == len(sent)
        worst = sum(call.worst_cost(entry) for call in sent)
        assert worst <= most["cost"] <= worst + len(sent) * 15 * entry.price_input_per_million / 1e6
    else:
        assert kind == "likelihood" and not entry.prompt_logprobs


def test_a_million_requests_are_counted_in_batches_not_one_by_one(tmp_path):
    row = requests_for(["Continue the story: 有一天 " * 10], kind="likelihood", continuation="he left").iloc[0]
    many = pd.DataFrame({name: [row[name]] * 1_000_000 for name in REQUEST_COLUMNS})
    path = tmp_path / "requests.parquet"
    many.to_parquet(path)
    counted, took = calls(sizes.sizes, pq.ParquetFile(path).iter_batches())
    assert counted["requests"].tolist() == [1_000_000]
    assert took < 1_000_000
