"""A benchmark asked in rounds through the workflow: where it stops, what is said of that, and what going on costs."""

import json
import shutil

import pandas as pd
from conftest import snakemake
from small_run import write_config

WRITERS, PAIRS = 24, 20
ADJECTIVES = ["slow", "kind", "loud", "rich"]
#: Words are a sample, too: there are as many on either side as make an interval.
SIDES = [
    [f"{stem}{end}" for stem in stems for end in ("er", "ish", "ian", "ese")]
    for stems in (("ol", "gra", "wi"), ("yo", "ne", "fre"))
]
RESPONSES = "results/responses/tiny-0/crows_pairs/recommended.parquet"
STOP = "results/stops/tiny-0/crows_pairs/recommended.json"
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
