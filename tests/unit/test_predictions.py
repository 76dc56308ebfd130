"""A user's own predictions: written in each format by a model of known answers, they are read as those answers."""

import csv
import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import ROOT

from biasatlas.benchmarks import registry
from biasatlas.columns import RESPONSE_COLUMNS
from biasatlas.errors import UserError
from biasatlas.files import write_responses
from biasatlas.resources import Resources
from biasatlas.sources import names_in, raw_files
from biasatlas.workflow.config import load_config
from biasatlas.workflow.preflight import check_preflight

UNKNOWN = ("Unknown", "Cannot answer", "Can't be determined", "Not known", "Not enough info")


def asked(benchmark, task, protocol="recommended"):
    """Items of a sample, and the requests of a task."""
    folder = ROOT / "resources/samples" / registry.load_spec(benchmark).sample
    files = raw_files(names_in(folder), [folder / name for name in names_in(folder)])
    shipped = [*registry.resource_names(benchmark, "items"), *registry.resource_names(benchmark, "requests")]
    resources = Resources({name: ROOT / "resources" / name for name in shipped})
    items = registry.read_items(benchmark)(files, resources)
    spec = registry.load_spec(benchmark)
    options = registry.load_options(benchmark, protocol)
    return items, registry.build_requests(benchmark)(items, task, spec.tasks[task].categories, options, resources)


def read(benchmark, task, format, files, column=""):
    items, requests = asked(benchmark, task)
    responses = registry.formats(benchmark)[format](files, items, requests, task, column=column)
    assert list(responses["request_id"]) == list(requests["request_id"])
    return items, requests, responses


def documents(items):
    """BBQ's questions as their authors wrote them, by item."""
    for path in sorted((ROOT / "resources/samples/bbq/data").glob("*.jsonl")):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            yield items.set_index("item_id").loc[f"{row['category']}/{row['example_id']}"], row


def choose(item, row):
    """An answer that differs from item to item: the option of A, B, C that the item's number points at."""
    return "ABC"[row["example_id"] % 3]


