"""The site of a run: what the pages say, how text of others is written, what the exports hold."""

import base64
import json
import math
import re
import zlib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from report_site import CARDS

from biasatlas.benchmarks.comparisons.cards import sentence
from biasatlas.benchmarks.comparisons.findings import of_benchmark, worst
from biasatlas.benchmarks.contract import Headline, Metric
from biasatlas.benchmarks.registry import benchmark_names, load_spec
from biasatlas.benchmarks.shared.styles import COLOURS, MARKERS, styles
from biasatlas.files import read_csv, write_parquet
from biasatlas.report.account import data_sets, spent
from biasatlas.report.answers import with_tokens
from biasatlas.report.cells import shown_cell, shown_column, shown_style
from biasatlas.report.charts import chart
from biasatlas.report.explorer import value_of
from biasatlas.report.exports import Said, shortened, to_csv, to_json, to_latex, to_markdown, write_exports
from biasatlas.report.packing import pack, pack_floats, to_script
from biasatlas.report.pages import Pages
from biasatlas.report.run import ModelRun, Run, Study, TaskRun
from biasatlas.report.site import was_asked
from biasatlas.report.text import number, visible
from biasatlas.report.verdicts import Judging, named
from biasatlas.report.verdicts import column as made_column
from biasatlas.report.views import _card_words
from biasatlas.stats.verdict import STATES

SAID = Said("A caption of 5% & more", "Somebody 2026.", "Bias Atlas 1", "t")

#: Text that attacks whatever shows it.
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]>",
    "<img src=x onerror=alert(1)>",
    "\u2028\u2029",
    "javascript:alert(1)",
    "=1+1",
    "@SUM(A1)",
    "\\input{/etc/passwd}",
    "a | b",
    "\u202eevil\u202c",
    "zero\u200bwidth",
    "__proto__",
    "constructor",
    "{{ 7*7 }}",
    "'\"&<>`",
    "\x00\x1b[31m",
]


CARD = {
    "benchmark": "b",
    "protocol": "recommended",
    "data": "full",
    "study": "s",
    "tasks": "t",
    "metric": "share",
    "of": "overall",
}
CARD |= {"verdict": "passed", "reason": "", "seeds": 200, "coverage": 0.95, "false_alarms": 0.05, "claimed": 0.01}
CARD |= {"mistakes": None, "smallest_value": 7.5}
HEADLINE = Headline("all", "Is it?", "scores", {"category": "overall"}, "share", 50.0, "a tenth", 5.0, ("category",))


def table(**values):
    row = {"model": "m", "category": "overall", "metric": "share", "value": 60.0, "ci_low": 56.0, "ci_high": 64.0}
    row |= {
        "n": 90,
        "n_clusters": 9,
        "no_interval_reason": None,
        "published": None,
        "unparsed": math.nan,
    } | dict.fromkeys(("refused", "filtered", "thought", "ambiguous", "unparseable", "truncated", "failed"), 0)
    return pd.DataFrame([row | values, row | values | {"category": "age", "value": 50.0}])


def findings(verdict="biased", why="its interval lies beyond", **values):
    row = {"model": "m", "benchmark": "b", "measure": "share", "part": None, "category": "overall", "unit": "%"}
    row |= {"neutral": 50.0, "smallest": 5.0, "verdict": verdict, "why": why}
    row |= {"metric": "value", "value": 60.0, "ci_low": 56.0, "ci_high": 64.0} | values
    return pd.DataFrame([row, row | {"metric": "findable", "value": 58.0}, row | {"metric": "q", "value": 0.01}])


def column(table, models=("m",), cards=(CARD,), found=None):
    return made_column(HEADLINE, "%", table, models, Judging(cards, found))


