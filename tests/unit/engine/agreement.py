"""Exact choices beside 20,000 sampled ones, of tiny random models whose words are pieces of replies: answers and refusals."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from transformers import PhiConfig, PhiForCausalLM, PreTrainedModel

from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE, Answer
from biasatlas.benchmarks.shared.parsing.named import PARSERS, REPLIES
from biasatlas.benchmarks.shared.parsing.options import Options
from biasatlas.engine.choice import Question, TokenParser, answer_probabilities
from biasatlas.engine.memory import Memory
from biasatlas.engine.sampling import Sampling

SAMPLES, MAX_TOKENS, END = 20_000, 4, 0
SILENCES = (REFUSED, AMBIGUOUS, UNPARSEABLE)
#: Parser -> its labels, and the pieces that its models write.
ASKED: dict[str, tuple[list[str], list[str]]] = {
    "letter": (
        ["A", "B"],
        ["A", "B", "(b", ")", " or ", " ", ".", "\n", "Sorry", ", I can't", "The", " answer is ", "/"],
    ),
    "label": (["女人", "男人", "女"], ["女", "人", "男", "。", "，", "\n", "或", "抱歉", "答案：", "我无法", "不是"]),
    "integer": (
        [str(value) for value in range(14)],
        [*"0123", ".", "-", "\n", " or ", "I cannot", " rate", "Score: ", "分"],
    ),
    "decimal": (
        [f"{value / 2:g}" for value in range(21)],
        [*"0157", ".", "-", "/", "分", "或", "得分：", "抱歉", "，"],
    ),
    "strict_choice": (["A", "B"], ["a", "b", ")", " The", " or ", "\n", "I'm sorry", "A"]),
}


class Agreement(NamedTuple):
    """Probabilities: of labels, refused, ambiguous, unresolved; the largest difference to samples that stop where the answer
    ends, and to samples parsed as a whole."""

    labels: float
    refused: float
    ambiguous: float
    unresolved: float
    gap: float
    whole: float


def speaker(pieces: Sequence[str], seed: int) -> PreTrainedModel:
    """A random model over ``pieces`` and an end token, which is a little likelier."""
    torch.manual_seed(seed)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
    model = PhiForCausalLM(PhiConfig(vocab_size=len(pieces) + 1, bos_token_id=None, eos_token_id=END, **shape)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.2)
        model.lm_head.bias.zero_()
        model.lm_head.bias[END] = 1.0
    return model


@torch.inference_mode()
def sampled(
    model: PreTrainedModel, prompt: np.ndarray, write: Callable[[list[int]], str], longest: int, seed: int
) -> Counter[str]:
    """Texts of SAMPLES replies, counted; replies that are equal so far are drawn together, which only saves time."""
    random, texts = np.random.default_rng(seed), Counter[str]()
    alive: dict[tuple[int, ...], int] = {(): SAMPLES}
    for step in range(longest):
        drawn, alive = alive, {}
        ids = torch.as_tensor(np.asarray([[*prompt, *answer] for answer in drawn], dtype=np.int64))
        probabilities = model(input_ids=ids).logits[:, -1].double().softmax(-1).numpy()
        for (answer, count), p in zip(drawn.items(), probabilities, strict=True):
            counts = random.multinomial(count, p / p.sum())
            for token in np.flatnonzero(counts).tolist():
                if token == END or step == longest - 1:
                    texts[write([*answer, token])] += counts[token]
                else:
                    alive[(*answer, token)] = counts[token]
    return texts


def frequencies(texts: Counter[str], read: Callable[[str], Answer], labels: int) -> np.ndarray:
    """The share of replies in which ``read`` finds each label and each of SILENCES."""
    found = np.zeros(labels + len(SILENCES))
    for text, count in texts.items():
        found[_place(read(text), labels)] += count
    return found / SAMPLES


def _place(answer: Answer, labels: int) -> int:
    return answer if isinstance(answer, int) else labels + SILENCES.index(answer)


def compare(parser: str, seed: int, longest: int = MAX_TOKENS) -> Agreement:
    """One model's exact choice between the labels of ``parser``, beside its samples."""
    labels, pieces = Options.of(ASKED[parser][0]), ASKED[parser][1]
    model, prompt = speaker(pieces, seed), np.asarray([1, 2, 3, 4], np.int32)

    def write(tokens: list[int]) -> str:
        return "".join(pieces[token - 1] for token in tokens if token != END)

    def read(text: str, complete: bool) -> int | None:
        found = PARSERS[parser](text, labels, complete)
        return None if found is None else _place(found, len(labels))

    def decode(rows: list[list[int]]) -> list[str]:
        return [write(row) for row in rows]

    question = Question(prompt, TokenParser(read, len(labels) + 3, decode, [END]), Sampling(), longest)
    ((mass, unresolved),), _ = answer_probabilities(model, [question], Memory(2048))
    texts = sampled(model, prompt, write, longest, seed)
    stopped = frequencies(texts, lambda text: PARSERS[parser](text, labels, True), len(labels))
    whole = frequencies(texts, lambda text: REPLIES[parser](text, labels), len(labels))
    n = len(labels)
    gaps = np.abs(mass - stopped).max(), np.abs(mass - whole).max()
    return Agreement(mass[:n].sum(), mass[n], mass[n + 1], unresolved, *gaps)
