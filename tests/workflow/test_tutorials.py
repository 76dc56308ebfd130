"""The tutorials' commands, as they are printed; runs are dry. test_wheel.py runs `init`, `run` and `open` to a report."""

import os
import re
import shlex
import subprocess
import sys

import pytest
import yaml
from conftest import ROOT, planned_rules

ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "scripts")}


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def dry(line: str) -> list[str]:
    """A line of a page as a command that runs nothing; what was asked for stays as it is printed."""
    words = shlex.split(line, comments=True)
    if words[0] == "make":
        made = subprocess.run(
            ["make", "--no-print-directory", "-n", *words[1:]], cwd=ROOT, capture_output=True, text=True
        )
        words = shlex.split(made.stdout[made.stdout.index("bias-atlas ") :])
    module = {"bias-atlas": "biasatlas", "snakemake": "snakemake"}[words[0]]
    options = ["--snakefile", str(ROOT / "Snakefile"), "--cores", "1", "--dry-run"] if module == "snakemake" else []
    options += ["--dry-run"] * (words[1] in ("run", "replicate") and "--dry-run" not in words)
    end = words.index("--") if "--" in words else len(words)
    return [sys.executable, "-m", module, *words[1:end], *options, *words[end:]]


@pytest.mark.parametrize(
    ("page", "files", "rules"),
    [
        ("tutorial-model", {}, {"answer_requests", "write_report"}),
        ("tutorial-paper", {"my-table.yaml": 0}, {"answer_requests", "summarise_scores"}),
        ("tutorial-endpoints", {"five.yaml": 0}, {"check_cost", "compare_models", "write_report"}),
    ],
)
def test_a_tutorial_runs_as_it_is_printed(page, files, rules, tmp_path):
    (tmp_path / "my-model").mkdir()  # as much of a model as a dry run reads
    (tmp_path / "my-model/config.json").write_text('{"dtype": "float32"}')
    (tmp_path / "my-model/model.safetensors").write_bytes(bytes(4_000_000))
    (tmp_path / "config").symlink_to(ROOT / "config")
    commands = [line for block in blocks(page, "sh") for line in block.splitlines() if line]
    environment, planned, done = dict(ENVIRONMENT), set(), []
    for line in commands:
        if line.startswith("export "):
            name, _, value = line.removeprefix("export ").partition("=")
            environment[name] = value * 4
        # A dry run is the same on more cores.
        elif not line.startswith("bias-atlas open") and (command := dry(line.replace(" --cores 4", ""))) not in done:
            run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
            assert run.returncode == 0, (line, run.stdout, run.stderr)
            assert (
                "replicate" not in command or "is left out" not in run.stderr
            )  # of protocols, which it asks nobody under
            # `bias-atlas run` counts the jobs of each rule in a line.
            planned |= planned_rules(run.stdout + run.stderr) | set(re.findall(r"^ *\d+ (\w+)$", run.stderr, re.M))
            done.append(command)
        for name, place in files.items():  # what the page says to write into a file, in place of what `init` wrote
            (tmp_path / name).write_text(blocks(page, "yaml")[place], encoding="utf-8")
    assert len(done) >= 2
    assert planned >= rules
    if page == "tutorial-model":
        (shown,), written = map(yaml.safe_load, blocks(page, "yaml")), (tmp_path / "bias-atlas.yaml").read_text()
        shown["models"]["my-model"]["size_billion"] = 0.001
        assert shown == yaml.safe_load(written)
