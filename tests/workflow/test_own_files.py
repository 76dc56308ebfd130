"""Files of the user's own: tables made from them, and what is said where one is lacking."""

import json

import pandas as pd
from conftest import snakemake

ANNOTATIONS = """category,item_id,rater,severity
age,1,x,0
age,1,y,0.5
age,2,x,0
age,2,y,9
age,3,x,8
age,3,y,10
age,4,x,9
age,4,y,9
"""
TABLES = (
    "mcbe/recommended/annotator_agreement",
    "mcbe/recommended/judge_agreement",
    "dbb/recommended/replication",
)
RATINGS = """model_a,model_b,item_id,judge,human
planted,Llama2-7B-hf,1,a,a
planted,Llama2-7B-hf,2,tie,b
"""


def test_tables_of_agreement_and_a_word_on_what_is_left_out(tmp_path):
    (tmp_path / "annotations.csv").write_text(ANNOTATIONS)
    (tmp_path / "ratings.csv").write_text(RATINGS)
    config = {
        "models": {"planted": {"kind": "planted", "odds_ratio": 1, "published_as": "Mistral-7B-Instruct-v0.3"}},
        "benchmarks": {
            "mcbe": {"data": "sample", "files": {"annotations": "annotations.csv", "ratings": "ratings.csv"}},
            "dbb": {},
        },
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    targets = [f"results/tables/{table}.csv" for table in TABLES]
    run = snakemake(*targets, "--configfile", str(path), folder=tmp_path)
    assert run.returncode == 0, run.stdout
    assert run.stdout.count("note: dbb: task SG is left out") == 1
    tables = tmp_path / "results/tables/mcbe/recommended"
    kappa = pd.read_csv(tables / "annotator_agreement.csv").iloc[0]
    assert (kappa["category"], kappa["n"], round(kappa["value"], 4), kappa["published"]) == ("age", 4, 0.4667, 0.65)
    agreement = pd.read_csv(tables / "judge_agreement.csv").iloc[0]
    assert (agreement["value"], agreement["n"], agreement["published"]) == (50, 2, 84)
    first = json.loads((tables / "judge_agreement.json").read_text())["own_file_sha256"]
    (tmp_path / "ratings.csv").write_text(RATINGS + "planted,Llama2-7B-hf,3,b,a\n")
    again = snakemake(*targets, "--configfile", str(path), folder=tmp_path)
    assert again.returncode == 0 and "1 of 1 steps" in again.stdout, again.stdout
    assert pd.read_csv(tables / "judge_agreement.csv").iloc[0]["n"] == 3
    assert json.loads((tables / "judge_agreement.json").read_text())["own_file_sha256"] != first
