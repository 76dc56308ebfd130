"""The verbs of ``bias-atlas``. Each takes what was typed, prints, and returns an exit status, or None for 0.

A verb imports what it needs itself, so that ``--help`` is fast.
"""

import csv
import os
import shlex
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from biasatlas import ROOT
from biasatlas.errors import UserError

if TYPE_CHECKING:
    from biasatlas.workflow.config import Config


def init(
    configfile: str,
    model: str,
    endpoint: str,
    served: str,
    budget: float | None,
    prices: list[float] | None,
    sample: bool,
) -> None:
    """Write a configuration that measures one model.

        bias-atlas init --model ./my-model
        bias-atlas init --endpoint https://host/v1 --served gpt-mini --budget 5 --prices 0.15 0.6

    It asks BBQ, CrowS-Pairs and StereoSet. A file that is there is never overwritten.
    """
    from biasatlas.files import write_text
    from biasatlas.workflow.start import configuration

    if Path(configfile).exists():
        raise UserError(f"{configfile}: there already. Name another file, or remove it.")
    if Path(configfile).suffix == ".json":  # which would be read as JSON
        raise UserError(f"{configfile}: a configuration is written as YAML. Name a file that ends in .yaml.")
    write_text(configuration(model, endpoint, served, budget, prices, sample), Path(configfile))
    name = shlex.quote(configfile)
    print(f"{configfile}: written. Next, by the same command: check {name}, run {name}, open {name}")


def run(configfile: str, options: list[str]) -> int:
    """Run a configuration. Models are asked only requests that are new.

    It is `snakemake --configfile my.yaml`. If an edit may change requests, it runs in two stages: first the requests,
    then the rest, so that a model is asked only where a request differs. Other options go on to Snakemake, files and
    rules after `--`:

        bias-atlas run my.yaml --cores 4
        bias-atlas run my.yaml --workflow-profile profiles/slurm -- simulation
    """
    from biasatlas.workflow import run

    # Snakemake would find these faults a minute later. A model that was asked may be gone: its answers are kept.
    if not any(option.startswith(("--config", "--directory", "-d")) for option in options):
        _look_first(configfile, known=False)
    mark = options.index("--") if "--" in options else len(options)
    return run.run(_snakemake(configfile, options[:mark], cores="all"), options[mark + 1 :])


def check(configfile: str, options: list[str]) -> int:
    """Say what a run will ask of which model, and what that may cost at most.

    It fetches data and the models' settings, and asks each endpoint a few short questions. Other options go on to
    Snakemake:

        bias-atlas check my.yaml --cores 4
    """
    config = _look_first(configfile)
    status, without = _run_and_print(configfile, options, ["check"], ["check.txt"]), ""
    # Tables and endpoints take seconds to import, so faults above are reported first.
    from biasatlas.files import read_csv
    from biasatlas.models.endpoint.spending import spent
    from biasatlas.workflow import failures
    from biasatlas.workflow.check import accept, budgets
    from biasatlas.workflow.paths import Paths
    from biasatlas.workflow.selection import in_rounds

    paths = Paths(config.results, config.data)
    if status > 128:  # interrupted
        return status
    if status:
        # What the other models may cost is worth knowing all the same.
        without = ", ".join(failures.unchecked(config, paths, os.path.exists))
        os.environ[failures.LEVEL] = failures.CHECK
        if not without or _run_and_print(configfile, options, ["check"], ["check.txt"]):
            return status
    if not Path(paths.check).exists():  # of a dry run
        return status
    rounds = in_rounds(config)
    table = read_csv(paths.check)
    said, kept = budgets(table, config.models, lambda model: spent(Path(paths.stores, model)), rounds)
    print(said + (f"\nwithout {without}: see the error above" if without else ""))
    if config.max_cost is not None:
        accept(table, config.max_cost)
    return status if kept else 1


