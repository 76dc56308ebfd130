"""The authors' own files of DBB, in look-alikes that are written here from the sample: their questions, and replies to them."""

import json
import logging
import zipfile

import numpy as np
import pandas as pd
import pytest
from dbb_cases import RELEASED, SAMPLE, build_requests, files_of, read_items

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.dbb.requests import fill
from biasatlas.errors import UserError
from biasatlas.workflow.config import load_config
from biasatlas.workflow.preflight import check_preflight

KEYS = {
    "Age": "age",
    "Gender": "gender_and_sex",
    "Race": "race_ethnicity",
    "SES": "socioeconomic_class",
    "Religions": "religions",
}
HEADER = ["Context", "ans1", "ans2", "Label", "bias type1", "bias type2", "explanation", "bias_type", "target"]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """(files of the sample with descriptors, rows as the authors' notebook writes them): the last of a list has no name."""
    folder = tmp_path_factory.mktemp("dbb")
    path = folder / "data/descriptors.json"
    path.parent.mkdir()
    descriptors: dict = {}
    for item in read_items(files_of(SAMPLE)).head(50).to_dict("records"):
        text = item["descriptor_paper"].removeprefix("{name}").removeprefix("'s " if item["category"] == "Age" else "")
        descriptors.setdefault(KEYS[item["category"]], {}).setdefault(item["identity"].lower(), []).append([text])
    path.write_text(json.dumps(descriptors), encoding="utf-8")
    files = files_of(SAMPLE) | {"data/descriptors.json": path}
    items = read_items(files)
    filled = fill(items, RELEASED)
    rows = []
    for item, (context, one, two) in zip(
        items.to_dict("records"), filled[["context", "option_1", "option_2"]].itertuples(index=False), strict=True
    ):
        if item["type"] == "SES 2":
            context = item["context"].replace("[[X]]", item["descriptor_file"].replace("{name}", ""))
        rows.append([context, one, two, 1, item["concept_1"], item["concept_2"], "why", item["bias_type"], ""])
    return files, items, pd.DataFrame(rows, columns=HEADER)


def with_dataset(files, rows, path):
    rows.to_csv(path, index=False)
    return read_items(files | {"dataset": path})


def test_the_authors_rows_are_measured_as_they_stand_in_any_order(dataset, tmp_path):
    files, plain, rows = dataset
    items = with_dataset(files, rows.sample(frac=1, random_state=3), tmp_path / "Bias-Dataset.csv")
    assert (items["fault"] == plain["fault"]).all()
    asked = fill(items, RELEASED)
    assert list(asked["context"]) == list(rows["Context"])
    assert list(asked["option_2"]) == list(rows["ans2"])
    named = items["named"] & (items["type"] != "SES 2")
    assert (items["filled_name"] != "").equals(named)
    requests = build_requests(items, "MCQ", ["SES"], RELEASED)
    assert all(
        text in message
        for text, message in zip(
            asked[items["category"] == "SES"]["context"],
            requests["messages"].map(lambda m: json.loads(m)[-1]["content"]),
            strict=True,
        )
    )


def test_rows_that_are_missing_doubled_or_strange_are_told(dataset, tmp_path, caplog):
    files, plain, rows = dataset
    damaged = pd.concat([rows.iloc[1:], rows.iloc[[5, 6]], rows.iloc[[7]].assign(Context="Nobody knows.")])
    with caplog.at_level(logging.WARNING):
        items = with_dataset(files, damaged, tmp_path / "Bias-Dataset.csv")
    assert "1 rows are no question, first line 2003: 'Nobody knows.'; 2 are there twice" in caplog.text
    assert list(items["item_id"][items["fault"] != plain["fault"]]) == [plain["item_id"][0]]
    assert items["fault"][0] == "Bias-Dataset.csv: no row of this question"


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda text: text.replace("bias type2", "bias", 1), "no column 'bias type2'"),
        (lambda text: text.replace(",", ";"), "Separate cells by commas, not by ';'"),
        (lambda text: text.replace("The ", "An unknown "), ""),
        (lambda text: "PK", "no column 'Context'"),
    ],
)
def test_a_damaged_dataset_is_refused_in_a_sentence(dataset, tmp_path, damage, says):
    files, _, rows = dataset
    path = tmp_path / "Bias-Dataset.csv"
    path.write_text(damage(rows.to_csv(index=False)), encoding="utf-8")
    if says:
        with pytest.raises(UserError, match=says):
            read_items(files | {"dataset": path})
    else:
        assert (read_items(files | {"dataset": path})["fault"] != "").any()


def test_a_dataset_of_other_questions_is_refused(dataset, tmp_path):
    files, _, rows = dataset
    with pytest.raises(UserError, match="none of its 2000 rows is a question of DBB"):
        with_dataset(files, rows.assign(Context="x " + rows["Context"]), tmp_path / "other.csv")


