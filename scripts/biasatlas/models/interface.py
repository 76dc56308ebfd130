"""The interface of all models: what one is loaded with, what it does, how its kind is declared."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from biasatlas.models.entry import Entry

if TYPE_CHECKING:
    import pandas as pd

    from biasatlas.benchmarks.contract import Spec
    from biasatlas.benchmarks.shared.parsing.named import Parser
    from biasatlas.models.store import ResponseStore


@dataclass(frozen=True)
class ModelContext:
    """What a model is loaded with.

    ``entry`` is that of model ``name`` in the configuration. ``ready`` are the files or folders that its kind declares
    must be ready: weights, the commit that was fetched, a release. ``gpus`` is how many GPUs this process already sees.
    ``parsers`` are those that choice requests may name; ``parser_version`` changes when one of them does. Published
    outputs and formulas answer the items in the file ``items`` of ``benchmark``. A server's output goes to the file
    ``log``. The file ``hashes`` keeps hashes of the model's files for other jobs.
    """

    name: str
    entry: Entry
    ready: tuple[Path, ...] = ()
    gpus: int = 0
    parsers: "Mapping[str, Parser]" = field(default_factory=dict)
    parser_version: str = ""
    benchmark: str = ""
    items: Path | None = None
    log: Path = Path("server.log")
    hashes: Path | None = None


class Model(Protocol):
    """A model of any kind, ready to answer."""

    def answer(
        self, requests: "pd.DataFrame", task: str, store: "ResponseStore | None" = None, share: tuple[int, int] = (0, 1)
    ) -> "tuple[pd.DataFrame, dict]":
        """The responses (RESPONSE_COLUMNS) to ``requests`` of one kind, in their order and then by repeat.

        Each answer is put into ``store`` as soon as it exists; stored ones are not asked for again. With a ``share``
        (which, of how many), only its own requests are answered, with the same digits as without; only models whose
        entry has ``shards`` get one. The dictionary says how the answers were made. What may differ between two equal
        runs is under ``run``.

        Raises UserError, with what to do, if the model cannot answer such requests or cannot be used.
        """
        ...


@dataclass(frozen=True)
class Preview:
    """What is known of a model's answer to a request before it is asked.

    ``reason`` says why it cannot answer, '' if it can; ``remark`` what else is worth knowing. ``tokens`` counts those
    of the request and its longest answer, ``context_tokens`` those that the model takes; None if unknown.
    """

    reason: str = ""
    tokens: int | None = None
    context_tokens: int | None = None
    remark: str = ""


@dataclass(frozen=True)
class Kind:
    """A kind of model: what the workflow needs for planning, declared beside its entry, and the functions to run it.

    ``tasks(entry, benchmark, spec)`` are the tasks of a benchmark that a model can answer; ``protocol(entry)`` is the
    only protocol that its answers belong to (None: any); ``lacks(entry, setting)`` says whether it lacks a setting that
    a protocol needs. A model that ``writes`` can judge, or write a dataset. ``version`` is raised when the same
    question may get another answer. ``ready(entry)`` is what must exist first: "weights" (trained here), "fetched"
    (from the hub), "release" (published outputs), "files" (those of the entry), or "" (nothing). ``environment(entry)``
    names the file in envs/ for a job's environment. A ``shared_store`` holds all answers of a model; else each task has
    a store of its own, because answers found there change how the rest is batched, and so the last digits of a float.

    Functions that need torch, transformers or clients are given as "package.module:function";
    :mod:`biasatlas.models.kinds` imports them when it calls them. ``open(context)`` gives the :class:`Model`.
    ``check(context)`` runs for seconds, before any other job of the model, and raises UserError if the model cannot
    work; it returns what it found, for the model to be loaded with, or None ('': nothing to check).
    ``preview(context, requests)`` gives a :class:`Preview` for each of the requests ('': none is needed).
    """

    entry: type[Entry]
    open: str
    tasks: "Callable[[Any, str, Spec], tuple[str, ...]]"
    ready: Callable[[Any], Literal["weights", "fetched", "release", "files", ""]]
    environment: Callable[[Any], str]
    writes: bool
    version: int
    check: str = ""
    preview: str = ""
    protocol: Callable[[Any], str | None] = lambda entry: None
    lacks: Callable[[Any, str], bool] = lambda entry, setting: False
    shared_store: bool = False
    threads: int = 1
    calls_api: bool = False

    @property
    def name(self) -> str:
        """Its name in the configuration."""
        return get_args(self.entry.model_fields["kind"].annotation)[0]
