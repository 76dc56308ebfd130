import resource
from types import SimpleNamespace

import torch
from needs import needs
from transformers import CONFIG_MAPPING

from biasatlas.engine.memory import default_budget, keep_freed, layer_shapes

from . import architectures


def test_the_default_budget_counts_layers_of_different_sizes():
    model = architectures.build("gemma3n_text")
    assert isinstance(model.config.intermediate_size, list)
    assert default_budget(model) == 1024


def test_a_gpu_has_room_for_the_keys_and_values_that_each_head_of_a_group_gets(monkeypatch):
    sizes = {"hidden_size": 3584, "num_hidden_layers": 28, "num_attention_heads": 28, "intermediate_size": 18944}
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda device: (15_360_000_000, 0))  # of which 80% count
    weight = SimpleNamespace(device=torch.device("cuda", 0))

    def budget(**more):
        config = CONFIG_MAPPING["qwen2"](vocab_size=152064, **sizes, **more)
        embeddings = SimpleNamespace(weight=weight)
        return default_budget(
            SimpleNamespace(config=config, dtype=torch.bfloat16, get_input_embeddings=lambda: embeddings)
        )

    # A token takes 16 × 2 × 28 layers × 4 heads × 128 numbers that are kept, 78,336 of hidden states and 304,128 bytes
    # of logits: 1.38 MB, 8,915 times in what counts. With 16 × 2 × 28 heads × 128 copied ones 1.61 MB, 7,643 times.
    assert budget(num_key_value_heads=4) == 4096
    # Nothing is copied: 16 × 2 × 28 × 28 × 128 numbers are kept, 6.88 MB with the rest.
    assert budget(num_key_value_heads=28) == 1024


def test_heads_may_differ_by_layer():
    listed = architectures.config("gemma3n_text", intermediate_size=[8, 8, 16, 16])
    assert [one.inner for one in layer_shapes(listed)] == [8, 8, 16, 16]
    for name in ("gemma4_text", "dots3_note_text"):  # a configuration for each layer
        default = CONFIG_MAPPING[name]()
        assert len(layer_shapes(default)) == default.num_hidden_layers and len(set(layer_shapes(default))) == 2, name
    gemma = [(one.heads, one.kept_heads, one.head_size) for one in layer_shapes(CONFIG_MAPPING["gemma4_text"]())]
    assert gemma[4:6] == [(8, 4, 256), (8, 4, 512)]


@needs("glibc")  # no other gives back what is freed at the end of its heap
def test_what_a_layer_frees_is_there_for_the_next_one():
    def faults() -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        layer = [torch.ones(14 * 2**18) for _ in range(8)]  # 3,584 pages each
        del layer
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    keep_freed()
    for _ in range(6):  # until every block has found its place
        faults()
    assert faults() < 3584  # one block
