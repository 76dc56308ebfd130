"""A study of a finished run, as rule write_report hands it over: for tests and benches of the site."""

from pathlib import Path

from biasatlas.benchmarks.comparisons.declared import CAPTIONS, COMPARISONS, MATCHES
from biasatlas.benchmarks.shared.styles import styles
from biasatlas.files import read_csv
from biasatlas.report.run import Comparison, ModelRun, Run, Study, TaskRun
from biasatlas.report.site import PAGES, Site
from biasatlas.workflow import selection
from biasatlas.workflow.config import Config
from biasatlas.workflow.paths import Paths

CARDS = Path(__file__).parents[1] / "resources" / "simulation" / "cards.csv"


def study_of(config: Config, results: Path) -> Study:
    """The study of all that ``config`` asks for and ``results`` has."""
    paths = Paths(str(results), "")

    def answered(name: str, protocol: str, task: str, model: str) -> ModelRun | None:
        key = {"model": model, "benchmark": name, "protocol": protocol}
        scores = paths.task_scores.format(**key, task=task)
        judged = (paths.judge_requests.format(**key, task=task), paths.judgements.format(**key, task=task))
        return (
            ModelRun(
                model,
                scores,
                paths.responses.format(**key),
                judged if Path(judged[1]).exists() else None,
                path if Path(path := paths.tokens.format(**key)).exists() else "",
            )
            if Path(scores).exists()
            else None
        )

    def there(path: str, names: list[str], **keys: str) -> dict[str, str]:
        found = {name: path.format(**keys, table=name, figure=name) for name in names}
        return {name: file for name, file in found.items() if Path(file).exists()}

    runs = []
    for name, protocol in selection.runs(config):
        models = selection.models(config, name, protocol)
        asked = []
        for task in selection.tasks_asked(config, name):
            found = [answered(name, protocol, task, m) for m in models if task in selection.tasks(config, name, m)]
            requests = paths.requests.format(benchmark=name, protocol=protocol, task=task)
            asked += [TaskRun(task, requests, [a for a in found if a])] if any(found) else []
        keys = {"benchmark": name, "protocol": protocol}
        runs.append(
            Run(
                *(
                    name,
                    protocol,
                    config.benchmark(name),
                    config.benchmarks[name].data,
                    selection.left_out(config, name),
                ),
                tables=there(paths.table, selection.tables(config, name, protocol), **keys),
                figures=there(paths.figure, selection.figures(config, name, protocol), **keys),
                items=paths.items.format(benchmark=name),
                asked=asked,
            )
        )
    captions = {**COMPARISONS, **CAPTIONS, "dbb_bbq": MATCHES["table", "dbb_bbq"]}
    comparisons = [
        Comparison("table", protocol, name, captions[name], path)
        for protocol in dict.fromkeys(protocol for _, protocol in selection.runs(config))
        for name in captions
        if Path(path := paths.comparison.format(protocol=protocol, comparison=name)).exists()
    ]
    return Study(
        runs,
        {name: entry.model_dump() for name, entry in config.models.items()},
        comparisons,
        cards=read_csv(CARDS).to_dict("records"),
        contributions={
            part.protocol: path
            for part in comparisons
            if Path(path := paths.contributions.format(protocol=part.protocol)).exists()
        },
        version="0000000",
        date="2026-01-01",
    )


def write_site(config: Config, results: Path, folder: Path) -> Path:
    """Write the site of ``config`` into ``folder``; returns the path of its index."""
    study = study_of(config, results)
    Site(study, styles(list(study.models)), folder / PAGES).write(folder / "index.html")
    return folder / "index.html"
