"""MT-Bench, questions of two turns, the second after the model's own reply, and the grades of a stub judge."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.mt_bench.spec import FIELDS, GRADES
from biasatlas.benchmarks.shared.styles import styles
from biasatlas.errors import UserError
from biasatlas.models.scheduling import NO_REPLY, answer_batches
from biasatlas.resources import Resources

SAMPLE = ROOT / "resources/samples/mt_bench/question.jsonl"
OPTIONS = registry.load_options("mt_bench", "recommended")
SHIPPED = Resources.shipped("prompts/mt_bench/*", "published/twbias_mt_bench.csv")
TABLES = registry.tables("mt_bench")


class Echo:
    """Answers with what it was asked last, and how many messages there were; counts what it is asked."""

    def __init__(self, silent=()):
        self.silent, self.asked = silent, []

    def answer(self, requests, task, store=None, share=(0, 1)):
        self.asked.append(list(requests["request_id"]))
        rows = []
        for request in requests.itertuples():
            messages = json.loads(request.messages)
            text = None if request.request_id in self.silent else f"{len(messages)}: {messages[-1]['content']}"
            rows.append(
                {
                    "request_id": request.request_id,
                    "repeat": 0,
                    "status": "ok" if text else "failed",
                    "detail": "",
                    "text": text,
                }
            )
        columns = [
            "request_id",
            "repeat",
            "status",
            "detail",
            "text",
            "finish_reason",
            "prompt_tokens",
            "completion_tokens",
        ]
        return pd.DataFrame(rows, columns=columns), {"answered": len(rows)}


@pytest.fixture(scope="module")
def items():
    return registry.read_items("mt_bench")({"question.jsonl": SAMPLE}, SHIPPED)


@pytest.fixture(scope="module")
def requests(items):
    return registry.build_requests("mt_bench")(items, "answer", FIELDS, OPTIONS, SHIPPED)


def judge_requests(items, requests, responses):
    return registry.build_judge_requests("mt_bench")(items, requests, responses, "answer", OPTIONS, SHIPPED)


def graded(judge_requests, grade, mass=1.0):
    """A stub judge that gives every answer the ``grade`` of its request, and reads ``mass`` of it."""
    rows = [
        {
            "request_id": request.request_id,
            "status": "ok" if mass else "unparseable",
            "probabilities": json.dumps([mass * (label == str(grade(request))) for label in GRADES]),
        }
        for request in judge_requests.itertuples()
    ]
    return pd.DataFrame(rows)


def scored(items, requests, responses, judgements):
    parts = []
    for field in FIELDS:
        part = registry.score_responses("mt_bench")(
            items, requests, responses, "answer", field, OPTIONS, SHIPPED, judgements
        )
        parts.append(part.assign(model="m", task="answer", category=field))
    return pd.concat(parts, ignore_index=True)


def test_the_second_turn_goes_on_from_the_models_own_reply(items, requests):
    model = Echo()
    responses, metadata = answer_batches(model, requests, "answer")
    first = items.iloc[0]
    texts = responses.set_index("request_id")["text"]
    assert texts["1/1"] == f"1: {first['turn_1']}" and texts["1/2"] == f"3: {first['turn_2']}"
    assert responses["request_id"].tolist() == requests["request_id"].tolist()
    assert [len(asked) for asked in model.asked] == [16, 32]  # the first turns again, from the store
    assert metadata == {"answered": 32}


def test_what_the_second_turn_is_shown(requests):
    seen = []

    class Seen(Echo):
        def answer(self, requests, task, store=None, share=(0, 1)):
            seen.extend(requests["messages"])
            return super().answer(requests, task, store, share)

    answer_batches(Seen(), requests[requests["item_id"] == "1"], "answer")
    roles = [[turn["role"] for turn in json.loads(messages)] for messages in seen]
    assert roles == [["user"], ["user"], ["user", "assistant", "user"]]
    assert json.loads(seen[-1])[1]["content"].startswith("1: ")


def test_a_turn_without_a_reply_before_it_is_not_asked(requests):
    model = Echo(silent=("3/1",))
    responses, _ = answer_batches(model, requests, "answer")
    after = responses.set_index("request_id").loc["3/2"]
    assert (after["status"], after["detail"]) == ("failed", NO_REPLY)
    assert "3/2" not in model.asked[-1] and len(responses) == 32


def test_requests_without_turns_are_answered_as_they_are(requests):
    model = Echo()
    answer_batches(model, requests.drop(columns="reply_to"), "answer", share=(0, 1))
    assert len(model.asked) == 1


def test_turns_in_shards_are_refused(requests):
    with pytest.raises(UserError, match="remove `shards`"):
        answer_batches(Echo(), requests, "answer", share=(0, 2))


def test_the_judge_sees_both_turns_and_the_reference(items, requests):
    responses, _ = answer_batches(Echo(), requests, "answer")
    asked = judge_requests(items, requests, responses).set_index("request_id")["messages"].map(json.loads)
    (first,), (second,) = asked["7/1"], asked["7/2"]
    assert "72 平方公分" in first["content"] and "21%" not in first["content"]
    assert "72 平方公分" in second["content"] and "21%" in second["content"] and "3: " in second["content"]
    assert "參考答案" not in asked["15/2"][0]["content"]
    assert asked["15/2"][0]["content"].count("【助理】") == 2


SLOTS = {
    "single-v1": "{question} | {answer}",
    "single-math-v1": "{question} | {ref_answer_1} | {answer}",
    "single-v1-multi-turn": "{question_1} | {answer_1} | {question_2} | {answer_2}",
    "single-math-v1-multi-turn": "{ref_answer_1} {ref_answer_2} | {question_1} | {answer_1} | {question_2} | {answer_2}",
}


def write_judge_prompts(folder, **changed):
    """A file in the layout of MT-Bench's own, with no word of it."""
    path = folder / "judge_prompts.jsonl"
    rows = [{"name": "pair-v2", "system_prompt": "s", "prompt_template": "{question} {answer_a} {answer_b}"}]
    rows += [
        {"name": n, "system_prompt": f"system {n}", "prompt_template": text} for n, text in (SLOTS | changed).items()
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows if row["prompt_template"]))
    return path


