"""What a configuration compares: benchmarks under one protocol, and models on the same items."""

from collections.abc import Iterator

from biasatlas.benchmarks.comparison_spec import COMPARED, COMPARISONS, POPULATIONS
from biasatlas.benchmarks.registry import has_evidence
from biasatlas.workflow.config import Config
from biasatlas.workflow.selection import models, runs, tables, tasks


def compared_tables(config: Config, protocol: str, comparison: str) -> list[tuple[str, str]]:
    """(benchmark, table) that stand side by side in a ``comparison`` under a protocol."""
    configured = runs(config)
    return [
        (benchmark, table)
        for benchmark, table in COMPARED[comparison]
        if (benchmark, protocol) in configured and table in tables(config, benchmark, protocol)
    ]


def with_evidence(config: Config, protocol: str) -> list[str]:
    """Names of the benchmarks that are run under a protocol and whose scores are evidence."""
    return [name for name, each in runs(config) if each == protocol and has_evidence(config.benchmark(name))]


def measured_as_published(config: Config, protocol: str) -> list[str]:
    """The benchmarks whose printed numbers in DBB's Tables 1 and 5 are of the same data and questions."""
    if protocol != "paper":
        return []
    names = dict.fromkeys(benchmark for benchmark, _ in compared_tables(config, protocol, "scores"))
    every = {name: {c for task in config.spec(name).tasks.values() for c in task.categories} for name in names}
    return [
        name
        for name in names
        if config.benchmarks[name].is_published
        and set(config.benchmarks[name].categories or every[name]) == set(POPULATIONS.get(name, every[name]))
    ]


def matched_models(config: Config, protocol: str) -> list[str]:
    """Models that both DBB's choices and BBQ are run with under a protocol."""
    if not {("dbb", protocol), ("bbq", protocol)} <= set(runs(config)):
        return []
    asked = models(config, "bbq", protocol)
    return [m for m in models(config, "dbb", protocol) if m in asked and "MCQ" in tasks(config, "dbb", m)]


def comparisons(config: Config) -> Iterator[tuple[str, str]]:
    """(protocol, comparison) of every table across benchmarks: each needs two of them."""
    for protocol in dict.fromkeys(protocol for _, protocol in runs(config)):
        for comparison in COMPARISONS:
            if len({benchmark for benchmark, _ in compared_tables(config, protocol, comparison)}) > 1:
                yield protocol, comparison


def matches(config: Config) -> list[str]:
    """Protocols under which DBB's concepts stand beside BBQ's questions."""
    return [p for p in dict.fromkeys(protocol for _, protocol in runs(config)) if matched_models(config, p)]
