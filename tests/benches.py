"""Harnesses on the samples of all benchmarks, and simulated models whose answers are known."""

from functools import cache

import standins

from biasatlas.benchmarks import registry
from biasatlas.models.simulated.entry import SimulatedEntry
from biasatlas.resources import Resources, names
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.measure import RESPONDERS
from biasatlas.workflow.selection import EXPERIMENT_STEPS


@cache
def sample_items(benchmark):
    folder = f"samples/{registry.load_spec(benchmark).sample}"
    files = {name.removeprefix(f"{folder}/"): Resources.shipped(name).path(name) for name in names([f"{folder}/**/*"])}
    needed = registry.resource_names(benchmark, "items")
    resources = Resources.shipped(*needed) if needed else Resources({})
    return registry.read_items(benchmark)(files, resources)


@cache
def bench(benchmark, tasks=None, wanted=(), protocol="recommended"):
    """A bench on the sample, of all tasks unless some are named."""
    shipped = {name for step in EXPERIMENT_STEPS for name in registry.resource_names(benchmark, step)}
    asked = tasks or registry.load_spec(benchmark).tasks
    return Harness.of(
        benchmark, protocol, standins.resources(benchmark, *shipped), sample_items(benchmark), asked, wanted
    )


def simulated(**settings):
    return SimulatedEntry(kind="simulated", **settings)


__all__ = ["RESPONDERS", "bench", "sample_items", "simulated"]
