"""Two tiny models that are the same everywhere: their weights follow from a formula, their tokenizers are written out."""

import math
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForMaskedLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

CHAT_TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
#: Pairs of tokens that are merged into one; "Ġ" is a space.
MERGES = ["t h", "th e", "Ġ the", "Ġ th", "a t", "Ġth at", "Ġ s", "a i", "Ġs ai", "Ġsai d", "Ġ A", "1 0", ". 5", "e r"]
WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "the",
    "old",
    "young",
    "man",
    "lady",
    "could",
    "not",
    "work",
    ".",
]

NOTHING: Mapping = MappingProxyType({})
#: A context of 32 tokens.
SHORT = {"max_position_embeddings": 32}
#: A generation configuration of a checkpoint's own: "0" (token 17) ends an answer too.
OWN_GENERATION = {
    "eos_token_id": [0, 17],
    "do_sample": True,
    "temperature": 0.9,
    "top_p": 0.95,
    "top_k": 4,
    "repetition_penalty": 1.1,
}


def save_causal(folder: Path, config: Mapping = NOTHING, generation: Mapping = NOTHING) -> None:
    """A Qwen2 model of two layers, with byte-level BPE, a begin token and a chat template, in Hugging Face form.

    ``config`` and ``generation`` are further settings of its configuration and of its generation configuration.
    """
    special = ["</s>", "<s>"]
    pairs = [tuple(merge.split()) for merge in MERGES]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = [*special, *alphabet, *("".join(pair) for pair in pairs)]
    bpe = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, pairs))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.add_special_tokens(special)
    bpe.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    architecture = Qwen2Config(
        vocab_size=len(tokens),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        bos_token_id=1,
        eos_token_id=0,
        tie_word_embeddings=False,
        **config,
    )
    model = Qwen2ForCausalLM(architecture).eval()
    model.generation_config.update(**generation)
    _fill(model)
    with torch.no_grad():  # makes letters and digits its likeliest tokens, or its least likely
        for token in ["</s>", *"ABmn0123456789"]:
            model.lm_head.weight[tokens.index(token)] *= 3
    model.save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token="</s>", bos_token="<s>", chat_template=CHAT_TEMPLATE
    ).save_pretrained(folder)


def save_masked(folder: Path) -> None:
    """A BERT model of two layers over a few words, in Hugging Face form."""
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    model = BertForMaskedLM(BertConfig(vocab_size=len(WORDS), pad_token_id=0, **sizes)).eval()
    _fill(model)
    model.save_pretrained(folder)
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    PreTrainedTokenizerFast(tokenizer_object=words, **names).save_pretrained(folder)


def _fill(model: PreTrainedModel) -> None:
    """Fill matrices with numbers that look random (mean 0, SD 0.2), gains with 1 and biases with 0."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 1:
                parameter.fill_(0.0 if name.endswith("bias") else 1.0)
            else:
                parameter.copy_(torch.from_numpy(_numbers(name, tuple(parameter.shape))))


def _numbers(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers from the splitmix64 generator, with the parameter's name as the seed."""
    state = np.arange(math.prod(shape), dtype=np.uint64) + np.uint64(zlib.crc32(name.encode()) << 20)
    state *= np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        state = (state ^ (state >> np.uint64(shift))) * np.uint64(factor)
    uniform = ((state ^ (state >> np.uint64(31))) >> np.uint64(11)) / 2**53
    return ((uniform - 0.5) * 0.2 * math.sqrt(12)).astype(np.float32).reshape(shape)
