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
    must be ready: weights, the commit that was fetched, a release. ``gpus`` are visible to this process already.
    ``parsers`` are those that choice requests may name, ``parser_version`` says when one of them changed. Published
    outputs are those of ``benchmark`` and answer the instances in the file ``items``. What a server of the model says
    goes to the file ``log``. Hashes of the model's files are kept for other jobs in the file ``hashes``.
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

        Each answer is kept in ``store`` as soon as it is there, and none that is there is asked for again. A ``share``
        (which, of how many) answers its own requests alone, to the digits that they have in the whole; only models
        whose entry has ``shards`` are asked for one. The dictionary says how the answers were made. What differs
        between two runs of the same is under ``run``.

        Raises UserError where the model cannot answer such requests or cannot be used, with what to do.
        """
        ...


@dataclass(frozen=True)
class Preview:
    """What a model will make of a request, without being asked.

    ``reason`` says why it cannot answer it, '' if it can; ``remark`` what else is worth knowing. ``tokens`` are those
    of the request and of its longest answer, ``context_tokens`` those that the model takes; None where it is not known.
    """

    reason: str = ""
    tokens: int | None = None
    context_tokens: int | None = None
    remark: str = ""


@dataclass(frozen=True)
class Kind:
    """A kind of model: what the workflow plans with, declared beside its entry, and what it does.

    ``tasks(entry, benchmark, spec)`` are the tasks of a benchmark that a model can answer; ``protocol(entry)`` is the
    only protocol its answers stand under (None: any); ``lacks(entry, setting)`` says whether it cannot be asked under
    one that needs a setting. A model that ``writes`` can judge, or write a dataset. ``version`` rises when the same
    question may be answered otherwise. ``ready(entry)`` is what must be there first: "weights" (trained here),
    "fetched" (from the hub), "release" (published outputs), "files" (those of the entry), or "" (nothing).
    ``environment(entry)`` names the file in envs/ that a job runs in. A ``shared_store`` holds all that a model
    answers; else each task has a store of its own, because what one finds there would change how the rest is batched,
    and with it the last digits of a float.

    What needs torch, transformers or clients is named, as "package.module:function", and imported when it is called, by
    :mod:`biasatlas.models.kinds`: ``open(context)`` gives the :class:`Model`. ``check(context)`` raises UserError,
    within seconds and before any other job of the model, where it cannot work ('': nothing of the user's to check), and
    returns what it found, which the model is loaded with, or None. ``preview(context, requests)`` gives a
    :class:`Preview` for each of the requests ('': none is needed).
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
        """What the configuration calls it."""
        return get_args(self.entry.model_fields["kind"].annotation)[0]
