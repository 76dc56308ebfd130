"""Contexts: both kinds of awareness by hand, their intervals, and the published cells out of the authors' replies."""

import json

import numpy as np
import pandas as pd
import pytest
from mirrored import mirrored
from test_decisions import items_of

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.families.contexts.tables import contextual_awareness
from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE
from biasatlas.benchmarks.shared.parsing.named import whole_answer
from biasatlas.columns import CASES
from biasatlas.errors import UserError
from biasatlas.resources import Resources
from biasatlas.simulation.described import validate_against_theory

SHIPPED = Resources.shipped("published/difference_awareness.csv")


def tables_of(items, models, folder, protocol="recommended"):
    """Scores and the table of ``models``: name -> frame of ``item`` and ``answer``."""
    name = "difference_awareness"
    options, none = registry.load_options(name, protocol), Resources({})
    categories, score = list(items["category"].unique()), registry.score_responses(name)
    requests = registry.build_requests(name)(items, "question", categories, options, none)
    parts = []
    for model, answers in models.items():
        path = folder / f"{model}.csv"
        answers[["item", "answer"]].to_csv(path, index=False, quoting=1)
        responses = registry.formats(name)["answers"]({path.name: path}, items, requests, "question")
        for category in categories:
            made = score(items, requests, responses, "question", category, options, none)
            parts.append(made.assign(model=model, task="question", category=category))
    scores = pd.concat(parts, ignore_index=True)
    table = registry.tables(name)["awareness"](scores, options, SHIPPED.published, {model: model for model in models})
    return scores, table


def test_both_kinds_of_awareness_by_hand(tmp_path):
    """In D1 two of three are right, and one of two that are read tells equal groups apart; N4's third is refused."""
    items = items_of("difference_awareness", ROOT / "resources/samples/difference_awareness")
    replies = {"D1/differ/0": "(a)", "D1/differ/1": "a", "D1/differ/2": "(a)", "D1/equal/0": "(b)", "D1/equal/1": "(c)"}
    replies |= {"N4/differ/0": "(c) Either may", "N4/differ/1": "**(b)**", "N4/differ/2": "I cannot help with that."}
    frame = pd.DataFrame(replies.items(), columns=["item", "answer"])
    scores, table = tables_of(items, {"m": frame}, tmp_path)
    found = table.set_index(["category", "metric"])
    assert found.loc[("D1", "difference_awareness"), "value"] == pytest.approx(200 / 3)
    assert found.loc[("D1", "contextual_awareness"), "value"] == pytest.approx(200 / 3)  # 2 / (2 + 1)
    row = found.loc[("N4", "difference_awareness")]
    assert row["value"] == 50 and (row["refused"], row["failed"]) == (1, 0)
    assert found.loc[("D3", "difference_awareness"), "failed"] == 3
    assert set(scores.loc[scores["category"] == "D1", "scenario"].str.split("/").str[1]) == {"differ", "equal"}
    assert set(scores.loc[scores["category"] == "D3", "scenario"]) == {"D3/office", "D3/film", "D3/home"}


def test_missing_answers_bound_the_table(tmp_path):
    from biasatlas.benchmarks.shared.missing_answer_bounds import with_missing_answer_bounds

    items = items_of("difference_awareness", ROOT / "resources/samples/difference_awareness")
    frame = pd.DataFrame({"item": ["D1/differ/0", "D1/differ/1", "D1/equal/0"], "answer": ["(a)", "(b)", "(a)"]})
    scores, _ = tables_of(items, {"m": frame}, tmp_path)
    make = registry.tables("difference_awareness")["awareness"]
    options = registry.load_options("difference_awareness", "recommended")
    table = with_missing_answer_bounds(lambda rows: make(rows, options, SHIPPED.published, {}), scores)
    found = table[table["category"] == "D1"].set_index("metric")[["value", "lower_bound", "upper_bound"]].loc
    assert found["difference_awareness"].tolist() == pytest.approx([50, 100 / 3, 200 / 3])
    # Lower: one right of three, three tell equal groups apart. Upper: two right, one apart.
    assert found["contextual_awareness"].tolist() == pytest.approx([50, 25, 200 / 3])


def test_the_scaffold_works_as_it_is_written():
    items = items_of("difference_awareness", ROOT / "resources/samples/difference_awareness")
    assert validate_against_theory("difference_awareness", items)["right"].all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [({"answer": 2}, "answer is '2'. Expected 0 for"), ({"condition": "same"}, "Expected one of differ, equal")],
)
def test_a_fault_in_the_data_is_named(tmp_path, change, sentence):
    row = {
        "set": "D1",
        "condition": "differ",
        "row": 0,
        "question": "Which? (a) x (b) y (c) z",
        "answer": 0,
        "scenario": "s",
    }
    (tmp_path / "q.jsonl").write_text(json.dumps(row | change) + "\n")
    with pytest.raises(UserError, match="line 1") as error:
        items_of("difference_awareness", tmp_path)
    assert sentence in str(error.value)


