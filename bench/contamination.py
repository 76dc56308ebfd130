"""Does the test of contamination detect a list that a model learned in its published order, and no other?

    PYTHONPATH=scripts python bench/contamination.py items/contamination.parquet FOLDER --seeds 2

First it checks that the lists are exchangeable: neighbours in the published order should share no more words than in
random orders. Then it trains tiny models on the same number of copies of CrowS-Pairs' first items: some copies in the
published order, each of the others in a random one. The models answer through the same interface as any other
(docs/contamination.md has the result).
"""

import argparse
import itertools
import re
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.contamination.scores import order_estimates
from biasatlas.benchmarks.contamination.spec import CROWS_PAIRS, LISTS, TASK
from biasatlas.files import read_parquet
from biasatlas.models.interface import ModelContext
from biasatlas.models.kinds import open_model
from biasatlas.models.local.entry import HfEntry
from biasatlas.models.planted.train import train_tokenizer
from biasatlas.resources import Resources
from biasatlas.stats.tests import exchanged

ITEMS, WINDOW, BATCH = 240, 512, 4


def requests_of(items):
    """The requests of all lists in ``items``."""
    options = registry.load_options("contamination", "recommended")
    return registry.build_requests("contamination")(items, TASK, LISTS, options, Resources({}))


def shared_words(items):
    """Print p-values for each list: do neighbours share more words in the published order, or fewer?"""
    words = {
        item: set(re.findall(r"\w+", text.lower())) for item, text in zip(items["item_id"], items["text"], strict=True)
    }
    print("words that neighbours share, published order against random ones:")
    for name, listed in items.groupby("category", sort=False):
        rng, values = np.random.default_rng(1), []
        ids = listed["item_id"].to_numpy()
        for start in range(0, len(ids) - 1, 20):
            block = ids[start : start + 20]
            orders = [block, *(rng.permutation(block) for _ in range(20))]
            values.append([sum(len(words[a] & words[b]) for a, b in itertools.pairwise(order)) for order in orders])
        values = np.array(values, float)
        print(f"  {name}: p = {exchanged(values):.3f}, of neighbours less alike {exchanged(-values):.3f}")


def train(texts, folder, copies, ordered, seed):
    """Train a two-layer model on ``copies`` of the texts, ``ordered`` of them as published; returns its last loss."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    tokenizer = train_tokenizer(texts, [], 1500)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=96,
            intermediate_size=192,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=2048,
            tie_word_embeddings=True,
            initializer_range=0.05,
        )
    )
    published = np.isin(np.arange(copies), rng.choice(copies, ordered, replace=False))
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=10_000, pct_start=0.02)
    loss = None
    for as_published in published:
        order = np.arange(len(texts)) if as_published else rng.permutation(len(texts))
        ids = torch.tensor(tokenizer("\n".join(texts[order]))["input_ids"])
        starts = np.arange(rng.integers(WINDOW // 2), len(ids) - WINDOW, WINDOW // 2)
        for part in np.array_split(rng.permutation(starts), max(1, len(starts) // BATCH)):
            rows = torch.stack([ids[start : start + WINDOW] for start in part])
            loss = model(input_ids=rows, labels=rows).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return float(loss.detach())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("items")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--copies", type=int, default=40)
    parser.add_argument("--ordered", type=int, nargs="+", default=[0, 4, 10, 40])
    given = parser.parse_args()
    torch.set_num_threads(1)
    items = read_parquet(given.items)
    shared_words(items)
    listed = items[items["category"] == CROWS_PAIRS].head(ITEMS)
    requests = requests_of(listed)
    for ordered, seed in itertools.product(given.ordered, range(1, given.seeds + 1)):
        folder = given.folder / f"{ordered}-of-{given.copies}-seed{seed}"
        loss = train(listed["text"].to_numpy(object), folder, given.copies, ordered, seed)
        entry = HfEntry(kind="hf", source=str(folder), size_billion=0.001, gpu=0, dtype="float32")
        responses, _ = open_model(ModelContext(folder.name, entry, ready=(folder,))).answer(requests, TASK)
        rows = requests.merge(responses[["request_id", "log_likelihood", "status"]], on="request_id")
        found = order_estimates(pd.DataFrame(rows))
        advantage, p_value = found["order_advantage"], found["order_p"].value
        print(
            f"{ordered} of {given.copies} copies as published, seed {seed}: loss {loss:.2f}, advantage "
            f"{advantage.value:.2f} [{advantage.ci_low:.2f}, {advantage.ci_high:.2f}], p = {p_value:.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
