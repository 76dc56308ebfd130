"""What DBB's construction reads and writes: the items it starts from, its prompts, the data set, its manual evaluation.

Prompts come from three sources: ours, which ship; the authors' files; the paper's tables. Placeholders are
``[[field]]``, with a field of the row; ``[[X]]`` is left for the writer. "{concept}" and the like in a prompt of the
authors' code become such placeholders, too.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.dbb import CONSTRUCTED_FILES, CONSTRUCTION_STEPS
from biasatlas.benchmarks.dbb.construct import start
from biasatlas.benchmarks.dbb.requests import released as released_file
from biasatlas.benchmarks.shared.templates import formatted_strings
from biasatlas.benchmarks.stereoset.items import read_examples
from biasatlas.errors import UserError
from biasatlas.resources import Resources
from biasatlas.userfiles import check_texts, read_csv_rows, shown

#: ``row_id`` is source and item id. ``form`` says which prompts apply: "sentences" (a stereotype and its opposite),
#: "question" (with its context) or "stereotype" (with its targets). Texts that a form does not have are empty.
SOURCE_COLUMNS = str.split("row_id form bias_type target sentence_1 sentence_2 context_source question stereotype")

#: Reading the other benchmarks' items needs no shipped files.
_NONE = Resources({})

FOLDER = "prompts/dbb/construct"

#: Prompt -> the released file with that template. The check of concepts and SOFA's summary are in the authors' code;
#: the check of the three sentences is in no fetched file.
_FILES = {
    "quality_filter": "filter_questions",
    "bias_summary_sentences": "analysis_1",
    "bias_summary_question": "summarize_bias",
    "raw_concepts_sentences": "analysis_2",
    "raw_concepts_question": "analysis_bbq",
    "raw_concepts_stereotype": "analysis_sofa",
    "context_and_first_option": "qa_generate1",
    "second_option": "qa_generate2",
    "nine_variations": "qa_generate2_more_sentences",
}
#: What follows a prompt: the row's own texts.
_ENDINGS = {
    "quality_filter": "Sentence 1: [[sentence_1]]\nSentence 2: [[sentence_2]]",
    "bias_summary_sentences": "Sentence 1: [[sentence_1]]\nSentence 2: [[sentence_2]]",
    "bias_summary_question": "Context: [[context_source]]\nQuestion: [[question]]",
    "bias_summary_stereotype": "Category: [[bias_type]]\n\nTargets: [[target]]\n\nStereotype: [[stereotype]]",
    "raw_concepts_sentences": "Context: [[explanation]]",
    "raw_concepts_question": "Question: [[question]]",
    "raw_concepts_stereotype": (
        "The biased description is: [[explanation]]\n\nTargets: [[target]]\n\n"
        "Stereotype (the given Concept1): [[stereotype]]"
    ),
}
_PARTS = re.compile(r"\n-{3,}\n")

#: Our columns -> upstream's where they differ, in the tables of questions and of concepts.
_QUESTION = {
    "context": "Context",
    "option_1": "s1",
    "option_2": "s2",
    "concept_1": "bias type1",
    "concept_2": "bias type2",
}
_CONCEPT = {"row_id": "id", "concept_1": "Concept1", "concept_2": "Concept2", "explanation": "Explanation"}

#: The paper's names of its four criteria of a good item -> what each means, in our words; the sheet asks yes or no.
CRITERIA = {
    "contextual_fluency": "The context is correct English that reads smoothly.",
    "context_option_coherence": "Each of the two options makes sense after the context.",
    "linguistic_naturalness": "Context and options sound like what people would write.",
    "semantic_alignment": "Each option shows its concept by what happens, and does not say it.",
}
#: Questions in the sheet.
_SHEET_SIZE = 100
_MARKS = {"yes": True, "y": True, "1": True, "no": False, "n": False, "0": False, "": None}


def read_rows(source: str, files: Mapping[str, str | Path]) -> pd.DataFrame:
    """Rows of ``source`` ("crows_pairs", "stereoset", "bbq" or "sofa"), columns :data:`SOURCE_COLUMNS`.

    ``files`` maps the source's upstream paths to paths on disk. CrowS-Pairs: every pair. StereoSet: the stereotype and
    the anti-stereotype of every item, after their context in intersentence items. BBQ: the negative questions in
    ambiguous contexts, each question once. SOFA: every stereotype once.

    Raises :class:`UserError` where a file of the source is missing or has another format.
    """
    if source not in _ROWS:
        raise UserError(f"source {source!r}: expected one of {', '.join(_ROWS)}.")
    rows = _ROWS[source]({name: Path(path) for name, path in files.items()})
    return rows.reindex(columns=SOURCE_COLUMNS, fill_value="").reset_index(drop=True)


def sample(rows: pd.DataFrame, size: int, seed: int) -> pd.DataFrame:
    """``size`` of ``rows`` drawn without replacement, as evenly over ``bias_type`` as possible, in their order.

    Types take turns, so none gets two rows more than another that has rows left. If there are fewer rows, all.
    """
    shuffled = rows.sample(frac=1, random_state=seed)
    turn = shuffled.groupby("bias_type", sort=False).cumcount()
    drawn = shuffled.assign(turn=turn).sort_values("turn", kind="stable").head(size)
    return rows.loc[drawn.index].sort_index()


def _rows(source: str, form: str, items: pd.DataFrame, **columns: str) -> pd.DataFrame:
    """Rows of a ``form`` from another benchmark's ``items``; ``columns`` maps our columns to theirs."""
    named = {"bias_type": "category", **columns}
    rows = {"row_id": f"{source}/" + items["item_id"], "form": form}
    return pd.DataFrame(rows | {ours: items[theirs] for ours, theirs in named.items()})


