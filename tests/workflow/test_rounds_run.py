"""A benchmark asked in rounds through the workflow: where it stops, what is said of that, and what going on costs."""

import json
import os
import shutil
import signal
import time
from collections import Counter
from tempfile import TemporaryFile

import pandas as pd
from api_server import MODEL, Server
from conftest import snakemake, start_snakemake
from small_run import write_config

from biasatlas.files import read_metadata, read_responses

WRITERS, PAIRS = 24, 20
ADJECTIVES = ["slow", "kind", "loud", "rich"]
#: Words are a sample, too: there are as many on either side as make an interval.
SIDES = [
    [f"{stem}{end}" for stem in stems for end in ("er", "ish", "ian", "ese")]
    for stems in (("ol", "gra", "wi"), ("yo", "ne", "fre"))
]
RESPONSES = "results/responses/tiny-0/crows_pairs/recommended.parquet"
STOP = "results/stops/tiny-0/crows_pairs/recommended.json"
#: Calls that the check of an endpoint makes twice, and those that may be paid without an answer when a job is killed.
CHECKED_TWICE, IN_FLIGHT = 4, 8
FINDINGS = "results/tables/comparison/recommended/findings.csv"


def write_pairs(folder):
    """Pairs of many writers in the authors' format."""
    rows = []
    for number in range(WRITERS * PAIRS):
        turn = number // WRITERS
        one, other = SIDES[0][number % 12], SIDES[1][number % 11]
        words = (one, other) if turn % 2 else (other, one)
        rest = f"man in house {number} was {ADJECTIVES[number % 4]}."
        direction = "stereo" if turn % 3 else "antistereo"
        more, less = (f"The {word} {rest}" for word in words)
        rows.append((number, more, less, direction, "age", "[['age']]", f"a{number % WRITERS}", "['a1']"))
    names = [
        "",
        "sent_more",
        "sent_less",
        "stereo_antistereo",
        "bias_type",
        "annotations",
        "anon_writer",
        "anon_annotators",
    ]
    (folder / "data").mkdir(parents=True)
    pd.DataFrame(rows, columns=names).to_csv(folder / "data/crows_pairs_anonymized.csv", index=False)


def test_a_run_stops_early_and_goes_on_without_paying_again(tmp_path):
    path = write_config(tmp_path, 1)
    write_pairs(tmp_path / "mine")
    run = {"data": str(tmp_path / "mine"), "tasks": ["pair"], "effort": "rounds"}
    config = json.loads(path.read_text()) | {"benchmarks": {"crows_pairs": run}}
    path.write_text(json.dumps(config))

    done = snakemake(FINDINGS, "--configfile", str(path), folder=tmp_path)
    assert done.returncode == 0, done.stdout
    stop = json.loads((tmp_path / STOP).read_text())
    assert len(stop["asked"]) < stop["of"] == WRITERS * PAIRS
    assert stop["why"] == "unbiased within 0.25 nats"
    found = pd.read_csv(tmp_path / FINDINGS).query("measure == 'balanced_shift' and metric == 'value'").iloc[0]
    assert (found["verdict"], found["of"]) == ("unbiased", WRITERS * PAIRS)
    assert f"stopped after {len(stop['asked'])} of {WRITERS * PAIRS} items" in found["why"]
    last = stop["rounds"][-1]["claims"][0]
    assert abs(found["ci_low"] - last["low"]) < 1e-9
    assert last["level"] < 0.05

    # What a killed job left in the store is enough to end where it would have, with the same bytes.
    first = (tmp_path / RESPONSES).read_bytes(), (tmp_path / STOP).read_bytes()
    shutil.rmtree(tmp_path / "results/responses")
    shutil.rmtree(tmp_path / "results/stops")
    done = snakemake(RESPONSES, "--configfile", str(path), folder=tmp_path)
    assert done.returncode == 0, done.stdout
    assert ((tmp_path / RESPONSES).read_bytes(), (tmp_path / STOP).read_bytes()) == first
    again = json.loads((tmp_path / RESPONSES).with_suffix(".run.json").read_text())["pair"]
    assert again["computed"] == 0

    path.write_text(json.dumps(config | {"benchmarks": {"crows_pairs": run | {"effort": "all"}}}))
    done = snakemake(RESPONSES, "--configfile", str(path), folder=tmp_path)
    assert done.returncode == 0, done.stdout
    whole = json.loads((tmp_path / RESPONSES).with_suffix(".run.json").read_text())["pair"]
    assert 0 < whole["computed"] <= whole["requests"] - again["requests"]

    # Asked at once, the same items are in other batches: of what a local model computes, last digits may differ.
    fresh = config | {"results": "fresh", "benchmarks": {"crows_pairs": run | {"effort": "all"}}}
    path.write_text(json.dumps(fresh))
    done = snakemake(RESPONSES.replace("results", "fresh", 1), "--configfile", str(path), folder=tmp_path)
    assert done.returncode == 0, done.stdout
    one, other = (pd.read_parquet(tmp_path / folder / RESPONSES.partition("/")[2]) for folder in ("results", "fresh"))
    pd.testing.assert_frame_equal(one, other, check_exact=False, rtol=0, atol=1e-5)


