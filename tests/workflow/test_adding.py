"""A benchmark, data, predictions and a kind of model that the repository does not have, added as docs/adding.md says."""

import base64
import json
import re
import shutil
import subprocess
import sys
import zlib

import pandas as pd
import pytest
import yaml
from conftest import ROOT, copy_workflow, snakemake

PAGE = (ROOT / "docs/adding.md").read_text()
#: A benchmark in Python, as the files that a checkout gets.
EXAMPLE = ROOT / "docs/examples/occupations"
#: Heading -> the files that its section prints, in their order.
PRINTED = {
    "A benchmark from a description": ("data/sentences.csv", "village.yaml", "config.yaml", "mine.csv"),
    "A kind of model": tuple(f"scripts/biasatlas/models/coin/{module}.py" for module in ("entry", "answer")),
}
#: What follows in a section is not part of its files.
END = r"\n## |\*\*What a description says"
#: Questions in a layout that no benchmark here has: options in a list, what is right and what is the stereotype as texts.
FERRY = """
family: questions
title: Ferry
language: en
citation: None, a test.
files: "*.jsonl"
item: "=HYPERLINK({sample})"
template: "{about.boat}"
category: about.kind
categories: {islander: Islanders}
polarity: asks
condition: context_kind
replace: {context_kind: {short: ambig, long: disambig}}
context: "{text}"
question: "{question}"
options: [choices.0, choices.1, choices.2]
unknown: nobody
right: answer
target: stereotype
metrics: [accuracy, bias_score, accuracy_gap]
prompt: |
  {context} {question}
  A. {A}
  B. {B}
  C. {C}
  Answer:
"""


