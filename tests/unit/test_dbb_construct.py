"""DBB's construction with a writer whose every reply is known: verdicts, files, the evaluation sheet."""

import csv
import json
import re

import pandas as pd
import pytest
from dbb_cases import SAMPLE, read_items
from mirrored import mirrored

from biasatlas import ROOT
from biasatlas.benchmarks.dbb import CONSTRUCTION_STEPS, construct, dataset
from biasatlas.benchmarks.dbb.dataset import SOURCE_COLUMNS, read_prompts, read_rows, sample
from biasatlas.errors import UserError
from biasatlas.files import write_csv
from biasatlas.resources import Resources, names

PROMPTS = read_prompts(Resources.shipped("prompts/dbb/construct/*"))

#: What a writer that keeps to the form replies, by step.
GOOD = {
    "quality_filter": "False",
    "bias_summary": "It ties caring\nto one group.",
    "context_and_first_option": "Sentence 1: [[X]] stood in the hall.\nSentence 2: [[X]] smoothed the blanket.",
    "second_option": "Sentence: [[X]] read the chart.",
    "three_sentence_check": (
        "Sentence 1: [[X]] stood in the hall.\nSentence 2: [[X]] smoothed the blanket.\nSentence 3: [[X]] read the chart."
    ),
    "nine_variations": "\n".join(f"Sentence: [[X]] did thing {number}." for number in range(9)),
}


#: Concepts of each row: no two rows have the same.
CONCEPTS = {"crows_pairs/0": "nurse;doctor", "bbq/Age/0": "carer;leader", "sofa/1": "slowness;speed"}


def one_of_each() -> pd.DataFrame:
    rows = [
        {"row_id": "crows_pairs/0", "form": "sentences", "sentence_1": "Women care.", "sentence_2": "Men care."},
        {"row_id": "bbq/Age/0", "form": "question", "context_source": "Two people met.", "question": "Who forgot?"},
        {"row_id": "sofa/1", "form": "stereotype", "stereotype": "are slow", "target": "old folks"},
    ]
    return construct.start(pd.DataFrame([dict.fromkeys(SOURCE_COLUMNS, "") | row for row in rows]))


def answered(requests: pd.DataFrame, reply: str | dict[str, str], status: str = "ok") -> pd.DataFrame:
    """Responses to every request: one reply, or a reply by request id."""
    texts = [reply if isinstance(reply, str) else reply[request_id] for request_id in requests["request_id"]]
    return pd.DataFrame(
        {"request_id": requests["request_id"], "status": status, "detail": "", "text": texts}, dtype=object
    )


def run(replies: dict[str, str], last: str = CONSTRUCTION_STEPS[-1]) -> dict[str, pd.DataFrame]:
    """The rows after each step up to ``last``, the writer replying ``GOOD`` where ``replies`` has nothing else."""
    rows, tables = one_of_each(), {}
    for step in CONSTRUCTION_STEPS[: CONSTRUCTION_STEPS.index(last) + 1]:
        requests = construct.build(step, rows, PROMPTS)
        concepts = {f"{row_id}/{step}": pair for row_id, pair in CONCEPTS.items()}
        good = concepts if step in ("raw_concepts", "post_hoc_check") else GOOD[step]
        responses = answered(requests, replies.get(step, good))
        rows = tables[step] = construct.parse(step, rows, responses)
    return tables


def test_good_writer_makes_a_dataset_that_can_be_read(tmp_path):
    rows = run({})["nine_variations"]
    assert set(rows["verdict"]) == {"kept"}
    assert set(rows["explanation"]) == {"It ties caring to one group."}
    rows["context"] = "=1+1 " + rows["context"]  # which is escaped in the file
    for name, table in dataset.dataset_files(rows).items():
        write_csv(table, tmp_path / name)
    items = read_items({str(path.relative_to(tmp_path)): path for path in tmp_path.rglob("*.csv")})
    assert len(items) == 3 * 50
    assert (items[["fault", "fault_sg"]] == "").all(axis=None)
    assert items["context"].str.startswith("=1+1 [[X]]").all()
    assert json.loads(items["variations_2"].iloc[0])[:2] == ["[[X]] read the chart.", "[[X]] did thing 0."]
    assert set(items["source_id"].str.split("/").str[0]) == {"own"}


