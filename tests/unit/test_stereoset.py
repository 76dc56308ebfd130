"""StereoSet: GPT-2's published predictions give the printed scores; oracles, ties and bad files."""

import json
from pathlib import Path
from zlib import crc32

import numpy as np
import pandas as pd
import pytest
from mirrored import mirrored
from simulated_models import choose, prefer

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared import styles
from biasatlas.benchmarks.stereoset.items import swapped, swaps
from biasatlas.benchmarks.stereoset.scores import term_means
from biasatlas.benchmarks.stereoset.spec import (
    DOMAINS,
    ITEM_COLUMNS,
    LIKELIHOOD_TASKS,
    PROMPTED_TASKS,
    SCORE_COLUMNS,
    SENTENCES,
)
from biasatlas.columns import TABLE_COLUMNS
from biasatlas.errors import UserError
from biasatlas.resources import Resources

score_responses = registry.score_responses("stereoset")
import_responses = registry.import_responses("stereoset")

SAMPLE = ROOT / "resources" / "samples" / "stereoset" / "data" / "dev.json"
NONE = Resources({})
PROMPTS = Resources.shipped("prompts/stereoset/*", "stereoset/*")
PUBLISHED = Resources.shipped("published/*").published
OPTIONS = registry.load_options("stereoset", "recommended")
RELEASED = OPTIONS.model_copy(update={"ties": "released", "swaps": "none"})
TARGETS = Resources.shipped("stereoset/*").yaml("stereoset/targets.yaml")


def read_items(files):
    return registry.read_items("stereoset")({name: Path(path) for name, path in files.items()}, NONE)


def build_requests(items, task, options=OPTIONS):
    return registry.build_requests("stereoset")(items, task, DOMAINS, options, PROMPTS)


def summarise(name, scores, options=OPTIONS, published_as=None):
    return registry.tables("stereoset")[name](scores, options, PUBLISHED, published_as or {})


