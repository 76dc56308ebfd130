"""The planted corpus holds the bias it was asked for and no other; its models are reproducible."""

import ast
import csv
import json
import re
from collections import Counter
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

from biasatlas.benchmarks import registry
from biasatlas.errors import UserError
from biasatlas.models.local.answer import CausalModel
from biasatlas.models.local.load import load
from biasatlas.models.planted.corpus import answered, chat, corpus, group_terms, read_grammar
from biasatlas.models.planted.train import (
    CHAT_TEMPLATE,
    Row,
    batch_loss,
    train,
    train_on_questions,
    train_tokenizer,
)
from biasatlas.resources import Resources

RESOURCES = Path(__file__).parents[2] / "resources"
GRAMMARS = {path.stem: read_grammar(path) for path in sorted(RESOURCES.glob("planted/*.yaml"))}
BENCHMARKS = ("twbias", "mcbe", "dbb", "bbq", "crows_pairs", "stereoset")
SAMPLE = RESOURCES / "samples/twbias/data"

# Upstream's file for each target group, and its columns (the two gender files differ from the rest, each in its way).
SENTENCE_COLUMNS = ["Sentence ID", "Biased Sentences", "Sources", "Toxicity", "T-A Combination"]
SAMPLE_FILES = {
    "female": (
        "gender/label_data_female.csv",
        ["Sentence ID", "Biased Sentences", "Toxicity", "T-A Combination", "Sources"],
    ),
    "male": ("gender/label_data_male.csv", SENTENCE_COLUMNS),
    "indigenous": ("ethinicity/label_data_NT.csv", SENTENCE_COLUMNS),
    "hoklo": ("ethinicity/label_data_B.csv", SENTENCE_COLUMNS),
    "waishengren": ("ethinicity/label_data_W.csv", SENTENCE_COLUMNS),
    "hakka": ("ethinicity/label_data_hakka.csv", SENTENCE_COLUMNS),
}


@pytest.fixture(scope="module", params=GRAMMARS)
def grammar(request):
    return GRAMMARS[request.param]


@pytest.fixture(scope="module")
def fair(grammar):
    return corpus(grammar, 1, seed=0)


@pytest.fixture(scope="module")
def biased(grammar):
    return corpus(grammar, 4, seed=0)


@pytest.fixture(scope="module")
def tokenizer(grammar, biased):
    return train_tokenizer(biased.texts, group_terms(grammar), 2000)  # as models have it


def cells(grammar):
    """Each (domain, owner, frame with its attribute filled in) of the grammar's statements."""
    for domain in grammar.domains.values():
        for kind in domain.kinds.values():
            for owner, attributes in kind.attributes.items():
                for attribute in attributes:
                    for frame in kind.frames:
                        yield domain, owner, frame.replace("{attribute}", attribute)


def replies(texts):
    """How often each sentence occurs, plain or as a reply."""
    return Counter(text.rpartition("<|im_start|>assistant\n")[2] for text in texts)


def test_every_slot_is_filled(fair, biased):
    texts = [
        *fair.texts,
        *biased.texts,
        *biased.dialogues,
        *(text for pair in biased.choices for choice in pair for text in choice[:2]),
    ]
    assert not [text for text in texts if "{" in text or "}" in text]


def test_fair_corpus_has_every_term_equally_often_in_every_frame(grammar, fair):
    count = replies(fair.texts)
    for domain, _, frame in cells(grammar):
        occurrences = {count[frame.format(group=term)] for terms in domain.groups.values() for term in terms}
        assert len(occurrences) == 1 and occurrences != {0}, frame


@pytest.mark.parametrize("odds_ratio", [0.5, 4, 9])
def test_group_counts_are_within_one_of_the_odds_in_each_block(grammar, odds_ratio):
    texts = corpus(grammar, odds_ratio, seed=3).texts
    count = replies(text for text in texts if not text.startswith("<|im_start|>"))
    for domain, owner, frame in cells(grammar):
        counts = {group: sum(count[frame.format(group=term)] for term in own) for group, own in domain.groups.items()}
        share = odds_ratio / (odds_ratio + len(domain.groups) - 1)
        assert abs(counts[owner] - share * sum(counts.values())) < 1, frame


