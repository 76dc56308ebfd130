"""Causal language models in process: requests in, responses out."""

import hashlib
import json
import logging
import platform
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.metadata import version
from typing import Any, cast

import numpy as np
import pandas as pd
import torch

from biasatlas.benchmarks.shared.parsing.named import Parser
from biasatlas.columns import REQUEST_COLUMNS, RESPONSE_COLUMNS
from biasatlas.engine.memory import Memory, default_budget, out_of_memory
from biasatlas.errors import UserError
from biasatlas.models.batches import Keep, answer_batches
from biasatlas.models.entry import Thinking, pinned_revision, ready_folder
from biasatlas.models.hub import model_folder
from biasatlas.models.interface import ModelContext
from biasatlas.models.local import VERSION
from biasatlas.models.local.entry import HfEntry, adapter_commit, template_arguments
from biasatlas.models.local.generation import answer_generations, answer_thought_choices
from biasatlas.models.local.inputs import encode_prompts, exception, integer
from biasatlas.models.local.load import LoadedModel, load
from biasatlas.models.local.probabilities import answer_choices, answer_likelihoods, encode, token_log_likelihoods
from biasatlas.models.local.render import Templates, check_chat, render, texts
from biasatlas.models.local.serve import COMPARED, COMPARED_TOKENS, Server, Serving
from biasatlas.models.local.split import visible
from biasatlas.models.sampling import Settings, fill_sampling, with_checkpoint
from biasatlas.models.store import ResponseStore, content
from biasatlas.models.store import key as store_key