def score(items, answer, tasks=LIKELIHOOD_TASKS, options=OPTIONS):
    """Scores of all ``tasks``; ``answer(requests, task)`` gives the responses."""
    parts = []
    for task in tasks:
        requests = build_requests(items, task, options)
        responses = answer(requests, task)
        parts += [
            score_responses(items, requests, responses, task, name, options, NONE).assign(task=task, category=name)
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
    return read_items({"data/dev.json": SAMPLE})


# Published outputs


def test_gpt2_scores_equal_the_printed_ones(items, files):
    def answer(requests, task):
        return import_responses("gpt2", files, items, requests, task)

    scores = score(items, answer, options=RELEASED)
    table = summarise("scores", scores, RELEASED, {"oracle": "gpt2"})
    table = table[table["metric"] != "icat_corrected"]  # ours alone
    assert table["published"].notna().sum() == len(table) == 33  # 3 metrics: 2 tasks x (4 domains + all), and all
    assert table["difference"].abs().max() < 1e-9
    assert table["published"].str.len().min() > 10
    assert table[["failed", "not_applicable"]].sum().sum() == 0
    # Upstream counts each example three times by domain and once in the whole.
    count = json.loads(Path(files["code/predictions.json"]).read_text())["gpt2"]["intrasentence"]["race"]["Count"]
    assert table.query("task == 'intrasentence' and category == 'race'")["n"].eq(count / 3).all()


def test_published_table_holds_the_eleven_printed_models(files):
    printed = json.loads(Path(files["code/predictions.json"]).read_text())
    table = PUBLISHED("stereoset_models")
    assert table["model"].nunique() == len(printed) == 11
    assert len(table) == 11 * 33


# Other targets


@pytest.mark.parametrize(
    ("text", "own", "other", "expected"),
    [
        ("An engineer is clever.", "engineer", "nurse", "A nurse is clever."),
        ("I met a Ukrainian.", "Ukrainian", "Arab", "I met an Arab."),
        ("most ukrainians are tall", "Ukrainian", "Saudi Arabian", "most saudi arabians are tall"),
        ("Policemen drive, a policeman walks.", "policeman", "chemist", "Chemists drive, a chemist walks."),
        ("The chess player's hat", "chess player", "delivery man", "The delivery man's hat"),
        ("Two chess players", "chess player", "delivery man", "Two delivery men"),
        ("Persian people dance.", "Persian people", "Japanese", "Japanese dance."),
        ("The female is tall.", "male", "sister", "The female is tall."),
        ("Russian and Russian", "Russian", "Bengali", "Bengali and Bengali"),
    ],
)
def test_a_target_is_swapped_with_its_article_number_and_letters(text, own, other, expected):
    assert swapped(text, own, other, TARGETS) == expected


def test_swaps_are_of_the_domain_and_form_and_are_drawn_from_the_id(items):
    found = list(swaps(items, TARGETS))
    again = swaps(items.iloc[::-1], TARGETS)
    assert {(swap.item_id, swap.other) for swap in found} == {(swap.item_id, swap.other) for swap in again}
    by_id = items.set_index("item_id")
    assert len({swap.item_id for swap in found}) == 2073  # 2,019 without religion
    assert pd.Series([swap.item_id for swap in found]).value_counts().max() == 2
    forms = {
        name: (domain, form) for domain, of in TARGETS["forms"].items() for form, own in of.items() for name in own
    }
    for swap in found:
        assert forms[swap.other] == forms[by_id.at[swap.item_id, "target"]]
        assert swap.sentences["stereotype"] != by_id.at[swap.item_id, "stereotype"]
    # Every target of the published data is known but the Bible, which no other can stand for.
    assert set(items["target"][items["task"] == "intrasentence"]) - set(forms) == {"Bible"}


@pytest.mark.parametrize("protocol", ["paper", "released"])
def test_under_the_papers_options_only_published_sentences_are_asked(items, protocol):
    options = registry.load_options("stereoset", protocol)
    requests = build_requests(items, "intrasentence", options)
    assert len(requests) == 3 * 2106 and (requests["sentence_id"] != "").all()
    table = summarise("scores", score(items.iloc[::9], lambda r, _: prefer(r, {}), options=options), options)
    assert "own_target_shift" not in set(table["metric"])


def shift_of(items, value, tasks=("intrasentence",)):
    """The rows, by domain, of a model whose log-likelihoods are ``value`` of requests and their items."""

    def answer(requests, _):
        about = items.set_index("item_id").loc[requests["item_id"]].reset_index()
        return prefer(requests, {}).assign(log_likelihood=value(requests.reset_index(drop=True), about))

    table = summarise("scores", score(items, answer, tasks))
    return table[table["metric"] == "own_target_shift"].set_index("category")


def test_a_model_to_which_targets_are_alike_has_no_shift(items):
    """Each word has a cost of its own, those of a target and of what is said of it."""

    def unigrams(requests, _):
        words = requests["continuation"].str.lower().str.findall(r"\w+")
        return words.map(lambda of: -sum(crc32(word.encode()) % 100 for word in of) / 10)

    found = shift_of(items, unigrams)
    assert found["value"].to_numpy() == pytest.approx(0, abs=1e-12)
    assert found["n"].to_dict() == {"gender": 253, "profession": 810, "race": 956, "religion": 54, "overall": 2073}


def test_a_stereotype_of_the_own_target_is_a_shift_of_its_size(items):
    noise = np.random.default_rng(0)

    def stereotyped(requests, about):
        own = ~requests["label"].str.contains("/")
        return 0.3 * (own & (requests["label"] == "stereotype")) + noise.normal(0, 0.5, len(requests))

    found = shift_of(items, stereotyped)
    assert found.at["overall", "ci_low"] > 0.2 and found.at["overall", "ci_high"] < 0.4
    assert found.at["religion", "no_interval_reason"] == "2 clusters, 5 are needed"


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
    table = summarise("scores", score(items, lambda requests, _: prefer(requests, preference)))
    for metric, expected in (("language_modelling_score", lms), ("stereotype_score", ss), ("icat", icat)):
        assert table.loc[table["metric"] == metric, "value"].to_numpy() == pytest.approx(expected)


def test_ties_count_for_the_anti_stereotype_in_the_authors_code(sample):
    def answer(requests, _):
        return prefer(requests, dict.fromkeys(SENTENCES, -1))

    table = summarise("scores", score(sample, answer, options=RELEASED), RELEASED)
    assert table["value"].eq(0).all()


def test_coin_flip_is_near_50(items):
    def answer(requests, _):
        noise = np.random.default_rng(0).normal(size=len(requests))
        return prefer(requests, {}).assign(log_likelihood=noise, nll_per_token=-noise)

    table = summarise("scores", score(items, answer)).query("category == 'overall'")
    assert (table[table["metric"] != "icat_corrected"]["ci_low"] - 3 < 50).all()
    assert table[table["metric"] == "icat_corrected"]["ci_low"].isna().all()  # ICAT's interval is not of its correction
    shift = table["metric"] == "own_target_shift"
    assert table[~shift & (table["metric"] != "icat")]["value"].between(45, 55).all()
    assert table[shift]["value"].between(-0.15, 0.15).all()


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_reduction_compares_sums_or_means(sample, reduction):
    """A stereotype of 20 tokens at -1 a token against an anti-stereotype of 10 at -1.5."""
    options = OPTIONS.model_copy(update={"reduction": reduction})
    requests = build_requests(sample, "intrasentence", options)
    responses = prefer(requests, {"stereotype": -20, "anti-stereotype": -15, "unrelated": -90})
    responses["tokens"] = requests["label"].map({"stereotype": 20, "anti-stereotype": 10, "unrelated": 10})
    responses["nll_per_token"] = -responses["log_likelihood"] / responses["tokens"]
    scores = score_responses(sample, requests, responses, "intrasentence", "race", options, NONE)
    assert scores["stereotyped"].eq(reduction == "mean").all()


@pytest.mark.parametrize(
    ("label", "lms", "ss"), [("stereotype", 100, 100), ("anti-stereotype", 100, 0), ("unrelated", 0, np.nan)]
)
def test_prompted_oracles(items, label, lms, ss):
    scores = score(items.iloc[::5], lambda requests, _: choose(requests, label), PROMPTED_TASKS)
    table = summarise("prompted", scores).query("task != 'overall'")
    icat = lms * min(ss, 100 - ss) / 50
    for metric, expected in zip(
        ("language_modelling_score", "stereotype_score", "icat", "icat_corrected"), (lms, ss, icat, icat), strict=True
    ):
        rows = table[table["metric"] == metric]
        assert rows["value"].to_numpy() == pytest.approx(expected, nan_ok=True)
        of = rows.set_index(["task", "category"])
        assert (of["not_applicable"] + of["n"] > 0).all() and (of["n"].eq(0) == np.isnan(expected)).all()


def test_always_a_is_neutral_when_orders_rotate(items):
    scores = score(items.iloc[::5], lambda requests, _: choose(requests, "A"), PROMPTED_TASKS)
    table = summarise("prompted", scores).set_index("metric")["value"]
    assert table["stereotype_score"].to_numpy() == pytest.approx(50)
    assert table["language_modelling_score"].to_numpy() == pytest.approx(50)
    assert table["icat"].to_numpy() == pytest.approx(50)


@pytest.mark.parametrize(("terms", "truth"), [(20, 50), (79, 50), (79, 60)])
def test_the_interval_of_icat_covers_also_where_it_is_greatest(terms, truth):
    """60 worlds of 27 items a term, whose preferences vary around the truth, all of them related."""
    noise = np.random.default_rng(terms)
    covered, corrected = [], []
    for _ in range(60):
        chance = np.clip(truth / 100 + noise.normal(0, 0.12, terms), 0, 1)
        stereotyped = noise.binomial(27, chance) / 27
        scores = pd.DataFrame({"target": range(terms), "related": 1.0, "stereotyped": stereotyped})
        estimates = term_means(scores)
        covered.append(estimates["icat"].ci_low <= 2 * min(truth, 100 - truth) <= estimates["icat"].ci_high)
        corrected.append([estimates[name].value for name in ("icat", "icat_corrected")])
        assert np.isnan(estimates["icat_corrected"].ci_low)  # ICAT's interval is of another number
    assert np.mean(covered) > 0.87
    plain, better = np.mean(corrected, axis=0) - 2 * min(truth, 100 - truth)
    if truth == 50:
        assert plain < better < 0


@pytest.mark.parametrize(
    ("said", "mass", "counted"),
    [("ok", "refused", "refused"), ("filtered", "refused", "filtered"), ("thought", "unparseable", "thought")],
)
def test_refusing_is_reported_and_scores_nothing(sample, said, mass, counted):
    """Also where a service's filter does it, or nothing but thinking came: tables count those apart."""

    def refusing(requests, _):
        return choose(requests, "none", mass=0.0, refused=float(mass == "refused")).assign(status=said)

    scores = score(sample, refusing, PROMPTED_TASKS)
    table = summarise("prompted", scores)
    rates = table["metric"].str.endswith("_rate")
    values = table[rates].groupby("metric")["value"].unique().map(list).to_dict()
    assert values == {
        "refusal_rate": [100 * (mass == "refused")],
        "unanswered_rate": [100],
        "ambiguous_rate": [0],
        "unparseable_rate": [100 * (mass == "unparseable")],
    }
    assert table.loc[~rates, "value"].isna().all()
    assert (table.loc[~rates, "n"] == 0).all()
    assert (table.loc[~rates, counted] > 0).all()
    assert table[["refused", "filtered", "thought"]].gt(0).any().sum() == 1


# Slips of the real rows and bad input


def test_real_items(items):
    assert items.groupby("task").size().to_dict() == {"intersentence": 2123, "intrasentence": 2106}
    doubled = items[items["context"].str.count("BLANK") == 2]
    assert len(doubled) == 2
    # Two intersentence sentences were published with a BLANK that nobody filled; they are scored as they stand.
    unfilled = items[items[list(SENTENCES)].stack().str.contains("BLANK").groupby(level=0).any()]
    assert unfilled["context"].tolist() == ["We once had an Eritrean nanny"]
    requests = build_requests(items, "intrasentence")
    whole = requests[requests["item_id"].isin(doubled["item_id"]) & (requests["label"] == "stereotype")]
    assert whole["continuation"].tolist() == doubled["stereotype"].tolist()
    assert requests["request_id"].is_unique


def test_the_table_with_a_translation_gives_the_same_items(items, tmp_path_factory):
    table = read_items(mirrored("stereoset_ptbr", tmp_path_factory.mktemp("mirror")))
    pd.testing.assert_frame_equal(
        table.sort_values("item_id", ignore_index=True), items.sort_values("item_id", ignore_index=True)
    )


def test_intersentence_follows_its_context_after_one_space(items):
    first = build_requests(items, "intersentence").iloc[0]
    item = items.set_index("item_id").loc[first["item_id"]]
    assert first["prefix"] + first["continuation"] == f"{item['context']} {item[first['label']]}"


def test_single_order_shows_each_label_about_equally_often_first(items):
    requests = build_requests(items, "intrasentence_choice", OPTIONS.model_copy(update={"orders": "single"}))
    first = requests["order"].map(json.loads).str[0].value_counts(normalize=True)
    assert first.between(0.3, 0.37).all()


BAD_PREDICTIONS = {
    "missing": (lambda rows: rows[1:], "no score", 1),
    "doubled": (lambda rows: [rows[0], *rows], "more than one score", 1),
    "unknown": (lambda rows: [*rows, {"id": "f00", "score": 1.0}], None, 0),
    "other list": (lambda rows: [], "no score", 34),
}


@pytest.mark.parametrize("case", BAD_PREDICTIONS)
def test_bad_predictions_are_named_counted_and_mark_the_estimate(case, tmp_path, sample, caplog):
    edit, detail, count = BAD_PREDICTIONS[case]
    ids = sample.loc[sample["task"] == "intrasentence", [f"{label}_id" for label in SENTENCES]].stack()
    rows = edit([{"id": name, "score": 0.5} for name in ids])
    path = tmp_path / "predictions_tiny_A_B.json"
    path.write_text(json.dumps({"intrasentence": rows, "intersentence": []}))
    requests = build_requests(sample, "intrasentence", RELEASED)
    responses = import_responses("tiny", {f"code/predictions/{path.name}": path}, sample, requests, "intrasentence")
    scores = score(sample, lambda *_: responses, ["intrasentence"], RELEASED)
    table = summarise("scores", scores, RELEASED).query("task == 'intrasentence' and category == 'overall'")
    assert (table["failed"] == count).all()
    assert (table["n"] == 34 - count).all()
    if detail:
        assert set(responses.loc[responses["status"] == "failed", "detail"]) == {detail}
        assert responses.loc[responses["status"] == "failed", "request_id"].iloc[0] in caplog.text
    else:
        assert "1 sentences that are no item's, left out: f00" in caplog.text


def test_a_model_without_a_prediction_file_is_an_error(sample):
    with pytest.raises(UserError, match="predictions_gpt3_"):
        import_responses("gpt3", {}, sample, None, "intrasentence")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda example: example["sentences"].pop(), "expected one sentence of each"),
        (lambda example: example["sentences"][0].update(gold_label="related"), "expected one sentence of each"),
        (lambda example: example.update(bias_type="age"), "bias_type is 'age'"),
        (lambda example: example["sentences"][0].update(id=example["sentences"][1]["id"]), "more than once"),
    ],
)
def test_bad_items_stop_with_file_and_example(tmp_path, change, message):
    data = json.loads(SAMPLE.read_text())
    change(data["data"]["intrasentence"][0])
    path = tmp_path / "dev.json"
    path.write_text(json.dumps(data))
    with pytest.raises(UserError, match=message) as error:
        read_items({"data/dev.json": path})
    assert str(path) in str(error.value)


