"""The fifty descriptors of DBB: the paper's Table 10, and the released file's text of each."""

from pathlib import Path
from typing import Any

import pandas as pd

from biasatlas.benchmarks.dbb.vocabulary import TABLE_10_NAMES, TYPES
from biasatlas.errors import UserError
from biasatlas.userfiles import read_json, shown
from biasatlas.validation import unknown

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

#: (type, identity)
Key = tuple[str, str]


def read_descriptors(table_10: pd.DataFrame, path: str | Path | None) -> pd.DataFrame:
    """The fifty descriptors in the released file's order, with the paper's and the file's text.

    ``table_10`` has the columns ``type``, ``identity`` and ``descriptor``; ``path`` is the released
    ``data/descriptors.json``, None where there is none (then ``descriptor_file`` is missing). Columns: those of
    :func:`biasatlas.benchmarks.dbb.items.read_items` that a descriptor decides.

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
    """The file's texts, found by content; and for those not found, the reason."""
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
    """The text of an entry, which is a text or a list of it and its pronouns."""
    text = entry[0] if isinstance(entry, list) and entry else entry
    if not isinstance(text, str):
        raise UserError(f"{where}: {shown(entry)}. Expected a text, or a list that begins with one.")
    return text


def _position(category_key: str, group: str) -> tuple[str, tuple[str, ...], str | None]:
    """(category, its types, identity) of a group of the file; no identity where Table 10 has none of that name."""
    category, types = next((category, types) for category, key, types, _ in _FILE_ORDER if key == category_key)
    identities = {identity.lower(): identity for identity in TYPES[category][types[0]]}
    return category, types, identities.get(group.lower())


def _is_same(released: str, paper: str) -> bool:
    """Whether the file's text is the paper's, apart from names, outer punctuation and the file's misspelling."""
    words = released.strip(" ,").replace("whoes", "whose")
    return bool(words) and paper.endswith(words)
