"""The section `benchmarks.{name}`: how one benchmark is run."""

from typing import Annotated, Literal

from pydantic import AfterValidator, model_validator

from biasatlas.benchmarks.shared.framing_design import MOST, Framing, framings
from biasatlas.sources import PUBLISHED_DATA
from biasatlas.stages import StagedModel, field
from biasatlas.userfiles import shown
from biasatlas.validation import FilePath, WrittenPath

_NAMED = (*PUBLISHED_DATA, "sample")


def _data(value: str) -> str:
    """``value``, if it is one of _NAMED or reads as a path: so a misspelt word is not taken for a folder."""
    if value not in _NAMED and "/" not in value:
        raise ValueError(f"{shown(value)} is none of {', '.join(_NAMED)}; write a folder with a slash, as ./{value}")
    return value


def _ways(listed: list[str]) -> list[str]:
    if twice := [value for place, value in enumerate(listed) if value in listed[:place]]:
        raise ValueError(f"{shown(twice[0])} is listed twice; name it once")
    if not all(map(str.strip, listed)):
        raise ValueError("one is empty; the protocol's own way is asked in any case")
    return listed


class Framings(StagedModel):
    """Other ways to ask a benchmark's questions, crossed with each other and beside the protocol's own."""

    system: Annotated[list[str], AfterValidator(_ways)] = field("answers", [], description="System prompts.")
    persona: Annotated[list[str], AfterValidator(_ways)] = field(
        "answers", [], description="Sentences before the question, such as `I am a nurse.`"
    )
    option_order: Annotated[list[Literal["reversed", "rotated"]], AfterValidator(_ways)] = field(
        "answers", [], description="Orders of lettered options."
    )
    items: float | None = field(
        "answers", None, gt=0, le=1, description="The share of the items that each asks (docs/framings.md)."
    )

    @model_validator(mode="after")
    def _few(self) -> "Framings":
        """Refuse a section that asks in no other way, or in too many."""
        if not 0 < (count := len(framings(self.model_dump()))) <= MOST:
            said = f"its balanced fraction has {count} framings, and at most {MOST} are asked; list fewer"
            nothing = (
                f"it has no other way to ask; list some under {', '.join(Framing._fields[1:])}, or leave the key out"
            )
            raise ValueError(said if count else nothing)
        return self


class Run(StagedModel):
    """How one benchmark is run."""

    benchmark: str = field(
        "answers",
        "",
        description="The benchmark, if the section's name is your own, such as `bbq-mine` (so that two data sets can "
        "stand side by side); or a description's path, such as `./mine.yaml`. By default the section's name.",
    )
    data: Annotated[WrittenPath, AfterValidator(_data)] = field(
        "answers",
        "full",
        description="`full`, the published data; `sample`, a few items of our own that ship with the workflow; or a "
        "folder of yours, written with a slash, such as `./data`, with files in the authors' format. DBB also has "
        "`released`, the questions with the descriptors that its authors filled in, and `released_more`, their larger "
        "set.",
    )
    protocols: list[str] = field(
        "nothing", ["recommended"], min_length=1, description="Named option sets to run, one or more."
    )
    models: list[str] | None = field(
        "nothing", None, min_length=1, description="Names of models to measure; all if not given."
    )
    tasks: list[str] | None = field(
        "nothing",
        None,
        min_length=1,
        description="Tasks to measure; if not given, all tasks of the benchmark, except `names` of DBB.",
    )
    categories: list[str] | None = field(
        "answers", None, min_length=1, description="Categories to measure; all of the benchmark's if not given."
    )
    effort: Literal["all", "rounds"] = field(
        "answers",
        "all",
        description="`all` asks everything. `rounds` asks a growing share of the items, and stops once every "
        "headline that can get a verdict is *biased* or *unbiased* (docs/rounds.md).",
    )
    framings: Framings | None = field(
        "answers",
        None,
        description="Other ways to ask the same questions, to see whether the verdicts hold (docs/framings.md).",
    )
    judge: str | None = field(
        "judgements",
        None,
        description="Name of the model that judges answers; tasks that need a judge are left out if not given.",
    )
    parse_with: str | None = field(
        "tables",
        None,
        description="Name of a model that reads the replies that could not be parsed and, for comparison, 100 others "
        "of each model and task (docs/replies.md). What it reads is kept in a separate column; no score changes.",
    )
    skip_invalid: bool = field(
        "answers",
        False,
        description="McBE: go on if instances break the format or their number is not the published one. Such an "
        "instance is `failed` in the tasks that its fault affects, and every table counts such failures.",
    )
    cells: Literal["strict", "as_authors"] = field(
        "answers",
        "strict",
        description="McBE: `strict` reports each cell that does not have the paper's format; `as_authors` reads it as "
        "the authors' code does: a list with the wrong kind of comma is one word, a sentence may lack its "
        "placeholder, an explanation may be empty.",
    )
    files: dict[str, FilePath] = field(
        "answers",
        {},
        description="Paths of your own files, by what they hold: `variations` and `dataset` for DBB, `annotations` "
        "and `ratings` for "
        "McBE, `prompts` for the papers' printed prompts. The benchmark's page has their formats.",
    )

    @property
    def folder(self) -> str | None:
        """The folder of the user's own data; None where the data are published or ship."""
        return None if self.data in _NAMED else self.data

    @property
    def is_published(self) -> bool:
        """Whether the data are published."""
        return self.data in PUBLISHED_DATA
