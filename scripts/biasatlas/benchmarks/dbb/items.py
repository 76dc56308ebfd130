"""Read DBB's question templates and cross them with its fifty descriptors: one item per question.

A descriptor has two texts: that of the paper's Table 10, and that of the released file.
"""

import json
import logging
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.dbb import PLACEHOLDER, TABLE_10_NAMES, TYPES, VARIATIONS
from biasatlas.benchmarks.dbb.released import COLUMNS, add_filled, check_dataset
from biasatlas.errors import UserError
from biasatlas.files import unquoted
from biasatlas.userfiles import read_csv_rows, read_json, shown
from biasatlas.validation import unknown

_QUESTIONS = re.compile(r"Questions/[^/]*_all_data_questions[^/]*\.csv")
_VARIATIONS = re.compile(r"Questions/[^/]*_more_contexts_questions[^/]*\.csv")
_CONCEPTS = re.compile(r"concept_lists/[^/]*\.csv")
_DESCRIPTORS = re.compile(r"data/descriptors\.json")
_FILLED = re.compile(r"data/Bias-Dataset(-More-Samples)?\.(csv|zip)")
_NUMBER = re.compile(r"[0-9]{1,9}")
_QUESTION_COLUMNS = ("Context", "s1", "s2", "bias type1", "bias type2", "bias_type")
_VARIATION_COLUMNS = ("id", "s1", "s2", "bias type1", "bias type2")
_CONCEPT_COLUMNS = ("id", "Concept1", "Concept2", "Explanation", "bias_type", "target")

#: Type of a concept in the concept list, if made from a question of BBQ -> BBQ's category of that question.
_BBQ_CATEGORIES = {
    "age": "Age",
    "gender": "Gender_identity",
    "nationality": "Nationality",
    "race": "Race_ethnicity",
    "raceXgender": "Race_x_gender",
    "raceXses": "Race_x_SES",
    "religion": "Religion",
    "socioeconomic": "SES",
}

#: The released file's order of a template's fifty rows: category, its key there, types, identities.
_FILE_ORDER = (
    ("Age", "age", ("Age 1", "Age 2", "Age 3"), ("Old", "Young")),
    ("Gender", "gender_and_sex", ("Gender 1", "Gender 2", "Gender 4", "Gender 3"), ("Female", "Male")),
    (
        "Race",
        "race_ethnicity",
        ("Race 1", "Race 2", "Race 4", "Race 3"),
        ("White", "Black", "Latinx", "Asian", "Middle-East"),
    ),
    ("SES", "socioeconomic_class", ("SES 1", "SES 2"), ("Poor", "Rich")),
    (
        "Religions",
        "religions",
        ("Religion 3", "Religion 2", "Religion 1"),
        ("Christian", "Jewish", "Muslim", "Buddhist"),
    ),
)
#: (category's key, group) of the file that neither paper nor code uses: a third age group.
_UNUSED = {("age", "child")}
#: Subject pronoun of the options, shared by all identities of a type: in Age that of the file's old descriptor, in Race
#: that of its White one. SES and Religions take that of the name, Gender that of the identity.
_PRONOUN_OF_TYPE = {"Age 1": "she", "Age 2": "he", "Age 3": "he", "Race 4": "she"} | dict.fromkeys(
    ("Race 1", "Race 2", "Race 3"), "he"
)
_PRONOUN_OF_IDENTITY = {"Female": "she", "Male": "he"}


def check_questions(folder: str) -> None:
    """Raise UserError for question templates in the user's ``folder`` that cannot be read, or lack a column."""
    _read_templates({path.relative_to(folder).as_posix(): path for path in Path(folder).rglob("*.csv")})


#: Checks of the user's own files, made before any job, by name in `files`; ``data`` is their folder.
CHECKS = {"dataset": check_dataset, "data": check_questions}

#: (type, identity)
Key = tuple[str, str]


