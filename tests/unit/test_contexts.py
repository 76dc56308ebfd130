"""Contexts: both kinds of awareness by hand, their intervals, and the published cells out of the authors' replies."""

import json
import os
import pickle
import re

import numpy as np
import pandas as pd
import pickled
import pytest
from mirrored import mirrored
from test_decisions import items_of

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.difference_awareness.released import load_plain, load_questions, load_replies
from biasatlas.benchmarks.families.contexts.scores import contextual_awareness
from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE
from biasatlas.benchmarks.shared.parsing.options import Options
from biasatlas.columns import CASES
from biasatlas.errors import UserError
from biasatlas.resources import Resources
from biasatlas.simulation.measure import validate_against_theory
from biasatlas.sources import load_sources
from biasatlas.workflow.config import load_config
from biasatlas.workflow.fetch import fetch

#: The authors' number of a set's first list -> the set.
NUMBERS = dict(zip(map(str, range(1000, 1016, 2)), ("D1", "D2", "D3", "D4", "N1", "N2", "N3", "N4"), strict=True))
SHIPPED = Resources.shipped("published/difference_awareness.csv")


def tables_of(items, models, folder, protocol="recommended"):
    """Scores and the table of ``models``: name -> frame of ``item`` and ``answer``, or the files of a release."""
    name = "difference_awareness"
    options, none = registry.load_options(name, protocol), Resources({})
    categories, score = list(items["category"].unique()), registry.score_responses(name)
    requests = registry.build_requests(name)(items, "question", categories, options, none)
    parts = []
    for model, answers in models.items():
        path = folder / f"{model}.csv"
        if isinstance(answers, dict):
            responses = registry.import_responses(name)(model, answers, items, requests, "question")
        else:
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
    from biasatlas.benchmarks.shared.estimates import with_missing_answer_bounds

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


def answered(condition, scenario, right, apart):
    """Scores of questions in one category, all answered."""
    known = {"condition": condition, "scenario": scenario, "right": right, "apart": apart, "answered": 1.0}
    scores = pd.DataFrame(known)
    filled = {f"{name}{case}": scores[name] for case in CASES for name in ("right", "apart", "answered")}
    return scores.assign(item_id=scores.index.astype(str), category="D1", status="ok", **filled)


def test_scenarios_of_unequal_size_have_one_interval_in_tables_and_findings():
    """Six scenarios of 1 to 20 questions a condition; the interval is a jackknife's of h / (h + e), by hand."""
    asked, told, named = np.array([1, 2, 3, 20, 5, 2]), np.array([1, 1, 2, 12, 5, 1]), np.array([0, 1, 1, 7, 2, 2])
    right = np.concatenate([np.arange(n) < k for n, k in zip(asked, told, strict=True)])
    apart = np.concatenate([np.arange(n) < k for n, k in zip(asked, named, strict=True)])
    scenario, n = np.repeat([*"abcdef", *"uvwxyz"], np.tile(asked, 2)), len(right)
    scores = answered(["differ"] * n + ["equal"] * n, scenario, [*right, *~apart], [*np.ones(n), *apart])
    scores[["right", "apart"]] = scores[["right", "apart"]].astype(float)
    found = contextual_awareness(scores)
    # Without a scenario the others stand for all n questions of its condition.
    h, e = told.sum(), named.sum()
    without = [(h - k) / (n - m) * n for m, k in zip(asked, told, strict=True)]
    without = [each / (each + e) for each in without]
    without += [h / (h + (e - k) / (n - m) * n) for m, k in zip(asked, named, strict=True)]
    value = h / (h + e)
    half = 2.200985 * np.sqrt(11 / 12 * ((np.array(without) - value) ** 2).sum())
    assert (found.value, found.ci_low, found.ci_high) == pytest.approx(
        (100 * value, 100 * (value - half), 100 * (value + half)), rel=1e-6
    )
    _, evidence = registry.evidence("difference_awareness")
    made = evidence(scores, registry.load_options("difference_awareness", "recommended"))
    alike = next(each for each in made if each.key == ("contextual_awareness", "", "overall")).inference()
    assert (alike.low, alike.high) == pytest.approx((found.ci_low, found.ci_high))


