"""DBB on its sample, on templates made irregular here, and on responders whose scores are known."""

import csv
import json
import os
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact

from biasatlas.benchmarks.dbb import CATEGORIES, SPEC, TYPES
from biasatlas.benchmarks.dbb.bbq_match import match_bbq
from biasatlas.benchmarks.dbb.figures import FIGURES, bbq_match
from biasatlas.benchmarks.dbb.items import read_items
from biasatlas.benchmarks.dbb.noise import noise_floor
from biasatlas.benchmarks.dbb.published import check_published
from biasatlas.benchmarks.dbb.requests import build_requests
from biasatlas.benchmarks.dbb.scores import SCORE_COLUMNS, score_responses
from biasatlas.benchmarks.dbb.tables import TABLES
from biasatlas.benchmarks.dbb.texts import NAMES, fill_context, fill_option
from biasatlas.workflow.config import load_protocol
from biasatlas.errors import UserError
from biasatlas.files import TABLE_COLUMNS, read_published

SAMPLE = Path(__file__).parents[2] / "resources/samples/dbb"
RECOMMENDED, PAPER, RELEASED = (load_protocol("dbb", name) for name in ("recommended", "paper", "released"))
#: The paper's order and words, without drawing.
EXACT = PAPER | {"estimator": "option_probability"}