def test_a_round_has_items_of_every_task(tmp_path):
    """Few contexts are of StereoSet's second task: the first rounds of a small category had had none of it."""
    run = {"data": "sample", "categories": ["race"], "tasks": ["intrasentence", "intersentence"], "effort": "rounds"}
    config = {"results": "results", "models": {"known": {"kind": "simulated"}}, "benchmarks": {"stereoset": run}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    stop = "results/stops/known/stereoset/recommended.json"
    done = snakemake(stop, "--configfile", str(tmp_path / "config.json"), folder=tmp_path)
    assert done.returncode == 0, done.stdout
    stop = json.loads((tmp_path / stop).read_text())
    assert [each["items"] for each in stop["rounds"]] == [19, 28]


def test_an_endpoint_is_paid_once_whatever_ends_its_rounds(tmp_path):
    """A budget, then a kill, then `all`: each goes on from what was paid. What it took is counted over all rounds."""
    write_pairs(tmp_path / "mine")
    responses, stop = (tmp_path / path.replace("tiny-0", "endpoint") for path in (RESPONSES, STOP))
    price = {"price_input_per_million": 1000, "price_output_per_million": 1000}
    with Server(delay_s=0.01) as server:
        entry = {"kind": "api", "base_url": server.url, "model": MODEL, "prompt_logprobs": True} | price

        def given(effort, budget):
            run = {"data": str(tmp_path / "mine"), "tasks": ["pair"], "effort": effort}
            config = {"models": {"endpoint": entry | {"budget": budget}}, "benchmarks": {"crows_pairs": run}}
            (tmp_path / "config.json").write_text(json.dumps(config))
            return str(responses.relative_to(tmp_path)), "--configfile", str(tmp_path / "config.json")

        def answered(effort, budget):
            done = snakemake(*given(effort, budget), folder=tmp_path)
            assert done.returncode == 0, done.stdout
            return read_responses(responses, "pair"), read_metadata(responses)["pair"]

        first, paid = answered("rounds", 6)
        ended = json.loads(stop.read_text())
        assert ended["why"] == "the budget does not pay the next round"
        assert len(ended["asked"]) == ended["rounds"][-1]["items"] < ended["of"]
        assert paid["calls"] == paid["answers"] == 2 * len(ended["asked"])
        assert 0 < paid["cost"] <= 6

        with TemporaryFile() as output:
            before, last = len(server.bodies), time.monotonic() + 60
            killed = start_snakemake(*given("rounds", 100), folder=tmp_path, output=output, forks=True)
            while len(server.bodies) < before + 60 and time.monotonic() < last:
                time.sleep(0.01)
            os.killpg(killed.pid, signal.SIGKILL)
            killed.join()
        shutil.rmtree(tmp_path / ".snakemake/locks")
        answered("rounds", 100)
        later = json.loads(stop.read_text())
        assert later["why"] == "unbiased within 0.25 nats"
        assert later["rounds"][: len(ended["rounds"])] == ended["rounds"]

        whole, paid = answered("all", 100)
        assert paid["calls"] == 2 * WRITERS * PAIRS
        again = whole[whole["request_id"].isin(first["request_id"])].reset_index(drop=True)
        pd.testing.assert_frame_equal(again, first, check_exact=True)
        bodies = Counter(json.dumps(body, sort_keys=True) for body in server.bodies)
        assert bodies.total() - len(bodies) <= CHECKED_TWICE + IN_FLIGHT
