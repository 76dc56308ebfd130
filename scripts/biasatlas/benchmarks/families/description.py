"""The keys that descriptions of all families have: where the data are, and what their columns mean."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pydantic import field_validator, model_validator

from biasatlas.benchmarks.contract import LANGUAGES, Metric
from biasatlas.benchmarks.families.derived import (
    Agree,
    Cell,
    Derived,
    Drop,
    Erratum,
    Join,
    Text,
    known_encodings,
    template_fields,
)
from biasatlas.errors import UserError
from biasatlas.stages import StagedModel, field
from biasatlas.userfiles import shown
from biasatlas.validation import nearest

if TYPE_CHECKING:
    from biasatlas.resources import Resources

#: A field of every row: its number in its file, from 1.
ROW = "row"
#: The folder of ``resources/`` for templates that are not in the description itself.
_PROMPTS = "prompts/"
#: What a file of replies holds; several families read one.
REPLIES = "a CSV with item and answer, a reply in the model's words; several rows of an item are its repeats"


class OwnMetric(StagedModel):
    """The meaning of a benchmark's own metric, as in :class:`biasatlas.benchmarks.contract.Metric`."""

    neutral: float | None = field("nothing", description="Value of an unbiased model; null where it measures no bias.")
    direction: str = field("nothing", min_length=1, description="What values on either side of it mean.")
    unit: str = field("nothing", "", description="`%`, ...; empty for a pure number.")


class OwnTable(StagedModel):
    """A table that the family does not have; the module of its name beside the description makes it."""

    caption: str = field("nothing", min_length=1, description="What it shows.")
    metrics: dict[str, OwnMetric] = field("nothing", {}, description="Its metrics that the family has not.")


class Description(StagedModel):
    """The keys of every family's description, even if an `items.py` beside it reads its items."""

    family: str = field("answers", description="`pairs`, `questions`, `decisions` or `contexts`.")
    title: str = field("nothing", min_length=1, description="The benchmark's published name.")
    language: str = field("answers", description="Language of the items, such as `en` or `zh-Hans`.")
    citation: str = field("nothing", min_length=1, description="Whom to cite.")
    asks: str = field("nothing", "", description="What it asks, in a sentence or two, for its page.")
    source: str = field(
        "answers",
        "",
        description="Row of resources/sources/sources.csv to download the data from. Default: none; `data` in "
        "the configuration must name a folder.",
    )
    sample: str = field("nothing", "", description="Folder of resources/samples with a few items to try.")
    categories: list[Cell] | dict[str, str] = field(
        "answers",
        min_length=1,
        description="The categories, as the data write them: `[age, gender]`; or with a name for each: `{'1': "
        "Emotional}`.",
    )
    prompt: str | dict[str, str] = field(
        "answers",
        "",
        description="Prompt that asks for a choice, or a file with it, such as `prompts/mine.txt` in resources. "
        "For questions also several files: `{letter: prompts/mine.txt}`; the protocol's option "
        "`prompt` chooses one.",
    )
    metrics: list[str] = field("tables", min_length=1, description="Which of the family's metrics to compute.")
    published: str = field("tables", "", description="Table of resources/published with a paper's numbers.")
    released: dict[str, str] = field(
        "nothing",
        {},
        description="Published model outputs, and the row of sources.csv with their files: `{gpt-4o: mine_gpt_4o}`.",
    )
    formats: dict[str, str] = field(
        "nothing",
        {},
        description="Further formats of predictions, and what their files hold. A `released.py` in the "
        "benchmark's folder reads them.",
    )
    tables: dict[str, OwnTable] = field(
        "nothing",
        {},
        description="Further tables, each made by the module of the same name beside a shipped `spec.yaml`.",
    )
    notes: str = field("nothing", "", description="Markdown for its page, such as licence, data and deviations.")
    protocols: dict[str, dict[str, Any]] = field(
        "nothing",
        {},
        description="Further protocols: what they change in `recommended`, as in `{released: {text: published}}`.",
    )

    @field_validator("categories", mode="before")
    @classmethod
    def _several(cls, value: object) -> object:
        if not isinstance(value, list | dict):
            raise ValueError(f"expected a list, or value: name, got {shown(value)}; put it in brackets: [a, b]")
        return value

    @property
    def category_names(self) -> dict[str, str]:
        """Value of the column -> the category's name."""
        return self.categories if isinstance(self.categories, dict) else {name: name for name in self.categories}

    @property
    def head(self) -> dict[str, Any]:
        """The fields of a spec that come from these keys."""
        return {
            **self.model_dump(include={"title", "language", "citation", "sample", "released"}),
            "sources": (self.source,) if self.source else (),
            "resources": {"requests": self.prompt_files} if self.prompt_files else {},
        }

    @property
    def own_metrics(self) -> dict[str, Metric]:
        """The metrics of its own tables."""
        own = (metric for table in self.tables.values() for metric in table.metrics.items())
        return {name: Metric(metric.neutral, metric.direction, metric.unit) for name, metric in own}

    @property
    def prompt_files(self) -> tuple[str, ...]:
        """The shipped files that hold prompt templates."""
        prompts = [self.prompt] if isinstance(self.prompt, str) else list(self.prompt.values())
        return tuple(prompt for prompt in prompts if prompt.startswith(_PROMPTS))

    def prompt_template(self, resources: "Resources", known: Iterable[str], name: str = "") -> str:
        """The prompt template, or the one called ``name``. UserError for a file whose fields are not the ``known``."""
        prompt = self.prompt if isinstance(self.prompt, str) else self.prompt[name]
        if not prompt.startswith(_PROMPTS):
            return prompt
        template = resources.text(prompt)
        try:
            check_template(template, known)
        except ValueError as error:
            raise UserError(f"resources/{prompt}: {error}.") from error
        return template

    @model_validator(mode="after")
    def _known_language(self) -> "Description":
        one_of("language", self.language, LANGUAGES)
        for name, file in self.prompt.items() if isinstance(self.prompt, dict) else ():
            if not file.startswith(_PROMPTS):
                raise ValueError(f"prompt.{name}: {shown(file)} is not a file of resources/{_PROMPTS}")
        once("metrics", self.metrics)
        once("protocols", map(str.casefold, ("recommended", *self.protocols)))
        for name in self.protocols:
            if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
                raise ValueError(f"protocols: {shown(name)} is no name; use letters, digits, '.', '_' and '-'")
        once("categories", self.categories.values() if isinstance(self.categories, dict) else self.categories)
        return self


