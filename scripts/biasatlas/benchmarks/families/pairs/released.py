"""Predictions for pairs, published or a user's, as likelihood responses."""

import logging
from collections.abc import Collection, Mapping
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.pairs.spec import ENDS, SENTENCES, PairsDescription
from biasatlas.benchmarks.shared.logs import read_logs
from biasatlas.benchmarks.shared.predictions import log_unknown, normal, one_file
from biasatlas.errors import UserError
from biasatlas.userfiles import finite, listed, read_csv_rows, read_text, shown


def import_responses(step: Step) -> pd.DataFrame:
    """A response for each text, from the published table that the description's ``released_scores`` names.

    ``log_likelihood`` is minus the logarithm of the published perplexity, so it is per token; which text is likelier
    is as published. Rows are matched to pairs by the two texts. A pair without a row, or with rows that differ, is
    "failed"; rows of no item are logged. Raises UserError for a missing table, and for a value that is no perplexity.
    """
    description, rule = step.description, step.description.released_scores
    if rule is None or rule.file not in step.files:
        raise UserError(
            f"{description.title}, {step.release}: no table of published scores in {listed(step.files)}. Fetch it "
            "again."
        )
    path = step.files[rule.file]
    texts = [rule.texts[side] for side in description.sides]
    columns = [rule.perplexities[side].replace("{release}", step.release) for side in description.sides]
    delimiter = "\t" if path.suffix == ".tsv" else ","
    found: dict[frozenset[str], dict[str, float]] = {}
    differing = set()
    for where, row in read_csv_rows(path, [*texts, *columns], delimiter=delimiter):
        values = {}
        for text, column in zip(texts, columns, strict=True):
            perplexity = _number(where, row[column])
            if perplexity <= 0:
                raise UserError(f"{where}: {column} is {perplexity}. Expected a perplexity: fetch the file again.")
            values[normal(row[text])] = -float(np.log(perplexity))
        if found.setdefault(frozenset(values), values) != values:
            differing.add(frozenset(values))
    return _by_texts(step, f"{path}", found, differing, "no row", None)


def read_scores(step: Step) -> pd.DataFrame:
    """A response for each text, from one CSV with ``item``, ``side`` and ``log_likelihood`` (nats).

    A text without a row is "failed"; rows of unknown items are logged by id. Raises UserError naming file and line for
    an unknown side, a value that is no number or above 0 (losses would reverse every preference), and a text with
    several rows.
    """
    description, items, requests = step.description, step.items, step.requests
    path = one_file(step.files, ".csv", f"{description.title}, format scores")
    found: dict[tuple[str, str], float] = {}
    for where, row in read_csv_rows(path, ("item", "side", "log_likelihood")):
        if row["side"] not in description.sides:
            raise UserError(f"{where}: side is {shown(row['side'])}. Expected {' or '.join(description.sides)}.")
        key = row["item"], row["side"]
        if key in found:
            raise UserError(f"{where}: a second row of {key[1]!r} of item {key[0]!r}. Keep one.")
        found[key] = _number(where, row["log_likelihood"])
        if found[key] > 0:
            raise UserError(
                f"{where}: log_likelihood is {shown(row['log_likelihood'])}, and no text's is above 0. Give the "
                "logarithm of its probability; of a loss or a perplexity the sign is the other."
            )
    log_unknown(
        path, "rows", sorted({item for item, _ in found} - set(items["item_id"])), len({item for item, _ in found})
    )
    keys = list(zip(requests["item_id"], _sides(description, items, requests), strict=True))
    values = pd.Series([found.get(key, np.nan) for key in keys], requests.index)
    return likelihoods(requests, values, np.where(values.isna(), "no row", ""))


def read_log(step: Step) -> pd.DataFrame:
    """A response for each text, from logs of both likelihoods, such as lm-evaluation-harness' crows_pairs tasks write.

    Rows are matched to pairs by the two texts. A pair that is missing, or has differing values, is "failed", with the
    reason in ``detail``. Raises UserError if more than 5% of the logged pairs are no item's.
    """
    what = f"{step.description.title}, format log"
    found: dict[frozenset[str], dict[str, float]] = {}
    differing = set()
    rows = read_logs(step.files, what, step.column)
    for row in rows:
        if len(row.likelihoods) != 2:
            raise UserError(
                f"{row.where}: {len(row.likelihoods)} likelihoods. Expected those of the two texts of a pair."
            )
        values = {normal(text): value for text, value in row.likelihoods}
        if found.setdefault(frozenset(values), values) != values:
            differing.add(frozenset(values))
    logging.info("%s: %d pairs in %d rows of the log, for %d items", what, len(found), len(rows), len(step.items))
    return _by_texts(step, what, found, differing, "not in the log", len(found))


