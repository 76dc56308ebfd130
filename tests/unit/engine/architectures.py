"""Tiny random models of the architectures in the installed transformers: each default configuration, scaled down.

Nothing that differs in a default is made equal, and nothing equal is made to differ: heads and groups of them, sizes of
heads, kinds of layers. Every length at which a model changes (a window, a chunk, a number of chosen tokens) is below
the longest text of :mod:`engine.parity`.
"""

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers import CONFIG_MAPPING, PretrainedConfig, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

VOCABULARY = 64
#: Layers, unless there are more kinds of them; positions.
LAYERS, POSITIONS = 4, 512
_LAYERS = ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "decoder_layers", "num_blocks")
_WIDTH = ("hidden_size", "n_embd", "d_model", "dim_model", "embedding_dim")
_HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "decoder_attention_heads", "attention_heads")

#: Kind of size -> the pattern of its names, the value that its largest gets, the least value, and the number that all
#: are multiples of. Sizes of one kind keep their order, and their ratios as far as that allows.
SIZES = {
    "heads": (r"^(n|num)_(attention_|key_value_|kv_)?heads?$|^swa_num.*heads$|^attention_heads$", 4, 1, 1),
    # Fewer would tie: a token that no head of an indexer looks at has a score of 0.
    "indexer heads": (r"^index_n_heads$", 16, 1, 1),
    "linear heads": (r"linear_num_(key|value)_heads$", 4, 1, 1),
    "head size": (r"^(global_|swa_|qk_nope_|qk_rope_|v_|index_|attention_)?head_dim$|^(d_head|dim_head|kv_channels)$", 16, 4, 4),
    "linear head size": (r"^linear_(key_|value_)?head_dim$", 16, 8, 8),
    "rank": (r"_rank$", 16, 4, 4),
    "inner": (r"intermediate_size(_mlp)?$|^(ffn_dim|ffn_hidden_size|expert_ffn_hidden_size|dff|dim_ff|d_inner|decoder_ffn_dim)$", 64, 8, 8),
    "experts": (r"^(num_experts|num_local_experts|n_routed_experts|moe_num_experts|zero_expert_num)$", 8, 4, 4),
    "chosen experts": (r"^(num_experts_per_tok|num_experts_per_token|moe_topk|moe_k)$", 2, 1, 1),
    "groups of experts": (r"^(n_group|num_expert_group)$", 4, 1, 1),
    "chosen groups": (r"^topk_group$", 2, 1, 1),
}  # fmt: skip
#: Lengths at which a model changes, and their values in a tiny one.
LENGTHS = {
    "sliding_window": 16, "window_size": 16, "attention_window_size": 16, "local_attention": 16,
    "sliding_window_size": 16, "local_attention_window_len": 16, "attention_chunk_size": 24, "chunk_size": 16,
    "mamba_chunk_size": 16, "block_size": 16, "index_topk": 24, "index_block_size": 8, "index_topk_blocks": 2,
    "floor_scale": 8, "original_max_position_embeddings": 64, "log_scaling_n_floor": 32, "rel_extent": 32,
    "position_bias_max_distance": 32,
}  # fmt: skip
_COMMON: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "vocab_size_per_layer_input": VOCABULARY,
    "hidden_size_per_layer_input": 8,
    "bos_token_id": None,
    "eos_token_id": 0,
    "pad_token_id": None,
} | dict.fromkeys(
    ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "model_max_length", "context_length"), POSITIONS
)
_SPECIAL = {"bos_token_id": 1, "pad_token_id": 0}
_WINDOWS = ["sliding_attention", "full_attention"] * 2
_ROPE = {"rope_type": "default", "rope_theta": 1e4}
_MAMBA2 = {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_n_groups": 1, "mamba_d_state": 8}
_EXPERTS = {"n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1}
_USED = {"layer_types": None, "use_sliding_window": True, "sliding_window": 16, "max_window_layers": 2}
#: Settings that an architecture needs besides these.
MORE: dict[str, dict[str, Any]] = {
    "bert-generation": {"is_decoder": True},
    "cohere_compass_text": {"layer_types": _WINDOWS, "rope_parameters": dict.fromkeys(_WINDOWS, _ROPE)},
    "bamba": _MAMBA2 | {"attn_layer_indices": [1, 3]},
    "codegen": {"rotary_dim": 4},
    "cwm": _SPECIAL,
    "deepseek_v2": {"num_experts_per_tok": 2},
    "dots1": _EXPERTS | {"n_shared_experts": 1, "first_k_dense_replace": 1},
    "falcon": {"new_decoder_architecture": True, "num_kv_heads": 2},
    "falcon_h1": _MAMBA2 | {"mamba_d_ssm": 64},
    "gemma3n_text": {"layer_types": ["sliding_attention", "full_attention"] * 2, "num_kv_shared_layers": 2},
    "gpt_neo": {"attention_types": [[["global", "local"], 2]]},
    "gptj": {"rotary_dim": 4},
    "granitemoehybrid": _MAMBA2 | {"layer_types": ["mamba", "attention"] * 2},
    "helium": {"head_dim": 8},
    "hunyuan_v1_dense": {"head_dim": 8},
    "hunyuan_v1_moe": {"head_dim": 8},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "mamba_d_state": 8, "mamba_dt_rank": 4},
    "lfm2": {"layer_types": ["conv", "full_attention"] * 2, "block_multiple_of": 16, "full_attn_idxs": None},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 2, "num_dense_layers": 1},
    "mamba2": {"num_heads": 8, "head_dim": 8, "n_groups": 1, "state_size": 8},
    "ministral": {"head_dim": 8},
    "mixtral": {"sliding_window": 16},
    "modernbert-decoder": _SPECIAL | {"cls_token_id": 1, "sep_token_id": 0},
    "nemotron": {"head_dim": 8, "num_key_value_heads": 2},
    "qwen2": _USED,
    "qwen2_moe": _USED,
    "qwen3": _USED,
    "rwkv": {"attention_hidden_size": 32},
    "zamba2": {"hybrid_layer_ids": [1, 3]}
    | {"layers_block_type": ["linear_attention", "hybrid"] * 2, "n_mamba_heads": 8, "mamba_headdim": 8}
    | {"mamba_d_state": 8, "attention_head_dim": 16, "mamba_ngroups": 1},
    "dbrx": {"attn_config": {"rope_theta": 1e4, "kv_n_heads": 2, "clip_qkv": 8}},
    "qwen4_exp_text": {"indexer_n_heads": 16, "indexer_kv_heads": 1, "indexer_head_dim": 16}
    | {"indexer_budget": 24, "indexer_compress_ratio": 4},
    "xlnet": {"d_head": 8},
    "blt": {"encoder_hash_byte_group_vocab": 64},
    "zamba": {"layers_block_type": ["linear_attention", "hybrid"] * 2},
    "zaya": {"num_experts_per_tok": 1},
}
_NAMES = """
afmoe apertus arcee aria_text axk1 axk2 bailing_hybrid bamba beam bert-generation biogpt bitnet bloom codegen cohere
cohere2 cohere2_moe cohere_compass_text ctrl cwm dbrx deepseek_v2 deepseek_v3 deepseek_v32 deepseek_v4 diffllama doge
dots1 dots3_note_text ernie4_5 ernie4_5_moe exaone4 exaone_moe falcon falcon_h1 falcon_mamba flex_olmo flint gemma gemma2
gemma3_text gemma3n_text gemma4_text gemma4_unified_text git glm glm4 glm4_moe glm4_moe_lite glm_moe_dsa gpt2 gpt_bigcode
gpt_neo gpt_neox gpt_neox_japanese gpt_oss gptj granite granite_swa granitemoe granitemoe_swa granitemoehybrid
granitemoeshared helium hrm_text hunyuan_v1_dense hunyuan_v1_moe hy_v3 hy_v4 hyperclovax inkling2_text inkling_text
internlm3 iquestcoder jais2 jamba jetmoe kimi_linear kolibri1 laguna lfm2 lfm2_moe lfm3 llama llama4_text longcat_flash
mamba mamba2 mellum mimo_v2_flash minicpm3 minimax minimax_m2 minimax_m3_vl_text ministral ministral3 mistral mixtral
modernbert-decoder moshi mpt nanochat nemotron nemotron_h olmo olmo2 olmo3 olmo_hybrid olmoe openai-gpt opt persimmon phi
phi3 phi4_multimodal phimoe qwen2 qwen2_moe qwen3 qwen3_5_moe_text qwen3_5_text qwen3_moe qwen3_next qwen4_exp_text
recurrent_gemma rwkv seed_oss smollm3 solar_open stablelm starcoder2 trocr vaultgemma xglm xlstm youtu zamba zamba2 zaya
"""
#: Architectures that bench/parity.py runs by default.
NAMES = tuple(_NAMES.split())