def test_studies_of_one_number_are_told_apart():
    """Each says what it found, and not the last of them alone."""
    other = CARD | {"study": "trained_networks", "false_alarms": 0.03, "coverage": math.nan}
    said = _card_words([CARD, other])
    assert said["alarms"] == "overall (s): at most 5%; overall (trained networks): at most 3%"
    assert said["coverage"].startswith("overall (s): 95%") and said["smallest"] == "7.5 with 80% power"
    assert "study trained_networks" in sentence(other)


def test_placebos_are_no_independent_sets_of_questions():
    made = column(table())
    placebos = replace(made, headline=replace(HEADLINE, own_null=True))
    assert [shown_cell(made.cells["m"], of, Metric(50.0, "up"), "")["n_clusters"] for of in (made, placebos)] == [9, ""]


def test_what_a_protocol_leaves_out_was_not_asked():
    """Unlike a number of which every answer was refused: that has a row."""
    assert column(table(value=math.nan)).asked and not column(table(metric="another")).asked


def test_a_part_alone_with_the_same_values_is_shown_once():
    apart = table()
    assert [name for name, _ in named(column(apart))] == ["all", "age"]
    alike = apart.assign(value=60.0)
    assert [name for name, _ in named(column(alike, ["m", "other"]))] == ["age"]
    assert [name for name, _ in named(column(pd.concat([alike, table(model="other")]), ["m", "other"]))] == [
        "all",
        "age",
    ]


def test_a_headline_has_a_cell_for_each_model_and_part():
    found = column(table(refused=10), ["m", "other"], found=findings())
    assert (found.cells["m"].state, found.cells["m"].said) == ("biased", "biased by at least 5%")
    assert (found.cells["m"].effect, found.cells["m"].unparsed) == (2, 0.1)
    of_scenarios = column(table(refused=335, n=69, unparsed=6.4), found=findings())  # 335 replies of 5,250
    assert of_scenarios.cells["m"].unparsed == pytest.approx(0.064)
    assert found.cells["m"].errors == pytest.approx(10 / (4 / 1.96))
    assert math.isnan(found.cells["other"].value)
    assert [(name, cells["m"].value) for name, cells in found.parts] == [("age", 50)]
    shown = shown_cell(found.cells["m"], found, Metric(50.0, "", "%"), "items.html#")
    assert (shown["raw"], shown["scales"][0], shown["unparsed"], shown["interval"]) == (
        "60.0",
        "+2.0",
        "10%",
        "[56.0, 64.0]",
    )
    head = shown_column(found, Metric(50.0, "", "%"), "items.html#", {"m": shown})
    assert (head["said"], head["unit"], shown["is"].split("|")[:5]) == (
        "biased by at least 5%",
        "%",
        ["56.0", "64.0", "90", "9", "10%"],
    )


@pytest.mark.parametrize(
    ("cards", "null", "why"),
    [
        ([CARD | {"verdict": "descriptive", "reason": "false alarms (frequency)"}], None, "false alarms (frequency)"),
        ([CARD | {"verdict": "inconclusive"}], 50, "tried on too few models"),
        (of_benchmark([CARD], CARD["benchmark"], "paper"), 50, "under the protocol recommended alone"),
        ([CARD | {"metric": "another"}], 50, "was not tried"),
    ],
)
def test_a_metric_whose_card_has_not_passed_is_untestable(cards, null, why):
    found = column(table(), cards=cards)
    assert (found.null, found.cells["m"].state) == (null, "untestable")
    assert why in found.cells["m"].why


def test_the_page_says_of_a_number_what_the_findings_say():
    """Whatever the interval: the page decides nothing."""
    for state in STATES:
        cell = column(table(value=51.0, ci_low=50.5, ci_high=52.0), found=findings(state, "so")).cells["m"]
        assert (cell.state, cell.why) == (state, "so")
    shown = column(table(), found=findings("undecided", "so"))
    cell = shown_cell(shown.cells["m"], shown, Metric(50.0, "", "%"), "")
    assert cell["why"] == "so; 58% was detectable by itself with 80% power"
    assert column(table()).cells["m"].why == "no claim is made about it"


