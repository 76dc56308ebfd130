"""Free text: prompts as a token tree, then all answers side by side, each slot taken anew as soon as its answer
ends."""

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import pad
from transformers import Cache, GenerationConfig, LogitsProcessor, LogitsProcessorList, PreTrainedModel
from transformers.cache_utils import DynamicLayer

from biasatlas.engine import plan
from biasatlas.engine.forward import Forward
from biasatlas.engine.live import LiveRows, Node, taken
from biasatlas.engine.memory import Memory, NotFiniteError
from biasatlas.engine.plain import attributed
from biasatlas.engine.routes import TREE, Route
from biasatlas.engine.sampling import Sampling, draw, seed_of
from biasatlas.engine.tree import Tree
from biasatlas.progress import Progress

#: All but cuDNN's, which plans each shape anew: here every step has another one, and a plan takes longer than the step.
_KERNELS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


class _SlotLayer(DynamicLayer):
    """Keys and values of one layer (slots × heads × room × size): each slot has its text in the columns from 0 on."""

    lengths: torch.Tensor
    width: int

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Put one more token behind each text; what the texts have now, as views as wide as the longest."""
        lengths = self.lengths.to(self.keys.device)
        rows = torch.arange(len(lengths), device=lengths.device)
        self.keys[rows, :, lengths] = key_states[:, :, 0]
        self.values[rows, :, lengths] = value_states[:, :, 0]
        return self.keys[: len(rows), :, : self.width], self.values[: len(rows), :, : self.width]


class Slots:
    """At most ``slots`` texts that grow by a token each at a time; ``lengths`` has the tokens of each, in its slot."""

    def __init__(self, forward: Forward, slots: int):
        self.forward, self.slots = forward, slots
        self.lengths: list[int] = []
        self._cache = Cache(layers=[])
        self._room = 0

    def add(self, live: LiveRows, nodes: Sequence[Node]) -> None:
        """Texts that end at some nodes of rows that were fed, in the next slots."""
        first, end = len(self.lengths), len(self.lengths) + len(nodes)
        self.lengths += [len(node.columns) for node in nodes]
        rows, columns = live.paths(nodes)
        if not self._cache.layers:
            self._cache.layers = [self._layer(kept) for kept in live.cache.layers]
        self._widen(columns.shape[1] + 1)
        for layer, kept in zip(self._cache.layers, live.cache.layers, strict=True):
            if kept.keys is not None:
                layer.keys[first:end, :, : columns.shape[1]] = taken(kept.keys, rows, columns)
                layer.values[first:end, :, : columns.shape[1]] = taken(kept.values, rows, columns)

    def feed(self, tokens: Sequence[int]) -> torch.Tensor:
        """Let one token follow each text: their hidden states (texts × hidden)."""
        to = self.forward.device
        lengths = torch.as_tensor(self.lengths, device=to)
        width = max(self.lengths) + 1
        self._widen(width)
        for layer in self._cache.layers:
            layer.lengths, layer.width = lengths, width
        columns = torch.arange(width, device=to)
        visible = (columns <= lengths[:, None])[:, None]
        ids = torch.as_tensor(tokens, device=to)[:, None]
        with sdpa_kernel(_KERNELS):
            hidden = self.forward.feed(ids, lengths[:, None], visible, self._cache, columns[None, :-1])
        self.lengths = [length + 1 for length in self.lengths]
        return hidden[:, 0]

    def remove(self, slot: int) -> None:
        """Give up a text: the last one takes its slot."""
        last = len(self.lengths) - 1
        for layer in self._cache.layers:
            if layer.keys is not None and slot != last:
                for kept in (layer.keys, layer.values):
                    kept[slot, :, : self.lengths[last]] = kept[last, :, : self.lengths[last]]
        self.lengths[slot] = self.lengths[last]
        self.lengths.pop()

    def _layer(self, like: DynamicLayer) -> _SlotLayer:
        layer = _SlotLayer()
        if like.keys is not None:  # layers that look at an image keep nothing of a text
            layer.lazy_initialization(like.keys, like.values)
            layer.keys, layer.values = (
                kept.new_zeros(self.slots, kept.shape[1], 0, kept.shape[3]) for kept in (like.keys, like.values)
            )
        return layer

    def _widen(self, width: int) -> None:
        """Make room for texts of ``width`` tokens, and an eighth more, so that it is not made anew for each token."""
        if width <= self._room:
            return
        more = width + width // 8 - self._room
        self._room += more
        for layer in self._cache.layers:
            if layer.keys is not None:
                layer.keys, layer.values = (pad(kept, (0, 0, 0, more)) for kept in (layer.keys, layer.values))


#: The most keys and values of answers on the way, in token budgets, and the most answers as a share of one.
KEPT, SLOTS = 16, 8

#: Takes the index of a prompt, its answer and the reason why that ends.
Done = Callable[[int, list[int], str], None]


@dataclass(frozen=True)
class Prompt:
    """One text to generate: token ids, settings, and which of several repeats it is."""

    tokens: np.ndarray
    sampling: Sampling
    max_tokens: int
    repeat: int = 0

    @property
    def seed(self) -> int:
        """The key of its noise: content and repeat, so that a rerun gives the same text in any batch."""
        return seed_of(self.tokens.astype("<i4").tobytes(), dataclasses.astuple(self.sampling), self.repeat)


@dataclass
class _Answer:
    """The answer to a prompt as far as it has come; ``reason`` is '' while it goes on."""

    index: int
    prompt: Prompt
    tokens: list[int] = field(default_factory=list)
    reason: str = ""

    def __post_init__(self) -> None:
        self.seed = self.prompt.seed

    def add(self, token: int, eos_token_ids: frozenset[int]) -> None:
        if token in eos_token_ids:
            self.reason = "stop"
            return
        self.tokens.append(token)
        if len(self.tokens) >= self.prompt.max_tokens:
            self.reason = "length"


def generate(
    model: PreTrainedModel,
    prompts: Sequence[Prompt],
    eos_token_ids: Sequence[int],
    memory: Memory,
    route: Route = TREE,
    done: Done = lambda at, tokens, reason: None,
) -> tuple[list[tuple[list[int], str]], dict]:
    """The answer of each prompt, as token ids without the end token, and "stop" (an end token) or "length".

    On the tree, what prompts share is computed once, and at most KEPT times the budget's tokens are kept of answers on
    the way; elsewhere batches hold prompts of like length, padded on the left. ``done`` gets each answer, and the index
    of its prompt, as soon as it is finished. The dictionary says what it took. Raises NotFiniteError where logits are.
    """
    answers = [_Answer(i, prompt) for i, prompt in enumerate(prompts)]
    ends = frozenset(eos_token_ids)
    if route.name == "tree":
        fed = _SideBySide(model, answers, ends, memory, done).run()
    else:
        fed = _in_batches(model, answers, ends, memory, route, done)
    made = sum(len(answer.tokens) for answer in answers)
    run = {"route": route.name, "reason": route.reason, "tokens_fed": fed, "tokens_made": made}
    return [(answer.tokens, answer.reason) for answer in answers], run


class _SideBySide:
    """Answers on the way: ``active`` has those that have a slot."""

    def __init__(
        self, model: PreTrainedModel, answers: list[_Answer], ends: frozenset[int], memory: Memory, done: Done
    ):
        self.answers, self.ends, self.memory, self.done = answers, ends, memory, done
        self.tree = Tree(model, memory)
        self.active: list[_Answer] = []
        self.slots = Slots(self.tree.forward, min(len(answers), max(1, memory.token_budget // SLOTS)))
        self.finished = 0
        self.progress = Progress("answers", len(answers))

    def run(self) -> int:
        """Finish all answers; the tokens that were fed."""
        left = self.answers
        while left:
            self._start(left)
            while self.active:
                self._step()
            left = [answer for answer in left if not answer.reason]  # what had to give up its slot
        return self.tree.tokens_fed

    def _start(self, answers: list[_Answer]) -> None:
        """Feed the texts so far, and let answers go on from them, as many at a time as there is room for."""
        texts = [np.append(answer.prompt.tokens, np.asarray([*answer.tokens, 0], np.int32)) for answer in answers]
        trie, where = plan.build_trie(texts, np.fromiter(map(len, texts), np.int64, len(texts)) - 1)
        asking: list[list[_Answer]] = [[] for _ in trie.tokens]
        for answer, at in zip(answers, where, strict=True):
            asking[at].append(answer)
        drawn: dict[int, int] = {}

        def head(hidden: torch.Tensor, layout: plan.Layout) -> np.ndarray:
            pairs = [(slot, one) for slot, at in zip(layout.slot, layout.sequence, strict=True) for one in asking[at]]
            pairs.sort(key=lambda pair: pair[0])
            chunk = max(1, self.memory.token_budget // 4)
            for first in range(0, len(pairs), chunk):
                part = pairs[first : first + chunk]
                states = hidden[torch.as_tensor([int(slot) for slot, _ in part], device=hidden.device)]
                try:
                    drawn.update(self._draw([answer for _, answer in part], states))
                except NotFiniteError as error:
                    prompts = [(answer.index, answer.prompt.tokens) for _, answer in pairs]
                    raise attributed(error, self.tree.model, prompts, self.memory) from None
            return np.zeros(len(layout.slot))

        def follow(live: LiveRows, layout: plan.Layout) -> None:
            waiting = []
            for node, at in zip(live.asked(layout), layout.sequence, strict=True):
                for answer in asking[at]:
                    answer.add(drawn.pop(answer.index), self.ends)
                    if answer.reason:
                        self._finish(answer)
                    else:
                        waiting.append((answer, node))
            while waiting:
                free = self._most(max(len(node.columns) for _, node in waiting)) - len(self.active)
                if free <= 0:
                    self._step()
                    continue
                placed, waiting = waiting[:free], waiting[free:]
                with self.memory.halved_if_exhausted(splittable=len(self.active) + len(placed) > 1) as attempt:
                    self.slots.add(live, [node for _, node in placed])
                if attempt.failed:
                    self._start_again(len(self.active) + len(placed))
                    return
                self.active += [answer for answer, _ in placed]

        self.tree.run(trie, head, follow=follow)

    def _most(self, width: int = 0) -> int:
        """How many texts may be on the way, where the longest are those there or of ``width`` tokens."""
        widest = max([width, *self.slots.lengths]) + 1
        return min(self.slots.slots, max(1, KEPT * self.memory.token_budget // widest))

    def _step(self) -> None:
        """One more token for each active answer."""
        while len(self.active) > self._most():  # the shortest answer has least to do again
            self._remove(min(range(len(self.active)), key=lambda slot: len(self.active[slot].tokens)))
        with self.memory.halved_if_exhausted(splittable=len(self.active) > 1) as attempt:
            hidden = self.slots.feed([answer.tokens[-1] for answer in self.active])
            drawn = self._draw(self.active, hidden)
        if attempt.failed:
            self._start_again(len(self.active))
            return
        self.tree.tokens_fed += len(self.active)
        for answer in self.active:
            answer.add(drawn[answer.index], self.ends)
        for slot in reversed(range(len(self.active))):
            if self.active[slot].reason:
                self._remove(slot)
        on_the_way = sum(len(answer.tokens) / answer.prompt.max_tokens for answer in self.active)
        self.progress.reach(self.finished + on_the_way)

    def _start_again(self, texts: int) -> None:
        """Let all ``texts`` that are on the way start again from what they have, half as many at a time."""
        self.slots, self.active = Slots(self.tree.forward, max(1, texts // 2)), []

    def _remove(self, slot: int) -> None:
        self.slots.remove(slot)
        if self.active[slot].reason:
            self._finish(self.active[slot])
        self.active[slot] = self.active[-1]
        self.active.pop()

    def _finish(self, answer: _Answer) -> None:
        self.finished += 1
        self.done(answer.index, answer.tokens, answer.reason)

    def _draw(self, answers: Sequence[_Answer], hidden: torch.Tensor) -> dict[int, int]:
        """The next token of each answer, by its index, after the hidden states (answers × hidden)."""
        drawn: dict[int, int] = {}
        for rows, logits in self.tree.logits(hidden):
            part = answers[rows.start : rows.stop]
            drawn.update(zip((answer.index for answer in part), _next_tokens(part, logits), strict=True))
        return drawn


@torch.inference_mode()
def _next_tokens(answers: Sequence[_Answer], logits: torch.Tensor) -> list[int]:
    """Draw the next token of each answer from the logits (fp32, answers × vocabulary) that follow it."""
    largest = logits.amax(-1)
    if not torch.isfinite(largest).all():
        row = int((~torch.isfinite(largest)).nonzero()[0, 0])
        raise NotFiniteError(answers[row].index, float(largest[row]))
    return draw(
        logits,
        [answer.prompt.tokens for answer in answers],
        [answer.tokens for answer in answers],
        [answer.prompt.sampling for answer in answers],
        [seed_of(answer.seed, len(answer.tokens)) for answer in answers],
    ).tolist()


def _in_batches(
    model: PreTrainedModel, answers: list[_Answer], ends: frozenset[int], memory: Memory, route: Route, done: Done
) -> int:
    """Finish all answers by the library's own loop; the tokens that were fed, padding left out."""
    most_rows = 1 if route.alone else memory.token_budget
    progress = Progress("answers", len(answers))
    fed = 0
    left = sorted(answers, key=lambda answer: (-answer.prompt.max_tokens, -len(answer.prompt.tokens), answer.index))
    while left:
        longest = max(len(answer.prompt.tokens) for answer in left[: memory.token_budget])
        limit = left[0].prompt.max_tokens
        rows = min(KEPT * memory.token_budget // (longest + limit), memory.token_budget // 4, most_rows)
        batch = [answer for answer in left[: max(1, rows)] if answer.prompt.max_tokens == limit]
        with memory.halved_if_exhausted(splittable=len(batch) > 1) as attempt, progress.part(len(batch)):
            _batch(model, batch, ends, route.cached)
        if attempt.failed:
            for answer in batch:
                answer.tokens, answer.reason = [], ""
            continue
        fed += sum(len(answer.prompt.tokens) + len(answer.tokens) for answer in batch)
        for answer in batch:
            done(answer.index, answer.tokens, answer.reason)
        left = left[len(batch) :]
    return fed


class _Draw(LogitsProcessor):
    """Turns logits into scores whose largest is the drawn token."""

    def __init__(self, answers: list[_Answer], ends: frozenset[int]):
        self.answers, self.ends = answers, ends
        self.progress = Progress("tokens", answers[0].prompt.max_tokens)

    def __call__(self, ids: torch.LongTensor, logits: torch.FloatTensor) -> torch.FloatTensor:
        self.progress.advance(1)
        going = [row for row, answer in enumerate(self.answers) if not answer.reason]
        tokens = _next_tokens([self.answers[row] for row in going], logits[going].float())
        scores = torch.zeros_like(logits)
        for row, token in zip(going, tokens, strict=True):
            self.answers[row].add(token, self.ends)
            scores[row, token] = 1
        return scores


def _batch(model: PreTrainedModel, answers: list[_Answer], ends: frozenset[int], cached: bool) -> None:
    prompts = [answer.prompt.tokens for answer in answers]
    width = max(map(len, prompts))
    ids, mask = np.zeros((2, len(prompts), width), np.int64)
    for row, tokens in enumerate(prompts):
        ids[row, width - len(tokens) :] = tokens
        mask[row, width - len(tokens) :] = 1
    device = model.get_input_embeddings().weight.device
    # Every setting is ours: the checkpoint's own generation settings would be merged in, so they are put aside.
    saved, model.generation_config = model.generation_config, GenerationConfig()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.generate(
                input_ids=torch.as_tensor(ids, device=device),
                attention_mask=torch.as_tensor(mask, device=device),
                generation_config=GenerationConfig(
                    do_sample=False,
                    use_cache=cached,
                    max_new_tokens=answers[0].prompt.max_tokens,
                    eos_token_id=sorted(ends) or None,
                    pad_token_id=min(ends, default=0),
                ),
                logits_processor=LogitsProcessorList([_Draw(answers, ends)]),
            )
    finally:
        model.generation_config = saved