def _crows_pairs(files: Mapping[str, Path]) -> pd.DataFrame:
    items = registry.read_items("crows_pairs")(files, _NONE)
    return _rows("crows_pairs", "sentences", items, sentence_1="more", sentence_2="less")


def _stereoset(files: Mapping[str, Path]) -> pd.DataFrame:
    items = read_examples(files)
    follows = items["task"] == "intersentence"
    before = (items["context"] + " ").where(follows, "")
    items = items.assign(first=before + items["stereotype"], second=before + items["anti-stereotype"])
    rows = _rows("stereoset", "sentences", items, target="target", sentence_1="first", sentence_2="second")
    return pd.concat([rows[follows], rows[~follows]])  # upstream's order


def _bbq(files: Mapping[str, Path]) -> pd.DataFrame:
    items = registry.read_items("bbq")(files, _NONE).query("polarity == 'neg' and condition == 'ambig'")
    rows = _rows("bbq", "question", items, context_source="context", question="question")
    return rows.drop_duplicates("question")  # many items share a question


def _sofa(files: Mapping[str, Path]) -> pd.DataFrame:
    if len(files) != 1:
        raise UserError(f"SOFA: expected one CSV, found {len(files)} files. Name its table.")
    rows: dict[str, dict[str, str]] = {}
    for path in files.values():
        for where, row in read_csv_rows(path, ("id", "category", "target", "stereotype")):
            check_texts(where, row, ("id", "stereotype"))
            # Each stereotype is in thousands of the 1.5 million rows.
            of = {"row_id": f"sofa/{row['id']}", "form": "stereotype", "bias_type": row["category"]}
            rows.setdefault(row["stereotype"], of | {"target": row["target"], "stereotype": row["stereotype"]})
    return pd.DataFrame(list(rows.values()))


_ROWS = {"crows_pairs": _crows_pairs, "stereoset": _stereoset, "bbq": _bbq, "sofa": _sofa}


def read_prompts(resources: Resources, source: str = "ours") -> dict[str, str]:
    """Name -> whole prompt, with placeholders for a row's texts. Raises UserError for a file of another version."""
    ours = {PurePosixPath(name).stem: resources.text(name) for name in resources.below(FOLDER)}
    if source == "ours":
        return {name: _ended(name, text) for name, text in ours.items()}
    released = {name: _ended(name, released_file(file, resources)) for name, file in _FILES.items()}
    summary, check = _of_code(resources)
    if source == "released":
        return ours | released | {"bias_summary_stereotype": summary, "post_hoc_check": check}
    return _printed(released, summary, check)


