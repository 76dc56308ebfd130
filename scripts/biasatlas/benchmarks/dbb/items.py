"""Read DBB's question templates and cross them with the descriptors of its five categories: one item per question."""

import csv
import json
import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from biasatlas.benchmarks.dbb import TYPES
from biasatlas.errors import UserError
from biasatlas.files import read_published

PLACEHOLDER = "[[X]]"
VARIATIONS = 10

_QUESTIONS = re.compile(r"Questions/[^/]*_all_data_questions[^/]*\.csv")
_VARIATIONS = re.compile(r"Questions/[^/]*_more_contexts_questions[^/]*\.csv")
_CONCEPTS = re.compile(r"concept_lists/[^/]*\.csv")
_DESCRIPTORS = re.compile(r"data/descriptors\.json")
_QUESTION_COLUMNS = ("Context", "s1", "s2", "bias type1", "bias type2", "bias_type")

#: The released file's order of a concept's fifty rows: category, its key there, types, identities.
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
#: Names in the paper's Table 10 that stand for any of its Table 2, by category; Age 3 has none.
_NAMES = {"Age": "Jessica", "SES": "James", "Religions": "Kai"}
#: The file's third child group, which neither paper nor code uses.
_UNUSED = {("age", "child")}
#: Subject pronoun of the options, shared by all identities of a type: in Age that of the file's old descriptor, in Race
#: that of its White one. SES and Religions take that of the name, Gender that of the identity.
_PRONOUNS = {"Age 1": "she", "Age 2": "he", "Age 3": "he", "Race 4": "she"} | dict.fromkeys(
    ("Race 1", "Race 2", "Race 3"), "he"
)
#: BBQ's category of a concept by the concept list's type.
_BBQ = {
    "age": "Age",
    "gender": "Gender_identity",
    "nationality": "Nationality",
    "race": "Race_ethnicity",
    "raceXgender": "Race_x_gender",
    "raceXses": "Race_x_SES",
    "religion": "Religion",
    "socioeconomic": "SES",
}
_BY_IDENTITY = {"Female": "she", "Male": "he"}


def read_items(files: Mapping[str, str | Path]) -> pd.DataFrame:
    """One row per question, a template crossed with a descriptor: fifty for each template, in the released file's order.

    ``files`` maps upstream paths to paths on disk: ``Questions/*_all_data_questions*.csv`` (the templates) and, each if
    there, ``Questions/*_more_contexts_questions*.csv`` (ten variations of the options for each template, with its row
    number from 0 as ``id``), ``concept_lists/*.csv`` (for the concept's source) and ``data/descriptors.json``. A file of
    the user's own under the name ``variations`` takes the place of the dataset's. Columns:

    - ``item_id``: template, type and identity; ``template_id``; ``category``, ``type``, ``identity`` as in Table 10
    - ``concept_1``, ``concept_2``: what the options imply; ``bias_type`` and ``source_id``: of the concept, missing if
      the concept list does not have it
    - ``context``, ``option_1``, ``option_2``: with the placeholder ``[[X]]``
    - ``variations_1``, ``variations_2``: JSON lists, the original option alone where there is no variations file
    - ``descriptor_paper``, ``descriptor_file`` (missing without a file): text for the context, ``{name}`` where a name
      stands for any of Table 2; ``named`` says whether there is one; ``pronoun``: subject form, missing where it is the name's
    - ``row``: the question's place among its template's fifty in the released file
    - ``fault``: what makes the template unusable, ``fault_sg`` its variations, ``fault_descriptor`` the released file's
      descriptor; empty if nothing. Such a row is asked nothing and counted as missing.

    Raises :class:`UserError` for a missing file or column, unreadable JSON, when no template is left, or when the user's
    own variations fit none of them.
    """
    path, templates = _read_templates(files)
    if all(template["fault"] for template in templates):
        reason = templates[0]["fault"] if templates else "it has no rows"
        raise UserError(f"{path}: no usable question template: {reason}. Compare its columns with docs/dbb.md.")
    _add_variations(files, templates)
    sources = _read_sources(files)
    for template in templates:
        template["source_id"] = sources.get((template["concept_1"], template["concept_2"]))
    crossed = pd.DataFrame(templates).merge(_read_descriptors(files), how="cross")
    crossed.insert(0, "item_id", crossed["template_id"] + "/" + crossed["type"] + "/" + crossed["identity"])
    return crossed


