"""The report of claims: every sentence of the papers that states a number, an order or a trend, tested on the papers'
own numbers.

``resources/published/claims.yaml`` has each claim in our words, the values that it is about, and the test that decides
it. The same test is made on printed numbers, on the authors' public outputs, and on a run's own tables. A claim that no
number decides is open, and the report says what would decide it.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

import pandas as pd
from pydantic import BaseModel, ConfigDict, model_validator

from biasatlas.report.replication import Paper, Tables, decimals_of, matches_printed_digits
from biasatlas.resources import Resources

HOLDS, FAILS, OPEN = "holds", "fails", "open"
COLUMNS = ("paper", "section", "claim", "published", "public_outputs", "this_run", "why")

#: Values by the columns that a claim's ``by`` names.
Values: TypeAlias = pd.Series


class Outcome(NamedTuple):
    """In how many of the groups a claim holds, and, in words, where it fails by most."""

    holds: int
    groups: int
    worst: str = ""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class About(_Part):
    """The values that a claim is about: ``column`` of a printed ``file``, in rows ``where``, reduced to one for each of
    ``by``; with ``per``, by dividing the sum of the column by the sum of that one. ``then`` takes the means of these,
    one for each of its columns. With ``distance`` a value is its distance from that number. ``ours`` names our table
    and the metric with the same values of measured models, such as "gender bias_ratio"; its keys are those of ``by``,
    and others are at "All" if they have it. A claim without ``file`` has numbers in that table alone.
    """

    file: str = ""
    column: str = ""
    per: str = ""
    where: dict[str, str | list[str]] = {}
    by: list[str] = []
    reduce: Literal["mean", "sum", "count", "min", "max"] = "mean"
    then: list[str] | None = None
    distance: float | None = None
    ours: str = ""


class Predicate(_Part):
    """One predicate, by name, and the share of the groups in which it must hold (by default all).

    - ``highest``, ``lowest``: these levels of ``of`` have the highest or lowest values, in each group of the other
      columns
    - ``rises``, ``falls``: along these levels of ``of``, in each group of the other columns
    - ``slows``: along these levels of ``of``, each step is smaller than the one before
    - ``least``, ``most``: every value is at least, at most, this number
    - ``equals``: every value rounds to this number, at its decimals
    """

    of: str = ""
    highest: list[str] = []
    lowest: list[str] = []
    rises: list[str] = []
    falls: list[str] = []
    slows: list[str] = []
    least: float | None = None
    most: float | None = None
    equals: str | None = None
    share: float = 1.0

    @model_validator(mode="after")
    def _one(self) -> "Predicate":
        if len(self.model_fields_set - {"of", "share"}) != 1:
            raise ValueError("name one predicate")
        return self


class Claim(_Part):
    """A claim of a paper in our words: its ``section``; what it is ``about`` and its ``test``; or why it is ``open``.

    With ``against`` the test is along the column ``which``, whose levels are "this" (``about``) and "that"
    (``against``). ``numbers`` says whose numbers ``about`` names: the published ones, or what public outputs and data
    give. ``why`` is a remark on the verdict.
    """

    section: str
    claim: str
    about: About | None = None
    against: About | None = None
    test: Predicate | None = None
    numbers: Literal["published", "public"] = "published"
    open: str = ""
    why: str = ""

    @model_validator(mode="after")
    def _decided_or_open(self) -> "Claim":
        if bool(self.about and self.test) == bool(self.open):
            raise ValueError(f"{self.claim}: give either `about` and `test`, or `open`")
        return self


def read_claims(resources: Resources) -> dict[str, list[Claim]]:
    """The claims by paper."""
    content = resources.yaml("published/claims.yaml")
    return {paper: [Claim.model_validate(claim) for claim in claims] for paper, claims in content.items()}


def claims_report(
    claims: Mapping[str, list[Claim]],
    papers: Mapping[str, Paper],
    resources: Resources,
    public: Tables,
    run: Tables,
    published_as: Mapping[str, str],
) -> pd.DataFrame:
    """A row for each claim, with the columns :data:`COLUMNS`.

    Each of the three columns of verdicts is "holds", "fails: by how much", "open: what would decide it", or empty if
    there is nothing to decide it on. ``public`` and ``run`` are our tables by (benchmark, table), of published outputs
    and of models that the run asked; ``published_as`` maps models to their published names.
    """
    rows: list[tuple[str, ...]] = []
    for name, of_paper in claims.items():
        if name not in papers:
            continue
        paper = papers[name]
        names = paper.names | dict(published_as)
        for claim in of_paper:
            if not (claim.about and claim.test):
                rows.append((name, claim.section, claim.claim, f"{OPEN}: {claim.open}", "", "", claim.why))
                continue
            stated = _stated(claim, resources)
            said = verdict(stated, claim.test) if len(stated) else ""
            ours = [
                _of_tables(claim.about, claim.test, stated, tables, paper.benchmark, names) for tables in (public, run)
            ]
            if claim.numbers == "public" or not said:
                ours[0] = ours[0] or said
                said = f"{OPEN}: no published numbers; public outputs decide it"
            rows.append((name, claim.section, claim.claim, said, *ours, claim.why))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _stated(claim: Claim, resources: Resources) -> Values:
    """The values that a claim is about, and those that it is against; none if only our tables have them."""
    if not (claim.about and claim.about.file):
        return pd.Series(dtype=float)
    stated = values(claim.about, resources.published(claim.about.file))
    if claim.against is None:
        return stated
    other = values(claim.against, resources.published(claim.against.file))
    return pd.concat({"this": stated, "that": other}, names=["which"]).reset_index(
        level=[] if stated.index.names[0] else 1, drop=True
    )


def values(about: About, table: pd.DataFrame) -> Values:
    """The values that a claim is about, from a printed table whose cells are text, without rows that lack a number."""
    for column, value in about.where.items():
        table = table[table[column].isin([value] if isinstance(value, str) else value)]
    column = pd.to_numeric(table[about.column], errors="coerce") if about.column else pd.Series(1.0, table.index)
    return _reduced(column, table, about)


def _reduced(column: Values, table: pd.DataFrame, about: About) -> Values:
    if about.distance is not None:
        column = (column - about.distance).abs()
    known = column.notna()
    keys = [table.loc[known, name] for name in about.by] or [pd.Series("all", column[known].index)]
    found = column[known].groupby(keys, sort=False).agg("sum" if about.per else about.reduce)
    if about.per:
        found = found / pd.to_numeric(table.loc[known, about.per]).groupby(keys, sort=False).sum()
    if about.then is not None:
        found = found.groupby(level=about.then, sort=False).mean() if about.then else pd.Series([found.mean()], ["all"])
    return found


def _of_tables(
    about: About, test: Predicate, stated: Values, tables: Tables, benchmark: str, names: Mapping[str, str]
) -> str:
    """The verdict from our tables; '' if they have none of the values."""
    name, _, metric = about.ours.partition(" ")
    table = tables.get((benchmark, name))
    if not about.ours or table is None:
        return ""
    table = table[(table["metric"] == metric) & table["value"].notna()]
    keys = table.columns[: table.columns.get_loc("metric")]
    table = table.assign(**{key: table[key].map(lambda value: names.get(value, value)) for key in keys})
    if not set(about.by) <= set(keys):
        return ""
    for key in keys:
        if key in about.where:
            value = about.where[key]
            table = table[table[key].isin([value] if isinstance(value, str) else value)]
        elif key not in about.by and (table[key] == "All").any():
            table = table[table[key] == "All"]
    found = _reduced(table["value"], table, about.model_copy(update={"per": ""}))
    there = stated.index.intersection(found.index) if len(stated) else found.index
    if not len(there):
        return ""
    if len(there) < len(stated):
        return f"{OPEN}: {len(there)} of its {len(stated)} values are here"
    return verdict(found.loc[there], test)


def verdict(found: Values, test: Predicate) -> str:
    """The result of a test: holds, or fails and by how much; open if there is no number."""
    outcome = PREDICATES[next(iter(test.model_fields_set - {"of", "share"}))](found, test)
    if not outcome.groups:
        return f"{OPEN}: no number is there"
    of = f"in {outcome.holds} of {outcome.groups}" if outcome.groups > 1 else ""
    if outcome.holds >= test.share * outcome.groups:
        return HOLDS if outcome.holds == outcome.groups else f"{HOLDS} {of}; not {outcome.worst}"
    failed = f" in {outcome.groups - outcome.holds} of {outcome.groups}; " if outcome.groups > 1 else ": "
    return f"{FAILS}{failed}{outcome.worst}"


def highest(found: Values, test: Predicate, lowest: bool = False) -> Outcome:
    """Whether the named levels have the highest (``lowest``) values of each group: each of them beats all others."""
    named = test.lowest if lowest else test.highest
    outcomes = []
    for group, one in _groups(found, test.of):
        signed = -one if lowest else one
        own, others = signed[signed.index.isin(named)], signed[~signed.index.isin(named)]
        if len(own) < len(named):
            lacking = next(name for name in named if name not in own.index)
            outcomes.append((float("-inf"), f"{group}there is no {lacking}"))
            continue
        if others.empty:
            continue
        gap = own.min() - others.max()
        rank = int((others > own.min()).sum()) + 1
        worst = (
            f"{group}{own.idxmin()} has {one[own.idxmin()]:.6g}, {others.idxmax()} {one[others.idxmax()]:.6g} "
            f"({_place(rank, lowest)})"
        )
        outcomes.append((gap, worst))
    return _worst(outcomes, strict=True)


def lowest(found: Values, test: Predicate) -> Outcome:
    """Whether the named levels have the lowest values of each group."""
    return highest(found, test, lowest=True)


def rises(found: Values, test: Predicate, down: bool = False) -> Outcome:
    """Whether values grow (fall) from each named level to the next, in each group."""
    levels, outcomes = test.falls if down else test.rises, []
    for group, one in _groups(found, test.of):
        if one.index.isin(levels).sum() != len(levels):
            continue
        steps = one.loc[levels].diff().dropna() * (-1 if down else 1)
        at = steps.index.get_loc(steps.idxmin())
        worst = f"{group}{levels[at]} has {one[levels[at]]:.6g}, {levels[at + 1]} {one[levels[at + 1]]:.6g}"
        outcomes.append((steps.min(), worst))
    return _worst(outcomes, strict=True)


def falls(found: Values, test: Predicate) -> Outcome:
    """Whether values fall from each named level to the next, in each group."""
    return rises(found, test, down=True)


def slows(found: Values, test: Predicate) -> Outcome:
    """Whether each step between the named levels is smaller than the one before, in each group."""
    outcomes = []
    for group, one in _groups(found, test.of):
        if one.index.isin(test.slows).sum() != len(test.slows):
            continue
        steps = one.loc[test.slows].diff().dropna()
        change = -steps.diff().dropna()
        at = change.index.get_loc(change.idxmin())
        outcomes.append((change.min(), f"{group}a step of {steps.iloc[at]:.3g}, then one of {steps.iloc[at + 1]:.3g}"))
    return _worst(outcomes, strict=True)


def least(found: Values, test: Predicate) -> Outcome:
    """Whether every value is at least this number."""
    bound = float(test.least or 0)
    return _worst([(value - bound, _said(key, value)) for key, value in found.items()], strict=False)


def most(found: Values, test: Predicate) -> Outcome:
    """Whether every value is at most this number."""
    bound = float(test.most or 0)
    return _worst([(bound - value, _said(key, value)) for key, value in found.items()], strict=False)


def equals(found: Values, test: Predicate) -> Outcome:
    """Whether every value rounds to this number at its decimals."""
    number = str(test.equals)
    outcomes = []
    for key, value in found.items():
        same = matches_printed_digits(value, number, decimals_of(number))
        gap = value - float(number)
        outcomes.append((0.0 if same else -abs(gap), f"{_said(key, value)}, {gap:+.3g} from {number}"))
    return _worst(outcomes, strict=False)


PREDICATES = {
    "highest": highest,
    "lowest": lowest,
    "rises": rises,
    "falls": falls,
    "slows": slows,
    "least": least,
    "most": most,
    "equals": equals,
}


def _groups(found: Values, of: str) -> Iterator[tuple[str, Values]]:
    """(name of the group, its values by the level of ``of``) for each level of the other columns."""
    others = [name for name in found.index.names if name != of]
    if not others:
        yield "", found
        return
    for key, one in found.groupby(level=others, sort=False):
        yield f"{_words(key)}: ", one.droplevel(others)


def _worst(outcomes: list[tuple[float, str]], strict: bool) -> Outcome:
    """How many margins are above 0 (at least 0 unless ``strict``), and the words on the smallest one."""
    holds = sum(margin > 0 if strict else margin >= 0 for margin, _ in outcomes)
    return Outcome(holds, len(outcomes), min(outcomes, key=lambda each: each[0])[1] if outcomes else "")


def _said(key: object, value: float) -> str:
    return f"it is {value:.6g}" if key == "all" else f"{_words(key)} has {value:.6g}"


def _words(key: object) -> str:
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _place(rank: int, lowest: bool) -> str:
    return f"number {rank} from the {'lowest' if lowest else 'highest'}"


def failing_first(report: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """The report with the claims that fail in any column first; and how many fail in each."""
    failing = report[["published", "public_outputs", "this_run"]].apply(lambda said: said.str.startswith(FAILS))
    order = failing.any(axis=1).sort_values(ascending=False, kind="stable").index
    return report.loc[order].reset_index(drop=True), failing.sum()


def summarise_claims(report: pd.DataFrame) -> str:
    """The report of claims in Markdown: how many of each paper's hold, fail or are open on the published numbers; those
    that fail; and all."""
    counts = report.assign(came_to=report["published"].str.split(r"[: ;]").str[0])
    table = counts.groupby("paper", sort=False)["came_to"].value_counts().unstack(fill_value=0)
    table = table.reindex(columns=[HOLDS, FAILS, OPEN], fill_value=0)
    lines = [
        "# Claims\n\n| paper | claims | hold on the published numbers | fail | open |\n| --- | ---: | ---: | ---: | "
        "---: |\n"
    ]
    lines += [
        f"| {paper} | {row.sum()} | {row[HOLDS]} | {row[FAILS]} | {row[OPEN]} |\n" for paper, row in table.iterrows()
    ]
    lines.append(
        "\n## What fails\n\n| paper | section | claim | published | public outputs |\n| --- | --- | --- | --- | --- |\n"
    )
    failing = report[report["published"].str.startswith(FAILS) | report["public_outputs"].str.startswith(FAILS)]
    keys = ["paper", "section", "claim", "published", "public_outputs"]
    lines += ["| " + " | ".join(row) + " |\n" for row in failing[keys].itertuples(index=False)]
    lines.append("\n## All\n\n| " + " | ".join(COLUMNS).replace("_", " ") + " |\n|" + " --- |" * len(COLUMNS) + "\n")
    lines += ["| " + " | ".join(row) + " |\n" for row in report.itertuples(index=False)]
    return "".join(lines)
