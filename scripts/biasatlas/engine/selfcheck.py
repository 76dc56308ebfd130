"""Find out at load which route is right for a model: each is compared with padded batches, token by token.

How far rounding moves a log-probability depends on the model, so it is measured by moving the embeddings by half a unit
in the last place. The figures behind the limits are in docs/measurements-engine.md.
"""

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import torch
from transformers import PreTrainedModel

from biasatlas.engine import masks, plain, plan
from biasatlas.engine.forward import decoder
from biasatlas.engine.memory import Memory
from biasatlas.engine.routes import TREE, Route, States, tree_of

#: Quantile over tokens -> the largest movement that rounding explains, as a multiple of that under jitter. The highest
#: percent may move further, because rounding now and then makes a mixture choose other experts.
LIMITS = {0.9: 1.5, 0.99: 3.0}
#: The same for copied states computed in 32 bits, where rounding hides nothing. In 16 bits it does: a model that hardly
#: uses its states moves no more when they are lost than when it is rounded.
LIMITS_FP32 = {0.9: 0.25}
#: In 32 bits, a token counts as moved at least so far under jitter, in nats: it may hardly move at all.
LEAST = 3e-5
#: Tokens of the longest sequences, if a model takes as many (a trunk of a half, a branch and a leaf of a quarter each);
#: and the span of attention meanwhile.
_LONGEST, _SPAN = 80, 16
#: Fields with other lengths that change what a model does: a scan's chunk, where attention starts to be scaled, the
#: number of attended tokens.
_LENGTHS = {"chunk_size", "floor_scale", "log_scaling_n_floor", "index_topk"}
#: ``row_tokens`` and ``pass_tokens`` of the plans that are tried: one row of all branches; short rows after as many
#: cached prefixes as possible.
_SHAPES = ((256, 1024), (16, -200))
_BUDGET = Memory(1024)


def choose_route(model: PreTrainedModel) -> Route:
    """The fastest route that gives the model's own log-probabilities, with the reasons why faster ones do not.

    A dozen sequences of random tokens that share prefixes are computed by the route and in padded batches, with
    windows, chunks and scans of the model shortened so that the sequences reach beyond them. Nothing depends on chance,
    on the requests, or on the shard of a job.
    """
    tokens = _sequences(model)
    trunk = len(tokens[0]) // 2
    late = np.concatenate([np.arange(1, len(ids)) >= trunk for ids in tokens])  # the others cannot go wrong
    with _short_spans(model):
        plainly = _plainly(model, tokens)
        noise = _noise(model, tokens, plainly)

        def fault_of(route: Route, right: np.ndarray, limits: Mapping[float, float]) -> str:
            return _fault(np.abs(_by_route(model, tokens, route) - right)[:, late], noise[:, late], limits)

        reasons = []
        for name, words in (("tree", "a tree mask"), ("states", "copies of its states")):
            try:
                fault = fault_of(Route(name), plainly, LIMITS)
                if not fault and name == "states" and _widenable(model):
                    with _in_fp32(model):
                        fault = fault_of(Route(name), _plainly(model, tokens), LIMITS_FP32)
            except Exception as error:  # whatever the model raises, the route is unfit
                first = (str(error).splitlines() or [""])[0]
                reasons.append(f"does not take {words} ({type(error).__name__}: {first[:100]})")
                continue
            if not fault and name == "tree":
                return TREE
            if not fault:
                return Route(name, _joined(reasons), _writing(model, tokens, plainly, noise, name))
            reasons.append(f"does not follow {words} ({fault})")
        return Route("plain", _joined(reasons), _writing(model, tokens, plainly, noise, "plain"))


def fault_of_change(model: PreTrainedModel, change: Callable[[], object]) -> str:
    """How far a change moves a model's log-probabilities, in words, if that is more than rounding explains; else ''.

    The changed model makes a pass of one token, and of several rows and tokens. What it raises is passed on.
    """
    tokens = _sequences(model)
    plainly = _plainly(model, tokens)
    noise = _noise(model, tokens, plainly)
    change()
    plain.token_log_probabilities(model, [tokens[0][:2]], _BUDGET)
    return _fault(np.abs(_plainly(model, tokens) - plainly), noise, LIMITS)


