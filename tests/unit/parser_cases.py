"""Every parser of files that people bring: a valid set of files for it, and how it is called."""

import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd
import standins

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.dbb import dataset
from biasatlas.benchmarks.dbb.dataset import SOURCE_COLUMNS, read_rows
from biasatlas.benchmarks.stereoset.spec import SENTENCES
from biasatlas.benchmarks.twbias.spec import PROMPT_TYPES
from biasatlas.resources import Resources

SAMPLES = ROOT / "resources" / "samples"
PUBLISHED = Resources.shipped("published/*").published

#: Upstream path -> local path.
Files = dict[str, Path]


@dataclass(frozen=True)
class FileParser:
    """``write`` puts valid files below a folder; ``read`` makes a table from them.

    ``columns`` are those of the table; the ``texts`` among them have a text in every row. ``file`` is the one that has
    the rows; ``rows`` counts them, and each must be in the table (``per_row`` times) unless the parser says why not.
    """

    write: Callable[[Path], Files]
    read: Callable[[Files], pd.DataFrame]
    file: str
    columns: tuple[str, ...]
    texts: tuple[str, ...]
    rows: Callable[[Path], int] | None = None
    per_row: int = 1


def resources(benchmark: str, step: str) -> Resources:
    return standins.resources(benchmark, *registry.resource_names(benchmark, step))


def copied(benchmark: str, *names: str) -> Callable[[Path], Files]:
    """A function that copies these files of a sample."""

    def write(folder: Path) -> Files:
        files = {name: folder / name for name in names}
        for name, path in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(SAMPLES / benchmark / name, path)
        return files

    return write