def read_items(step: Step) -> pd.DataFrame:
    """A row per question, a template crossed with a descriptor: fifty per template, in the released file's order.

    ``step.files`` maps upstream paths to paths on disk: ``Questions/*_all_data_questions*.csv`` (the templates) and,
    each optional, ``Questions/*_more_contexts_questions*.csv`` (ten variations of the options for each template, with
    its row number from 0 as ``id``), ``concept_lists/*.csv`` (for the concept's source) and ``data/descriptors.json``.
    A file of the user's own under the name ``variations`` replaces the dataset's. ``data/Bias-Dataset.csv`` or its
    larger set, or the user's copy under the name ``dataset``, has the questions filled
    (:func:`biasatlas.benchmarks.dbb.released.add_filled`). ``step.resources`` holds ``dbb/descriptors.csv``, the
    paper's Table 10. Columns (:data:`biasatlas.benchmarks.dbb.ITEM_COLUMNS`):

    - ``item_id``: template, type and identity; ``template_id``; ``category``, ``type``, ``identity`` as in Table 10
    - ``concept_1``, ``concept_2``: what the options imply; ``bias_type``; ``source_id``: the item of another benchmark
      that the concept was made from, missing if the concept list does not have it
    - ``context``, ``option_1``, ``option_2``: with the placeholder ``[[X]]``
    - ``variations_1``, ``variations_2``: JSON lists, the original option alone where there is no variations file
    - ``descriptor_paper``, ``descriptor_file`` (missing without a file): text for the context, ``{name}`` where a name
      stands for any of Table 2; ``named`` says whether there is one; ``pronoun``: subject form, missing where it is the
      name's
    - ``filled_context``, ``filled_option_1``, ``filled_option_2``, ``filled_name``, ``filled_samples``: as the authors
      filled it
    - ``row``: the question's position among its template's fifty in the released file, from 0
    - ``fault``: what makes the template unusable, ``fault_sg`` its variations, ``fault_descriptor`` the released file's
      descriptor; empty if nothing. Such a question is not asked, and its scores are "failed".

    Raises :class:`UserError` for a missing file or column, unreadable JSON, when no template is usable, or when the
    user's own variations fit none of them.
    """
    files = step.files
    path, templates = _read_templates(files)
    if all(template["fault"] for template in templates):
        reason = templates[0]["fault"]
        raise UserError(f"{path}: no usable question template: {reason}. Compare its columns with docs/dbb.md.")
    _add_variations(files, templates)
    sources = _read_sources(files)
    for template in templates:
        template["source_id"] = sources.get((template["concept_1"], template["concept_2"]))
    descriptors = read_descriptors(step.resources.csv("dbb/descriptors.csv"), _find(files, _DESCRIPTORS))
    items = pd.DataFrame(templates).merge(descriptors, how="cross")
    items.insert(0, "item_id", items["template_id"] + "/" + items["type"] + "/" + items["identity"])
    filled = files.get("dataset") or _find(files, _FILLED)
    return add_filled(items, filled) if filled else items.assign(**dict.fromkeys(COLUMNS))


def _find(files: Mapping[str, str | Path], pattern: re.Pattern) -> str | Path | None:
    """The one file whose upstream path matches; None if none does."""
    matches = [path for name, path in sorted(files.items()) if pattern.fullmatch(name)]
    if len(matches) > 1:
        raise UserError(f"{matches[0]} and {matches[1]}: two files of one kind ({pattern.pattern}). Keep one of them.")
    return matches[0] if matches else None


def _place(where: str) -> str:
    """File and line as items can name them: without the folder, which differs from machine to machine."""
    return Path(where).name