MODELS = [f"model-{number}" for number in range(20)]


def draw(table):
    return registry.figures("stereoset")["scores"]({"scores": table}, styles.styles([*MODELS, "oracle"]))


def test_what_is_printed_over_both_tasks_is_not_beside_one(sample):
    answer = lambda requests, _: prefer(requests, {"stereotype": -1, "anti-stereotype": -2, "unrelated": -3})  # noqa: E731
    for tasks in (LIKELIHOOD_TASKS, LIKELIHOOD_TASKS[:1]):
        scores = score(sample, answer, tasks)
        of = summarise("scores", scores, published_as={"oracle": "gpt2"}).groupby("task")["published"].count()
        assert of["intrasentence"] > 0 and (of["overall"] > 0) == (len(tasks) == 2)


def test_sample_goes_from_files_to_figure(sample):
    assert set(sample["category"]) == set(DOMAINS)
    assert list(sample.columns) == list(ITEM_COLUMNS)
    scores = score(
        sample, lambda requests, _: prefer(requests, {"stereotype": -1, "anti-stereotype": -2, "unrelated": -3})
    )
    assert tuple(scores.columns[: len(SCORE_COLUMNS)]) == SCORE_COLUMNS
    table = summarise("scores", scores)
    assert tuple(table.columns[-len(TABLE_COLUMNS) :]) == TABLE_COLUMNS
    assert len(draw(table).axes) == 2 * (len(DOMAINS) + 1)