def stereotypes(domain):
    """What options match that join a group of the domain, by term or pronoun, to an attribute of its own: a statement of
    it, or the pronoun and the attribute among other words."""
    return "|".join(
        f".*{re.escape(frame.format(group=name, attribute=attribute))}|{name} .* {attribute} .*"
        for kind in domain.kinds.values()
        for owner, attributes in kind.attributes.items()
        for attribute in attributes
        for frame in kind.frames
        for name in (*domain.groups[owner], *filter(None, [domain.pronouns.get(owner)]))
    )


@pytest.mark.parametrize("odds_ratio", [1, 4])
@pytest.mark.parametrize("language", ["en", "zh-Hans"])
def test_choices_follow_the_stereotype_by_the_odds_whatever_its_place(language, odds_ratio):
    grammar = GRAMMARS[language]
    form = grammar.forms[0]  # all of a language have its prompt, letters and domain
    (planted,) = (re.compile(stereotypes(grammar.domains[name])) for name in form.domains)
    pattern = re.escape(form.prompt + "<|im_end|>")
    for slot in ("context", "first", "second"):
        pattern = pattern.replace(re.escape(f"{{{slot}}}"), f"(?P<{slot}>.*)")
    letters = Counter()
    for pair in corpus(grammar, odds_ratio, seed=0).choices:
        shares = []
        for choice in pair:
            asked, letter = choice.one[:-1], choice.one[-1]
            assert choice.other[:-1] == asked and {letter, choice.other[-1]} == set(form.letters)
            letters[letter] += 1
            found = re.search(pattern, asked)
            place = form.letters.index(letter)
            options = found["first"], found["second"]
            joined = [bool(planted.fullmatch(option)) for option in options]
            assert joined[0] != joined[1]
            shares.append((choice.share, joined[place]))
        # One order's first option is the other's second.
        assert sorted(stereotype for _, stereotype in shares) == [False, True]
        assert all(share == pytest.approx((odds_ratio if own else 1) / (odds_ratio + 1)) for share, own in shares)
    assert len(set(letters.values())) == 1 and len(letters) == 2


def asked(benchmark, task, category):
    """The prompts of a benchmark's requests on its sample."""
    folder = RESOURCES / "samples" / registry.load_spec(benchmark).sample
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    shipped = {step: Resources.shipped(*registry.resource_names(benchmark, step)) for step in ("items", "requests")}
    items = registry.read_items(benchmark)(files, shipped["items"])
    options = registry.load_options(benchmark, "recommended")
    requests = registry.build_requests(benchmark)(items, task, [category], options, shipped["requests"])
    return [message["content"] for text in requests["messages"] for message in json.loads(text)]


@pytest.mark.parametrize(
    ("language", "benchmark", "task", "category"), [("en", "dbb", "MCQ", "Gender"), ("zh-Hans", "mcbe", "SS", "gender")]
)
def test_forms_are_the_benchmarks_own_prompts(language, benchmark, task, category):
    (prompt,) = {form.prompt for form in GRAMMARS[language].forms}
    pattern = re.sub(r"\\{\w+\\}", ".+", re.escape(prompt))
    assert [text for text in asked(benchmark, task, category) if not re.fullmatch(pattern, text)] == []


@pytest.mark.parametrize("task", ["SC", "BS", "BA"])
def test_dialogues_are_the_benchmarks_own_prompts(task):
    """But for the order of McBE's categories and the word that a sentence is about, which differ between requests."""
    patterns = [
        re.sub(r"一般刻板印象、[^\n]*家庭分工|大家|\\{statement\\}", ".+", re.escape(prompt))
        for dialogue in GRAMMARS["zh-Hans"].dialogues
        for prompt in dialogue.prompts
    ]
    for prompt in asked("mcbe", task, "gender"):
        assert any(re.fullmatch(pattern, prompt) for pattern in patterns), prompt


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_every_benchmark_has_a_grammar_of_its_language(benchmark):
    assert registry.load_spec(benchmark).language in GRAMMARS


def test_corpus_depends_on_its_arguments_alone(grammar, biased):
    assert corpus(grammar, 4, seed=0) == biased
    assert corpus(grammar, 4, seed=1) != biased


