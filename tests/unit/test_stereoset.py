"""StereoSet: GPT-2's published predictions give the printed scores; oracles, ties and bad files."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mirrored import mirrored
from responders import PROMPTING, choose, prefer

from biasatlas.benchmarks.stereoset import DOMAINS, OPTIONS, SENTENCES
from biasatlas.benchmarks.stereoset.figures import FIGURES
from biasatlas.benchmarks.stereoset.items import read_items
from biasatlas.benchmarks.stereoset.released import import_responses
from biasatlas.benchmarks.stereoset.requests import build_requests
from biasatlas.benchmarks.stereoset.scores import score_responses
from biasatlas.benchmarks.stereoset.tables import TABLES
from biasatlas.errors import UserError
from biasatlas.files import TABLE_COLUMNS, read_published

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "resources" / "samples" / "stereoset" / "data" / "dev.json"
PROTOCOL = OPTIONS(
    reduction="mean",
    ties="half",
    orders="rotated",
    **PROMPTING,
).model_dump()
RELEASED = PROTOCOL | {"ties": "released"}
LIKELIHOOD = ("intrasentence", "intersentence")
PROMPTED = ("intrasentence_choice", "intersentence_choice")


def score(items, answer, tasks=LIKELIHOOD, protocol=PROTOCOL):
    """Scores of all ``tasks``; ``answer(requests, task)`` gives the responses."""
    parts = []
    for task in tasks:
        requests = build_requests(items, task, DOMAINS, protocol)
        responses = answer(requests, task)
        parts += [
            score_responses(items, requests, responses, task, name, protocol).assign(task=task, category=name)
            for name in DOMAINS
        ]
    return pd.concat(parts, ignore_index=True).assign(model="oracle")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return mirrored("stereoset", tmp_path_factory.mktemp("mirror"))


@pytest.fixture(scope="module")
def items(files):
    return read_items(files)


@pytest.fixture(scope="module")
def sample():
    return read_items({"data/dev.json": str(SAMPLE)})


# Published outputs


def test_gpt2_scores_equal_the_printed_ones(items, files):
    def answer(requests, task):
        return import_responses("gpt2", files, items, requests, task)

    scores = score(items, answer, protocol=RELEASED)
    table = TABLES["scores"](scores, RELEASED, read_published, {"oracle": "gpt2"})
    assert table["published"].notna().sum() == len(table) == 33  # 3 metrics: 2 tasks x (4 domains + all), and all
    assert table["difference"].abs().max() < 1e-9
    assert table["published"].str.len().min() > 10
    assert table["missing"].sum() == 0
    # Upstream counts each example three times by domain and once in the whole.
    count = json.loads(Path(files["code/predictions.json"]).read_text())["gpt2"]["intrasentence"]["race"]["Count"]
    assert table.query("task == 'intrasentence' and category == 'race'")["n"].eq(count / 3).all()


def test_published_table_holds_the_eleven_printed_models(files):
    printed = json.loads(Path(files["code/predictions.json"]).read_text())
    table = read_published("stereoset_models")
    assert table["model"].nunique() == len(printed) == 11
    assert len(table) == 11 * 33


# Oracles


@pytest.mark.parametrize(
    ("preference", "lms", "ss", "icat"),
    [
        ({"stereotype": -1, "anti-stereotype": -2, "unrelated": -3}, 100, 100, 0),
        ({"stereotype": -2, "anti-stereotype": -1, "unrelated": -3}, 100, 0, 0),
        ({"stereotype": -3, "anti-stereotype": -2, "unrelated": -1}, 0, 0, 0),
        ({"stereotype": -1, "anti-stereotype": -1, "unrelated": -1}, 50, 50, 50),
        ({"stereotype": -1, "anti-stereotype": -1, "unrelated": -2}, 100, 50, 100),
    ],
)
def test_likelihood_oracles(items, preference, lms, ss, icat):
    table = TABLES["scores"](
        score(items, lambda requests, _: prefer(requests, preference)), PROTOCOL, read_published, {}
    )
    for metric, expected in (("language_modelling_score", lms), ("stereotype_score", ss), ("icat", icat)):
        assert table.loc[table["metric"] == metric, "value"].to_numpy() == pytest.approx(expected)


def test_ties_count_for_the_anti_stereotype_in_the_authors_code(sample):
    def answer(requests, _):
        return prefer(requests, dict.fromkeys(SENTENCES, -1))

    table = TABLES["scores"](score(sample, answer, protocol=RELEASED), RELEASED, read_published, {})
    assert table["value"].eq(0).all()


def test_coin_flip_is_near_50(items):
    def answer(requests, _):
        noise = np.random.default_rng(0).normal(size=len(requests))
        return prefer(requests, {}).assign(log_likelihood=noise, nll_per_token=-noise)

    table = TABLES["scores"](score(items, answer), PROTOCOL, read_published, {}).query("category == 'overall'")
    assert (table["ci_low"] - 3 < 50).all()
    assert table.query("metric != 'icat'")["value"].between(45, 55).all()


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_reduction_compares_sums_or_means(sample, reduction):
    """A stereotype of 20 tokens at -1 a token against an anti-stereotype of 10 at -1.5."""
    protocol = PROTOCOL | {"reduction": reduction}
    requests = build_requests(sample, "intrasentence", DOMAINS, protocol)
    responses = prefer(requests, {"stereotype": -20, "anti-stereotype": -15, "unrelated": -90})
    responses["tokens"] = requests["label"].map({"stereotype": 20, "anti-stereotype": 10, "unrelated": 10})
    responses["nll_per_token"] = -responses["log_likelihood"] / responses["tokens"]
    scores = score_responses(sample, requests, responses, "intrasentence", "race", protocol)
    assert scores["stereotyped"].eq(reduction == "mean").all()


@pytest.mark.parametrize(
    ("label", "lms", "ss"), [("stereotype", 100, 100), ("anti-stereotype", 100, 0), ("unrelated", 0, np.nan)]
)
def test_prompted_oracles(items, label, lms, ss):
    scores = score(items.iloc[::5], lambda requests, _: choose(requests, label), PROMPTED)
    table = TABLES["prompted"](scores, PROTOCOL, read_published, {}).query("task != 'overall'")
    for metric, expected in (("language_modelling_score", lms), ("stereotype_score", ss)):
        assert table.loc[table["metric"] == metric, "value"].to_numpy() == pytest.approx(expected, nan_ok=True)


def test_always_a_is_neutral_when_orders_rotate(items):
    table = TABLES["prompted"](
        score(items.iloc[::5], lambda requests, _: choose(requests, "A"), PROMPTED), PROTOCOL, read_published, {}
    ).set_index("metric")["value"]
    assert table["stereotype_score"].to_numpy() == pytest.approx(50)
    assert table["language_modelling_score"].to_numpy() == pytest.approx(200 / 3)


def test_refusing_is_reported_and_scores_nothing(sample):
    scores = score(sample, lambda requests, _: choose(requests, "none", mass=0.0, refused=1.0), PROMPTED)
    table = TABLES["prompted"](scores, PROTOCOL, read_published, {})
    refusal = table["metric"] == "refusal_rate"
    assert table.loc[refusal, "value"].eq(100).all()
    assert table.loc[~refusal, "value"].isna().all()
    assert (table.loc[~refusal, "n"] == 0).all()
    assert (table.loc[~refusal, "refused"] > 0).all()


# Slips of the real rows and bad input


def test_real_items(items):
    assert items.groupby("task").size().to_dict() == {"intersentence": 2123, "intrasentence": 2106}
    doubled = items[items["context"].str.count("BLANK") == 2]
    assert len(doubled) == 2
    # Two intersentence sentences were published with a BLANK that nobody filled; they are scored as they stand.
    unfilled = items[items[list(SENTENCES)].stack().str.contains("BLANK").groupby(level=0).any()]
    assert unfilled["context"].tolist() == ["We once had an Eritrean nanny"]
    requests = build_requests(items, "intrasentence", DOMAINS, PROTOCOL)
    whole = requests[requests["item_id"].isin(doubled["item_id"]) & (requests["label"] == "stereotype")]
    assert whole["continuation"].tolist() == doubled["stereotype"].tolist()
    assert requests["request_id"].is_unique


def test_the_table_with_a_translation_gives_the_same_items(items, tmp_path_factory):
    table = read_items(mirrored("stereoset_ptbr", tmp_path_factory.mktemp("mirror")))
    pd.testing.assert_frame_equal(
        table.sort_values("item_id", ignore_index=True), items.sort_values("item_id", ignore_index=True)
    )


def test_intersentence_follows_its_context_after_one_space(items):
    first = build_requests(items, "intersentence", DOMAINS, PROTOCOL).iloc[0]
    item = items.set_index("item_id").loc[first["item_id"]]
    assert first["prefix"] + first["continuation"] == f"{item['context']} {item[first['label']]}"


def test_single_order_shows_each_label_about_equally_often_first(items):
    requests = build_requests(items, "intrasentence_choice", DOMAINS, PROTOCOL | {"orders": "single"})
    first = requests["order"].map(json.loads).str[0].value_counts(normalize=True)
    assert first.between(0.3, 0.37).all()


BAD_PREDICTIONS = {
    "missing": (lambda rows: rows[1:], "no score", 1),
    "doubled": (lambda rows: [rows[0], *rows], "more than one score", 1),
    "unknown": (lambda rows: [*rows, {"id": "f00", "score": 1.0}], None, 0),
    "other list": (lambda rows: [], "no score", 10),
}


@pytest.mark.parametrize("case", BAD_PREDICTIONS)
def test_bad_predictions_are_named_counted_and_mark_the_estimate(case, tmp_path, sample, caplog):
    edit, detail, count = BAD_PREDICTIONS[case]
    ids = sample.loc[sample["task"] == "intrasentence", [f"{label}_id" for label in SENTENCES]].stack()
    rows = edit([{"id": name, "score": 0.5} for name in ids])
    path = tmp_path / "predictions_tiny_A_B.json"
    path.write_text(json.dumps({"intrasentence": rows, "intersentence": []}))
    requests = build_requests(sample, "intrasentence", DOMAINS, RELEASED)
    responses = import_responses(
        "tiny", {f"code/predictions/{path.name}": str(path)}, sample, requests, "intrasentence"
    )
    scores = score(sample, lambda *_: responses, ["intrasentence"], RELEASED)
    table = TABLES["scores"](scores, RELEASED, read_published, {}).query(
        "task == 'intrasentence' and category == 'overall'"
    )
    assert (table["missing"] == count).all()
    assert (table["n"] == 10 - count).all()
    if detail:
        assert set(responses.loc[responses["status"] == "failed", "detail"]) == {detail}
        assert responses.loc[responses["status"] == "failed", "request_id"].iloc[0] in caplog.text
    else:
        assert "unknown sentences, first f00" in caplog.text


def test_a_model_without_a_prediction_file_is_an_error(sample):
    with pytest.raises(UserError, match="predictions_gpt3_"):
        import_responses("gpt3", {}, sample, None, "intrasentence")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda example: example["sentences"].pop(), "expected one each"),
        (lambda example: example["sentences"][0].update(gold_label="related"), "expected one each"),
        (lambda example: example.update(bias_type="age"), "bias_type 'age'"),
        (lambda example: example["sentences"][0].update(id=example["sentences"][1]["id"]), "more than once"),
    ],
)
def test_bad_items_stop_with_file_and_example(tmp_path, change, message):
    data = json.loads(SAMPLE.read_text())
    change(data["data"]["intrasentence"][0])
    path = tmp_path / "dev.json"
    path.write_text(json.dumps(data))
    with pytest.raises(UserError, match=message) as error:
        read_items({"data/dev.json": str(path)})
    assert str(path) in str(error.value)


def test_sample_goes_from_files_to_figure(sample):
    assert set(sample["category"]) == set(DOMAINS)
    scores = score(
        sample, lambda requests, _: prefer(requests, {"stereotype": -1, "anti-stereotype": -2, "unrelated": -3})
    )
    tables = {"scores": TABLES["scores"](scores, PROTOCOL, read_published, {})}
    assert tuple(tables["scores"].columns[-len(TABLE_COLUMNS) :]) == TABLE_COLUMNS
    assert len(FIGURES["scores"](tables).axes) == 2