@pytest.fixture(scope="module")
def many(sample):
    """The table of 20 models, each with the scores of items of its own."""
    draws = np.random.default_rng(0)

    def answer(requests, _):
        values = draws.normal(size=len(requests))
        return prefer(requests, {}).assign(log_likelihood=values, nll_per_token=-values)

    one = score(sample, answer)
    ids = one["item_id"].unique()
    parts = [one[one["item_id"].isin(ids[draws.random(len(ids)) < 0.9])].assign(model=model) for model in MODELS]
    return summarise("scores", pd.concat(parts))


def shown(figure):
    legend = [text.get_text() for group in figure.legends for text in group.get_texts()]
    return legend, [text.get_text() for axis in figure.axes for text in axis.texts]


@pytest.mark.parametrize("count", [1, 2, 5, 20])
def test_the_figure_shows_every_model_and_every_score(many, count):
    table = many[many["model"].isin(MODELS[:count])]
    figure = draw(table)
    legend, notes = shown(figure)
    assert set(MODELS[:count]) <= set(legend)
    assert not any("no value" in note for note in notes)
    points = {(line.get_xdata()[0], line.get_ydata()[0]) for axis in figure.axes for line in axis.lines[2:]}
    wide = table[table["task"] != "overall"].pivot(
        index=["model", "task", "category"], columns="metric", values="value"
    )
    expected = set(zip(wide["language_modelling_score"], wide["stereotype_score"], strict=True))
    assert points == expected
    for axis in figure.axes:
        assert axis.get_xlim()[0] < wide["language_modelling_score"].min()
        assert axis.get_ylim()[1] > wide["stereotype_score"].max()