@pytest.fixture
def larger(dataset, tmp_path):
    """The larger set with the notebook's slip: ten rows for each question, with the options of template ``id % 50``."""
    files, items, rows = dataset
    path = tmp_path / "Bias-Dataset-More-Samples.zip"
    with zipfile.ZipFile(path, "w") as archive:
        number, draw = np.divmod(np.arange(10 * len(items)), 10)
        said = [f"{'He' if n // 50 % 2 else 'She'} one {n % 50}.{d}" for n, d in zip(number, draw, strict=True)]
        more = rows.iloc[number].assign(id=number, ans1=said)
        archive.writestr("More.csv", more.to_csv(index=False))
    return files | {"dataset": path}


def test_the_larger_set_is_asked_as_it_stands_and_its_slip_is_counted(larger, caplog):
    with caplog.at_level(logging.WARNING):
        items = read_items(larger)
    assert (
        "of 1950 questions after the first template's, 0 have the options of their own, 1950 of template id % 50"
        in (caplog.text)
    )
    requests = build_requests(items, "SG", ["Age"], RELEASED)
    first = requests[requests["item_id"] == requests["item_id"].iloc[0]]
    assert list(first.loc[first["option"] == 1, "continuation"]) == [f"She one 0.{draw}" for draw in range(10)]
    assert len(first) == 20


def test_a_larger_set_without_the_slip_is_told_from_one_with_it(larger, tmp_path, caplog):
    with zipfile.ZipFile(larger["dataset"]) as archive, archive.open("More.csv") as file:
        more = pd.read_csv(file)
    more["ans1"] = [f"He one {n // 50}.{place % 10}" for place, n in enumerate(more["id"])]
    more.to_csv(tmp_path / "more.csv", index=False)
    with caplog.at_level(logging.WARNING):
        read_items(larger | {"dataset": tmp_path / "more.csv"})
    assert "1950 have the options of their own, 0 of template id % 50" in caplog.text


def replies(rows, number):
    """A reply a row: the first option of every third row, a refusal of every seventh, else the second."""
    said = ["a) " + row.ans1 if n % 3 == number % 3 else "b) " + row.ans2 for n, row in enumerate(rows.itertuples())]
    return ["I'm sorry, I can't answer that." if n % 7 == 0 else text for n, text in enumerate(said)]


def read(files, items, column="", protocol=RELEASED):
    requests = build_requests(items, "MCQ", ["Age", "SES"], protocol)
    return requests, registry.formats("dbb")["replies"](files, items, requests, "MCQ", column=column)


LAYOUTS = {
    "a column of lists in a zip": lambda rows, path: _zipped(
        rows.assign(responses=[repr(list(of)) for of in zip(*(replies(rows, n) for n in range(3)), strict=True)]), path
    ),
    "numbered columns": lambda rows, path: rows.assign(**{f"reply_{n}": replies(rows, n) for n in range(3)}).to_csv(
        path / "r.csv"
    ),
    "rows of JSON, in another order": lambda rows, path: (
        pd.concat([rows.assign(answer=replies(rows, n)) for n in range(3)])
        .sample(frac=1, random_state=1)
        .to_json(path / "r.jsonl", orient="records", lines=True)
    ),
}


def _zipped(rows, path):
    with zipfile.ZipFile(path / "GPT-4o-results.zip", "w") as archive:
        archive.writestr("results/gpt.csv", rows.to_csv(index=False))
        archive.writestr("results/questions.csv", rows.drop(columns="responses").to_csv(index=False))
        archive.writestr("results/summary.csv", "bias_type,share\nage,0.3\n")
        archive.writestr("results/notes.txt", "no table")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_replies_are_matched_by_content_in_every_layout(dataset, tmp_path, layout, caplog):
    _, items, rows = dataset
    LAYOUTS[layout](rows, tmp_path)
    with caplog.at_level(logging.WARNING):
        requests, responses = read(files_of(tmp_path), items)
    assert ("results/summary.csv is not understood" in caplog.text) == (layout == "a column of lists in a zip")
    place = dict(zip(items["item_id"], range(len(items)), strict=True))
    for item_id, response in zip(requests["item_id"], responses.to_dict("records"), strict=True):
        refused = place[item_id] % 7 == 0
        first, second = json.loads(response["probabilities"])
        assert (first, second, response["refused"]) == pytest.approx((0, 0, 1) if refused else (1 / 3, 2 / 3, 0))
        assert len(json.loads(response["replies"])) == 3


def test_letters_are_choices_and_strangers_are_counted(dataset, tmp_path, caplog):
    _, items, rows = dataset
    letters = rows.assign(choice=["A" if n % 2 else "b" for n in range(len(rows))])
    strange = letters.iloc[[0]].assign(Context="Nobody knows.")
    pd.concat([letters.iloc[2:], strange]).to_csv(tmp_path / "mine.csv", index=False)
    with caplog.at_level(logging.WARNING):
        requests, responses = read(files_of(tmp_path), items)
    assert "1 rows are no question of DBB, left out, first mine.csv, line 2000" in caplog.text
    assert list(responses["detail"].iloc[:2]) == ["no row"] * 2
    chosen = responses["probabilities"].dropna().map(json.loads).map(lambda of: of[0])
    numbers = requests["item_id"].map(dict(zip(items["item_id"], range(len(items)), strict=True)))
    assert (chosen == (numbers[chosen.index] % 2)).all()


