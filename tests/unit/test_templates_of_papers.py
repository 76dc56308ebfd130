"""The prompt templates of others: read from the authors' files and from a user's, sent as printed, and in no file that ships."""

import json
import re

import pytest
import yaml
from benches import sample_items
from needs import MIRROR, PAPERS, need
from standins import copied_prompts, printed, published_prompts, standin_templates

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.dbb.dataset import CRITERIA, read_prompts
from biasatlas.benchmarks.dbb.requests import choice_prompt, typographic
from biasatlas.benchmarks.mcbe import CATEGORIES, subcategories
from biasatlas.benchmarks.mcbe.judge import judge_prompts, order_prompt, rubric
from biasatlas.benchmarks.mcbe.requests import prompts
from biasatlas.benchmarks.mcbe.scores import criterion_weights
from biasatlas.benchmarks.shared.templates import (
    as_copied,
    fill_slots,
    formatted_strings,
    plain,
    read_published,
    with_slots,
)
from biasatlas.benchmarks.twbias.items import user_prompts
from biasatlas.errors import UserError
from biasatlas.models.entry import Template
from biasatlas.models.local.render import render
from biasatlas.resources import Resources, names
from biasatlas.sources import load_sources

SHIPPED = ("prompts/*/*", "mcbe/*")


def given(folder, benchmark, **own) -> Resources:
    """Shipped files, and stand-ins for the prompt templates of others."""
    shipped = {name: ROOT / "resources" / name for name in names(SHIPPED)}
    return Resources(shipped | standin_templates(folder, benchmark) | own)


@pytest.fixture
def mcbe(tmp_path):
    return given(tmp_path, "mcbe")


def test_released_prompts_are_the_codes_own(mcbe):
    released = prompts("released", mcbe)
    assert released["sc"] == "归类这句话：{sentence}\n类别有：{labels}\n只说一个。"
    assert released["ss"] == "一：{first}\n二：{second}\n选A还是B？\n"  # its last line end, too
    assert "- 轻\t[0, 5)\t还好。" in released["bs"]
    judged = judge_prompts("released", {"a": 13, "b": 13, "c": 13, "d": 5}, mcbe)
    assert judged["d"] == "作答：{answer}\n参考：{explanation}\n0到5分。\n标准：看亮点。\n只给分数。"
    assert order_prompt(mcbe) == "其一 {context}\n其二 {sentence}\n哪个在先？只给数字。"


def test_the_papers_prompts_fill_the_printed_slots(mcbe):
    paper = prompts("paper", mcbe)
    assert paper["sc"] == "归类这句话:{sentence},类别有:{labels},只说一个。"
    assert paper["bs"] == "看这句:{sentence},打分: \n- 轻\t[0, 5)\t还好。\n- 重\t[5, 10]\t不好。\n先写分。"
    judged = judge_prompts("paper", {"a": 13, "b": 13, "c": 13, "d": 5}, mcbe)
    assert judged["d"] == "作答: {answer} 参考: {explanation} 标准: 看亮点。 范围0到5。"


def test_a_brace_in_a_text_is_no_slot():
    assert fill_slots("{a} {b}", {"a": "{b}", "b": "x"}) == "{b} x"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda prompts: prompts | {"ss": "别的[Sentence 1][Sentence 2]"},
            ["ss is not the text of a table", "part 1 of the 7 between marks is '别的[Sentence1]' in the copy"],
        ),
        (lambda prompts: {k: v for k, v in prompts.items() if k != "ss"}, ["no text for 'ss'", "Copy it from a table"]),
        (lambda prompts: prompts | {"sss": "x"}, ["'sss' is not a prompt of mcbe", "did you mean 'ss'"]),
    ],
)
def test_a_users_copy_is_held_against_its_checksum(tmp_path, change, words):
    made = standin_templates(tmp_path, "mcbe")
    raw = yaml.safe_load(made["templates/prompts"].read_text(encoding="utf-8"))
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(change(raw), allow_unicode=True), encoding="utf-8")
    with pytest.raises(UserError) as error:
        read_published(tmp_path / "mine.yaml", "mcbe", Resources(made))
    assert "mine.yaml" in str(error.value) and all(word in str(error.value) for word in words)


