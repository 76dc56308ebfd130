"""DBB's construction with a writer whose every reply is known: verdicts, files, the evaluation sheet."""

import csv
import json
import re

import pandas as pd
import pytest
from dbb_cases import SAMPLE, read_items
from mirrored import mirrored

from biasatlas.benchmarks.dbb.construct import STEPS, dataset, steps
from biasatlas.benchmarks.dbb.construct.sources import SOURCE_COLUMNS, read_rows
from biasatlas.errors import UserError
from biasatlas.resources import Resources

PROMPTS = steps.read_prompts(Resources.shipped("prompts/dbb/construct/*"))

#: What a writer that keeps to the form replies, by step.
GOOD = {
    "quality_filter": "False",
    "bias_summary": "It ties caring\nto one group.",
    "raw_concepts": "nurse;doctor",
    "post_hoc_check": "nurse;doctor",
    "context_and_first_option": "Sentence 1: [[X]] stood in the hall.\nSentence 2: [[X]] smoothed the blanket.",
    "second_option": "Sentence: [[X]] read the chart.",
    "three_sentence_check": (
        "Sentence 1: [[X]] stood in the hall.\nSentence 2: [[X]] smoothed the blanket.\nSentence 3: [[X]] read the chart."
    ),
    "nine_variations": "\n".join(f"Sentence: [[X]] did thing {number}." for number in range(9)),
}


def one_of_each() -> pd.DataFrame:
    rows = [
        {"row_id": "crows_pairs/0", "form": "sentences", "sentence_1": "Women care.", "sentence_2": "Men care."},
        {"row_id": "bbq/Age/0", "form": "question", "context_source": "Two people met.", "question": "Who forgot?"},
        {"row_id": "sofa/1", "form": "stereotype", "stereotype": "are slow", "target": "old folks"},
    ]
    return steps.start(pd.DataFrame([dict.fromkeys(SOURCE_COLUMNS, "") | row for row in rows]))


def answered(requests: pd.DataFrame, reply: str | dict[str, str], status: str = "ok") -> pd.DataFrame:
    """Responses to every request: one reply, or a reply by request id."""
    texts = [reply if isinstance(reply, str) else reply[request_id] for request_id in requests["request_id"]]
    return pd.DataFrame(
        {"request_id": requests["request_id"], "status": status, "detail": "", "text": texts}, dtype=object
    )


def run(replies: dict[str, str], last: str = STEPS[-1]) -> dict[str, pd.DataFrame]:
    """The rows after each step up to ``last``, the writer replying ``GOOD`` where ``replies`` has nothing else."""
    rows, tables = one_of_each(), {}
    for step in STEPS[: STEPS.index(last) + 1]:
        responses = answered(steps.build(step, rows, PROMPTS), replies.get(step, GOOD[step]))
        rows = tables[step] = steps.parse(step, rows, responses)
    return tables


def test_good_writer_makes_a_dataset_that_can_be_read(tmp_path):
    rows = run({})["nine_variations"]
    assert set(rows["verdict"]) == {"kept"}
    assert set(rows["explanation"]) == {"It ties caring to one group."}
    for name, table in dataset.dataset_files(rows).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        table.to_csv(tmp_path / name, index=False)
    items = read_items({str(path.relative_to(tmp_path)): path for path in tmp_path.rglob("*.csv")})
    assert len(items) == 3 * 50
    assert (items[["fault", "fault_sg"]] == "").all(axis=None)
    assert json.loads(items["variations_2"].iloc[0])[:2] == ["[[X]] read the chart.", "[[X]] did thing 0."]
    assert set(items["source_id"].str.split("/").str[0]) == {"own"}


