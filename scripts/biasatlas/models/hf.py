"""Causal language models in process: requests in, responses out."""

import dataclasses
import hashlib
import json
import logging
import platform
import resource
from importlib.metadata import version
from pathlib import Path

import huggingface_hub
import numpy as np
import pandas as pd
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from biasatlas.engine.encode import BOUNDARIES, SPECIAL_TOKENS, encode_pairs
from biasatlas.engine.likelihood import check_tree, log_likelihoods
from biasatlas.engine.limits import Memory, NotFiniteError
from biasatlas.errors import UserError
from biasatlas.files import REQUEST_COLUMNS, RESPONSE_COLUMNS

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt")
_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class LoadedModel:
    """A causal language model ready to answer, with what identifies it.

    ``tree_refusal`` is '' where the likelihood engine's tree is exact for this model, else the reason why not.
    """

    name: str
    revision: str | None
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    weights_sha256: str
    tree_refusal: str


def load(
    source: str,
    *,
    revision: str | None = None,
    dtype: str = "float32",
    device_map: str | dict | None = None,
    trust_remote_code: bool = False,
) -> LoadedModel:
    """Load a causal language model and its tokenizer from a folder or a hub id.

    Weights come from safetensors only. ``device_map`` is accelerate's; without one the whole model goes to the first
    GPU, or to the CPU where there is none. Code from a hub runs only if ``trust_remote_code``, at a pinned ``revision``.
    Raises UserError where the folder or hub id cannot be used, and says what to do.
    """
    if dtype not in DTYPES:
        raise UserError(f"{source}: dtype {dtype!r} is not known: use one of {', '.join(DTYPES)}.")
    folder = _folder(source, revision, trust_remote_code)
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        pickled = [path.name for pattern in _PICKLED for path in sorted(folder.glob(pattern))]
        raise UserError(
            f"{source}: the weights ({pickled[0]}) are pickled, which may run any code when loaded: convert them to "
            "safetensors with save_pretrained and point to the new folder."
            if pickled
            else f"{source}: no weights (*.safetensors) there: download the whole model, or correct the path."
        )
    if not (folder / "config.json").is_file():
        raise UserError(f"{source}: no config.json beside the weights: point to a folder made by save_pretrained.")
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=trust_remote_code)
        model = AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=DTYPES[dtype],
            device_map=device_map or ("cuda" if torch.cuda.is_available() else None),
            trust_remote_code=trust_remote_code,
            use_safetensors=True,
        ).eval()
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"{source}: cannot be loaded as a causal language model with a tokenizer ({_first_line(error)}): check "
            "that the folder is complete."
        ) from error
    tree_refusal = check_tree(model)
    if tree_refusal:
        _log.info("%s: padded batches in place of the token tree: %s", source, tree_refusal)
    return LoadedModel(source, revision, model, tokenizer, _sha256(weights), tree_refusal)


def _folder(source: str, revision: str | None, trust_remote_code: bool) -> Path:
    """The folder itself, or the hub's snapshot of safetensors, configuration and tokenizer."""
    if Path(source).is_dir():
        return Path(source)
    if source.startswith((".", "/", "~")) or source.count("/") != 1:
        raise UserError(f"{source}: no such folder, and not a hub id (owner/name): correct the model's source.")
    if trust_remote_code and not revision:
        raise UserError(
            f"{source}: trust_remote_code needs a pinned revision: give the commit whose code you have read."
        )
    patterns = ["*.safetensors", "*.json", "*.jinja", "*.txt", "*.model", *(["*.py"] if trust_remote_code else [])]
    try:
        return Path(huggingface_hub.snapshot_download(source, revision=revision, allow_patterns=patterns))
    except Exception as error:  # the hub client raises errors of half a dozen libraries
        raise UserError(
            f"{source}: not a folder, and the hub does not give it at revision {revision or 'main'} "
            f"({_first_line(error)}): check the spelling, your network and your access."
        ) from error


def _sha256(paths: list[Path]) -> str:
    """One hash over names and bytes of all weight files."""
    total = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            total.update(f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")


def answer(
    requests: pd.DataFrame, model: LoadedModel, *, templates: dict[str, dict], token_budget: int | None = None
) -> tuple[pd.DataFrame, dict]:
    """Answer a table of requests of one kind: a table of responses in the order of requests, then repeat.

    ``templates`` maps the name of a literal template to {"prompt": text with "{user}", "empty": text for an empty user
    message}. ``token_budget`` bounds the tokens of one forward pass (None: chosen for the device). The dictionary says
    how the answers were made: tokens asked, unique and fed, precision, versions, hash of the weights, peak memory.
    Raises UserError for a template that the model lacks and for a NaN or infinity, with model and request.
    """
    requests = requests.reindex(columns=list(dict.fromkeys([*REQUEST_COLUMNS, *requests.columns]))).reset_index(
        drop=True
    )
    kinds = sorted(requests["kind"].dropna().unique())
    if len(kinds) != 1 or kinds[0] not in _ANSWERS:
        raise ValueError(f"requests of one kind out of {sorted(_ANSWERS)} are needed, these are of {kinds}")
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    responses, run = _ANSWERS[kinds[0]](requests, model, templates, token_budget or _default_budget(model))
    metadata = {
        "model": model.name,
        "revision": model.revision,
        "weights_sha256": model.weights_sha256,
        "dtype": str(model.model.dtype).removeprefix("torch."),
        "device": str(model.model.device),
        "versions": {name: version(name) for name in ("torch", "transformers", "tokenizers")}
        | {"python": platform.python_version()},
        "peak_memory_mib": _peak_memory_mib(),
        **run,
    }
    _log.info("%s: %d %s requests answered: %s", model.name, len(requests), kinds[0], json.dumps(metadata))
    return responses[list(RESPONSE_COLUMNS[kinds[0]])], metadata


def _default_budget(model: LoadedModel) -> int:
    return 1024 if model.model.device.type == "cpu" else 8192


def _peak_memory_mib() -> int:
    """Of the accelerator where there is one, else of this process since it started."""
    if torch.cuda.is_available():
        return round(torch.cuda.max_memory_allocated() / 2**20)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10)


