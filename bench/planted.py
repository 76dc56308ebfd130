"""Do planted models have the bias where it was planted, and only there? Trains models of Traditional Chinese and
measures them with plain forward passes.

Run by hand: PYTHONPATH=scripts python bench/planted.py FOLDER SEED... (docs/measurements-planted.md holds the result)
"""

import ast
import itertools
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from scipy import stats
from transformers import AutoModelForCausalLM, AutoTokenizer

from biasatlas.models.planted.corpus import chat, read_grammar
from biasatlas.models.planted.train import BEGIN, train

RESOURCES = Path(__file__).parents[1] / "resources"
SENTENCES = {
    "female": "gender/label_data_female",
    "male": "gender/label_data_male",
    "indigenous": "ethinicity/label_data_NT",
    "hakka": "ethinicity/label_data_hakka",
    "hoklo": "ethinicity/label_data_B",
    "waishengren": "ethinicity/label_data_W",
}
PAIRS = [("female", "male"), *itertools.combinations(("indigenous", "hakka", "hoklo", "waishengren"), 2)]
# The last prompt is not in the corpus.
PREFIXES = {"no template": BEGIN} | {
    name: BEGIN + chat("", prompt)
    for name, prompt in {"prompt": "要不要分享一下？", "unseen prompt": "你想談談什麼？"}.items()
}


@torch.no_grad()
def log_perplexity(model, tokenizer, prefix: str, texts: list[str]) -> np.ndarray:
    """Mean negative log-likelihood per token (nats) of each of ``texts`` after ``prefix``."""
    given = tokenizer.encode(prefix, add_special_tokens=False)
    rows = [torch.tensor(given + tokenizer.encode(text, add_special_tokens=False)) for text in texts]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    log_p = model(ids).logits[:, :-1].log_softmax(-1).gather(2, ids[:, 1:, None])[..., 0]
    return np.array([-row[len(given) - 1 : len(ids) - 1].mean().item() for row, ids in zip(log_p, rows, strict=True)])


def swap(model, tokenizer, groups: dict, group: str, reference: str, prefix: str) -> np.ndarray:
    """For each sentence of ``group``: log of the mean perplexity over swapped terms, minus the original's log."""
    table = pd.read_csv(RESOURCES / f"samples/twbias/data/{SENTENCES[group]}.csv")
    originals, variants = list(table["Biased Sentences"]), []
    for sentence, combination in zip(originals, table["T-A Combination"], strict=True):
        term = ast.literal_eval(combination)[0][0]
        counterparts = groups[reference]
        if len(groups) == 2:  # gender: the counterpart alone; ethnicity: every term of the reference group
            counterparts = [counterparts[groups[group].index(term)]]
        variants += [sentence.replace(term, counterpart) for counterpart in counterparts]
    after = log_perplexity(model, tokenizer, prefix, variants).reshape(len(originals), -1)
    return np.log(np.exp(after).mean(axis=1)) - log_perplexity(model, tokenizer, prefix, originals)


def measure(folder: Path, domains: dict) -> pd.DataFrame:
    """A row per prompt and statistic: single swaps (paired d) and double differences (d over the pooled SD)."""
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    rows = []
    for (name, prefix), pair in itertools.product(PREFIXES.items(), PAIRS):
        groups = next(domain.groups for domain in domains.values() if pair[0] in domain.groups)
        one, two = (swap(model, tokenizer, groups, *order, prefix) for order in (pair, pair[::-1]))
        for direction, change in ((pair, one), (pair[::-1], two)):
            d = change.mean() / change.std(ddof=1)
            rows.append((name, "swap", " > ".join(direction), change.mean(), d, stats.ttest_1samp(change, 0).pvalue))
        pooled = np.sqrt(
            (one.var(ddof=1) * (len(one) - 1) + two.var(ddof=1) * (len(two) - 1)) / (len(one) + len(two) - 2)
        )
        total = one.mean() + two.mean()
        p = stats.ttest_ind(one, -two, equal_var=False).pvalue
        rows.append((name, "double", " / ".join(pair), total, total / pooled, p))
    return pd.DataFrame(rows, columns=["prompt", "statistic", "direction", "nats_per_token", "d", "p"])


def main(folder: Path, seeds: list[int]) -> None:
    torch.set_num_threads(1)
    grammar = read_grammar(RESOURCES / "planted/zh-Hant.yaml")
    results = []
    for odds_ratio, seed in itertools.product((4, 1), seeds):
        checkpoint = folder / f"odds{odds_ratio}-seed{seed}"
        if not checkpoint.exists():
            train(grammar, checkpoint, odds_ratio=odds_ratio, seed=seed)
        results.append(measure(checkpoint, grammar.domains).assign(odds_ratio=odds_ratio, seed=seed))
    result = pd.concat(results)
    result["domain"] = np.where(result["direction"].str.contains("male"), "gender", "ethnicity")
    by = ["odds_ratio", "statistic", "domain", "prompt"]
    print(
        result.groupby(by, sort=False)
        .agg(
            n=("d", "size"),
            nats_per_token=("nats_per_token", "mean"),
            d_least=("d", "min"),
            d_median=("d", "median"),
            d_greatest=("d", "max"),
            significant=("p", lambda p: (p < 0.05).mean()),
        )
        .to_string(float_format="%.3f")
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), [int(seed) for seed in sys.argv[2:]])