def test_line_ends_blanks_and_width_do_not_count_and_are_sent(tmp_path):
    made = printed(tmp_path, "mcbe", {"ss": "看: 甲,乙。"})
    made["templates/prompts"].write_text("ss: |\n  看：\n  甲，  乙。\n", encoding="utf-8")
    assert read_published(made["templates/prompts"], "mcbe", Resources(made)) == {"ss": "看：\n甲，  乙。"}


#: What viewers make of a printed prompt: line ends inside words, with and without a hyphen; one line; wide marks.
HABITS = {
    "breaks with hyphens": lambda text: text.replace("Sentence", "Sen-\ntence").replace("Scoring", "Scor-\ning"),
    "breaks anywhere": lambda text: "\n".join(text[n : n + 9] for n in range(0, len(text), 9)),
    "none": lambda text: " ".join(text.split("\n")),
    "hyphens in one line": lambda text: text.replace("Sentence", "Sen- tence").replace("Subcat", "Subcat\u00ad"),
    "wide marks": lambda text: (
        text.replace(",", "，").replace(":", "：").replace("?", "？").replace("[", "［").replace("]", "］")
    ),
}


@pytest.mark.parametrize("habit", HABITS)
def test_a_copy_is_accepted_however_a_viewer_breaks_it(tmp_path, habit):
    """The stand-ins, and what is printed where it is there; each is sent as copied, its slots filled."""
    for texts, own in (
        (None, {}),
        (copied_prompts(), {"prompts/mcbe/printed.csv": ROOT / "resources/prompts/mcbe/printed.csv"}),
    ):
        if texts == {}:
            continue
        made = standin_templates(tmp_path, "mcbe") | own
        raw = texts or yaml.safe_load(made["templates/prompts"].read_text(encoding="utf-8"))
        mine = tmp_path / "mine.yaml"
        mine.write_text(
            yaml.safe_dump({k: HABITS[habit](v) for k, v in raw.items()}, allow_unicode=True), encoding="utf-8"
        )
        resources = given(tmp_path, "mcbe", **{**made, "templates/prompts": mine})
        filled = prompts("paper", resources)
        assert filled["ss"] == with_slots(
            HABITS[habit](raw["ss"]).strip(), {"[Sentence1]": "{first}", "[Sentence2]": "{second}"}
        )
        assert "{labels}" in filled["sc_alternative"] and filled["bs_alternative"].count("{sentence}") == 1
        assert all("{answer}" in text for text in judge_prompts("paper", dict.fromkeys("abcd", 5), resources).values())


@pytest.mark.parametrize("habit", ["breaks anywhere", "none", "wide marks"])
def test_twbiass_copy_is_accepted_however_a_viewer_breaks_it(tmp_path, habit):
    page = PAPERS / "prompts" / "twbias.yaml"
    if not page.is_file():
        need("prompts")
    printed_there = yaml.safe_load(page.read_text(encoding="utf-8"))["table_3"]["prompts"]
    raw = {f"prompt_{n}": HABITS[habit](printed_there[f"user_prompt_{n}"]["text"]) for n in (2, 3, 4, 6, 8, 9)}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(raw, allow_unicode=True), encoding="utf-8")
    assert read_published(tmp_path / "mine.yaml", "twbias", Resources.shipped("prompts/twbias/printed.csv")) == raw


def test_another_text_is_sent_where_the_file_says_so(tmp_path):
    made = printed(tmp_path, "mcbe", {"ss": "看: 甲,乙。丙"})
    path = made["templates/prompts"]
    for text, says in (
        ("看: 甲,丁。丙", "part 3 of the 4 between marks is '丁。' in the copy, behind '甲,'"),
        ("看: 甲,乙。", "it ends before part 4"),
        ("看: 甲,乙。丙?丁", "part 4 of the 4"),
    ):
        path.write_text(yaml.safe_dump({"ss": text}, allow_unicode=True), encoding="utf-8")
        with pytest.raises(UserError, match=re.escape(says)):
            read_published(path, "mcbe", Resources(made))
        path.write_text(yaml.safe_dump({"ss": text, "as_copied": True}, allow_unicode=True), encoding="utf-8")
        assert read_published(path, "mcbe", Resources(made)) == {"ss": text} and as_copied(path)
    path.write_text("{ss: x, as_copied: maybe}", encoding="utf-8")
    with pytest.raises(UserError, match="as_copied is 'maybe'"):
        read_published(path, "mcbe", Resources(made))


