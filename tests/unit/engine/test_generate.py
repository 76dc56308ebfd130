import numpy as np
import pytest
import torch
from transformers import (
    GenerationConfig,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from biasatlas.engine import generate as engine
from biasatlas.engine.generate import Prompt
from biasatlas.engine.memory import Memory, NotFiniteError
from biasatlas.engine.routes import TREE, Route
from biasatlas.engine.sampling import Sampling, draw, gumbel, likely, penalise, seed_of

from . import tiny

ENDS = [0]
WARM = Sampling(temperature=1.0, top_p=0.95, top_k=50)
BATCHES = Route("plain", "the test asks for it")


def generate(model, asked, ends, memory, route=TREE):
    return engine.generate(model, asked, ends, memory, route)[0]


def prompts(sampling=WARM, max_tokens=12, repeats=3) -> list[Prompt]:
    ids = [np.asarray(tiny.tokenizer()(text)["input_ids"], np.int32) for text in (*tiny.TEXTS, "The", "a b c")]
    return [Prompt(tokens, sampling, max_tokens, repeat) for tokens in ids for repeat in range(repeats)]


@pytest.mark.parametrize(
    ("name", "sampling"),
    [
        ("qwen2", WARM),
        ("qwen2", Sampling(temperature=0.8)),
        ("mistral_window", Sampling(top_p=0.7, repetition_penalty=1.2)),
        ("bloom", WARM),
        ("gpt2", WARM),
    ],
)
def test_a_request_gets_the_same_text_in_any_batch(name, sampling):
    model, asked = tiny.model(name), prompts(sampling)
    route = BATCHES if name == "bloom" else TREE
    together = generate(model, asked, ENDS, Memory(4096), route)
    assert len({tuple(answer) for answer, _ in together}) > len(asked) // 2  # repeats differ
    order = np.random.default_rng(0).permutation(len(asked)).tolist()
    shuffled = generate(model, [asked[i] for i in order], ENDS, Memory(40), route)
    assert [shuffled[order.index(i)] for i in range(len(asked))] == together
    assert [generate(model, [one], ENDS, Memory(64), route)[0] for one in asked[:5]] == together[:5]
    for writes in ("rows", "alone", "anew"):
        assert generate(model, asked, ENDS, Memory(256), Route("plain", "the test asks for it", writes)) == together
    assert generate(model, asked, ENDS, Memory(256), Route("states")) == together


def test_what_texts_share_is_fed_once_and_none_is_padded():
    trunk = np.arange(2, 42, dtype=np.int32)
    asked = [Prompt(np.append(trunk, np.full(n, n, np.int32)), WARM, 9, k) for n in (1, 5, 12) for k in range(3)]
    found, run = engine.generate(tiny.model("bloom"), asked, ENDS, Memory(4096), Route("states"))
    # Repeats of a prompt part after their first token; the last token of an answer is never fed.
    least = len(trunk) + 1 + 5 + 12
    assert least < run["tokens_fed"] <= least + sum(len(tokens) for tokens, _ in found)


def test_greedy_is_the_librarys_greedy_and_ignores_the_checkpoints_settings():
    model = tiny.model("qwen2")
    saved = model.generation_config
    model.generation_config = GenerationConfig(repetition_penalty=5.0, do_sample=True, top_k=1)
    try:
        found = generate(model, prompts(Sampling(temperature=0), repeats=1), ENDS, Memory(4096))
    finally:
        model.generation_config = saved
    for one, (answer, reason) in zip(prompts(repeats=1), found, strict=True):
        ids = torch.as_tensor(one.tokens[None].astype(np.int64))
        plain = GenerationConfig(max_new_tokens=12, do_sample=False, eos_token_id=0, pad_token_id=0)
        wanted = model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=plain)
        wanted = wanted[0, ids.shape[1] :].tolist()
        assert (answer, reason) == ((wanted[: wanted.index(0)], "stop") if 0 in wanted else (wanted, "length"))