def scaled(default: Mapping[str, Any], more: Mapping[str, Any] = {}) -> dict[str, Any]:
    """The fields in which a tiny configuration differs from the ``default`` one, with ``more``."""
    names = {name: value for name, value in default.items() if value is not None}
    found = {
        name: value for name, value in (_COMMON | LENGTHS).items() if name in default and default[name] is not False
    }
    found = {name: value for name, value in found.items() if default[name] is not None or name.endswith("_id")}
    found |= dict.fromkeys((name for name in _WIDTH if name in names), 32)
    count = next((names[name] for name in _LAYERS if name in names), 0)
    chosen = _layers(names, count)
    found |= dict.fromkeys((name for name in _LAYERS if name in names), len(chosen))
    per_layer = names.get("per_layer_config") or {}
    for pattern, most, least, step in SIZES.values():
        given = {name: value for name, value in names.items() if re.search(pattern, name) and value}
        own = [value for one in per_layer.values() for name, value in one.items() if re.search(pattern, name)]
        sizes = _in_order([*_flat(given.values()), *own], most, least, step)
        found |= {name: _each(value, sizes) for name, value in given.items()}
        for one in per_layer.values():
            one |= {name: sizes[value] for name, value in one.items() if re.search(pattern, name)}
    found |= {
        name: scaled(value) for name, value in names.items() if name.endswith("_config") and "model_type" in value
    }
    if per_layer:
        places = {int(key): one for key, one in per_layer.items()}
        found["per_layer_config"] = {i: places[at] for i, at in enumerate(chosen) if at in places}
    for name, value in names.items():
        if _numbers_layers(value, count):
            found[name] = [i for i, at in enumerate(chosen) if at in value]
        elif isinstance(value, list) and len(value) == count and count:
            value = found.get(name, value)
            found[name] = [value[at] for at in chosen]
    return found | more


