"""Models whose layers lie on one, two and three pretended devices, compared with the whole model on the CPU."""

import copy

import pandas as pd
import pytest
import torch
from torch import nn
from transformers import BertConfig, BertForMaskedLM

from biasatlas.models.masked.answer import MaskedModel

from . import architectures, parity, tiny
from .pretended import MixedDevicesError, PretendedDevices, deal, place, put


class Adapted(nn.Module):
    """A linear layer with a low-rank one beside it, as an adapter has it."""

    def __init__(self, base: nn.Linear):
        super().__init__()
        self.base, self.down, self.up = base, nn.Linear(base.in_features, 4), nn.Linear(4, base.out_features)

    def forward(self, hidden):
        return self.base(hidden) + self.up(self.down(hidden))


class Packed(nn.Module):
    """A linear layer of 8-bit weights, with a scale for each row, as quantisers keep them: in buffers."""

    def __init__(self, base: nn.Linear):
        super().__init__()
        scale = base.weight.detach().abs().amax(1, keepdim=True) / 127
        self.register_buffer("scale", scale)
        self.register_buffer("packed", (base.weight.detach() / scale).round().to(torch.int8))

    def forward(self, hidden):
        return nn.functional.linear(hidden, self.packed.to(hidden.dtype) * self.scale)


def model_with(layer):
    torch.manual_seed(0)
    model = copy.deepcopy(architectures.build("llama"))
    for one in model.model.layers:
        one.self_attn.q_proj, one.mlp.down_proj = layer(one.self_attn.q_proj), layer(one.mlp.down_proj)
    return model


MODELS = {
    "llama": ("tree", lambda: architectures.build("llama")),
    "gemma3_text": ("tree", lambda: architectures.build("gemma3_text")),  # a tied head, windows
    "bloom": ("states", lambda: architectures.build("bloom")),
    "adapted": ("tree", lambda: model_with(Adapted)),
    "packed": ("tree", lambda: model_with(Packed)),
}
#: One architecture tells of the number of devices.
CASES = [("llama", 1), ("llama", 2), ("llama", 3), ("gemma3_text", 2), ("bloom", 2), ("adapted", 2), ("packed", 2)]


@pytest.mark.parametrize("name, count", CASES)
def test_layers_on_several_devices_answer_as_the_whole_model_does(name, count):
    route, build = MODELS[name]
    reference = build()
    with PretendedDevices():
        found = parity.compare(deal(copy.deepcopy(reference), count), reference)
    assert found.route.name == route, found.route
    assert found.likelihood < 1e-4 and found.choice < 1e-4 and found.texts == found.of


def test_a_masked_model_answers_on_a_device():
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    reference = BertForMaskedLM(BertConfig(vocab_size=tiny.VOCABULARY, initializer_range=0.5, pad_token_id=0, **sizes))
    tokenizer = copy.copy(tiny.tokenizer())
    tokenizer.pad_token, tokenizer.mask_token = "</s>", "a"
    requests = pd.DataFrame({"request_id": ["a", "b"], "kind": "likelihood", "continuation": list(tiny.TEXTS[:2])})
    wanted, _ = MaskedModel("m", None, reference.eval(), tokenizer, "", "").answer(requests)
    with PretendedDevices():
        found, _ = MaskedModel("m", None, deal(copy.deepcopy(reference), 1), tokenizer, "", "").answer(requests)
    assert (wanted["tokens"] > 4).all()
    assert found["log_likelihood"].tolist() == pytest.approx(wanted["log_likelihood"].tolist(), abs=1e-5)


def test_pretended_devices_refuse_what_a_gpu_refuses():
    with PretendedDevices():
        first, second = (torch.arange(4, device=f"cuda:{number}") for number in (0, 1))
        assert place(first + 1) == place(first.to(second)[None].new_zeros(2).to(0)) == torch.device("cuda", 0)
        assert place(first[torch.tensor([True, False, True, False])]) == first.device
        for wrong in (
            lambda: first + second,
            lambda: first[second],
            lambda: torch.cat([first, torch.arange(4)]),
            lambda: first.index_put_((torch.tensor([0]),), second[:1]),
            lambda: first.numpy(),
        ):
            with pytest.raises(MixedDevicesError):
                wrong()
        assert first.to("cpu").numpy().tolist() == put(second, torch.device("cpu")).tolist()
