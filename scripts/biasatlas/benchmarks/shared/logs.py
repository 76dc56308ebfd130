"""Logs of other harnesses, as rows of one form that say what a model was shown and what it answered.

lm-evaluation-harness (``samples_*.jsonl``), Inspect (``.eval``, ``.json``), HELM (``scenario_state.json``), EuroEval
(``*-model-outputs.json``) and the instances of Every Eval Ever are recognised by their content. A letter stands for
what the log itself shows beside it, never for a place in our items.
"""

import hashlib
import json
import logging
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from biasatlas.benchmarks.shared.parsing.named import PARSERS
from biasatlas.benchmarks.shared.parsing.options import Options
from biasatlas.errors import UserError
from biasatlas.userfiles import listed, read_text, shown

log = logging.getLogger(__name__)

_ZSTANDARD = 93
#: The most bytes that a member of an archive may unpack to: logs come from strangers.
_MOST_BYTES = 256 * 2**20
_OPTION = re.compile(r"^[ \t]*\(?([A-Za-z])[.):][ \t]+(\S.*?)[ \t]*$", re.MULTILINE)
_BETWEEN = re.compile(r"(?:^|\s)([a-z])\.\s+")
_LETTER = re.compile(r"[A-Za-z]")
#: How far a log's mean may differ from that of its questions.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Logged:
    """One question of a log."""

    where: str
    text: str
    """What the model was shown."""
    options: tuple[str, ...]
    """The options that it was offered; none where the log does not say."""
    answer: str
    """The option that was chosen, as text; or the reply."""
    right: bool | None
    """Whether the harness counts it as right; None where it does not say."""
    repeat: str = "1"
    """Which of several times that the question was asked, from 1, with what was perturbed then, if anything."""
    likelihoods: tuple[tuple[str, float], ...] = ()
    """Whole texts with their log-likelihood, in nats."""


def read_logs(files: Mapping[str, Path], what: str, column: str = "") -> list[Logged]:
    """The questions of all logs among ``files``; ``column`` names one of several filters of lm-evaluation-harness.

    Raises UserError for a file that is not a log, is cut short or comes from a run that failed, and if the mean that
    the harness states is not that of its questions.
    """
    rows: list[Logged] = []
    for name in sorted(files):
        path = files[name]
        if zipfile.is_zipfile(path) or path.suffix == ".eval":
            rows += _inspect(*_archive(path))
            continue
        first = next(_lines(path)) if path.suffix == ".jsonl" else None
        if first and "filtered_resps" in first[1]:
            rows += _lm_eval(path, column)
        elif first and "schema_version" in first[1] and "input" in first[1]:
            rows += _each(_instance, _lines(path))
        elif first is None and isinstance(found := _json(str(path), read_text(path)), dict):
            if "request_states" in found:
                rows += _helm(path, found)
            elif found and all(isinstance(each, dict) and "sequence" in each for each in found.values()):
                rows += _each(_of_euroeval, ((f"{path}, {key}", (key, each)) for key, each in found.items()))
            elif "eval" in found and "samples" in found:
                rows += _inspect(path, found, _numbered(path, found["samples"]))
            elif "results" not in found and "evaluation_results" not in found:
                raise _no_log(path, what)
        else:
            raise _no_log(path, what)
    if not rows:
        raise UserError(f"{what}: no questions in {listed(files)}. Run the harness with its samples logged.")
    return rows


def _no_log(path: Path, what: str) -> UserError:
    return UserError(
        f"{path}: no log. {what} takes samples_*.jsonl of lm-evaluation-harness (--log_samples), .eval or .json of "
        "Inspect, scenario_state.json of HELM, *-model-outputs.json of EuroEval (--debug), or instances of Every Eval "
        "Ever (.jsonl)."
    )


