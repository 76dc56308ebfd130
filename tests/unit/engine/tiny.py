"""Tiny random causal models of the architectures that matter, and a byte-level tokenizer, made on the spot."""

import functools

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    BloomConfig,
    CohereConfig,
    Gemma2Config,
    Gemma3TextConfig,
    GPT2Config,
    GPTNeoXConfig,
    GraniteConfig,
    LlamaConfig,
    MistralConfig,
    Phi3Config,
    PhiConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

VOCABULARY = 400
CHAT_TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
TEXTS = (
    "The nurse said that she would help. The doctor said that he could not.",
    "老人坐在新电脑前，慢慢地伸手去拿鼠标。年轻人很快就学会了。",
    "女人不都是物質生物嗎？男人比較理性。",
    "Answer with A or B. The score is 7.5 out of 10. 0 1 2 3 4 5 6 7 8 9 10 11 12 13",
)

_SHAPE = {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
_SHAPE |= {"bos_token_id": None, "eos_token_id": 0}
_GQA = _SHAPE | {"intermediate_size": 48, "num_key_value_heads": 2, "pad_token_id": None}
_GEMMA = _GQA | {"head_dim": 8, "query_pre_attn_scalar": 8}
_GPT2 = {"vocab_size": VOCABULARY, "bos_token_id": None, "eos_token_id": 0}
CONFIGS = {
    "qwen2": lambda: Qwen2Config(**_GQA),
    "qwen3": lambda: Qwen3Config(**_GQA, head_dim=8),
    "llama": lambda: LlamaConfig(**_GQA),
    "mistral": lambda: MistralConfig(**_GQA, sliding_window=None),
    "gemma2": lambda: Gemma2Config(**_GEMMA, attn_logit_softcapping=2.0, final_logit_softcapping=3.0),
    "gemma3": lambda: Gemma3TextConfig(**_GEMMA),
    "cohere": lambda: CohereConfig(**_GQA, logit_scale=0.25),
    "granite": lambda: GraniteConfig(**_GQA, logits_scaling=2.0),
    "phi3": lambda: Phi3Config(**_GQA),
    "gpt2": lambda: GPT2Config(**_GPT2, n_embd=32, n_layer=2, n_head=4),
    "gpt_neox": lambda: GPTNeoXConfig(**_SHAPE, intermediate_size=48),
    "bloom": lambda: BloomConfig(**_GPT2, hidden_size=32, n_layer=2, n_head=4),
    "phi": lambda: PhiConfig(**_SHAPE, intermediate_size=48),
    "mistral_window": lambda: MistralConfig(**_GQA, sliding_window=6),
}  # fmt: skip
ALIBI = "bloom"


@functools.cache
def model(name: str = "qwen2") -> PreTrainedModel:
    """A random model whose predictions are far from flat, so that a wrong mask shows; all tests have the same one."""
    return fresh(name)


def fresh(name: str = "qwen2") -> PreTrainedModel:
    """As :func:`model`, for a test that changes it."""
    config = CONFIGS[name]()
    torch.manual_seed(0)
    return spread(MODEL_FOR_CAUSAL_LM_MAPPING[type(config)](config).eval())


def spread(built: PreTrainedModel) -> PreTrainedModel:
    """``built``, with random weights so large that its predictions are far from flat."""
    with torch.no_grad():
        for parameter in built.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.2)
    return built


@functools.cache
def tokenizer(bos: bool = False) -> PreTrainedTokenizerFast:
    """Byte-level BPE with an end token and a chat template; with ``bos``, it also adds a begin token by default."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["</s>", "<s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(TEXTS * 4, trainer)
    if bos:
        bpe.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token="</s>", bos_token="<s>" if bos else None, chat_template=CHAT_TEMPLATE
    )


@torch.inference_mode()
def one_at_a_time(model: PreTrainedModel, tokens: np.ndarray, start: int) -> float:
    """The reference: one full forward pass, log-softmax, sum over tokens[start:]."""
    ids = torch.as_tensor(tokens[None], dtype=torch.long)
    log_probabilities = torch.log_softmax(model(input_ids=ids).logits[0].double(), -1)
    return sum(log_probabilities[p - 1, int(tokens[p])].item() for p in range(start, len(tokens)))
