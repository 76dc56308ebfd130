"""What entries of every kind of model share. Light to import: planning reads entries and opens no model."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, model_validator

from biasatlas.stages import StagedModel, field
from biasatlas.userfiles import shown

if TYPE_CHECKING:
    from biasatlas.benchmarks.contract import Spec


class Template(StagedModel):
    """A chat template, as two literal texts. `{user}` includes any system message, put first."""

    prompt: str = field(
        "answers",
        description="Text before the answer; `{user}` stands for the user's message, as in `User: {user} Assistant:`.",
    )
    empty: str = field("answers", description="The same for an empty user message.")

    @model_validator(mode="after")
    def _shows_the_message(self) -> "Template":
        """Refuse a template that does not hold the message exactly once."""
        if self.prompt.count("{user}") != 1 or "{user}" in self.empty:
            raise ValueError("`prompt` needs {user} once, where the message stands, and `empty` has none")
        return self


class SamplingSettings(StagedModel):
    """Sampling settings under a name that a protocol asks for."""

    temperature: float = field(
        "answers", ge=0, le=100, description="Sampling temperature; 0: always the likeliest token."
    )
    top_p: float = field(
        "answers",
        1.0,
        gt=0,
        le=1,
        description="Sample only from the likeliest tokens that together have this probability (nucleus "
        "sampling); 1: from all.",
    )
    top_k: int = field(
        "answers", 0, ge=0, description="Sample only from this many of the likeliest tokens; 0: from all."
    )
    repetition_penalty: float = field(
        "answers",
        1.0,
        gt=0,
        le=100,
        description="Penalty on tokens that the prompt or the answer already contains; 1: none.",
    )


class Thinking(StagedModel):
    """How a model thinks before it answers."""

    budget: int = field(
        "answers", 4000, ge=1, le=1_000_000, description="Maximum tokens of thinking, on top of those of the answer."
    )
    how: Literal["body", "tags"] = field(
        "answers",
        "body",
        description="`body`: requests ask for thinking; `tags`: the model thinks unasked, between tags.",
    )


def _in_words(value: Any) -> Any:
    """The mapping that a word stands for; YAML reads `off` and `on` as false and true."""
    words: dict[Any, Any] = {False: None, "off": None, "none": None, True: {}, "on": {}}
    return words.get(value, value) if isinstance(value, str | bool) else value


def _as_thinking(value: Any) -> Any:
    """What ``value`` stands for. Raises ValueError if it is neither one of the words nor a mapping."""
    thinking = _in_words(value)
    if isinstance(thinking, dict | Thinking | None):
        return thinking
    raise ValueError(
        f"expected none, off, on, a mapping such as {{budget: 1024}}, or a list of several, got {shown(value)}"
    )


def turned_off(entry: Any, key: str, fields: dict[str, Any]) -> Any:
    """``entry`` as configured; if its `thinking` is `off`, its mapping ``key`` also gets the ``fields`` that turn it
    off. Under `none` a model that thinks unless it is told not to would think."""
    if not isinstance(entry, dict) or not (entry.get("thinking") is False or entry.get("thinking") == "off"):
        return entry
    own = entry.get(key, {})
    if not isinstance(own, dict):
        return entry
    refuse_both(key, own, fields)
    return entry | {key: own | fields}


def refuse_both(key: str, own: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
    """Raise ValueError if an entry's ``own`` mapping ``key`` sets one of the ``fields`` that `thinking` sets."""
    for name in own.keys() & fields.keys():
        raise ValueError(f"{key}: {name!r} is what `thinking` sets; leave one of them out")


#: How a model thinks; None: thinking is not asked for and nothing is cut. A configuration may list several ways, each
#: of which makes a model (:func:`variants`).
_Written = Thinking | Literal["none", "off", "on"] | None
Thinks = Annotated[Thinking | None, BeforeValidator(_as_thinking, json_schema_input_type=_Written | list[_Written])]

#: The description of the field.
THINKING = (
    "Whether the model thinks before it answers: `none` (requests don't say), `off` (they tell it not to), `on`, or a "
    "mapping such as `{budget: 1024}` (docs/api.md). Thinking is stored apart from the answer and not parsed; choices "
    "are then sampled. A list, such as `[off, on]`, measures the model under each."
)


