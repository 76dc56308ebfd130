import functools
import itertools

import numpy as np
import pytest
import torch
from transformers import (
    LogitsProcessorList,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE
from biasatlas.benchmarks.shared.parsing.named import PARSERS
from biasatlas.benchmarks.shared.parsing.options import Options
from biasatlas.engine.choice import HOPELESS, KEPT, PARSES, UNRESOLVED, Question, TokenParser, answer_probabilities
from biasatlas.engine.live import LiveRows
from biasatlas.engine.memory import Memory, NotFiniteError
from biasatlas.engine.routes import Route
from biasatlas.engine.sampling import Sampling

from . import tiny

SAMPLES = 20_000
MAX_TOKENS = 5
END = 0
LABELS = {
    "letter": ["A", "B"],
    "integer": [str(i) for i in range(14)],
    "decimal": [f"{i / 2}" for i in range(21)],
}
SETTINGS = [
    Sampling(),
    Sampling(temperature=0.7, top_p=0.8, repetition_penalty=1.05),
    Sampling(temperature=1.2, top_k=20),
    Sampling(temperature=0.6, top_p=0.95, top_k=40, repetition_penalty=1.2, frequency_penalty=0.6),
]


ALPHABETS = {"letter": "AB", "integer": "0123456789", "decimal": "0123456789."}


def speaker(parser: str = "letter"):
    """A random model that likes to answer in the parser's alphabet and to end (Phi's LM head has a bias to say so)."""
    model = tiny.model("phi")
    with torch.no_grad():
        model.lm_head.bias.zero_()
        model.lm_head.bias[[ids[0] for ids in tiny.tokenizer()(list(ALPHABETS[parser]))["input_ids"]]] = 10.0
        model.lm_head.bias[END] = 10.0 + np.log(len(ALPHABETS[parser]))
    return model


def token_parser(parser: str, labels: list[str]) -> TokenParser:
    outcome = {name: len(labels) + at for at, name in enumerate((REFUSED, AMBIGUOUS, UNPARSEABLE))}

    def read(text: str, complete: bool) -> int | None:
        found = PARSERS[parser](text, Options.of(labels), complete)
        return outcome.get(found, found)

    decode = functools.partial(tiny.tokenizer().batch_decode, skip_special_tokens=True)
    return TokenParser(read, len(labels) + 3, decode, [END])


def prompt(text: str = "Answer with A or B.") -> np.ndarray:
    return np.asarray(tiny.tokenizer()(text)["input_ids"], np.int32)


@torch.inference_mode()
def sampled(model, question: Question, samples: int) -> np.ndarray:
    """Frequencies of complete sampled texts, warped by the library's own processors. Texts that are equal so far are
    drawn together, which changes nothing but the time."""
    s, random = question.sampling, np.random.default_rng(0)
    warpers = LogitsProcessorList([RepetitionPenaltyLogitsProcessor(s.repetition_penalty)])
    rest = [TemperatureLogitsWarper(s.temperature)]
    rest += [TopKLogitsWarper(s.top_k)] if s.top_k else []
    rest += [TopPLogitsWarper(s.top_p)] if s.top_p < 1 else []
    frequencies = np.zeros(question.parser.outcomes)
    alive = {(): samples}
    for step in range(MAX_TOKENS):
        if not alive:
            break
        answers = list(alive)
        ids = torch.as_tensor(np.asarray([[*question.tokens, *answer] for answer in answers], dtype=np.int64))
        logits = warpers(ids, model(input_ids=ids).logits[:, -1])
        for answer, row in zip(answers, logits, strict=True):
            for token in answer:
                row[token] -= s.frequency_penalty
        probabilities = LogitsProcessorList(rest)(ids, logits).softmax(-1).double().numpy()
        drawn, alive = alive, {}
        for answer, p in zip(answers, probabilities, strict=True):
            counts = random.multinomial(drawn[answer], p / p.sum())
            for token in np.flatnonzero(counts).tolist():
                if token == END or step == MAX_TOKENS - 1:
                    text = question.parser.decode([[*answer, token]])[0]
                    frequencies[question.parser.read(text, True)] += counts[token]
                else:
                    alive[(*answer, token)] = counts[token]
    return frequencies / samples


@pytest.mark.parametrize("sampling", SETTINGS)
@pytest.mark.parametrize("parser", LABELS)
def test_probabilities_are_the_frequencies_of_sampling(parser, sampling):
    model, question = speaker(parser), Question(prompt(), token_parser(parser, LABELS[parser]), sampling, MAX_TOKENS)
    ((outcomes, unresolved),), _ = answer_probabilities(model, [question], Memory(2048))
    assert 0 <= unresolved < 0.01
    assert outcomes.sum() + unresolved == pytest.approx(1, abs=1e-5)
    frequencies = sampled(model, question, SAMPLES)
    assert frequencies[: len(LABELS[parser])].sum() > 0.1  # the model does answer: there is something to compare
    assert np.abs(outcomes - frequencies).max() < 0.01


def test_guesses_fallback_and_company_change_nothing():
    model, read = speaker(), token_parser("letter", ["A", "B"])
    texts = ["Answer with A or B.", "Answer with A or B. The nurse", "The doctor"]
    guesses = tuple((row[0],) for row in tiny.tokenizer()(["A", "B", " A"])["input_ids"])
    plain = [Question(prompt(text), read, Sampling(top_p=0.9), MAX_TOKENS) for text in texts]
    guessed = [Question(prompt(text), read, Sampling(top_p=0.9), MAX_TOKENS, guesses) for text in texts]
    together, _ = answer_probabilities(model, plain, Memory(2048))
    for others in (
        answer_probabilities(model, guessed, Memory(64))[0],
        answer_probabilities(model, plain, Memory(2048), Route("plain", "the test asks for it"))[0],
        [answer_probabilities(model, [question], Memory(2048))[0][0] for question in plain],
    ):
        for (ours, _), (wanted, _) in zip(others, together, strict=True):
            assert np.abs(ours - wanted).max() < UNRESOLVED


def test_greedy_answers_are_certain():
    question = Question(prompt(), token_parser("letter", ["A", "B"]), Sampling(temperature=0), MAX_TOKENS)
    ((outcomes, unresolved),), _ = answer_probabilities(speaker(), [question], Memory(256))
    assert sorted(outcomes.round(6)) == [0, 0, 0, 0, 1] and unresolved == 0


def test_a_word_cut_between_bytes_is_read_whole():
    """Chinese labels take several byte tokens each; no piece of one may be read as an answer."""
    labels = ["物質", "生物"]
    read = token_parser("label", labels)
    ids = tiny.tokenizer()("物質")["input_ids"]
    assert len(ids) > 1
    for cut in range(1, len(ids)):
        assert read.parse_next([(tuple(ids[: cut - 1]), np.asarray([ids[cut - 1]]), False)])[0].tolist() == [-1]
    assert read.parse_next([(tuple(ids), np.asarray([END]), False)])[0].tolist() == [0]


@pytest.mark.parametrize("route", [Route(), Route("plain", "the test asks for it")])
def test_a_nan_names_the_question(route):
    model = tiny.model("qwen2")
    questions = [
        Question(np.asarray(ids, np.int32), token_parser("letter", ["A"]), Sampling(), 2) for ids in ([2, 3], [2, 399])
    ]
    embeddings = model.get_input_embeddings().weight
    saved = embeddings[399].clone()
    with torch.no_grad():
        embeddings[399] = float("nan")
    try:
        with pytest.raises(NotFiniteError) as error:
            answer_probabilities(model, questions, Memory(64), route)
    finally:
        with torch.no_grad():
            embeddings[399] = saved
    assert error.value.sequence == 1


def test_a_model_that_starts_no_answer_is_given_up():
    model = tiny.model("phi")
    with torch.no_grad():
        model.lm_head.weight.zero_()
        model.lm_head.bias.zero_()  # every token as likely as any other
    asked = []
    spoken = token_parser("letter", ["yes", "no"])
    never = TokenParser(lambda text, complete: asked.append(text) if not complete else 3, 4, spoken.decode, [END])
    question = Question(np.asarray([5, 6], np.int32), never, Sampling(), 16)
    [(outcomes, unresolved)], _ = answer_probabilities(model, [question], Memory(256))
    assert unresolved > HOPELESS
    assert outcomes.sum() + unresolved == pytest.approx(1, abs=1e-6)
    assert len(asked) < 2 * PARSES


def talker(words: list[tuple[int, int]], letters: tuple[int, int]):
    """A model that says a word of each pair, the second with probability 0.05, and then a letter, 3 to 1.

    Its layers add nothing, so that the next token depends on the last one alone: each has a dimension of its own.
    """
    model = tiny.fresh("qwen2")
    steps = [(2, 2), *words, letters]
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("o_proj.weight", "down_proj.weight", "embed_tokens.weight")):
                parameter.zero_()
        model.lm_head.weight = torch.nn.Parameter(torch.zeros(tiny.VOCABULARY, 32))
        for (first, other), after in itertools.pairwise(steps):
            at = steps.index((first, other))
            model.model.embed_tokens.weight[[first, other], at] = 1
            odds = (0.75, 0.25) if after == letters else (0.95, 0.05)
            for token, share in zip(after, odds, strict=True):
                model.lm_head.weight[token, at] = (20 + np.log(share)) / np.sqrt(32)
    return model


def test_an_answer_after_a_sentence_is_followed_within_the_memory_stated(monkeypatch):
    letters = tuple(row[0] for row in tiny.tokenizer()(["A", "B"])["input_ids"])
    words = [(10 + i, 110 + i) for i in range(8)]
    kept = []
    original = LiveRows.feed

    def watch(live, *given):
        found = original(live, *given)
        kept.append(live.tokens)
        return found

    monkeypatch.setattr(LiveRows, "feed", watch)

    def read(text: str, complete: bool) -> int | None:
        found = [text.find(letter) for letter in "AB"]
        return next((i for i, at in enumerate(found) if at >= 0), 2 if complete else None)

    parser = TokenParser(read, 3, token_parser("letter", ["A", "B"]).decode, [END])
    budget = 64
    questions = [Question(np.asarray([5] * i + [2], np.int32), parser, Sampling(), 16) for i in range(6)]
    answers, run = answer_probabilities(talker(words, letters), questions, Memory(budget))
    for outcomes, unresolved in answers:
        assert unresolved < UNRESOLVED
        assert outcomes == pytest.approx([0.75, 0.25, 0], abs=UNRESOLVED)
    assert max(kept) <= KEPT * budget
    assert run["tokens_fed"] < run["tokens_asked"] / 3