def test_each_form_has_its_own_prompt_and_texts():
    rows = one_of_each()
    rows.loc[:, "explanation"] = "A bias."
    asked = {
        (step, row["item_id"]): json.loads(row["messages"])[0]["content"]
        for step in ("bias_summary", "raw_concepts")
        for row in construct.build(step, rows, PROMPTS).to_dict("records")
    }
    assert "Sentence 1: Women care.\nSentence 2: Men care." in asked["bias_summary", "crows_pairs/0"]
    assert "Context: Two people met.\nQuestion: Who forgot?" in asked["bias_summary", "bbq/Age/0"]
    assert "Targets: old folks" in asked["raw_concepts", "sofa/1"]
    assert "A bias." in asked["raw_concepts", "sofa/1"]
    assert list(construct.build("quality_filter", rows, PROMPTS)["item_id"]) == ["crows_pairs/0"]


def test_released_prompts_take_the_place_of_ours(released):
    prompts = read_prompts(released, "released")
    assert prompts["second_option"].startswith("Lead.\nqa_generate2 says")
    assert prompts["bias_summary_sentences"].endswith("Sentence 1: [[sentence_1]]\nSentence 2: [[sentence_2]]")
    assert "[[explanation]]" in prompts["post_hoc_check"] and "[[concept_1]];[[concept_2]]" in prompts["post_hoc_check"]
    assert {name for name, text in prompts.items() if text == PROMPTS[name]} == {"three_sentence_check"}


def test_the_papers_prompts_are_parts_of_the_released_ones(released):
    prompts = read_prompts(released, "paper")
    assert {"quality_filter", "three_sentence_check"}.isdisjoint(prompts)  # steps that the paper does not describe
    assert prompts["raw_concepts_question"] == prompts["raw_concepts_sentences"]
    assert prompts["raw_concepts_question"].startswith("C.1 lead.\nanalysis_2 says")
    assert "Ex one" in prompts["raw_concepts_question"] and "Ex two" not in prompts["raw_concepts_question"]
    assert prompts["bias_summary_stereotype"] == (
        "C.1 lead.\nPlease look.\nCategory: [[bias_type]] [[target]] Stereotype: [[stereotype]]"
    )
    rows = one_of_each()
    assert construct.build("quality_filter", rows, prompts).empty  # the paper describes none
    assert set(construct.parse("quality_filter", rows, construct.NO_RESPONSES, prompts)["verdict"]) == {"skipped"}


@pytest.fixture
def released(tmp_path):
    """Stand-ins for the authors' files, of the same form."""
    parts = ["Here is an example:\nEx one", "Here is an example:\nEx two", "Here is an example:\nEx three", "Below:"]
    for name in (
        *("filter_questions", "analysis_1", "summarize_bias", "analysis_2", "analysis_bbq", "analysis_sofa"),
        *("qa_generate1", "qa_generate2", "qa_generate2_more_sentences"),
    ):
        path = tmp_path / "dbb/src/prompt_instructions" / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n------\n".join([f"Lead.\n{name} says so.", *parts]))
    code = tmp_path / "code/src/concept_analysis.py"
    code.parent.mkdir(parents=True)
    code.write_text(
        'prompt_exp = f"C.1 lead.\\nIf you are, please look.\\nCategory: {c} {t} Stereotype (the given Concept1): {s}"\n'
        'prompt_refine = f"Lead.\\nCheck biased ideas.\\n------\\nOf {e}: {a};{b}"\n'
    )
    shipped = {path: ROOT / "resources" / path for path in names(["prompts/dbb/construct/*"])}
    return Resources(shipped | {"templates/dbb": tmp_path / "dbb", "templates/dbb_code": tmp_path / "code"})


