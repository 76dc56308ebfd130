"""OpenAI-compatible endpoints (kind ``api``): what is known of services, and what a check found of an endpoint.

``resources/services.json`` says what services take and what finish reasons, statuses and errors mean. A service with a
spelling of its own has an entry there. Words that always mean the same hold for every host, since gateways pass them
on. A meaning that only one service gives them is listed under its name, with its hosts.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from biasatlas import ROOT
from biasatlas.errors import UserError

#: Raise it when a reply, or a stored record, becomes another response than before (:mod:`.replies`): responses are then
#: made anew from the store, and nothing is paid for. A golden test says when.
VERSION = 4

#: Part of a call's key: raise it when stored records lack what a response needs. They are then asked for, and paid for,
#: again.
ASKED = 1

#: The status of what counts as an answer: "refused" by the model, "filtered" by the service, before or after,
#: "thought" (all tokens went into thinking), "unparseable" (nothing to read).
Status = Literal["ok", "truncated", "refused", "filtered", "thought", "unparseable"]

#: What a reply or an error means: an answer; "retry" if it may be asked again; or that it will not be answered, for its
#: prompt ("unanswerable"), the entry's settings ("request"), the model's name ("model"), key or credit ("account").
Kind = Literal[Status, "retry", "unanswerable", "request", "model", "account"]

#: A date, a version or a route at the end of a model's name, which does not make it another model.
_RELEASE = re.compile(r"(@[\w.-]+|[-@](\d{4}-?\d{2}-?\d{2}|\d{4}|\d{3}|\d{2}-\d{2}|v\d+(\.\d+)*|latest))+$")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Rule(_Strict):
    """An error whose status is one of ``statuses`` and whose text has one of ``words`` (patterns, in any case)."""

    kind: Kind
    statuses: tuple[int, ...]
    words: tuple[re.Pattern[str], ...]

    def holds(self, status: int, text: str) -> bool:
        """Whether an error of this ``status`` and ``text`` matches the rule."""
        return status in self.statuses and any(re.search(word.pattern, text, re.IGNORECASE) for word in self.words)


class Service(_Strict):
    """What only one service means: by some errors, and by a reply without any choice."""

    hosts: tuple[str, ...]
    errors: tuple[Rule, ...] = ()
    empty_choices: Kind = "retry"


class Dialect(_Strict):
    """How an endpoint spells settings: an answer's ``length``, a ``seed``; ``off`` is sent to disable others.

    What it ``lacks`` is not sent, and requests that need it are not asked; nor are those above ``most_temperature``.
    ``greedy`` is sent in place of a temperature of 0 if the endpoint takes none; ``thinking`` asks for thinking, with
    "{budget}" for the number of its tokens; ``no_thinking`` turns it off (None: no way is known).
    ``most_top_logprobs`` and ``most_answers`` (the parameter `n`) are the most in one call; an endpoint may have no
    ``batch``.
    """

    length: str = "max_tokens"
    seed: str = "seed"
    top_k: str | None = None
    no_top_k: int = 0
    repetition_penalty: str | None = None
    off: dict[str, float] = {}
    lacks: dict[str, float] = {}
    most_temperature: float = 2.0
    greedy: dict[str, Any] = {}
    thinking: dict[str, Any] = {}
    no_thinking: dict[str, Any] | None = None
    most_top_logprobs: int = 1000
    most_answers: int = 128
    batch: bool = True


class Services(_Strict):
    """All that is known of services.

    A status of ``too_many`` asks for fewer calls. ``resets`` are headers that say when a limit is fully available
    again, each with the header that says what is left of it.
    """

    finish: Mapping[str, Kind]
    statuses: Mapping[int, Kind]
    too_many: tuple[int, ...]
    resets: Mapping[str, str]
    errors: tuple[Rule, ...]
    dialects: Mapping[str, Dialect]
    services: Mapping[str, Service]

    def of_finish(self, reason: str | None) -> Kind:
        """What a finish reason means, by its part before a colon, in any case; "retry" for an unknown one."""
        return self.finish.get(_plain(reason), "retry")

    def is_known(self, reason: str | None) -> bool:
        """Whether anything is known of a finish reason."""
        return _plain(reason) in self.finish

    def of_error(self, status: int, text: str, service: str) -> Kind:
        """What an error of this ``status`` (HTTP, or a body's own) and ``text`` means: by words, then by status.

        An unknown status from 400 to 499 is "unanswerable": it may be about the prompt alone.
        """
        own = self.services[service].errors if service else ()
        for rule in (*own, *self.errors):
            if rule.holds(status, text):
                return rule.kind
        return self.statuses.get(status, "unanswerable" if 400 <= status < 500 else "retry")

    def named(self, base_url: str) -> str:
        """The name of the service at ``base_url``; '' for an unknown host."""
        host = urlsplit(base_url).hostname or ""
        for name, service in self.services.items():
            if any(host == known or host.endswith((f".{known}", f"-{known}")) for known in service.hosts):
                return name
        return ""


def _plain(reason: str | None) -> str:
    return (reason or "").partition(":")[0].strip().lower()


@cache
def services() -> Services:
    """What ``resources/services.json`` says. Raises ValidationError if it is malformed."""
    return Services.model_validate_json((ROOT / "resources" / "services.json").read_bytes())


def same_model(served: str, asked: str) -> bool:
    """Whether an endpoint answers under the name asked for, apart from a release at its end or a path in front."""
    names = [_RELEASE.sub("", name.lower()) for name in (served, asked)]
    return names[0] == names[1] or names[0].rpartition("/")[2] == names[1].rpartition("/")[2]


@dataclass(frozen=True)
class Found:
    """What the check of an endpoint found.

    ``n`` is how many answers it gives in one call (1: it takes no ``n``). ``samples``: whether equal calls at
    temperature 1 are answered differently. ``seed``: whether they must have different seeds for that.
    ``served_model`` is the name it answers under.
    """

    n: int = 1
    samples: bool = True
    seed: bool = False
    served_model: str = ""


def read_found(ready: Sequence[Path]) -> Found | None:
    """What an earlier check found, from its file among those that are ``ready``; None if there was none.

    Raises UserError if the file is not valid.
    """
    path = next((path for path in ready if path.suffix == ".checked" and path.stat().st_size), None)
    if path is None:
        return None
    try:
        return TypeAdapter(Found).validate_json(path.read_bytes())
    except ValidationError:
        raise UserError(f"{path}: not a valid endpoint-check file. Remove it and run again.") from None