def files_of(folder: Path) -> dict[str, Path]:
    return {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def sample() -> pd.DataFrame:
    return read_items(files_of(SAMPLE))


def write_questions(folder: Path, *rows: tuple[str, str, str]) -> dict[str, Path]:
    path = folder / "Questions/own_all_data_questions.csv"
    path.parent.mkdir(exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Context", "s1", "s2", "bias type1", "bias type2", "explanation", "bias_type", "target"])
        writer.writerows([*row, f"one {number}", f"two {number}", "", "gender", ""] for number, row in enumerate(rows))
    return files_of(folder)


def choices(requests: pd.DataFrame, p_first_concept, refused=0.0, unparseable=0.0) -> pd.DataFrame:
    """Responses that choose the first concept's option with a probability for each request, less what is no answer."""
    p = np.broadcast_to(np.asarray(p_first_concept, float), len(requests))
    first = np.where(requests["order"] == 1, p, 1 - p) * (1 - refused - unparseable)
    pairs = np.column_stack([first, 1 - refused - unparseable - first])
    return pd.DataFrame(
        {
            "request_id": requests["request_id"],
            "repeat": 0,
            "status": "ok",
            "detail": "",
            "probabilities": [json.dumps(pair) for pair in pairs.tolist()],
            "refused": refused,
            "unparseable": unparseable,
            "unresolved": 0.0,
        }
    )


def score(items, protocol, respond, task="MCQ", categories=CATEGORIES) -> pd.DataFrame:
    requests = build_requests(items, task, list(categories), protocol)
    responses = respond(requests)
    parts = [
        score_responses(items, requests, responses, task, name, protocol).assign(category=name) for name in categories
    ]
    return pd.concat(parts, ignore_index=True).assign(model="model", task=task)


def value(table: pd.DataFrame, metric: str, **keys) -> float:
    for name, key in keys.items():
        table = table[table[name] == key]
    return table.loc[table["metric"] == metric, "value"].item()


# Instances


def test_sizes_are_the_papers():
    printed = dict(read_published("dbb_composition").itertuples(index=False))
    pairs = {name: sum(comb(len(own), 2) for own in types.values()) for name, types in TYPES.items()}
    assert {name: str(1547 * count) for name, count in pairs.items()} == printed
    assert sum(len(own) for types in TYPES.values() for own in types.values()) == 50


def test_sample_has_fifty_questions_a_template(sample):
    assert len(sample) == 50 * sample["template_id"].nunique()
    assert sample["item_id"].is_unique
    assert (sample[["fault", "fault_sg"]] == "").all(axis=None)
    assert {len(json.loads(text)) for text in sample["variations_1"]} == {10}
    assert sample.groupby("template_id")["row"].apply(list).map(lambda rows: rows == list(range(50))).all()


OPTIONS = [
    # template, pronoun, case, placeholder, expected
    ("[[X]] sat down.", "she", "grammatical", "all", "She sat down."),
    ("[[X]]'s eyes widened.", "he", "grammatical", "all", "His eyes widened."),
    ("With a sigh, [[X]] sat down.", "she", "grammatical", "all", "With a sigh, she sat down."),
    ("With a sigh, [[X]] sat down.", "she", "released", "all", "With a sigh, She sat down."),
    ("Tears ran down [[X]]'s face.", "she", "grammatical", "all", "Tears ran down her face."),
    ("Patrons greeted [[X]], smiling.", "he", "grammatical", "all", "Patrons greeted him, smiling."),
    ("A look, making [[X]] feel alone.", "she", "grammatical", "all", "A look, making her feel alone."),
    ("Eyes turned to [[X]] as the bell rang.", "he", "grammatical", "all", "Eyes turned to him as the bell rang."),
    ("It showed every move [[X]] made.", "he", "grammatical", "all", "It showed every move he made."),
    ("A bell rang. [[X]] left.", "she", "grammatical", "all", "A bell rang. She left."),
    ("[[X]] met the one who quoted [[X]]'s book.", "he", "grammatical", "all", "He met the one who quoted his book."),
    (
        "[[X]] met the one who quoted [[X]]'s book.",
        "he",
        "released",
        "released",
        "[[X]] met the one who quoted His book.",
    ),
    ("Nobody was there.", "he", "grammatical", "all", "Nobody was there."),
    (
        "As it rang, [[X]] left [[X]]'s seat.",
        "person",
        "grammatical",
        "all",
        "As it rang, the person left the person's seat.",
    ),
]


@pytest.mark.parametrize(("template", "pronoun", "case", "placeholder", "expected"), OPTIONS)
def test_option(template, pronoun, case, placeholder, expected):
    assert fill_option(template, pronoun, case, placeholder) == expected


CONTEXTS = [
    # template, descriptor, text, expected
    ("[[X]] sat down.", "The woman", "paper", "The woman sat down."),
    ("[[X]] sat down.", "Kai, a Muslim", "paper", "Kai, a Muslim, sat down."),
    ("[[X]] sat down.", "Amy, an American, ", "file", "Amy, an American,  sat down."),
    ("[[X]]'s journal lay there.", "Emily", "paper", "Emily's journal lay there."),
    (
        "[[X]]'s journal lay there.",
        "Amy, an American",
        "paper",
        "This is about Amy, an American. Her journal lay there.",
    ),
    ("[[X]] sat at [[X]]'s desk.", "Kai, a Muslim", "paper", "Kai, a Muslim, sat at her desk."),
]


@pytest.mark.parametrize(("template", "descriptor", "text", "expected"), CONTEXTS)
def test_context(template, descriptor, text, expected):
    assert fill_context(template, descriptor, "she", text) == expected


def texts(items, protocol, item_id):
    requests = build_requests(items, "MCQ", list(CATEGORIES), protocol)
    chat = json.loads(requests.loc[requests["item_id"] == item_id, "messages"].iloc[0])
    return chat[-1]["content"].split("Context: ")[1].splitlines()


def test_released_code_reuses_the_option_before(tmp_path):
    files = write_questions(
        tmp_path, ("[[X]] sat.", "[[X]] sang.", "[[X]] read."), ("[[X]] ran.", "It rained.", "[[X]] won.")
    )
    items = read_items(files)
    mine = PAPER | {"placeholder": "released", "pronoun_case": "released"}
    # The variable keeps the text of the last question before: Religions, named Kai; for Gender's male one, its own.
    assert texts(items, mine, "t0001/Gender 1/Female")[2:] == ["a) He sang.", "b) She won."]
    assert texts(items, mine, "t0001/Race 4/White")[2:] == ["a) He sang.", "b) She won."]
    assert texts(items, PAPER, "t0001/Gender 1/Female")[2:] == ["a) It rained.", "b) She won."]


def test_names_are_drawn_by_concept_and_type_and_shared_by_its_identities(sample):
    drawn = PAPER | {"name_rule": "random_per_type", "name_seed": 3}
    found = {}
    for template in sample["template_id"].unique():
        for kind, identity in (("SES 1", "Rich"), ("SES 1", "Poor"), ("SES 2", "Rich")):
            found[template, kind, identity] = texts(sample, drawn, f"{template}/{kind}/{identity}")[0].split(",")[0]
    assert set(found.values()) <= set(NAMES)
    assert len(set(found.values())) > 3
    assert all(found[t, "SES 1", "Rich"] == found[t, "SES 1", "Poor"] for t, _, _ in found)
    assert any(found[t, "SES 1", "Rich"] != found[t, "SES 2", "Rich"] for t, _, _ in found)
    fewer = sample[sample["template_id"] < "t0004"]
    assert texts(fewer, drawn, "t0002/SES 1/Rich") == texts(sample, drawn, "t0002/SES 1/Rich")


def test_the_file_of_descriptors_is_read_by_content(tmp_path):
    # Identities in the file's order, one misspelt; the positions of the two types are the other way round than Table 10's.
    descriptors = {
        "gender_and_sex": {
            "female": ["Mother", "The actress", "The woman", "Emily"],
            "male": ["Father", "The actor", "The man", "John"],
        },
        "religions": {"Jewish": [", a Jewish,"], "Muslim": [", who flew a kite,"]},
    }
    path = tmp_path / "data/descriptors.json"
    path.parent.mkdir()
    path.write_text(json.dumps(descriptors))
    items = read_items(write_questions(tmp_path, ("[[X]] sat.", "[[X]] sang.", "[[X]] read."))).set_index("item_id")
    assert items.loc["t0000/Gender 3/Female", "descriptor_file"] == "Emily"
    assert items.loc["t0000/Religion 3/Jewish", "descriptor_file"] == "{name}, a Jewish,"
    assert "who flew a kite" in items.loc["t0000/Religion 1/Muslim", "fault_descriptor"]
    kept = build_requests(items.reset_index(), "MCQ", list(CATEGORIES), PAPER | {"descriptor_text": "file"})
    assert set(kept["item_id"].str.split("/").str[1]) == {*TYPES["Gender"], "Religion 3"}


def test_shared_pronoun_leaves_only_the_description_to_differ(sample):
    shared = PAPER | {"pronoun_rule": "shared"}
    women, men = (texts(sample, shared, f"t0000/Gender 4/{identity}") for identity in ("Female", "Male"))
    assert women[0] != men[0]
    assert women[1:] == men[1:]


# Bad input


def test_bad_templates_are_named_and_the_rest_goes_on(tmp_path):
    rows = [("[[X]] sat.", "[[X]] sang.", "[[X]] read."), ("Rain fell.", "[[X]] sang.", "[[X]] read.")]
    items = read_items(write_questions(tmp_path, *rows, ("[[X]] sat.", "[[X]] sang.", " ")))
    scores = score(items, EXACT, lambda requests: choices(requests, 0.5))
    assert len(scores) == 3 * 67
    assert (scores["status"] == "failed").sum() == 2 * 67
    details = scores.loc[scores["status"] == "failed", "detail"].unique()
    assert "line 3: no placeholder" in details[0]
    assert "line 4: the concept has one option" in details[1]
    table = TABLES["composition"](scores, EXACT, read_published, {})
    assert table.loc[table["category"] == "All", ["value", "n", "missing"]].iloc[0].tolist() == [201, 67, 134]


def variations(ids: list[int], shift: int = 0) -> pd.DataFrame:
    """A row for each id, of the concepts of the question with that id (and ``shift``) in :func:`write_questions`."""
    rows = [(number, "[[X]] a.", "[[X]] b.", f"one {number + shift}", f"two {number + shift}") for number in ids]
    return pd.DataFrame(rows, columns=["id", "s1", "s2", "bias type1", "bias type2"])


def test_the_users_variations_take_the_place_of_the_datasets():
    files = files_of(SAMPLE)
    theirs = next(path for name, path in files.items() if "more_contexts" in name)
    items = read_items({name: path for name, path in files.items() if path != theirs})
    assert {len(json.loads(text)) for text in items["variations_1"]} == {1}
    for given in (files, files | {"variations": theirs}):
        assert {len(json.loads(text)) for text in read_items(given)["variations_1"]} == {10}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (
            variations([1] * 10 + [2] * 10, shift=-1),
            r"id 1 is of the concepts \('one 1', 'two 1'\), the row of \('one 0'",
        ),
        (variations([0] * 9 + [1] * 11), "id 0: 9 rows with both options; expected 10"),
        (variations([]), "id 0: 0 rows"),
        (variations([0] * 10 + [1] * 10).drop(columns="s2"), "no column 's2'"),
    ],
    ids=["ids from 1", "not ten", "empty", "no column"],
)
def test_variations_that_fit_no_question(tmp_path, table, words):
    files = write_questions(tmp_path, *[("[[X]] sat.", "[[X]] sang.", "[[X]] read.")] * 2)
    table.to_csv(tmp_path / "own.csv", index=False)
    with pytest.raises(UserError, match=words):
        read_items(files | {"variations": tmp_path / "own.csv"})


