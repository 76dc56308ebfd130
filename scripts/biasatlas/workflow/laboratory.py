"""Which studies a configuration asks the laboratory for."""

from typing import NamedTuple

from biasatlas.benchmarks.contract import ReadingStep
from biasatlas.laboratory.studies import Study, load_studies
from biasatlas.workflow.config import Config

#: Steps of a benchmark that an experiment does in process.
STEPS: tuple[ReadingStep, ...] = ("requests", "judge", "scores", "tables")
#: Modules behind them.
MODULES = ("requests", "judge", "roles", "scores", "tables", "columns")


class Experiment(NamedTuple):
    """One setting of a study, on the data of a benchmark by its name in the configuration."""

    benchmark: str
    study: str
    setting: str


def experiments(config: Config) -> list[Experiment]:
    """Every setting of every study, on each data set that is configured for the study's benchmark."""
    return [
        Experiment(name, study, setting)
        for study, declared in studies(config).items()
        for name in config.benchmarks
        if config.benchmark(name) == declared.benchmark
        for setting in declared.settings()
    ]


def studies(config: Config) -> dict[str, Study]:
    """Those that the section `laboratory` names, or all of the configured benchmarks; none without the section."""
    if config.laboratory is None:
        return {}
    known = load_studies()
    wanted = config.laboratory.studies or [
        name for name, study in known.items() if study.benchmark in map(config.benchmark, config.benchmarks)
    ]
    return {name: known[name] for name in wanted}