def test_placeholder_is_left_to_the_writer_and_row_texts_are_not_expanded():
    rows = run({}, "context_and_first_option")["context_and_first_option"]
    rows.loc[0, "concept_2"] = "[[context]]"
    prompt = json.loads(construct.build("second_option", rows, PROMPTS)["messages"].iloc[0])[0]["content"]
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
        "Sentence 1: Anna stood.\nSentence 2: [[X]] sat.",
        "no placeholder [[X]] in the context",
    ),
    ("second_option", "[[X]] read.", "without the markers 'Sentence:'"),
    ("second_option", "Sentence:", "a marker without a sentence"),
    ("three_sentence_check", "Sentence 1: [[X]] a.\nSentence 2: [[X]] b.", "without the markers"),
    (
        "three_sentence_check",
        "Sentence 1: [[X]] a.\nSentence 2: [[X]] b.\nSentence 3: [[X]] b.",
        "options are the same",
    ),
    ("second_option", "Sentence: [[X]] smoothed the blankets.", "the options are the same"),
    ("raw_concepts", "muslim;calm", "names an identity: 'muslim'"),
    ("nine_variations", "Sentence: [[X]] a.\nSentence: [[X]] b.", "2 sentences after 'Sentence:', 2 of them new"),
    (
        "nine_variations",
        GOOD["nine_variations"].replace("[[X]] did thing 3", "She did thing 3"),
        "no placeholder [[X]] in the variation",
    ),
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
    refined = {f"{row_id}/post_hoc_check": pair.replace(";", "s;") + "s" for row_id, pair in CONCEPTS.items()}
    tables = run({"post_hoc_check": refined})
    assert set(tables["post_hoc_check"]["verdict"]) == {"refined"}
    assert set(tables["post_hoc_check"]["reason"]) == {"concept_1, concept_2"}
    assert set(tables["three_sentence_check"]["verdict"]) == {"kept"}
    counts = construct.verdicts(tables).set_index(["step", "verdict"])["n"]
    assert counts["post_hoc_check", "refined"] == 3
    assert counts["quality_filter", "skipped"] == 2
    assert (counts.groupby("step").sum() == 3).all()


def test_rejected_rows_stay_and_are_asked_no_more():
    rows = one_of_each()
    requests = construct.build("bias_summary", rows, PROMPTS)
    responses = answered(requests, GOOD["bias_summary"])
    responses.loc[1, ["status", "detail", "text"]] = ["refused", "content filter", None]
    rows = construct.parse("bias_summary", rows, responses.drop(index=2))
    assert rows["reason"].tolist() == ["", "refused: content filter", "no response"]
    later = construct.build("raw_concepts", rows, PROMPTS)
    assert later["item_id"].tolist() == ["crows_pairs/0"]
    after = construct.parse("raw_concepts", rows, answered(later, "nurse;doctor"))
    assert after["step"].tolist() == ["raw_concepts", "bias_summary", "bias_summary"]


def test_a_row_without_variations_keeps_its_question():
    files = dataset.dataset_files(run({"nine_variations": "none"})["nine_variations"])
    assert len(files["Questions/constructed_all_data_questions.csv"]) == 3
    assert files["Questions/constructed_all_data_more_contexts_questions.csv"].empty


def test_templates_without_a_variations_file_get_one(tmp_path):
    files = {"Questions/sample_all_data_questions.csv": SAMPLE / "Questions/sample_all_data_questions.csv"}
    items = read_items(files)
    rows = dataset.template_rows(items)
    requests = construct.build("nine_variations", rows, PROMPTS)
    assert len(requests) == 2 * items["template_id"].nunique()
    replies = dict.fromkeys(requests["request_id"], GOOD["nine_variations"]) | {"dbb/t0003/nine_variations/1": "none"}
    table = dataset.variations_table(construct.parse("nine_variations", rows, answered(requests, replies)))
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
    plan = construct.worst_costs(one_of_each(), PROMPTS, 2.0, 10.0).set_index("step")
    assert plan.loc["quality_filter", "requests"] == 3 * 1  # each asked three times at most
    assert plan.loc["nine_variations", "requests"] == 3 * 6
    assert plan.loc["all", "requests"] == plan["requests"].iloc[:-1].sum() == 3 * (1 + 6 * 3 + 6)
    asked = plan.loc["all"]
    assert asked["cost"] == pytest.approx((2 * asked["prompt_tokens"] + 10 * asked["completion_tokens"]) / 1e6)


