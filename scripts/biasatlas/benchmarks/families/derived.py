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
    """A new column, made by one of the first seven keys. A plain text means `text`."""

    text: Filled | None = field("answers", None, description="This text, with columns filled in: `{first} {last}`.")
    match: str | None = field(
        "answers", None, description="Regular expression with one group: the part of `of` that the group matches."
    )
    map: dict[str, Filled] | None = field(
        "answers", None, min_length=1, description="New values for those of `of`: `{bsd: neg, cnt: nonneg}`."
    )
    substitute: dict[str, Filled] | None = field(
        "answers", None, min_length=1, description="Parts of `of` to replace: `{$PRONOUN: he}`."
    )
    below: float | None = field("answers", None, description="`then` if `of` is below this number, else `otherwise`.")
    option: Filled | None = field(
        "answers",
        None,
        description="Number (from 0) of the only option whose label, or a comma-separated part of it, equals this text "
        "or, if that is a list, an entry. Empty if none or several fit.",
    )
    other: list[str] | None = field(
        "answers",
        None,
        min_length=2,
        max_length=2,
        description="The number of the third option: not those in these two columns.",
    )
    of: Filled | None = field("answers", None, description="The text that the rule reads, such as `{id}`.")
    otherwise: Filled | None = field(
        "answers", None, description="For `below`; and for `match` and `map`, where nothing fits (by default an error)."
    )
    then: Filled | None = field("answers", None, description="For `below`.")
    labels: list[str] | None = field(
        "answers",
        None,
        min_length=3,
        max_length=3,
        description="For `option`: the columns with the three labels.",
    )
    also: dict[str, list[str]] | None = field(
        "answers",
        None,
        description="For `option`: other labels that mean the same, in any case: `{lowSES: [low ses]}`.",
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
    """A second file: each row of the data has one row in it."""

    file: str = field("answers", min_length=1, description="The file's path in the source's folder.")
    by: dict[str, str] = field(
        "answers",
        min_length=1,
        description="Columns of the data, and those of the file that they must equal: `{job: occupation}`.",
    )
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
    equals: Filled = field(
        "answers", description="Its value in these rows: a text, or another column, such as `{less}`."
    )
    count: int = field("answers", ge=1, description="How many there are; with more, the run stops.")
    reason: str = field("answers", min_length=1, description="Why they are left out.")


class Agree(StagedModel):
    """A check of the data."""

    column: str = field("answers", description="Column to check.")
    equals: Filled = field("answers", description="What it must be: a text, or another column, such as `{type}`.")
    exceptions: int = field(
        "answers", 0, ge=0, description="How many rows are known to differ; with more, the run stops."
    )
    reason: str = field("answers", "", description="Why those differ, and which column is right.")


def known_encodings(names: Iterable[str]) -> None:
    """Raise ValueError for a name that is not that of an encoding."""
    for name in names:
        try:
            "".encode(name)  # rot13 and zip are codecs, too, but not of text
        except LookupError:
            raise ValueError(f"encoding: {shown(name)} is unknown; write utf-8, cp1252, mac_roman, ...") from None


class Erratum(StagedModel):
    """A correction of some items."""

    items: list[str] = field("answers", min_length=1, description="The items' ids.")
    set: dict[str, str] = field("answers", {}, description="Right values, by column: `{gender: male}`.")
    replace: dict[str, dict[str, str]] = field(
        "answers", {}, description="Wrong words and right ones, by column: `{question: {teh: the}}`."
    )
    reason: str = field("answers", min_length=1, description="Why the data are wrong.")

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