def _look_first(configfile: str, known: bool = True) -> "Config":
    """The configuration, if it can be carried out here. Raises UserError with all faults, among them each model whose
    folder or key is missing; unless ``known``, models that were checked before are left out."""
    from biasatlas.validation import check_files, read_yaml
    from biasatlas.workflow.config import load_config
    from biasatlas.workflow.preflight import check_preflight, missing_models

    check_files([configfile])
    config = load_config(read_yaml(configfile), [configfile])
    check_preflight(config, configfile)
    if faults := list(missing_models(config, known)):
        raise UserError("\n".join(f"{configfile}: {fault}" for fault in faults))
    return config


def plan(configfile: str, options: list[str]) -> int:
    """Say which biases a run could find, then what `check` says.

    Simulated models without bias answer its questions to find that out. Other options go on to Snakemake:

        bias-atlas plan my.yaml --cores 4
    """
    return _run_and_print(configfile, options, ["plan", "check"], ["plan.txt", "check.txt"])


def _run_and_print(configfile: str, options: list[str], targets: list[str], files: list[str]) -> int:
    """Run the workflow to ``targets``, print ``files`` of the results unless it failed, and return the exit status."""
    from biasatlas.workflow.run import call

    command = _snakemake(configfile, options, cores="1")
    results = _results(configfile)
    status = call([*command, "--", *targets])
    for path in (Path(results, name) for name in files):
        if status == 0 and path.exists():  # a dry run makes none
            print(path.read_text(encoding="utf-8"), end="")
    return status


def _results(configfile: str) -> str:
    """The results folder of a configuration. Raises UserError for a file that cannot be read, or names none."""
    from biasatlas.validation import check_files, read_yaml
    from biasatlas.workflow.config import Config, load_config

    check_files([configfile])
    content = read_yaml(configfile)
    results = content.get("results", Config.model_fields["results"].default)
    # Of a run that is finished, nothing else needs to be right still.
    return results if isinstance(results, str) else load_config(content, [configfile]).results


def _snakemake(configfile: str, options: list[str], cores: str) -> list[str]:
    """Snakemake's command for a configuration, with ``cores`` unless the options set them or name a profile."""
    from biasatlas.validation import check_files

    # Snakemake answers a file that is missing, or not UTF-8, with a traceback.
    check_files([configfile])
    said = any(option.startswith(("--cores", "-c", "--profile", "--workflow-profile")) for option in options)
    # -P: a file of the user's may be called random.py.
    command = [sys.executable, "-P", "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")]
    return [*command, "--configfile", configfile, *([] if said else ["--cores", cores]), *options]


def open_report(configfile: str) -> None:
    """Open the report of a finished run in the browser, and print its path."""
    import webbrowser

    page = Path(_results(configfile)) / "report" / "index.html"
    if not page.exists():
        raise UserError(f"{page}: not there yet. It is the last step of: run {configfile}")
    print(page)
    webbrowser.open(page.resolve().as_uri())


def replicate(paper: str | None, table: str, figure: str, options: list[str]) -> int:
    """Check the papers' printed tables against what their authors released. No model is asked.

        bias-atlas replicate
        bias-atlas replicate twbias --table 4

    It fetches what the authors published, or takes it from the folder that BIASATLAS_MIRROR names. Other options go on
    to Snakemake.
    """
    from biasatlas.workflow.run import call

    if not paper and (table or figure):
        raise UserError("--table, --figure: of which paper? As in: replicate twbias --table 4.")
    configfile = str(ROOT / "config" / "papers.yaml")
    part = f"table-{table}" if table else f"figure-{figure}" if figure else "all"
    if paper:
        from biasatlas.report.replication import check_part, part_name, read_papers
        from biasatlas.resources import Resources

        check_part(read_papers(Resources.shipped("published/replication.yaml"), {paper}), part_name(part))
    text = Path(_results(configfile), "replication", f"{paper}.{part}.md" if paper else "report.md")
    status = call([*_snakemake(configfile, options, cores="all"), "--", str(text) if paper else "replicate"])
    if status == 0 and text.exists():  # a dry run makes none
        print(text.read_text(encoding="utf-8").partition("\n## Why")[0].rstrip())
    return status


