"""Where every file of a run lies: a template for each kind of file, with the workflow's wildcards; and trees of files.

No code parses a path: what a file is about stands in the file, or the code that names the file knows it.

A tree is made of dicts, lists, tuples and plain values, with a :class:`File` wherever a file belongs. A rule has the
files of a tree (:func:`files`) as an input and the tree without them (:func:`places`) as a param; the script puts the
two together again (:func:`filled`), so that code finds a file by what it is and not by counting paths. A param holds no
path, so a run may be moved, and the paths of the input are the job's own, wherever the storage puts them.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from biasatlas import ROOT
from biasatlas.benchmarks.contract import OUTCOMES
from biasatlas.errors import UserError

#: A link to ``resources/`` below the working directory. It keeps the paths of a job's shipped inputs the same after a
#: run is moved or another commit of the workflow is checked out, so that only changed contents cause a rerun.
SHIPPED = Path(".snakemake") / "bias-atlas"


def link_shipped_files() -> None:
    """Make :data:`SHIPPED` a link to the ``resources/`` of this workflow, atomically, as other runs may do so too.

    Raises UserError if no file can be written in the working folder.
    """
    resources = (ROOT / "resources").resolve()
    if SHIPPED.resolve() == resources:
        return
    try:
        SHIPPED.parent.mkdir(exist_ok=True)
        link = Path(tempfile.mkdtemp(dir=SHIPPED.parent)) / "link"
    except OSError as error:
        said = f"{Path.cwd()}: no file can be written in {SHIPPED.parent} there ({error.strerror})"
        raise UserError(f"{said}. Run from another folder.") from None
    if SHIPPED.is_dir() and not SHIPPED.is_symlink():  # the run was copied, and the link followed
        shutil.rmtree(SHIPPED)
    link.symlink_to(resources, target_is_directory=True)
    link.replace(SHIPPED)
    link.parent.rmdir()


#: A planted model's checkpoint, file by file.
WEIGHT_FILES = (
    "model.safetensors",
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
)


class Paths:
    """Path templates below the folders ``results`` (everything computed) and ``data`` (downloads)."""

    def __init__(self, results: str, data: str):
        answered = "{model}/{benchmark}/{protocol}"
        #: What was fetched, and the SHA-256 of each of its files.
        self.source = f"{data}/{{source}}"
        self.checksums = f"{data}/{{source}}.sha256"
        self.items = f"{results}/items/{{benchmark}}.parquet"
        self.requests = f"{results}/requests/{{benchmark}}/{{protocol}}/{{task}}.parquet"

        #: A planted model's checkpoint, by file; the commit of a model from the hub; what the check of a model found.
        self.weights = f"{results}/models/{{model}}/{{language}}/{{file}}"
        self.fetched, self.checked = (f"{results}/models/{{model}}.{form}" for form in ("json", "checked"))
        #: What the run will ask and what that may cost, as a table and as text; a mark that it may cost so much.
        self.check = f"{results}/check.csv"
        self.check_text = f"{results}/check.txt"
        self.accepted = f"{results}/check.accepted"
        #: Folder in which each model's answers are kept as they arrive. Neither input nor output of a rule.
        self.stores = f"{results}/store"
        #: How many runs of a job left calls to an endpoint unanswered; SHA-256 of the files that a model is loaded
        #: from. Neither input nor output.
        self.unanswered, self.hashes = (
            f"{results}/store/{{model}}/{name}" for name in ("unanswered/{part}", "sha256.json")
        )

        self.responses, self.shard = (f"{results}/responses/{answered}{part}.parquet" for part in ("", "/{shard}"))
        #: What a job that answers used (memory, stored answers); in a file of its own, as it differs from run to run.
        self.run = f"{results}/responses/{answered}.run.json"
        self.shard_run = f"{results}/responses/{answered}/{{shard}}.run.json"
        #: Where the asking in rounds stopped, and what each round showed.
        self.stop = f"{results}/stops/{answered}.json"
        self.judge_requests, self.judgements = (
            f"{results}/judge/{what}/{answered}/{{task}}.parquet" for what in ("requests", "responses")
        )
        self.orders = f"{results}/judge/orders/{{benchmark}}/{{task}}.parquet"
        self.scores, self.scored_from = (
            f"{results}/scores/{answered}/{{task}}/{name}" for name in ("{category}.csv", "provenance.json")
        )
        #: All categories of a task in one file, with its provenance, for later steps. A file for each would make nine
        #: times as many, and Snakemake looks up every file in every plan, fastest in a folder of its own.
        self.task_scores = f"{results}/task_scores/{answered}/{{task}}.parquet"

        self.table = f"{results}/tables/{{benchmark}}/{{protocol}}/{{table}}.csv"
        self.table_from = f"{results}/tables/{{benchmark}}/{{protocol}}/{{table}}.json"
        #: The outcome of every answer; each reply that could not be parsed, and ten examples of every form.
        self.outcomes = f"{results}/tables/{{benchmark}}/{{protocol}}/{OUTCOMES}.csv"
        self.outcomes_from = f"{results}/tables/{{benchmark}}/{{protocol}}/{OUTCOMES}.json"
        self.unparsed, self.unparsed_examples = (
            f"{results}/replies/{{benchmark}}/{{protocol}}/{name}" for name in ("unparsed.csv", "examples.txt")
        )
        self.figure = f"{results}/figures/{{benchmark}}/{{protocol}}/{{figure}}.svg"
        self.comparison = f"{results}/tables/comparison/{{protocol}}/{{comparison}}.csv"
        self.comparison_from = f"{results}/tables/comparison/{{protocol}}/{{comparison}}.json"
        self.comparison_figure = f"{results}/figures/comparison/{{protocol}}/{{comparison}}.svg"
        self.summary = f"{results}/summary/{{model}}.{{form}}"
        self.multiverse = f"{results}/multiverse/{{model}}/{{benchmark}}/{{protocol}}.csv"
        #: Log-likelihoods token by token, of the items that count most; made by `export-token-logprobs` alone.
        self.tokens = f"{results}/tokens/{answered}.parquet"
        #: What each item adds to the values of the findings.
        self.contributions = f"{results}/contributions/{{protocol}}.parquet"
        #: The site; and as one packed file, where a folder cannot be the output of a job.
        self.report, self.report_pages, self.report_packed = (
            f"{results}/{name}" for name in ("report/index.html", "report/pages", "report.tar.gz")
        )

        self.released_table, self.released_table_from = (
            f"{results}/replication/{{benchmark}}/{{table}}.{form}" for form in ("csv", "json")
        )
        self.released_figure = f"{results}/replication/{{benchmark}}/{{figure}}.svg"
        self.replication, self.replication_text = (f"{results}/replication/report.{form}" for form in ("csv", "md"))
        #: One paper ("all"), or one of its tables or figures ("table-4").
        self.replicated_part = f"{results}/replication/{{benchmark}}.{{part}}.md"
        self.claims, self.claims_text = (f"{results}/replication/claims.{form}" for form in ("csv", "md"))

        self.construction = f"{results}/construction"
        self.constructed = f"{results}/construction/{{step}}.csv"

        self.experiment = f"{results}/simulation/{{benchmark}}/{{study}}/{{setting}}.csv"
        #: Smallest detectable effects: a file by benchmark and protocol in this folder; all in plan.csv and plan.txt.
        self.plan = f"{results}/plan"
        self.planned_effects = f"{results}/plan/{{benchmark}}/{{protocol}}.csv"
        self.simulation_settings = f"{results}/simulation/settings.csv"
        self.simulation_text = f"{results}/simulation/validity.md"
        self.simulation_cards = f"{results}/simulation/cards.csv"

        self._log = f"{results}/logs/{{rule}}/{{name}}.log"
        self._run_time = f"{results}/benchmarks/{{rule}}/{{name}}.tsv"

    def second_parse(self, file: str) -> str:
        """The "requests" to a model that parses replies again (`parse_with`), or its "responses"."""
        return self.unparsed.replace("unparsed.csv", f"second_parse/{file}.parquet")

    @property
    def taught(self) -> str:
        """A planted model's checkpoint that learnt a benchmark's own questions, by file."""
        return self.weights.replace("{language}", "questions-of-{benchmark}")

    def compared(self, name: str) -> str:
        """The path of the comparison's table of this name."""
        return self.comparison.replace("{comparison}", name)

    def compared_from(self, name: str) -> str:
        """The path of that table's provenance."""
        return self.comparison_from.replace("{comparison}", name)

    def compared_figure(self, name: str) -> str:
        """The path of the comparison's figure of this name."""
        return self.comparison_figure.replace("{comparison}", name)

    def log(self, rule: str, *wildcards: str) -> str:
        """The log of a rule's jobs; one name serves rule, script and log."""
        return self._log.format(rule=rule, name=_named(rule, wildcards))

    def run_time(self, rule: str, *wildcards: str) -> str:
        """Run time and memory of a rule's jobs, as Snakemake measures them."""
        return self._run_time.format(rule=rule, name=_named(rule, wildcards))


