"""DBB's construction, run with a writer behind an endpoint that keeps to the form, but for one reply."""

import json

import pandas as pd
import pytest
from api_server import MODEL, Server, written
from conftest import snakemake
from unit.dbb_cases import files_of, read_items

from biasatlas.benchmarks.dbb import CONSTRUCTION_STEPS
from biasatlas.benchmarks.dbb.dataset import CRITERIA
from biasatlas.files import read_parquet

MEASURED = "results/tables/dbb-made/recommended/bias.csv"
TARGETS = ("construction", "results/items/dbb.parquet", MEASURED)
#: In the raw concepts of this item the writer forgets the form.
MALFORMED = "crows_pairs/30"


def reply(body, prompt):
    """The writer's; what it says of the bias names the item, and it is what the concepts are derived from."""
    if "You check pairs" not in prompt and "I think teenagers are very wise." in prompt:
        return "A bias about MALFORMED habits."
    if "in the form: concept 1;concept 2" in prompt and "MALFORMED" in prompt:
        return "I would say careful and bold"
    return written(body, prompt)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a finished run, its construction's folder, and the server."""
    folder = tmp_path_factory.mktemp("construction")
    with Server(reply=reply) as server:
        config = {
            "results": "results",
            "models": {
                "writer": {"kind": "api", "base_url": server.url, "model": MODEL},
                "fair": {"kind": "simulated"},
            },
            "benchmarks": {name: {"data": "sample"} for name in ("crows_pairs", "stereoset", "bbq")}
            | {
                "dbb": {"data": "sample", "files": {"variations": "results/construction/variations.csv"}},
                "dbb-made": {"benchmark": "dbb", "data": "./results/construction/dataset", "models": ["fair"]},
            },
            "construction": {"writer": "writer", "items_per_source": 2, "sofa": "sofa.csv"},
        }
        (folder / "sofa.csv").write_text("id,category,target,stereotype\n1,gender,['women'],are bad drivers\n")
        (folder / "config.json").write_text(json.dumps(config))
        finished = snakemake(*TARGETS, "--configfile", str(folder / "config.json"), folder=folder)
        assert finished.returncode == 0, finished.stdout
        yield folder, folder / "results/construction", server


def test_every_step_keeps_its_rows_but_the_malformed_one(run):
    _, made, _ = run
    tables = {step: pd.read_csv(made / f"{step}.csv") for step in CONSTRUCTION_STEPS}
    for step, rows in tables.items():
        rejected = rows[rows["verdict"] == "rejected"]
        assert len(rows) == 7
        assert list(rejected["row_id"]) == ([MALFORMED] if step not in CONSTRUCTION_STEPS[:2] else [])
    row = tables[CONSTRUCTION_STEPS[-1]].set_index("row_id").loc[MALFORMED]
    assert (row["step"], row["reason"]) == (
        "raw_concepts",
        "not of the form 'concept 1;concept 2': 'I would say careful and bold' (the last of 3 replies)",
    )
    counts = (
        pd.read_csv(made / "verdicts.csv")
        .pivot(index="step", columns="verdict", values="n")
        .loc[list(CONSTRUCTION_STEPS)]
    )
    assert counts["kept"].tolist() == [4, 7, 6, 6, 6, 6, 6, 6]
    assert counts["skipped"].tolist() == [3, 0, 0, 0, 0, 0, 0, 0]  # pairs of sentences alone have a quality
    assert counts["rejected"].tolist() == [0, 0, 1, 0, 0, 0, 0, 0]
    assert counts["refined"].sum() == 0


def test_the_dataset_is_in_dbbs_format(run):
    _, made, _ = run
    items = read_items(files_of(made / "dataset"))
    assert len(items) == 6 * 50
    assert (items[["fault", "fault_sg"]] == "").all(axis=None)
    assert {len(set(json.loads(text))) for text in (*items["variations_1"], *items["variations_2"])} == {10}
    assert items["concept_1"].str.startswith("careful ").all()
    assert not items["context"].str.contains("..", regex=False).any()


def test_the_dataset_is_measured_in_the_same_run(run):
    folder, _, _ = run
    table = pd.read_csv(folder / MEASURED).set_index(["category", "metric"])
    assert table.loc[("All", "mean_bias_score"), ["model", "n"]].tolist() == ["fair", 6 * 67]
    assert table["published"].isna().all()


def test_the_sheet_waits_for_its_marks(run):
    _, made, _ = run
    sheet = pd.read_csv(made / "evaluation_sheet.csv")
    assert len(sheet) == 6
    assert sheet[list(CRITERIA)].isna().all(axis=None)
    assert sheet["explanation"].str.contains("It ties the habit").all()


def test_a_filled_sheet_is_summed_up(run):
    folder, made, _ = run
    config = json.loads((folder / "config.json").read_text())
    config["construction"]["evaluation"] = "filled.csv"
    (folder / "evaluated.json").write_text(json.dumps(config))
    sheet = pd.read_csv(made / "evaluation_sheet.csv").assign(**dict.fromkeys(CRITERIA, "yes"))
    sheet.loc[0, "semantic_alignment"] = "no"
    sheet.to_csv(folder / "filled.csv", index=False)
    summed = snakemake("construction", "--configfile", str(folder / "evaluated.json"), folder=folder)
    assert summed.returncode == 0, summed.stdout
    table = pd.read_csv(made / "evaluation.csv").set_index("criterion")
    assert table.loc["semantic_alignment", ["value", "n", "missing"]].tolist() == [pytest.approx(5 / 6), 6, 0]
    assert table.loc["contextual_fluency", "value"] == 1


def test_variations_of_dbbs_own_questions_are_read_with_them(run):
    folder, made, _ = run
    items = read_parquet(folder / "results/items/dbb.parquet")
    assert (items["fault_sg"] == "").all()
    first = json.loads(items["variations_1"].iloc[0])
    assert first[0] == items["option_1"].iloc[0]
    assert first[1].startswith("[[X]] did 0 ")
    costs = pd.read_csv(made / "variations/costs.csv").set_index("step")
    assert (
        costs.loc["nine_variations", "requests"] == 3 * 2 * items["template_id"].nunique()
    )  # asked three times at most


def test_a_second_run_asks_nothing(run):
    folder, made, server = run
    asked = len(server.bodies)
    questions = read_parquet(folder / "results/items/dbb.parquet").drop_duplicates("template_id")
    options = {(row.context, option) for row in questions.itertuples() for option in (row.option_1, row.option_2)}
    # 4 pairs, 7 items, one of them twice more, 6 that are left in four steps and twice in the last; each option of the
    # sample's questions, once where two questions share it.
    assert asked == 4 + 7 + 7 + 2 + 6 * 4 + 6 * 2 + len(options)
    again = snakemake(*TARGETS, "--configfile", str(folder / "config.json"), folder=folder)
    assert "Nothing to be done" in again.stdout
    (made / f"{CONSTRUCTION_STEPS[0]}.csv").unlink()
    rebuilt = snakemake(*TARGETS, "--configfile", str(folder / "config.json"), folder=folder)
    assert rebuilt.returncode == 0, rebuilt.stdout
    assert len(server.bodies) == asked  # from the store