def test_each_form_has_its_own_prompt_and_texts():
    rows = one_of_each()
    rows.loc[:, "explanation"] = "A bias."
    asked = {
        (step, row["item_id"]): json.loads(row["messages"])[0]["content"]
        for step in ("bias_summary", "raw_concepts")
        for row in steps.build(step, rows, PROMPTS).to_dict("records")
    }
    assert "Sentence 1: Women care.\nSentence 2: Men care." in asked["bias_summary", "crows_pairs/0"]
    assert "Context: Two people met.\nQuestion: Who forgot?" in asked["bias_summary", "bbq/Age/0"]
    assert "Targets: old folks" in asked["raw_concepts", "sofa/1"]
    assert "A bias." in asked["raw_concepts", "sofa/1"]
    assert list(steps.build("quality_filter", rows, PROMPTS)["item_id"]) == ["crows_pairs/0"]


def test_released_prompts_take_the_place_of_ours(tmp_path):
    names = ("filter_questions", "analysis_1", "summarize_bias", "analysis_2", "analysis_bbq", "analysis_sofa")
    names += ("qa_generate1", "qa_generate2", "qa_generate2_more_sentences")
    files = {f"src/prompt_instructions/{name}.txt": tmp_path / name for name in names}
    for name, path in files.items():
        path.write_text(f"{name}\n")
    resources = Resources.shipped("prompts/dbb/construct/*")
    prompts = steps.read_prompts(resources, files)
    assert prompts["second_option"] == "src/prompt_instructions/qa_generate2.txt"
    assert {name for name, text in prompts.items() if text == PROMPTS[name]} == {
        "bias_summary_stereotype",
        "post_hoc_check",
        "three_sentence_check",
    }
    with pytest.raises(UserError, match="filter_questions"):
        steps.read_prompts(resources, {})


def test_placeholder_is_left_to_the_writer_and_row_texts_are_not_expanded():
    rows = run({}, "context_and_first_option")["context_and_first_option"]
    rows.loc[0, "concept_2"] = "[[context]]"
    prompt = json.loads(steps.build("second_option", rows, PROMPTS)["messages"].iloc[0])[0]["content"]
    assert "[[X]] stood in the hall." in prompt
    assert "[[context]]" in prompt
    assert not re.search(r"\[\[(?!X\]\]|context\]\])", prompt)


REJECTED = [
    ("quality_filter", "True. The topics differ.", "The topics differ."),
    ("quality_filter", "I would rather not.", "neither True nor False: 'I would rather not.'"),
    ("bias_summary", "  ", "an empty reply"),
    ("raw_concepts", "nurse and doctor", "not of the form 'concept 1;concept 2': 'nurse and doctor'"),
    ("raw_concepts", "a;b;c", "not of the form"),
    ("raw_concepts", "nurse;Nurse", "both concepts are 'nurse'"),
    ("context_and_first_option", "[[X]] stood. [[X]] sat.", "without the markers 'Sentence 1:' to 'Sentence 2:'"),
    (
        "context_and_first_option",
        "Sentence 1: Anna stood.\nSentence 2: She sat.",
        "no placeholder [[X]] in the context",
    ),
    ("second_option", "[[X]] read.", "without the markers 'Sentence:'"),
    ("second_option", "Sentence:", "a marker without a sentence"),
    ("three_sentence_check", "Sentence 1: [[X]] a.\nSentence 2: [[X]] b.", "without the markers"),
    ("three_sentence_check", "Sentence 1: [[X]] a.\nSentence 2: [[X]] b.\nSentence 3: [[X]] b.", "both options are"),
    ("nine_variations", "Sentence: [[X]] a.\nSentence: [[X]] b.", "2 sentences after 'Sentence:', 2 of them new"),
    ("nine_variations", GOOD["nine_variations"].replace("[[X]] did thing 3", "She did thing 3"), "8 of them new"),
]


@pytest.mark.parametrize(("step", "reply", "reason"), REJECTED)
def test_rejected(step, reply, reason):
    rows = run({step: reply}, step)[step]
    row = rows.iloc[0]
    assert (row["verdict"], row["step"]) == ("rejected", step)
    assert reason in row["reason"]
    assert len(rows) == 3