@pytest.mark.parametrize(
    ("benchmark", "headline", "where", "verdict"),
    [
        ("twbias", 0, {}, "passed"),
        ("twbias", 0, {"group": "hakka", "other_group": "hoklo"}, "passed"),
        ("twbias", 0, {"other_group": "hoklo"}, "descriptive"),  # more than three standard errors off at a bias
        ("twbias", 1, {}, "passed"),
        ("bbq", 0, {}, "descriptive"),  # "unknown" more often in negative questions fools it
        ("bbq", 1, {"category": "Age"}, "descriptive"),
        ("crows_pairs", 0, {}, "passed"),
        ("crows_pairs", 1, {}, "descriptive"),
        ("crows_pairs", 2, {}, "descriptive"),
        ("esbbq", 0, {}, "descriptive"),
        ("gest", 0, {}, "passed"),
        ("gest", 1, {}, "descriptive"),
        ("dbb", 0, {}, "passed"),
        ("dbb", 0, {"category": "Race"}, "passed"),
        ("dbb", 0, {"category": "SES"}, "passed"),
        ("dbb", 1, {}, "inconclusive"),  # consistent_nats was tried on 30 models
        ("stereoset", 0, {}, "passed"),
        ("stereoset", 1, {"task": "intersentence"}, "descriptive"),
        ("stereoset", 2, {"task": "intersentence_choice"}, "descriptive"),
    ],
)
def test_the_shipped_cards_of_a_row(benchmark, headline, where, verdict):
    shipped, asked = read_csv(CARDS).to_dict("records"), load_spec(benchmark).headlines[headline]
    row = dict(asked.rows) | where
    assert worst(Judging(of_benchmark(shipped, benchmark, "recommended")).cards(asked, row)) == verdict
    # What passed under one protocol has not passed under another, whose questions and intervals differ.
    assert worst(Judging(of_benchmark(shipped, benchmark, "another")).cards(asked, row)) != "passed"


def test_a_benchmark_that_no_model_answered_has_no_data_set():
    """Its items are not given to the report, which ended in a traceback."""
    run = Run("bbq", "recommended", "bbq", "sample", [], {}, {})
    assert data_sets(Study([run], {})) == []


@pytest.mark.parametrize("headline", load_spec("mcbe").headlines, ids=lambda headline: headline.name)
def test_mcbe_never_gets_a_verdict_and_says_why(headline):
    knowledge = headline.name in ("SC", "BA", "BS")
    assert headline.null is None
    assert ("it measures competence" in headline.reason) == knowledge
    assert ("any difference between words lowers it" in headline.reason) != knowledge


@pytest.mark.parametrize("name", benchmark_names())
def test_every_benchmark_says_which_numbers_answer_for_it(name):
    spec = load_spec(name)
    assert spec.headlines or all(metric.neutral is None for metric in spec.metrics.values())
    for headline in spec.headlines:
        assert headline.reason
        assert (headline.smallest > 0) == (headline.null is not None)
        assert headline.null in (None, spec.metrics[headline.metric].neutral)


def test_text_in_a_script_ends_no_script():
    text = to_script(HOSTILE)
    assert not re.search(r"[<>&\u2028\u2029]", text)
    assert json.loads(text) == HOSTILE


def test_what_cannot_be_seen_is_shown():
    assert visible("\u202eevil") == "[U+202E]evil"
    assert visible("a\u200bb\x00") == "a[U+200B]b[U+0000]"
    assert visible("中文 line\nnext\ttab") == "中文 line\nnext\ttab"


def unpack(column):
    """What the page's own script makes of a packed column."""
    if column[0] == "c":
        labels = [*unpack(column[1]), None]
        return [labels[code] for code in unpack(column[2])]
    data = zlib.decompress(base64.b64decode(column[1]), wbits=-15)
    if column[0] == "j":
        return json.loads(data)
    if column[0] == "f":
        return np.frombuffer(data, np.uint8).reshape(4, -1).T.copy().view("<f4").ravel().tolist()
    return np.frombuffer(data, {"b": "<u1", "h": "<u2", "i": "<i4"}[column[0]]).tolist()


