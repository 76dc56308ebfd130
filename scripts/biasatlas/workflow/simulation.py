"""Which studies a configuration asks the simulation for."""

from typing import Any

from biasatlas.benchmarks.contract import ReadingStep
from biasatlas.simulation.studies import Study, load_studies
from biasatlas.workflow.config import Config
from biasatlas.workflow.filetree import File
from biasatlas.workflow.paths import Paths

#: Steps of a benchmark that an experiment does in process.
STEPS: tuple[ReadingStep, ...] = ("requests", "judge", "scores", "tables")


def studies(config: Config) -> dict[str, Study]:
    """Those that the section `simulation` names, or all of the configured benchmarks; none without the section."""
    if config.simulation is None:
        return {}
    known = load_studies()
    wanted = config.simulation.studies or [
        name for name, study in known.items() if study.benchmark in map(config.benchmark, config.benchmarks)
    ]
    return {name: known[name] for name in wanted}


def experiment_files(config: Config, paths: Paths) -> list[dict[str, Any]]:
    """Tree: the runs of every setting of every study, on each data set that is configured for the study's benchmark."""
    return [
        {
            "data": run.data,
            "study": study,
            "setting": setting,
            "runs": File(paths.experiment.format(benchmark=name, study=study, setting=setting)),
        }
        for study, declared in studies(config).items()
        for name, run in config.benchmarks.items()
        if run.benchmark == declared.benchmark
        for setting in declared.settings()
    ]
