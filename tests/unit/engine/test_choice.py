import functools

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

from biasatlas.benchmarks.shared.readers import READERS, REFUSED, UNPARSEABLE
from biasatlas.engine.choice import HOPELESS, READINGS, UNRESOLVED, Question, TokenReader, answer_probabilities
from biasatlas.engine.memory import Memory, NotFiniteError
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


def speaker(reader: str = "letter"):
    """A random model that likes to answer in the reader's alphabet and to end (Phi's LM head has a bias to say so)."""
    model = tiny.model("phi")
    with torch.no_grad():
        model.lm_head.bias.zero_()
        model.lm_head.bias[[ids[0] for ids in tiny.tokenizer()(list(ALPHABETS[reader]))["input_ids"]]] = 10.0
        model.lm_head.bias[END] = 10.0 + np.log(len(ALPHABETS[reader]))
    return model


def token_reader(reader: str, labels: list[str]) -> TokenReader:
    outcome = {REFUSED: len(labels), UNPARSEABLE: len(labels) + 1}

    def read(text: str, complete: bool) -> int | None:
        found = READERS[reader](text, labels, complete)
        return outcome.get(found, found)

    decode = functools.partial(tiny.tokenizer().batch_decode, skip_special_tokens=True)
    return TokenReader(read, len(labels) + 2, decode, [END])


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
    frequencies = np.zeros(question.reader.outcomes)
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
                    text = question.reader.decode([[*answer, token]])[0]
                    frequencies[question.reader.read(text, True)] += counts[token]
                else:
                    alive[(*answer, token)] = counts[token]
    return frequencies / samples


@pytest.mark.parametrize("sampling", SETTINGS)
@pytest.mark.parametrize("reader", LABELS)
def test_probabilities_are_the_frequencies_of_sampling(reader, sampling):
    model, question = speaker(reader), Question(prompt(), token_reader(reader, LABELS[reader]), sampling, MAX_TOKENS)
    ((outcomes, unresolved),), _ = answer_probabilities(model, [question], Memory(2048))
    assert 0 <= unresolved < 0.01
    assert outcomes.sum() + unresolved == pytest.approx(1, abs=1e-5)
    frequencies = sampled(model, question, SAMPLES)
    assert frequencies[: len(LABELS[reader])].sum() > 0.1  # the model does answer: there is something to compare
    assert np.abs(outcomes - frequencies).max() < 0.01


def test_guesses_fallback_and_company_change_nothing():
    model, read = speaker(), token_reader("letter", ["A", "B"])
    texts = ["Answer with A or B.", "Answer with A or B. The nurse", "The doctor"]
    guesses = tuple((row[0],) for row in tiny.tokenizer()(["A", "B", " A"])["input_ids"])
    plain = [Question(prompt(text), read, Sampling(top_p=0.9), MAX_TOKENS) for text in texts]
    guessed = [Question(prompt(text), read, Sampling(top_p=0.9), MAX_TOKENS, guesses) for text in texts]
    together, _ = answer_probabilities(model, plain, Memory(2048))
    for others in (
        answer_probabilities(model, guessed, Memory(64))[0],
        answer_probabilities(model, plain, Memory(2048), "the test asks for padded batches")[0],
        [answer_probabilities(model, [question], Memory(2048))[0][0] for question in plain],
    ):
        for (ours, _), (wanted, _) in zip(others, together, strict=True):
            assert np.abs(ours - wanted).max() < UNRESOLVED


def test_greedy_answers_are_certain():
    question = Question(prompt(), token_reader("letter", ["A", "B"]), Sampling(temperature=0), MAX_TOKENS)
    ((outcomes, unresolved),), _ = answer_probabilities(speaker(), [question], Memory(256))
    assert sorted(outcomes.round(6)) == [0, 0, 0, 1] and unresolved == 0


def test_a_word_cut_between_bytes_is_read_whole():
    """Chinese labels take several byte tokens each; no piece of one may be read as an answer."""
    labels = ["物質", "生物"]
    read = token_reader("label", labels)
    ids = tiny.tokenizer()("物質")["input_ids"]
    assert len(ids) > 1
    for cut in range(1, len(ids)):
        assert read.outcome(tuple(ids[: cut - 1]), [ids[cut - 1]], False) == [-1]
    assert read.outcome(tuple(ids), [END], False) == [0]


def test_a_nan_names_the_question():
    model = tiny.model("qwen2")
    questions = [
        Question(np.asarray(ids, np.int32), token_reader("letter", ["A"]), Sampling(), 2) for ids in ([2], [399])
    ]
    embeddings = model.get_input_embeddings().weight
    saved = embeddings[399].clone()
    with torch.no_grad():
        embeddings[399] = float("nan")
    try:
        with pytest.raises(NotFiniteError) as error:
            answer_probabilities(model, questions, Memory(64), "the test asks for padded batches")
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
    spoken = token_reader("letter", ["yes", "no"])
    never = TokenReader(lambda text, complete: asked.append(text) if not complete else 3, 4, spoken.decode, [END])
    question = Question(np.asarray([5, 6], np.int32), never, Sampling(), 16)
    [(outcomes, unresolved)], _ = answer_probabilities(model, [question], Memory(256))
    assert unresolved > HOPELESS
    assert outcomes.sum() + unresolved == pytest.approx(1, abs=1e-6)
    assert len(asked) < 2 * READINGS
