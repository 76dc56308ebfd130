"""Tiny random models of the architectures in the installed transformers."""

import functools
from typing import Any

import torch
from transformers import CONFIG_MAPPING, PretrainedConfig, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

VOCABULARY = 64
#: Sizes by the names that configurations use; each takes those that it knows. Windows and chunks are short.
COMMON: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "ffn_dim": 48,
    "ffn_hidden_size": 48,
    "num_hidden_layers": 4,
    "num_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 512,
    "sliding_window": 16,
    "attention_chunk_size": 24,
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "n_group": 1,
    "topk_group": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 24,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8,
    "v_head_dim": 8,
    "bos_token_id": None,
    "eos_token_id": 0,
    "pad_token_id": None,
}
_SPECIAL = {"bos_token_id": 1, "pad_token_id": 0}
_WINDOWS = {"layer_types": ["sliding_attention", "full_attention"] * 2}
_MAMBA2 = {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_n_groups": 1, "mamba_d_state": 8, "mamba_chunk_size": 16}
_LINEAR = {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 8}
_LINEAR |= {"layer_types": ["linear_attention", "full_attention"] * 2}
_GEMMA = _WINDOWS | {"vocab_size_per_layer_input": VOCABULARY, "hidden_size_per_layer_input": 8}
_GEMMA |= {"num_kv_shared_layers": 2}
_USED = {"use_sliding_window": True, "max_window_layers": 2}
_OMIT = object()
#: What an architecture needs beyond these.
MORE: dict[str, dict[str, Any]] = {
    "bamba": _MAMBA2 | {"attn_layer_indices": [1, 3]},
    "codegen": {"rotary_dim": 4},
    "cwm": _SPECIAL,
    "dots1": {"n_shared_experts": 1, "first_k_dense_replace": 1},
    "falcon": {"head_dim": _OMIT, "new_decoder_architecture": True, "num_kv_heads": 2},
    "falcon_h1": _MAMBA2 | {"mamba_d_ssm": 64},
    "gemma3_text": _WINDOWS,
    "gemma3n_text": _GEMMA
    | {
        "intermediate_size": [48] * 4,
        "activation_sparsity_pattern": [0.0] * 4,
        "laurel_rank": 4,
        "altup_num_inputs": 2,
    },
    "gemma4_text": _GEMMA | {"global_head_dim": 8},
    "gpt_neo": {"attention_types": [[["global", "local"], 2]], "window_size": 16},
    "gptj": {"rotary_dim": 4},
    "granitemoehybrid": _MAMBA2 | {"layer_types": ["mamba", "attention"] * 2},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "mamba_d_state": 8, "mamba_dt_rank": 4},
    "lfm2": {"layer_types": ["conv", "full_attention"] * 2},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 2, "num_dense_layers": 1},
    "llama4_text": {"intermediate_size_mlp": 48, "layer_types": ["chunked_attention", "full_attention"] * 2},
    "mamba2": {"num_heads": 8, "head_dim": 8, "n_groups": 1, "state_size": 8, "chunk_size": 16},
    "modernbert-decoder": _SPECIAL | _WINDOWS | {"cls_token_id": 1, "sep_token_id": 0, "local_attention": 16},
    "qwen2": _USED,
    "qwen2_moe": _USED | {"shared_expert_intermediate_size": 24},
    "qwen3": _USED,
    "qwen3_5_text": _LINEAR,
    "qwen3_next": _LINEAR,
    "rwkv": {"attention_hidden_size": 32},
    "zamba2": {"layers_block_type": ["mamba", "hybrid"] * 2, "n_mamba_heads": 8, "mamba_headdim": 8}
    | {"mamba_d_state": 8, "chunk_size": 16, "attention_head_dim": 16, "mamba_ngroups": 1},
    "zaya": {"num_experts_per_tok": 1},
}
MORE |= {
    name: {"num_key_value_heads": 4}  # as many as heads: their keys are compressed otherwise
    for name in ("axk1", "deepseek_v2", "deepseek_v3", "glm4_moe_lite", "longcat_flash", "minicpm3", "youtu")
}
_NAMES = """
afmoe apertus arcee aria_text axk1 bamba beam biogpt bitnet bloom codegen cohere cohere2 cohere2_moe ctrl cwm
deepseek_v2 deepseek_v3 diffllama doge dots1 ernie4_5 ernie4_5_moe exaone4 exaone_moe falcon falcon_h1 falcon_mamba
flex_olmo gemma gemma2 gemma3_text gemma3n_text gemma4_text glm glm4 glm4_moe glm4_moe_lite gpt2 gpt_bigcode gpt_neo
gpt_neox gpt_neox_japanese gpt_oss gptj granite granite_swa granitemoe granitemoe_swa granitemoehybrid
granitemoeshared helium hunyuan_v1_dense hunyuan_v1_moe hy_v3 hy_v4 hyperclovax internlm3 iquestcoder jais2 jamba
jetmoe kolibri1 laguna lfm2 lfm2_moe lfm3 llama llama4_text longcat_flash mamba mamba2 mellum mimo_v2_flash minicpm3
minimax minimax_m2 ministral ministral3 mistral mixtral modernbert-decoder mpt nanochat nemotron olmo olmo2 olmo3
olmo_hybrid olmoe openai-gpt opt persimmon phi phi3 phimoe qwen2 qwen2_moe qwen3 qwen3_5_text qwen3_moe qwen3_next
recurrent_gemma rwkv seed_oss smollm3 solar_open stablelm starcoder2 vaultgemma xglm youtu zamba2 zaya
"""
#: Those that a bench runs through: what is not here is no decoder of text, or has no tiny form.
NAMES = tuple(_NAMES.split())


def config(name: str, **settings: Any) -> PretrainedConfig:
    """The configuration of architecture ``name`` in tiny."""
    kind = CONFIG_MAPPING[name]
    names = {*dir(kind), *getattr(kind, "__dataclass_fields__", ()), *kind.attribute_map, *vars(kind())}
    known = {key: value for key, value in COMMON.items() if key in names}
    given = known | MORE.get(name, {}) | settings
    return kind(**{key: value for key, value in given.items() if value is not _OMIT})


@functools.cache
def build(name: str) -> PreTrainedModel:
    """A random model in float32 whose predictions are far from flat, so that a wrong mask shows."""
    torch.manual_seed(0)
    shape = config(name)
    built = MODEL_FOR_CAUSAL_LM_MAPPING[type(shape)](shape).eval()
    with torch.no_grad():
        for parameter in built.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.2)
    return built
