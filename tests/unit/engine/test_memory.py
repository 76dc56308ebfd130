import resource
from types import SimpleNamespace

import torch
from needs import needs

from biasatlas.engine.memory import attention_shape, default_budget, inner_size, keep_freed

from . import architectures


def test_the_default_budget_counts_layers_of_different_sizes():
    model = architectures.build("gemma3n_text")
    assert isinstance(model.config.intermediate_size, list)
    assert default_budget(model) == 1024


def test_heads_may_differ_by_layer():
    config = SimpleNamespace(num_attention_heads=[8, 16], hidden_size=512, intermediate_size=[64, 128])
    assert attention_shape(config) == (16, 32) and inner_size(config) == 128


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