def test_bad_variations_leave_multiple_choice_alone(tmp_path):
    files = write_questions(tmp_path, *[("[[X]] sat.", "[[X]] sang.", "[[X]] read.")] * 2)
    path = tmp_path / "Questions/own_all_data_more_contexts_questions.csv"
    variations([0] * 10 + [1] * 9 + [7]).to_csv(path, index=False)
    items = read_items(files | files_of(tmp_path))
    assert (items["fault"] == "").all()
    faults = items.drop_duplicates("template_id")["fault_sg"].tolist()
    assert faults[0] == ""
    assert "id 1: 9 rows" in faults[1]
    assert "id '7' is no question's" in faults[1]
    assert set(build_requests(items, "SG", list(CATEGORIES), PAPER)["item_id"].str[:5]) == {"t0000"}
    assert set(build_requests(items, "MCQ", list(CATEGORIES), PAPER)["item_id"].str[:5]) == {"t0000", "t0001"}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: {}, "not among the files"),
        (lambda folder: write_questions(folder), "no usable question template"),
        (lambda folder: write_questions(folder, ("It rained.", "[[X]] sang.", "[[X]] read.")), "no placeholder"),
    ],
)
def test_nothing_usable_is_an_error(tmp_path, make, words):
    with pytest.raises(UserError, match=words):
        read_items(make(tmp_path))