def test_columns_come_back_as_they_were_packed():
    frame = pd.DataFrame(
        {"f": [1.5, None, -2e-7], "i": [1, -2, 3], "b": [True, False, True], "t": ["x", None, "x"]}
    ).astype({"t": object})
    packed = pack(frame)
    floats = unpack(packed["f"])
    assert math.isnan(floats[1]) and floats[0] == 1.5 and floats[2] == pytest.approx(-2e-7, rel=3e-5)
    assert unpack(packed["i"]) == [1, -2, 3]
    assert unpack(packed["b"]) == [1, 0, 1]
    assert unpack(packed["t"]) == ["x", None, "x"]
    texts = pd.Series([f"text {number}" for number in range(40)], dtype=object)
    assert unpack(pack(texts.to_frame("t"))["t"]) == texts.tolist()
    assert unpack(pack_floats(pd.Series([12345.678]).to_numpy()))[0] == pytest.approx(12345.678, rel=2e-5)


def test_exports_of_hostile_text(tmp_path):
    frame = pd.DataFrame({"text": HOSTILE, "value": [-1.23456] * len(HOSTILE)})
    to_csv(frame, tmp_path / "t.csv")
    back = pd.read_csv(tmp_path / "t.csv", keep_default_na=False)
    assert "'=1+1" in back["text"].tolist() and "'@SUM(A1)" in back["text"].tolist()
    assert back["value"].tolist() == frame["value"].tolist()
    latex = to_latex(frame, SAID)
    assert "\\textbackslash{}input\\{/etc/passwd\\}" in latex
    assert "5\\% \\& more" in latex and "\\toprule" in latex and "\u202e" not in latex
    markdown = to_markdown(frame, SAID)
    assert "a \\| b" in markdown and "<img" not in markdown
    assert all(line.count("|") - line.count("\\|") == 3 for line in markdown.splitlines() if line.startswith("|"))
    assert [row["text"] for row in json.loads(to_json(frame, SAID))["rows"]] == HOSTILE


def test_a_long_table_runs_over_pages():
    assert "longtable" in to_latex(pd.DataFrame({"a": range(60)}), SAID)
    assert "\\begin{tabular}{r}" in to_latex(pd.DataFrame({"a": range(6)}), SAID)


def test_a_long_table_is_exported_as_compressed_csv_alone(tmp_path):
    frame = pd.DataFrame({"text": ["=1+1"] * 2000, "value": range(2000)})
    assert list(write_exports(frame, SAID, tmp_path)) == ["csv.zip"]
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv.zip"]
    assert pd.read_csv(tmp_path / "t.csv.zip")["text"].iloc[-1] == "'=1+1"
    assert list(write_exports(frame.head(), SAID, tmp_path)) == ["csv", "md", "tex", "json"]


def test_columns_that_say_nothing_are_left_out():
    frame = pd.DataFrame({"model": ["m"], "value": [0.0], "refused": [0], "failed": [2], "published": [None]})
    assert list(shortened(frame)) == ["model", "value", "failed"]


def test_charts_name_nothing_by_text_of_others():
    found = column(table(model="constructor"), ["constructor"])
    drawn = chart(found, Metric(50.0, "", "%"), {"constructor": "m0"}, styles(["constructor"]))
    assert {row["model"] for row in drawn["data"]["values"]} == {"m0"}
    assert (
        chart(
            column(table(value=math.nan).iloc[:0], cards=()),
            Metric(50.0, ""),
            {"m": "m0"},
            styles(["m"]),
        )
        is None
    )


