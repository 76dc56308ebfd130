"""Free text: prompts are fed as a token tree, then all answers advance together; one that ends frees its slot."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import pad
from transformers import Cache, PreTrainedModel
from transformers.cache_utils import DynamicLayer

from biasatlas.engine import plain
from biasatlas.engine.forward import Forward
from biasatlas.engine.live import LiveRows, Node, taken
from biasatlas.engine.memory import Memory, check_finite
from biasatlas.engine.routes import TREE, Route, States
from biasatlas.engine.sampling import Sampling, draw, seed_of
from biasatlas.engine.tree import Tree
from biasatlas.progress import Progress

#: All kernels but cuDNN's, which plans each new shape: every step has one here, and a plan takes longer than the step.
_KERNELS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


class _SlotLayer(DynamicLayer):
    """Keys and values of one layer (slots × heads × room × size); the text of each slot starts in column 0."""

    lengths: torch.Tensor
    width: int

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append a token to each text; return the keys and values of all, as views as wide as the longest text."""
        lengths = self.lengths.to(self.keys.device)
        rows = torch.arange(len(lengths), device=lengths.device)
        self.keys[rows, :, lengths] = key_states[:, :, 0]
        self.values[rows, :, lengths] = value_states[:, :, 0]
        return self.keys[: len(rows), :, : self.width], self.values[: len(rows), :, : self.width]


class Slots:
    """At most ``slots`` texts, which all grow by one token at a time; ``lengths`` counts the tokens in each slot."""

    def __init__(self, forward: Forward, slots: int):
        self.forward, self.slots = forward, slots
        self.lengths: list[int] = []
        self._cache = Cache(layers=[])
        self._room = 0

    def add(self, live: LiveRows, nodes: Sequence[Node]) -> None:
        """Copy the texts that end at ``nodes`` of the rows ``live`` into the next slots."""
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
        """Append one of ``tokens`` to each text; return their hidden states (texts × hidden)."""
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
        """Remove a text; the last one takes its slot."""
        last = len(self.lengths) - 1
        for layer in self._cache.layers:
            if layer.keys is not None and slot != last:
                for kept in (layer.keys, layer.values):
                    kept[slot, :, : self.lengths[last]] = kept[last, :, : self.lengths[last]]
        self.lengths[slot] = self.lengths[last]
        self.lengths.pop()

    def _layer(self, like: DynamicLayer) -> _SlotLayer:
        layer = _SlotLayer()
        if like.keys is not None:  # layers that attend to an image keep nothing of a text
            layer.lazy_initialization(like.keys, like.values)
            layer.keys, layer.values = (
                kept.new_zeros(self.slots, kept.shape[1], 0, kept.shape[3]) for kept in (like.keys, like.values)
            )
        return layer

    def _widen(self, width: int) -> None:
        """Make room for texts of ``width`` tokens, and for an eighth more, so that few tokens need more room."""
        if width <= self._room:
            return
        more = width + width // 8 - self._room
        self._room += more
        for layer in self._cache.layers:
            if layer.keys is not None:
                layer.keys, layer.values = (pad(kept, (0, 0, 0, more)) for kept in (layer.keys, layer.values))


#: Unfinished answers keep keys and values of at most KEPT × budget tokens, and have at most budget / SLOTS slots.
KEPT, SLOTS = 16, 8

#: Takes the index of a prompt, its answer and the reason why the answer ended.
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
        """The seed of its noise, from content and repeat, so that a rerun gives the same text in any batch."""
        return seed_of(self.tokens.astype("<i4").tobytes(), dataclasses.astuple(self.sampling), self.repeat)


@dataclass
class _Answer:
    """The answer to a prompt so far; ``reason`` is '' until it ends."""

    index: int
    prompt: Prompt
    tokens: list[int] = field(default_factory=list)
    reason: str = ""

    def __post_init__(self) -> None:
        self.seed = self.prompt.seed

    @property
    def text(self) -> np.ndarray:
        """The tokens of the prompt and of the answer so far."""
        return np.append(self.prompt.tokens, np.asarray(self.tokens, np.int32))


