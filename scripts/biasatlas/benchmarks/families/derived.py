"""The keys with which a description changes its data: columns are derived, joined or corrected, rows left out."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BeforeValidator, model_validator

from biasatlas.errors import UserError
from biasatlas.stages import StagedModel, field
from biasatlas.userfiles import shown
from biasatlas.validation import unknown, validated

if TYPE_CHECKING:
    import pandas as pd

    from biasatlas.resources import Resources

_FIELD = re.compile(r"\{([^{}]+)\}")
_WORD = re.compile(r"[\w.]+")


def template_fields(text: str) -> list[str]:
    """The columns that fill a template such as ``"{category}/{id}"``, in order."""
    return _FIELD.findall(text)


def split_template(text: str) -> list[str]:
    """``text`` cut at its fields: literal parts at even places, columns at odd ones."""
    return _FIELD.split(text)


def _braces(value: str) -> str:
    if "{" in _FIELD.sub("", value) or "}" in _FIELD.sub("", value):
        raise ValueError(f"{shown(value)} has a brace that encloses no column; write {{column}}")
    return value


def _no_word(value: str) -> str:
    if _WORD.fullmatch(value):
        raise ValueError(
            f"{shown(value)} would be the text of every item; for the column of that name write {{{value}}}"
        )
    return value


def _number_as_text(value: object) -> object:
    return str(value) if type(value) in (int, float) else value


#: The value of a cell of the data; cells are text, even if YAML reads a number.
Cell = Annotated[str, BeforeValidator(_number_as_text)]
#: A cell that may have fields for columns of the data.
Filled = Annotated[Cell, AfterValidator(_braces)]
#: A text with fields for columns of the data.
Text = Annotated[str, AfterValidator(_braces), AfterValidator(_no_word)]

#: Rule -> the keys that it needs, and those that it may have.
_RULES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "text": ((), ()),
    "match": (("of",), ("otherwise",)),
    "map": (("of",), ("otherwise",)),
    "substitute": (("of",), ()),
    "below": (("of", "then", "otherwise"), ()),
    "option": (("labels",), ("also",)),
    "other": ((), ()),
}


class Derived(StagedModel):
    """A new column, made by one rule: `text`, `match`, `map`, `substitute`, `below`, `option` or `other`.

    A plain string means `text`.
    """

    text: Filled | None = field("answers", None, description="This text, with other columns filled in.")
    match: str | None = field(
        "answers", None, description="Regular expression with one group; the new value is what it matches in `of`."
    )
    map: dict[str, Filled] | None = field("answers", None, min_length=1, description="Value of `of` -> the new value.")
    substitute: dict[str, Filled] | None = field(
        "answers", None, min_length=1, description="Word in `of` -> the word to put in its place."
    )
    below: float | None = field("answers", None, description="`then` if `of` is below this number, else `otherwise`.")
    option: Filled | None = field(
        "answers",
        None,
        description="The number (from 0) of the only option whose label is this text, or in the list it names.",
    )
    other: list[str] | None = field(
        "answers",
        None,
        min_length=2,
        max_length=2,
        description="The third option, which neither of these columns names.",
    )
    of: Filled | None = field("answers", None, description="The text that the rule reads, such as `{id}`.")
    otherwise: Filled | None = field(
        "answers", None, description="Value if the rule does not apply to a row; by default that is an error."
    )
    then: Filled | None = field("answers", None, description="Value if `of` is below the number.")
    labels: list[str] | None = field(
        "answers",
        None,
        min_length=3,
        max_length=3,
        description="Columns with the labels of the three options, in order.",
    )
    also: dict[str, list[str]] | None = field(
        "answers", None, description="Label in the list -> other labels that mean the same. Case is ignored."
    )

    @model_validator(mode="before")
    @classmethod
    def _text_alone(cls, value: Any) -> Any:
        return {"text": str(value)} if type(value) in (str, int, float) else value

    @model_validator(mode="after")
    def _one_rule(self) -> "Derived":
        given = {name for name in self.model_fields_set if getattr(self, name) is not None}
        rules = [name for name in _RULES if name in given]
        if len(rules) != 1:
            raise ValueError(f"expected one of {', '.join(_RULES)}, got {', '.join(rules) or 'none'}")
        needed, further = _RULES[rules[0]]
        for name in needed:
            if name not in given:
                raise ValueError(f"{rules[0]} needs the key {name!r}")
        for name in given - {rules[0], *needed, *further}:
            raise ValueError(f"{rules[0]} has no key {name!r}; remove it")
        if self.match is not None:
            try:
                groups = re.compile(self.match).groups
            except re.error as error:
                raise ValueError(f"match: {shown(self.match)} is not a regular expression ({error})") from None
            if groups != 1:
                raise ValueError(f"match: {shown(self.match)} has {groups} groups; put what is wanted in one (...)")
        return self

    @property
    def columns(self) -> list[str]:
        """The columns that the rule reads."""
        texts = (self.text, self.of, self.otherwise, self.then, self.option)
        parts = [*texts, *(self.map or {}).values(), *(self.substitute or {}).values()]
        named = [column for text in parts if text is not None for column in template_fields(text)]
        return [*named, *(self.other or ()), *(self.labels or ())]


class Join(StagedModel):
    """Columns to add from a second file; each row of the data matches one of its rows."""

    file: str = field("answers", min_length=1, description="The file's path in the source's folder.")
    by: dict[str, str] = field("answers", min_length=1, description="Column of the data -> its match in the file.")
    columns: list[str] = field("answers", min_length=1, description="Columns of the file to add.")

    @model_validator(mode="after")
    def _new(self) -> "Join":
        for column in self.columns:
            if column in self.by:
                raise ValueError(f"columns: the data have {column!r} already; leave it out")
        return self


class Drop(StagedModel):
    """Rows to leave out."""

    column: str = field("answers", description="Column that says which rows.")
    equals: Filled = field("answers", description="Its value in these rows: a text, or another column, as in `{less}`.")
    count: int = field("answers", ge=1, description="How many there are. More are an error: the data have changed.")
    reason: str = field("nothing", min_length=1, description="Why they are left out.")


class Agree(StagedModel):
    """A check that a column equals a text or another column."""

    column: str = field("nothing", description="Column to check.")
    equals: Filled = field("nothing", description="What it must be: a text, or another column, as in `{type}`.")
    exceptions: int = field("nothing", 0, ge=0, description="How many rows are known to differ. More are an error.")
    reason: str = field("nothing", "", description="Why those differ, and which column is right.")


def known_encodings(names: Iterable[str]) -> None:
    """Raise ValueError for a name that is not that of an encoding."""
    for name in names:
        try:
            "".encode(name)  # rot13 and zip are codecs, too, but not of text
        except LookupError:
            raise ValueError(f"encoding: {shown(name)} is unknown; write utf-8, cp1252, mac_roman, ...") from None


class Erratum(StagedModel):
    """A correction of some items."""

    items: list[str] = field("answers", min_length=1, description="Ids of the items.")
    set: dict[str, str] = field("answers", {}, description="Column -> its right value.")
    replace: dict[str, dict[str, str]] = field("answers", {}, description="Column -> wrong words -> right words.")
    reason: str = field("nothing", min_length=1, description="Why the data are wrong.")

    @model_validator(mode="after")
    def _something(self) -> "Erratum":
        if not self.set and not self.replace:
            raise ValueError("give what to `set` or to `replace`")
        return self


def corrected(rows: "pd.DataFrame", ids: "pd.Series", errata: Iterable[Erratum], where: str) -> "pd.DataFrame":
    """``rows`` with ``errata`` corrected; ``ids`` name the item of each row.

    Items that are not there, as in a sample, are skipped. Raises UserError for a column that is not there, and for an
    item with none of the words to replace: the data were corrected, or are different ones.
    """
    rows = rows.copy()
    for erratum in errata:
        here = ids.isin(erratum.items).to_numpy()
        for column in [*erratum.set, *erratum.replace]:
            if column not in rows:
                raise UserError(f"{where}: {unknown('errata', column, 'a column', rows)}")
        for column, value in erratum.set.items():
            rows.loc[here, column] = value
        mended = here & bool(erratum.set)
        for column, words in erratum.replace.items():
            for wrong, right in words.items():
                mended |= here & rows[column].str.contains(wrong, regex=False).to_numpy()
                rows.loc[here, column] = rows.loc[here, column].str.replace(wrong, right, regex=False)
        if (here & ~mended).any():
            item = ids[here & ~mended].iloc[0]
            raise UserError(f"{where}: errata: item {item} has none of the words to replace. Leave it out.")
    return rows


def shipped_errata(resources: "Resources", name: str) -> list[Erratum]:
    """The errata in ``resources/{name}``."""
    return [validated(Erratum, raw, name) for raw in resources.yaml(name)]
