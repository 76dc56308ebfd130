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
    """How one benchmark is run. `bbq: {}` runs it with every default."""

    benchmark: str = field(
        "answers",
        "",
        description="The benchmark, if it isn't the section's name: `bbq` in a section `bbq-mine`, or a "
        "description's path, such as `./mine.yaml`.",
    )
    data: Annotated[WrittenPath, AfterValidator(_data)] = field(
        "answers",
        "full",
        description="`full`: the published data; `sample`: a few items of ours; or your folder in the authors' "
        "format, with a slash, such as `./data`. DBB also has `released`, the authors' questions as "
        "they filled them in, and `released_more`, their larger set.",
    )
    protocols: list[str] = field(
        "nothing", ["recommended"], min_length=1, description="Protocols to run, such as `[paper, recommended]`."
    )
    models: list[str] | None = field(
        "tables", None, min_length=1, description="Models to measure, by name. Default: all."
    )
    tasks: list[str] | None = field(
        "tables",
        None,
        min_length=1,
        description="Tasks to measure. Default: all, except DBB's `names`.",
    )
    categories: list[str] | None = field(
        "answers", None, min_length=1, description="Categories to measure. Default: all."
    )
    effort: Literal["all", "rounds"] = field(
        "answers",
        "all",
        description="`all` asks everything. `rounds` asks more and more items, until every headline that can get "
        "a verdict is *biased* or *unbiased* (docs/rounds.md).",
    )
    framings: Framings | None = field(
        "answers",
        None,
        description="Other ways to ask the same questions, such as `{option_order: [reversed]}` (docs/framings.md).",
    )
    judge: str | None = field(
        "judgements",
        None,
        description="Model that grades answers. Default: none; tasks that need one are left out.",
    )
    parse_with: str | None = field(
        "tables",
        None,
        description="Model that parses replies our parsers can't, and up to 100 they can per model and task, for "
        "comparison (docs/replies.md). No score changes.",
    )
    skip_invalid: bool = field(
        "answers",
        False,
        description="McBE: go on if cells are invalid, or if the number of instances isn't the published one. An "
        "invalid cell makes its instance `failed` in the tasks that read it.",
    )
    cells: Literal["strict", "as_authors"] = field(
        "answers",
        "strict",
        description="McBE: `strict` takes only cells in the paper's format. `as_authors` takes others as the authors' "
        "code does: only the full-width comma separates words; a sentence may lack its placeholder; an explanation may "
        "be empty.",
    )
    files: dict[str, FilePath] = field(
        "answers",
        {},
        description="Your files by what they hold, such as `{variations: ./variations.csv}`: `variations` or "
        "`dataset` (DBB), `annotations` or `ratings` (McBE), `prompts` (McBE, TWBias), `questions` "
        "or `judge_prompts` (MT-Bench). The benchmark's page has the formats.",
    )

    @property
    def folder(self) -> str | None:
        """The folder of the user's own data; None where the data are published or ship."""
        return None if self.data in _NAMED else self.data

    @property
    def is_published(self) -> bool:
        """Whether the data are published."""
        return self.data in PUBLISHED_DATA