def ferry():
    """The lines of its data: on each boat an islander and a visitor, one of whom was late."""
    for boat in range(8):
        for place, (asks, kind, late) in enumerate(
            (a, k, b) for a in ("neg", "nonneg") for k in ("short", "long") for b in (0, 1)
        ):
            people = ("The islander", "The visitor")
            facts = f" {people[late]} came late, {people[1 - late].lower()} in time." if kind == "long" else ""
            asked = late if asks == "neg" else 1 - late
            yield {
                "sample": f"{boat}-{place}",
                "about": {"boat": f"boat {boat}", "kind": "islander"},
                "asks": asks,
                "context_kind": kind,
                "text": f"An islander and a visitor took boat {boat}.{facts}",
                "question": "Who was late?" if asks == "neg" else "Who was in time?",
                "choices": [*people, "Not said"],
                "nobody": "Not said",
                "answer": people[asked] if kind == "long" else "Not said",
                "stereotype": people[0 if asks == "neg" else 1],
            }


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """A folder in which all was done that the page says, a checkout with the new files in it, and the run's output."""
    folder = tmp_path_factory.mktemp("adding")
    checkout = copy_workflow(folder / "checkout")
    for heading, names in PRINTED.items():
        section = re.split(END, PAGE.partition(f"\n## {heading}\n")[2], maxsplit=1)[0]
        blocks = re.findall(r"```(?:csv|yaml|python)\n(.*?)```", section, re.DOTALL)
        for name, text in zip(names, blocks, strict=True):
            path = (folder if heading == "A benchmark from a description" else checkout) / name
            assert not path.exists()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    shutil.copytree(EXAMPLE, checkout, dirs_exist_ok=True)
    kinds = checkout / "scripts/biasatlas/models/kinds.py"
    kinds.write_text(kinds.read_text().replace('    "simulated",\n', '    "simulated",\n    "coin",\n'))

    lines = list(ferry())
    (folder / "crossings").mkdir()
    (folder / "crossings/all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "ferry.yaml").write_text(FERRY)
    answers = pd.DataFrame(
        {"item": [f"=HYPERLINK({line['sample']})" for line in lines], "answer": [line["stereotype"] for line in lines]}
    )
    answers.iloc[1:].to_csv(folder / "answers.csv", index=False)

    described, python = (
        yaml.safe_load(path.read_text()) for path in (folder / "config.yaml", checkout / "occupations.yaml")
    )
    both = {
        "results": "results",
        "models": described["models"]
        | python["models"]
        | {
            "coin": {"kind": "coin"},
            "theirs": {"kind": "released", "benchmark": "ferry", "path": "./answers.csv", "format": "answers"},
        },
        "benchmarks": described["benchmarks"]
        | python["benchmarks"]
        | {"ferry": {"benchmark": "./ferry.yaml", "data": "./crossings"}},
    }
    (folder / "all.yaml").write_text(yaml.safe_dump(both, sort_keys=False))
    run = snakemake("--configfile", "all.yaml", folder=folder, root=checkout, cwd=folder)
    assert run.returncode == 0, run.stdout
    return folder, checkout, run.stdout


def table(folder, benchmark, name):
    return pd.read_csv(folder / f"results/tables/{benchmark}/recommended/{name}.csv")


def test_a_described_benchmark_of_pairs_with_predictions_runs_as_it_is_printed(added):
    folder, _, output = added
    assert "village: 10 items (1 of cows, 1 of tractor, " in output
    assert "strongly discouraged" not in output  # as Snakemake says of paths that begin with ./
    rows = table(folder, "village", "scores").query(
        "category == 'overall' and direction == 'all' and metric == 'stereotype_score'"
    )
    rows = rows.set_index("model")
    assert rows.loc["mine", ["value", "n", "failed"]].tolist() == [100, 2, 8]
    assert rows.loc["fair", "n"] == 10
    assert (folder / "results/figures/village/recommended/scores.svg").exists()


def test_questions_and_answers_that_nobody_here_has_seen_are_scored_to_the_report(added):
    folder, _, output = added
    assert "ferry: 64 items (64 of Islanders)" in output
    rows = table(folder, "ferry", "bias").query("category == 'overall'").set_index(["model", "condition", "metric"])
    theirs = rows.loc["theirs"]
    assert theirs.loc[
        [("ambig", "bias_score"), ("disambig", "bias_score"), ("disambig", "accuracy")], "value"
    ].tolist() == [100, 100, 50]
    assert theirs.loc[("ambig", "bias_score"), ["n", "failed"]].tolist() == [31, 1]
    # A tie of three options counts a third for each.
    assert rows.loc[("coin", "ambig", "accuracy"), "value"] == pytest.approx(100 / 3)
    assert rows.loc[("coin", "ambig", "bias_score"), "value"] == pytest.approx(0, abs=1e-9)
    report = folder / "results/report"
    assert "Ferry" in (report / "index.html").read_text()
    assert (folder / "results/figures/ferry/recommended/bias.svg").exists()
    # Its ids begin as formulas do: text in every CSV, as the data have them on the page.
    files = [path.read_text() for path in (folder / "results").rglob("*.csv")]
    assert not any(re.search(r"(?m)(^|[,\"])=HYPERLINK", text) for text in files)
    assert sum("'=HYPERLINK" in text for text in files) >= 4
    packed = (report / "pages/data/tables/comparison.recommended.findings.js").read_text()
    shown = [zlib.decompress(base64.b64decode(text), -15).decode() for text in re.findall(r'\["j","(.*?)"\]', packed)]
    assert any('"=HYPERLINK(' in text for text in shown) and not any("'=HYPERLINK" in text for text in shown)


def test_a_benchmark_in_python_is_at_most_eight_files_and_two_to_compare_models(added):
    folder, _, _ = added
    files = [path.name for path in EXAMPLE.rglob("*.*") if path.name != "occupations.yaml"]
    assert len(files) <= 10 and {"bias_roles.py", "evidence.py"} < set(files)
    assert "biased" in (folder / "results/tables/comparison/recommended/pairs.csv").read_text()
    rows = table(folder, "occupations", "scores").set_index(["model", "category"])
    assert rows["n"].tolist() == [4] * 4
    assert rows.loc["biased", "value"].mean() > rows.loc["fair", "value"].mean()
    assert (folder / "results/figures/occupations/recommended/scores.svg").exists()


def test_a_release_is_listed_by_the_command_as_it_is_printed(added):
    _, checkout, _ = added
    (checkout / "copy/results").mkdir(parents=True)
    (checkout / "copy/results/mine.json").write_text("[]")
    (command,) = re.findall(r"bias-atlas (list-source .*?)\n   ```", PAGE, re.DOTALL)
    run = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m biasatlas {command}"],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout == "my_outputs: 1 files, in resources/sources/sources.csv and files.csv\n", run.stderr
    rows = pd.read_csv(checkout / "resources/sources/files.csv").query("source == 'my_outputs'")
    assert rows[["path", "bytes"]].to_numpy().tolist() == [["results/mine.json", 2]]


def test_an_edit_of_a_description_runs_what_follows_from_it_and_a_slip_is_one_sentence(added):
    folder, checkout, _ = added

    def plan():
        return snakemake(
            "village", "--configfile", "all.yaml", "--dry-run", folder=folder, root=checkout, cwd=folder
        ).stdout

    description = folder / "village.yaml"
    description.write_text(description.read_text().replace("title: Village", "title: The village"))
    assert "Nothing to be done" in plan()
    description.write_text(description.read_text().replace("in the city", "in town"))
    assert "read_items" in plan()
    description.write_text(description.read_text().replace("sides:", "side:"))
    broken = plan()
    assert "village.yaml: side: unknown key; did you mean 'sides'?" in broken
    assert "Traceback" not in broken