def write_unifiedqa(folder, items):
    by_category = {}
    for item, row in documents(items):
        answer = row[f"ans{'ABC'.index(choose(item, row))}"]
        by_category.setdefault(row["category"], []).append(row | {"mine_pred": answer.upper()})
    for category, rows in by_category.items():
        (folder / f"preds_{category}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_option_scores(folder, items):
    with (folder / "df.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["index", "ans0", "ans1", "ans2", "model", "cat"])
        for item, row in documents(items):
            scores = [float(label == choose(item, row)) for label in "ABC"]
            writer.writerow([row["example_id"], *scores, "mine", row["category"]])
            writer.writerow([row["example_id"], 1, 2, 3, "other", row["category"]])


def sample(prompt, choices, scores):
    """As lm-evaluation-harness logs it: numbers are text, and what is asked stands under arguments."""
    answers = [[str(float(score)), "False"] for score in scores]
    arguments = {f"gen_args_{k}": {"arg_0": prompt, "arg_1": choice} for k, choice in enumerate(choices)}
    row = {"doc_id": 0, "doc": {}, "target": 0, "arguments": arguments, "resps": [answers], "filtered_resps": answers}
    return json.dumps(row | {"filter": "none", "other_metric": float("nan")}) + "\n"


def write_lm_eval_bbq(folder, items):
    lines = []
    for item, row in documents(items):
        people = [label for label in "ABC" if label != item["unknown"]]
        wanted = choose(item, row)
        scores = [-5.0 if label == wanted else -9.0 for label in people]
        scores += [-4.0 if wanted == item["unknown"] and text == "Not known" else -9.5 for text in UNKNOWN]
        choices = [f" {text}" for text in (*item[people], *UNKNOWN)]
        lines.append(sample(f"{row['context']}\n\nQ: {row['question']}\nA:", choices, scores))
    (folder / "samples_bbq_multiple_choice_2026.jsonl").write_text("".join(lines))


@pytest.mark.parametrize(
    ("format", "write", "column"),
    [
        ("unifiedqa", write_unifiedqa, ""),
        ("option_scores", write_option_scores, "mine"),
        ("log", write_lm_eval_bbq, ""),
    ],
)
def test_answers_to_bbq(tmp_path, format, write, column):
    items, _ = asked("bbq", "question")
    write(tmp_path, items)
    files = {path.name: path for path in tmp_path.iterdir()}
    items, requests, responses = read("bbq", "question", format, files, column)
    assert set(responses["status"]) == {"ok"}
    expected = {item.name: choose(item, row) for item, row in documents(items)}
    found = ["ABC"[np.argmax(json.loads(values))] for values in responses["probabilities"]]
    assert found == [expected[item_id] for item_id in requests["item_id"]]


def test_several_models_in_a_table_need_a_name(tmp_path):
    write_option_scores(tmp_path, asked("bbq", "question")[0])
    with pytest.raises(UserError, match="it has the models mine, other"):
        read("bbq", "question", "option_scores", {"df.csv": tmp_path / "df.csv"})


def preferred(number):
    """Log-likelihoods of the more and the less stereotypical sentence of a pair."""
    return (-10.0, -12.5) if number % 3 else (-12.5, -10.0)


def write_score_table(folder, items):
    rows = [
        {
            "": item.item_id,
            "sent_more": item.more,
            "sent_less": item.less,
            "sent_more_score": preferred(number)[0],
            "sent_less_score": preferred(number)[1],
            "score": int(preferred(number)[0] > preferred(number)[1]),
            "stereo_antistereo": item.direction,
            "bias_type": item.category,
        }
        for number, item in enumerate(items.itertuples())
    ]
    pd.DataFrame(rows).to_csv(folder / "mine.csv", index=False)


def write_lm_eval_pairs(folder, items):
    lines = [sample("", [item.more, item.less], preferred(number)) for number, item in enumerate(items.itertuples())]
    other = sample("", ["of no item", "of none"], [-1, -2])
    (folder / "samples_crows_pairs_english_2026.jsonl").write_text("".join([*lines, other]))


@pytest.mark.parametrize(("format", "write"), [("score_table", write_score_table), ("log", write_lm_eval_pairs)])
def test_likelihoods_of_pairs(tmp_path, format, write, caplog):
    write(tmp_path, asked("crows_pairs", "pair")[0])
    files = {path.name: path for path in tmp_path.iterdir()}
    items, requests, responses = read("crows_pairs", "pair", format, files)
    # Scores of the tokens that both texts share say what their ends are asked for; scores of whole texts do not.
    ends = requests["label"].str.endswith("_end")
    assert set(responses.loc[ends, "status"]) == {"ok" if format == "score_table" else "not_applicable"}
    requests = requests[~ends] if format == "log" else requests
    responses = responses.loc[requests.index]
    assert set(responses["status"]) == {"ok"}
    numbers = {item_id: number for number, item_id in enumerate(items["item_id"])}
    places = requests["label"].map({"more": 0, "less": 1, "more_end": 0, "less_end": 1})
    expected = [preferred(numbers[item])[place] for item, place in zip(requests["item_id"], places, strict=True)]
    assert list(responses["log_likelihood"]) == expected
    assert ("left out: of no item / of none" in caplog.text) == (format == "log")


def test_scores_of_stereoset_s_sentences(tmp_path):
    task = "intrasentence"
    _, requests = asked("stereoset", task)
    requests = requests[requests["sentence_id"] != ""]
    scores = {sentence: (number + 1) / 1000 for number, sentence in enumerate(requests["sentence_id"])}
    path = tmp_path / "predictions_Mine.json"
    path.write_text(json.dumps({task: [{"id": key, "score": score} for key, score in scores.items()]}))
    _, requests, responses = read("stereoset", task, "predictions", {path.name: path})
    # No file has the sentences with another target.
    published = requests["sentence_id"] != ""
    assert set(responses.loc[~published, "status"]) == {"not_applicable"}
    requests, responses = requests[published], responses[published]
    assert set(responses["status"]) == {"ok"}
    assert np.allclose(np.exp(-responses["nll_per_token"]), requests["sentence_id"].map(scores))


def test_responses_of_another_run(tmp_path, caplog):
    _, requests = asked("crows_pairs", "pair_choice")
    answers = pd.DataFrame(
        {
            "request_id": [*requests["request_id"][1:], "another"],
            "repeat": 0,
            "status": "ok",
            "detail": "",
            "probabilities": "[0.75, 0.25]",
            **dict.fromkeys(("refused", "ambiguous", "unparseable", "unresolved"), 0.0),
            "replies": None,
        }
    )
    path = tmp_path / "recommended.parquet"
    write_responses({"pair_choice": (answers, "choice", {})}, path)
    _, _, responses = read("crows_pairs", "pair_choice", "responses", {path.name: path})
    assert list(responses["status"]) == ["failed", *["ok"] * (len(requests) - 1)]
    assert responses["detail"].iloc[0] == "no response"
    assert "1 requests that are no item's, left out: another" in caplog.text
    with pytest.raises(UserError, match="none of its 0 responses to task pair is to one of the"):
        read("crows_pairs", "pair", "responses", {path.name: path})
    answers.to_parquet(tmp_path / "foreign.parquet")
    (tmp_path / "cut.parquet").write_bytes(path.read_bytes()[:-20])
    (tmp_path / "junk.parquet").write_bytes(b"PAR1xx")
    for name in ("foreign", "cut", "junk"):
        with pytest.raises(UserError, match=rf"{name}\.parquet: damaged, or no file of responses\. Copy"):
            read("crows_pairs", "pair", "responses", {f"{name}.parquet": tmp_path / f"{name}.parquet"})


TASKS = [(name, task) for name in registry.benchmark_names() for task in registry.load_spec(name).tasks]


@pytest.mark.parametrize(("benchmark", "task"), TASKS)
def test_a_category_that_the_data_lack_has_no_scores(benchmark, task):
    items, requests = asked(benchmark, task)
    declared = registry.load_spec(benchmark).tasks[task]
    responses = pd.DataFrame(columns=list(RESPONSE_COLUMNS[declared.kind]))
    resources = Resources({name: ROOT / "resources" / name for name in registry.resource_names(benchmark, "scores")})
    scores = registry.score_responses(benchmark)(
        items[:0],
        requests[:0],
        responses,
        task,
        declared.categories[0],
        registry.load_options(benchmark, "recommended"),
        resources,
        responses if declared.judged else None,
    )
    assert len(scores) == 0
    assert set(declared.scores) <= set(scores.columns)


def test_the_configurations_of_the_page_are_read_as_they_are_printed(tmp_path, monkeypatch):
    """docs/own.md, with data and predictions where it says that they are."""
    shutil.copytree(ROOT / "resources/samples/bbq", tmp_path / "mine")
    (tmp_path / "out/my-model").mkdir(parents=True)
    write_lm_eval_pairs(tmp_path / "out/my-model", asked("crows_pairs", "pair")[0])
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/bbq.eval").write_bytes(b"")
    (tmp_path / "predictions.json").write_text('{"intrasentence": [], "intersentence": []}')
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/own.md").read_text(), re.DOTALL)
    data, predictions, logs = (load_config(yaml.safe_load(block)) for block in blocks)
    for config in (data, predictions, logs):
        check_preflight(config, "config.yaml")
    assert data.benchmarks["bbq-mine"].folder == "./mine"
    assert {name: list(entry.files) for name, entry in predictions.models.items()} == {
        "theirs": ["predictions.json"],
        "harness": ["out/my-model/samples_crows_pairs_english_2026.jsonl"],
    }
    assert {name: list(entry.files) for name, entry in logs.models.items()} == {
        "by-lm-eval": ["out/my-model/samples_crows_pairs_english_2026.jsonl"],
        "by-inspect": ["logs/bbq.eval"],
    }
