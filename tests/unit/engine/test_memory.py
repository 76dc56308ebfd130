import resource

import torch
from needs import needs
from transformers import CONFIG_MAPPING

from biasatlas.engine.memory import default_budget, keep_freed, layer_shapes

from . import architectures


def test_the_default_budget_counts_layers_of_different_sizes():
    model = architectures.build("gemma3n_text")
    assert isinstance(model.config.intermediate_size, list)
    assert default_budget(model) == 1024


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