def variants(name: str, entry: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The entries of model ``name``: one for each way of thinking that ``entry`` lists, or itself if it lists none.

    The model that does not think keeps the plain name, and it alone is compared with published numbers. Raises
    ValueError for a way that is listed twice.
    """
    listed = entry.get("thinking")
    if not isinstance(listed, list) or not listed:
        return {name: dict(entry)}
    found: dict[str, dict[str, Any]] = {}
    for value in listed:
        thinking = _in_words(value)
        budget = thinking.get("budget", "") if isinstance(thinking, dict) else ""
        kept = {key: part for key, part in entry.items() if key != "published_as" or thinking is None}
        ways = [name] if thinking is None else [f"{name}-thinking"] + [f"{name}-thinking-{budget}"] * bool(budget)
        way = next((way for way in ways if way not in found), None)
        if way is None:
            raise ValueError(f"models.{name}.thinking: {value!r} stands there twice; keep one of them")
        found[way] = kept | {"thinking": value}
    return found


class Entry(StagedModel):
    """An entry of any kind."""

    kind: str = field(
        "answers",
        description="How the model is reached: `hf`, `masked`, `planted`, `simulated`, `api` or `released`. Its "
        "other keys depend on it.",
    )
    published_as: str | None = field(
        "tables", None, description="The model's name in the papers' tables, to show published numbers beside yours."
    )


class HubEntry(Entry):
    """A model in Hugging Face format, in a folder or on the hub."""

    source: str = field(
        "answers",
        description="Folder, such as `./my-model`, or id on the Hugging Face Hub, such as `owner/name`. Weights "
        "must be safetensors.",
    )
    revision: str | None = field("answers", None, description="Commit of the hub repository; required for a hub id.")

    @model_validator(mode="after")
    def _pinned(self) -> "HubEntry":
        """Refuse a hub id without a revision, and a hub's code without a commit: others could change them."""
        if self.revision is None and is_hub_id(self.source):
            raise ValueError("start a folder with ./ or /; otherwise add `revision`, the commit to pin")
        if getattr(self, "trust_remote_code", False) and is_hub_id(self.source) and not is_commit(self.revision):
            raise ValueError(f"{UNPINNED_CODE}, got {self.revision!r}")
        return self


#: The message about code that others may change.
UNPINNED_CODE = "trust_remote_code: give `revision` as the commit whose code you have read, 40 hex digits"


def is_commit(revision: str | None) -> bool:
    """Whether a ``revision`` names one commit for ever, which a branch, a tag and a shortened name do not."""
    return re.fullmatch(r"[0-9a-f]{40}", revision or "") is not None


def is_hub_id(source: str) -> bool:
    """Whether a model's ``source`` is the id of a repository on the Hugging Face hub rather than a folder."""
    return not source.startswith((".", "/", "~"))


def fetched(entry: HubEntry) -> Literal["fetched", ""]:
    """What must be ready before a model in Hugging Face format loads: "fetched" for a hub id, nothing for a folder."""
    return "fetched" if is_hub_id(entry.source) else ""


def environment(entry: HubEntry) -> str:
    """The environment of a job that runs a model in process."""
    return "model-gpu" if getattr(entry, "gpu", 0) else "model"


def pinned_revision(entry: HubEntry, ready: Sequence[Path]) -> str | None:
    """The commit that rule fetch_model recorded in the file ``ready``; for a folder, the entry's revision."""
    if not is_hub_id(entry.source) or not ready:
        return entry.revision
    return json.loads(ready[0].read_text(encoding="utf-8"))["commit"]


def ready_folder(ready: Sequence[Path]) -> Path:
    """The folder that ``ready`` is, or that holds its files."""
    return ready[0] if ready[0].is_dir() else ready[0].parent


def every_task(entry: Entry, benchmark: str, spec: "Spec") -> tuple[str, ...]:
    """Names of all tasks of a benchmark: for models that answer every kind of request."""
    return tuple(spec.tasks)


def lacks_setting(entry: Entry, setting: str) -> bool:
    """Whether an entry lacks a ``setting`` such as "sampling.table8": a section of the entry, and a key in it."""
    section, _, key = setting.partition(".")
    return key not in getattr(entry, section, {})
