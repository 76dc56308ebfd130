"""What makes a result stale: the syntax of the code that makes it, the marked fields of the configuration."""

import shutil

import pytest

from biasatlas.marks import Marked, field, that_change
from biasatlas.workflow import identity


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    """A copy of scripts/ that a test may edit."""
    copy = tmp_path / "scripts"
    shutil.copytree(identity.SCRIPTS, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(identity, "SCRIPTS", copy)
    forget()
    yield copy
    forget()


def forget():
    identity._module.cache_clear()
    identity.code_of.cache_clear()


#: A step -> its script, and the modules that it imports by name.
STEPS = {
    "items": ("read_items", "benchmarks.twbias.items"),
    "requests": ("build_requests", "benchmarks.twbias.requests"),
    "scores": ("score_responses", "benchmarks.twbias.scores"),
    "tables": ("summarise_scores", "benchmarks.twbias.tables"),
    "figures": ("draw_figure", "benchmarks.twbias.figures"),
    "training": ("train_planted",),
}

#: Appended to a file: code that changes it, and what does not.
CODE, COMMENT, DOCSTRING = "\nEDITED = 1\n", "\n# edited\n", None


@pytest.mark.parametrize(
    ("edited", "text", "rerun"),
    [
        ("biasatlas/benchmarks/twbias/scores.py", CODE, {"scores"}),
        ("biasatlas/benchmarks/twbias/scores.py", COMMENT, set()),
        ("biasatlas/benchmarks/twbias/scores.py", DOCSTRING, set()),
        ("biasatlas/benchmarks/twbias/figures.py", CODE, {"figures"}),
        ("biasatlas/benchmarks/twbias/spec.py", CODE, set()),
        ("biasatlas/benchmarks/twbias/options.py", CODE, set()),
        ("biasatlas/benchmarks/shared/estimates.py", CODE, {"tables"}),
        ("biasatlas/benchmarks/shared/plots.py", CODE, {"figures"}),
        ("biasatlas/stats/intervals.py", CODE, {"tables"}),
        ("biasatlas/models/planted/corpus.py", CODE, {"training"}),
        ("biasatlas/models/local/answer.py", CODE, set()),
        ("score_responses.py", CODE, {"scores"}),
        ("score_responses.py", COMMENT, set()),
        ("biasatlas/files.py", CODE, {"items", "requests", "scores", "tables", "figures"}),
        ("biasatlas/files.py", COMMENT, set()),
        ("biasatlas/workflow/lease.py", CODE, set()),
    ],
)
def test_an_edit_reruns_exactly_the_steps_that_compute_with_it(scripts, edited, text, rerun):
    before = {name: identity.code_of(*step) for name, step in STEPS.items()}
    path = scripts / edited
    source = path.read_text()
    path.write_text(source + text if text else source.replace('"""', '"""Edited. ', 1))
    forget()
    after = {name: identity.code_of(*step) for name, step in STEPS.items()}
    assert {name for name in STEPS if before[name] != after[name]} == rerun


def test_every_module_that_a_step_computes_with_is_covered():
    """A package counts as a whole: no table can be computed by a module that its fingerprint leaves out."""
    folder = identity.SCRIPTS / "biasatlas/benchmarks/mcbe"
    covered = identity.code_files("summarise_scores", "benchmarks.mcbe.tables")
    assert set((folder / "tables").glob("*.py")) <= set(covered)
    assert folder / "spec.py" not in covered


class Section(Marked):
    slow: int = field("nothing", 1)
    seed: float = field("answers", 1)
    alpha: dict[str, float] = field("tables", {})
    ties: str = field("scores", "half")


def test_params_follow_from_the_marks():
    section = Section(alpha={"b": 1, "a": 2})
    assert that_change(section, "answers") == {"seed": 1.0}
    assert list(that_change(section, "scores")) == ["seed", "ties"]
    assert repr(that_change(section, "tables")) == "{'alpha': {'a': 2.0, 'b': 1.0}, 'seed': 1.0, 'ties': 'half'}"
    assert repr(that_change(Section(seed=1.0), "tables")) == repr(that_change(Section(seed=1), "tables"))


def test_a_field_without_a_mark_is_refused():
    with pytest.raises(TypeError, match=r"Careless\.seed: mark it with one of answers, judgements, scores, tables"):

        class Careless(Marked):
            seed: int = 1