def render(requests: pd.DataFrame, model: LoadedModel, templates: dict[str, dict]) -> list[str]:
    """The text before the answer: the messages through their template, then the raw prefix."""
    columns = (_texts(requests, name) for name in ("request_id", "messages", "template", "prefix"))
    rendered: dict[tuple[str, str], str] = {}
    texts = []
    for request_id, messages, template, prefix in zip(*columns, strict=True):
        if (messages, template) not in rendered:
            rendered[messages, template] = _render_messages(request_id, messages, template, model, templates)
        texts.append(rendered[messages, template] + prefix)
    return texts


def _render_messages(request_id: str, messages: str, template: str, model: LoadedModel, templates: dict) -> str:
    chat = json.loads(messages) if messages else []
    if not chat:
        return ""
    if template == "tokenizer":
        if not model.tokenizer.chat_template:
            raise UserError(
                f"{model.name}: the tokenizer has no chat template, and request {request_id!r} has messages: use a chat "
                "model, or give the model's entry a literal template."
            )
        ends_open = chat[-1]["role"] == "assistant"
        return model.tokenizer.apply_chat_template(
            chat, tokenize=False, add_generation_prompt=not ends_open, continue_final_message=ends_open
        )
    if template not in templates:
        raise UserError(
            f"{model.name}: request {request_id!r} asks for the template {template!r}, the model's entry has "
            f"{', '.join(sorted(templates)) or 'none'}: add it there, or choose 'tokenizer'."
        )
    if [message["role"] for message in chat] != ["user"]:
        raise UserError(
            f"{model.name}: request {request_id!r} has the roles {[m['role'] for m in chat]}, and the literal template "
            f"{template!r} takes one user message: use the template 'tokenizer'."
        )
    text = chat[0]["content"]
    return templates[template]["prompt"].replace("{user}", text) if text else templates[template]["empty"]


def _texts(requests: pd.DataFrame, column: str, default: str = "") -> list[str]:
    """A column of text with ``default`` for nulls."""
    return [value if isinstance(value, str) else default for value in requests[column]]


def _options(requests: pd.DataFrame, column: str, allowed: tuple[str, ...]) -> pd.Series:
    """An option column with nulls as its first allowed value."""
    values = pd.Series(_texts(requests, column, allowed[0]), dtype=object)
    unknown = ~values.isin(allowed)
    if unknown.any():
        row = requests[unknown].iloc[0]
        raise ValueError(f"request {row['request_id']!r}: {column} is {row[column]!r}, expected one of {allowed}")
    return values


def _likelihood(
    requests: pd.DataFrame, model: LoadedModel, templates: dict[str, dict], token_budget: int
) -> tuple[pd.DataFrame, dict]:
    prefixes = np.asarray(render(requests, model, templates), dtype=object)
    continuations = np.asarray(_texts(requests, "continuation"), dtype=object)
    special_tokens = _options(requests, "special_tokens", SPECIAL_TOKENS)
    boundary = _options(requests, "boundary", BOUNDARIES)
    tokens: list[np.ndarray] = [None] * len(requests)
    start = np.zeros(len(requests), np.int64)
    for setting, rows in requests.groupby([special_tokens, boundary], sort=False).indices.items():
        try:
            part, part_start = encode_pairs(model.tokenizer, prefixes[rows], continuations[rows], *setting)
        except NotImplementedError as error:
            raise UserError(
                f"{model.name}: the tokenizer reports no character offsets: set the protocol's boundary to prefix_length."
            ) from error
        for row, sequence in zip(rows, part, strict=True):
            tokens[row] = sequence
        start[rows] = part_start
    start = np.maximum(start, 1)  # nothing predicts the first token of a text
    length = np.fromiter(map(len, tokens), np.int64, len(tokens))
    limit = getattr(model.model.config, "max_position_embeddings", None) or np.inf
    detail = np.where(
        start >= length,
        "no token of the continuation can be scored",
        np.where(length - 1 > limit, f"longer than the {limit} tokens that the model takes", ""),
    )
    status = np.where(start >= length, "not_applicable", np.where(length - 1 > limit, "failed", "ok"))

    values = np.full(len(requests), np.nan)
    scored = np.flatnonzero(status == "ok")
    try:
        values[scored], run = log_likelihoods(
            model.model, [tokens[i] for i in scored], start[scored], Memory(token_budget), model.tree_refusal
        )
    except NotFiniteError as error:
        request_id = requests["request_id"][scored[error.sequence]]
        raise _not_finite(model, request_id, error.value) from error
    count = np.where(status == "ok", length - start, 0)
    responses = pd.DataFrame(
        {
            "request_id": requests["request_id"],
            "repeat": 0,
            "status": status,
            "detail": detail,
            "log_likelihood": values,
            "tokens": count,
            "nll_per_token": -values / np.where(count, count, np.nan),
        }
    )
    return responses, run


def _not_finite(model: LoadedModel, request_id: str, value: float) -> UserError:
    return UserError(
        f"{model.name}: a log-probability of request {request_id!r} is {value}: the weights are damaged, or overflow in "
        "this precision; try dtype float32 or bfloat16."
    )


_ANSWERS = {"likelihood": _likelihood}
