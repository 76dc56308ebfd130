"""What answers came to, by hand: outcomes, forms, rates with reasons, groups, worst cases, and another parser."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from parser_cases import SAMPLES, resources, sample_names

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.mcbe.scores import variance_limits
from biasatlas.benchmarks.shared import replies as kit
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, make_table, row, with_missing_answer_bounds
from biasatlas.benchmarks.shared.parsing.named import PARSERS
from biasatlas.benchmarks.shared.parsing.options import asked_options
from biasatlas.errors import UserError
from biasatlas.files import read_csv, read_parquet, write_parquet
from biasatlas.workflow.finished import reparse_replies, unparsed

TEXTS = ["A", "A or B", "I'm sorry, I can't choose.", "Neither", "<think>A"]
ONE_OF_EACH = [[["ok", text] for text in TEXTS] + [["truncated", "Let me compare"], ["failed", ""]]]
KEYS = {"model": "m", "task": "t"}


def asked(count: int = 1) -> pd.DataFrame:
    rows = [
        {"request_id": f"r{i}", "item_id": f"i{i}", "parser": "letter", "labels": '["A", "B"]'} for i in range(count)
    ]
    return pd.DataFrame(rows).assign(kind="choice")


def chosen(said: list[list[list[str]]]) -> pd.DataFrame:
    rows = [{"request_id": f"r{i}", "status": "ok", "replies": json.dumps(texts)} for i, texts in enumerate(said)]
    return pd.DataFrame(rows).assign(detail="", probabilities="[1, 0]")


def found(said: list[list[list[str]]], parser: str | None = None) -> pd.DataFrame:
    kind, rows = kit.answers(asked(len(said)), chosen(said), PARSERS, parser)
    assert kind == "replies"
    return rows


def table(rows: pd.DataFrame, items: pd.DataFrame, answers: str = "replies") -> pd.DataFrame:
    return make_table(kit.KEYS, kit.outcome_rows({**KEYS, "answers": answers}, rows, items))


def test_every_reply_comes_to_something():
    rows = found(ONE_OF_EACH)
    assert rows["outcome"].tolist() == [
        "ok", "ambiguous", "refused", "unparseable", "unparseable", "truncated", "failed"
    ]  # fmt: skip
    assert rows["found"].tolist() == ["A", *[None] * 6]
    forms = kit.unparsed(rows).set_index("text")["form"]
    assert forms.to_dict() == {
        "A or B": "a few words",
        "I'm sorry, I can't choose.": "one line",
        "Neither": "a few words",
        "<think>A": "thinking only",
        "Let me compare": "a few words",
    }
    assert "ambiguous, a few words: 1\n     1  'A or B'" in kit.examples(kit.unparsed(rows), 10)
    steering = kit.unparsed(rows.replace({"text": {"Neither": "\x1b[2J\x00red\tor\n"}}))["text"]
    assert "\ufffd[2J\ufffdred\tor\n" in steering.tolist()
    assert kit.unparsed(rows.assign(text=math.nan)).empty  # of likelihoods


def test_replies_are_counted_and_their_contradictions():
    items = pd.DataFrame({"item_id": ["i0", "i1"]})
    rate, disagreement = table(found([*ONE_OF_EACH, [["ok", "B"]] * 4]), items).to_dict("records")
    assert (rate["metric"], rate["n"], rate["value"]) == ("read_rate", 5, pytest.approx(50.0))
    counts = ["refused", "ambiguous", "unparseable", "truncated", "failed"]
    assert [rate[name] for name in counts] == [1, 1, 2, 1, 1] and rate["unparsed"] == pytest.approx(50)
    assert (disagreement["metric"], disagreement["value"], disagreement["n"]) == ("disagreement_rate", 50, 2)


def test_a_samples_text_and_a_generated_one_are_read_alike():
    said = pd.DataFrame({"request_id": ["r0"] * 2, "repeat": [0, 1], "status": ["ok", "refused"], "text": ["A", None]})
    kind, rows = kit.answers(asked(), said.assign(detail=""), PARSERS)
    assert (kind, rows["outcome"].tolist(), rows["found"].tolist()) == ("replies", ["ok", "refused"], ["A", None])
    free = asked().assign(parser=None, labels=None)
    assert kit.answers(free, said.assign(detail="", text="It is a stereotype."), PARSERS)[1]["found"][0] == "answered"


def test_probabilities_and_likelihoods_are_counted_with_the_reason_of_what_is_none():
    masses = pd.DataFrame(
        {
            "request_id": ["r0", "r1", "r2"],
            "repeat": 0,
            "status": ["ok", "ok", "not_applicable"],
            "detail": ["", "", "no chat template"],
            "probabilities": ["[0.5, 0.25]", "[0.1, 0.1]", None],
            "refused": [0.25, 0.2, None],
            "ambiguous": [0.0, 0.6, None],
            "unparseable": [0.0, 0.0, None],
            "unresolved": [0.0, 0.0, None],
            "replies": None,
        }
    )
    kind, rows = kit.answers(asked(3), masses, PARSERS)
    rate = table(rows, pd.DataFrame({"item_id": ["i0", "i1", "i2"]}), kind).iloc[0]
    assert (kind, rate["value"], rate["n"], rate["ambiguous"]) == ("probabilities", pytest.approx(47.5), 1, 1)
    assert (rate["not_applicable"], rate["reason"]) == (1, "no chat template (1)")
    likelihoods = masses[["request_id", "repeat", "status", "detail"]]
    kind, rows = kit.answers(asked(), likelihoods.assign(log_likelihood=-1.0), PARSERS)
    rate = table(rows, pd.DataFrame(), kind).iloc[0]
    assert (rate["answers"], rate["value"], rate["n"], rate["not_applicable"]) == ("likelihoods", 100, 2, 1)


def test_groups_that_differ_in_what_was_read_are_told_from_those_that_do_not():
    items = pd.DataFrame({"item_id": [f"i{i}" for i in range(40)], "category": ["old", "young"] * 20})
    apart = table(found([[["ok", "A/B" if i % 2 else "A"]] for i in range(40)]), items)
    groups = apart[apart["grouped_by"] == "category"].set_index(["group", "metric"])["value"]
    assert groups["old", "read_rate"] == 100 and groups["young", "read_rate"] == 0
    assert groups["all", "read_rate_p_value"] < 0.001
    alike = table(found([[["ok", "A/B" if i % 4 < 2 else "A"]] for i in range(40)]), items)
    assert alike.set_index("metric").loc["read_rate_p_value", "value"] > 0.9


def test_worst_cases_are_the_same_table_of_other_scores():
    def make(scores):
        return make_table(
            ["model"],
            [
                row({"model": "m"}, "rate", Estimate(scores["x"].mean()), Counts.of(scores)),
                row({"model": "m"}, "other", Estimate(1.0), Counts.of(scores)),
            ],
        )

    scores = pd.DataFrame({"x": [0.5, np.nan], "status": ["ok", "refused"], "detail": ["", "declined"]})
    cases = scores.assign(x_lower_bound=[0.4, 0.0], x_upper_bound=[0.6, 1.0])
    done = with_missing_answer_bounds(make, cases).set_index("metric")
    assert done.loc["rate", ["value", "lower_bound", "upper_bound"]].tolist() == [0.5, 0.2, 0.8]
    assert done.loc["other", ["lower_bound", "upper_bound"]].isna().all()
    assert done["reason"].tolist() == ["declined (1)"] * 2
    assert with_missing_answer_bounds(make, scores).equals(make(scores))
    none = with_missing_answer_bounds(lambda scores: make(scores).iloc[:0].astype({"value": object}), cases)
    assert none.empty and "upper_bound" in none


def test_a_reason_counts_what_differs_in_its_numbers_alone():
    details = ["0.5 unresolved", "no template", "0.61 unresolved", ""]
    units = pd.DataFrame({"status": ["failed", "not_applicable", "failed", "ok"], "detail": details})
    assert Counts.of(units).reason == "0.5 unresolved (2)"


@pytest.mark.parametrize("seed", range(5))
def test_limits_of_a_variance_hold_and_the_largest_is_reached(seed):
    random = np.random.default_rng(seed)
    low = random.uniform(0, 4, 4)
    high = low + random.uniform(0, 2, 4) * random.integers(0, 2, 4)
    least, most = variance_limits(low, high)
    corners = [np.where([corner >> i & 1 for i in range(4)], high, low).var() for corner in range(16)]
    inside = random.uniform(low, high, (500, 4)).var(axis=1)
    assert most == pytest.approx(max(corners)) and least <= min(*corners, *inside) + 1e-12


@pytest.fixture
def run(tmp_path):
    """A run's files: one model, one task whose replies were sampled."""
    write_parquet(asked(), tmp_path / "requests/crows_pairs/recommended/pair_choice.parquet")
    responses = chosen(ONE_OF_EACH).assign(task="pair_choice", kind="choice")
    responses = responses.assign(repeat=0, refused=0.0, ambiguous=0.0, unparseable=0.0, unresolved=0.0)
    write_parquet(responses, tmp_path / "responses/m/crows_pairs/recommended.parquet")
    return tmp_path