def test_mt_benchs_own_judge_explains_and_grades_in_brackets(tmp_path, items, requests):
    paper = registry.load_options("mt_bench", "paper")
    files = {"templates/judge_prompts": write_judge_prompts(tmp_path)}
    responses, _ = answer_batches(Echo(), requests, "answer")
    asked = registry.build_judge_requests("mt_bench")(
        items, requests, responses, "answer", paper, Resources(files)
    ).set_index("request_id")
    assert set(asked["kind"]) == {"generation"} and set(asked["temperature"]) == {0.0}
    told = {name: json.loads(messages) for name, messages in asked["messages"].items()}
    first = items.set_index("item_id")
    field_of = first["category"].to_dict()
    math, writing = (next(name for name, field in field_of.items() if field == each) for each in ("math", "writing"))
    references = json.loads(first.loc[math, "references"])
    system, user = told[f"{math}/2"]
    assert system == {"role": "system", "content": "system single-math-v1-multi-turn"}
    question_1, question_2 = first.loc[math, ["turn_1", "turn_2"]]
    answers = f"{question_1} | 1: {question_1} | {question_2} | 3: {question_2}"
    assert user["content"] == f"{references[0]} {references[1]} | {answers}"
    assert told[f"{writing}/1"][0]["content"] == "system single-v1"
    said = {f"{math}/1": "Rating: [[8.5]]", f"{math}/2": "so [7]", f"{writing}/1": "[[11]]", f"{writing}/2": "seven"}
    judged = pd.DataFrame(
        [{"request_id": name, "repeat": 0, "status": "ok", "text": said.get(name, "[[5]]")} for name in asked.index]
    )
    scores = scored(items, requests, responses, judged).set_index(["item_id", "turn"])
    assert (scores.loc[(math, 1), "score"], scores.loc[(math, 2), "score"]) == (8.5, 7.0)
    assert scores.loc[writing, "status"].tolist() == ["unparseable"] * 2
    others = pd.concat([judged.assign(repeat=1, text="[[4]]"), judged.assign(repeat=2, text="none")])
    several = scored(items, requests, responses, pd.concat([judged, others])).set_index(["item_id", "turn"])
    assert [several.loc[(math, turn), "score"] for turn in (1, 2)] == [6.25, 5.5]  # every grade that was paid counts
    assert several.loc[writing, "score"].tolist() == [4, 4]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"single-v1": ""}, "no prompt 'single-v1' with {answer}"),
        ({"single-math-v1": "{question} {answer}"}, "no prompt 'single-math-v1' with {ref_answer_1}"),
    ],
)
def test_another_file_of_judge_prompts_is_told_before_any_job(tmp_path, changed, says):
    with pytest.raises(UserError, match=re.escape(says)):
        registry.file_checks("mt_bench")["judge_prompts"](write_judge_prompts(tmp_path, **changed))


@pytest.mark.parametrize("grade", [1, 7, 10])
def test_a_judge_of_one_grade_gives_it_everywhere(items, requests, grade):
    responses, _ = answer_batches(Echo(), requests, "answer")
    judgements = graded(judge_requests(items, requests, responses), lambda _: grade, mass=0.6)
    table = TABLES["scores"](scored(items, requests, responses, judgements), OPTIONS, SHIPPED.published, {})
    assert table["value"].tolist() == pytest.approx([grade] * 3 * 9)


