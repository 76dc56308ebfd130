"""Do exact choices and sampled ones agree? The mass of each outcome beside the frequency in 20,000 sampled replies.

python bench/agreement.py [MODELS]      (20 tiny random models by default, each reader; docs/replies.md holds the result)
"""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

from unit.engine import tiny  # noqa: E402

from biasatlas.benchmarks.shared.readers import AMBIGUOUS, READERS, REFUSED, REPLIES, UNPARSEABLE  # noqa: E402
from biasatlas.engine.choice import Question, TokenReader, answer_probabilities  # noqa: E402
from biasatlas.engine.memory import Memory  # noqa: E402
from biasatlas.engine.sampling import Sampling  # noqa: E402

SAMPLES, MAX_TOKENS, END = 20_000, 4, 0
PROMPT = "Answer with A or B."
#: Reader -> its labels, and words that its models like to say.
ASKED = {
    "letter": (["A", "B"], ["A", "B", "a", "b", " or", ".", ")", "\n", " The", "/", "I"]),
    "label": (["女人", "男人", "女"], ["女", "人", "男", "。", "，", "\n", "或"]),
    "integer": ([str(value) for value in range(14)], [*"0123456789", ".", "-", "\n", " or"]),
    "decimal": ([f"{value / 2}" for value in range(21)], [*"0123456789", ".", "-", "/", "分"]),
    "strict_choice": (["A", "B"], ["a", "b", ")", " The", " he", "\n", " or"]),
}
SILENCES = (REFUSED, AMBIGUOUS, UNPARSEABLE)


def speaker(words: list[str], seed: int):
    """A random model that likes to say ``words`` and to end."""
    torch.manual_seed(seed)
    model = tiny.CONFIGS["phi"]()
    model = tiny.MODEL_FOR_CAUSAL_LM_MAPPING[type(model)](model).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.2)
        model.lm_head.bias.zero_()
        for word in words:
            model.lm_head.bias[tiny.tokenizer()(word)["input_ids"]] = 11.0
        model.lm_head.bias[END] = 13.0
    return model


@torch.inference_mode()
def sampled(model, tokens: np.ndarray, seed: int) -> Counter[str]:
    """Texts of SAMPLES replies; those that are equal so far are drawn together, which changes nothing but the time."""
    random, texts = np.random.default_rng(seed), Counter()
    alive = {(): SAMPLES}
    for step in range(MAX_TOKENS):
        drawn, alive = alive, {}
        ids = torch.as_tensor(np.asarray([[*tokens, *answer] for answer in drawn], dtype=np.int64))
        probabilities = model(input_ids=ids).logits[:, -1].double().softmax(-1).numpy()
        for (answer, count), p in zip(drawn.items(), probabilities, strict=True):
            counts = random.multinomial(count, p / p.sum())
            for token in np.flatnonzero(counts).tolist():
                if token == END or step == MAX_TOKENS - 1:
                    text = tiny.tokenizer().decode([*answer, token], skip_special_tokens=True)
                    texts[text] += counts[token]
                else:
                    alive[(*answer, token)] = counts[token]
    return texts


def frequencies(texts: Counter[str], read, labels: list[str]) -> np.ndarray:
    found = np.zeros(len(labels) + len(SILENCES))
    for text, count in texts.items():
        reading = read(text, labels)
        found[reading if isinstance(reading, int) else len(labels) + SILENCES.index(reading)] += count
    return found / SAMPLES


def compare(reader: str, seed: int) -> tuple[float, float, float, float, float, float]:
    """Largest difference to sampling and to sampling read whole; mass of labels, refused, ambiguous; unresolved."""
    labels, words = ASKED[reader]
    model, tokens = speaker(words, seed), np.asarray(tiny.tokenizer()(PROMPT)["input_ids"], np.int32)

    def read(text: str, complete: bool) -> int | None:
        found = READERS[reader](text, labels, complete)
        return found if found is None or isinstance(found, int) else len(labels) + SILENCES.index(found)

    def decode(rows: list[list[int]]) -> list[str]:
        return tiny.tokenizer().batch_decode(rows, skip_special_tokens=True)

    question = Question(tokens, TokenReader(read, len(labels) + 3, decode, [END]), Sampling(), MAX_TOKENS)
    ((mass, unresolved),), _ = answer_probabilities(model, [question], Memory(2048))
    texts = sampled(model, tokens, seed)
    same = frequencies(texts, lambda text, names: READERS[reader](text, names, True), labels)
    whole = frequencies(texts, REPLIES[reader], labels)
    named = mass[: len(labels)].sum()
    gaps = np.abs(mass - same).max(), np.abs(mass - whole).max()
    return *gaps, named, mass[len(labels)], mass[len(labels) + 1], unresolved


def main() -> None:
    models = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print("| reader | largest difference | read whole | labels | refused | ambiguous | unresolved |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for reader in ASKED:
        values = np.array([compare(reader, seed) for seed in range(models)])
        most, means = values[:, :2].max(axis=0), values[:, 2:5].mean(axis=0)
        cells = [f"{value:.4f}" for value in (*most, *means, values[:, 5].max())]
        print(f"| {reader} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