def test_code_of_another_version_is_refused(tmp_path):
    (tmp_path / "eval.py").write_text("def other(): pass\n")
    with pytest.raises(UserError, match="no function classification"):
        formatted_strings(tmp_path / "eval.py", "classification")
    (tmp_path / "eval.py").write_text("def other(:\n")
    with pytest.raises(UserError, match="cannot be read as Python"):
        formatted_strings(tmp_path / "eval.py", "classification")


def test_twbias_has_the_tables_words_where_the_file_has_them(tmp_path):
    resources = given(tmp_path, "twbias")
    assert user_prompts("released", resources)["prompt_5"] == "問5？"
    paper = user_prompts("paper", resources)
    assert (paper["prompt_5"], paper["prompt_4"]) == ("問5?", "第4問?")
    assert list(paper) == list(user_prompts("ours", resources)) == [f"prompt_{number}" for number in range(1, 11)]


def test_quotation_marks_become_typographic():
    assert typographic("""only "a" and 'b) It's so.' or 'c'""") == "only “a” and ‘b) It's so.’ or ‘c’"


# Against what the papers print (skipped without it). "Plain": width of marks and white space do not count.
#
# Which test holds which printed prompt (docs/mcbe.md, docs/twbias.md and docs/dbb.md say where each is read from):
#   McBE    Table 7 SC, SS, BA, BS, Table 11 SC, BS   test_what_mcbe_asks_under_paper_is_the_printed_text
#           Table 7 judge                             test_what_mcbes_judge_is_asked_under_paper_is_the_printed_text
#           Tables 4 and 5: ranges, maxima, weights   test_mcbes_levels_and_criteria_are_those_of_tables_4_and_5
#   TWBias  Table 3                                   test_twbiass_paper_is_the_printed_text
#           Tables 2 and 10                           test_what_twbias_sends_under_paper_is_the_printed_text
#   DBB     Table 11                                  test_dbbs_paper_is_the_printed_text
#           Appendix C.1, Tables 12 to 15             test_dbbs_construction_is_the_printed_text
#           criteria for people                       test_the_evaluation_sheet_has_the_printed_criteria
# The English columns of Tables 7 and 11 are translations, and McBE's and TWBias's Tables 9 ask people: nobody is sent them.
#
# Part of these is read from the authors' code. Each test runs on a file rebuilt from print by the differences that are known
# of it, and on the authors' own where a mirror has it.


@pytest.fixture(params=["rebuilt from print", "the authors'"])
def code(request, tmp_path):
    """``code(source, text)``: a folder with the authors' code of a source, or with a file of that ``text`` in its place."""

    def folder(source, name, text):
        if request.param == "rebuilt from print":
            (tmp_path / source / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / source / name).write_text(text, encoding="utf-8")
            return tmp_path / source
        need("code")
        return MIRROR / source

    return folder


def as_published(text: str, slots: dict[str, str]) -> str:
    """A printed prompt with our slots in place of the paper's, plain."""
    for theirs, ours in slots.items():
        text = text.replace(theirs, ours)
    return plain(text)


@pytest.fixture
def copied(tmp_path, code) -> tuple[dict[str, str], Resources]:
    """McBE's printed prompts by their names in a user's file, and resources with such a file and the checksums that ship.

    In the code, SC's printed words have line ends behind the slots where print has commas. The levels and criteria are a
    stand-in's where the code is: print has them in English alone.
    """
    printed_sc = published_prompts("mcbe")["table_7"]["sc_zh"]["text"]
    slots = {"[Default Sentence],": "{s.replace('[PLH]', t.words[0])}\\n", "[All Subcategories],": "{all_class}\\n"}
    made = given(tmp_path / "standins", "mcbe")
    standin = made.path("templates/mcbe_code") / "eval.py"
    rebuilt = re.sub(
        r'f"归类这句话.*?"只说一个。"',
        lambda _: f'f"{with_slots(printed_sc, slots)}"',
        standin.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    texts = copied_prompts()
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps(texts), encoding="utf-8")
    own = {"templates/prompts": mine, "prompts/mcbe/printed.csv": ROOT / "resources/prompts/mcbe/printed.csv"}
    return texts, given(
        tmp_path / "standins", "mcbe", **own, **{"templates/mcbe_code": code("mcbe_code", "eval.py", rebuilt)}
    )


