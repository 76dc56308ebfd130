"""Exact probabilities: of a continuation (kind ``likelihood``), and of each label of a ``choice``.

A label's probability is that of all answers that a parser reads as that label.
"""

import json
from collections.abc import Mapping

import numpy as np
import pandas as pd

from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE
from biasatlas.benchmarks.shared.parsing.named import Parser, Said
from biasatlas.benchmarks.shared.parsing.options import Options, asked_options
from biasatlas.columns import RESPONSE_COLUMNS
from biasatlas.engine.choice import Question, TokenParser, answer_probabilities
from biasatlas.engine.encode import BOUNDARIES, SPECIAL_TOKENS, encode_pairs
from biasatlas.engine.memory import Memory
from biasatlas.engine.plain import token_log_probabilities
from biasatlas.engine.routes import Route, log_likelihoods
from biasatlas.errors import UserError
from biasatlas.models import UNRESOLVED_BOUND
from biasatlas.models.local.inputs import (
    by_route,
    integer,
    longest_answer,
    samplings,
    setting,
    switch_length,
    why_unanswerable,
    why_unreadable,
)
from biasatlas.models.local.load import LoadedModel
from biasatlas.models.local.render import texts

#: Tokens of each prompt and continuation together, and the index of the first token of the continuation.
Encoded = tuple[list[np.ndarray], np.ndarray]
#: The most beginnings of answers whose parses are kept for a question's options; beyond, all are forgotten.
_MOST_KNOWN = 100_000


def answer_likelihoods(
    requests: pd.DataFrame, encoded: Encoded, model: LoadedModel, memory: Memory
) -> tuple[pd.DataFrame, dict]:
    """Likelihood responses in the order of ``requests``, ``encoded`` by :func:`encode`, and what computing them took.

    A continuation without a token to score is "not_applicable", a text that the model cannot take is "failed".
    """
    tokens, start = encoded
    length = np.fromiter(map(len, tokens), np.int64, len(tokens))
    empty = start >= length
    why = why_unreadable(model, tokens, length - 1)
    detail = np.where(empty, "no token of the continuation can be scored", why).astype(object)
    status = np.where(empty, "not_applicable", np.where(detail != "", "failed", "ok"))

    values = np.full(len(requests), np.nan)
    scorable = np.flatnonzero(status == "ok")

    def answer(group: np.ndarray, route: Route) -> dict[str, int]:
        asked = scorable[group]
        values[asked], took = log_likelihoods(model.model, [tokens[i] for i in asked], start[asked], memory, route)
        return took

    run = by_route(model, length[scorable] - 1, lambda i: requests["request_id"][scorable[i]], answer)
    count = np.where(status == "ok", length - start, 0)
    responses = pd.DataFrame(
        {
            "request_id": requests["request_id"],
            "repeat": 0,
            "status": status,
            "detail": detail,
            "log_likelihood": values,
            "tokens": count,
            "nll_per_token": -values / np.where(count, count, np.nan),
        }
    )
    return responses, run


def token_log_likelihoods(encoded: Encoded, model: LoadedModel, memory: Memory) -> list[list[tuple[str, float]]]:
    """Each scored token of each request's continuation, with its log-likelihood in nats; the response has their sum.

    Empty for a request that has no likelihood. Computed in padded batches, which are right for every causal model.
    """
    tokens, start = encoded
    length = np.fromiter(map(len, tokens), np.int64, len(tokens))
    why = why_unreadable(model, tokens, length - 1)
    scorable = np.flatnonzero((start < length) & (why == ""))
    found: list[list[tuple[str, float]]] = [[] for _ in tokens]
    short = length <= (switch_length(model.text_config) or np.inf) + 1  # padding would scale these like the longer ones
    for asked in (scorable[short[scorable]], scorable[~short[scorable]]):
        values = token_log_probabilities(model.model, [tokens[i] for i in asked], memory)
        for i, of_text in zip(asked, values, strict=True):
            texts_of = [model.tokenizer.decode([token]) for token in tokens[i][start[i] :]]
            found[i] = list(zip(texts_of, of_text[start[i] - 1 :].tolist(), strict=True))
    return found


def encode(requests: pd.DataFrame, prompts: list[str], model: LoadedModel) -> Encoded:
    """The tokens of each prompt and continuation. Raises UserError for a boundary that the tokenizer cannot find."""
    prefixes = np.asarray(prompts, dtype=object)
    continuations = np.asarray(texts(requests, "continuation"), dtype=object)
    special_tokens = setting(requests, "special_tokens", SPECIAL_TOKENS)
    boundary = setting(requests, "boundary", BOUNDARIES)
    tokens: list[np.ndarray] = [np.zeros(0, np.int32)] * len(requests)
    start = np.zeros(len(requests), np.int64)
    for (special, edge), rows in requests.groupby([special_tokens, boundary], sort=False).indices.items():
        try:
            encoded, start[rows] = encode_pairs(model.tokenizer, prefixes[rows], continuations[rows], special, edge)
        except NotImplementedError as error:
            raise UserError(
                f"{model.name}: the tokenizer reports no character offsets: set the protocol's boundary to "
                "prefix_length."
            ) from error
        for row, ids in zip(rows, encoded, strict=True):
            tokens[row] = ids
    return tokens, np.maximum(start, 1)  # nothing predicts the first token of a text