ACCEPTED = [
    ("quality_filter", "false.", {}),
    ("raw_concepts", "Final Answer: '<nurse>; doctor.'", {"concept_1": "nurse", "concept_2": "doctor"}),
    ("raw_concepts", "Here it is:\n**nurse; doctor**", {"concept_1": "nurse", "concept_2": "doctor"}),
    ("second_option", 'Sentence 1: "[[X]] read."', {"option_2": "[[X]] read."}),
    (
        "context_and_first_option",
        "**Sentence 1:** [[X]] stood.\n\n**Sentence 2:** [[X]] sat.",
        {"context": "[[X]] stood.", "option_1": "[[X]] sat."},
    ),
]


@pytest.mark.parametrize(("step", "reply", "fields"), ACCEPTED)
def test_accepted(step, reply, fields):
    row = run({step: reply}, step)[step].iloc[0]
    assert row["verdict"] == "kept"
    assert {name: row[name] for name in fields} == fields


def test_checks_say_what_they_refined():
    tables = run({"post_hoc_check": "carer;leader"})
    assert set(tables["post_hoc_check"]["verdict"]) == {"refined"}
    assert set(tables["post_hoc_check"]["reason"]) == {"concept_1, concept_2"}
    assert set(tables["three_sentence_check"]["verdict"]) == {"kept"}
    counts = steps.verdicts(tables).set_index(["step", "verdict"])["n"]
    assert counts["post_hoc_check", "refined"] == 3
    assert counts["quality_filter", "skipped"] == 2
    assert (counts.groupby("step").sum() == 3).all()


def test_rejected_rows_stay_and_are_asked_no_more():
    rows = one_of_each()
    requests = steps.build("bias_summary", rows, PROMPTS)
    responses = answered(requests, GOOD["bias_summary"])
    responses.loc[1, ["status", "detail", "text"]] = ["refused", "content filter", None]
    rows = steps.parse("bias_summary", rows, responses.drop(index=2))
    assert rows["reason"].tolist() == ["", "refused: content filter", "no response"]
    later = steps.build("raw_concepts", rows, PROMPTS)
    assert later["item_id"].tolist() == ["crows_pairs/0"]
    after = steps.parse("raw_concepts", rows, answered(later, GOOD["raw_concepts"]))
    assert after["step"].tolist() == ["raw_concepts", "bias_summary", "bias_summary"]


def test_a_row_without_variations_keeps_its_question():
    files = dataset.dataset_files(run({"nine_variations": "none"})["nine_variations"])
    assert len(files["Questions/constructed_all_data_questions.csv"]) == 3
    assert files["Questions/constructed_all_data_more_contexts_questions.csv"].empty


def test_templates_without_a_variations_file_get_one(tmp_path):
    files = {"Questions/sample_all_data_questions.csv": SAMPLE / "Questions/sample_all_data_questions.csv"}
    items = read_items(files)
    rows = dataset.template_rows(items)
    requests = steps.build("nine_variations", rows, PROMPTS)
    assert len(requests) == 2 * items["template_id"].nunique()
    replies = dict.fromkeys(requests["request_id"], GOOD["nine_variations"]) | {"dbb/t0003/nine_variations/1": "none"}
    table = dataset.variations_table(steps.parse("nine_variations", rows, answered(requests, replies)))
    path = tmp_path / "variations.csv"
    table.to_csv(path, index=False)
    again = read_items(files | {"Questions/own_more_contexts_questions.csv": path}).drop_duplicates("template_id")
    assert again.loc[again["fault_sg"] != "", "template_id"].tolist() == ["t0003"]
    assert json.loads(again["variations_1"].iloc[0])[0] == again["option_1"].iloc[0]


def test_nothing_constructed_is_an_error_with_the_reason():
    rows = run({"raw_concepts": "no idea"}, "raw_concepts")["raw_concepts"]
    with pytest.raises(UserError, match="no idea"):
        dataset.dataset_files(rows)