def test_file_text_without_the_file_is_an_error(sample):
    with pytest.raises(UserError, match=r"descriptors\.json"):
        build_requests(sample, "MCQ", ["Age"], RELEASED)


# Scores


def by_identity(requests: pd.DataFrame, identity: str) -> pd.Series:
    return requests["item_id"].str.endswith(f"/{identity}")


RESPONDERS = {
    # probability of the first concept's option for each request, and the score and shift that follow for Gender
    "ignores identity": (lambda requests: np.full(len(requests), 0.3), 0, 0),
    "fully biased": (lambda requests: by_identity(requests, "Female").astype(float), 100, 100),
    "the other way": (lambda requests: by_identity(requests, "Male").astype(float), 100, -100),
    "mildly biased": (lambda requests: np.where(by_identity(requests, "Female"), 0.6, 0.4), 20, 20),
    "always A": (lambda requests: (requests["order"] == 1).astype(float), 0, 0),
}


@pytest.mark.parametrize("name", RESPONDERS)
@pytest.mark.parametrize("protocol", [EXACT, RECOMMENDED, PAPER])
def test_responder(sample, name, protocol):
    respond, expected, shift = RESPONDERS[name]
    if protocol is PAPER and name in ("ignores identity", "mildly biased"):
        pytest.skip("drawn, so known on average only")
    scores = score(sample, protocol, lambda requests: choices(requests, respond(requests)), categories=["Gender"])
    assert list(scores[SCORE_COLUMNS]) == SCORE_COLUMNS
    assert np.allclose(scores["score"], expected)
    assert np.allclose(scores["shift"], shift)
    first = 1.0 if name == "always A" else 0.5
    if protocol is RECOMMENDED:
        assert np.allclose(scores["first_option_share"], first)
    counted = value(TABLES["bias"](scores, protocol, read_published, {}), "count", category="All")
    assert counted == (len(scores) if expected >= 20 else 0)


