"""The requests of a run and their highest cost, before any is sent: a row for each model, benchmark and task."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import pandas as pd

from biasatlas.errors import UserError
from biasatlas.models.endpoint import read_found
from biasatlas.models.endpoint.calls import bound, is_exact
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.entry import Entry
from biasatlas.models.interface import ModelContext
from biasatlas.models.kinds import KINDS, preview_requests
from biasatlas.workflow.plan import Planned

#: Columns of the table. Tokens are upper estimates; ``cost`` is the most that a run may cost if the store is empty.
#: ``longest_tokens`` is the length of the longest request with its answer, ``context_tokens`` the model's limit.
COLUMNS = (
    "model",
    "role",
    "benchmark",
    "protocol",
    "task",
    "measured",
    "remark",
    "requests",
    "prompt_tokens",
    "completion_tokens",
    "calls",
    "cost",
    "currency",
    "minutes",
    "longest_tokens",
    "context_tokens",
)

#: Why requests are not known yet, by role.
_COUNTED_LATER = {
    "answers": "counted once a judge has put the contexts in order",
    "parses": "counted once there are replies",
}


def row(planned: Planned, requests: pd.DataFrame | None, context: ModelContext) -> dict[str, Any]:
    """One row of the table. ``requests`` come from :mod:`.sizes`; None if none are made or they are not known yet.

    Raises UserError if the model's entry lacks what the requests need.
    """
    remarks = [planned.reason]
    values = planned._asdict() | {"measured": "no" if planned.reason else "yes"}
    values["role"] = f"{planned.role} {planned.of}".strip()
    if requests is None:
        remarks += [] if planned.reason else [_COUNTED_LATER[planned.role]]
        return values | {"remark": "; ".join(filter(None, remarks))}
    previews = preview_requests(context, requests)
    able = np.asarray([not preview.reason for preview in previews] or [True] * len(requests))
    if reasons := dict.fromkeys(preview.reason for preview in previews if preview.reason):
        remarks.append(f"{requests.loc[~able, 'requests'].sum()} requests are not asked: {'; '.join(reasons)}")
    remarks += dict.fromkeys(preview.remark for preview in previews)
    remarks += ["as if no reply could be parsed"] if planned.role == "parses" else []
    longest = max((preview.tokens or 0 for preview in previews), default=0)
    limit = next((preview.context_tokens for preview in previews if preview.context_tokens), None)
    if limit and longest > limit:
        remarks.append(f"its longest request has {longest} tokens and the model takes {limit}: such requests fail")
    asked = requests[able]
    written = asked[asked["kind"] == "generation"]
    values |= {
        "measured": "yes" if able.any() else "no",
        "remark": "; ".join(filter(None, remarks)),
        "requests": requests["requests"].sum(),
        "prompt_tokens": asked["prompt_tokens"].sum(),
        "completion_tokens": float((written["requests"] * written["repeats"].fillna(1) * written["max_tokens"]).sum()),
        "longest_tokens": longest or None,
        "context_tokens": limit,
    }
    if KINDS[context.entry.kind].calls_api:
        entry = cast(ApiEntry, context.entry)
        values |= bound(entry, asked, read_found(context.ready))
        if np.isnan(values["minutes"]):  # it has no rate
            values["minutes"] = values["calls"] / (60 * entry.concurrency)
    return values


def samples_choices(entry: Entry) -> bool:
    """Whether a model answers choices with replies and not with exact probabilities."""
    return KINDS[entry.kind].calls_api and not is_exact(cast(ApiEntry, entry))


def in_rounds(row: Mapping[str, Any], items: int, first: Mapping[str, Any]) -> str:
    """The remark of a ``row`` that is asked in rounds; ``first`` is the row of its first round, of ``items`` items."""
    cost = f" and may cost {first['cost']:.4f} {first['currency']}" if first.get("cost") is not None else ""
    said = (
        f"asked in rounds: the first has {items} items, {first['requests']} requests{cost}; this is what all may come "
        "to"
    )
    return "; ".join(filter(None, (row["remark"], said)))


def writer_row(model: str, entry: Entry, costs: pd.DataFrame) -> dict[str, Any]:
    """The row of the model that writes new questions; ``costs`` has what each step of the construction may cost."""
    names = ["requests", "prompt_tokens", "completion_tokens", "cost"]
    values = costs.set_index("step").loc["all", names].to_dict()
    values |= {"model": model, "role": "writes", "task": "construction", "measured": "yes"}
    if not KINDS[entry.kind].calls_api:
        return values | {"cost": None}
    return values | {"calls": values["requests"], "currency": cast(ApiEntry, entry).currency}


def table(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """The table, with counts as integers."""
    frame = pd.DataFrame(rows, columns=list(COLUMNS)).fillna({"benchmark": "", "protocol": "", "remark": ""})
    counts = ["requests", "prompt_tokens", "completion_tokens", "calls", "longest_tokens", "context_tokens"]
    return frame.assign(**{name: frame[name].astype(float).round().astype("Int64") for name in counts})


def costs(table: pd.DataFrame) -> pd.DataFrame:
    """Highest costs by model and, as "all", by currency: ``model``, ``currency``, ``calls``, ``cost``, ``minutes``."""
    paid = table[table["currency"].notna()].assign(minutes=lambda frame: frame["minutes"].astype(float))
    by_model = paid.groupby(["model", "currency"], sort=False)[["calls", "cost", "minutes"]].sum(min_count=1)
    in_all = paid.groupby("currency", sort=False)[["calls", "cost"]].sum().reset_index().assign(model="all")
    return pd.concat([by_model.reset_index(), in_all], ignore_index=True)


def accept(table: pd.DataFrame, limit: float) -> None:
    """Raise UserError where the run may cost more than ``limit`` (the key `max_cost`)."""
    in_all = costs(table)
    above = in_all[(in_all["model"] == "all") & (in_all["cost"] > limit)]
    if len(above):
        cost, currency = above[["cost", "currency"]].iloc[0]
        dear = in_all[(in_all["model"] != "all") & (in_all["currency"] == currency)].sort_values("cost").iloc[-1]
        raise UserError(
            f"max_cost: the run may cost up to {cost:.2f} {currency} ({dear['model']} alone {dear['cost']:.2f}), and "
            f"`max_cost` is {limit:g}. Nothing was asked. Raise it, or ask for less: fewer models or categories, or a "
            "protocol with fewer repeats."
        )


def budgets(
    table: pd.DataFrame, models: Mapping[str, Entry], spent: Callable[[str], float], rounds: Sequence[str] = ()
) -> tuple[str, bool]:
    """A line for each endpoint (what it ``spent``, its highest cost, its budget), and whether all budgets are kept.

    Stored answers are counted as if they had to be paid for again. Benchmarks that are asked in ``rounds`` stop when
    the budget is used up.
    """
    lines, kept = [], True
    of_model = costs(table)
    in_full = table[~table["benchmark"].isin(rounds)].groupby("model")["cost"].sum()
    for model, cost, currency in of_model.loc[of_model["model"] != "all", ["model", "cost", "currency"]].itertuples(
        index=False
    ):
        entry = cast(ApiEntry, models[model])
        line = f"{model}: spent so far {spent(model):.4f} {currency}"
        if entry.budget is not None:
            within = in_full.get(model, 0.0) <= entry.budget
            kept &= within
            state = "holds" if cost <= entry.budget else "ends the rounds" if within else "cannot be kept"
            line += f", at most {cost:.2f} in all; the budget of {entry.budget:g} {state}"
        lines.append(line)
    return "\n".join(lines), kept


def text(table: pd.DataFrame) -> str:
    """The table for a terminal: what is measured, what is not and why, what it may cost."""
    shown = table.drop(columns=["currency", "longest_tokens", "context_tokens", "remark", "measured"])
    shown = shown.assign(cost=shown["cost"].map("{:.2f}".format), minutes=shown["minutes"].map("{:.0f}".format))
    asked = shown[table["measured"] == "yes"].astype(object)
    asked = asked.where(asked.notna() & (asked != "nan"), "-")
    asked = asked.loc[:, (asked != "-").any()]
    parts = [asked.to_string(index=False) if len(asked) else "nothing is measured"]
    remarks = table.loc[table["remark"] != "", ["benchmark", "protocol", "task", "model", "remark"]]
    parts += ["\n".join(f"{' '.join(place)}: {remark}" for *place, remark in remarks.itertuples(index=False))]
    for cost in costs(table).itertuples():
        time = f"{np.ceil(cost.minutes):.0f} min" if cost.minutes < 120 else f"{cost.minutes / 60:.0f} hours"
        time = f", about {time} at its rates, or a second a call" if pd.notna(cost.minutes) else ""
        parts.append(f"{cost.model}: {cost.calls:.0f} calls, at most {cost.cost:.2f} {cost.currency}{time}")
    return "\n\n".join(filter(None, parts)) + "\n"