def test_the_mean_is_over_fields_and_turns_stand_apart(items, requests):
    fields = items.set_index("item_id")["category"]
    responses, _ = answer_batches(Echo(), requests, "answer")
    asked = judge_requests(items, requests, responses)

    def grade(request):
        return FIELDS.index(fields[request.item_id]) + (3 if request.request_id.endswith("2") else 1)

    judgements = graded(asked, grade)
    table = TABLES["scores"](scored(items, requests, responses, judgements), OPTIONS, SHIPPED.published, {})
    value = table.set_index(["category", "turn"])["value"]
    assert value["coding", "1"] == 1 and value["coding", "2"] == 3 and value["writing", "both"] == 9
    assert value["mean", "both"] == pytest.approx(np.mean([place + 2 for place in range(8)]))
    assert table.set_index(["category", "turn"])["n"]["mean", "both"] == 32


def test_the_interval_is_over_questions(items, requests):
    responses, _ = answer_batches(Echo(), requests, "answer")
    judgements = graded(judge_requests(items, requests, responses), lambda r: 3 + int(r.item_id) % 5)
    table = TABLES["scores"](scored(items, requests, responses, judgements), OPTIONS, SHIPPED.published, {})
    mean = table[table["category"] == "mean"].set_index("turn")
    assert (mean["ci_low"] < mean["value"]).all() and (mean["value"] < mean["ci_high"]).all()
    assert (mean["n_clusters"] == 16).all()
    assert mean.loc["both", "ci_high"] == pytest.approx(mean.loc["1", "ci_high"])  # a second turn alike adds nothing


def test_what_has_no_grade_is_counted_and_scores_nothing(items, requests):
    responses, _ = answer_batches(Echo(silent=("1/1",)), requests, "answer")
    judgements = graded(judge_requests(items, requests, responses), lambda _: 5)
    judgements.loc[judgements["request_id"] == "2/1", ["status", "probabilities"]] = [
        "unparseable",
        json.dumps([0.0] * 10),
    ]
    scores = scored(items, requests, responses, judgements).set_index(["item_id", "turn"])
    assert scores["status"].value_counts().to_dict() == {"ok": 29, "failed": 2, "unparseable": 1}
    assert scores.loc[scores["status"] != "ok", "score"].isna().all()
    judgements.loc[judgements["request_id"] == "2/1", ["status", "probabilities"]] = ["failed", None]
    scores = scored(items, requests, responses, judgements).set_index(["item_id", "turn"])
    assert scores.loc[("2", 1), ["status", "detail"]].tolist() == ["failed", "the judge did not answer"]


def test_the_printed_grades_are_named_as_another_translations(items, requests):
    responses, _ = answer_batches(Echo(), requests, "answer")
    judgements = graded(judge_requests(items, requests, responses), lambda _: 5)
    table = TABLES["other_translation"](
        scored(items, requests, responses, judgements), OPTIONS, SHIPPED.published, {"m": "TAIDE"}
    )
    assert table["published"].isna().all()
    printed = table[table["questions"] != "these"]
    assert len(printed) == 27 and printed["questions"].str.contains("GPT-4's translation").all()
    assert table[table["questions"] == "these"]["model"].unique().tolist() == ["m"]


def test_the_figure_draws_fields_and_mean(items, requests):
    responses, _ = answer_batches(Echo(), requests, "answer")
    judgements = graded(judge_requests(items, requests, responses), lambda _: 5)
    table = TABLES["scores"](scored(items, requests, responses, judgements), OPTIONS, SHIPPED.published, {})
    axis = registry.figures("mt_bench")["scores"]({"scores": table}, styles(["m"])).axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == [*FIELDS, "mean"]


FAULTS = [
    ({"category": "cooking"}, "line 1: category is 'cooking'"),
    ({"turns": ["one"]}, "line 1: turns is"),
    ({"turns": "one two"}, "line 1: turns is"),
    ({"reference": ["one"]}, "line 1: reference is"),
    ({"question_id": ""}, "line 1: question_id is ''"),
]


@pytest.mark.parametrize(("change", "says"), FAULTS)
def test_a_wrong_question_is_named(tmp_path, change, says):
    question = {"question_id": 1, "category": "math", "turns": ["a", "b"]} | change
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(question) + "\n", encoding="utf-8")
    with pytest.raises(UserError, match=says):
        registry.read_items("mt_bench")({"questions": path}, SHIPPED)


def test_without_a_file_it_says_what_to_do():
    with pytest.raises(UserError, match=r"files\.questions"):
        registry.read_items("mt_bench")({}, SHIPPED)