def sample_names(benchmark: str) -> list[str]:
    folder = SAMPLES / benchmark
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def write_csv(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def csv_rows(path: Path) -> int:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return sum(any(row) for row in csv.reader(file)) - 1


def text_lines(path: Path) -> int:
    return sum(bool(line.strip()) for line in path.open(encoding="utf-8-sig", newline=""))


def items_parser(benchmark: str, names: list[str], file: str, texts: tuple[str, ...], **counts) -> FileParser:
    spec = registry.load_spec(benchmark)
    return FileParser(
        write=copied(benchmark, *names),
        read=lambda files: registry.read_items(benchmark)(files, resources(benchmark, "items")),
        file=file,
        columns=tuple(spec.items),
        texts=("item_id", *texts),
        **counts,
    )


# Files of items that no sample has


def write_stereoset_table(folder: Path) -> Files:
    data = json.loads((SAMPLES / "stereoset/data/dev.json").read_text(encoding="utf-8"))["data"]
    rows = [
        {
            "dataset_type": task,
            "cluster_id": example["id"],
            **{key: example[key] for key in ("bias_type", "target", "context")},
            "sentence": sentence["sentence"],
            "sentence_id": sentence["id"],
            "gold_label": sentence["gold_label"],
        }
        for task, examples in data.items()
        for example in examples
        for sentence in example["sentences"]
    ]
    write_csv(folder / "ptbr_llm.csv", rows)
    return {"ptbr_llm.csv": folder / "ptbr_llm.csv"}


DESCRIPTORS = {
    "name": {"female": [["Jessica", "She", "Her"]]},
    "age": {"young": [["The young man", "He", "His"]], "old": [["The old man", "He", "His"]]},
    "religions": {"muslim": ["Kai, who is a Muslim,"]},
}


def write_dbb(folder: Path) -> Files:
    files = copied("dbb", *sample_names("dbb"))(folder)
    files["data/descriptors.json"] = folder / "data/descriptors.json"
    files["data/descriptors.json"].parent.mkdir()
    files["data/descriptors.json"].write_text(json.dumps(DESCRIPTORS, indent=1), encoding="utf-8")
    own = shutil.copyfile(files["Questions/sample_all_data_more_contexts_questions.csv"], folder / "own.csv")
    return files | {"variations": own}


# Published outputs


@cache
def asked(benchmark: str, task: str, category: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Items of the sample, and the requests that published outputs answer."""
    folder = SAMPLES / benchmark
    files = {name: folder / name for name in sample_names(benchmark)}
    items = registry.read_items(benchmark)(files, resources(benchmark, "items"))
    options, given = registry.load_options(benchmark, "released"), resources(benchmark, "requests")
    return items, registry.build_requests(benchmark)(items, task, [category], options, given)


def released_parser(
    benchmark: str, name: str, task: str, category: str, write: Callable[[Path], Files], file: str
) -> FileParser:
    def read(files: Files) -> pd.DataFrame:
        return registry.import_responses(benchmark)(name, files, *asked(benchmark, task, category), task)

    requests = asked(benchmark, task, category)[1]
    value = {"bbq": "probabilities", "crows_pairs": "log_likelihood"}.get(benchmark, "nll_per_token")
    return FileParser(
        write,
        read,
        file,
        columns=("request_id", "repeat", "status", "detail", value),
        texts=("request_id", "status"),
        rows=lambda path: len(requests),
    )


def write_bbq_predictions(folder: Path) -> Files:
    path = folder / "preds_Age.jsonl"
    lines = (SAMPLES / "bbq/data/Age.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) | {"unifiedqa-t5-11b_pred_arc": "the old lady"} for line in lines]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return {"results/UnifiedQA/preds_Age.jsonl": path}


def write_crows_pairs_scores(folder: Path) -> Files:
    path = folder / "bert_crows_score.csv"
    items = asked("crows_pairs", "pair", "gender")[0]
    rows = [
        {
            "": item.item_id,
            "sent_more": item.more,
            "sent_less": item.less,
            "sent_more_score": -1.25,
            "sent_less_score": -2.5,
            "score": 1,
            "stereo_antistereo": item.direction,
            "bias_type": item.category,
        }
        for item in items.itertuples()
    ]
    write_csv(path, rows)
    return {path.name: path}


def write_stereoset_predictions(folder: Path) -> Files:
    path = folder / "predictions_gpt2_A_B.json"
    items = asked("stereoset", "intrasentence", "race")[0]
    ids = items[[f"{label}_id" for label in SENTENCES]].stack()
    path.write_text(json.dumps({"intrasentence": [{"id": name, "score": 0.25} for name in ids]}), encoding="utf-8")
    return {f"code/predictions/{path.name}": path}


def write_twbias_perplexities(folder: Path) -> Files:
    items = asked("twbias", "perplexity", "female-male")[0].query("target_group == 'female'")
    files = {}
    for number in range(len(PROMPT_TYPES)):
        name = f"data/gender/result_wo_outliers/tiny/Female_T1/tiny_Female_T1_output_{number}.csv"
        rows = [
            {
                "Sentence ID": item.item_id.partition("-")[2],
                "Biased Sentences": item.sentence,
                "origin_ppl": 20.5,
                "replace_ppl": 30.25 + number,
            }
            for item in items.itertuples()
        ]
        files[name] = folder / Path(name).name
        write_csv(files[name], rows)
    return files


# Files of the user's own


def own_csv(name: str, rows: list[dict]) -> Callable[[Path], Files]:
    def write(folder: Path) -> Files:
        write_csv(folder / name, rows)
        return {name: folder / name}

    return write


def mcbe_table(name: str, file: str) -> Callable[[Files], pd.DataFrame]:
    options = registry.load_options("mcbe", "recommended")
    return lambda files: registry.tables("mcbe")[name](files[file], options, PUBLISHED, {})


ANNOTATIONS = [
    {"category": "age", "item_id": item, "rater": rater, "severity": 2 * item + rater}
    for item in range(4)
    for rater in range(2)
]
RATINGS = [
    {"model_a": "x", "model_b": "y", "item_id": item, "judge": "ab"[item % 2], "human": "a"} for item in range(4)
]
SOFA = [{"id": number, "category": "gender", "target": "['men']", "stereotype": f"are {number}"} for number in range(4)]
SHEET = [{"id": number, "Context": "[[X]] sat."} | dict.fromkeys(dataset.CRITERIA, "yes") for number in range(4)]

TABLE = ("metric", "value", "n")
SENTENCES_OF_DBB = "Questions/sample_all_data_questions.csv"

PARSERS = {
    "bbq": items_parser(
        "bbq",
        ["data/Age.jsonl", "analysis_scripts/additional_metadata.csv"],
        "data/Age.jsonl",
        ("template", "context", "question", "A", "B", "C", "gold", "unknown", "polarity", "condition", "label_type"),
        rows=text_lines,
    ),
    "crows_pairs": items_parser(
        "crows_pairs",
        sample_names("crows_pairs"),
        "data/crows_pairs_anonymized.csv",
        ("category", "direction", "more", "less"),
        rows=csv_rows,
    ),
    "stereoset": items_parser(
        "stereoset",
        ["data/dev.json"],
        "data/dev.json",
        ("task", "category", "target", "context", *SENTENCES),
        rows=lambda path: sum(map(len, json.loads(path.read_text(encoding="utf-8-sig"))["data"].values())),
    ),
    "stereoset table": FileParser(
        write_stereoset_table,
        lambda files: registry.read_items("stereoset")(files, resources("stereoset", "items")),
        "ptbr_llm.csv",
        tuple(registry.load_spec("stereoset").items),
        ("item_id", "task", "category", "target", "context", *SENTENCES),
        rows=lambda path: csv_rows(path) / 3,
    ),
    "twbias": items_parser(
        "twbias",
        [name for name in sample_names("twbias") if name.endswith(".csv")],
        "data/gender/label_data_female.csv",
        ("target_group", "sentence", "platform", "attribute_categories", "swaps"),
        rows=lambda path: csv_rows(path) + sum(csv_rows(other) for other in path.parents[1].rglob("label_data_[!f]*")),
    ),
    "dbb": FileParser(
        write_dbb,
        lambda files: registry.read_items("dbb")(files, resources("dbb", "items")),
        SENTENCES_OF_DBB,
        tuple(registry.load_spec("dbb").items),
        ("item_id", "template_id", "variations_1", "variations_2", "descriptor_paper"),
        rows=csv_rows,
        per_row=50,
    ),
    "mcbe": items_parser(
        "mcbe",
        sample_names("mcbe"),
        "gender.xlsx",
        ("category", "sentence", "words", "subcategory", "explanation"),
    ),
    "bbq released": released_parser(
        "bbq", "unifiedqa_arc", "question", "Age", write_bbq_predictions, "results/UnifiedQA/preds_Age.jsonl"
    ),
    "crows_pairs released": released_parser(
        "crows_pairs", "bert", "pair", "gender", write_crows_pairs_scores, "bert_crows_score.csv"
    ),
    "stereoset released": released_parser(
        "stereoset",
        "gpt2",
        "intrasentence",
        "race",
        write_stereoset_predictions,
        "code/predictions/predictions_gpt2_A_B.json",
    ),
    "twbias released": released_parser(
        "twbias",
        "tiny",
        "perplexity",
        "female-male",
        write_twbias_perplexities,
        "data/gender/result_wo_outliers/tiny/Female_T1/tiny_Female_T1_output_3.csv",
    ),
    "annotations": FileParser(
        own_csv("annotations.csv", ANNOTATIONS),
        mcbe_table("annotator_agreement", "annotations.csv"),
        "annotations.csv",
        ("category", *TABLE),
        ("category",),
    ),
    "ratings": FileParser(
        own_csv("ratings.csv", RATINGS),
        mcbe_table("judge_agreement", "ratings.csv"),
        "ratings.csv",
        ("model_a", "model_b", *TABLE),
        ("model_a", "model_b"),
    ),
    "sofa": FileParser(
        own_csv("sofa.csv", SOFA),
        lambda files: read_rows("sofa", files),
        "sofa.csv",
        tuple(SOURCE_COLUMNS),
        ("row_id", "form", "stereotype"),
        rows=lambda path: len({cells[3] for cells in [*csv.reader(path.open(encoding="utf-8-sig"))][1:] if any(cells)}),
    ),
    "evaluation": FileParser(
        own_csv("evaluation.csv", SHEET),
        lambda files: dataset.summarise_evaluation(dataset.read_evaluation(files["evaluation.csv"])),
        "evaluation.csv",
        ("criterion", "value", "n", "missing"),
        ("criterion",),
    ),
}
