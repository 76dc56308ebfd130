"""Which studies a configuration asks the simulation for."""

from typing import Any, NamedTuple

from biasatlas.benchmarks.contract import ReadingStep
from biasatlas.simulation.studies import Study, load_studies
from biasatlas.stages import fields_affecting
from biasatlas.workflow.config import Config
from biasatlas.workflow.filetree import File
from biasatlas.workflow.paths import Paths

#: Steps of a benchmark that an experiment does in process.
STEPS: tuple[ReadingStep, ...] = ("requests", "judge", "scores", "tables")


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
    """Those that the section `simulation` names, or all of the configured benchmarks; none without the section."""
    if config.simulation is None:
        return {}
    known = load_studies()
    wanted = config.simulation.studies or [
        name for name, study in known.items() if study.benchmark in map(config.benchmark, config.benchmarks)
    ]
    return {name: known[name] for name in wanted}


def study_values(config: Config, name: str, setting: str) -> dict[str, Any]:
    """The values of a study that decide the experiments of one of its settings."""
    study = studies(config)[name]
    options = fields_affecting(config.options(study.benchmark, study.protocol), "tables")
    values = study.model_dump(include={"tasks", "categories", "headlines", "every", "one_prompt", "most"})
    nuisance = study.nuisance(setting)
    values |= {"base": study.base, "dose": study.dose(setting), "own": study.nuisances.get(setting, {})}
    return values | {"nuisance": nuisance.source() if nuisance else "", "options": options}


def experiment_files(config: Config, paths: Paths) -> list[dict[str, Any]]:
    """Tree: the runs of every experiment, with the data, study and setting that they are of."""
    return [
        {
            "data": config.benchmarks[each.benchmark].data,
            "study": each.study,
            "setting": each.setting,
            "runs": File(paths.experiment.format(**each._asdict())),
        }
        for each in experiments(config)
    ]
