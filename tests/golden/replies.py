"""Replies as endpoints send them, and the records that they become."""

import json

from biasatlas.models.endpoint.replies import BadReply, filtered, read_reply

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

#: Status and text of an error.
ERRORS = [
    (400, "400 content_filter The response was filtered"),
    (400, "400 1301 系统检测到输入或生成内容可能包含不安全或敏感内容"),
    (400, "400 data_inspection_failed Input data may contain inappropriate content."),
    (400, "400 invalid_request_error Content Exists Risk"),
    (400, "400 context_length_exceeded at most 1301 tokens"),
    (500, "500 content_filter is down"),
]


def records() -> dict:
    """The record of each reply, or why it is no answer; the record of each error that is a refusal."""
    return {
        "replies": [[wants, reply, _record(wants, reply)] for wants, reply in json.loads(json.dumps(REPLIES))],
        "errors": [[status, text, filtered(status, text)] for status, text in ERRORS],
    }


def _record(wants: str, reply: object) -> dict | str:
    try:
        return read_reply(reply, wants)
    except BadReply as error:
        return f"BadReply: {error}"