def test_a_run_is_read_again(run):
    assert "2 of 7 replies" in reparse_replies(run, "strict_choice", examples=5)
    changes = read_csv(run / "replies/changes.csv")
    assert dict(zip(changes["text"], changes["now"], strict=True)) == dict.fromkeys(["A", "A or B"], "unparseable")


def test_what_people_open_holds_no_formula(run):
    path = run / "responses/m/crows_pairs/recommended.parquet"
    responses = read_parquet(path)
    write_parquet(responses.assign(replies='[["ok", "=HYPERLINK(1), so A"]]'), path)
    reparse_replies(run, "strict_choice", examples=5)
    assert set(pd.read_csv(run / "replies/changes.csv")["text"]) == {"'=HYPERLINK(1), so A"}


def test_replies_without_an_answer_are_written_down_ready_to_label(run):
    report = unparsed(run, most=2)
    rows = [json.loads(line) for line in (run / "replies/unparsed.jsonl").read_text(encoding="utf-8").splitlines()]
    assert "ambiguous" in report and "'A or B'" in report
    (row,) = (row for row in rows if row["text"] == "A or B")
    assert {
        "reader": "letter",
        "labels": ["A", "B"],
        "options": None,
        "truth": "",
        "found": "ambiguous",
    }.items() <= row.items()
    assert all(row["text"] != "A" for row in rows)


