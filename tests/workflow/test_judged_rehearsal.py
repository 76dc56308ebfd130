"""McBE's twelve workbooks under the hub's names through the workflow, under all three protocols."""

import json

import pandas as pd
from conftest import snakemake
from rehearsal import write_workbooks
from standins import copied_prompts, standin_templates

from biasatlas.benchmarks.mcbe import CATEGORIES
from biasatlas.benchmarks.shared.templates import plain

PROTOCOLS = ("paper", "released", "recommended")


def test_a_task_with_a_judge_under_every_protocol(tmp_path):
    """BA: analyses worth half of a judge's points. Without the printed prompts `paper` is left out, and a note says so.

    Tables have BA from 0 to 100 under each; the authors' code reads half a point as none.
    """
    sizes = write_workbooks(tmp_path / "mirror/mcbe", 0.02)
    standin_templates(tmp_path / "data", "mcbe")  # stand-ins for the authors' code, as if they had been fetched
    (tmp_path / "data/mcbe_code.sha256").write_text("")
    texts = copied_prompts()
    (tmp_path / "prompts.json").write_text(json.dumps(texts))
    run = {"protocols": PROTOCOLS, "tasks": ["BA"], "judge": "half", "skip_invalid": True}
    config = {
        "mirror": "mirror",
        "models": {"half": {"kind": "simulated", "quality": 0.5, "right": 100.0, "published_as": "DeepSeek-V3-0324"}},
        "benchmarks": {"mcbe": run | {"files": {"prompts": "prompts.json"} if texts else {}}},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    asked = PROTOCOLS if texts else PROTOCOLS[1:]
    targets = [f"results/tables/mcbe/{protocol}/scores.csv" for protocol in asked]
    done = snakemake(*targets, "--configfile", "config.json", folder=tmp_path, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("mcbe: protocol paper is left out") == (not texts)
    assert "test.xlsx is skipped" in done.stdout and f"Gender: {sizes['gender']} instances" in done.stdout

    worth = {"paper": 50.0, "released": 46.0, "recommended": 50.0}
    for protocol, target in zip(asked, targets, strict=True):
        scores = pd.read_csv(tmp_path / target).query("metric == 'score'").set_index("category")
        assert scores["n"].to_dict() == sizes and list(scores.index) == list(CATEGORIES)
        assert scores["value"].between(0.98 * worth[protocol], 1.02 * worth[protocol]).all(), protocol
        assert scores["published"].notna().all() == (protocol != "recommended")
    if texts:
        requests = pd.read_parquet(tmp_path / "results/requests/mcbe/paper/BA.parquet")
        asks = plain(json.loads(requests["messages"].iloc[0])[-1]["content"])
        assert asks.startswith(plain(texts["ba"]).partition("[Word]")[0])