def _ended(name: str, text: str) -> str:
    return text + ("\n\n" + _ENDINGS[name] if name in _ENDINGS else "")


def _of_code(resources: Resources) -> tuple[str, str]:
    """The prompts in the authors' code: SOFA's summary, and the check of two concepts."""
    path = resources.path("templates/dbb_code") / "src" / "concept_analysis.py"
    summaries = [parts for parts in formatted_strings(path, target="prompt_exp") if len(parts) == 4]
    checks = [parts for parts in formatted_strings(path, target="prompt_refine") if len(parts) == 4]
    if not summaries or not checks:
        raise UserError(f"{path}: it has not the prompts that are looked for. Fetch it again.")
    return _joined(summaries[0], "bias_type", "target", "stereotype"), _joined(
        checks[0], "explanation", "concept_1", "concept_2"
    )


def _joined(parts: list[str], *fields: str) -> str:
    names = [f"[[{field}]]" for field in fields]
    return "".join(text for pair in zip(parts, [*names, ""], strict=True) for text in pair).strip()


def _printed(released: dict[str, str], summary: str, check: str) -> dict[str, str]:
    """The prompts of Tables 12 to 15, after the lead sentence of appendix C.1; Table 13 has one for all sources."""
    lead, summary = summary.split("\n", 1)
    summary = summary.replace(" (the given Concept1)", "")
    summary = re.sub(r"^.*?, (\w)", lambda match: match[1].upper(), summary, count=1)
    concepts = _selected(released["raw_concepts_sentences"], 0, 1, -1)
    second = _selected(released["second_option"], 0, 3, 4)
    texts = {
        "bias_summary_sentences": _unled(released["bias_summary_sentences"]),
        "bias_summary_question": _unled(released["bias_summary_question"]),
        "bias_summary_stereotype": summary,
        **{f"raw_concepts_{form}": concepts for form in ("sentences", "question", "stereotype")},
        "post_hoc_check": _PARTS.sub("\n", _unled(check)).replace("biased ideas", "bias ideas"),
        "context_and_first_option": _selected(released["context_and_first_option"], 0, 3, 4),
        "second_option": re.sub(r'"\(IMPORTANT(?!.*"\(IMPORTANT)', '" (IMPORTANT', second, flags=re.DOTALL),
    }
    return {name: f"{lead}\n{text}" for name, text in texts.items()} | {
        "nine_variations": released["nine_variations"]  # the paper prints none
    }


def _unled(text: str) -> str:
    """``text`` without its first line, the file's own lead sentence."""
    return text.split("\n", 1)[1]


def _selected(text: str, *numbers: int) -> str:
    """The parts of ``text`` with these ``numbers``: instruction, one example, what is asked; no lead sentence."""
    parts = _PARTS.split(_unled(text))
    return "\n-----\n".join(parts[number].strip() for number in numbers)