def sent(requests) -> dict[str, str]:
    """What the user says in each request, plain; the system says nothing."""
    chats = [json.loads(messages) for messages in requests["messages"]]
    assert all(message["role"] == "user" or not message["content"] for chat in chats for message in chat)
    return dict(zip(requests["request_id"], [plain(chat[-1]["content"]) for chat in chats], strict=True))


def test_what_mcbe_asks_under_paper_is_the_printed_text(copied):
    """Tables 7 and 11, an instance's texts in their slots; BS has none for the sentence, and it stands as in the code."""
    texts, resources = copied
    options, items = registry.load_options("mcbe", "paper"), sample_items("mcbe").query("category == 'gender'")
    item = items.iloc[1]
    words, name = json.loads(item["words"]), item["item_id"]
    default = item["sentence"].replace("[PLH]", words[0])
    one, two = ((item["context"] + item["sentence"]).replace("[PLH]", word) for word in words[:2])
    levels = [line for line in prompts("released", resources)["bs"].splitlines() if line.startswith("- ")]

    def asked(task):
        return sent(registry.build_requests("mcbe")(items, task, ["gender"], options, resources))

    assert asked("SS")[f"{name}/1-2"] == as_published(texts["ss"], {"[Sentence 1]": one, "[Sentence 2]": two})
    assert asked("BA")[name] == as_published(texts["ba"], {"[Word]": words[0], "[Default Sentence]": default})
    labels = "、".join(subcategories(resources)["gender"])
    slots = {"[Default Sentence]": default, "[AllSubcategories]": labels, "[All Subcategories]": labels}
    assert asked("SC")[f"{name}/alternative"] == as_published(texts["sc_alternative"], slots)
    printed_sc = published_prompts("mcbe")["table_7"]["sc_zh"]["text"]
    assert asked("SC")[f"{name}/original"] == as_published(printed_sc, slots)
    for prompt_set, of in (("original", "bs"), ("alternative", "bs_alternative")):
        expected = as_published(texts[of], {"[Scoring Criteria for Bias Scoring]": "".join(levels)})
        assert asked("BS")[f"{name}/{prompt_set}"].replace(f":{plain(default)},", ",", 1) == expected


def test_what_mcbes_judge_is_asked_under_paper_is_the_printed_text(copied):
    texts, resources = copied
    options, items = registry.load_options("mcbe", "paper"), sample_items("mcbe").head(1)
    explanation = items["explanation"].iloc[0]
    maxima = dict(rubric(resources)[["criterion", "max_score"]].itertuples(index=False))
    of_code = judge_prompts("released", maxima, resources)
    requests = registry.build_requests("mcbe")(items, "BA", CATEGORIES, options, resources)
    answers = requests[["request_id"]].assign(repeat=0, status="ok", text="因为以偏概全。")
    judged = registry.build_judge_requests("mcbe")(items, requests, answers, "BA", options, resources)
    for criterion, found in zip(maxima, sent(judged).values(), strict=True):
        expected = as_published(
            texts["ba_judge"],
            {
                "[Analysis]": "因为以偏概全。",
                "[Explanation]": explanation,
                "[Scoring Criteria for Bias Analysis]": of_code[criterion].splitlines()[3].partition("：")[2],
                "[Score Range]": f"0到{maxima[criterion]}",
            },
        )
        assert found == expected, criterion


def test_mcbes_levels_and_criteria_are_those_of_tables_4_and_5(copied):
    """By their numbers, since print has their words in English alone."""
    page, (_, resources) = published_prompts("mcbe"), copied
    criteria = [(row["criterion"], row["max_score"], row["weight"]) for row in page["table_5"]["criteria"].values()]
    weighted = rubric(resources).assign(weight=list(criterion_weights(resources)))
    assert list(weighted.itertuples(index=False, name=None)) == criteria
    judged = judge_prompts("paper", {name: top for name, top, _ in criteria}, resources)
    assert [re.search(r"0到\d+", prompt)[0] for prompt in judged.values()] == [f"0到{top}" for _, top, _ in criteria]
    printed_ranges = [re.sub(r"\s", "", level["range"]) for level in page["table_4"]["levels"].values()]
    ranges = [re.sub(r"\s", "", found) for found in re.findall(r"\[\d+, ?\d+[)\]]", prompts("paper", resources)["bs"])]
    # The stand-in has two levels; the authors' file has the printed five.
    assert ranges == (["[0,5)", "[5,10]"] if len(ranges) == 2 else printed_ranges)


