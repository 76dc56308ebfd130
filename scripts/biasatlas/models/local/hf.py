"""Causal language models in process: requests in, responses out."""

import dataclasses
import hashlib
import json
import logging
import platform
import resource
from collections import Counter
from collections.abc import Mapping
from functools import partial
from importlib.metadata import version

import numpy as np
import pandas as pd
import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from biasatlas.workflow.identity import code_hash
from biasatlas.engine.choice import Question, TokenReader, answer_probabilities
from biasatlas.engine.encode import BOUNDARIES, SPECIAL_TOKENS, encode_pairs, encode_texts
from biasatlas.engine.generate import Prompt, generate
from biasatlas.engine.likelihood import check_tree, log_likelihoods
from biasatlas.engine.memory import Memory, NotFiniteError, Progress
from biasatlas.engine.sampling import Sampling
from biasatlas.errors import UserError
from biasatlas.files import REQUEST_COLUMNS, RESPONSE_COLUMNS
from biasatlas.models.hub import first_line, model_folder, weights_sha256
from biasatlas.models.shards import cut
from biasatlas.models.store import ResponseStore, content
from biasatlas.models.store import key as store_key
from biasatlas.benchmarks.shared.readers import READERS, REFUSED, UNPARSEABLE, Reader

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

#: A question whose unresolved probability exceeds this has failed: its task must sample instead.
UNRESOLVED_BOUND = 0.01

#: Labels that together have less probability than this are no answer: expansion stops at a tenth of it unresolved.
LEAST_ANSWERED = 0.03

#: Requests that are answered and stored together: what a kill can lose.
_BATCH = 4096

