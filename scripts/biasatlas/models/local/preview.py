"""What a causal language model will make of requests: its tokenizer says it, no weights are read."""

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pandas as pd
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerBase

from biasatlas.models.entry import Preview, pinned_revision
from biasatlas.models.hub import model_folder
from biasatlas.models.local.entry import HfEntry
from biasatlas.models.local.render import render
from biasatlas.models.sampling import fill_sampling, with_checkpoint

if TYPE_CHECKING:
    from biasatlas.models.door import Opening
    from biasatlas.models.local.load import LoadedModel


def preview(opening: "Opening", requests: pd.DataFrame) -> list[Preview]:
    """Tokens of each of ``requests`` with its longest answer, and why one cannot be asked.

    Raises UserError for a literal template or sampling settings that the entry lacks.
    """
    entry = cast(HfEntry, opening.entry)
    sampling = {name: settings.model_dump() for name, settings in entry.sampling.items()}
    fill_sampling(requests, with_checkpoint(sampling, {}), opening.name)
    folder = model_folder(entry.source, pinned_revision(entry, opening.ready), entry.trust_remote_code)
    tokenizer, context = _tokenizer(folder, entry.trust_remote_code)
    model = cast("LoadedModel", SimpleNamespace(name=opening.name, tokenizer=tokenizer))  # no weights are needed
    previews = []
    for i in range(len(requests)):
        request = requests.iloc[[i]]
        (rendered,) = render(request, model, entry.templates, entry.template_arguments)
        if rendered.reason:
            previews.append(Preview(rendered.reason))
            continue
        continuation, longest = request["continuation"].iloc[0], request["max_tokens"].iloc[0]
        tokens = len(tokenizer(rendered.text + (continuation if isinstance(continuation, str) else ""))["input_ids"])
        answer = int(longest) if request["kind"].iloc[0] == "generation" else 0
        previews.append(Preview("", tokens + answer, context))
    return previews


@cache
def _tokenizer(folder: Path, trusted: bool) -> tuple[PreTrainedTokenizerBase, int | None]:
    """The tokenizer, and how many tokens the model takes."""
    config = AutoConfig.from_pretrained(folder, trust_remote_code=trusted).get_text_config()
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=trusted)
    return tokenizer, getattr(config, "max_position_embeddings", None)