def test_contextual_awareness_needs_answers_in_both_conditions():
    none = contextual_awareness(answered("differ", [*"abcdef"], 1.0, 1.0))
    assert np.isnan(none.value) and none.no_interval_reason == "one of the two conditions has no answer"


@pytest.mark.parametrize("joined", [True, False], ids=["scenarios shared", "not shared"])
def test_intervals_of_contextual_awareness_cover(joined):
    """66 scenarios of four questions a condition; a scenario moves its answers, of both conditions where it is shared."""
    rng, covered, draws = np.random.default_rng(0), 0, 500
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
    options = Options.of(labels)
    assert (parser(text, options, False), parser.whole(text, options)) == (so_far, whole)


@pytest.mark.parametrize("name", ["D1", "D4", "N2", "N4"])
def test_pickled_questions_and_replies_are_read(tmp_path, name):
    differ, equal = [["Who? (a) x (b) é (c) none", 1, "-7"]], [["Who else?", 0, "12"]]
    (tmp_path / "q.pkl").write_bytes(pickled.questions(name, differ, equal))
    assert load_questions(tmp_path / "q.pkl") == {"differ": [tuple(differ[0])], "equal": [tuple(equal[0])]}
    (tmp_path / "r.pkl").write_bytes(pickled.replies(1000, "gpt-4o-", [["(a)", ""], ["(c)", "No."]]))
    assert load_replies(tmp_path / "r.pkl") == [["(a)", ""], ["(c)", "No."]]


def test_a_release_may_stand_beside_its_printed_numbers():
    entry = {"kind": "released", "benchmark": "difference_awareness", "release": "gpt-4o", "published_as": "gpt-4o"}
    run = {"difference_awareness": {"protocols": ["released"]}}
    assert load_config({"models": {"it": entry}, "benchmarks": run}).models["it"].published_as == "gpt-4o"
    with pytest.raises(UserError, match="'gpt-5' is not a model in the printed tables of difference_awareness"):
        load_config({"models": {"it": entry | {"published_as": "gpt-5"}}, "benchmarks": run})


class Hostile:
    """Runs ``function`` with ``values`` when it is unpickled by a reader that lets it."""

    def __init__(self, function, *values):
        self.called = function, values

    def __reduce__(self):
        return self.called


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (lambda mark: pickle.dumps([Hostile(os.system, f"touch {mark}")]), "it names posix.system"),
        (lambda mark: pickle.dumps(Hostile(eval, f"open({str(mark)!r}, 'w')")), "it names builtins.eval"),
        (lambda mark: pickle.dumps(Hostile(getattr, [], "append")), "it names builtins.getattr"),
        (lambda mark: b"cnumpy.core.multiarray\n_reconstruct\n.", "it names numpy.core.multiarray._reconstruct"),
        (lambda mark: b"cargparse\nNamespace\n(S'a'\ntR.", r"takes no arguments"),
        (
            lambda mark: b"cnumpy\ndtype\n(S'O'\ntRp0\n0cnumpy.core.multiarray\nscalar\n(g0\nS'a'\ntR.",
            "a scalar of type O",
        ),
        (lambda mark: b"Pmark\n.", "persistent"),
        (lambda mark: pickle.dumps([["Who?", 1, 2]])[:-5], "not opened"),
        (lambda mark: b"version https://git-lfs.github.com/spec/v1\n", "not opened"),
        (lambda mark: b"", "not opened"),
    ],
)
def test_a_pickle_that_names_anything_else_or_is_damaged_is_not_opened(tmp_path, content, sentence):
    path, mark = tmp_path / "x.pkl", tmp_path / "mark"
    path.write_bytes(content(mark))
    for read in (load_plain, load_questions, load_replies):
        with pytest.raises(UserError, match=sentence) as raised:
            read(path)
        assert "\n" not in str(raised.value) and str(path) in str(raised.value)
    assert not mark.exists()


