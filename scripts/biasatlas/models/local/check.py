"""An entry of kind ``hf`` before any job runs: all that its files say, without reading a weight."""

from collections.abc import Sequence
from pathlib import Path

from biasatlas.models.entry import pinned_revision
from biasatlas.models.hub import model_folder
from biasatlas.models.local.checkpoint import Checkpoint
from biasatlas.models.local.entry import HfEntry, adapter_commit
from biasatlas.models.local.generation import check_thinking
from biasatlas.models.local.load import check_adapter, check_folder
from biasatlas.models.local.render import check_chat


def check_entry(name: str, entry: HfEntry, ready: Sequence[Path] = ()) -> Checkpoint:
    """The checkpoint of model ``name``, with its configuration and tokenizer; ``ready`` as for opening it.

    Raises UserError for a folder, adapter, template or setting that its job would stop at; weights that are NaN, and
    models that are not causal, are found when they are loaded.
    """
    folder = model_folder(entry.source, pinned_revision(entry, ready), entry.trust_remote_code)
    checkpoint = check_folder(folder, entry.source, entry.trust_remote_code)
    if entry.adapter:
        check_adapter(model_folder(entry.adapter, adapter_commit(entry, ready)), entry.adapter)
    check_chat(checkpoint.tokenizer, entry.templates, entry.template_arguments, name)
    check_thinking(checkpoint.tokenizer, entry.thinking_end, name)
    return checkpoint