def compare(before: str, after: str) -> int:
    """Print which inputs of two runs differ, and which numbers moved.

        bias-atlas compare results/before results/after

    Like diff, it exits with 1 if a number moved.
    """
    from biasatlas.workflow.finished import compare as differences

    inputs, numbers = differences(Path(before), Path(after))
    for title, frame in (("inputs differ", inputs.fillna("-")), ("numbers moved", numbers)):
        print(f"{len(frame)} {title}")
        if len(frame):
            print(frame.to_string(index=False, na_rep="-", max_colwidth=60, float_format="{:.7g}".format), end="\n\n")
    return int(len(numbers) > 0)


def reparse(results: str, parser: str, examples: int) -> None:
    """Parse the replies of a finished run with another parser, and print what changes. No model is asked.

        bias-atlas reparse results/my_run letter

    All changes go to replies/changes.csv below the results folder. The tables named outcomes have the results of the
    original parsers, and the folder replies has what they could not parse.
    """
    from biasatlas.workflow.finished import reparse_replies

    print(reparse_replies(Path(results), parser, examples))


def parse_report(results: str, examples: int) -> None:
    """Print the replies of a finished run that give no answer, by form, and save them to label.

        bias-atlas parse-report results/my_run

    All of them go to replies/unparsed.jsonl below the results folder, with an empty truth: label them, and they are
    rows of tests/replies.
    """
    from biasatlas.workflow.finished import unparsed

    print(unparsed(Path(results), examples))


def export_token_logprobs(configfile: str, items: int) -> None:
    """Compute likelihoods token by token for the explorer of a run's report.

        bias-atlas export-token-logprobs config.yaml
        snakemake --cores 2 --configfile config.yaml

    The models of kind hf and planted of a finished run are asked again for the items that count most. Files go to
    tokens/ below the results. The second command writes the report with them.
    """
    from biasatlas.validation import check_files, read_yaml
    from biasatlas.workflow.config import load_config
    from biasatlas.workflow.finished import export_token_logprobs

    check_files([configfile])
    written = list(export_token_logprobs(load_config(read_yaml(configfile), [configfile]), items))
    if not written:
        raise UserError(
            f"{configfile}: no model of kind hf or planted has scores of likelihoods yet. Finish the run first, or add "
            "such a model and a task of likelihoods."
        )
    print("\n".join(written))


def export_results(configfile: str, formats: list[str]) -> None:
    """Write a finished run in formats that others read.

        bias-atlas export-results config.yaml eee hf rocrate croissant

    To export/ below the results: `eee`, Every Eval Ever, each number with its interval, n, protocol and distance from
    neutral; `hf`, `model-index`, the results of a model card on the Hugging Face hub, a file for each model. Into the
    results, which they describe file by file: `rocrate`, a Workflow Run RO-Crate (tables, data, models, versions), and
    `croissant`, the tables and constructed questions as a data set.
    """
    from biasatlas.validation import check_files, read_yaml
    from biasatlas.workflow.config import load_config
    from biasatlas.workflow.exchange import export_results

    check_files([configfile])
    print("\n".join(export_results(load_config(read_yaml(configfile), [configfile]), formats)))


def check_store(folder: str, repair: bool) -> int:
    """Find damaged lines in a response store; --repair takes them out.

        bias-atlas check-store results/store/MODEL
        bias-atlas check-store --repair results/store/MODEL

    The next run asks for those answers again. It exits with 1 if damage was found and not repaired.
    """
    from biasatlas.models import store
    from biasatlas.models.claims import alone

    parts = sorted({path.parent for path in Path(folder).rglob("*.jsonl") if path.parent.name != "damaged"})
    if not parts:
        raise UserError(
            f"{folder}: no store there: no file ends in .jsonl. Name the folder results/store/MODEL of a run."
        )
    found = 0
    for part in parts:
        with alone(part):
            damaged = store.repair(part) if repair else store.inspect(part)
        found += len(damaged)
        for path, line, content in damaged:
            print(f"{path}, line {line}: damaged ({len(content)} bytes)")
        done = f"; taken out, and kept in {part / 'damaged'}" if repair and damaged else ""
        print(f"{part}: {len(damaged)} damaged lines{done}")
    return int(found > 0 and not repair)


