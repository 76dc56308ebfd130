"""Which of the library's classes a configuration stands for."""

from transformers import PretrainedConfig, PreTrainedModel
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
)

from biasatlas.errors import UserError
from biasatlas.models.hub import first_line

Architecture = tuple[type[PreTrainedModel], PretrainedConfig]

#: Composite models whose other parts need packages of their own: their text decoder is a class by itself.
_TEXT_ALONE = {"gemma3n"}


def causal_architecture(config: PretrainedConfig, source: str) -> Architecture:
    """The class of a causal language model, and the configuration that it takes.

    A model of images or sound and text is loaded whole, and asked in text alone. Raises UserError for one that is no
    causal language model.
    """
    kind = config.model_type
    try:
        text = config.get_text_config()
    except ValueError as error:  # it has several
        raise UserError(
            f"{source}: {kind} is no language model ({first_line(error)}): choose another model."
        ) from error
    if kind in _TEXT_ALONE:
        text.quantization_config = getattr(config, "quantization_config", None)
        return MODEL_FOR_CAUSAL_LM_MAPPING[type(text)], text
    if getattr(config, "is_encoder_decoder", False):
        raise UserError(f"{source}: {kind} is an encoder-decoder model, expected a causal one: choose another model.")
    if type(config) in MODEL_FOR_MASKED_LM_MAPPING and not getattr(config, "is_decoder", False):
        raise UserError(
            f"{source}: {kind} is a bidirectional model, whose tokens see those after them: give the entry `kind: masked`."
        )
    if kind.endswith("_assistant"):
        raise UserError(
            f"{source}: {kind} drafts tokens for another model, from what that computes: choose that model."
        )
    if not hasattr(text, "hidden_size"):
        raise UserError(f"{source}: {kind} has several decoders, of bytes and of groups of them: choose another model.")
    mappings = [MODEL_FOR_CAUSAL_LM_MAPPING]
    if text is not config:
        mappings.insert(0, MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING)
    for mapping in mappings:
        if type(config) in mapping:
            return mapping[type(config)], config
    raise UserError(
        f"{source}: the installed transformers knows no causal language model of model_type {kind!r}: choose another "
        "model, or give the entry trust_remote_code where its folder brings code."
    )


def masked_architecture(config: PretrainedConfig, source: str) -> Architecture:
    """The class of a masked language model, and its configuration. Raises UserError for one that is none."""
    if type(config) not in MODEL_FOR_MASKED_LM_MAPPING:
        raise UserError(
            f"{source}: {config.model_type} is no masked language model: give the entry `kind: hf`, or choose another."
        )
    return MODEL_FOR_MASKED_LM_MAPPING[type(config)], config
