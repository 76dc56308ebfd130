"""Files of the user's own: tables made from them, and what is said where one is lacking."""

import json
import shutil

import pandas as pd
from conftest import ROOT, snakemake
from rehearsal import write_workbooks
from unit.test_predictions import write_score_table

from biasatlas.benchmarks import registry

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
fair,Llama2-7B-hf,1,a,a
fair,Llama2-7B-hf,2,tie,b
"""


def test_tables_of_agreement_and_a_word_on_what_is_left_out(tmp_path):
    (tmp_path / "annotations.csv").write_text(ANNOTATIONS)
    (tmp_path / "ratings.csv").write_text(RATINGS)
    config = {
        "models": {"fair": {"kind": "simulated", "published_as": "Mistral-7B-Instruct-v0.3"}},
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
    (tmp_path / "ratings.csv").write_text(RATINGS + "fair,Llama2-7B-hf,3,b,a\n")
    again = snakemake(*targets, "--configfile", str(path), folder=tmp_path)
    assert again.returncode == 0 and "1 of 1 steps" in again.stdout, again.stdout
    assert pd.read_csv(tables / "judge_agreement.csv").iloc[0]["n"] == 3
    assert json.loads((tables / "judge_agreement.json").read_text())["own_file_sha256"] != first


def test_data_and_predictions_of_one_s_own_stand_beside_the_sample(tmp_path):
    """The folder holds the sample without its last pairs, and a file of notes; the predictions are to the whole sample."""
    mine = tmp_path / "mine"
    shutil.copytree(ROOT / "resources/samples/crows_pairs", mine)
    (mine / "notes.txt").write_text("ours")
    pairs = mine / "data/crows_pairs_anonymized.csv"
    items = registry.read_items("crows_pairs")({"data/crows_pairs_anonymized.csv": pairs}, None)
    write_score_table(tmp_path, items)
    *kept, _, _ = pairs.read_text().splitlines(keepends=True)
    pairs.write_text("".join(kept))
    entry = {"kind": "released", "format": "score_table"}
    config = {
        "models": {
            "of-sample": entry | {"benchmark": "crows_pairs", "path": "./mine.csv"},
            "of-mine": entry | {"benchmark": "crows-mine", "path": "./min[e].csv"},
        },
        "benchmarks": {"crows_pairs": {"data": "sample"}, "crows-mine": {"benchmark": "crows_pairs", "data": "./mine"}},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))

    def run(*arguments):
        done = snakemake(*arguments, "--configfile", "config.json", folder=tmp_path, cwd=tmp_path)
        assert done.returncode == 0, done.stdout
        return done.stdout

    said = run()
    assert f"crows-mine: {len(items) - 2} items (" in said and "files that were not read: notes.txt" in said
    tables = [pd.read_csv(tmp_path / f"results/tables/{name}/recommended/scores.csv") for name in config["benchmarks"]]
    counts = [table.loc[table["category"] == "overall", "n"].max() for table in tables]
    assert counts == [len(items), len(items) - 2]
    assert all(table["published"].isna().all() for table in tables)
    log = (tmp_path / "results/logs/answer_requests/of-mine-crows-mine-recommended.log").read_text()
    assert f"left out: {items['item_id'].iloc[-2]}, {items['item_id'].iloc[-1]}" in log
    assert "CrowS-Pairs (crows-mine)" in (tmp_path / "results/report/index.html").read_text()
    assert "Nothing to be done" in run("--dry-run")
    (mine / "notes.txt").write_text("ours, mended")
    pairs.write_text("".join(kept[:-1]))
    assert "read_items" in run("--dry-run")


def test_a_download_stays_whatever_is_wrong_in_it(tmp_path):
    """McBE's workbooks under the hub's names, of fewer rows than Table 6 has: named, not fetched again, and read on request."""
    sizes = write_workbooks(tmp_path / "mirror/mcbe", 0.01)
    run = {"categories": ["gender"], "tasks": ["SC"], "judge": "fair"}

    def read(**changes):
        config = {"mirror": "mirror", "models": {"fair": {"kind": "simulated"}}, "benchmarks": {"mcbe": run | changes}}
        (tmp_path / "config.json").write_text(json.dumps(config))
        return snakemake("results/items/mcbe.parquet", "--configfile", "config.json", folder=tmp_path, cwd=tmp_path)

    broken = read()
    assert broken.returncode != 0
    assert f"Gender: {sizes['gender']} instances where Table 6 has 752" in broken.stdout
    (download,) = (tmp_path / "data/mcbe").rglob("gender.xlsx")
    fetched = download.stat().st_mtime_ns
    again = read(skip_invalid=True)
    assert again.returncode == 0, again.stdout
    assert "fetch_source" not in again.stdout and download.stat().st_mtime_ns == fetched
    assert len(pd.read_parquet(tmp_path / "results/items/mcbe.parquet")) == sizes["gender"]