def generate(
    model: PreTrainedModel,
    prompts: Sequence[Prompt],
    eos_token_ids: Sequence[int],
    memory: Memory,
    route: Route = TREE,
    done: Done = lambda at, tokens, reason: None,
) -> tuple[list[tuple[list[int], str]], dict[str, int]]:
    """The answer of each prompt, as token ids without the end token, and "stop" (an end token) or "length".

    On the tree, what prompts share is computed once, and unfinished answers keep at most KEPT × budget tokens; on other
    routes batches hold texts of similar length, which grow in step. ``done`` gets each answer, and the index of its
    prompt, as soon as it is finished. The dictionary counts tokens. Raises NotFiniteError if logits are not finite.
    """
    answers = [_Answer(i, prompt) for i, prompt in enumerate(prompts)]
    ends = frozenset(eos_token_ids)
    if route.name == "tree":
        fed = _SideBySide(Tree(model, memory), answers, ends, done).run()
    else:
        fed = _InStep(States(model, memory), answers, ends, done).run(route)
    made = sum(len(answer.tokens) for answer in answers)
    return [(answer.tokens, answer.reason) for answer in answers], {"tokens_fed": fed, "tokens_made": made}


@dataclass
class _Writing:
    """The answers that a run writes, and how many are finished."""

    tree: Tree
    answers: list[_Answer]
    ends: frozenset[int]
    done: Done
    finished: int = 0

    def __post_init__(self) -> None:
        self.memory = self.tree.memory
        self.progress = Progress("answers", len(self.answers))

    def _add(self, answer: _Answer, token: int) -> None:
        """Append a token to an answer; finish the answer if it is an end token or the last one allowed."""
        if token in self.ends:
            answer.reason = "stop"
        else:
            answer.tokens.append(token)
            answer.reason = "length" if len(answer.tokens) >= answer.prompt.max_tokens else ""
        if answer.reason:
            self.finished += 1
            self.done(answer.index, answer.tokens, answer.reason)

    def _reach(self, active: Sequence[_Answer]) -> None:
        self.progress.reach(self.finished + sum(len(answer.tokens) / answer.prompt.max_tokens for answer in active))

    def _draw(self, answers: Sequence[_Answer], hidden: torch.Tensor) -> list[int]:
        """The next token of each answer, after the hidden states (answers × hidden)."""
        parts = ((answers[rows.start : rows.stop], logits) for rows, logits in self.tree.logits(hidden))
        return [token for part, logits in parts for token in _next_tokens(part, logits)]