def _joined(reasons: list[str]) -> str:
    return "its forward pass " + ", and ".join(reasons)


def _plainly(model: PreTrainedModel, tokens: list[np.ndarray]) -> np.ndarray:
    """The log-probability of every token but the first of each sequence, one after the other, in padded batches."""
    return np.concatenate(plain.token_log_probabilities(model, tokens, _BUDGET))


def _fault(moved: np.ndarray, noise: np.ndarray, limits: Mapping[float, float]) -> str:
    """How far log-probabilities moved, in words, if that is more than rounding explains; else ''."""
    for quantile, limit in limits.items():
        found = float(np.quantile(moved, quantile))
        if not found <= limit * np.quantile(noise, quantile):
            return f"{found:.2g} nats a token off"
    return ""


def _sequences(model: PreTrainedModel) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    text = model.config.get_text_config()
    quarter = min(_LONGEST, getattr(text, "max_position_embeddings", None) or _LONGEST) // 4
    vocabulary = min(model.get_input_embeddings().weight.shape[0], text.vocab_size)

    def draw(length: int) -> np.ndarray:
        return random.integers(0, vocabulary, length).astype(np.int32)

    trunk = draw(2 * quarter)
    branches = [np.append(trunk, draw(quarter)) for _ in range(4)]
    leaves = [np.append(branch, draw(quarter)) for branch in branches for _ in range(2)]
    short = [np.append(branches[0], draw(2)) for _ in range(3)]  # these feed a single token after the branch
    return [*leaves, *short, draw(4 * quarter)]


def _by_route(model: PreTrainedModel, tokens: list[np.ndarray], route: Route) -> np.ndarray:
    """The log-probability of every token but the first of each sequence, for each of _SHAPES (shapes × tokens)."""
    starts = np.concatenate([np.arange(1, len(ids)) for ids in tokens])
    trie, where = plan.build_trie([ids for ids in tokens for _ in ids[1:]], starts)
    last = np.cumsum([len(ids) - 1 for ids in tokens]) - 1
    found = []
    for row_tokens, pass_tokens in _SHAPES:
        tree = tree_of(model, Memory(_BUDGET.token_budget), route)
        tree.row_tokens, tree.pass_tokens = min(row_tokens, tree.row_tokens), pass_tokens
        tree.columns = math.inf  # rows as wide as they may be
        sums = tree.log_likelihoods(trie)[where]
        found.append(sums - np.where(np.isin(np.arange(len(sums)), last), 0, np.append(sums[1:], 0)))
    return np.stack(found)


def _noise(model: PreTrainedModel, tokens: list[np.ndarray], plainly: np.ndarray) -> np.ndarray:
    """How far log-probabilities move in padded batches whose embeddings are off by half a unit in the last place."""
    generator = torch.Generator().manual_seed(0)
    step = torch.finfo(model.dtype).eps / 2

    def jitter(module: torch.nn.Module, arguments: tuple, output: torch.Tensor) -> torch.Tensor:
        sign = torch.randint(2, output.shape, generator=generator).to(output.device) * 2 - 1
        return (output.float() * (1 + step * sign)).to(output.dtype)

    hook = model.get_input_embeddings().register_forward_hook(jitter)
    try:
        moved = [_plainly(model, tokens) - plainly for _ in range(2)]
    finally:
        hook.remove()
    return np.maximum(np.abs(moved), LEAST if model.dtype == torch.float32 else 0)


