"""Probabilities that an endpoint returns: of a first token as those of a choice, of an echoed text as those of its end."""

import math
from collections import defaultdict
from operator import itemgetter

from biasatlas.benchmarks.shared.parsing import Parser
from biasatlas.benchmarks.shared.parsing.options import Options
from biasatlas.models.endpoint.replies import BadReply
from biasatlas.models.sampled_choice import Masses


def exact_masses(top: list[list], temperature: float, options: Options, parser: Parser) -> Masses:
    """Masses by outcome from the first token's top log-probabilities, at ``temperature`` (0 to 1).

    A token that is a label counts for it unless another label begins with it; any other that decides nothing is
    unresolved, and so is the mass that was not returned. Tempering moves that mass: tokens hidden below the least
    returned probability p, with m in sum, come to at most m p^(1/T - 1), which is what is counted.
    """
    if temperature == 0:
        weights, hidden = [(max(top, key=itemgetter(1))[0], 1.0)], 0.0
    else:
        weights = [(token, math.exp(logprob / temperature)) for token, logprob in top]
        least = math.exp(min(logprob for _, logprob in top))
        left = max(0.0, 1 - sum(math.exp(logprob) for _, logprob in top))
        hidden = left * least ** (1 / temperature - 1)
    total = sum(weight for _, weight in weights) + hidden
    masses: Masses = defaultdict(float, {"unresolved": hidden / total})
    for token, weight in weights:
        masses[_first_token(token, options, parser)] += weight / total
    return masses


def _first_token(token: str, options: Options, parser: Parser) -> int | str:
    labels = options.labels
    outcome = parser(token, options, False)
    if outcome is None:
        outcome = parser(token, options, True)
        if not isinstance(outcome, int) or sum(label.startswith(labels[outcome]) for label in labels) > 1:
            return "unresolved"
    return outcome


def continuation_logprobs(record: dict, prefix: str, continuation: str) -> list[float | None]:
    """The log-probabilities (nats) of the tokens that end inside ``continuation``, from the echo of both joined.

    Tokens are matched with the text from the front and, where a character is cut into bytes and shows as no text, from
    the back. The last token is the one that was written, not read. Raises :class:`BadReply` where neither reaches the
    boundary.
    """
    tokens, logprobs = record["tokens"], record["logprobs"]
    count = record["prompt_tokens"] or len(tokens) - 1
    tokens, logprobs = tokens[:count], logprobs[:count]
    text = prefix + continuation
    first = 1 if logprobs and logprobs[0] is None and (not tokens[0] or not text.startswith(tokens[0])) else 0
    position = 0
    for index in range(first, len(tokens)):
        if not text.startswith(tokens[index], position):
            break
        position += len(tokens[index])
        if position > len(prefix):
            return logprobs[index:]
    position = len(text)
    for index in range(len(tokens) - 1, first - 1, -1):
        if not text.endswith(tokens[index], 0, position):
            break
        position -= len(tokens[index])
        if position <= len(prefix):
            return logprobs[index:]
    raise BadReply("the endpoint's tokens do not spell the text around the boundary")