def _named(rule: str, wildcards: tuple[str, ...]) -> str:
    return "-".join(f"{{{name}}}" for name in wildcards) or rule


#: The only key of a place; its value is the number of a file in its tree.
_PLACE = "<file>"


@dataclass(frozen=True)
class File:
    """A leaf of a tree: a path, with Snakemake's flags if it has any."""

    path: str


def files(tree: Any) -> list[str]:
    """The paths in a tree, each once, in the order in which they first come."""
    return list(dict.fromkeys(leaf.path for leaf in _leaves(tree)))


def places(tree: Any) -> Any:
    """The tree with a place instead of each file: its index in :func:`files`."""
    numbers = {path: number for number, path in enumerate(files(tree))}
    return _mapped(tree, lambda leaf: {_PLACE: numbers[leaf.path]} if isinstance(leaf, File) else leaf)


def filled(tree: Any, paths: Sequence[str]) -> Any:
    """A tree of :func:`places` with paths in their stead. Raises IndexError if there are too few ``paths``."""
    return _mapped(tree, lambda leaf: paths[leaf[_PLACE]] if isinstance(leaf, dict) else leaf)


def _leaves(tree: Any) -> Iterator[File]:
    if isinstance(tree, File):
        yield tree
    elif isinstance(tree, dict | list | tuple):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from _leaves(part)


def _mapped(tree: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(tree, dict) and tree.keys() != {_PLACE}:
        return {name: _mapped(part, change) for name, part in tree.items()}
    if isinstance(tree, list):
        return [_mapped(part, change) for part in tree]
    if isinstance(tree, tuple):  # a named one becomes a plain one: params are plain data
        return tuple(_mapped(part, change) for part in tree)
    return change(tree)