_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt")
_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class LoadedModel:
    """A causal language model ready to answer, with what identifies it.

    ``ends`` are the tokens that end an answer: the tokenizer's, and those of the checkpoint's generation configuration,
    of which nothing else is used. ``tree_refusal`` is '' where the engine's tree is exact for this model, else the
    reason why it is not.
    """

    name: str
    revision: str | None
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    weights_sha256: str
    ends: tuple[int, ...]
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
    GPU, or to the CPU where there is none. Code from a hub runs only if ``trust_remote_code`` and at a pinned
    ``revision``.
    Raises UserError where the folder or hub id cannot be used, and says what to do.
    """
    transformers.utils.logging.disable_progress_bar()  # a log is no terminal
    if dtype not in DTYPES:
        raise UserError(f"{source}: dtype {dtype!r} is not known: use one of {', '.join(DTYPES)}.")
    folder = model_folder(source, revision, trust_remote_code)
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
            f"{source}: cannot be loaded as a causal language model with a tokenizer ({first_line(error)}): check "
            "that the folder is complete."
        ) from error
    tree_refusal = check_tree(model)
    if tree_refusal:
        _log.info("%s: padded batches in place of the token tree: %s", source, tree_refusal)
    return LoadedModel(
        source, revision, model, tokenizer, weights_sha256(weights), _ends(model, tokenizer), tree_refusal
    )


def _ends(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...]:
    declared = [tokenizer.eos_token_id, model.generation_config.eos_token_id, model.config.eos_token_id]
    flat = [token for ids in declared for token in (ids if isinstance(ids, list) else [ids])]
    return tuple(sorted({token for token in flat if token is not None}))


def answer(
    requests: pd.DataFrame,
    model: LoadedModel,
    *,
    templates: dict[str, dict],
    readers: Mapping[str, Reader] = READERS,
    store: ResponseStore | None = None,
    token_budget: int | None = None,
    share: tuple[int, int] = (0, 1),
) -> tuple[pd.DataFrame, dict]:
    """Answer a table of requests of one kind: a table of responses in the order of requests, then repeat.

    ``templates`` maps the name of a literal template to {"prompt": text with "{user}", "empty": text for an empty user
    message}; ``readers`` the names that choice requests give to how replies are read. ``token_budget`` bounds the
    tokens of one forward pass (None: chosen for the device). Answers are kept in ``store`` batch by batch, and those
    that are there are not computed again. A ``share`` (which, of how many) answers its own requests alone, to the digits
    that they have in the whole.

    The dictionary says how the answers were made: weights, precision, versions, engine path; under ``run``, what this
    run of it took: tokens asked, unique and fed, peak memory. Raises UserError for a template that the model lacks and
    for a NaN or infinity, with model and request.
    """
    requests = requests.reindex(columns=list(dict.fromkeys([*REQUEST_COLUMNS, *requests.columns]))).reset_index(
        drop=True
    )
    kinds = sorted(requests["kind"].dropna().unique())
    if len(kinds) != 1 or kinds[0] not in _ANSWERS:
        raise ValueError(f"requests of one kind out of {sorted(_ANSWERS)} are needed, these are of {kinds}")
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    # What computed and read an answer can change it as much as the weights can.
    readers = {readers[name].__module__.removeprefix("biasatlas.") for name in requests["reader"].dropna().unique()}
    identity = {
        "kind": "hf",
        "weights_sha256": model.weights_sha256,
        "dtype": str(model.model.dtype),
        "code": code_hash("answer_requests", *sorted(readers)),
    }
    prompts = render(requests, model, templates)
    seen = (
        content(row) | {"messages": None, "template": None, "prefix": prompt, "repeats": _integer(row["repeats"])}
        for row, prompt in zip(requests.to_dict("records"), prompts, strict=True)
    )
    keys = [store_key(identity, request, 0) for request in seen]
    texts = [
        prompt + continuation for prompt, continuation in zip(prompts, _texts(requests, "continuation"), strict=True)
    ]
    first = {name: i for i, name in reversed(list(enumerate(keys)))}
    # Batches are cut from all requests, whatever the store holds: what is computed together decides the last digits.
    order = sorted(first.values(), key=texts.__getitem__)
    part, parts = share
    batches = [order[batch] for batch in cut([texts[i] for i in order], _BATCH, parts)[part]]
    wanted = {keys[i] for batch in batches for i in batch}
    answers = store.get(wanted) if store else {}
    missing = [left for batch in batches if (left := [i for i in batch if keys[i] not in answers])]
    computed = sum(map(len, missing))
    solve = partial(_choice, readers=readers) if kinds[0] == "choice" else _ANSWERS[kinds[0]]
    run: Counter[str] = Counter()
    progress = Progress("requests", computed)
    for left in missing:
        batch = requests.iloc[left].reset_index(drop=True)
        try:
            responses, took = solve(batch, model, templates, token_budget or _default_budget(model))
        except torch.OutOfMemoryError as error:
            raise UserError(
                f"{model.name}: out of memory on a single request: use a smaller dtype, a larger GPU, or more GPUs."
            ) from error
        run.update({name: count for name, count in took.items() if isinstance(count, int)})
        new: dict[str, dict] = {}
        names = dict(zip(batch["request_id"], (keys[i] for i in left), strict=True))
        for record in responses.astype(object).where(responses.notna(), None).to_dict("records"):
            new.setdefault(names[record.pop("request_id")], {"responses": []})["responses"].append(record)
        if store:
            store.put(new)
        answers |= new
        progress.advance(len(batch))
    asked = [
        (request_id, name) for request_id, name in zip(requests["request_id"], keys, strict=True) if name in wanted
    ]
    rows = [{"request_id": request_id} | record for request_id, name in asked for record in answers[name]["responses"]]
    metadata = {
        "model": model.name,
        "revision": model.revision,
        "weights_sha256": model.weights_sha256,
        "template_sha256": _template_sha256(model, templates),
        "dtype": str(model.model.dtype).removeprefix("torch."),
        "device": str(model.model.device),
        "engine": "plain" if model.tree_refusal else "tree",
        "engine_reason": model.tree_refusal,
        "versions": {name: version(name) for name in ("torch", "transformers", "tokenizers")}
        | {"python": platform.python_version()},
        "run": run | {"requests": len(asked), "computed": computed, "peak_memory_mib": _peak_memory_mib()},
    }
    _log.info("%s: %d %s requests answered: %s", model.name, len(asked), kinds[0], json.dumps(metadata))
    return pd.DataFrame(rows, columns=list(RESPONSE_COLUMNS[kinds[0]])), metadata


def _template_sha256(model: LoadedModel, templates: dict[str, dict]) -> str:
    """One hash over the tokenizer's chat template and the entry's literal ones."""
    text = json.dumps([model.tokenizer.chat_template, templates], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


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
                f"{model.name}: the tokenizer has no chat template, and request {request_id!r} has messages: use a "
                "chat model, or give the model's entry a literal template."
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
                f"{model.name}: the tokenizer reports no character offsets: set the protocol's boundary to "
                "prefix_length."
            ) from error
        for row, sequence in zip(rows, part, strict=True):
            tokens[row] = sequence
        start[rows] = part_start
    start = np.maximum(start, 1)  # nothing predicts the first token of a text
    length = np.fromiter(map(len, tokens), np.int64, len(tokens))
    detail = np.where(
        start >= length, "no token of the continuation can be scored", _too_long(model, length - 1)
    ).astype(object)
    status = np.where(start >= length, "not_applicable", np.where(detail != "", "failed", "ok"))

    values = np.full(len(requests), np.nan)
    scored = np.flatnonzero(status == "ok")
    try:
        values[scored], run = log_likelihoods(
            model.model, [tokens[i] for i in scored], start[scored], Memory(token_budget), model.tree_refusal
        )
    except NotFiniteError as error:
        raise _not_finite(model, requests["request_id"][scored[error.sequence]], error.value) from error
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


def _choice(
    requests: pd.DataFrame,
    model: LoadedModel,
    templates: dict[str, dict],
    token_budget: int,
    readers: Mapping[str, Reader],
) -> tuple[pd.DataFrame, dict]:
    """The probability of each label.

    An answer has at most ``max_tokens``, and no more than the prompt leaves of the model's context; one that is decided
    before is the same. Only a prompt that leaves no token of it has failed. Labels that together have less than
    LEAST_ANSWERED count as unparseable: what their shares among one another are, the unresolved mass leaves open.
    """
    prompts = _prompts(requests, model, templates)
    detail = _prompt_detail(model, prompts, pd.Series(1, requests.index))
    most = [
        _longest_answer(model, len(prompt), _integer(limit))
        for prompt, limit in zip(prompts, requests["max_tokens"], strict=True)
    ]
    readers: dict[tuple[str, str], TokenReader] = {}
    questions: dict[tuple, Question] = {}
    keys = []
    for i, sampling in enumerate(_samplings(requests)):
        reading = (requests["reader"][i], requests["labels"][i])
        if reading not in readers:
            readers[reading] = _reader(model, readers[reading[0]], reading[1])
        key = (prompts[i].tobytes(), sampling, most[i], reading)
        keys.append(key)
        if key not in questions and not detail[i]:
            guesses = () if model.tree_refusal else _guesses(model, reading[1])
            questions[key] = Question(prompts[i], readers[reading], *key[1:3], guesses)
    try:
        found, run = answer_probabilities(
            model.model, list(questions.values()), Memory(token_budget), model.tree_refusal
        )
    except NotFiniteError as error:
        key = list(questions)[error.sequence]
        raise _not_finite(model, requests["request_id"][keys.index(key)], error.value) from error
    by_key = dict(zip(questions, found, strict=True))
    rows = []
    for request_id, key, reason in zip(requests["request_id"], keys, detail, strict=True):
        row = {"request_id": request_id, "repeat": 0, "status": "failed", "detail": reason}
        if key in by_key and not reason:
            outcomes, unresolved = by_key[key]
            *labels, refused, unparseable = outcomes.tolist()
            if sum(labels) < LEAST_ANSWERED:
                labels, unparseable = [0.0] * len(labels), unparseable + sum(labels)
            row |= {
                "probabilities": json.dumps(labels),
                "refused": refused,
                "unparseable": unparseable,
                "unresolved": unresolved,
            }
            if unresolved <= UNRESOLVED_BOUND:
                row["status"] = "ok"
            else:
                row["detail"] = (
                    f"{unresolved:.3f} of the probability lies in answers too many or too long to follow "
                    f"(bound {UNRESOLVED_BOUND}): sample this task with requests of kind generation"
                )
        rows.append(row)
    return pd.DataFrame(rows, columns=list(RESPONSE_COLUMNS["choice"])), run


def _reader(model: LoadedModel, read: Reader, labels: str) -> TokenReader:
    """Outcomes are the labels in their order, then refused, then unparseable."""
    options = json.loads(labels)
    outcome = {REFUSED: len(options), UNPARSEABLE: len(options) + 1}

    def index(text: str, complete: bool) -> int | None:
        found = read(text, options, complete)
        return outcome.get(found, found)

    def decode(answers: list[list[int]]) -> list[str]:
        return model.tokenizer.batch_decode(answers, skip_special_tokens=True)

    return TokenReader(index, len(options) + 2, decode, model.ends)


def _guesses(model: LoadedModel, labels: str) -> tuple[tuple[int, ...], ...]:
    """The beginnings of the labels' own tokens, at most 16: likely answers, looked at together with the prompt."""
    texts = [space + label for label in json.loads(labels) for space in ("", " ")]
    ids = model.tokenizer(texts, add_special_tokens=False)["input_ids"]
    return tuple(dict.fromkeys(tuple(row[:1]) for row in ids if row))[:16]