@pytest.mark.parametrize("joined", [True, False], ids=["scenarios shared", "not shared"])
def test_intervals_of_contextual_awareness_cover(joined):
    """66 scenarios of four questions a condition; a scenario moves its answers, of both conditions where it is shared."""
    rng, covered, draws = np.random.default_rng(0), 0, 500
    _, evidence = registry.evidence("difference_awareness")
    true = 0.6 / (0.6 + 0.3)
    ids = np.repeat(np.arange(66), 4)
    for _ in range(draws):
        common = rng.normal(0, 0.1, 66)
        right = rng.random(264) < np.clip(0.6 + common, 0, 1)[ids]
        apart = rng.random(264) < np.clip(0.3 - (common if joined else rng.normal(0, 0.1, 66)), 0, 1)[ids]
        scores = pd.DataFrame(
            {
                "condition": ["differ"] * 264 + ["equal"] * 264,
                "scenario": [*ids, *(ids if joined else ids + 66)],
                "right": [*right.astype(float), *(~apart).astype(float)],
                "apart": [*np.ones(264), *apart.astype(float)],
                "answered": 1.0,
            }
        )
        found = contextual_awareness(scores)
        covered += found.ci_low <= 100 * true <= found.ci_high
        if _ % 100 == 0:  # models are compared by the same interval
            names = {"item_id": scores.index.astype(str), "category": "D1", "status": "ok"}
            filled = {f"{name}{case}": scores[name] for case in CASES for name in ("right", "apart", "answered")}
            made = evidence(
                scores.assign(**names, **filled), registry.load_options("difference_awareness", "recommended")
            )
            alike = next(each for each in made if each.key == ("contextual_awareness", "", "overall"))
            assert alike.value == pytest.approx(found.value)
            assert (alike.inference().low, alike.inference().high) == pytest.approx(
                (found.ci_low, found.ci_high), abs=0.3
            )
    assert 0.925 <= covered / draws <= 0.975


@pytest.mark.parametrize(
    ("labels", "text", "so_far", "whole"),
    [
        ("ABC", "(b", None, 1),
        ("ABC", " **(b)** The", 1, 1),
        ("ABC", "'(c)' as workers (a) and others (b) are", 2, 2),
        ("ABC", "But", UNPARSEABLE, UNPARSEABLE),
        ("ABC", "The better one is (b).", UNPARSEABLE, 1),
        ("ABC", "Not (a), nor (b)", UNPARSEABLE, AMBIGUOUS),
        ("ABC", "I cannot say", REFUSED, REFUSED),
        (["yes", "no"], "Now", UNPARSEABLE, UNPARSEABLE),
        (["yes", "no"], "No", None, 1),
        (["yes", "no"], "Based on this, the answer is 'yes'.", UNPARSEABLE, 0),
    ],
)
def test_a_reply_is_parsed_by_its_beginning(labels, text, so_far, whole):
    parser = registry.parsers("discrim_eval")["beginning"]
    assert (parser(text, labels, False), whole_answer(parser, text, labels)) == (so_far, whole)


def test_the_authors_replies_give_the_published_cells(tmp_path):
    """Of 140 cells of ten models and seven sets 136 to nine digits; four are of other replies than the published ones.

    Under ``recommended`` 113 are equal, and mistral-0.3-7b, which seldom gives a letter, is 1.1 points off in N3.
    """
    files = mirrored("difference_awareness", tmp_path, "derived/*s.jsonl.gz")
    questions, replies = (pd.read_json(files[f"derived/{name}.jsonl"], lines=True) for name in ("questions", "replies"))
    (tmp_path / "data").mkdir()
    questions.to_json(tmp_path / "data/questions.jsonl", orient="records", lines=True)
    items = items_of("difference_awareness", tmp_path / "data")
    assert len(items) == 14_000
    replies = replies[replies["set"] != "N1"]
    item = replies["set"] + "/" + replies["condition"] + "/" + replies["row"].astype(str)
    answers = dict(list(replies.assign(item=item, answer=replies["reply"]).groupby("model")))

    def gaps(protocol):
        _, table = tables_of(items, answers, tmp_path, protocol)
        beside = table[table["published"].notna()].set_index(["model", "category", "metric"])
        assert len(beside) == 140 and beside["ci_low"].notna().all()
        return beside["difference"].abs()

    released, whole = gaps("released"), gaps("recommended")
    assert (whole <= 1e-7).sum() == 113 and whole.max() <= 1.15, whole.max()
    others = released[released > 1e-7]
    assert len(others) == 4 and others.max() <= 0.7 + 1e-9, others.to_string()
    assert {key[:2] for key in others.index} == {("gpt-4o-mini", "D2"), ("gemma-2-27b", "N3")}


def test_the_evidence_has_the_values_of_the_table(tmp_path):
    items = items_of("difference_awareness", ROOT / "resources/samples/difference_awareness")
    draws = np.random.default_rng(3).choice(["(a)", "(b)", "(c)"], len(items))
    scores, table = tables_of(items, {"m": pd.DataFrame({"item": items["item_id"], "answer": draws})}, tmp_path)
    options = registry.load_options("difference_awareness", "recommended")
    _, evidence = registry.evidence("difference_awareness")
    found = {(each.category, each.metric): each for each in evidence(scores, options)}
    rows = table[table["metric"].isin(["difference_awareness", "contextual_awareness"])]
    assert {key for key, each in found.items()} == set(
        rows.loc[rows["value"].notna(), ["category", "metric"]].itertuples(index=False, name=None)
    )
    for row in rows.to_dict("records"):
        if (key := (row["category"], row["metric"])) in found:
            each = found[key]
            assert each.value == pytest.approx(row["value"])
            assert each.declared.neutral is None and each.claim("m").untestable == each.declared.reason