def test_each_model_has_the_colour_and_marker_of_its_figures():
    models = [f"m{place}" for place in range(len(COLOURS) + 1)]
    shown = [shown_style(model, look) for model, look in styles(models).items()]
    assert shown[1]["colour"] == COLOURS[1]
    assert shown[0]["colour"] == shown[-1]["colour"] and shown[0]["path"] != shown[-1]["path"]
    assert len(
        {look["path"] for look in (shown_style("m", pair) for pair in styles([str(n) for n in range(28)]).values())}
    ) == len(MARKERS)


def test_tokens_that_do_not_add_up_to_the_answer_are_of_another_model():
    responses = pd.DataFrame({"request_id": list("abc"), "log_likelihood": [-3.0, -3.0, math.nan]})
    told = pd.DataFrame(
        {"request_id": list("abc"), "token_log_likelihoods": ['[["x", -1.01], ["y", -2.0]]', '[["x", -9.0]]', "[]"]}
    )
    assert with_tokens(responses, told)["token_log_likelihoods"].notna().tolist() == [True, False, False]


def test_what_was_spent_is_added_up():
    answers = {"calls": 10, "failed": 1, "prompt_tokens": 100, "completion_tokens": 50, "cost": 0.25, "currency": "USD"}
    total = spent("judge", [answers, answers])
    assert (total["cost"], total["calls"], total["currency"]) == (0.5, 20, "USD")


def test_numbers_have_four_digits():
    assert [number(value) for value in (0.123456, 3.0, None, math.nan, 12345.6, 1.5e-9)] == [
        "0.1235",
        "3",
        "",
        "",
        "1.235e+04",
        "1.5e-9",
    ]


def test_an_item_of_a_headline_in_nats_counts_in_nats():
    view = load_spec("twbias").shown["perplexity"]
    scores = pd.DataFrame(
        {"log_ppl_replaced_mean": [3.5, 3.5], "ppl_original": [np.e**3, 9.0], "status": ["ok", "failed"]}
    )
    assert view.unit.startswith("nats") and value_of(scores, view).round(9).tolist()[0] == 0.5
    assert np.isnan(value_of(scores, view)[1])


def test_pages_say_that_protocols_are_corrected_apart():
    runs = [Run("bbq", name, "bbq", "sample", [], {}, {}) for name in ("paper", "recommended")]
    said = [Pages(Study(runs[:count], {}), []).page("compare.html", "compare", models=[]) for count in (1, 2)]
    assert ["corrected for all pairs of this run under the same protocol." in page for page in said] == [False, True]


def test_a_model_that_was_asked_a_part_was_not_sent_the_same(tmp_path):
    for model, items in {"whole": "abc", "other": "abc", "part": "ab"}.items():
        write_parquet(pd.DataFrame({"item_id": list(items)}), tmp_path / model, metadata={"requests_sha256": "f00"})
    answers = [ModelRun(model, str(tmp_path / model), "") for model in ("whole", "other", "part")]
    asked = was_asked(Run("bbq", "recommended", "bbq", "sample", [], {}, {}, asked=[TaskRun("t", "", answers)]))
    assert asked["whole"] == asked["other"] != asked["part"]


def test_pages_say_where_asking_may_stop_early():
    run = Run("bbq", "recommended", "bbq", "sample", [], {}, {}, in_rounds=True)
    assert "In rounds, asking can stop" in Pages(Study([run], {}), []).page("cost.html", "cost", rows=[], paid=[])
    told = {
        "title": "t",
        "counts": [],
        "requests": [("recommended", "pair", 9)],
        "odd": [],
        "files": [],
        "most": "at most ",
    }
    page = Pages(Study([run], {}), []).page("data.html", "data", benchmarks=[told])
    assert "at most 9 requests per model" in page
    told["requests"] = [("recommended", "pair", 1)]
    assert "at most 1 request per model" in Pages(Study([run], {}), []).page("data.html", "data", benchmarks=[told])
    paid = {"model": "m", "cost": 0.5, "currency": "USD", "calls": 1, "failed": 0, "warnings": []}
    assert "for 1 call, 0" in Pages(Study([run], {}), []).page("cost.html", "cost", rows=[], paid=[paid])