class Rows(Description):
    """Keys of every description. Each row of the data is an item; columns may have any name."""

    files: str = field(
        "answers",
        min_length=1,
        description="The data (CSV, TSV or JSON): a path in the source's folder, or a pattern, such as `data/*.csv`.",
    )
    headers: dict[str, str] = field(
        "answers", {}, description="Other names for columns: `{Sentence ID: id}`. `''` is a column without a header."
    )
    encoding: str | dict[str, str] = field(
        "answers",
        "utf-8-sig",
        description="Encoding of the files; or by pattern, with UTF-8 for the rest: `{'*_nl.csv': mac_roman}`.",
    )
    delimiter: str = field(
        "answers", "", description="Character between a CSV file's cells. Default: a comma; in `.tsv` files a tab."
    )
    join: Join | None = field("answers", None, description="Columns to add from a second file.")
    derive: dict[str, Derived] = field(
        "answers", {}, description="New columns, each by a rule, which may use new columns above it."
    )
    drop: list[Drop] = field("answers", [], description="Rows to leave out, after all else.")
    agree: list[Agree] = field(
        "answers", [], description="Columns that must equal a text or another column, before errata are applied."
    )
    item: Text = field("answers", min_length=1, description="An item's id, such as `{category}/{id}`.")
    category: str = field("answers", description="Column with an item's category.")
    replace: dict[str, dict[str, Cell]] = field(
        "answers", {}, description="Values to replace, by column, before `join` and `derive`: `{gender: {m: male}}`."
    )
    errata: list[Erratum] = field("answers", [], description="Corrections of single items, after `derive`.")

    def read_columns(self, used: Iterable[str]) -> list[str]:
        """The columns to read from the data for the columns ``used``: for a derived one, those it is made from."""
        rules: list[Drop | Agree] = [*self.drop, *self.agree]
        wanted = dict.fromkeys((*used, *(rule.column for rule in rules)))
        wanted |= dict.fromkeys(name for rule in rules for name in template_fields(rule.equals))
        for name, rule in reversed(self.derive.items()):
            wanted.pop(name, None)
            wanted |= dict.fromkeys(rule.columns)
        return [name for name in wanted if name != ROW]

    @property
    def lists(self) -> set[str]:
        """The columns that may hold a list."""
        return {name for rule in self.derive.values() for name in template_fields(rule.option or "")}

    @model_validator(mode="after")
    def _known_encodings(self) -> "Rows":
        known_encodings([self.encoding] if isinstance(self.encoding, str) else self.encoding.values())
        if self.delimiter and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise ValueError(f"delimiter: {shown(self.delimiter)} is not one character that separates cells")
        names = list(self.derive)
        for place, rule in enumerate(self.derive.values()):
            for column in rule.columns:
                if column in names[place + 1 :]:
                    raise ValueError(f"derive.{names[place]}: {column!r} is made below it; put that first")
        return self


def one_of(key: str, value: str, known: Iterable[str]) -> None:
    """Raise ValueError, with the nearest name, where ``value`` is none of the ``known``."""
    known = list(known)
    if value not in known:
        raise ValueError(f"{key}: {shown(value)} is unknown{nearest(value, known)}")


def once(key: str, names: Iterable[str]) -> None:
    """Raise ValueError where one of the ``names`` is there twice."""
    names = list(names)
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{key}: {shown(name)} stands there twice; name each once")


def check_template(prompt: str | dict[str, str], known: Iterable[str]) -> None:
    """Raise ValueError for a prompt whose fields are not the ``known`` ones; files are read later."""
    if isinstance(prompt, dict) or prompt.startswith(_PROMPTS):
        return
    known = list(known)
    for name in template_fields(prompt):
        one_of("prompt", name, known)
    for name in known:
        if name not in template_fields(prompt):
            raise ValueError(
                f"prompt: it lacks the field {{{name}}}; it has {', '.join(template_fields(prompt)) or 'none'}"
            )