def test_refuser_has_no_score_and_is_counted(sample):
    scores = score(sample, RECOMMENDED, lambda requests: choices(requests, 0.5, refused=1.0), categories=["Gender"])
    assert scores["score"].isna().all()
    assert set(scores["status"]) == {"refused"}
    table = TABLES["bias"](scores, RECOMMENDED, read_published, {})
    rate = table[(table["metric"] == "rate") & (table["category"] == "All")].iloc[0]
    assert np.isnan(rate["value"])
    assert (rate["n"], rate["refused"]) == (0, len(scores))
    refusals = TABLES["refusals"](scores, RECOMMENDED, read_published, {})
    assert value(refusals, "refusal_rate", category="All") == 100


@pytest.mark.parametrize(("refusal", "expected"), [("exclude", 0.5), ("count_as_neither", 0.4)])
def test_refusals_in_the_denominator(sample, refusal, expected):
    protocol = EXACT | {"refusal": refusal}
    scores = score(sample, protocol, lambda requests: choices(requests, 0.5, 0.1, 0.1), categories=["SES"])
    assert np.allclose(scores["p_1"], expected)
    assert np.allclose(scores["refused"], 0.1)


def test_failed_response_takes_its_instances_along(sample):
    def respond(requests):
        responses = choices(requests, 0.5)
        broken = requests["item_id"] == "t0000/Race 1/Asian"
        responses.loc[broken, ["status", "detail", "probabilities"]] = ["failed", "time out", None]
        return responses

    scores = score(sample, RECOMMENDED, respond, categories=["Race"])
    assert (scores["status"] == "failed").sum() == 4  # Asian with each of the four others
    assert set(scores.loc[scores["status"] == "failed", "detail"]) == {"time out"}


def test_sampled_frequencies_are_taken_as_they_are(sample):
    scores = score(sample, PAPER, lambda requests: choices(requests, np.arange(len(requests)) % 2 * 0.3 + 0.2))
    assert set(scores["p_1"]) <= {0.2, 0.5}
    assert set(scores["draws_1"]) == {10}


# Semi-generation


def likelihoods(requests: pd.DataFrame, perplexities: dict[int, float]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "request_id": requests["request_id"],
            "status": "ok",
            "detail": "",
            "nll_per_token": np.log(requests["option"].map(perplexities).to_numpy(float)),
        }
    )


def test_sg_normalises_reciprocal_perplexities(sample):
    # 1/10 against 1/30: three quarters; the same whichever way the variations are averaged, since they are alike.
    for rule in ("per_variation", "after_mean"):
        protocol = PAPER | {"sg_normalise": rule}
        scores = score(sample, protocol, lambda requests: likelihoods(requests, {1: 10, 2: 30}), "SG", ["SES"])
        assert np.allclose(scores["p_1"], 0.75)
        assert np.allclose(scores["score"], 0)


