"""Questions of every kind, to tiny models and to endpoints."""

import json

import pandas as pd

from biasatlas.columns import REQUEST_COLUMNS
from biasatlas.models.entry import Template

USER = json.dumps([{"role": "user", "content": "Who said that?"}])
TALK = json.dumps([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}])
OPEN = json.dumps([{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "It was"}])
TEMPLATES = {"ours": Template(prompt="USER: {user} ASSISTANT:", empty="ASSISTANT:")}
#: Sampling settings as an entry names them.
OWN = {"own": {"temperature": 0.6, "top_p": 0.95, "top_k": 20, "repetition_penalty": 1.05}}

LIKELIHOODS = [
    {"continuation": "He said that."},
    {"prefix": "He said", "continuation": " that."},
    {"prefix": "He said", "continuation": " that.", "boundary": "prefix_length"},
    {"prefix": "He said tha", "continuation": "t.", "boundary": "offsets"},
    {"prefix": "He said tha", "continuation": "t.", "boundary": "prefix_length"},
    {"prefix": "He said tha", "continuation": "t.", "boundary": "separate"},
    {"prefix": "He said tha", "continuation": "t.", "boundary": "separate", "special_tokens": "tokenizer"},
    {"continuation": "He said that.", "special_tokens": "none"},
    {"continuation": "女人", "special_tokens": "tokenizer"},
    {"messages": USER, "template": "tokenizer", "continuation": "He"},
    {"messages": USER, "template": "tokenizer", "prefix": "It was", "continuation": " the man"},
    {"messages": TALK, "template": "tokenizer", "continuation": "He", "special_tokens": "none"},
    {"messages": OPEN, "template": "tokenizer", "continuation": " the man"},
    {"messages": USER, "template": "ours", "continuation": " He"},
    {"prefix": "He said", "continuation": ""},
]
LABELS = {
    "letter": ["1", "B"],
    "label": ["n", "nn", "1"],
    "integer": [str(value) for value in range(11)],
    "decimal": [f"{value / 2:.1f}" for value in range(21)],
}
CHOICES = [
    {"messages": USER, "template": "tokenizer", "parser": parser, "labels": json.dumps(labels), **settings}
    for parser, labels in LABELS.items()
    for settings in ({"top_k": 6, "max_tokens": 3}, {"temperature": 0.5, "top_p": 0.6, "max_tokens": 2})
]
GENERATIONS = [
    {"messages": USER, "template": "tokenizer", "temperature": 0.0, "max_tokens": 12},
    {"prefix": "He said", "temperature": 1.0, "max_tokens": 12, "repeats": 2},
    {"prefix": "He said", "temperature": 0.7, "top_p": 0.8, "top_k": 20, "repetition_penalty": 1.2, "max_tokens": 12},
    {"prefix": "He", "temperature": 1.0, "frequency_penalty": 2.0, "max_tokens": 12},
]
PAIR = ["The old man could not work.", "The young lady could not work."]
TEXTS = [{"continuation": text, "pair": json.dumps(PAIR)} for text in PAIR]
TEXTS += [{"continuation": PAIR[0]}, {"continuation": "Work!"}]

#: Labels that some or hardly any of the answers give, and choices that leave little or much unresolved.
OPEN_CHOICES = [
    {"messages": USER, "template": "tokenizer", "parser": parser, "labels": json.dumps(labels), **settings}
    for parser, labels, settings in (
        ("letter", ["3"], {"top_k": 6, "max_tokens": 3}),
        ("letter", ["3", "B"], {"top_k": 6, "max_tokens": 3}),
        ("letter", ["B"], {"top_k": 6, "max_tokens": 3}),
        ("integer", ["1"], {"top_k": 6, "max_tokens": 8}),
        ("integer", ["1"], {"top_k": 8, "max_tokens": 8}),
        ("integer", ["1"], {"top_k": 12, "max_tokens": 8}),
    )
]
#: Prompts and answers that fill a context of 32 tokens, or exceed it by one; "x" is a token, after a begin token.
FULL_LIKELIHOODS = [{"prefix": "x" * prefix, "continuation": "xx"} for prefix in (30, 31)]
FULL_CHOICES = [
    {"prefix": "x" * prefix, "parser": "integer", "labels": json.dumps(LABELS["integer"]), "top_k": 4, "max_tokens": 3}
    for prefix in (28, 29, 30, 31)
]
FULL_GENERATIONS = [{"prefix": "x" * prefix, "temperature": 1.0, "max_tokens": 12} for prefix in (19, 20)]
#: Settings that a protocol leaves to the model: its checkpoint's, or those named in its entry.
LEFT_GENERATIONS = [
    {"prefix": "x", "sampling": sampling, "max_tokens": 8, "repeats": 3} for sampling in ("checkpoint", "own")
]


def requests(kind: str, rows: list[dict]) -> pd.DataFrame:
    rows = [{"request_id": f"r{i}", "item_id": f"i{i}", "kind": kind, "pair": None} | row for i, row in enumerate(rows)]
    return pd.DataFrame(rows).reindex(columns=[*REQUEST_COLUMNS, "pair", "sampling"])