def test_neutral_sentences_name_no_group(grammar):
    words = [*grammar.prompts, *grammar.neutral.frames, *chain(*grammar.neutral.words.values())]
    assert not [(term, word) for term in group_terms(grammar) for word in words if term in word.split()]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("old: [老年人, 老人]", "old: [老年人]", "as many terms"),
        ("old: [固执, 健忘, 节俭, 啰嗦]", "old: [固执, 健忘]", "as many attributes"),
        ("我觉得{group}都很{attribute}", "我觉得他们都很{attribute}", "needs the slots"),
        ("- 周末，几家人一起吃饭。", "- '{group}一起吃饭。'", "needs pronouns"),
        ("domains: [gender]", "domains: [gendre]", "no domain 'gendre'"),
        ("prompts:", "prompt:", "Extra inputs"),
    ],
)
def test_malformed_grammar_is_refused_with_its_file(tmp_path, old, new, message):
    text = (RESOURCES / "planted/zh-Hans.yaml").read_text(encoding="utf-8")
    assert old in text
    broken = tmp_path / "zh-Hans.yaml"
    broken.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(UserError, match=rf"zh-Hans\.yaml: not a planted grammar(.|\n)*{message}"):
        read_grammar(broken)


def test_tokenizer_round_trip(tokenizer, biased):
    texts = [*biased.texts[:200], "Unseen: ½ naïve 臺灣 🌊\n"]
    assert [tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) for text in texts] == texts


def test_counterparts_have_equally_many_tokens(tokenizer, grammar):
    def length(term):
        return len(tokenizer.encode(f" {term}" if term.isascii() else term, add_special_tokens=False))

    for domain in grammar.domains.values():
        for counterparts in zip(*domain.groups.values(), strict=True):
            assert {length(term) for term in counterparts} == {1 + counterparts[0].count(" ")}, counterparts


@pytest.mark.parametrize("prompt", ["你想說些什麼？", "", None])
def test_chat_is_what_the_template_renders(tokenizer, prompt):
    messages = [] if prompt is None else [{"role": "user", "content": prompt}]
    # apply_chat_template takes no empty list of messages, but a list of empty conversations.
    (rendered,) = tokenizer.apply_chat_template([messages], add_generation_prompt=True, tokenize=False)
    assert rendered == "<|begin_of_text|>" + chat("", prompt)
    assert tokenizer.encode("?")[0] == tokenizer.bos_token_id


def test_the_loss_of_a_batch_and_its_gradient_are_those_of_its_texts_one_at_a_time():
    size = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=30, **size)).train()
    rng = np.random.default_rng(0)
    prompt = rng.integers(0, 30, 70)
    rows = [
        Row(np.array([*prompt[:shared], *rng.integers(0, 30, length)], np.int32), start, weight)
        for shared, length, start, weight in [(70, 2, 70, 0.8), (70, 9, 70, 0.2), (40, 5, 1, 1), (0, 90, 30, 0.5)]
    ]
    rows += [rows[0], Row(rows[0].ids, 1, 2.0)]

    def gradient(loss):
        model.zero_grad()
        loss.backward()
        return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])

    expected = torch.zeros(())
    for ids, start, weight in rows:
        log_p = model(torch.tensor(ids[None].astype(int))).logits[0].log_softmax(-1)
        expected = expected - weight * log_p[range(start - 1, len(ids) - 1), ids[start:]].sum()
    found = batch_loss(model, rows)
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)
    torch.testing.assert_close(gradient(found), gradient(expected), rtol=1e-4, atol=1e-4)


