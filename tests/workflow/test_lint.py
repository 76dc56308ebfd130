"""The rules stay few, short and readable."""

import re

import yaml
from conftest import ROOT, snakemake

RULES = {path.name: path.read_text() for path in (ROOT / "rules").glob("*.smk")}


def test_rules_stay_few_and_short(tmp_path):
    """Bounds that keep the rules readable: what grows past them belongs into the library."""
    assert len(RULES) <= 10
    assert sum(text.count("\n") for text in RULES.values()) <= 1300
    assert (ROOT / "Snakefile").read_text().count("\n") <= 80
    assert all(len(re.findall(r"^for ", text, flags=re.MULTILINE)) <= 1 for text in RULES.values())
    listed = snakemake("--list-rules", folder=tmp_path).stdout
    names = re.findall(r"^(\w+)(?: \(.*\))?$", listed, flags=re.MULTILINE)
    # Two rules of a file are rules for each benchmark: those that score, and the targets.
    targets = yaml.safe_load((ROOT / "config/config.yaml").read_text())["benchmarks"]
    once = {"*" if name in targets else re.sub(r"^score_(?!again).*", "score_*", name) for name in names}
    assert len(once) <= 51, sorted(once)


def test_rules_compute_nothing():
    """What is looked up for a rule is a method of the library, which a test can call without Snakemake."""
    texts = RULES | {"Snakefile": (ROOT / "Snakefile").read_text()}
    assert [name for name, text in texts.items() if re.search(r"^\s*def ", text, re.MULTILINE)] == ["common.smk"]
    assert [name for name, text in texts.items() if "lambda" in text] == []
    # On object storage an output carries a flag, which expand() refuses.
    assert [name for name, text in texts.items() if "expand(rules." in text] == []


def test_files_of_the_library_stay_short():
    """Nobody should have to scroll through more than this to see what a module does."""
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in (ROOT / "scripts").rglob("*.py")}
    assert {path: count for path, count in lines.items() if count > 450} == {}
