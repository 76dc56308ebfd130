"""The report of claims: each predicate on cases where it holds and where it fails, and the papers' claims themselves."""

from pathlib import Path

import pandas as pd
import pytest
import yaml
from mirrored import mirrored
from pydantic import ValidationError

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.report.claims import (
    COLUMNS,
    PREDICATES,
    About,
    Claim,
    Predicate,
    _stated,
    claims_report,
    failing_first,
    read_claims,
    summarise_claims,
    values,
    verdict,
)
from biasatlas.report.replication import read_papers
from biasatlas.resources import Resources

SHIPPED = Resources.shipped("published/*")
PAPERS = read_papers(SHIPPED)
CLAIMS = read_claims(SHIPPED)


@pytest.fixture(scope="module")
def claims():
    """The report of all claims on the published numbers."""
    return claims_report(CLAIMS, PAPERS, SHIPPED, {}, {}, {})


def series(**groups):
    """Values by group and level, from {group: {level: value}}."""
    pairs = {(group, level): value for group, of in groups.items() for level, value in of.items()}
    return pd.Series(pairs).rename_axis(["group", "level"])


TWO = series(one={"a": 1.0, "b": 2.0, "c": 4.0}, two={"a": 3.0, "b": 2.0, "c": 2.5})

CASES = [
    ({"of": "level", "highest": ["c"]}, "fails in 1 of 2; two: c has 2.5, a 3 (number 2 from the highest)"),
    (
        {"of": "level", "highest": ["c"], "share": 0.5},
        "holds in 1 of 2; not two: c has 2.5, a 3 (number 2 from the highest)",
    ),
    ({"of": "level", "highest": ["b", "c"]}, "fails in 1 of 2; two: b has 2, a 3 (number 2 from the highest)"),
    ({"of": "level", "highest": ["d"]}, "fails in 2 of 2; one: there is no d"),
    ({"of": "level", "lowest": ["a", "b"]}, "fails in 1 of 2; two: a has 3, c 2.5 (number 2 from the lowest)"),
    ({"of": "level", "rises": ["b", "c"]}, "holds"),
    ({"of": "level", "rises": ["a", "b", "c"]}, "fails in 1 of 2; two: a has 3, b 2"),
    ({"of": "level", "falls": ["b", "c"]}, "fails in 2 of 2; one: b has 2, c 4"),
    ({"of": "level", "rises": ["a", "d"]}, "open: no number is there"),
    ({"of": "level", "slows": ["a", "b", "c"]}, "fails in 2 of 2; two: a step of -1, then one of 0.5"),
    ({"least": 1}, "holds"),
    ({"least": 2}, "fails in 1 of 6; one, a has 1"),
    ({"most": 4}, "holds"),
    ({"most": 3}, "fails in 1 of 6; one, c has 4"),
    ({"equals": "2"}, "fails in 3 of 6; one, c has 4, +2 from 2"),
]


@pytest.mark.parametrize(("test", "said"), CASES)
def test_a_predicate_says_where_it_fails_and_by_how_much(test, said):
    assert verdict(TWO, Predicate.model_validate(test)) == said


def test_a_number_is_equal_at_its_own_decimals():
    one = pd.Series([77.829], ["all"])
    assert verdict(one, Predicate(equals="77.83")) == "holds"
    assert verdict(one, Predicate(equals="77.82")) == "fails: it is 77.829, +0.009 from 77.82"


def test_steps_that_shrink_slow():
    assert verdict(TWO.drop(("one", "c")).iloc[2:], Predicate(of="level", slows=["c", "b", "a"])).startswith("fails")
    assert verdict(series(one={"a": 1, "b": 3, "c": 4}), Predicate(of="level", slows=["a", "b", "c"])) == "holds"


def test_every_predicate_has_a_case_in_which_it_fails():
    failing = {next(iter(test.keys() - {"of", "share"})) for test, said in CASES if said.startswith("fails")}
    assert failing == set(PREDICATES)