@pytest.mark.parametrize(
    "value", [3, [[], [], []], [[["Who?", "one", "s"]], []], ["options", [[["ab", "b"]]], 0], [0, [[[None]]], 0]]
)
def test_a_pickle_of_another_layout_is_one_sentence(tmp_path, value):
    (tmp_path / "x.pkl").write_bytes(pickle.dumps(value))
    for read in (load_questions, load_replies):
        try:
            found = read(tmp_path / "x.pkl")
        except UserError as error:
            assert "\n" not in str(error) and "etch it again." in str(error)
        else:
            assert value == [[], [], []] and read is load_replies and found == []


def test_the_authors_replies_give_the_published_cells(tmp_path):
    """Of 140 cells of ten models and seven sets 136 to nine digits; four are of other replies than the published ones.

    Under ``recommended`` 117 are equal, and mistral-0.3-7b, which seldom gives a letter, is 1.1 points off in N3.
    """
    files = mirrored("difference_awareness", tmp_path, "derived/*s.jsonl.gz")
    asked, replies = (
        pd.read_json(files[f"derived/{name}.jsonl"], lines=True, dtype=False) for name in ("questions", "replies")
    )
    for name, rows in asked.groupby("set"):
        path = tmp_path / f"mirror/difference_awareness/benchmark_suite/{name}_1k.pkl"
        path.parent.mkdir(parents=True, exist_ok=True)
        lists = dict(list(rows.groupby("condition")))
        lists = {key: list(of[["question", "answer", "scenario"]].itertuples(index=False)) for key, of in lists.items()}
        path.write_bytes(pickled.questions(name, lists["differ"], lists["equal"]))
    sources = load_sources()
    fetch(sources["difference_awareness"], tmp_path / "fetched", tmp_path / "mirror")  # the very bytes, by SHA-256
    items = items_of("difference_awareness", tmp_path / "fetched")
    assert len(items) == 14_000
    (tmp_path / "data").mkdir()
    asked.to_json(tmp_path / "data/questions.jsonl", orient="records", lines=True)
    written = items_of("difference_awareness", tmp_path / "data")
    pd.testing.assert_frame_equal(items, written.set_index("item_id").loc[items["item_id"]].reset_index())
    replies = replies[replies["set"] != "N1"]
    item = replies["set"] + "/" + replies["condition"] + "/" + replies["row"].astype(str)
    answers = dict(list(replies.assign(item=item, answer=replies["reply"]).groupby("model")))

    released, lacking = {}, set()
    for model, mine in answers.items():
        released[model] = {}
        for file in sources["difference_awareness_replies"].files:
            number, theirs = re.match(r"outputs/in(\d+)-.*_m(.+)/output", file.path).groups()
            if theirs.removesuffix("-") != model:
                continue
            of = mine[mine["set"] == NUMBERS[number]]
            lists = [list(of.loc[of["condition"] == condition, "reply"]) for condition in ("differ", "equal")]
            path = tmp_path / file.path
            path.parent.mkdir(parents=True)
            path.write_bytes(pickled.replies(int(number), theirs, lists))
            released[model][file.path] = path
            lacking.add(file.bytes - path.stat().st_size)
    assert lacking == {27}  # what the options take that we do not know

    def gaps(protocol):
        _, table = tables_of(items, released if protocol == "released" else answers, tmp_path, protocol)
        beside = table[table["published"].notna()].set_index(["model", "category", "metric"])
        assert len(beside) == 140 and beside["ci_low"].notna().all()
        return beside["difference"].abs()

    others, whole = gaps("released"), gaps("recommended")
    assert (whole <= 1e-7).sum() == 117 and whole.max() <= 1.15, whole.max()
    others = others[others > 1e-7]
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