def new_benchmark(name: str, family: str) -> None:
    """Start a benchmark without code: a description, and a few rows of data.

        bias-atlas new-benchmark mine questions

    The description works as it is; edit it, then test-benchmark. Both files go to the working folder, or, in the
    workflow's own, to config/benchmarks and resources/samples. Nothing that is there is touched.
    """
    from biasatlas.benchmarks.scaffold import start

    description, data = start(name, family)
    own = len(description.parts) == 1
    tested, section = name, f"{name}: {{data: sample}}"
    if own:
        tested = f"./{description} ./{data.parent}"
        section = f"{name}: {{benchmark: ./{description}, data: ./{data.parent}}}"
    print(f"{description}\n{data}\nEdit them, then, by the same command: test-benchmark {tested}")
    print(f"In a configuration, below `benchmarks`: {section}")


def test_benchmark(name: str, data: str) -> int:
    """Test a benchmark without code against theory: models whose scores are known answer it.

        bias-atlas test-benchmark mine ./folder

    It prints how it understood the data, and exits with 1 if a score differs from theory.
    """
    from biasatlas.simulation.measure import test_description

    text, right = test_description(name, data)
    print(text)
    return int(not right)


def validate_benchmark(name: str, data: str, seeds: int) -> None:
    """Measure what a described benchmark finds, and what it mistakes for bias, so that reports may give verdicts.

        bias-atlas validate-benchmark ./mine.yaml ./folder

    Simulated models answer its own items: with a bias, and without one under every nuisance that applies. The validity
    cards go beside the description, as mine.cards.csv, and count until the description or the data change.
    """
    from biasatlas.simulation.measure import validate_description

    if seeds < 30:  # fewer cannot rule out that one fair model in ten is called biased
        raise UserError(f"--seeds: {seeds} models are too few to tell by. Give 30 or more.")
    for line in validate_description(name, data, seeds):
        print(line, flush=True)


def benchmark_page(name: str) -> None:
    """Write docs/NAME.md from the description of a benchmark without code."""
    from biasatlas.benchmarks.scaffold import check_described, write_page

    check_described(name)
    print(write_page(name))


def list_source(name: str, origin: str, pattern: str, only_print: bool, **source: str) -> None:
    """Pin the files of a data source: rows for sources.csv and files.csv.

        bias-atlas list-source mine ./copy "data/*.csv" --version COMMIT \\
            --url "https://raw.githubusercontent.com/owner/name/COMMIT/{path}"

    A folder or a tar archive holds copies of the files under their upstream paths, which are pinned by SHA-256. A
    listing is what https://api.github.com/repos/OWNER/NAME/git/trees/COMMIT?recursive=1 answers, saved as JSON; its
    files are pinned by git blob id.
    """
    from biasatlas.sources import add_source, listed_files

    files = [file for file in listed_files(Path(origin)) if fnmatch(file.path, pattern)]
    if not files:
        raise UserError(f"{origin}: no file matches {pattern!r}. Compare the paths in it.")
    rows = [[name, file.path, file.sha256, file.bytes, file.git_blob] for file in files]
    source = {key: source[key] for key in ("title", "version", "url", "licence", "citation", "mirror")}
    if only_print:
        csv.writer(sys.stdout, lineterminator="\n").writerows([[name, *source.values()], *rows])
        return
    add_source({"source": name} | source, rows)
    print(f"{name}: {len(files)} files, in resources/sources/sources.csv and files.csv")


def write_reference() -> None:
    """Write the references in docs/ and config/schema.json from the typed configuration and the benchmarks' options."""
    from biasatlas.files import write_text
    from biasatlas.workflow.config import reference

    write_text(reference.schema_text(), reference.SCHEMA)
    write_text(reference.reference_text(), reference.REFERENCE)
    write_text(reference.protocols_text(), reference.PROTOCOLS)
    write_text(reference.descriptions_text(), reference.DESCRIPTIONS)