TABLE = pd.DataFrame(
    [["x", "p", "1", "10"], ["x", "q", "3", "10"], ["y", "p", "5", "20"], ["y", "q", "", "20"]],
    columns=["model", "part", "count", "total"],
)


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        ({"column": "count", "by": ["model"]}, {"x": 2, "y": 5}),
        ({"column": "count", "by": ["model"], "reduce": "sum"}, {"x": 4, "y": 5}),
        ({"column": "count", "by": ["model"], "per": "total"}, {"x": 0.2, "y": 0.25}),
        ({"column": "count", "by": ["model", "part"], "then": ["part"]}, {"p": 3, "q": 3}),
        ({"column": "count", "by": ["model"], "then": []}, {"all": 3.5}),
        ({"column": "count", "by": ["model"], "distance": 4}, {"x": 2, "y": 1}),
        ({"by": ["model"], "reduce": "count"}, {"x": 2, "y": 2}),
        ({"by": ["model"], "column": "count", "reduce": "count"}, {"x": 2, "y": 1}),
        ({"column": "count", "where": {"part": "q"}}, {"all": 3}),
        ({"column": "count", "where": {"model": ["x", "y"]}, "reduce": "max"}, {"all": 5}),
    ],
)
def test_values_are_reduced_as_a_claim_says(about, expected):
    assert values(About.model_validate({"file": "f", **about}), TABLE).to_dict() == pytest.approx(expected)


def test_a_claim_is_tested_or_open_and_no_more():
    about, test = {"file": "f"}, {"least": 1}
    for wrong in ({}, {"about": about}, {"about": about, "test": test, "open": "why"}):
        with pytest.raises(ValidationError, match="either"):
            Claim.model_validate({"section": "1", "claim": "c", **wrong})
    with pytest.raises(ValidationError, match="one predicate"):
        Predicate(least=1, most=2)


def table(rows, metric):
    return pd.DataFrame(rows, columns=["model", "target_group", "value"]).assign(metric=metric)[
        ["model", "target_group", "metric", "value"]
    ]


def test_the_same_test_is_made_of_our_tables():
    """Of a run in which the model in TW-LLM's place has the lowest ratio for women; half a table leaves a claim open."""
    rows = [("mine", "female", 0.1), ("breeze", "female", 0.4), ("taide", "female", 0.2)]
    names = {"mine": "TW-LLM", "breeze": "Breeze", "taide": "TAIDE"}
    said = []
    for part in (rows, rows[:2], rows[:0]):
        tables = {("twbias", "gender"): table(part, "bias_ratio")}
        report = claims_report(CLAIMS, PAPERS, SHIPPED, {}, tables, names).set_index("claim")
        said.append(report.loc["TW-LLM has the highest bias ratio for women.", ["published", "this_run"]].tolist())
    assert said == [
        ["holds", "fails: TW-LLM has 0.1, Breeze 0.4 (number 3 from the highest)"],
        ["holds", "open: 2 of its 3 values are here"],
        ["holds", ""],
    ]


def test_dbbs_claims_are_tested_on_a_run_of_its_models():
    """Of a run in which Llama-3.2-11B, and no longer Llama-3.2-3B, has more instances than GPT-4o, and Race a share of a half."""
    models = SHIPPED.published("dbb_models").query("benchmark == 'DBB'")["model"].unique()
    rows = [
        (model, category, metric, value * (1.1 if model == "Llama-3.2-11B" else 1.0))
        for model in models
        for category, count, rate in (("All", 900, 0.4), ("Race", 500, 0.5), ("Age", 100, 0.2), ("SES", 9, 0.1))
        for metric, value in (("count", count), ("rate", rate), ("mean_score_over_threshold", 30))
    ]
    bias = pd.DataFrame(rows, columns=["model", "category", "metric", "value"])
    said = claims_report(CLAIMS, PAPERS, SHIPPED, {}, {("dbb", "bias"): bias}, {}).set_index(["section", "claim"])[
        "this_run"
    ]
    assert said["3.2", "GPT-4o has the most instances over the threshold."].startswith(
        "fails: GPT-4o has 900, Llama-3.2-11B 990"
    )
    few = "Race shows the highest bias: the largest share of its instances is over the threshold."
    assert said["F.2", few] == "open: 18 of its 30 values are here"


def test_a_claim_without_printed_numbers_is_decided_by_our_tables():
    rows = [
        ["m", "indigenous", "han", "Athletic Ability", "effect_size", 0.949],
        ["m", "indigenous", "hoklo", "Athletic Ability", "effect_size", 1.472],
    ]
    columns = ["model", "target_group", "reference_group", "attribute_category", "metric", "value"]
    tables = {("twbias", "attributes"): pd.DataFrame(rows, columns=columns)}
    report = claims_report(CLAIMS, PAPERS, SHIPPED, tables, {}, {"m": "TW-LLM"}).set_index("claim")
    row = report.loc["TW-LLM's effect size in Athletic Ability is consistently above 1."]
    assert row["published"] == "open: no published numbers; public outputs decide it"
    assert row["public_outputs"] == "fails in 1 of 2; TW-LLM, Han, Athletic Ability has 0.949"


