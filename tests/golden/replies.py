"""Replies as endpoints send them, the records that they become, and the responses that records become."""

import json

from biasatlas.benchmarks.shared.parsing.named import PARSERS
from biasatlas.models.endpoint.answer import responses
from biasatlas.models.endpoint.calls import Unsupported
from biasatlas.models.endpoint.replies import BadReply, read_reply
from biasatlas.models.endpoint.transport import outcome

USAGE = {"prompt_tokens": 11, "completion_tokens": 3}


def chat(message: dict, finish: str | None = "stop", **choice: object) -> dict:
    return {"model": "m-1", "choices": [{"message": message, "finish_reason": finish, **choice}], "usage": USAGE}


TOP = {"content": [{"token": "A", "top_logprobs": [{"token": "A", "logprob": -0.1}, {"token": " B", "logprob": -2.5}]}]}
ECHO = {"tokens": ["He", " said", "."], "token_logprobs": [None, -1.5, -0.25]}

#: What was asked for, and the reply.
REPLIES: list[tuple[str, object]] = [
    ("text", chat({"content": "A. 因为"})),
    ("text", chat({"content": "A. Because"}, "length")),
    ("text", chat({"content": ""}, None)),
    ("text", chat({"content": None, "refusal": "I cannot."})),
    ("text", chat({"content": "Half a"}, "content_filter")),
    ("text", chat({"content": None}, "sensitive")),
    ("text", chat({"content": "half a pair: \ud83d"})),
    ("text", {"choices": [{"message": {"content": "no usage"}}]}),
    ("text", {"choices": []}),
    ("text", {"error": "overloaded"}),
    ("text", ["a", "list"]),
    ("text", chat({"content": 17})),
    ("text", chat({"content": "cut off"}, "network_error")),
    ("text", chat({"reasoning_content": "hidden", "content": "B"})),
    ("first_token", chat({"content": "A"}, "length", logprobs=TOP)),
    ("first_token", chat({"content": "A"})),
    ("first_token", chat({"content": None, "refusal": "No."})),
    ("prompt", {"choices": [{"logprobs": ECHO, "finish_reason": "length"}], "usage": USAGE, "model": "m-1"}),
    ("prompt", {"choices": [{"text": "no log-probabilities"}]}),
]

#: Status, code and text of an error.
ERRORS = [
    (400, "content_filter", "The response was filtered"),
    (400, "1301", "系统检测到输入或生成内容可能包含不安全或敏感内容"),
    (400, "data_inspection_failed", "Input data may contain inappropriate content."),
    (400, "invalid_request_error", "Content Exists Risk"),
    (400, "context_length_exceeded", "at most 1301 tokens"),
    (500, "", "content_filter is down"),
]


def texts(*replies: str) -> list[dict]:
    return [{"status": "ok", "text": text} for text in replies]


def top(logprobs: dict[str, float]) -> list[dict]:
    return [{"status": "ok", "text": "", "top": [list(pair) for pair in logprobs.items()]}]


def echo(tokens: list[str], logprobs: list[float | None], count: int | None) -> list[dict]:
    return [{"status": "ok", "tokens": tokens, "logprobs": logprobs, "prompt_tokens": count}]


FAILED = {"status": "failed", "detail": "500 overloaded"}
REFUSED = {"status": "refused", "text": ""}
FILTERED = {"status": "filtered", "text": ""}
CUT = {"status": "truncated", "text": "A", "finish_reason": "length", "prompt_tokens": 11, "completion_tokens": 3}

TEXT = {"kind": "generation"}
LETTERS = {"kind": "choice", "parser": "letter", "labels": '["A", "B"]'}
NUMBERS = {"kind": "choice", "parser": "integer", "labels": '["1", "10", "2"]'}
CONTINUATION = {"kind": "likelihood", "prefix": "He said", "continuation": " that."}
LETTERS_ALL = {"A": -0.5, " B": -1.5, "Sorry": -2.0, "C": -3.5}
LETTERS_MOST = {"A": -0.2, " B": -1.8}

#: What was asked for, and the records of the calls, or why there were none.
RECORDS: list[tuple[dict, list[dict] | Unsupported]] = [
    (TEXT, [*texts("Yes."), REFUSED, FAILED, CUT]),
    (TEXT, Unsupported("a chat endpoint takes messages only, no raw prefix")),
    (LETTERS, texts("A", "(b)", "B.", "Sorry, no.", "Neither")),
    (LETTERS, [*texts("A", "A", "B"), REFUSED]),
    (LETTERS, [*texts(*"AAAAAAABB"), FAILED]),
    (LETTERS, [FAILED, FAILED]),
    (LETTERS, [REFUSED]),
    (LETTERS, [*texts("A", "B"), FILTERED]),
    (LETTERS, [FILTERED, FILTERED]),
    (TEXT, [FILTERED]),
    (LETTERS, [CUT]),
    *((LETTERS | {"temperature": temperature}, top(LETTERS_ALL)) for temperature in (0.0, 0.5, 1.0)),
    (LETTERS | {"temperature": 1.0}, top(LETTERS_MOST)),
    (LETTERS | {"temperature": 0.5}, top(LETTERS_MOST)),
    (LETTERS | {"temperature": 0.5}, top({"A": -1.0, "B": -1.2})),
    (NUMBERS | {"temperature": 1.0}, top({"2": -0.1, "1": -2.4, "10": -5.5})),
    (CONTINUATION, echo(["He", " said", " th", "at", ".", "x"], [None, -1.5, -2.25, -0.5, -0.25, -9.0], 5)),
    (CONTINUATION, echo(["<s>", "He", " said that", ".", "x"], [None, -1.5, -2.25, -0.5, -9.0], None)),
    (CONTINUATION, echo(["He", " sa\ufffd", "\ufffd", " that", ".", "x"], [None, -1.5, -2.0, -0.5, -0.25, -9.0], 5)),
    (CONTINUATION, echo(["He", "?", "."], [None, -1.5, -2.0], 3)),
    ({"kind": "likelihood", "prefix": None, "continuation": "He."}, echo(["He", ".", "x"], [None, -1.5, -9.0], 2)),
    (CONTINUATION, [FAILED]),
]


def responded() -> dict:
    """The responses to each request, without their missing values."""
    rows = [{"request_id": "r", "temperature": 1.0} | asked for asked, _ in RECORDS]
    made = [responses(row, given, PARSERS) for row, (_, given) in zip(rows, RECORDS, strict=True)]
    return {"responses": [[_present(response) for response in repeats] for repeats in made]}


def _present(response: dict) -> dict:
    if response.get("probabilities"):
        response = response | {"probabilities": json.loads(response["probabilities"])}
    return {name: value for name, value in response.items() if value is not None}


def records() -> dict:
    """The record of each reply, or why it is no answer; the record of each error that is a refusal."""
    return {
        "replies": [[wants, reply, _record(wants, reply)] for wants, reply in json.loads(json.dumps(REPLIES))],
        "errors": [[*error, _of_error(*error)] for error in ERRORS],
    }


def _of_error(status: int, code: str, message: str) -> list:
    found = outcome(status, json.dumps({"error": {"code": code, "message": message}}).encode())
    return [found.kind, *found.records]


def _record(wants: str, reply: object) -> list | str:
    try:
        return read_reply(json.dumps(reply).encode(), wants)
    except BadReply as error:
        return f"BadReply: {error}"
