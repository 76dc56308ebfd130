"""Which studies a configuration asks the laboratory for."""

from biasatlas.benchmarks.contract import Step
from biasatlas.laboratory.studies import Study, load_studies
from biasatlas.workflow.config import Config

#: Steps of a benchmark that an experiment does in process.
STEPS: tuple[Step, ...] = ("requests", "judge", "scores", "tables")
#: Modules behind them.
MODULES = ("requests", "judge", "roles", "scores", "tables", "columns")


def studies(config: Config) -> dict[str, Study]:
    """Those that the section `laboratory` names, or all of the configured benchmarks; none without the section."""
    if config.laboratory is None:
        return {}
    known = load_studies()
    wanted = config.laboratory.studies or [
        name for name, study in known.items() if study.benchmark in config.benchmarks
    ]
    return {name: known[name] for name in wanted}
