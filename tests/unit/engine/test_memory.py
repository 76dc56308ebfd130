import resource

import torch

from biasatlas.engine.memory import default_budget, keep_freed

from . import architectures


def test_the_default_budget_counts_layers_of_different_sizes():
    model = architectures.build("gemma3n_text")
    assert isinstance(model.config.intermediate_size, list)
    assert default_budget(model) == 1024


def test_what_a_layer_frees_is_there_for_the_next_one():
    def faults() -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        layer = [torch.ones(14 * 2**18) for _ in range(4)]  # 3,584 pages each
        del layer
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    keep_freed()
    faults()
    assert faults() < 2 * 3584