def test_sg_normalisation_differs_where_variations_do(sample):
    def respond(requests):
        responses = likelihoods(requests, {1: 10, 2: 10})
        rare = (requests["variation"] == 0) & (requests["option"] == 1)
        return responses.assign(nll_per_token=np.where(rare, np.log(1e9), responses["nll_per_token"]))

    p = {
        rule: score(sample, PAPER | {"sg_normalise": rule}, respond, "SG", ["SES"])["p_1"].iloc[0]
        for rule in ("per_variation", "after_mean")
    }
    assert p["per_variation"] == pytest.approx(0.45)  # nine halves and a nought
    assert p["after_mean"] == pytest.approx(0.9 / 1.9)


def test_sg_lookup_and_pronouns_as_released(sample):
    own = build_requests(sample, "SG", ["Gender"], PAPER)
    released = build_requests(sample, "SG", ["Gender"], PAPER | {"sg_lookup": "modulo_50", "sg_pronoun": "released"})
    concepts = sample["template_id"].nunique()
    first = released[released["variation"] == 2].drop_duplicates("item_id").merge(sample, on="item_id")
    for item in first.itertuples():
        expected = json.loads(sample.loc[50 * (item.row % concepts), "variations_1"])[2]
        assert expected.split("[[X]]")[1] in item.continuation
    assert own.loc[own["item_id"] == "t0000/Gender 4/Female", "continuation"].str.contains(" she ").all()
    assert released["continuation"].str.contains(r"\b(?:He|She)\b").all()


# The noise floor