def test_a_folder_without_sampled_replies_is_refused(tmp_path):
    with pytest.raises(UserError, match="no sampled replies"):
        unparsed(tmp_path, most=2)


def test_every_benchmarks_parsers_can_reparse():
    assert all(set(PARSERS) <= set(registry.parsers(name)) for name in registry.benchmark_names())


#: What replies may say in place of an option's label or text: a benchmark, a task of its sample, the option, other words.
OTHER_WORDS = [
    ("mcbe", "SC", "职业分工", ("Occupational Labor Division", "職業分工", "職業分工。")),
    ("mcbe", "SC", "隐含/直接歧视", ("Implicit/Explicit Discrimination", "直接歧视", "隱含歧視")),
    ("mcbe", "SC", "其它", ("Others", "Other", "其他")),
    ("bbq", "question", "unknown", ("Unknown", "It cannot be determined.", "Not enough information")),
    ("esbbq", "question", "unknown", ("No se puede determinar", "Desconocido", "unknown")),
    ("cbbq", "question", "unknown", ("无法确定", "無法判斷", "Cannot be determined")),
]


@pytest.mark.parametrize(("benchmark", "task", "option", "said"), OTHER_WORDS)
def test_options_are_known_by_the_names_that_their_benchmark_declares(benchmark, task, option, said):
    categories = registry.load_spec(benchmark).tasks[task].categories
    options, given = registry.load_options(benchmark, "recommended"), resources(benchmark, "requests")
    files = {name: SAMPLES / benchmark / name for name in sample_names(benchmark)}
    items = registry.read_items(benchmark)(files, resources(benchmark, "items"))
    requests = registry.build_requests(benchmark)(items, task, categories, options, given)
    assert len(requests)
    items = items.set_index("item_id")
    for request in requests.itertuples():
        options = asked_options(request.labels, request.options)
        label = items.loc[request.item_id, "unknown"] if option == "unknown" else option
        for text in said if label in options.labels else ():
            found = PARSERS[request.parser](text, options, True)
            assert isinstance(found, int) and options.labels[found] == label, text