def test_a_reply_that_cannot_be_taken_is_asked_for_again():
    """Twice more at most; the filter's no is an answer, and the first reply that can be taken counts."""
    rows = run({}, "three_sentence_check")["post_hoc_check"]
    bad, good = "Sentence 1: He stood.", GOOD["context_and_first_option"]
    step, texts = "context_and_first_option", {"crows_pairs/0": [good], "bbq/Age/0": [bad, good], "sofa/1": [bad] * 3}

    def replies(requests):
        return pd.concat(
            [
                answered(requests, {f"{row_id}/{step}": said[min(n, len(said) - 1)] for row_id, said in texts.items()})
                .loc[(requests["repeats"] > n).to_numpy()]
                .assign(repeat=n)
                for n in range(3)
            ]
        )

    requests, asked = construct.build(step, rows, PROMPTS), []
    while not asked or not requests.equals(asked[-1]):
        asked.append(requests)
        requests = construct.build(step, rows, PROMPTS, replies(requests))
    assert [list(table["repeats"]) for table in asked] == [[1, 1, 1], [1, 2, 2], [1, 2, 3]]
    parsed = construct.parse(step, rows, replies(requests)).set_index("row_id")
    assert list(parsed["verdict"]) == ["kept", "kept", "rejected"]
    assert parsed.loc["sofa/1", "reason"].endswith("(the last of 3 replies)")
    first = construct.build("quality_filter", one_of_each(), PROMPTS)
    no = answered(first, "True. The topics differ.")
    assert construct.build("quality_filter", one_of_each(), PROMPTS, no).equals(first)


def test_rows_with_the_same_concepts_are_one():
    rows = run({"post_hoc_check": "Carer;leader"}, "post_hoc_check")["post_hoc_check"]
    assert list(rows["verdict"]) == ["refined", "rejected", "rejected"]
    assert set(rows["reason"][1:]) == {"the concepts of crows_pairs/0"}


def test_sources_are_drawn_from_every_type():
    rows = pd.DataFrame({"row_id": range(40), "bias_type": ["Age"] * 30 + ["Race"] * 8 + ["SES"] * 2})
    drawn = sample(rows, 12, seed=1)
    assert drawn["bias_type"].value_counts().to_dict() == {"Age": 5, "Race": 5, "SES": 2}
    assert drawn.index.is_monotonic_increasing and not drawn.equals(sample(rows, 12, seed=2))
    assert drawn.equals(sample(rows, 12, seed=1)) and len(sample(rows, 99, seed=1)) == 40


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
    sheet.loc[0, "contextual_fluency"] = "No"
    sheet.loc[1, "semantic_alignment"] = ""
    summary = dataset.summarise_evaluation(read_sheet(tmp_path, sheet)).set_index("criterion")
    assert summary.loc["contextual_fluency", ["value", "n", "missing"]].tolist() == [0.95, 20, 0]
    assert summary.loc["semantic_alignment", ["value", "n", "missing"]].tolist() == [1, 19, 1]
    assert summary.loc["all", "value"] == pytest.approx(18 / 19)
    assert summary.loc["all", "ci_low"] < 18 / 19 < summary.loc["all", "ci_high"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda sheet: sheet.drop(columns="contextual_fluency"), "no column 'contextual_fluency'"),
        (lambda sheet: sheet.assign(contextual_fluency="maybe"), "line 2: contextual_fluency is 'maybe'"),
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