def dataset_files(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Path in the dataset -> table, which :func:`biasatlas.benchmarks.dbb.items.read_items` reads.

    A row whose variations were rejected keeps its question; semi-generation reports that they are missing. Raises
    :class:`UserError` if no row has become a question.
    """
    finished = (rows["verdict"] != "rejected") | (rows["step"] == CONSTRUCTION_STEPS[-1])
    questions = rows[finished & (rows["option_2"] != "")].reset_index(drop=True)
    if questions.empty:
        reasons = rows["reason"].value_counts()
        raise UserError(
            f"construction: none of {len(rows)} rows has become a question; the most frequent reason is "
            f"{reasons.index[0]!r} ({reasons.iloc[0]} rows). Look at the writer's replies, or take another writer."
        )
    table = questions[[*_QUESTION, "explanation", "bias_type", "target"]].rename(columns=_QUESTION)
    concepts = questions[[*_CONCEPT, "bias_type", "target"]].rename(columns=_CONCEPT)
    variations = variations_table(questions.assign(id=range(len(questions))))
    return dict(zip(CONSTRUCTED_FILES, (table, variations, concepts), strict=True))


def template_rows(items: pd.DataFrame) -> pd.DataFrame:
    """The templates of ``items`` (as ``read_items`` gives them) as rows for the step "nine_variations" alone.

    For data without a variations file. ``id`` is the template's row in its file, from 0.
    """
    templates = items[items["fault"] == ""].drop_duplicates("template_id")
    rows = start(
        pd.DataFrame(
            {
                "row_id": "dbb/" + templates["template_id"],
                "form": "question",
                "bias_type": templates["bias_type"],
                "target": "",
                "id": templates["template_id"].str[1:].astype(int),
            }
        )
    )
    texts = ["concept_1", "concept_2", "context", "option_1", "option_2"]
    return rows.assign(**{name: templates[name] for name in texts}).reset_index(drop=True)


def variations_table(rows: pd.DataFrame) -> pd.DataFrame:
    """The variations of rows with an ``id`` in upstream's format, ten rows for each; a row without them is left out."""
    table = [
        (row.id, row.context, *pair, row.concept_1, row.concept_2)
        for row in rows.itertuples()
        if row.variations_1
        for pair in zip(json.loads(row.variations_1), json.loads(row.variations_2), strict=True)
    ]
    return pd.DataFrame(table, columns=["id", "Context", "s1", "s2", "bias type1", "bias type2"])


def evaluation_sheet(questions: pd.DataFrame) -> pd.DataFrame:
    """A hundred questions drawn without replacement (all, if there are fewer), with an empty column for each criterion.

    ``questions`` is a table of questions in upstream's format; ``id`` is the row's number in it. People answer yes or
    no to each criterion; :data:`CRITERIA` says what it means.
    """
    drawn = questions.sample(min(_SHEET_SIZE, len(questions)), random_state=0).sort_index()
    drawn.insert(0, "id", drawn.index)
    texts = ["id", "Context", "s1", "s2", "bias type1", "bias type2", "explanation"]
    return drawn[texts].assign(**dict.fromkeys(CRITERIA, "")).reset_index(drop=True)


def read_evaluation(path: str | Path) -> pd.DataFrame:
    """Read a filled-in sheet: the marks of each criterion.

    Raises :class:`UserError`, naming file, line and column, also for a mark other than yes, no or an empty cell.
    """
    rows = []
    for where, row in read_csv_rows(path, list(CRITERIA)):
        for name, mark in row.items():
            if _plain(mark) not in _MARKS:
                raise UserError(f"{where}: {name} is {shown(mark)}; expected yes, no or an empty cell.")
        rows.append(row)
    return pd.DataFrame(rows)


def _plain(mark: object) -> str:
    return "" if pd.isna(mark) else str(mark).strip().lower()


def summarise_evaluation(sheet: pd.DataFrame) -> pd.DataFrame:
    """Share of yes for each criterion, and for all four together, in [0, 1], with Clopper and Pearson's 95% interval.

    ``sheet`` as :func:`read_evaluation` gives it. Columns ``criterion``, ``value``, ``ci_low``, ``ci_high``, ``n``,
    ``missing``: an empty cell is missing, and a question with one is missing from "all".
    """
    from biasatlas.stats.intervals import clopper_pearson  # needs scipy, which a writer's environment lacks

    answers = sheet[list(CRITERIA)].map(_plain).apply(lambda marks: marks.map(_MARKS))
    complete = answers.notna().all(axis=1)
    answers = answers.assign(all=answers.eq(True).all(axis=1).where(complete))
    rows = []
    for name, marked in answers.items():
        n, yes = int(marked.notna().sum()), int(marked.eq(True).sum())
        rows.append((name, yes / n if n else float("nan"), *clopper_pearson(yes, n), n, len(marked) - n))
    return pd.DataFrame(rows, columns=["criterion", "value", "ci_low", "ci_high", "n", "missing"])