def test_an_end_token_stops_and_the_limit_truncates():
    model = tiny.model("qwen2")
    ((first, reason),) = generate(model, prompts(Sampling(temperature=0), 5, 1)[:1], ENDS, Memory(64))
    assert len(first) == 5 and reason == "length"
    ((answer, reason),) = generate(model, prompts(Sampling(temperature=0), 5, 1)[:1], [first[2]], Memory(64))
    assert answer == first[: first.index(first[2])] and reason == "stop"


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(),
        Sampling(temperature=0.5),
        Sampling(top_k=7),
        Sampling(top_p=0.6),
        Sampling(temperature=0.7, top_p=0.8, top_k=20, repetition_penalty=1.3),
    ],
)
def test_settings_act_as_the_librarys_in_its_order(sampling):
    torch.manual_seed(0)
    logits, ids = torch.randn(3, 900) * 3, torch.randint(0, 900, (3, 12))
    logits[0, 7:9] = logits[0].topk(7).values[-1]  # a tie at the edge of top-k
    wanted = RepetitionPenaltyLogitsProcessor(sampling.repetition_penalty)(ids, logits)
    wanted = TemperatureLogitsWarper(sampling.temperature)(ids, wanted)
    wanted = TopKLogitsWarper(sampling.top_k)(ids, wanted) if sampling.top_k else wanted
    wanted = TopPLogitsWarper(sampling.top_p)(ids, wanted) if sampling.top_p < 1 else wanted
    wanted = wanted.softmax(-1)
    penalise(logits, ids[:, :8].numpy(), ids[:, 8:].tolist(), sampling)
    seen = []
    for found in likely(logits, sampling, torch.full((3,), 0.999, dtype=torch.float64)):
        for row, tokens, mass in zip(found.rows.tolist(), found.ids, found.mass, strict=True):
            seen.append(row)
            assert torch.allclose(mass.float(), wanted[row, tokens], atol=1e-6)
            assert mass.sum() >= 0.999 and (mass.diff() <= 0).all()
    assert sorted(seen) == [0, 1, 2]


def test_the_frequency_penalty_counts_the_answer_only():
    logits = torch.zeros(2, 5)
    penalise(logits, [np.asarray([1, 1])] * 2, [[2, 2, 3], []], Sampling(frequency_penalty=0.5))
    assert logits.tolist() == [[0, 0, -1, -0.5, 0], [0] * 5]


@pytest.mark.parametrize("vocabulary", [50, 64, 1000])
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(top_p=0.8), Sampling(temperature=0.7, top_k=9)])
def test_draws_follow_the_distribution_whatever_the_vocabulary(vocabulary, sampling):
    torch.manual_seed(0)
    one, times = torch.randn(1, vocabulary) * 2, 4000
    (found,) = likely(one.clone(), sampling, torch.ones(1, dtype=torch.float64) - 1e-9)
    seeds = [seed_of("draw", i) for i in range(times)]
    drawn = draw(one.repeat(times, 1), [np.zeros(0)] * times, [[]] * times, [sampling] * times, seeds)
    frequencies = np.bincount(drawn, minlength=vocabulary)[found.ids[0].numpy()] / times
    assert frequencies.sum() == pytest.approx(1)
    assert np.abs(frequencies - found.mass[0].numpy()).max() < 0.03


def test_noise_is_gumbel_and_belongs_to_its_key():
    noise = torch.cat([gumbel(torch.tensor(seed_of("x", step)), torch.arange(1000)) for step in range(50)])
    assert noise.mean().item() == pytest.approx(0.5772, abs=0.03)  # the Euler–Mascheroni constant
    assert noise.var().item() == pytest.approx(np.pi**2 / 6, abs=0.08)
    again = gumbel(torch.tensor(seed_of("x", 3)), torch.arange(1000))
    assert torch.equal(noise[3000:4000], again)
    assert abs(np.corrcoef(noise[:1000], noise[1000:2000])[0, 1]) < 0.1
    # pinned: a change of generator would silently change every sampled text
    assert seed_of(b"a", 1) == 9103379928522317578
    assert gumbel(torch.tensor(1), torch.arange(2)).tolist() == pytest.approx([2.08684367696744, 0.17385007634518201])


def test_a_nan_names_the_prompt():
    model = tiny.model("qwen2")
    embeddings = model.get_input_embeddings().weight
    saved = embeddings[399].clone()
    asked = [Prompt(np.asarray(ids, np.int32), WARM, 3) for ids in ([2, 3], [2, 399], [4])]
    with torch.no_grad():
        embeddings[399] = float("nan")
    try:
        with pytest.raises(NotFiniteError) as error:
            generate(model, asked, ENDS, Memory(4096))
    finally:
        with torch.no_grad():
            embeddings[399] = saved
    assert error.value.sequence == 1
