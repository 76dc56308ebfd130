"""Check a causal language model's entry and preview requests to it, from all of its files but the weights."""

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pandas as pd
from transformers import AutoConfig, AutoTokenizer, PretrainedConfig, PreTrainedTokenizerBase

from biasatlas.engine.masks import SPANS
from biasatlas.models.entry import pinned_revision
from biasatlas.models.hub import model_folder
from biasatlas.models.interface import ModelContext, Preview
from biasatlas.models.local.entry import HfEntry, adapter_commit, template_arguments
from biasatlas.models.local.inputs import exception
from biasatlas.models.local.load import LoadedModel, check_adapter, check_folder
from biasatlas.models.local.render import check_chat, render
from biasatlas.models.sampling import fill_sampling, with_checkpoint


def check_model(context: ModelContext) -> None:
    """Raise UserError for a folder, adapter, template or setting at which a model's job would stop.

    Weights that are NaN, and models that are not causal, are only found when they are loaded.
    """
    entry = cast(HfEntry, context.entry)
    folder = model_folder(entry.source, pinned_revision(entry, context.ready), entry.trust_remote_code)
    checkpoint = check_folder(folder, entry.source, entry.trust_remote_code)
    if entry.adapter:
        check_adapter(model_folder(entry.adapter, adapter_commit(entry, context.ready)), entry.adapter)
    check_chat(checkpoint.tokenizer, entry.templates, template_arguments(entry), context.name)


def preview(context: ModelContext, requests: pd.DataFrame) -> list[Preview]:
    """For each of ``requests``, its tokens with the longest answer, or why it cannot be asked.

    Raises UserError for a literal template or sampling settings that the entry lacks.
    """
    entry = cast(HfEntry, context.entry)
    sampling = {name: settings.model_dump() for name, settings in entry.sampling.items()}
    fill_sampling(requests, with_checkpoint(sampling, {}), context.name)
    folder = model_folder(entry.source, pinned_revision(entry, context.ready), entry.trust_remote_code)
    tokenizer, config = _tokenizer(folder, entry.trust_remote_code)
    limit, remark = getattr(config, "max_position_embeddings", None), slower(config)
    model = cast(LoadedModel, SimpleNamespace(name=context.name, tokenizer=tokenizer))  # no weights are needed
    previews = []
    for i in range(len(requests)):
        request = requests.iloc[[i]]
        (rendered,) = render(request, model, entry.templates, template_arguments(entry))
        if rendered.reason:
            previews.append(Preview(rendered.reason))
            continue
        continuation, longest = request["continuation"].iloc[0], request["max_tokens"].iloc[0]
        tokens = len(tokenizer(rendered.text + (continuation if isinstance(continuation, str) else ""))["input_ids"])
        kind, budget = request["kind"].iloc[0], entry.thinking.budget if entry.thinking else 0
        thinks = bool(budget) and isinstance(request["messages"].iloc[0], str)
        answer = int(longest) + budget if kind == "generation" or (kind == "choice" and thinks) else 0
        thought = [f"choices are sampled, each with up to {budget} tokens of thinking"] * (kind == "choice" and thinks)
        previews.append(Preview("", tokens + answer, limit, "; ".join(filter(None, [remark, *thought]))))
    return previews


@cache
def _tokenizer(folder: Path, trusted: bool) -> tuple[PreTrainedTokenizerBase, PretrainedConfig]:
    """The tokenizer, and the configuration of the text decoder."""
    config = AutoConfig.from_pretrained(folder, trust_remote_code=trusted).get_text_config()
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=trusted)
    return tokenizer, config


def slower(config: PretrainedConfig) -> str:
    """By the configuration alone: which common prefixes of requests will not be shared, and why; '' if all will."""
    others = sorted(set(getattr(config, "layer_types", None) or ()) - SPANS.keys())
    recurrent = f"not as a token tree: its layers of type {', '.join(others)} are no attention" if others else ""
    return "; ".join(filter(None, [recurrent, exception(config)]))