class _SideBySide(_Writing):
    """Answers on the tree; ``active`` are those that have a slot."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.active: list[_Answer] = []
        self.slots = Slots(self.tree.forward, min(len(self.answers), max(1, self.memory.token_budget // SLOTS)))

    def run(self) -> int:
        """Finish all answers; return how many tokens were fed."""
        left = self.answers
        while left:
            self._start(left)
            while self.active:
                self._step()
            left = [answer for answer in left if not answer.reason]  # those that lost their slot
        return self.tree.tokens_fed

    def _start(self, answers: list[_Answer]) -> None:
        """Feed the texts so far, and continue as many answers at a time as there is room for."""
        drawn: dict[int, int] = {}

        def visit(at: Sequence[int], logits: torch.Tensor) -> None:
            drawn.update(zip(at, _next_tokens([answers[i] for i in at], logits), strict=True))

        def follow(live: LiveRows, ends: list[tuple[int, Node]]) -> None:
            waiting = []
            for i, node in ends:
                self._add(answers[i], drawn.pop(i))
                if not answers[i].reason:
                    waiting.append((answers[i], node))
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

        self.tree.next_logits([answer.text for answer in answers], visit, follow)

    def _most(self, width: int = 0) -> int:
        """How many texts may be active, given the longest: an active one, or one of ``width`` tokens."""
        widest = max([width, *self.slots.lengths]) + 1
        return min(self.slots.slots, max(1, KEPT * self.memory.token_budget // widest))

    def _step(self) -> None:
        """Add one token to each active answer."""
        while len(self.active) > self._most():  # the shortest has the fewest tokens to feed again
            self._remove(min(range(len(self.active)), key=lambda slot: len(self.active[slot].tokens)))
        with self.memory.halved_if_exhausted(splittable=len(self.active) > 1) as attempt:
            hidden = self.slots.feed([answer.tokens[-1] for answer in self.active])
            drawn = self._draw(self.active, hidden)
        if attempt.failed:
            self._start_again(len(self.active))
            return
        self.tree.tokens_fed += len(self.active)
        for answer, token in zip(self.active, drawn, strict=True):
            self._add(answer, token)
        for slot in reversed(range(len(self.active))):
            if self.active[slot].reason:
                self._remove(slot)
        self._reach(self.active)

    def _start_again(self, texts: int) -> None:
        """Empty the slots and halve their number; all ``texts`` in work start again from their tokens so far."""
        self.slots, self.active = Slots(self.tree.forward, max(1, texts // 2)), []

    def _remove(self, slot: int) -> None:
        self.slots.remove(slot)
        self.active[slot] = self.active[-1]
        self.active.pop()


class _InStep(_Writing):
    """Answers of a model that takes no tree mask: batches of texts of similar length, the longest first."""

    tree: States

    def run(self, route: Route) -> int:
        """Finish all answers; return how many tokens were fed."""
        left = self.answers
        while left:
            left = sorted(left, key=lambda answer: (-len(answer.text), answer.index))
            if route.writes == "anew":
                self._anew(left)
            else:
                self._together(self._batch(left, route), wide=route.name == "states")
            left = [answer for answer in left if not answer.reason]
        return self.tree.tokens_fed

    def _batch(self, left: Sequence[_Answer], route: Route) -> Sequence[_Answer]:
        if route.writes == "alone":
            return left[:1]
        lengths = [len(answer.text) for answer in left]
        most = max(answer.prompt.max_tokens for answer in left)
        rows = max(1, min(KEPT * self.memory.token_budget // (lengths[0] + most), self.memory.token_budget // 4))
        # If lengths differ by more, the shorter answers end before the longer begin, and share no step with them.
        return left[: next((i for i in range(1, rows) if i == len(left) or lengths[i - 1] - lengths[i] > most), rows)]

    def _together(self, batch: Sequence[_Answer], wide: bool) -> None:
        """Finish all answers of a batch; if memory runs out, they keep the tokens that they have."""

        def pick(asked: list[int], hidden: torch.Tensor) -> list[int | None]:
            answers = [batch[i] for i in asked]
            for answer, token in zip(answers, self._draw(answers, hidden), strict=True):
                self._add(answer, token)
            self._reach([answer for answer in batch if not answer.reason])
            return [None if answer.reason else answer.tokens[-1] for answer in answers]

        with self.memory.halved_if_exhausted(splittable=len(batch) > 1):
            self.tree.write([answer.text for answer in batch], pick, wide)

    def _anew(self, answers: Sequence[_Answer]) -> None:
        """Add one token to each answer, feeding its whole text again."""

        def visit(at: Sequence[int], logits: torch.Tensor) -> None:
            for i, token in zip(at, _next_tokens([answers[i] for i in at], logits), strict=True):
                self._add(answers[i], token)

        self.tree.tokens_fed += sum(len(answer.text) for answer in answers)
        plain.next_logits(self.tree.model, [answer.text for answer in answers], self.memory, visit)
        self._reach([answer for answer in answers if not answer.reason])


@torch.inference_mode()
def _next_tokens(answers: Sequence[_Answer], logits: torch.Tensor) -> list[int]:
    """Draw the next token of each answer from the logits (fp32, answers × vocabulary) that follow it."""
    check_finite(logits, [answer.index for answer in answers])
    return draw(
        logits,
        [answer.prompt.tokens for answer in answers],
        [answer.tokens for answer in answers],
        [answer.prompt.sampling for answer in answers],
        [seed_of(answer.seed, len(answer.tokens)) for answer in answers],
    ).tolist()