def test_the_figure_says_in_words_what_it_cannot_draw(many):
    table = many.copy()
    table.loc[(table["model"] == MODELS[3]) & (table["category"] == "race"), "value"] = np.nan
    notes = [note for note in shown(draw(table))[1] if "no value" in note]
    assert notes == [f"no value:\n{MODELS[3]}"] * 2
    for nothing in (table.assign(value=np.nan), table[:0]):
        assert "no model has" in draw(nothing).texts[0].get_text()


def test_a_score_of_zero_is_below_all_others_and_equal_to_its_like(tmp_path):
    """As in the authors' predictions of their ensemble, of which 2,944 sentences have a score of 0."""
    items = read_items({"data/dev.json": SAMPLE})
    requests = build_requests(items, "intrasentence")
    requests = requests[requests["sentence_id"] != ""].reset_index(drop=True)  # those that were published
    scores = [0.0 if n % 3 else 1e-300 for n in range(len(requests))]
    told = [{"id": name, "score": value} for name, value in zip(requests["sentence_id"], scores, strict=True)]
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"intrasentence": told}))
    found = registry.formats("stereoset")["predictions"]({path.name: path}, items, requests, "intrasentence")
    assert (found["status"] == "ok").all() and np.isfinite(found["nll_per_token"]).all()
    zero = np.array(scores) == 0
    assert found["nll_per_token"][zero].nunique() == 1
    assert found["nll_per_token"][zero].min() > found["nll_per_token"][~zero].max()