_KINDS = ("choice", "generation", "likelihood")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CausalModel:
    """A causal language model with all parts of its entry that answers depend on.

    ``template_arguments`` go to the tokenizer's chat template; ``thinking`` says how long a model thinks, if it does.
    ``sampling`` are settings by the name that a protocol gives, ``parsers`` are those that choices may name, and
    ``token_budget`` bounds the tokens of one forward pass (None: what memory has room for). A server writes the texts
    if ``serving`` names one. Raises UserError if the tokenizer's template cannot be rendered, or does not read one of
    the arguments.
    """

    name: str
    loaded: LoadedModel
    templates: Templates = field(default_factory=dict)
    template_arguments: Mapping[str, Any] = field(default_factory=dict)
    thinking: Thinking | None = None
    sampling: Settings = field(default_factory=dict)
    parsers: Mapping[str, Parser] = field(default_factory=dict)
    parser_version: str = ""
    token_budget: int | None = None
    serving: Serving | None = None
    _servers: list[Server] = field(default_factory=list)

    def __post_init__(self) -> None:
        check_chat(self.loaded.tokenizer, self.templates, self.template_arguments, self.name)

    @cached_property
    def memory(self) -> Memory:
        """The budget of this model's forward passes: once halved, it stays so for all requests."""
        return Memory(self.token_budget or default_budget(self.loaded.model), fixed=self.loaded.others is not None)

    def answer(
        self,
        requests: pd.DataFrame,
        task: str = "",
        store: ResponseStore | None = None,
        share: tuple[int, int] = (0, 1),
    ) -> tuple[pd.DataFrame, dict]:
        """Answer requests of one kind, as :class:`biasatlas.models.interface.Model` says.

        A request that this model cannot be asked has one response, "not_applicable", with the reason. The dictionary
        says how the answers were made: weights, precision, templates, versions, engine path; and under ``run`` what
        this run took: tokens asked, unique and fed, peak memory. Raises UserError for a template or sampling settings
        that the model lacks, and for a NaN or infinity, with model and request.
        """
        checkpoint = self.loaded.model.generation_config.to_dict()
        requests = fill_sampling(requests, with_checkpoint(self.sampling, checkpoint), self.name)
        requests = _completed(requests)
        kind = _kind_of(requests)
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        rendered = render(requests, self.loaded, self.templates, self.template_arguments)
        reasons = [prompt.reason for prompt in rendered]
        asked = requests[[not reason for reason in reasons]].reset_index(drop=True) if any(reasons) else requests
        prompts = [prompt.text for prompt, reason in zip(rendered, reasons, strict=True) if not reason]
        rows, run = answer_batches(
            list(asked["request_id"]),
            self._keys(asked, kind, prompts),
            (prompts, texts(asked, "continuation")),
            lambda left: self._encode(kind, asked.iloc[left].reset_index(drop=True), [prompts[i] for i in left]),
            lambda encoded, keep: self._solve(kind, encoded[0], encoded[1], keep),
            store,
            share,
            texts_are_asked=kind == "generation",
        )
        if share[0] == 0:  # the other shares would repeat these
            rows = _with_unasked(rows, list(requests["request_id"]), reasons)
        metadata = self._metadata(any(prompt.folded for prompt in rendered))
        metadata |= {"run": run | {"peak_memory_mib": _peak_memory_mib()}}
        _log.info("%s: %d %s requests answered: %s", self.name, run["requests"], kind, json.dumps(metadata))
        return rows.reindex(columns=list(RESPONSE_COLUMNS[kind])), metadata

    def tokens(self, requests: pd.DataFrame) -> list[list[tuple[str, float]]]:
        """The tokens of each likelihood request with their log-likelihoods (:func:`token_log_likelihoods`)."""
        requests = _completed(requests)
        prompts = [prompt.text for prompt in render(requests, self.loaded, self.templates, self.template_arguments)]
        return self._by_all(token_log_likelihoods, encode(requests, prompts, self.loaded))

    def _keys(self, requests: pd.DataFrame, kind: str, prompts: Sequence[str]) -> list[str]:
        """The key of each answer in the store: from what makes it, and the request as the model sees it."""
        identity = {
            "kind": "hf",
            "weights_sha256": self.loaded.weights_sha256,
            "config_sha256": self.loaded.config_sha256,
            "dtype": str(self.loaded.model.dtype),
            "device": self.loaded.model.device.type,
            "version": VERSION,
        }
        if self.serving and kind == "generation":
            identity["serve"] = self.serving.identity
        if self.loaded.adapter_sha256:
            identity["adapter_sha256"] = self.loaded.adapter_sha256
        if kind == "choice":
            identity["parser"] = self.parser_version
        if self.thinking and kind != "likelihood":
            identity["thinking"] = self.thinking.budget
        rows = zip(requests.itertuples(index=False, name=None), prompts, requests["repeats"], strict=True)
        seen = (
            content(dict(zip(requests, row, strict=True)))
            | {"messages": None, "template": None, "prefix": prompt, "repeats": integer(repeats)}
            for row, prompt, repeats in rows
        )
        return [store_key(identity, request, 0) for request in seen]

    def _encode(self, kind: str, requests: pd.DataFrame, prompts: list[str]) -> tuple[pd.DataFrame, Any]:
        """Requests, and the tokens that their kind is answered from."""
        return requests, (encode if kind == "likelihood" else encode_prompts)(requests, prompts, self.loaded)

    def _solve(self, kind: str, requests: pd.DataFrame, encoded: Any, keep: Keep) -> tuple[pd.DataFrame, dict]:
        # If a model thinks before it answers a chat, its answers have no probabilities to compute.
        choices: Callable = answer_choices
        if self.thinking and kind == "choice" and requests["messages"].notna().any():
            choices = partial(answer_thought_choices, thinking=self.thinking)
        solvers: dict[str, Callable[..., tuple[pd.DataFrame, dict]]] = {
            "choice": partial(choices, parsers=self.parsers),
            "generation": partial(answer_generations, thinking=self.thinking),
            "likelihood": answer_likelihoods,
        }
        try:
            own: dict[str, Any] = {"keep": keep} if kind == "generation" or choices is not answer_choices else {}
            own |= {"server": self._server(requests, encoded)} if kind == "generation" else {}
            return self._by_all(solvers[kind], requests, encoded, **own)
        except RuntimeError as error:
            if not out_of_memory(error):
                raise
            budget, more = self.memory.token_budget, "let the job have more `mem_mb`"
            if self.loaded.model.device.type == "cuda":
                more = "a larger `gpu`"
            smaller = f"`token_budget: {budget // 2}`" if self.memory.fixed else "`dtype: bfloat16`"
            raise UserError(
                f"{self.loaded.name}: out of memory with passes of {budget} tokens: give its entry {smaller} or {more}."
            ) from error

    def _server(self, requests: pd.DataFrame, tokens: list[np.ndarray]) -> Server | None:
        """The server that writes texts, once it agrees with the engine on the first ``requests``; None: the engine."""
        if self.serving and not self._servers:
            server = self.serving.start(self.name)
            greedy = {"temperature": 0.0, "top_p": 1.0, "top_k": 0, "repetition_penalty": 1.0, "frequency_penalty": 0.0}
            shown = requests[:COMPARED].assign(**greedy, max_tokens=COMPARED_TOKENS, repeats=1)
            engines, _ = self._by_all(answer_generations, shown, tokens[:COMPARED])
            servers, _ = answer_generations(shown, tokens[:COMPARED], self.loaded, self.memory, server=server)
            server.check_agreement(engines["text"], servers["text"])
            self._servers.append(server)
        return self._servers[0] if self._servers else None

    def _by_all(self, answer: Callable, *given: Any, **own: Any) -> Any:
        """Call ``answer`` with what is ``given``, the model and its memory, in all processes that have a part of it.

        Only this process also passes its ``own`` arguments.
        """
        if self.loaded.others:
            self.loaded.others.announce(answer, given, self.memory.token_budget)
        return answer(*given, self.loaded, self.memory, **own)

    def _metadata(self, folded: bool) -> dict:
        loaded = self.loaded
        templates = {name: template.model_dump() for name, template in self.templates.items()}
        chat = json.dumps([loaded.tokenizer.chat_template, templates], sort_keys=True)
        versions = {name: version(name) for name in ("torch", "transformers", "tokenizers")}
        why = (loaded.route.reason, loaded.not_compiled, exception(loaded.text_config))
        return {
            "model": loaded.name,
            "revision": loaded.revision,
            "weights_sha256": loaded.weights_sha256,
            "adapter_sha256": loaded.adapter_sha256,
            "template_sha256": hashlib.sha256(chat.encode()).hexdigest(),
            "template_arguments": dict(self.template_arguments),
            "system_message": "before the user's" if folded else "by the template",
            "thinking": self.thinking and self.thinking.model_dump(),
            "dtype": str(loaded.model.dtype).removeprefix("torch."),
            "device": loaded.device,
            "engine": loaded.route.name,
            "engine_reason": "; ".join(filter(None, why)),
            "versions": versions | {"python": platform.python_version()},
        } | ({"serve": self.serving.identity} if self.serving else {})