def _flat(values):
    return [one for value in values for one in (value if isinstance(value, list) else [value])]


def _each(value, sizes):
    return [sizes[one] for one in value] if isinstance(value, list) else sizes[value]


def _in_order(values: Sequence[int], most: int, least: int, step: int) -> dict[int, int]:
    """Small sizes for the ``values`` that grow as they do: the largest becomes ``most``."""
    sizes, last = {}, 0
    for value in sorted({value for value in values if value > 0}):
        own = max(least, round(value * most / max(values) / step) * step)
        sizes[value] = last = own if own > last else last + step
    return sizes | {value: value for value in values if value <= 0}


def _numbers_layers(value: Any, count: int) -> bool:
    """Whether a field lists some of ``count`` layers by their numbers."""
    return (
        isinstance(value, list)
        and len(value) > 1
        and value == sorted({*value})
        and type(value[-1]) is int
        and value[-1] < count
    )


def _layers(names: Mapping[str, Any], count: int) -> list[int]:
    """Indices of layers among ``count``: the first of each kind, then the last ones, to LAYERS if kinds are fewer."""
    lists = [
        one for one in names.values() if isinstance(one, list) and len(one) == count and not _numbers_layers(one, count)
    ]
    overrides = names.get("per_layer_config") or {}
    kinds: dict[str, int] = {}
    for at in range(count):
        kinds.setdefault(
            repr(
                [*(value[at] for value in lists), overrides.get(at, overrides.get(f"{at:02}", overrides.get(str(at))))]
            ),
            at,
        )
    return sorted(
        [
            *kinds.values(),
            *[at for at in reversed(range(count)) if at not in kinds.values()][: max(0, LAYERS - len(kinds))],
        ]
    )


def config(name: str, **settings: Any) -> PretrainedConfig:
    """A tiny configuration of architecture ``name``."""
    kind = CONFIG_MAPPING[name]
    return kind(**scaled(kind().to_dict(), MORE.get(name, {})) | settings)


@functools.cache
def build(name: str) -> PreTrainedModel:
    """A random model in float32 whose predictions are far from flat, so that a wrong mask shows."""
    torch.manual_seed(0)
    shape = config(name)
    built = MODEL_FOR_CAUSAL_LM_MAPPING[type(shape)](shape).eval()
    with torch.no_grad():
        for parameter in built.parameters():
            if parameter.ndim > 1 or not parameter.any():
                parameter.normal_(0, 0.2)
    return built
