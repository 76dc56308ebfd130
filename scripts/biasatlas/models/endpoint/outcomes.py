"""What a response comes to: answers, an end of the matter, or another try."""

import json
from dataclasses import dataclass, replace
from typing import Any

from biasatlas.models.endpoint import VERSION
from biasatlas.models.endpoint.calls import Wants
from biasatlas.models.endpoint.replies import NO_TEXT, BadReply, read_reply
from biasatlas.models.endpoint.services import Kind, said, services


@dataclass(frozen=True)
class Outcome:
    """What a response comes to, with the ``reason`` where there is no answer.

    ``records`` are what the store keeps, None for a choice that is no answer: those of a reply's choices, or one for an
    error that ends the matter. A "retry" that is ``unknown`` came whole, but says what nobody knows: it may be about
    the prompt alone.
    """

    kind: Kind
    reason: str = ""
    records: tuple[dict | None, ...] = ()
    unknown: bool = False


def outcome(status: int, content: bytes, wants: Wants = "text", service: str = "", thinks: bool = False) -> Outcome:
    """What a response of this HTTP ``status`` and body comes to, whatever the ``service`` ('' where it is not known).

    A reply of status 200 whose body is an error has the status that the error names. A reply with several choices is
    what the first of them that is an answer is.
    """
    if status == 200:
        try:
            records = read_reply(content, wants, thinks)
        except BadReply as error:
            return _no_answer(content, error, service)
        first = next(record for record in records if record)
        return Outcome(first["status"], records=tuple(records))
    text = said(_json(content))
    return _error(services().of_error(status, text, service), f"{status} {text}")


def _no_answer(content: bytes, fault: BadReply, service: str) -> Outcome:
    """What a reply of status 200 comes to that is none: an error, nothing at all where a service says so, or broken."""
    body = _json(content)
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict):
        code = error.get("code")
        status = code if isinstance(code, int) else int(code) if isinstance(code, str) and code.isdigit() else 500
        return _error(services().of_error(status, said(error), service), f"{status} {said(error)}")
    if isinstance(body, dict) and body.get("choices") == []:
        found = _error(services().services[service].empty_choices if service else "retry", "no answer: no choice")
        return replace(found, unknown=found.kind == "retry")
    return Outcome("retry", str(fault), unknown=fault.unknown)


def _error(kind: Kind, reason: str) -> Outcome:
    """An error of a ``kind``, with the record that the store keeps where it ends the matter."""
    if kind not in ("filtered", "thought"):
        return Outcome(kind, reason)
    record: dict = {
        "version": VERSION,
        "status": kind,
        "text": "",
        "finish_reason": "content_filter" if kind == "filtered" else "length",
        # No model ran where a prompt was filtered, and an error is not charged; what was thought may have been.
        "prompt_tokens": 0 if kind == "filtered" else None,
        "completion_tokens": 0 if kind == "filtered" else None,
        "served_model": None,
        "choice": 0,
    }
    detail = {"detail": NO_TEXT["thought"]} if kind == "thought" else {}
    return Outcome(kind, reason, (record | detail,))


def _json(content: bytes) -> Any:
    text = content.decode("utf-8-sig", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