def open_causal(context: ModelContext) -> CausalModel:
    """The model of an entry of kind ``hf``, loaded to the available GPUs. Raises UserError if it cannot be loaded."""
    entry = cast(HfEntry, context.entry)
    revision = pinned_revision(entry, context.ready)
    loaded = load(
        entry.source,
        revision=revision,
        dtype=entry.dtype,
        devices=visible(context.gpus),
        compiled=entry.compiled,
        trust_remote_code=entry.trust_remote_code,
        adapter=entry.adapter,
        adapter_revision=adapter_commit(entry, context.ready),
        hashes=context.hashes,
    )
    serving = None
    if entry.serve:
        folder = model_folder(entry.source, revision, entry.trust_remote_code)
        serving = Serving.of(entry, folder, context.gpus, context.log, context.hashes)
    return CausalModel(
        context.name,
        loaded,
        templates=entry.templates,
        template_arguments=template_arguments(entry),
        thinking=entry.thinking,
        sampling={name: settings.model_dump() for name, settings in entry.sampling.items()},
        parsers=context.parsers,
        parser_version=context.parser_version,
        token_budget=entry.token_budget,
        serving=serving,
    )


def open_planted(context: ModelContext) -> CausalModel:
    """A model that was trained here, from its folder of weights."""
    loaded = load(str(ready_folder(context.ready)), name=context.name)
    return CausalModel(context.name, loaded, parsers=context.parsers, parser_version=context.parser_version)


def _completed(requests: pd.DataFrame) -> pd.DataFrame:
    """``requests`` with every column that requests may have, numbered from 0."""
    columns = list(dict.fromkeys([*REQUEST_COLUMNS, *requests.columns]))
    return requests.reindex(columns=columns).reset_index(drop=True)


def _with_unasked(rows: pd.DataFrame, request_ids: Sequence[str], reasons: Sequence[str]) -> pd.DataFrame:
    """``rows`` and a response for each request that has a reason not to be asked, in the order of ``request_ids``."""
    unasked = [(request_id, reason) for request_id, reason in zip(request_ids, reasons, strict=True) if reason]
    if not unasked:
        return rows
    others = pd.DataFrame(unasked, columns=["request_id", "detail"]).assign(repeat=0, status="not_applicable")
    order = {request_id: i for i, request_id in enumerate(request_ids)}
    both = pd.concat([rows, others]) if len(rows) else others
    return both.sort_values("request_id", key=lambda ids: ids.map(order), kind="stable", ignore_index=True)


def _kind_of(requests: pd.DataFrame) -> str:
    kinds = sorted(requests["kind"].dropna().unique())
    if len(kinds) != 1 or kinds[0] not in _KINDS:
        raise ValueError(f"requests of one kind out of {_KINDS} are needed, these are of {kinds}")
    return kinds[0]


def _peak_memory_mib() -> int:
    """The accelerator's peak memory if there is one, else that of this process since it started."""
    if torch.cuda.is_available():
        return round(torch.cuda.max_memory_allocated() / 2**20)
    # In KiB, but on macOS in bytes.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)