#: Labels that together have less probability than this are no answer: up to a tenth of it may be unresolved.
LEAST_ANSWERED = 0.03


def answer_choices(
    requests: pd.DataFrame,
    tokens: list[np.ndarray],
    model: LoadedModel,
    memory: Memory,
    parsers: Mapping[str, Parser],
) -> tuple[pd.DataFrame, dict]:
    """Choice responses in the order of ``requests``, whose prompts have ``tokens``, and what computing them took.

    An answer has at most ``max_tokens``, and no more than the prompt leaves of the model's context, which changes no
    answer that is decided before. A prompt that leaves no token has failed.
    """
    detail = why_unanswerable(model, tokens, pd.Series(1, requests.index))
    token_parsers: dict[tuple[str, str, str | None], TokenParser] = {}
    shown = requests["options"] if "options" in requests else pd.Series([None] * len(requests))
    questions: dict[tuple, Question] = {}
    keys = []
    for i, sampling in enumerate(samplings(requests)):
        parser, labels = requests["parser"][i], requests["labels"][i]
        texts = shown.iloc[i] if isinstance(shown.iloc[i], str) else None
        asked = (parser, labels, texts)
        if asked not in token_parsers:
            token_parsers[asked] = _token_parser(model, parsers[parser], asked_options(labels, texts))
        longest = longest_answer(model, len(tokens[i]), integer(requests["max_tokens"][i]))
        key = (tokens[i].tobytes(), sampling, longest, asked)
        keys.append(key)
        if key not in questions and not detail[i]:
            guesses = _guesses(model, labels) if model.route.name == "tree" else ()
            questions[key] = Question(tokens[i], token_parsers[asked], sampling, longest, guesses)
    by_key: dict[tuple, tuple[np.ndarray, float]] = {}
    known = list(questions)

    def answer(group: np.ndarray, route: Route) -> dict[str, int]:
        chosen = [known[i] for i in group]
        answers, took = answer_probabilities(model.model, [questions[key] for key in chosen], memory, route)
        by_key.update(zip(chosen, answers, strict=True))
        return took

    length = np.asarray([len(question.tokens) for question in questions.values()], np.int64)
    run = by_route(model, length, lambda i: requests["request_id"][keys.index(known[i])], answer)
    rows = [
        {"request_id": request_id, "repeat": 0} | (_failed(reason) if reason else _response(*by_key[key]))
        for request_id, key, reason in zip(requests["request_id"], keys, detail, strict=True)
    ]
    return pd.DataFrame(rows, columns=list(RESPONSE_COLUMNS["choice"])), run


def _failed(reason: str) -> dict:
    return {"status": "failed", "detail": reason}


def _response(outcomes: np.ndarray, unresolved: float) -> dict:
    """The columns of a choice. Labels that together have less than LEAST_ANSWERED count as unparseable: the unresolved
    mass could change their shares too much."""
    *labels, refused, ambiguous, unparseable = outcomes.tolist()
    if sum(labels) < LEAST_ANSWERED:
        labels, unparseable = [0.0] * len(labels), unparseable + sum(labels)
    masses = {"refused": refused, "ambiguous": ambiguous, "unparseable": unparseable, "unresolved": unresolved}
    status = {"status": "ok", "detail": ""}
    if unresolved > UNRESOLVED_BOUND:
        status = _failed(
            f"{unresolved:.3f} of the probability lies in answers too many or too long to follow "
            f"(bound {UNRESOLVED_BOUND}): sample this task with requests of kind generation"
        )
    return status | {"probabilities": json.dumps(labels)} | masses


def _token_parser(model: LoadedModel, read: Parser, options: Options) -> TokenParser:
    """A parser whose outcomes are the labels in their order, then refused, ambiguous and unparseable."""
    outcomes = {name: len(options) + at for at, name in enumerate((REFUSED, AMBIGUOUS, UNPARSEABLE))}

    known: dict[str, Said] = {}

    def index(text: str, complete: bool) -> int | None:
        if len(known) > _MOST_KNOWN:
            known.clear()
        parsed = read(text, options, complete, known)
        return outcomes[parsed] if isinstance(parsed, str) else parsed

    def decode(answers: list[list[int]]) -> list[str]:
        if model.tokenizer.is_fast and not model.tokenizer.clean_up_tokenization_spaces:  # the same, without a loop
            return model.tokenizer.backend_tokenizer.decode_batch(answers, skip_special_tokens=True)
        return model.tokenizer.batch_decode(answers, skip_special_tokens=True)

    return TokenParser(index, len(options) + 3, decode, model.eos_token_ids)


def _guesses(model: LoadedModel, labels: str) -> tuple[tuple[int, ...], ...]:
    """The first tokens of the labels, at most 16: likely answers, expanded together with the prompt."""
    texts = [space + label for label in json.loads(labels) for space in ("", " ")]
    ids = model.tokenizer(texts, add_special_tokens=False)["input_ids"]
    return tuple(dict.fromkeys(tuple(row[:1]) for row in ids if row))[:16]
