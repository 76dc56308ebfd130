"""Snakemake's own linter finds nothing but what is meant to be so."""

import re

from conftest import ROOT, snakemake

#: A helper that one rule file uses stands in that file.
MEANT = {"Mixed rules and functions in same snakefile.:"}


def test_the_linter_finds_only_what_is_meant():
    run = snakemake("--lint", folder=ROOT)
    found = set(re.findall(r"^    \* (.+)$", run.stdout, flags=re.MULTILINE))
    assert found == MEANT, run.stdout


def test_rules_stay_few_and_short(tmp_path):
    """Bounds that keep the rules readable: what grows past them belongs into the library."""
    rules = {path.name: path.read_text() for path in (ROOT / "rules").glob("*.smk")}
    assert sum(text.count("lambda") for text in rules.values()) <= 30
    assert rules["common.smk"].count("\n") <= 150
    assert all(len(re.findall(r"^for ", text, flags=re.MULTILINE)) <= 1 for text in rules.values())
    # On object storage an output carries a flag, which expand() refuses.
    assert not [name for name, text in rules.items() if "expand(rules." in text]
    listed = snakemake("--list-rules", folder=tmp_path).stdout
    assert len(re.findall(r"^\w+(?: \(.*\))?$", listed, flags=re.MULTILINE)) <= 60, listed


def test_files_of_the_library_stay_short():
    """Nobody should have to scroll through more than this to see what a module does."""
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in (ROOT / "scripts").rglob("*.py")}
    assert {path: count for path, count in lines.items() if count > 450} == {}