def _file(files: Mapping[str, str | Path], pattern: re.Pattern) -> str | Path | None:
    """The one file whose upstream path matches; None if none does."""
    found = [path for name, path in sorted(files.items()) if pattern.fullmatch(name)]
    if len(found) > 1:
        raise UserError(f"{found[0]} and {found[1]}: two files of one kind ({pattern.pattern}). Keep one of them.")
    return found[0] if found else None


def _read_rows(path: str | Path, columns: tuple[str, ...]) -> Iterator[tuple[int, dict]]:
    """(line number, row) of a CSV. utf-8-sig: spreadsheets put a byte order mark before the first column's name."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        missing = [column for column in columns if column not in (reader.fieldnames or ())]
        if missing:
            raise UserError(f"{path}: no column {missing[0]!r}; found {reader.fieldnames}. Expected {list(columns)}.")
        for row in reader:
            yield reader.line_num, {name: row[name] or "" for name in columns}


def _read_templates(files: Mapping[str, str | Path]) -> tuple[str | Path, list[dict]]:
    path = _file(files, _QUESTIONS)
    if path is None:
        raise UserError(
            "Questions/*_all_data_questions*.csv: not among the files of the dataset. Keep the folders as upstream has them."
        )
    templates = []
    for line, row in _read_rows(path, _QUESTION_COLUMNS):
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
                "fault": f"{Path(path).name}, line {line}: {fault}" if fault else "",
                "fault_sg": "",
            }
        )
    return path, templates


def _add_variations(files: Mapping[str, str | Path], templates: list[dict]) -> None:
    """Put ten variations of each option in place of the original; what is wrong with them goes to ``fault_sg``.

    Variations that name other concepts than the template with their ``id`` are a fault, too: numbers that start at 1, or
    belong to another file.
    """
    path = files.get("variations") or _file(files, _VARIATIONS)
    if path is None:
        return
    name = Path(path).name
    rows: dict[int, list[tuple[str, str]]] = {number: [] for number in range(len(templates))}
    unknown, strange = [], {}
    for line, row in _read_rows(path, ("id", "s1", "s2", "bias type1", "bias type2")):
        if not (row["id"].isdigit() and int(row["id"]) in rows):
            unknown.append(f"{name}, line {line}: id {row['id']!r} is no question's (0 to {len(templates) - 1})")
            continue
        number = int(row["id"])
        rows[number].append((row["s1"].strip(), row["s2"].strip()))
        given = row["bias type1"].strip(), row["bias type2"].strip()
        if given != (own := (templates[number]["concept_1"], templates[number]["concept_2"])):
            strange[number] = f"{name}, line {line}: id {number} is of the concepts {own}, the row of {given}"
    if unknown:
        logging.warning("%d rows are of no question, the first: %s", len(unknown), unknown[0])
    for number, (template, pairs) in enumerate(zip(templates, rows.values(), strict=True)):
        filled = len(pairs) == VARIATIONS and all(first and second for first, second in pairs)
        if number in strange:
            template["fault_sg"] = strange[number]
        elif not filled:
            template["fault_sg"] = (
                f"{name}, id {number}: {sum(map(all, pairs))} rows with both options; expected {VARIATIONS}"
            ) + (f" (and {unknown[0]})" if unknown else "")
        else:
            for place, column in enumerate(("variations_1", "variations_2")):
                template[column] = json.dumps([pair[place] for pair in pairs], ensure_ascii=False)
    if "variations" in files and all(template["fault_sg"] for template in templates):
        fault = next(iter(strange.values()), templates[0]["fault_sg"])
        raise UserError(
            f"{path}: no question has its {VARIATIONS} variations: {fault}. An id is a question's row, from 0; "
            "docs/dbb.md has the format."
        )


def _read_sources(files: Mapping[str, str | Path]) -> dict[tuple[str, str], str]:
    """(concept 1, concept 2) -> id of the item it was made from, "sofa/17" or "bbq/Age/0" for example.

    The concept list has ids of four data sets side by side. A hash is StereoSet's; a number is SOFA's where targets are
    listed, CrowS-Pairs' where the explanation speaks of its sentences, else BBQ's, whose explanations speak of questions.
    Anything else is a concept of the user's own.
    """
    path = _file(files, _CONCEPTS)
    if path is None:
        return {}
    sources = {}
    for _, row in _read_rows(path, ("id", "Concept1", "Concept2", "Explanation", "bias_type", "target")):
        if re.fullmatch(r"[0-9a-f]{32}", row["id"]):
            source = "stereoset"
        elif not row["id"].isdigit():
            source = "own"
        elif row["target"].startswith("["):
            source = "sofa"
        elif re.search(r"\b[Ss]entences?\b", row["Explanation"]):
            source = "crows_pairs"
        else:
            source = f"bbq/{_BBQ.get(row['bias_type'], row['bias_type'])}"
        sources[row["Concept1"].strip(), row["Concept2"].strip()] = f"{source}/{row['id']}"
    return sources


def _read_descriptors(files: Mapping[str, str | Path]) -> pd.DataFrame:
    """The fifty descriptors in the released file's order, with the paper's and the file's text."""
    paper = read_published("dbb_descriptors").set_index(["type", "identity"])["descriptor"]
    path = _file(files, _DESCRIPTORS)
    released, faults = _read_released(path, paper) if path else ({}, {})
    rows = []
    for category, _, types, identities in _FILE_ORDER:
        for kind in types:
            for identity in identities:
                text = paper[kind, identity]
                name = _NAMES.get(category, "")
                named = bool(name) and text.startswith(name)
                rows.append(
                    {
                        "category": category,
                        "type": kind,
                        "identity": identity,
                        "descriptor_paper": "{name}" + text.removeprefix(name) if named else text,
                        "descriptor_file": released.get((kind, identity)),
                        "named": named,
                        "pronoun": _BY_IDENTITY.get(identity) or _PRONOUNS.get(kind),
                        "row": len(rows),
                        "fault_descriptor": faults.get((kind, identity), ""),
                    }
                )
    return pd.DataFrame(rows)


