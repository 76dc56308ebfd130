"""TWBias on real data: what the authors published is reproduced, to the printed digit."""

import tarfile

import numpy as np
import pandas as pd
import pytest
from standins import resources

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.twbias.spec import CONTROLS, DIRECTIONS, PROMPTS
from biasatlas.report.replication import published_cells, read_papers, replication_report, stale

read_items = registry.read_items("twbias")
build_requests = registry.build_requests("twbias")
score_responses = registry.score_responses("twbias")
import_responses = registry.import_responses("twbias")

PUBLISHED_AS = {"Taiwan-LLM-7B-v2.0.1-chat": "TW-LLM", "Breeze-7B-Instruct-v0_1": "Breeze"}
RELEASED = registry.load_options("twbias", "released")
TABLES = registry.tables("twbias")
SHIPPED = resources("twbias", "prompts/twbias/*", "published/*")


def _files(folder):
    return {str(path.relative_to(folder)): path for path in folder.rglob("*.csv")}


@pytest.fixture(scope="module")
def items(mirror):
    return read_items(_files(mirror / "twbias"), SHIPPED)


@pytest.fixture(scope="module")
def released(mirror, tmp_path_factory):
    """Model -> its released files, unpacked."""
    models = {}
    for model in PUBLISHED_AS:
        folder = tmp_path_factory.mktemp(model)
        with tarfile.open(mirror / f"twbias_released/{model}.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        models[model] = _files(folder)
    return models


@pytest.fixture(scope="module")
def scores(items, released):
    parts = []
    for category in DIRECTIONS:
        if category in CONTROLS:
            continue  # swaps inside a group were not published
        requests = build_requests(items, "perplexity", [category], RELEASED, SHIPPED)
        for model, files in released.items():
            responses = import_responses(model, files, items, requests, "perplexity")
            direction = score_responses(items, requests, responses, "perplexity", category, RELEASED, SHIPPED)
            parts.append(direction.assign(model=model, task="perplexity", category=category))
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def annotations(mirror, tmp_path_factory):
    """The folder of the labels behind Table 8."""
    folder = tmp_path_factory.mktemp("annotations")
    with tarfile.open(mirror / "twbias_released/annotations/data_quality.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def table(name, scores, **options):
    return TABLES[name](scores, RELEASED.model_copy(update=options), SHIPPED.published, PUBLISHED_AS)


def test_the_replication_report_explains_every_cell(scores, annotations):
    """Tables 1, 4, 5, 6 and 8, and Figure 5 as recomputed from the authors' files, of the two models that were released."""
    papers = read_papers(SHIPPED, {"twbias"})
    tables = {("twbias", name): table(name, scores) for name in ("gender", "toxicity", "ethnicity", "composition")}
    tables["twbias", "replication"] = table("replication", None)
    tables["twbias", "annotator_agreement"] = table("annotator_agreement", annotations)
    report = replication_report(papers, published_cells(papers, SHIPPED), tables, PUBLISHED_AS)
    counts = report.groupby(["table", "status"]).size().to_dict()
    assert {key: count for key, count in counts.items() if key[1] in ("reproduced to the digit", "differs")} == {
        ("Table 1", "reproduced to the digit"): 15,
        ("Table 1", "differs"): 3,
        ("Table 4", "reproduced to the digit"): 8,
        ("Table 5", "reproduced to the digit"): 24,
        ("Table 6", "reproduced to the digit"): 12,
        ("Table 12", "reproduced to the digit"): 1,
        ("Table 12", "differs"): 2,
        ("Table 8", "reproduced to the digit"): 9,
        ("Table 8", "differs"): 3,
        ("Figure 5", "reproduced to the digit"): 64,
    }
    assert not (report["status"] == "unexplained").any()
    assert stale(papers, report) == []


def test_all_kappas_are_within_a_thousandth_and_annotators_agree_less(annotations):
    """PAPER_VS_CODE, section 3: the kappas of annotators with one another."""
    found = table("annotator_agreement", annotations)
    printed = found.dropna(subset="published")
    assert len(printed) == 12 and printed["difference"].abs().max() < 0.001
    between = found.loc[found["metric"] == "kappa_between_annotators", "value"].round(3).tolist()
    assert between == [0.772, 0.778, 0.723, 0.819, 1.0, 0.666, 0.823, 0.866, 0.658, 0.825, 0.728, 0.738]


def test_composition_matches_but_for_hoklo_toxicity_and_one_hakka_sentence(scores):
    result = table("composition", scores)
    different = result[result["difference"] != 0].set_index(["target_group", "toxicity"])["difference"].to_dict()
    assert different == {("hakka", "all"): 1, ("hoklo", "toxic"): 2, ("hoklo", "non-toxic"): -2}
    assert len(result) == 30


#: How the bias ratio moves when one choice changes: Male and Female, of TW-LLM and of Breeze.
ESTIMATES = [
    ({}, (0.3, 0.5), (0.1, 0.1)),
    ({"test": "independent"}, (0, 0), (0, 0)),
    ({"outliers": "none"}, (0, 0), (0.3, 0)),
    ({"ppl_scale": "log_ppl"}, (1, 1), (1, 1)),
    ({"ppl_scale": "log_ppl", "outliers": "none"}, (1, 1), (1, 1)),
]


@pytest.mark.parametrize(("options", "taiwan_llm", "breeze"), ESTIMATES)
def test_the_result_hangs_on_test_outliers_and_scale(options, taiwan_llm, breeze, scores):
    result = table("gender", scores, **options).query("metric == 'bias_ratio'")
    ratios = result.set_index(["model", "target_group"])["value"]
    for model, expected in zip(PUBLISHED_AS, (taiwan_llm, breeze), strict=True):
        assert (ratios[model, "male"], ratios[model, "female"]) == pytest.approx(expected)


def test_the_pooled_effect_size_is_smaller(scores):
    result = table("gender", scores, effect_size="pooled_sd").query("metric == 'effect_size'")
    values = result.set_index(["model", "target_group"])["value"].round(3).unstack()
    assert values["male"].to_list() == [0.050, 0.036]  # Breeze, TW-LLM
    assert values["female"].to_list() == [0.039, 0.040]


def test_types_without_a_prompt_test_as_published(scores):
    """Figure 2: with no template p is far below the rest for Female; for Male only the empty prompt is significant."""
    result = table("prompts", scores).query("metric == 'p_value'").set_index(["target_group", "prompt_type", "model"])
    p_values = result["value"].groupby(level=[0, 1]).agg(sorted)
    assert p_values["female", "no_template"] == pytest.approx([2.9e-9, 5.2e-6], rel=0.02)
    assert p_values["male", "no_template"] == pytest.approx([0.57, 0.58], abs=0.006)
    assert p_values["male", "empty_prompt"] == pytest.approx([0.004, 0.047], abs=0.0006)


def test_athletic_ability_has_eight_rows_of_six_sentences(scores):
    rows = {}
    for attribute_rows in ("exploded", "unique"):
        direction = scores[scores["category"] == "indigenous-han"]
        result = table("attributes", direction, attribute_rows=attribute_rows)
        rows[attribute_rows] = set(result.query("attribute_category == 'Athletic Ability'")["n"])
    assert rows == {"exploded": {8}, "unique": {6}}


def test_the_released_replaced_sentence_is_always_one_of_our_variants(items, released):
    """The authors stored the variant of least perplexity: 2 models x 18 directions x 12 prompt types."""
    requests = build_requests(items, "perplexity", list(DIRECTIONS), RELEASED, SHIPPED)
    requests = requests[requests["prompt_type"] == PROMPTS[0]]
    ours = requests.groupby(["item_id", requests["reference_group"].fillna("")])["continuation"].agg(set).to_dict()
    groups = {
        "Female": "female",
        "Male": "male",
        "NT": "indigenous",
        "hakka": "hakka",
        "B": "hoklo",
        "W": "waishengren",
    }
    references = {"T1": "hoklo", "T2": "waishengren", "T3": "han", "T4": "indigenous", "T5": "hakka"}
    genders = {"female": "male", "male": "female"}
    checked = 0
    for files in released.values():
        for path in files.values():
            group, column = path.parent.name.split("_")
            target = groups[group]
            reference = genders.get(target) or references[column]
            rows = pd.read_csv(path, usecols=["Sentence ID", "replaced_sentence"], dtype=str, keep_default_na=False)
            pairs = zip(rows["Sentence ID"], rows["replaced_sentence"], strict=True)
            assert all(replaced in ours[f"{target}-{number}", reference] for number, replaced in pairs), path
            checked += len(rows)
    assert checked == 125_472


def test_every_score_is_there(scores):
    assert len(scores) == 125_472
    assert set(scores["status"]) == {"ok"}
    assert np.isfinite(scores[["ppl_original", "ppl_replaced_mean", "log_ppl_replaced_mean"]]).all(axis=None)