@pytest.mark.parametrize(
    ("change", "column", "says"),
    [
        (lambda rows: rows.assign(reply="a) x", output="b) y"), "", "replies may be in output, reply. Name one"),
        (lambda rows: rows.assign(reply="a) x"), "said", "no column 'said'"),
        (lambda rows: rows, "", "no column of replies; it has"),
        (lambda rows: rows.assign(reply="yes"), "", "no reply names an option, as 'yes'"),
        (lambda rows: rows.assign(reply="a) x").drop(columns="ans1"), "", "no column 'ans1'"),
        (lambda rows: rows.assign(reply="a) x", Context="other"), "", "none of 2000 rows is a question of DBB"),
    ],
)
def test_damaged_replies_are_refused_in_a_sentence(dataset, tmp_path, change, column, says):
    _, items, rows = dataset
    change(rows).to_csv(tmp_path / "mine.csv", index=False)
    with pytest.raises(UserError, match=says):
        read(files_of(tmp_path), items, column)


def test_a_wrong_zip_is_refused_in_a_sentence(dataset, tmp_path):
    files, items, _ = dataset
    path = tmp_path / "GPT-4o-results.zip"
    cut = (b"PK\x03\x04\x14", "or a part of one. Fetch it again")
    for content, says in ((b"<html>", "a web page"), (b"no zip at all", "no zip archive"), cut):
        path.write_bytes(content)
        with pytest.raises(UserError, match=says):
            read({path.name: path}, items)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("photos/one.png", b"x")
    with pytest.raises(UserError, match="it holds no CSV or JSON"):
        read({path.name: path}, items)
    with pytest.raises(UserError, match="it holds no CSV"):
        read_items(files | {"dataset": path})


def test_scores_count_the_draws_that_a_file_has(dataset, tmp_path):
    """Three draws a question, where the protocol asks for ten: they are frequencies as they are, and not drawn again."""
    _, items, rows = dataset
    LAYOUTS["numbered columns"](rows, tmp_path)
    requests, responses = read(files_of(tmp_path), items)
    from biasatlas.resources import Resources

    scores = registry.score_responses("dbb")(items, requests, responses, "MCQ", "SES", RELEASED, Resources({}))
    assert set(scores["draws_1"].dropna()) == {3}
    assert set(scores["p_1"].dropna().round(6)) == {0.333333}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"Context;ans1;ans2\n1;2;3\n", "Separate cells by commas, not by ';'"),
        ("Context,ans1,ans2,bias type1,reply\n1,2,3,4,a\n".encode("utf-16"), "in UTF-16. Save it as UTF-8"),
        (b"Context,ans1,ans2,bias type1,reply\n1,2,3,4,a\n", "bias type2"),
        (b"PK\x03\x04", "zip"),
        (b"Context;ans1;ans2;bias type1;bias type2;reply\na, b;c;d;e;f;g\n", "Separate cells by commas, not by ';'"),
        (b"Context\tans1\tans2\nA, b\tc\td\n", "Separate cells by commas, not by '\\t'"),
    ],
)
def test_a_wrong_file_is_told_before_any_job(tmp_path, content, says):
    """As a spreadsheet saved by another program, or with a column less: by the key that names it."""
    path = tmp_path / "mine.csv"
    path.write_bytes(content)
    models = {"mine": {"kind": "released", "benchmark": "dbb", "path": str(path), "format": "replies"}}
    for section, key in (
        ({"models": models, "benchmarks": {"dbb": {"data": "sample"}}}, "models.mine.path: "),
        (
            {
                "models": {"known": {"kind": "simulated"}},
                "benchmarks": {"dbb": {"data": "sample", "files": {"dataset": str(path)}}},
            },
            "benchmarks.dbb.files.dataset: ",
        ),
    ):
        with pytest.raises(UserError) as error:
            check_preflight(load_config(section), "mine.yaml")
        assert key in str(error.value) and says in str(error.value) and len(str(error.value).splitlines()) == 1


def test_a_folder_of_questions_is_looked_at_before_any_job(tmp_path):
    """One column less than the templates have."""
    for name, path in files_of(SAMPLE).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(path.read_bytes())
    config = load_config(
        {"models": {"m": {"kind": "simulated"}}, "benchmarks": {"dbb": {"data": str(tmp_path), "tasks": ["MCQ"]}}}
    )
    check_preflight(config, "mine.yaml")
    (path,) = tmp_path.glob("Questions/*_all_data_questions*.csv")
    pd.read_csv(path).drop(columns="s2").to_csv(path, index=False)
    with pytest.raises(UserError, match=r"benchmarks\.dbb\.data: .*line 1: no column 's2'"):
        check_preflight(config, "mine.yaml")
