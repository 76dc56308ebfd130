"""Tiny random composite models (of images or sound and text), and two of their kind that need help to be built."""

from pathlib import Path

import torch
from engine import tiny
from safetensors.torch import save_file
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    PretrainedConfig,
    PreTrainedModel,
)

_TEXT = {
    "vocab_size": tiny.VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,
    "bos_token_id": 1,
    "eos_token_id": 0,
    "pad_token_id": 0,
}
_HEAD = _TEXT | {"head_dim": 8}
_GEMMA = _HEAD | {"vocab_size_per_layer_input": tiny.VOCABULARY, "hidden_size_per_layer_input": 8}
_IMAGE = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "image_size": 28, "patch_size": 14}
_IMAGE |= {"num_attention_heads": 2}
_QWEN = {"depth": 1, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2, "out_hidden_size": 32}


def _rope(sections: list[int], **more: object) -> dict:
    return {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": sections} | more}


_CONFIGS: dict[str, dict] = {
    "gemma3": {
        "text_config": _HEAD | {"query_pre_attn_scalar": 8},
        "vision_config": _IMAGE,
        "mm_tokens_per_image": 4,
    },
    "gemma3n": {
        "text_config": _GEMMA
        | {"intermediate_size": [48] * 2, "activation_sparsity_pattern": [0.0] * 2, "laurel_rank": 4}
        | {"num_kv_shared_layers": 0, "altup_num_inputs": 2}
    },
    "gemma4": {
        "text_config": _GEMMA | {"num_kv_shared_layers": 0, "global_head_dim": 16},
        "vision_config": _IMAGE | {"num_key_value_heads": 2, "head_dim": 8},
        "audio_config": None,
    },
    "emu3": {
        "text_config": _TEXT,
        "vq_config": {"base_channels": 32, "channel_multiplier": [1], "num_res_blocks": 1, "attn_resolutions": []}
        | {"codebook_size": 8, "embed_dim": 8, "latent_channels": 8, "z_channels": 8, "hidden_size": 32},
        "vocabulary_map": {"<image>": 2},
    },
    "mllama": {
        "text_config": _TEXT | {"num_hidden_layers": 3, "cross_attention_layers": [1]},
        "vision_config": _IMAGE
        | {"num_global_layers": 1, "attention_heads": 2, "vision_output_dim": 32, "intermediate_layers_indices": [0]},
    },
    "llama4": {
        "text_config": _HEAD | {"intermediate_size_mlp": 48, "num_local_experts": 2, "num_experts_per_tok": 1},
        "vision_config": _IMAGE
        | {"intermediate_size": 32, "vision_output_dim": 16, "projector_input_dim": 16, "projector_output_dim": 16},
    },
    "mistral3": {
        "text_config": _HEAD | {"model_type": "mistral", "sliding_window": None},
        "vision_config": _IMAGE | {"head_dim": 8, "model_type": "pixtral"},
    },
    "qwen2_5_vl": {
        "text_config": _TEXT | _rope([1, 1, 2]),
        "vision_config": _QWEN | {"fullatt_block_indexes": [0]},
    },
    "qwen3_vl": {
        "text_config": _HEAD | _rope([2, 1, 1], mrope_interleaved=True),
        "vision_config": _QWEN | {"num_position_embeddings": 16, "deepstack_visual_indexes": [0]},
    },
}
NAMES = list(_CONFIGS)


def config(name: str) -> PretrainedConfig:
    return AutoConfig.for_model(name, **_CONFIGS[name])


def save(name: str, folder: Path) -> PreTrainedModel:
    """Save a composite model with a tokenizer; returns it (of Gemma-3n, whose image part needs timm, the text part)."""
    whole = config(name)
    torch.manual_seed(0)
    built = AutoModelForCausalLM.from_config(whole.text_config) if name == "gemma3n" else None
    model = (built or AutoModelForImageTextToText.from_config(whole)).eval()
    tiny.spread(model).save_pretrained(folder)
    if built:
        below = {n.replace("model.", "model.language_model.", 1): t for n, t in built.state_dict().items()}
        del below["lm_head.weight"]  # tied
        below["model.vision_tower.timm_model.conv_stem.conv.weight"] = torch.zeros(1)
        save_file({n: t.contiguous() for n, t in below.items()}, folder / "model.safetensors", {"format": "pt"})
        whole.save_pretrained(folder)
    tiny.tokenizer(True).save_pretrained(folder)
    return model
