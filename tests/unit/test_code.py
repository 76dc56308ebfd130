"""The fingerprint of code: an edit changes the hash of exactly the scripts that use the module."""

import shutil

import pytest

from biasatlas.workflow import identity as code


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    """A copy of scripts/ that a test may edit."""
    copy = tmp_path / "scripts"
    shutil.copytree(code.SCRIPTS, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(code, "SCRIPTS", copy)
    code._imports.cache_clear()
    yield copy
    code._imports.cache_clear()


#: rule's script, modules it imports by name
RULES = {
    "items": ("read_items", "benchmarks.twbias.items"),
    "requests": ("build_requests", "benchmarks.twbias.requests"),
    "responses": ("answer_requests",),
    "scores": ("score_responses", "benchmarks.twbias.scores"),
    "tables": ("summarise_scores", "benchmarks.twbias.tables"),
    "figures": ("draw_figure", "benchmarks.twbias.figures"),
}


@pytest.mark.parametrize(
    ("edited", "rerun"),
    [
        ("biasatlas/benchmarks/twbias/tables.py", {"tables"}),
        ("biasatlas/benchmarks/twbias/scores.py", {"scores"}),
        ("biasatlas/models/hf.py", {"responses"}),
        ("score_responses.py", {"scores"}),
        ("biasatlas/files.py", set(RULES)),
        ("biasatlas/fetch.py", set()),
    ],
)
def test_an_edit_reruns_exactly_the_rules_that_use_it(scripts, edited, rerun):
    before = {name: code.code_hash(*rule) for name, rule in RULES.items()}
    with (scripts / edited).open("a") as stream:
        stream.write("\n# edited\n")
    code._imports.cache_clear()
    after = {name: code.code_hash(*rule) for name, rule in RULES.items()}
    assert {name for name in RULES if before[name] != after[name]} == rerun


def test_a_touch_changes_nothing(scripts):
    before = code.code_hash("score_responses", "benchmarks.twbias.scores")
    (scripts / "biasatlas/benchmarks/twbias/scores.py").touch()
    assert code.code_hash("score_responses", "benchmarks.twbias.scores") == before
