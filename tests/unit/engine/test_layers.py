import pytest
import torch

from biasatlas.engine.layers import compile_layers

from . import architectures, parity

fresh = architectures.build.__wrapped__  # the others are shared


def test_layers_of_symbolic_sizes_say_what_they_said():
    model = fresh("qwen2")
    # All but the kernels, for which bench/parity.py needs a compiler.
    found = parity.compare(model, compiled="aot_eager")
    compiled = [part for part in model.modules() if part._compiled_call_impl is not None]
    assert len(compiled) == 3 * model.config.num_hidden_layers  # two norms and the perceptron
    assert found.route.name == "tree" and found.likelihood < 1e-4 and found.choice < 1e-4 and found.texts == found.of


def broken(graph: torch.fx.GraphModule, inputs: list) -> None:
    raise RuntimeError("no compiler")


def wrong(graph: torch.fx.GraphModule, inputs: list):
    return lambda *given: [found * 1.01 for found in graph(*given)]


@pytest.mark.parametrize(("backend", "reason"), [(broken, "no compiler"), (wrong, "nats a token off")])
def test_layers_that_cannot_be_compiled_are_left_as_they_were(backend, reason, caplog):
    model = fresh("llama")
    with caplog.at_level("WARNING", "biasatlas"):
        found = compile_layers(model, "llama", backend)
    assert found.startswith("its layers are not compiled (") and reason in found
    assert all(part._compiled_call_impl is None for part in model.modules())
    assert f"llama: {found}" in caplog.messages
