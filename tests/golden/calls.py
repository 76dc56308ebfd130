"""Requests to endpoints, and the calls that they become: how many, and with which bodies."""

import json

from golden.questions import OPEN, OWN, TALK, USER, requests

from biasatlas.models.endpoint.calls import Unsupported, planned_call
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.sampling import fill_sampling


def entry(**settings: object) -> ApiEntry:
    return ApiEntry(kind="api", base_url="https://host/v1", model="m", **settings)


ENTRIES = {
    "openai": entry(dialect="openai"),
    "compatible": entry(extra_body={"reasoning": False}, prompt_logprobs=True),
    "vllm": entry(dialect="vllm", system="user"),
    "llama.cpp": entry(dialect="llama.cpp"),
    "reasoning": entry(dialect="reasoning"),
    "anthropic": entry(dialect="anthropic"),
    "gemini": entry(dialect="gemini"),
    "glm": entry(dialect="glm"),
    "openai, exact": entry(dialect="openai", top_logprobs=5),
    "vllm, exact": entry(dialect="vllm", top_logprobs=20),
}
SYSTEMS = json.dumps([{"role": "system", "content": "One."}, {"role": "system", "content": "Two."}, *json.loads(OPEN)])
DRAWN = {"temperature": 0.7, "top_p": 0.8, "max_tokens": 4, "repeats": 3}
WHOLE = {"top_p": 1.0, "max_tokens": 4, "repeats": 5}

#: Name -> kind and what is asked.
REQUESTS: dict[str, tuple[str, dict]] = {
    "drawn text": ("generation", {"messages": TALK} | DRAWN),
    "greedy text": ("generation", {"messages": SYSTEMS, "temperature": 0.0, "top_p": 1.0, "max_tokens": 64}),
    "penalties": ("generation", {"messages": USER, "frequency_penalty": 0.5, "repetition_penalty": 1.2} | DRAWN),
    "the model's settings": ("generation", {"messages": USER, "sampling": "own", "max_tokens": 9, "repeats": 2}),
    "raw text": ("generation", {"prefix": "He said"} | DRAWN),
    "choice": ("choice", {"messages": USER, "temperature": 1.0} | WHOLE),
    "tempered choice": ("choice", {"messages": TALK, "temperature": 0.5} | WHOLE),
    "hot choice": ("choice", {"messages": USER, "temperature": 1.5} | WHOLE),
    "choice by top-p": ("choice", {"messages": USER} | DRAWN),
    "choice by top-k": ("choice", {"messages": USER, "temperature": 1.0, "top_k": 7} | WHOLE),
    "penalised choice": ("choice", {"messages": USER, "temperature": 1.0, "repetition_penalty": 1.1} | WHOLE),
    "likelihood": ("likelihood", {"prefix": "He said", "continuation": " that.", "boundary": "offsets"}),
    "likelihood, split": ("likelihood", {"prefix": "He", "continuation": " said", "boundary": "separate"}),
    "likelihood, bare": ("likelihood", {"continuation": "He", "boundary": "offsets", "special_tokens": "none"}),
    "likelihood of talk": ("likelihood", {"messages": USER, "continuation": "He", "boundary": "offsets"}),
}


def bodies() -> dict:
    """Entry -> request -> the number of calls with different keys, what they want and their body; or the refusal."""
    return {
        name: {request: _planned(endpoint, *asked) for request, asked in REQUESTS.items()}
        for name, endpoint in ENTRIES.items()
    }


def _planned(endpoint: ApiEntry, kind: str, asked: dict) -> str:
    row = fill_sampling(requests(kind, [asked]), OWN, "m").to_dict("records")[0]
    planned = planned_call(row, endpoint)
    if isinstance(planned, Unsupported):
        return str(planned)
    body = json.dumps(planned.body, sort_keys=True, ensure_ascii=False)
    return f"{len(set(planned.keys))} x {planned.wants} {body}"