def test_twbiass_paper_is_the_printed_text(tmp_path):
    table = published_prompts("twbias")["table_3"]["prompts"]
    texts = {f"prompt_{number}": table[f"user_prompt_{number}"]["text"] for number in range(1, 11)}
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps({f"prompt_{number}": texts[f"prompt_{number}"] for number in (2, 3, 4, 6, 8, 9)}))
    own = {
        "templates/prompts": mine,
        "templates/twbias": PAPERS.parent / "datasets" / "twbias",
        "prompts/twbias/printed.csv": ROOT / "resources/prompts/twbias/printed.csv",
    }
    assert user_prompts("paper", given(tmp_path, "twbias", **own)) == texts


def test_what_twbias_sends_under_paper_is_the_printed_text(tmp_path):
    """Tables 2 and 10: what stands before a sentence, and the sentence; print says nothing of the blanks around an empty prompt."""
    page = published_prompts("twbias")
    table = page["table_3"]["prompts"]
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps({f"prompt_{n}": table[f"user_prompt_{n}"]["text"] for n in (2, 3, 4, 6, 8, 9)}))
    own = {
        "templates/prompts": mine,
        "templates/twbias": PAPERS.parent / "datasets" / "twbias",
        "prompts/twbias/printed.csv": ROOT / "resources/prompts/twbias/printed.csv",
    }
    sentence = page["table_2"]["type_0"]["text"]
    items = sample_items("twbias").query("target_group == 'male'").head(1).assign(sentence=sentence)
    options = registry.load_options("twbias", "paper")
    built = registry.build_requests("twbias")(
        items.assign(swaps=json.dumps({"female": [["男人", "女人"]]})),
        "perplexity",
        registry.load_spec("twbias").tasks["perplexity"].categories,
        options,
        given(tmp_path, "twbias", **own),
    )
    originals = built[built["variant"] == 0]
    models = yaml.safe_load((ROOT / "config/papers.yaml").read_text(encoding="utf-8"))["models"]
    for published_as, ours in (("tw_llm", "taiwan-llm"), ("breeze", "breeze"), ("taide", "taide")):
        templates = {name: Template(**texts) for name, texts in models[ours]["templates"].items()}
        before = [rendered.text for rendered in render(originals, None, templates, {})]
        asked = dict(zip(originals["prompt_type"], [text + sentence for text in before], strict=True))
        layout = page["table_10"][published_as]["text"].replace("{bias sentence}", sentence)
        for number in range(1, 11):
            text = table[f"user_prompt_{number}"]["text"]
            assert asked[f"prompt_{number}"] == layout.replace("{user prompt}", text)
        assert asked["no_template"] == sentence
        if published_as == "tw_llm":  # of which Table 2 is
            assert [asked["empty_prompt"], asked["prompt_1"]] == [
                page["table_2"][name]["text"] for name in ("type_00", "type_1")
            ]


def test_dbbs_paper_is_the_printed_text(tmp_path):
    """Table 11, then the question, whose layout the paper does not print; no system message."""
    text = published_prompts("dbb")["table_11"]["multiple_choice"]["text"]
    resources = given(tmp_path, "dbb", **{"templates/dbb": PAPERS.parent / "datasets" / "dbb"})
    assert choice_prompt("table11", resources) == text
    items = sample_items("dbb").head(1)
    options = registry.load_options("dbb", "paper")
    requests = registry.build_requests("dbb")(items, "MCQ", list(items["category"]), options, resources)
    (chat,) = map(json.loads, requests["messages"])
    assert [message["role"] for message in chat] == ["user"] and chat[0]["content"].startswith(f"{text}\n\n")


def shipped_texts() -> dict[str, str]:
    """What ships of prompts and grammars: in plain form."""
    files = [*names(["prompts/**/*", "planted/*"])]
    return {name: plain((ROOT / "resources" / name).read_text(encoding="utf-8")) for name in files}