def _generation(
    requests: pd.DataFrame, model: LoadedModel, templates: dict[str, dict], token_budget: int
) -> tuple[pd.DataFrame, dict]:
    if requests["max_tokens"].isna().any():
        request_id = requests["request_id"][requests["max_tokens"].isna()].iloc[0]
        raise ValueError(f"request {request_id!r}: a generation needs max_tokens")
    tokens = _prompts(requests, model, templates)
    detail = _prompt_detail(model, tokens, requests["max_tokens"])
    repeats = requests["repeats"].fillna(1).astype(int)
    prompts: dict[tuple, Prompt] = {}
    rows = []
    for i, sampling in enumerate(_samplings(requests)):
        for repeat in range(repeats[i]):
            # Greedy answers do not differ between repeats.
            prompt = Prompt(tokens[i], sampling, int(requests["max_tokens"][i]), repeat if sampling.temperature else 0)
            key = (prompt.tokens.tobytes(), sampling, prompt.max_tokens, prompt.repeat)
            rows.append((i, repeat, key))
            if not detail[i]:
                prompts.setdefault(key, prompt)
    progress = Progress("answers", len(prompts))
    try:
        found = generate(model.model, list(prompts.values()), model.ends, Memory(token_budget), progress.advance)
    except NotFiniteError as error:
        key = list(prompts)[error.sequence]
        row = next(i for i, _, other in rows if other == key)
        raise _not_finite(model, requests["request_id"][row], error.value) from error
    texts = model.tokenizer.batch_decode([answer for answer, _ in found], skip_special_tokens=True) if found else []
    by_key = {key: (*answer, text) for key, answer, text in zip(prompts, found, texts, strict=True)}
    responses = []
    for i, repeat, key in rows:
        row = {"request_id": requests["request_id"][i], "repeat": repeat, "status": "failed", "detail": detail[i]}
        if not detail[i]:
            answer, finish_reason, text = by_key[key]
            row |= {
                "status": "ok" if finish_reason == "stop" else "truncated",
                "text": text,
                "finish_reason": finish_reason,
                "prompt_tokens": len(tokens[i]),
                "completion_tokens": len(answer),
            }
        responses.append(row)
    fed = sum(len(prompt.tokens) for prompt in prompts.values())
    run = {"path": "generate", "reason": "", "tokens_fed": fed, "tokens_made": sum(len(answer) for answer, _ in found)}
    return pd.DataFrame(responses, columns=list(RESPONSE_COLUMNS["generation"])), run