def test_plan_bounds_what_is_asked():
    plan = steps.worst_costs(one_of_each(), PROMPTS, 2.0, 10.0).set_index("step")
    assert plan.loc["quality_filter", "requests"] == 1
    assert plan.loc["nine_variations", "requests"] == 6
    assert plan.loc["all", "requests"] == plan["requests"].iloc[:-1].sum() == 1 + 6 * 3 + 6
    asked = plan.loc["all"]
    assert asked["cost"] == pytest.approx((2 * asked["prompt_tokens"] + 10 * asked["completion_tokens"]) / 1e6)


# The manual evaluation


def questions(count: int) -> pd.DataFrame:
    texts = {"Context": "[[X]] sat.", "s1": "a", "s2": "b", "bias type1": "c", "bias type2": "d", "explanation": "e"}
    return pd.DataFrame([texts | {"Context": f"[[X]] sat {number}."} for number in range(count)])


def test_sheet_draws_a_hundred_once_each():
    sheet = dataset.evaluation_sheet(questions(300))
    assert len(sheet) == 100
    assert sheet["id"].is_unique
    assert sheet.equals(dataset.evaluation_sheet(questions(300)))
    assert all(row.Context == f"[[X]] sat {row.id}." for row in sheet.itertuples())
    assert (sheet[list(dataset.CRITERIA)] == "").all(axis=None)
    assert len(dataset.evaluation_sheet(questions(7))) == 7


def read_sheet(folder, sheet: pd.DataFrame) -> pd.DataFrame:
    sheet.to_csv(folder / "sheet.csv", index=False)
    return dataset.read_evaluation(folder / "sheet.csv")


def test_summary_counts_marks_and_what_is_missing(tmp_path):
    sheet = dataset.evaluation_sheet(questions(20)).assign(**dict.fromkeys(dataset.CRITERIA, "yes"))
    sheet.loc[0, "fluent"] = "No"
    sheet.loc[1, "distinct"] = ""
    summary = dataset.summarise_evaluation(read_sheet(tmp_path, sheet)).set_index("criterion")
    assert summary.loc["fluent", ["value", "n", "missing"]].tolist() == [0.95, 20, 0]
    assert summary.loc["distinct", ["value", "n", "missing"]].tolist() == [1, 19, 1]
    assert summary.loc["all", "value"] == pytest.approx(18 / 19)
    assert summary.loc["all", "ci_low"] < 18 / 19 < summary.loc["all", "ci_high"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda sheet: sheet.drop(columns="fluent"), "no column 'fluent'"),
        (lambda sheet: sheet.assign(fluent="maybe"), "line 2: fluent is 'maybe'"),
    ],
)
def test_bad_sheet(tmp_path, change, words):
    with pytest.raises(UserError, match=words):
        read_sheet(tmp_path, change(dataset.evaluation_sheet(questions(3))))


# Sources


def test_sofa_has_each_stereotype_once(tmp_path):
    path = tmp_path / "sofa.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "category", "target", "stereotype"])
        writer.writerows([[1, "gender", "['women']", "are slow"], [2, "gender", "['men']", "are slow"]])
    assert read_rows("sofa", {"sofa.csv": path})["row_id"].tolist() == ["sofa/1"]


@pytest.mark.parametrize(
    ("source", "text", "words"),
    [
        ("sofa", "number,words\n1,x\n", "no column 'id'"),
        ("nowhere", "", "expected one of crows_pairs"),
        ("sofa", "id,category,target,stereotype\n", "no rows"),
    ],
)
def test_bad_source(tmp_path, source, text, words):
    path = tmp_path / "file.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=words):
        read_rows(source, {"file.csv": path})


@pytest.mark.parametrize(
    ("source", "count", "first"),
    [("crows_pairs", 1508, "crows_pairs/0"), ("stereoset", 4229, None), ("bbq", None, None)],
)
def test_published_sources(tmp_path, source, count, first):
    rows = read_rows(source, mirrored(source, tmp_path))
    assert rows["row_id"].is_unique
    assert first in (None, rows["row_id"].iloc[0])
    assert len(rows) == count if count else len(rows) > 100