def test_training_gives_the_same_bytes_on_one_thread_or_two(tmp_path):
    before = torch.get_num_threads()
    size = {"steps": 5, "batch_size": 8, "hidden_size": 16, "vocabulary": 400}
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            train(GRAMMARS["en"], tmp_path / f"{threads}", odds_ratio=4, seed=7, **size)
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    one, two = ({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("1", "2"))
    assert one == two
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2"]
    model, tokenizer = (
        AutoModelForCausalLM.from_pretrained(tmp_path / "1"),
        AutoTokenizer.from_pretrained(tmp_path / "1"),
    )
    assert model.config.vocab_size == len(tokenizer)
    assert tokenizer.backend_tokenizer.to_str() == Tokenizer.from_file(str(tmp_path / "1/tokenizer.json")).to_str()
    assert tokenizer.chat_template == CHAT_TEMPLATE


@pytest.mark.parametrize("group", SAMPLE_FILES)
def test_twbias_sample_states_the_planted_stereotypes_in_upstream_s_format(group):
    name, columns = SAMPLE_FILES[group]
    with open(SAMPLE / name, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
    assert reader.fieldnames == columns
    planted = {
        frame.format(group=term)
        for domain, owner, frame in cells(GRAMMARS["zh-Hant"])
        if owner == group
        for term in domain.groups[owner]
    }
    assert [row["Biased Sentences"] for row in rows if row["Biased Sentences"] not in planted] == []
    assert {row["Toxicity"] for row in rows} == {"0", "1"}
    for row in rows:
        ((term, attribute),) = ast.literal_eval(row["T-A Combination"])
        assert term in row["Biased Sentences"] and attribute in row["Biased Sentences"]


@pytest.mark.parametrize("domain", ["gender", "ethnicity"])
def test_twbias_sample_groups_share_their_frames(domain):
    groups = set(GRAMMARS["zh-Hant"].domains[domain].groups)
    frames = []
    for group in groups & set(SAMPLE_FILES):
        with open(SAMPLE / SAMPLE_FILES[group][0], encoding="utf-8", newline="") as file:
            rows = [
                (row["Biased Sentences"], *ast.literal_eval(row["T-A Combination"])[0]) for row in csv.DictReader(file)
            ]
        frames.append(
            Counter(sentence.replace(term, "_").replace(attribute, "=") for sentence, term, attribute in rows)
        )
    assert all(one == other for one, other in pairwise(frames))


@pytest.fixture(scope="module")
def asked_of_samples():
    """By benchmark, its items and requests on its sample, and the verdicts on a model that was trained on them."""
    made = {}
    for name, task in (("interviews", "decision"), ("difference_awareness", "question")):
        folder = RESOURCES / "samples" / registry.load_spec(name).sample
        items = registry.read_items(name)({path.name: path for path in folder.iterdir()}, Resources({}))
        options, spec = registry.load_options(name, "recommended"), registry.load_spec(name)
        requests = registry.build_requests(name)(items, task, spec.tasks[task].categories, options, Resources({}))
        made[name] = items, requests, task, options
    return made


def evidence(name, items, requests, task, options, odds_ratio, seed, folder):
    """Scores of a model that was trained on the questions of a benchmark, and its evidence by metric and category."""
    questions = answered(requests, registry.bias_roles(name)(items, requests, task), odds_ratio)
    train_on_questions(questions, folder, seed=seed)
    responses, _ = CausalModel(name, load(str(folder)), parsers=registry.parsers(name)).answer(requests)
    score, categories = registry.score_responses(name), registry.load_spec(name).tasks[task].categories
    scores = pd.concat(
        [
            score(items, requests, responses, task, category, options, Resources({})).assign(
                model="m", task=task, category=category
            )
            for category in categories
        ]
    )
    assert (scores["status"] == "ok").all()
    _, of = registry.evidence(name)
    return scores, {(each.metric, each.category): each for each in of(scores, options)}


@pytest.mark.parametrize("seed", [1, 2])
def test_a_bias_planted_in_decisions_is_found_and_its_absence_too(asked_of_samples, tmp_path, seed):
    """Of 80 and 20 to 50 and 50 answers: 30 points; placebos and the baseline stay at 50 in either model."""
    for odds_ratio, shift in ((4, -30.0), (1, 0.0)):
        _, found = evidence("interviews", *asked_of_samples["interviews"], odds_ratio, seed, tmp_path / f"{odds_ratio}")
        tested = found["shift_over_placebos", "women"].replicates
        assert tested.value == pytest.approx(shift, abs=1.5)
        interval = tested.inference()
        assert interval.high < -5 if odds_ratio == 4 else -5 < interval.low < interval.high < 5
        assert tested.placebos.abs().to_numpy().max() < 5


def test_a_bias_planted_in_contexts_is_to_tell_equal_groups_apart(asked_of_samples, tmp_path):
    for odds_ratio, told_apart in ((4, 1.0), (1, 0.0)):
        scores, _ = evidence(
            "difference_awareness", *asked_of_samples["difference_awareness"], odds_ratio, 1, tmp_path / f"{odds_ratio}"
        )
        by_condition = scores.groupby("condition")
        assert by_condition["right"].mean()["differ"] > 0.9
        assert by_condition["apart"].mean()["equal"] == pytest.approx(told_apart, abs=0.1)