def _rows(path: str | Path, columns: Collection[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Rows of upstream's files, or of those that our construction wrote."""
    for where, row in read_csv_rows(path, columns):
        yield where, {name: unquoted(text) for name, text in row.items()}


def _read_templates(files: Mapping[str, str | Path]) -> tuple[str | Path, list[dict]]:
    """The file, and a row for each of its question templates, with the original options as the only variations."""
    path = _find(files, _QUESTIONS)
    if path is None:
        raise UserError(
            "Questions/*_all_data_questions*.csv: not among the files of the dataset. Keep upstream's folders."
        )
    templates = []
    for where, row in _rows(path, _QUESTION_COLUMNS):
        options = row["s1"].strip(), row["s2"].strip()
        fault = ""
        if PLACEHOLDER not in row["Context"]:
            fault = f"no placeholder {PLACEHOLDER} in the context {row['Context']!r}"
        elif not all(options):
            fault = f"the concept has one option: s1 is {row['s1']!r}, s2 is {row['s2']!r}"
        templates.append(
            {
                "template_id": f"t{len(templates):04d}",
                "concept_1": row["bias type1"].strip(),
                "concept_2": row["bias type2"].strip(),
                "bias_type": row["bias_type"],
                "context": row["Context"].strip(),
                "option_1": options[0],
                "option_2": options[1],
                "variations_1": json.dumps([options[0]], ensure_ascii=False),
                "variations_2": json.dumps([options[1]], ensure_ascii=False),
                "fault": f"{_place(where)}: {fault}" if fault else "",
                "fault_sg": "",
            }
        )
    return path, templates


def _add_variations(files: Mapping[str, str | Path], templates: list[dict]) -> None:
    """Put ten variations of each option in place of the original; what is wrong with them goes to ``fault_sg``.

    Variations that name other concepts than the template with their ``id`` are a fault, too: their ids start at 1, or
    belong to another file.
    """
    path = files.get("variations") or _find(files, _VARIATIONS)
    if path is None:
        return
    name = Path(path).name
    pairs, mismatches, unknown = _read_variations(path, templates)
    for number, template in enumerate(templates):
        complete = [pair for pair in pairs[number] if all(pair)]
        if number in mismatches:
            template["fault_sg"] = mismatches[number]
        elif not len(complete) == len(pairs[number]) == VARIATIONS:
            fault = f"{name}, id {number}: {len(complete)} rows with both options; expected {VARIATIONS}"
            template["fault_sg"] = fault + (f" (and {unknown[0]})" if unknown else "")
        else:
            for column, texts in zip(("variations_1", "variations_2"), zip(*complete, strict=True), strict=True):
                template[column] = json.dumps(texts, ensure_ascii=False)
    if "variations" in files and all(template["fault_sg"] for template in templates):
        fault = next(iter(mismatches.values()), templates[0]["fault_sg"])
        raise UserError(
            f"{path}: no question has its {VARIATIONS} variations: {fault}. An id is a question's row, from 0; "
            "docs/dbb.md has the format."
        )
    if unknown:
        logging.warning("%d rows belong to no question, the first: %s", len(unknown), unknown[0])


def _read_variations(
    path: str | Path, templates: list[dict]
) -> tuple[list[list[tuple[str, str]]], dict[int, str], list[str]]:
    """(Pairs of options by template, template -> message if they name another's concepts, rows of no template)."""
    pairs: list[list[tuple[str, str]]] = [[] for _ in templates]
    mismatches, unknown = {}, []
    for where, row in _rows(path, _VARIATION_COLUMNS):
        if not (_NUMBER.fullmatch(row["id"]) and int(row["id"]) < len(templates)):
            unknown.append(f"{_place(where)}: id {shown(row['id'])} is no question's (0 to {len(templates) - 1})")
            continue
        number = int(row["id"])
        pairs[number].append((row["s1"].strip(), row["s2"].strip()))
        expected = templates[number]["concept_1"], templates[number]["concept_2"]
        concepts = row["bias type1"].strip(), row["bias type2"].strip()
        if concepts != expected:
            mismatches[number] = f"{_place(where)}: id {number} is of the concepts {expected}, the row of {concepts}"
    return pairs, mismatches, unknown


def _read_sources(files: Mapping[str, str | Path]) -> dict[tuple[str, str], str]:
    """(concept 1, concept 2) -> id of the item it was made from, "sofa/17" or "bbq/Age/0" for example.

    The concept list has ids of four data sets side by side. A hash is StereoSet's; a number is SOFA's where targets are
    listed, CrowS-Pairs' where the explanation speaks of its sentences, else BBQ's, whose explanations speak of
    questions. Anything else is a concept of the user's own.
    """
    path = _find(files, _CONCEPTS)
    if path is None:
        return {}
    sources = {}
    for _, row in _rows(path, _CONCEPT_COLUMNS):
        if re.fullmatch(r"[0-9a-f]{32}", row["id"]):
            source = "stereoset"
        elif not _NUMBER.fullmatch(row["id"]):
            source = "own"
        elif row["target"].startswith("["):
            source = "sofa"
        elif re.search(r"\b[Ss]entences?\b", row["Explanation"]):
            source = "crows_pairs"
        else:
            source = f"bbq/{_BBQ_CATEGORIES.get(row['bias_type'], row['bias_type'])}"
        sources[row["Concept1"].strip(), row["Concept2"].strip()] = f"{source}/{row['id']}"
    return sources


def read_descriptors(table_10: pd.DataFrame, path: str | Path | None) -> pd.DataFrame:
    """The fifty descriptors in the released file's order, with the paper's and the file's text.

    ``table_10`` has the columns ``type``, ``identity`` and ``descriptor``; ``path`` is the released
    ``data/descriptors.json``, None where there is none (then ``descriptor_file`` is missing). Columns: those of
    :func:`biasatlas.benchmarks.dbb.items.read_items` that depend on the descriptor.

    Raises :class:`UserError` for a file that is not JSON or has an unknown category.
    """
    paper = table_10.set_index(["type", "identity"])["descriptor"]
    released, faults = _read_released(path, paper) if path else ({}, {})
    rows: list[dict[str, object]] = []
    for category, _, types, identities in _FILE_ORDER:
        name = TABLE_10_NAMES.get(category, "")
        for key in ((type_, identity) for type_ in types for identity in identities):
            type_, identity = key
            text = paper[key]
            named = bool(name) and text.startswith(name)
            rows.append(
                {
                    "category": category,
                    "type": type_,
                    "identity": identity,
                    "descriptor_paper": "{name}" + text.removeprefix(name) if named else text,
                    "descriptor_file": released.get(key),
                    "named": named,
                    "pronoun": _PRONOUN_OF_IDENTITY.get(identity) or _PRONOUN_OF_TYPE.get(type_),
                    "row": len(rows),
                    "fault_descriptor": faults.get(key, ""),
                }
            )
    return pd.DataFrame(rows)


def _read_released(path: str | Path, paper: pd.Series) -> tuple[dict[Key, str], dict[Key, str]]:
    """(Texts of the file, matched by content; reasons why others were not found), both by type and identity."""
    texts: dict[Key, str] = {}
    strange: list[str] = []
    for category_key, group, text in _released_entries(path):
        category, types, identity = _position(category_key, group)
        matches = (type_ for type_ in types if identity and _is_same(text, paper[type_, identity]))
        type_ = next(matches, None)
        if identity is None or type_ is None:
            strange.append(f"{category_key}, {group}: {text!r}")
            continue
        name = TABLE_10_NAMES.get(category)
        if name and paper[type_, identity].startswith(name):
            text = "{name}'s " + text if category == "Age" else "{name}" + text
        texts[type_, identity] = text
    faults = {
        key: f"{Path(path).name}: no descriptor of {key[0]}, {key[1]}, as the paper's Table 10 has it"
        + (f"; not in that table: {strange[0]}" if strange else "")
        for key in paper.index
        if key not in texts
    }
    return texts, faults


def _released_entries(path: str | Path) -> list[tuple[str, str, str]]:
    """(category's key, group, text) of every descriptor in the file, without the names and the unused group."""
    content = read_json(path)
    known = sorted(key for _, key, _, _ in _FILE_ORDER)
    if not isinstance(content, dict) or not all(isinstance(groups, dict) for groups in content.values()):
        raise UserError(f"{path}: expected {{category: {{group: [[descriptor, ...], ...]}}}}. Fetch it again.")
    for key in content:
        if key not in {*known, "name"}:
            raise UserError(unknown(str(path), key, "a category", known))
    return [
        (key, group, _text(entry, f"{path}, {key}, {group}"))
        for key in content
        if key != "name"
        for group, entries in content[key].items()
        if (key, group) not in _UNUSED
        for entry in (entries if isinstance(entries, list) else [entries])
    ]


def _text(entry: Any, where: str) -> str:
    """The text of an entry, which is a text, or a list of a text and its pronouns."""
    text = entry[0] if isinstance(entry, list) and entry else entry
    if not isinstance(text, str):
        raise UserError(f"{where}: {shown(entry)}. Expected a text, or a list that begins with one.")
    return text


def _position(category_key: str, group: str) -> tuple[str, tuple[str, ...], str | None]:
    """(category, its types, identity) of a group of the file; identity is None if Table 10 has none of that name."""
    category, types = next((category, types) for category, key, types, _ in _FILE_ORDER if key == category_key)
    identities = {identity.lower(): identity for identity in TYPES[category][types[0]]}
    return category, types, identities.get(group.lower())


def _is_same(released: str, paper: str) -> bool:
    """Whether the file's text is the paper's, apart from names, outer punctuation and the file's misspelling."""
    words = released.strip(" ,").replace("whoes", "whose")
    return bool(words) and paper.endswith(words)