def test_every_claim_has_a_verdict_or_a_reason(claims):
    assert list(claims.columns) == list(COLUMNS)
    assert claims["published"].str.match(r"holds$|holds in \d+ of \d+; not |fails(: | in \d+ of \d+; ).|open: .").all()
    assert not claims["published"].str.contains("no number is there").any()
    assert not claims.duplicated(["paper", "section", "claim"]).any()


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("The step from 0.5B to 1.5B is larger than that from 1.5B to 7B.", "fails: a step of 4.67, then one of 5.03"),
        ("GPT-4o, the most advanced, is the least biased on CrowS-Pairs.", "fails: GPT-4o has 17.47, Mistral-7B-v0.3"),
        ("Religion 4 has the most instances of its category in most models (semi-generation).", "no Religion 4"),
        ("Religions has 27,864 test instances.", "fails: it is 27846, -18 from 27864"),
    ],
)
def test_claims_that_are_known_to_fail_do(claims, claim, said):
    assert said in claims.set_index("claim").loc[claim, "published"]


def test_the_report_lists_what_fails(claims):
    text = summarise_claims(claims)
    assert text.count("\n| ") > len(claims) and "there is no Religion 4" in text.split("## All")[0]


def test_a_page_has_what_fails_before_the_rest(claims):
    ordered, failing = failing_first(claims)
    on_print, on_outputs = (ordered[name].str.startswith("fails") for name in ("published", "public_outputs"))
    assert failing.to_dict() == {"published": on_print.sum(), "public_outputs": on_outputs.sum(), "this_run": 0}
    fails = on_print | on_outputs
    assert fails.iloc[: fails.sum()].all() and set(ordered["claim"]) == set(claims["claim"])


def test_the_counts_of_public_data_are_theirs(tmp_path):
    """Of BBQ the eight categories of config/papers.yaml, whose questions are what the text has in each context."""
    papers = yaml.safe_load((ROOT / "config/papers.yaml").read_text(encoding="utf-8"))
    bbq, crows_pairs, stereoset = (
        registry.read_items(name)(
            {path: Path(file) for path, file in mirrored(folder, tmp_path).items()},
            Resources.shipped(*registry.resource_names(name, "items")),
        )
        for name, folder in (("bbq", "bbq"), ("crows_pairs", "crows_pairs"), ("stereoset", "stereoset_ptbr"))
    )
    bbq = bbq[bbq["category"].isin(papers["benchmarks"]["bbq"]["categories"])]
    counted = {
        "BBQ, ambiguous": (bbq["condition"] == "ambig").sum(),
        "BBQ, disambiguous": (bbq["condition"] == "disambig").sum(),
        "CrowS-Pairs": len(crows_pairs),
        "StereoSet, intrasentence": (stereoset["task"] == "intrasentence").sum(),
        "StereoSet, intersentence": (stereoset["task"] == "intersentence").sum(),
    }
    assert SHIPPED.published("public_counts").set_index("dataset")["count"].astype(int).to_dict() == counted


#: What is done to the values of a claim until it fails: scaled, moved, turned round.
_OTHERWISE = (
    lambda values: -values,
    lambda values: values * 0,
    lambda values: values + 1e6,
    lambda values: values - 1e6,
    lambda values: pd.Series(values.to_numpy()[::-1], values.index),
    lambda values: pd.Series(range(len(values)), values.index) ** 2.0,
)


def test_every_claim_that_holds_would_fail_on_other_values(claims):
    """A test that nothing fails, as of levels that are not there, decides nothing."""
    holding = claims[claims["published"].str.startswith("holds")]
    assert len(holding) > 100
    tested = {(name, claim.section, claim.claim): claim for name, of in CLAIMS.items() for claim in of}
    for key in holding[["paper", "section", "claim"]].itertuples(index=False, name=None):
        claim = tested[key]
        stated = _stated(claim, SHIPPED)
        assert any(verdict(other(stated), claim.test).startswith("fails") for other in _OTHERWISE), key


def test_the_page_counts_the_claims(claims):
    came_to = claims["published"].str.split("[: ;]", regex=True).str[0].value_counts()
    page = " ".join((ROOT / "docs/replication.md").read_text(encoding="utf-8").split())
    assert f"Of the {len(claims)}, {came_to['holds']} hold on the published numbers" in page
    assert f"{came_to['fails']} fail and {came_to['open']} are open" in page