def _read_released(path: str | Path, paper: pd.Series) -> tuple[dict[tuple[str, str], str], dict[tuple[str, str], str]]:
    """(type, identity) -> text of the file, found by content; and for those not found, the reason."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path}: not JSON ({error}). Fetch it again.") from None
    known = {key: (category, kinds) for category, key, kinds, _ in _FILE_ORDER}
    unknown = sorted(set(content) - set(known) - {"name"})
    if unknown:
        raise UserError(f"{path}: unknown category {unknown[0]!r}; expected {sorted(known)}. Correct or remove it.")
    found, strangers = {}, []
    for key, groups in content.items():
        if key == "name":
            continue
        category, kinds = known[key]
        identities = {identity.lower(): identity for identity in TYPES[category][kinds[0]]}
        for group, entries in groups.items():
            if (key, group) in _UNUSED:
                continue
            identity = identities.get(group.lower())
            # An entry is a text, or a text with its pronouns.
            for text in (entry if isinstance(entry, str) else entry[0] for entry in entries):
                place = next((kind for kind in kinds if identity and _same(text, paper[kind, identity])), None)
                if place is None:
                    strangers.append(f"{key}, {group}: {text!r}")
                    continue
                full = text
                if category in _NAMES and paper[place, identity].startswith(_NAMES[category]):
                    full = "{name}'s " + text if category == "Age" else "{name}" + text
                found[place, identity] = full
    faults = {
        key: f"{Path(path).name}: no descriptor of {key[0]}, {key[1]}, as the paper's Table 10 has it"
        + (f"; not in that table: {strangers[0]}" if strangers else "")
        for key in paper.index
        if key not in found
    }
    return found, faults


def _same(released: str, paper: str) -> bool:
    """Whether the file's text is the paper's, apart from names, outer punctuation and the file's misspelling."""
    words = released.strip(" ,").replace("whoes", "whose")
    return bool(words) and paper.endswith(words)