def _by_texts(
    step: Step,
    where: str,
    found: Mapping[frozenset[str], Mapping[str, float]],
    differing: Collection[frozenset[str]],
    absent: str,
    total: int | None,
) -> pd.DataFrame:
    """Responses from the log-likelihoods of both texts of each pair; ``found`` has :func:`.predictions.normal` texts.

    Raises UserError if more than 5% of ``total`` pairs are no item's.
    """
    items, requests = step.items, step.requests
    texts = {item.item_id: (normal(item.more), normal(item.less)) for item in items.itertuples()}
    strangers = found.keys() - {frozenset(pair) for pair in texts.values()}
    log_unknown(where, "pairs", (" / ".join(sorted(pair)) for pair in strangers), total)
    pairs = [texts[item] for item in requests["item_id"]]
    keys = pd.Series([frozenset(pair) for pair in pairs], requests.index)
    cases = [keys.map(len) < 2, ~keys.isin(found), keys.isin(differing)]
    detail = np.select(cases, ["both texts are alike but for case", absent, "rows that differ"], "")
    first = requests["label"].str.startswith(SENTENCES[0])
    values = [
        np.nan if fault else found[key][pair[0] if more else pair[1]]
        for key, pair, more, fault in zip(keys, pairs, first, detail, strict=True)
    ]
    return likelihoods(requests, pd.Series(values, requests.index), detail)


def read_differences(step: Step) -> pd.DataFrame:
    """A response for each text, from a file for each template with a number per line, in the order of the data.

    A number is the log-likelihood of the first side's text minus that of the second's. Only the difference is known, so
    the first text gets it, and the second gets 0. Templates without a file are "not_applicable". Raises UserError for
    several files of one template, no file at all, a line that is no number, and too many or too few lines.
    """
    description, files, items, requests = step.description, step.files, step.items, step.requests
    rule = description.differences
    if rule is None:
        raise ValueError(f"{description.title} describes no differences")
    scale = float(np.log(10)) if rule.logarithm == "10" else 1.0
    values = {}
    for template, pattern in rule.files.items():
        names = sorted(name for name in files if fnmatch(name, pattern))
        if len(names) > 1:
            raise UserError(
                f"{description.title}: {listed(names)} are all of template {template}. Name those of one model."
            )
        mine = items.loc[items["template"] == template, "item_id"] if description.template else items["item_id"]
        if names:
            numbers = _numbers(files[names[0]])
            if len(numbers) != len(mine):
                raise UserError(
                    f"{files[names[0]]}: {len(numbers)} numbers for {len(mine)} rows of the data. Take both from one "
                    "version."
                )
            values |= dict(zip(mine, scale * numbers, strict=True))
    if not values:
        raise UserError(f"{description.title}: expected {listed(rule.files.values())}, found {listed(files)}.")
    first = np.array(_sides(description, items, requests)) == description.sides[0]
    number = requests["item_id"].map(values)
    responses = likelihoods(requests, number.where(first | number.isna(), 0.0), np.full(len(requests), ""))
    unpublished = number.isna() & (responses["status"] == "ok")
    return responses.assign(
        status=responses["status"].mask(unpublished, "not_applicable"),
        detail=responses["detail"].mask(unpublished, "not published"),
    )


#: Formats of a user's own predictions.
FORMATS = {"scores": read_scores, "log": read_log, "differences": read_differences}


def likelihoods(requests: pd.DataFrame, values: pd.Series, detail: np.ndarray) -> pd.DataFrame:
    """Likelihood responses with these ``values``, in nats; "failed" if ``detail`` says why there is none.

    Predictions are of whole texts: requests for their ends (:data:`ENDS`) are "not_applicable".
    """
    ends = requests["label"].isin(ENDS).to_numpy()
    detail = np.where(ends, "predictions are of whole texts", detail)
    return pd.DataFrame(
        {
            "request_id": requests["request_id"],
            "repeat": 0,
            "status": np.select([ends, detail == ""], ["not_applicable", "ok"], "failed"),
            "detail": detail,
            "log_likelihood": values.where(detail == ""),
            "tokens": pd.NA,
            "nll_per_token": np.nan,
        }
    )


def _sides(description: PairsDescription, items: pd.DataFrame, requests: pd.DataFrame) -> list[str]:
    """The side of the text that each request asks about."""
    side = requests["item_id"].map(dict(zip(items["item_id"], items["direction"], strict=True)))
    if description.directions:
        side[:] = description.stereotype
    first, second = description.sides
    other = {first: second, second: first}
    more = requests["label"] == SENTENCES[0]
    return list(side.where(more, side.map(other)))


def _numbers(path: Path) -> np.ndarray:
    lines = read_text(path).splitlines()
    return np.array([_number(f"{path}, line {place}", line) for place, line in enumerate(lines, 1)])


def _number(where: str, text: str) -> float:
    value = finite(text)
    if np.isnan(value):
        raise UserError(f"{where}: {shown(text)}. Expected a number.")
    return value