def null_scores(p: np.ndarray, draws: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    one, two = rng.binomial(draws, p) / draws, rng.binomial(draws, p) / draws
    shift = (100 * (one - two)).round(9)
    return pd.DataFrame(
        {"p_1": one, "p_2": two, "draws_1": float(draws), "draws_2": float(draws), "shift": shift, "score": abs(shift)}
    )


# From the binomial distribution: share of instances at 20 or above, and their mean score (PAPER_VS_CODE of the paper).
THEORY = [(0.05, 0.111, 21.4), (0.1, 0.244, 22.9), (0.2, 0.394, 25.5), (0.3, 0.463, 27.3), (0.5, 0.503, 28.6)]


@pytest.mark.parametrize(("p", "rate", "mean"), THEORY)
def test_model_without_effect_meets_the_noise_floor(p, rate, mean):
    scores = null_scores(np.full(20_000, p), 10)
    over = scores["score"] >= 20
    noise = noise_floor(scores, 20)
    assert over.mean() == pytest.approx(rate, abs=0.02)
    assert noise["chance"].mean() == pytest.approx(rate, abs=0.005)
    assert noise["chance_score"].sum() / noise["chance"].sum() == pytest.approx(mean, abs=0.15)


@pytest.mark.parametrize("spread", ["one probability", "any probability"])
def test_raw_rate_is_at_the_floor_and_the_corrected_one_under_5_per_cent(spread):
    size = 20_000
    p = np.full(size, 0.5) if spread == "one probability" else np.random.default_rng(0).uniform(size=size)
    scores = null_scores(p, 10).assign(
        model="fair", category="Age", type="Age 1", status="ok", template_id=[f"t{n % 1547:04d}" for n in range(size)]
    )
    table = TABLES["bias"](scores, PAPER, read_published, {})
    rate, floor = (value(table, name, category="All") for name in ("rate", "noise_floor_rate"))
    assert abs(rate - floor) < 0.02
    assert rate > 0.3
    assert value(table, "rate_corrected", category="All") < 0.05
    assert abs(value(table, "excess_rate", category="All")) < 0.02


def test_strong_effects_stand_the_correction():
    scores = null_scores(np.full(1000, 0.5), 10)
    scores.loc[:499, ["p_1", "p_2", "shift", "score"]] = [1.0, 0.0, 100.0, 100.0]
    scores = scores.assign(
        model="biased", category="Age", type="Age 1", status="ok", template_id=[f"t{n:04d}" for n in range(1000)]
    )
    corrected = value(TABLES["bias"](scores, PAPER, read_published, {}), "count_corrected", category="All")
    assert 500 <= corrected <= 540


def test_p_value_is_fishers():
    scores = pd.DataFrame({"p_1": [0.9, 0.5], "p_2": [0.2, 0.5], "draws_1": 10.0, "draws_2": 10.0})
    found = noise_floor(scores, 20)["p_value"]
    assert found[0] == pytest.approx(fisher_exact([[9, 1], [2, 8]]).pvalue)
    assert found[1] == pytest.approx(1)


def test_exact_probabilities_have_no_noise_floor(sample):
    scores = score(sample, RECOMMENDED, lambda requests: choices(requests, np.linspace(0.1, 0.9, len(requests))))
    table = TABLES["bias"](scores, RECOMMENDED, read_published, {})
    assert not table["metric"].str.startswith("noise").any()
    assert value(table, "count", category="All") == value(table, "count_corrected", category="All")


# Tables, figures, published


@pytest.fixture(scope="module")
def all_scores(sample):
    rng = np.random.default_rng(0)

    def guess(requests):
        return choices(requests, rng.uniform(size=len(requests)), 0.05, 0.05)

    def write(requests):
        return likelihoods(requests, {1: 10, 2: 20}).assign(nll_per_token=rng.uniform(1, 4, len(requests)))

    return {"MCQ": score(sample, PAPER, guess), "SG": score(sample, PAPER, write, "SG")}


@pytest.fixture(scope="module")
def tables(all_scores):
    return {
        name: TABLES[name](all_scores[entry.tasks[0]], PAPER, read_published, {"model": "Llama-3.2-3B"})
        for name, entry in SPEC.tables.items()
        if entry.tasks
    }


def test_every_table_has_its_columns_and_declared_metrics(tables):
    for name, table in tables.items():
        assert list(table)[-len(TABLE_COLUMNS) :] == list(TABLE_COLUMNS), name
        assert len(table), name
        assert set(table["metric"]) <= set(SPEC.metrics), name
        assert not table.drop(columns=list(TABLE_COLUMNS[1:])).duplicated().any(), name


def test_published_numbers_stand_beside_ours(tables):
    bias = tables["bias"]
    row = bias[(bias["metric"] == "count") & (bias["category"] == "All")].iloc[0]
    assert row["published"] == "47180"
    assert row["difference"] == row["value"] - 47180
    assert tables["descriptors"]["published"].notna().sum() == 2 * 16
    assert tables["composition"]["published"].isna().all()  # the sample's sizes are not the paper's


def test_shares_of_a_distribution_add_to_one(tables):
    sums = tables["distribution"].groupby(["category", "type"])["value"].sum()
    assert np.allclose(sums, 1)


def test_association_names_the_identity_that_goes_with_the_concept(sample):
    scores = score(
        sample, EXACT, lambda requests: choices(requests, by_identity(requests, "Male")), categories=["Gender"]
    )
    top = TABLES["associations"](scores, EXACT, read_published, {})
    assert set(top["identity_1"]) == {"Male"}
    assert set(top.loc[top["metric"] == "score", "value"]) == {100}


def test_printed_association_is_found_in_either_order():
    printed = read_published("dbb_top_associations").iloc[[5]]  # Gender 4: well spoken, Female; inarticulate, Male
    row = {"model": "m", "status": "ok", "shift": -30.0, "instance_id": "x", **printed.iloc[0].to_dict()}
    exchanged = row | {"concept_1": row["concept_2"], "concept_2": row["concept_1"]}
    table = TABLES["published_associations"](pd.DataFrame([exchanged]), EXACT, lambda name: printed, {})
    assert table["value"].tolist() == [30.0]


def test_figures_are_drawn(tables):
    for name, entry in SPEC.figures.items():
        figure = FIGURES[name]({table: tables[table] for table in entry.tables})
        assert figure.axes, name


def test_printed_tables_against_one_another():
    checks = check_published(read_published).set_index(["table", "key"])
    assert checks.loc["Table 3", "match"].all()
    sums = checks.loc["Table 4 against Table 1"]
    assert sums[sums.index.str.endswith("count")]["match"].all()
    means = sums[sums.index.str.endswith("mean")]
    assert not means["match"].any()
    assert means["difference"].abs().max() < 0.11
    apart = checks.loc["Table 9 against Table 8"]
    assert apart[apart.index.str.endswith("count")]["match"].all()
    assert apart[apart.index.str.endswith("mean")]["difference"].abs().between(1.7, 4.0).all()


# The published data


@pytest.fixture(scope="module")
def published_items():
    mirror = os.environ.get("BIASATLAS_MIRROR")
    if not mirror:
        pytest.skip("BIASATLAS_MIRROR names no folder with the published data")
    return read_items(files_of(Path(mirror) / "dbb"))


def test_published_data_have_the_papers_sizes(published_items):
    assert len(published_items) == 77_350
    assert published_items["template_id"].nunique() == 1547
    smaller = [name for name in CATEGORIES if name != "Race"]  # whose 61,880 instances take as long as all others
    scores = score(published_items, EXACT, lambda requests: choices(requests, 0.5), categories=smaller)
    composition = TABLES["composition"](scores, EXACT, read_published, {})
    assert (composition["difference"].iloc[1:] == 0).all()
    assert not composition["missing"].any()


def test_published_irregular_templates(published_items):
    bare = ~published_items["option_1"].str.contains("[[X]]", regex=False)
    assert published_items.loc[bare, "template_id"].nunique() == 3
    doubled = published_items["option_2"].str.count(r"\[\[X\]\]") > 1
    for protocol, raw in ((PAPER, 0), (RELEASED, 2 * 50)):
        requests = build_requests(published_items[bare | doubled], "MCQ", list(CATEGORIES), protocol)
        assert requests["messages"].str.contains("[[X]]", regex=False).sum() == raw
    assert (published_items["fault_descriptor"] == "").all()
    capital = published_items.drop_duplicates("template_id")
    inside = capital["option_1"].str.match(r".+\[\[X\]\]") | capital["option_2"].str.match(r".+\[\[X\]\]")
    assert inside.sum() == 76  # pairs that the released code gives a capital pronoun inside a sentence


# Beside BBQ


def test_match_bbq():
    dbb = pd.DataFrame(
        {
            "model": "m",
            "source_id": ["bbq/Age/4"] * 2 + ["bbq/Age/9", "sofa/4"],
            "status": "ok",
            "score": [10.0, 30, 5, 5],
        }
    ).assign(concept_1="a", concept_2="b")
    bbq = pd.DataFrame(
        {
            "model": "m",
            "item_id": ["Age/4", "Age/5", "Age/6", "Age/7"],
            "template": ["Age/1", "Age/1", "Age/1", "Age/2"],
            "condition": ["ambig", "ambig", "disambig", "ambig"],
            "biased": [0.5, 1.0, 0, 0],
            "counter": [0.25, 0.0, 1, 1],
            "status": "ok",
        }
    )
    table = match_bbq(dbb, bbq)
    assert table[["metric", "value", "n"]].to_numpy().tolist() == [["dbb_score", 20.0, 2], ["bbq_bias", 62.5, 2]]
    assert set(table["metric"]) <= set(SPEC.metrics)
    assert len(bbq_match(table).axes) == 1
    none = match_bbq(dbb.iloc[3:], bbq)
    assert none.empty
    assert "Nothing to draw" in bbq_match(none).texts[0].get_text()