def _writing(
    model: PreTrainedModel, tokens: list[np.ndarray], plainly: np.ndarray, noise: np.ndarray, name: str
) -> str:
    """How a route may write texts: ``writes`` of :class:`Route`.

    Texts are made to follow the sequences: each starts without the last 8 to 12 tokens, and 8 more are compared.
    """
    steps, given = 8, [len(ids) - 8 - at % 5 for at, ids in enumerate(tokens)]
    ends = np.cumsum([len(ids) - 1 for ids in tokens])
    first = [int(end) - len(ids) + begin for end, ids, begin in zip(ends, tokens, given, strict=True)]
    wanted = np.stack([np.arange(at, at + steps) for at in first])
    states = States(model, Memory(_BUDGET.token_budget))

    def fault_of(rows: int) -> str:
        found: list[list[float]] = [[] for _ in tokens]
        for begin in range(0, len(tokens), rows):

            def lead(asked: list[int], hidden: torch.Tensor, begin: int = begin) -> list[int | None]:
                ((_, logits),) = states.logits(hidden)
                following = []
                for i, row in zip(asked, logits.log_softmax(-1), strict=True):
                    own, ids, at = found[begin + i], tokens[begin + i], given[begin + i]
                    token = int(ids[at + len(own)])
                    own.append(row[token].item())
                    following.append(token if len(own) < steps else None)
                return following

            part = range(begin, min(begin + rows, len(tokens)))
            states.write([tokens[i][: given[i]] for i in part], lead, name == "states")
        return _fault(np.abs(np.asarray(found) - plainly[wanted]), noise[:, wanted], LIMITS)

    for writes, rows in (("rows", len(tokens)), ("alone", 1)):
        with contextlib.suppress(Exception):  # each architecture has its own errors
            if not fault_of(rows):
                return writes
    return "anew"


@contextlib.contextmanager
def _short_spans(model: PreTrainedModel) -> Iterator[None]:
    """Shorten windows, chunks and other lengths inside the block, so that short sequences reach beyond them."""
    holders: list = [decoder(model).config, *model.modules()]
    names = {*filter(None, masks.SPANS.values()), *_LENGTHS}
    saved = [
        (holder, name, value)
        for holder in holders
        for name in names
        if isinstance(value := vars(holder).get(name), int) and value > _SPAN
    ]
    try:
        for holder, name, _ in saved:
            setattr(holder, name, _SPAN)
        yield
    finally:
        for holder, name, value in saved:
            setattr(holder, name, value)


def _widenable(model: PreTrainedModel) -> bool:
    """Whether the weights are 16-bit numbers in memory: neither quantised nor offloaded."""
    return (
        model.dtype in (torch.bfloat16, torch.float16)
        and not getattr(model, "is_quantized", False)
        and not any(parameter.is_meta for parameter in model.parameters())
    )


@contextlib.contextmanager
def _in_fp32(model: PreTrainedModel) -> Iterator[None]:
    """Compute in 32 bits inside the block, so that rounding hides no fault; one layer at a time is widened."""
    layers = {layer for part in decoder(model).modules() if isinstance(part, torch.nn.ModuleList) for layer in part}
    inside = {tensor for layer in layers for tensor in (*layer.parameters(), *layer.buffers())}
    wide: list[tuple[torch.nn.Module | None, torch.Tensor, torch.Tensor]] = []

    def widen(tensors: Iterable[torch.Tensor], layer: torch.nn.Module | None = None) -> None:
        for tensor in tensors:
            if tensor.dtype in (torch.bfloat16, torch.float16):
                wide.append((layer, tensor, tensor.data))
                with torch.inference_mode(False):
                    tensor.data = tensor.data.float()

    def narrow(layer: torch.nn.Module | None = None) -> None:
        for own, tensor, data in wide:
            if own is layer:
                tensor.data = data
        wide[:] = [entry for entry in wide if entry[0] is not layer]

    hooks = []
    for layer in layers:
        hooks.append(layer.register_forward_pre_hook(lambda own, _: widen([*own.parameters(), *own.buffers()], own)))
        hooks.append(layer.register_forward_hook(lambda own, *_: narrow(own), always_call=True))
    try:
        widen(tensor for tensor in (*model.parameters(), *model.buffers()) if tensor not in inside)
        yield
    finally:
        for hook in hooks:
            hook.remove()
        narrow()
