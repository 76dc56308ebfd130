"""What people type: each verb in one place, faults in one sentence, and nothing that names a verb that is not there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from biasatlas import ROOT, commands
from biasatlas.__main__ import main
from biasatlas.workflow import run as workflow_run


def atlas(*arguments):
    command = [sys.executable, "-m", "biasatlas", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def verbs():
    """Verb -> its line of help."""
    return dict(re.findall(r"^    ([a-z-]+)\s+(\S.*)$", atlas("--help").stdout, re.MULTILINE))


def test_the_help_has_a_sentence_for_each_verb(verbs):
    assert len(verbs) > 10
    assert all(sentence[0].isupper() for sentence in verbs.values())


def test_a_clone_has_the_command_under_the_name_that_an_installation_has(verbs, tmp_path):
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    (tmp_path / "linked").symlink_to(ROOT / "bias-atlas")
    done = subprocess.run(
        [tmp_path / "linked", "--help"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == atlas("--help").stdout and done.stdout.startswith("usage: bias-atlas ")
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "config").rglob("*.*"), ROOT / "Makefile"]
    assert [path.name for path in files if re.search(r"-m\s+biasatlas", path.read_text(encoding="utf-8"))] == []


def test_files_of_the_user_s_may_be_called_as_modules_are(tmp_path):
    for name in ("inspect", "random", "yaml", "tokenizers", "biasatlas", "snakemake"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError")
    (tmp_path / "my.yaml").write_text("models: {m: {kind: simulated}}\nbenchmarks: {crows_pairs: {data: sample}}\n")
    command = [ROOT / "bias-atlas", "run", "my.yaml", "--dry-run"]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_verbs_that_are_named_exist(verbs):
    files = [ROOT / "Makefile", *ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "rules").glob("*.smk")]
    files += [
        ROOT / ".github/workflows/test.yml",
        *(ROOT / "config").rglob("*.yaml"),
        *(ROOT / "scripts").rglob("*.py"),
    ]
    named = {
        (path.relative_to(ROOT).as_posix(), verb)
        for path in files
        for verb in re.findall(r"(?:\$\(ATLAS\)|bias-atlas) ([a-z][a-z-]*)", path.read_text(encoding="utf-8"))
    }
    assert {verb for path, verb in named if path == "Makefile"} >= {"check", "plan", "new-benchmark", "write-reference"}
    assert sorted(pair for pair in named if pair[1] not in verbs) == []


def test_scripts_are_those_that_rules_name():
    named = {name for path in (ROOT / "rules").glob("*.smk") for name in re.findall(r"/(\w+\.py)\"", path.read_text())}
    assert {path.name for path in (ROOT / "scripts").glob("*.py")} == named


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "none.yaml"], "none.yaml: no such file. Correct the path."),
        (["export-token-logprobs", "none.yaml"], "none.yaml: no such file. Correct the path."),
        (["export-results", "none.yaml", "eee"], "none.yaml: no such file. Correct the path."),
        (["init", "--model", "a/b-1b", "my.json"], "my.json: a configuration is written as YAML."),
        (["compare", "none", "none"], "none/tables: no tables there."),
        (["replicate", "--table", "4"], "--table, --figure: of which paper?"),
        (
            ["replicate", "twbias", "--table", "99"],
            "Table 99: TWBias has no such table or figure. It has Table 1, Table 2,",
        ),
        (["parse-report", "none"], "none: no sampled replies. Name the results folder of a run"),
        (["reparse", "none", "leter"], "parser 'leter': there is no such parser; did you mean 'letter'?"),
        (["check-store", "none"], "none: no store there: no file ends in .jsonl."),
        (
            ["new-benchmark", "mine", "triples"],
            "FAMILY: 'triples' is none; expected pairs, questions, decisions or contexts.",
        ),
        (["new-benchmark", "my bench", "pairs"], "NAME: 'my bench' names files; use letters, digits and _."),
        (["new-benchmark", "gest", "pairs"], "config/benchmarks/gest.yaml: there already. Take another NAME."),
        (["test-benchmark", "twbias"], "NAME: twbias is a folder of Python"),
        (["test-benchmark", "kobbq", "none"], "kobbq: no data in none. Name their folder, as ./data."),
        (["validate-benchmark", "kobbq", "--seeds", "0"], "--seeds: 0 models are too few to tell by. Give 30 or more."),
        (["benchmark-page", "gets"], "NAME: 'gets' is not a benchmark; did you mean 'gest'?"),
        (
            ["benchmark-page", ROOT / "config/benchmarks/kobbq.yaml"],
            "kobbq.yaml: only descriptions in config/benchmarks have a page",
        ),
        (["list-source", "a b", ROOT / "envs", "--url", "{path}", "--version", "1"], "name: 'a b' names a folder"),
        (["list-source", "x", "none", "--url", "u", "--version", "1"], "none: no such file. Correct the path."),
    ],
)
def test_a_fault_is_one_sentence_and_status_2(arguments, message):
    done = atlas(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert message in done.stderr


def test_an_option_that_no_verb_has_is_named():
    done = atlas("compare", "a", "b", "--forse")
    assert done.returncode == 2
    assert "unknown: --forse; bias-atlas compare --help" in done.stderr


def test_a_python_without_the_packages_is_told_how_to_get_them():
    command = [sys.executable, "-S", "-m", "biasatlas", "init", "--model", "a/b-1b"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {sys.executable} lacks the package ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [["--cores", "2", "-n"], ["-n", "-c2"], ["--cores=2", "-n"]])
def test_the_number_of_cores_is_no_paper_and_no_configuration(words, monkeypatch):
    taken = []

    def replicate(**given):
        """Keep what was given."""
        taken.append(given)

    monkeypatch.setattr(commands, "replicate", replicate)
    assert main(["replicate", *words]) == 0
    assert taken == [{"paper": None, "table": "", "figure": "", "options": ["--cores", "2", "-n"]}]


def test_an_option_in_front_of_the_configuration_is_not_taken_for_it():
    done = atlas("run", "--profile", "mine", "my.yaml")
    assert done.returncode == 2
    assert "--profile: name the configuration first, as in: bias-atlas run my.yaml --profile" in done.stderr


@pytest.mark.parametrize("number", ["0", "-3", "x", "1.5"])
def test_a_number_to_show_is_at_least_one(number):
    done = atlas("export-token-logprobs", "my.yaml", "--items", number)
    assert done.returncode == 2
    assert f"argument --items: expected a whole number of at least 1, got {number!r}" in done.stderr


@pytest.mark.parametrize("results", ["5", "[a]", ""])
def test_results_that_are_no_folder_are_not_opened(results, tmp_path):
    (tmp_path / "my.yaml").write_text(f"results: {results}\n")
    done = atlas("open", tmp_path / "my.yaml")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {tmp_path}/my.yaml: results: expected text, got ")


def test_there_is_nothing_to_export_of_a_run_that_has_not_begun(tmp_path):
    (tmp_path / "my.yaml").write_text(
        f"results: {tmp_path}/results\nmodels: {{m: {{kind: planted, odds_ratio: 4}}}}\nbenchmarks: {{twbias: {{}}}}\n"
    )
    done = atlas("export-token-logprobs", tmp_path / "my.yaml")
    assert done.returncode == 2 and done.stdout == ""
    assert "my.yaml: no model of kind hf or planted has scores of likelihoods yet. Finish the run first" in done.stderr


def test_a_benchmark_is_tested_on_its_sample():
    done = atlas("test-benchmark", "kobbq")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("KoBBQ: 16 items") and done.stdout.endswith(" as theory says\n")


def test_rows_of_a_source_are_printed_in_the_order_of_its_file(tmp_path):
    (tmp_path / "one.csv").write_text("a")
    source = ["--version", "c0ffee", "--url", "https://example.org/c0ffee/{path}", "--licence", "MIT"]
    done = atlas("list-source", "mine", tmp_path, "*.csv", *source, "--print")
    columns = (ROOT / "resources/sources/sources.csv").read_text().splitlines()[0].split(",")
    row = dict(zip(columns, done.stdout.splitlines()[0].split(","), strict=True))
    assert row == {
        "source": "mine",
        "title": "",
        "version": "c0ffee",
        "url": "https://example.org/c0ffee/{path}",
        "licence": "MIT",
        "citation": "",
        "mirror": "",
    }
    assert done.stdout.splitlines()[1].startswith("mine,one.csv,ca978112ca1bbdcafac2")


def test_the_library_at_the_top_of_the_checkout_is_that_of_the_scripts():
    assert (ROOT / "biasatlas").is_symlink()
    assert (ROOT / "biasatlas").resolve() == Path(__file__).resolve().parents[2] / "scripts" / "biasatlas"


def test_every_skip_is_announced_at_the_start():
    """Tests are skipped by tests/needs.py alone, whose table makes the first lines of a run."""
    skipping = re.compile(r"pytest\.(?:skip|importorskip|mark\.skip)|unittest\.skip|importorskip\(")
    tests = [path for path in (ROOT / "tests").rglob("*.py") if path not in (ROOT / "tests/needs.py", Path(__file__))]
    assert [path.name for path in tests if skipping.search(path.read_text(encoding="utf-8"))] == []


def test_a_run_says_first_what_it_skips_and_skips_that():
    test = "tests/unit/test_described.py::test_esbbq_has_27320_questions_and_the_pregnant_woman_first"
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", test]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"BIASATLAS_MIRROR": ""}, capture_output=True, text=True, check=False
    )
    reason = "real data: BIASATLAS_MIRROR names no mirror (make test MIRROR=folder)"
    first, _, last = done.stdout.partition("collected ")
    assert f"  {reason}\n" in first
    assert f": {reason}\n" in last


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{kind: hf, source: ./nowhere, size_billion: 1, gpu: 0}", f"tried {ROOT}/nowhere"),
        ("{kind: api, base_url: http://127.0.0.1:9/v1, model: x, key_env: NO_KEY, prices: free}", "NO_KEY"),
    ],
)
def test_check_says_what_is_missing_before_it_starts_anything(entry, said, tmp_path):
    """No process and no library that runs models: these take half a minute."""
    path = tmp_path / "my.yaml"
    path.write_text(f"results: {tmp_path}/results\nmodels:\n  m: {entry}\nbenchmarks:\n  bbq: {{data: sample}}\n")
    asked = f"import sys; from biasatlas.commands import check\ntry:\n    check({str(path)!r}, [])\nfinally:\n    print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", asked], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode and said in done.stderr
    assert not {"snakemake", "torch", "transformers", "huggingface_hub"} & set(done.stdout.split())
    assert not (tmp_path / "results").exists()


def test_a_check_that_is_interrupted_does_not_begin_again_without_a_model(tmp_path, monkeypatch):
    """As it does where the model's own check failed."""
    entry = "{kind: api, base_url: http://127.0.0.1:9/v1, model: x, prices: free}"
    path = tmp_path / "my.yaml"
    path.write_text(
        f"results: {tmp_path}/results\nmodels: {{m: {entry}}}\nbenchmarks: {{crows_pairs: {{data: sample}}}}\n"
    )
    called = []
    monkeypatch.setattr(workflow_run, "call", lambda command: called.append(command) or 130)
    assert commands.check(str(path), []) == 130
    assert len(called) == 1
