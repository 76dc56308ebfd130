"""Replies that cannot be parsed, parsed again by a model that is known: a run offers it, and does it where it is asked to."""

import json

import pandas as pd
import pytest
from api_server import MODEL, Server
from conftest import snakemake


def reply(body, prompt):
    """Of the model under test: every third reply hints at the third option. Of the one that parses: what is hinted at."""
    if prompt.startswith("Somebody was asked"):
        hint = prompt.partition("--------\n")[2]
        return "C" if hint.startswith("Hm") else "refused" if hint.startswith("Sorry") else hint[0]
    return "Hm, the last of those" if len(prompt) % 3 else "B"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The results of a run that parses again in one of two sections, and what it said."""
    folder = tmp_path_factory.mktemp("second_parse")
    path = folder / "config.json"
    with Server(reply=reply) as server:
        model = {"kind": "api", "base_url": server.url, "model": MODEL}
        once = {"data": "sample", "categories": ["Age"], "models": ["tested"], "benchmark": "bbq"}
        runs = {"once": once, "twice": once | {"parse_with": "other"}}
        config = {"results": "results", "models": {"tested": model, "other": model}, "benchmarks": runs}
        path.write_text(json.dumps(config))
        targets = [f"results/tables/{name}/recommended/outcomes.csv" for name in runs]
        done = snakemake(*targets, "--configfile", str(path), folder=folder)
    assert done.returncode == 0, done.stdout
    return folder / "results", done.stdout


def test_a_run_offers_what_it_does_not_do_by_itself(run):
    results, said = run
    assert "Set `benchmarks.once.parse_with` to the name of a model" in said
    assert "benchmarks.twice.parse_with" not in said
    assert not (results / "replies/once/recommended/second_parse").exists()
    assert "second_parse" not in pd.read_csv(results / "replies/once/recommended/unparsed.csv")


def test_the_second_parse_stands_in_a_column_of_its_own(run):
    results, said = run
    unparsed = pd.read_csv(results / "replies/twice/recommended/unparsed.csv")
    assert len(unparsed) and set(unparsed["second_parse"]) == {"C"}
    assert set(unparsed["outcome"]) == {"unparseable"}
    table = pd.read_csv(results / "tables/twice/recommended/outcomes.csv")
    found = table[table["grouped_by"].isna()].set_index("metric")
    assert found.loc["second_parse_agreement", "value"] == found.loc["second_parse_rate", "value"] == 100
    assert 0 < found.loc["second_parse_agreement", "n"] <= 100
    assert found.loc["second_parse_kappa", "reason"].startswith("both give every reply the same answer")
    assert found.loc["second_parse_rate", "n"] == len(unparsed)
    assert f"agrees with the parser on 100.0% of {found.loc['second_parse_agreement', 'n']:.0f} sampled replies" in said


def test_no_other_reply_is_asked_about_and_no_score_changes(run):
    results, _ = run
    asked = pd.read_parquet(results / "replies/twice/recommended/second_parse/requests.parquet")["messages"]
    unparsed = pd.read_csv(results / "replies/twice/recommended/unparsed.csv")
    assert asked.str.contains("Hm, the last").sum() == len(unparsed)
    assert len(asked) <= len(unparsed) + 100
    text = dict.fromkeys(("reason", "no_interval_reason"), "str")
    once, twice = (
        pd.read_csv(results / f"tables/{name}/recommended/outcomes.csv", dtype=text) for name in ("once", "twice")
    )
    kept = ~twice["metric"].str.startswith("second_parse")
    pd.testing.assert_frame_equal(once, twice[kept].reset_index(drop=True))