def _json(where: str, text: str) -> Any:
    """JSON as harnesses write it, with NaN."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not JSON ({error}). Copy the log again.") from None


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    # Not splitlines, which also ends lines at characters that a reply may contain.
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        row = _json(where, line)
        if not isinstance(row, dict):
            raise UserError(f"{where}: {shown(row)}. Expected a JSON object on each line.")
        yield where, row


def _each(parse: Callable[[str, Any], Logged], rows: Iterable[tuple[str, Any]]) -> list[Logged]:
    """Parse each row. Raises UserError if a part is missing or has another type than harnesses write."""
    found = []
    for where, row in rows:
        try:
            found.append(parse(where, row))
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise UserError(f"{where}: the log is damaged, or of another version ({error}). Copy it again.") from None
    return found


def _get(where: str, row: Any, *keys: str | int) -> Any:
    """The value at ``keys`` of ``row``. Raises UserError if there is none."""
    value = row
    for key in keys:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            raise UserError(
                f"{where}: no {'.'.join(map(str, keys))}: the log is cut short, or of another version."
            ) from None
    return value


def letters(text: str) -> dict[str, str]:
    """Capital letter -> the option that ``text`` shows beside it; if there are several blocks of options, of the last.

    Each option has a line of its own or, as EuroEval asks, all are in one line.
    """
    found = {letter.upper(): option for letter, option in _OPTION.findall(text)}
    for line in reversed(text.split("\n")) if len(found) < 2 else ():
        _, *parts = _BETWEEN.split(line)
        names = "".join(parts[0::2])
        start = names.rfind("a")
        if start >= 0 and len(names[start:]) > 1 and "abcdefghijklmnopqrstuvwxyz".startswith(names[start:]):
            return dict(zip(names[start:].upper(), map(str.strip, parts[2 * start + 1 :: 2]), strict=True))
    return found


def _replied(reply: str, text: str) -> tuple[tuple[str, ...], str]:
    """The lettered options in ``text``, if any, and the one that a reply in words chooses; else the reply."""
    under = letters(text)
    names = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(under)])
    if len(under) < 2 or set(under) != set(names):
        return (), reply
    options = tuple(under[name] for name in names)
    found = PARSERS["letter"].whole(reply, Options.of(names, options))
    return options, options[found] if isinstance(found, int) else reply


def _lm_eval(path: Path, column: str) -> list[Logged]:
    """The samples of a task, answered by the likeliest continuation or by the reply."""
    rows = list(_lines(path))
    filters = sorted({str(row.get("filter", "none")) for _, row in rows})
    if column not in filters and len(filters) > 1:
        raise UserError(
            f"{path}: each sample is there under the filters {listed(filters)}. Name one as `column` in the model's "
            "entry."
        )
    wanted = column if column in filters else filters[0]
    return _each(_sample, (each for each in rows if str(each[1].get("filter", "none")) == wanted))


def _sample(where: str, row: dict[str, Any]) -> Logged:
    replies, given = (_get(where, row, name) for name in ("filtered_resps", "arguments"))
    asked, first = list(given.values()), next(iter(given), "gen_args_0")
    text = str(_get(where, row, "arguments", first, "arg_0"))
    right = row.get("acc", row.get("exact_match"))
    known = right == 1 if right in (0, 1) else None
    if not isinstance(_get(where, row, "arguments", first, "arg_1"), str):  # settings of a generation
        return Logged(where, text, *_replied(str(_get(where, row, "filtered_resps", 0)), text), known)
    try:
        scores = [float(each[0]) for each in replies]
    except (TypeError, ValueError, IndexError):
        scores = []
    if len(scores) != len(asked) or len(scores) < 2 or not np.isfinite(scores).all():
        raise UserError(
            f"{where}: filtered_resps is {shown(replies)}. Expected a log-likelihood for each of {len(asked)} choices."
        )
    offered = [str(each["arg_1"]).strip() for each in asked]
    if all(_LETTER.fullmatch(each) for each in offered):
        under = letters(text)
        offered = [_get(f"{where}: the prompt", under, each.upper()) for each in offered]
    whole = tuple((str(each["arg_0"]) + str(each["arg_1"]), score) for each, score in zip(asked, scores, strict=True))
    return Logged(where, text, tuple(offered), offered[int(np.argmax(scores))], known, likelihoods=whole)


def _archive(path: Path) -> tuple[Path, dict[str, Any], Iterable[tuple[str, Any]]]:
    """Header and samples of an archive, whose members may be in Zstandard, which Python reads from 3.14 on."""
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as file:
            members = {
                info.filename: _member(path, archive, file, info) for info in archive.infolist() if _wanted(info)
            }
    except (zipfile.BadZipFile, zlib.error, OSError, RuntimeError, struct.error, EOFError) as error:
        raise UserError(f"{path}: no archive, or a damaged one ({error}). Copy the log again.") from None
    if "header.json" not in members:
        raise UserError(f"{path}: no header.json in it: not a log of Inspect, or one of a run that did not end.")
    found = {name: _json(f"{path}, {name}", text) for name, text in members.items()}
    header = found.pop("header.json")
    if not isinstance(header, dict):
        raise UserError(f"{path}, header.json: {shown(header)}. Expected a JSON object: copy the log again.")
    return path, header, [(f"{path}, {name}", sample) for name, sample in found.items()]


def _wanted(info: zipfile.ZipInfo) -> bool:
    return info.filename == "header.json" or (info.filename.startswith("samples/") and info.filename.endswith(".json"))


def _member(path: Path, archive: zipfile.ZipFile, file: Any, info: zipfile.ZipInfo) -> str:
    if info.compress_type == _ZSTANDARD:
        file.seek(info.header_offset)
        names, extra = struct.unpack("<26xHH", file.read(30))
        file.seek(info.header_offset + 30 + names + extra)
        packed = pa.BufferReader(file.read(info.compress_size))
        content = pa.CompressedInputStream(packed, "zstd").read(_MOST_BYTES + 1)
    else:
        with archive.open(info) as member:
            content = member.read(_MOST_BYTES + 1)
    if len(content) <= _MOST_BYTES and zlib.crc32(content) != info.CRC:
        raise UserError(f"{path}, {info.filename}: damaged, by its checksum. Copy the log again.")
    if len(content) > _MOST_BYTES:
        raise UserError(
            f"{path}, {info.filename}: it unpacks to more than {_MOST_BYTES:,} bytes. No log has such a sample."
        )
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UserError(f"{path}, {info.filename}: not UTF-8 ({error}). Copy the log again.") from None


def _numbered(path: Path, samples: Any) -> list[tuple[str, Any]]:
    if not isinstance(samples, list | None):
        raise UserError(f"{path}: {shown(samples)} in place of its samples. Copy the log again.")
    return [(f"{path}, sample {number}", sample) for number, sample in enumerate(samples or (), 1)]


def _inspect(path: Path, header: dict[str, Any], samples: Iterable[tuple[str, Any]]) -> list[Logged]:
    """Samples of Inspect. If it shuffled, its prompt, reply, answer and letters are in the order of the data again."""
    if header.get("status") != "success":
        raise UserError(
            f"{path}: the run ended with {shown(header.get('status'))}. Run it again, or `inspect eval-retry` it."
        )
    samples = list(samples)
    ended = [each for each in samples if not _failed(each[1])]
    rows = _each(_of_inspect, ended)
    stated, known = _accuracy(header), [row.right for row in rows if row.right is not None]
    if failed := len(samples) - len(ended):  # Inspect's mean may then be over unequal numbers of epochs
        log.warning("%s: %d of %d samples ended with an error, and count as unanswered", path, failed, len(samples))
    elif stated is not None and known and not abs(stated - np.mean(known)) <= _ROUNDING:
        raise UserError(
            f"{path}: the log states an accuracy of {stated:.4f}, and {np.mean(known):.4f} of its samples are right. "
            "Copy it again."
        )
    return rows


def _failed(sample: Any) -> bool:
    """Whether a sample ended with an error before it was scored: a run may go on (`--no-fail-on-error`)."""
    return isinstance(sample, dict) and bool(sample.get("error")) and not sample.get("scores")


def _of_inspect(where: str, sample: Any) -> Logged:
    scores = list(_get(where, sample, "scores").values())
    score, choices = _get(where, scores, 0), [str(each) for each in sample.get("choices") or ()]
    answer, value = str(score.get("answer") or ""), score.get("value")
    if choices and _LETTER.fullmatch(answer):
        answer = _get(where, choices, ord(answer.upper()) - ord("A"))
    elif choices or not answer:
        answer = str(_get(where, sample, "output", "completion"))
    right = value in ("C", 1) if value in ("C", "I", 0, 1) else None
    return Logged(where, _said(where, sample), tuple(choices), answer, right, str(_get(where, sample, "epoch")))


def _accuracy(header: Mapping[str, Any]) -> float | None:
    """The mean accuracy that Inspect states for its first scorer; None if it states none or another over epochs."""
    try:
        first = header["results"]["scores"][0]
        return float(first["metrics"]["accuracy"]["value"]) if first.get("reducer") in (None, "mean") else None
    except (AttributeError, KeyError, IndexError, TypeError, ValueError):
        return None


def _said(where: str, sample: Mapping[str, Any]) -> str:
    """The question of a sample of Inspect, with the long texts that it names by a hash."""
    given = _get(where, sample, "input")
    parts = [given] if isinstance(given, str) else [_get(where, each, "content") for each in given]
    attached = sample.get("attachments") or {}
    return re.sub(r"attachment://(\w+)", lambda found: str(attached.get(found[1], "")), "\n".join(map(str, parts)))


def _helm(path: Path, found: Mapping[str, Any]) -> list[Logged]:
    """Questions of HELM that show their options by letter."""
    method = _get(str(path), found, "adapter_spec", "method")
    if method != "multiple_choice_joint":
        raise UserError(f"{path}: its method is {method!r}. Expected multiple_choice_joint, which shows all options.")
    return _each(_of_helm, _numbered(path, found["request_states"]))


def _of_helm(where: str, state: Any) -> Logged:
    under = {letter: str(option) for letter, option in _get(where, state, "output_mapping").items()}
    reply = str(_get(where, state, "result", "completions", 0, "text")).strip()
    answer = under.get(reply[:1], reply) if not reply[1:2].isalnum() else reply
    references = _get(where, state, "instance", "references")
    correct = {_get(where, each, "output", "text") for each in references if "correct" in each.get("tags", ())}
    trial, perturbed = int(state.get("train_trial_index", 0)), _get(where, state, "instance").get("perturbation")
    repeat = f"{trial + 1} {perturbed}" if perturbed else str(trial + 1)
    text = str(_get(where, state, "instance", "input", "text"))
    return Logged(where, text, tuple(under.values()), answer, answer in correct if correct else None, repeat)


def _of_euroeval(where: str, entry: Any) -> Logged:
    """A reply that EuroEval kept with its question (`--debug`), under the hash of the question."""
    key, row = entry
    asked = row.get("messages") or row.get("text")
    if not asked:
        raise UserError(f"{where}: a reply without its question. Run EuroEval with --debug, which keeps both.")
    if key != hashlib.md5(str(asked).encode(), usedforsecurity=False).hexdigest():
        raise UserError(f"{where}: the hash of another question than its own. Copy the log again.")
    text = asked if isinstance(asked, str) else "\n".join(str(_get(where, each, "content")) for each in asked)
    options, answer = _replied(str(row["sequence"]), text)
    # EuroEval counts a reply that names no option as the option with the nearest spelling, a refusal as the first.
    counted, label = (_replied(str(row.get(name)), text)[1] for name in ("predicted_label", "label"))
    judged = counted == answer and label in options
    return Logged(where, text, options, answer, counted == label if judged else None)


def _instance(where: str, row: Mapping[str, Any]) -> Logged:
    """An instance of Every Eval Ever; its options may be missing."""
    told = row.get("answer_attribution") or [{}]
    answer = told[-1].get("extracted_value")
    text, options = str(_get(where, row, "input", "raw")), row["input"].get("choices") or ()
    if answer is None:
        answer = _get(where, row, "output", "raw", 0)
    right = _get(where, row, "evaluation").get("is_correct")
    return Logged(where, text, tuple(map(str, options)), str(answer), right if isinstance(right, bool) else None)