def test_no_printed_prompt_ships():
    """No file that ships has twelve characters in a row of a printed Chinese prompt, or sixty of an English one."""
    pages = [published_prompts(paper) for paper in ("mcbe", "twbias", "dbb")]
    theirs = {plain(piece) for page in pages for text in _texts(page) for piece in re.split(r"[\[{][^\]}]*[\]}]", text)}
    for name, ours in shipped_texts().items():
        for text in theirs:
            length = 12 if re.search("[\u4e00-\u9fff]", text) else 60
            runs = (text[place : place + length] for place in range(len(text) - length + 1))
            assert not [run for run in runs if run in ours], name


def _texts(page) -> list[str]:
    if isinstance(page, dict):
        return (
            [page["text"]]
            if isinstance(page.get("text"), str)
            else [text for part in page.values() for text in _texts(part)]
        )
    return []


def test_the_files_that_hold_templates_are_pinned():
    sources = load_sources()
    assert {file.path for file in sources["mcbe_code"].files} == {"eval.py", "utils.py"}
    assert all(len(file.sha256) == 64 for name in ("mcbe_code", "dbb_code") for file in sources[name].files)


def construction_code(page) -> str:
    """The authors' `concept_analysis.py` as far as it holds printed words, with what is known to differ."""
    lead = page["appendix_c1"]["lead_sentence"]["text"]
    summary, check = page["table_12"]["sofa"]["text"], page["table_14"]["post_hoc_check"]["text"]
    assert (
        summary.startswith("P")
        and summary.count("Stereotype: ") == 1
        and check.count("\nThe bias description is:") == 1
    )
    summary = f"If you are a social scientist, p{summary[1:]}".replace(
        "Stereotype: ", "Stereotype (the given Concept1): "
    )
    check = check.replace("bias ideas", "biased ideas").replace("\nThe bias", "\n------\n\nThe bias")
    check = check.replace("{bias summary and explanation}", "{summ_bias}")
    return f"prompt_exp = f{lead + chr(10) + summary!r}\nprompt_refine = f{'A lead of its own.' + chr(10) + check!r}\n"


def test_dbbs_construction_is_the_printed_text(code):
    """Tables 12, 13 and 15 from the released files; the lead sentence, SOFA's summary and Table 14 from the code."""
    page = published_prompts("dbb")
    shipped = {name: ROOT / "resources" / name for name in names(["prompts/dbb/construct/*"])}
    own = {
        "templates/dbb": PAPERS.parent / "datasets" / "dbb",
        "templates/dbb_code": code("dbb_code", "src/concept_analysis.py", construction_code(page)),
    }
    prompts = read_prompts(Resources(shipped | own), "paper")
    tables = {number: page[f"table_{number}"] for number in (12, 13, 14, 15)}
    fields = {"{category}": "bias_type", "{target}": "target", "{stereotype}": "stereotype"}
    check = {"{bias summary and explanation}": "explanation", "{concept1 }": "concept_1", "{concept2}": "concept_2"}
    expected = {
        "bias_summary_sentences": (tables[12]["cs_ss"], {"{s1}": "sentence_1", "{s2}": "sentence_2"}),
        "bias_summary_question": (tables[12]["bbq"], {"{context}": "context_source", "{question}": "question"}),
        "bias_summary_stereotype": (tables[12]["sofa"], fields),
        "raw_concepts_sentences": (tables[13]["concept_pairs"], {"{bias summary and explanation}": "explanation"}),
        "post_hoc_check": (tables[14]["post_hoc_check"], check),
        "context_and_first_option": (tables[15]["context_and_first_option"], {"{concept1}": "picked_concept1"}),
        "second_option": (
            tables[15]["second_option"],
            {"{generated context}": "sentence1_generated", "{concept2}": "picked_concept2"},
        ),
    }
    lead = bare(page["appendix_c1"]["lead_sentence"]["text"])
    for name, (entry, slots) in expected.items():
        text = entry["text"]
        for theirs, ours in slots.items():
            text = text.replace(theirs, f"[[{ours}]]")
        assert bare(prompts[name]) == lead + bare(text), name


def test_the_evaluation_sheet_has_the_printed_criteria():
    """By name, in the order of print; their words in docs/dbb.md are ours."""
    assert list(CRITERIA) == list(published_prompts("dbb")["human_evaluation"]["criteria"])


def bare(text: str) -> str:
    """``text`` without white space, in straight quotation marks, a line of dashes as one."""
    straight = text.translate(str.maketrans("“”‘’", "\"\"''"))
    return re.sub("-{3,}", "-", "".join(straight.split()))
