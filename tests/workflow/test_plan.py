"""Planning: every shipped configuration plans, and bad ones are refused before any job."""

import json
import re

import pytest
from api_server import MODEL, Server, said
from conftest import ROOT, copy_workflow, snakemake
from standins import standin_templates

from biasatlas.files import read_parquet

CONFIGS = sorted((ROOT / "config").glob("*.yaml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_shipped_configuration_plans(path, tmp_path):
    run = snakemake("--dry-run", "--configfile", str(path), folder=tmp_path)
    assert run.returncode == 0, run.stdout
    assert "Job stats" in run.stdout


def test_a_bad_configuration_is_one_message_and_no_job(tmp_path):
    config = tmp_path / "mine.yaml"
    config.write_text(
        (ROOT / "config/config.yaml").read_text().replace("planted, odds_ratio: 4", "planted, odds_ration: 4")
    )
    run = snakemake("--configfile", str(config), folder=tmp_path)
    assert run.returncode != 0
    assert f"error: {config}: models.planted-biased.odds_ratio: required key is missing\n" in run.stdout
    assert f"\n{config}: models.planted-biased.odds_ration: unknown key; did you mean 'odds_ratio'?" in run.stdout
    assert "Traceback" not in run.stdout
    assert not (tmp_path / "results").exists()


def test_every_target_explains_itself(tmp_path):
    run = snakemake("--list-target-rules", folder=tmp_path)
    targets = [line for line in run.stdout.splitlines() if re.match(r"\w+( \(|$)", line)]
    assert "all" in [line.split()[0] for line in targets]
    assert all(re.match(r"\w+ \(.+\)$", line) for line in targets), targets


def test_a_judge_orders_the_contexts_before_the_requests_are_built(tmp_path):
    """McBE's `sc_text: judge_ordered_context`, in a protocol of the user's own."""
    clone = copy_workflow(tmp_path / "clone")
    protocols = clone / "config/protocols/mcbe"
    text = (protocols / "released.yaml").read_text()
    (protocols / "ordered.yaml").write_text(text.replace("sc_text: context_first", "sc_text: judge_ordered_context"))
    target, config = "results/requests/mcbe/ordered/SC.parquet", tmp_path / "mine.json"
    standin_templates(tmp_path / "data", "mcbe")  # a stand-in for the authors' code, as if it had been fetched
    (tmp_path / "data/mcbe_code.sha256").touch()

    def first(body, prompt):
        return str(1 + int(said(prompt)[0], 16) % 2)

    with Server(reply=first) as server:
        # The order is asked for as the checkpoint samples, which an endpoint's entry has to say.
        sampling = {"checkpoint": {"temperature": 0.75}}
        entries = {"judge": {"kind": "api", "base_url": server.url, "model": MODEL, "sampling": sampling}}
        mine = {"data": "sample", "protocols": ["ordered"], "categories": ["age"]}
        for judge in ({}, {"judge": "judge"}):
            config.write_text(json.dumps({"models": entries, "benchmarks": {"mcbe": mine | judge}}))
            run = snakemake(target, "--configfile", str(config), folder=tmp_path, root=clone)
            if not judge:
                assert run.returncode != 0 and not (tmp_path / "results").exists()
                assert f"error: {config}: benchmarks.mcbe.judge: required key is missing" in run.stdout
        assert run.returncode == 0, run.stdout
    replies = {body["messages"][-1]["content"]: first(body, body["messages"][-1]["content"]) for body in server.bodies}
    assert set(replies.values()) == {"1", "2"}
    assert {body["temperature"] for body in server.bodies} == {0.75}
    items = read_parquet(tmp_path / "results/items/mcbe.parquet").set_index("item_id")
    requests = read_parquet(tmp_path / target)
    assert set(requests["item_id"]) == set(items.index[items["category"] == "age"])
    for request in requests.itertuples():
        item, asked = items.loc[request.item_id], json.loads(request.messages)[-1]["content"]
        reply = next(
            reply for prompt, reply in replies.items() if item["context"] in prompt and item["sentence"] in prompt
        )
        parts = [item["context"], item["sentence"].replace("[PLH]", json.loads(item["words"])[0])]
        assert "".join(parts if reply == "1" else reversed(parts)) in asked
    # On a cluster the building is in no group: the group would wait for the judge, and the judge for the group's items.
    submitted = ["--dry-run", "--forceall", "--workflow-profile", str(clone / "profiles/slurm"), "--quiet", "host"]
    planned = snakemake(target, "--configfile", str(config), *submitted, folder=tmp_path, root=clone)
    assert planned.returncode == 0, planned.stdout