def _prompts(requests: pd.DataFrame, model: LoadedModel, templates: dict[str, dict]) -> list[np.ndarray]:
    texts = np.asarray(render(requests, model, templates), dtype=object)
    tokens: list[np.ndarray] = [None] * len(requests)
    for setting, rows in requests.groupby(_options(requests, "special_tokens", SPECIAL_TOKENS)).indices.items():
        for row, ids in zip(rows, encode_texts(model.tokenizer, texts[rows], setting), strict=True):
            tokens[row] = ids
    return tokens


def _prompt_detail(model: LoadedModel, prompts: list[np.ndarray], max_tokens: pd.Series) -> np.ndarray:
    length = np.fromiter(map(len, prompts), np.int64, len(prompts))
    too_long = _too_long(model, length + max_tokens.to_numpy(dtype=np.int64))
    return np.where(length == 0, "an empty prompt predicts nothing", too_long).astype(object)


def _too_long(model: LoadedModel, length: np.ndarray) -> np.ndarray:
    """A detail for each length that the model does not take, else ''."""
    limit = _context(model)
    return np.where(length > limit, f"longer than the {limit} tokens that the model takes", "")


def _context(model: LoadedModel) -> float:
    """Tokens that the model takes, infinity where it names no bound."""
    return getattr(model.model.config.get_text_config(), "max_position_embeddings", None) or np.inf


def _longest_answer(model: LoadedModel, prompt: int, max_tokens: int | None) -> int | None:
    """Tokens that an answer to a prompt of ``prompt`` tokens may have; None where neither request nor model bounds it."""
    most = min(np.inf if max_tokens is None else max_tokens, _context(model) - prompt)
    return None if most == np.inf else int(most)


def _samplings(requests: pd.DataFrame) -> list[Sampling]:
    """The sampling settings of each request; a null leaves the default, which changes nothing."""
    names = [field.name for field in dataclasses.fields(Sampling)]
    kinds = {field.name: type(field.default) for field in dataclasses.fields(Sampling)}
    return [
        Sampling(**{name: kinds[name](value) for name, value in zip(names, row, strict=True) if not pd.isna(value)})
        for row in requests[names].itertuples(index=False)
    ]


def _integer(value: float | None) -> int | None:
    return None if pd.isna(value) else int(value)


def _not_finite(model: LoadedModel, request_id: str, value: float) -> UserError:
    return UserError(
        f"{model.name}: a log-probability of request {request_id!r} is {value}: the weights are damaged, or overflow "
        "in this precision; try dtype float32 or bfloat16."
    )


_ANSWERS = {"likelihood": _likelihood, "choice": _choice, "generation": _generation}
