"""The replication report: every printed table and figure, cell by cell, beside what public outputs give, and why they
differ. A run without one puts the numbers of its own tables beside the printed ones (:func:`beside_print`).

``resources/published/replication.yaml`` lists the printed tables: where their numbers are kept, which table of ours
computes them, and the reasons in words. A cell's status is computed; a reason for another status explains nothing.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal, NamedTuple

import pandas as pd
from pydantic import BaseModel, ConfigDict

from biasatlas.errors import UserError
from biasatlas.resources import Resources

if TYPE_CHECKING:  # planning reads what is here, and needs no page
    from biasatlas.report.run import Run

REPRODUCED, DIFFERS = "reproduced to the digit", "differs"
NEEDS_DOWNLOAD, NEEDS_MODEL = "needs a download", "needs this model"
NEEDS_PEOPLE, NO_NUMBERS = "needs people", "no numbers"
UNEXPLAINED = "unexplained"
#: The statuses of a cell, as the replication report counts them.
STATUSES = (REPRODUCED, DIFFERS, NEEDS_DOWNLOAD, NEEDS_MODEL, NEEDS_PEOPLE, NO_NUMBERS, UNEXPLAINED)
COLUMNS = ("paper", "table", "cell", "printed", "ours", "difference", "status", "basis", "reason")

#: What our number is computed from, if a cell was compared: the ``basis`` of its :class:`Cells`.
OUTPUTS, DATA, ARITHMETIC, OURS = "authors' outputs", "authors' data", "arithmetic on print", "nothing printed"
BASES = (OUTPUTS, DATA, ARITHMETIC, OURS)

#: (benchmark, table) -> that table as `replicate` made it, with ``published`` as printed.
Tables = Mapping[tuple[str, str], pd.DataFrame]

#: The reason given if we have no number for a cell, and the cell has no reason of its own.
_NOT_HERE = "not computed: this configuration has not the outputs or data that give it; config/papers.yaml has"

#: A bare 0 (a p-value's, say) does not show where it was rounded; by itself it is compared at this many decimals.
_ZERO_DECIMALS = 6


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Cells(_Part):
    """Printed numbers: the columns ``values`` (our metric by column) of ``file``, by ``keys``, in rows ``where``.

    ``metric`` names the column that holds the metric, if a file has one. ``numbers`` are given here in place of a file,
    by cell. ``ours`` is the table that computes them; if it has the columns ``published_in`` and ``quantity``, they are
    under the printed table's name and ``quantity``, a pattern of the row's keys. ``basis`` says what ours is computed
    from; "nothing printed": the file holds what we computed before, for a figure without numbers.
    """

    file: str = ""
    keys: tuple[str, ...] = ()
    values: dict[str, str] = {}
    metric: str = ""
    where: dict[str, str | list[str]] = {}
    numbers: dict[str, dict[str, str]] = {}
    ours: str = ""
    quantity: str = ""
    basis: Literal["authors' outputs", "authors' data", "arithmetic on print", "nothing printed"] = "authors' outputs"


class Why(_Part):
    """Why the cells that match the pattern ``cells`` have a status."""

    cells: str = "*"
    status: Literal[
        "reproduced to the digit", "differs", "needs a download", "needs this model", "needs people", "no numbers"
    ]
    reason: str


class Printed(_Part):
    """A printed table or figure: what it shows, its cells (one nameless cell if none are kept), and the reasons."""

    shows: str
    cells: tuple[Cells, ...] = ()
    why: tuple[Why, ...]


class Paper(_Part):
    """A paper: its benchmark, our names of keys and the published ones, and its tables by name."""

    benchmark: str
    names: dict[str, str] = {}
    tables: dict[str, Printed]


class Cell(NamedTuple):
    """A printed cell, and where ours is: (benchmark, table, published keys, metric); None where nothing computes it."""

    paper: str
    table: str
    cell: str
    printed: str | None
    ours: tuple[str, str, frozenset[tuple[str, str]], str] | None = None
    basis: str = OUTPUTS


def read_papers(resources: Resources, benchmarks: Collection[str] | None = None) -> dict[str, Paper]:
    """The printed tables by paper, for papers whose benchmark is among ``benchmarks``, or for all if that is None."""
    content = resources.yaml("published/replication.yaml")
    papers = {name: Paper.model_validate(paper) for name, paper in content.items()}
    return {name: paper for name, paper in papers.items() if benchmarks is None or paper.benchmark in benchmarks}


def published_cells(papers: Mapping[str, Paper], resources: Resources) -> list[Cell]:
    """Every printed cell, in the order of the papers."""
    return [
        cell
        for name, paper in papers.items()
        for table, printed in paper.tables.items()
        for cell in _cells_of(name, paper.benchmark, table, printed, resources)
    ]


def replication_report(
    papers: Mapping[str, Paper], cells: list[Cell], tables: Tables, published_as: Mapping[str, str]
) -> pd.DataFrame:
    """A row for each cell, with the columns :data:`COLUMNS`; ``ours`` is missing if none of ``tables`` has it.

    A number is compared at the decimals that its metric is printed with in the table, one that others imply at its own.
    ``status`` is :data:`UNEXPLAINED` unless exactly one reason is given for the outcome of the comparison.
    """
    values = _values(papers, tables, published_as)
    ours = [values.get(cell.ours) if cell.ours else None for cell in cells]
    decimals = _decimals_by_metric(cells)
    rows = []
    for cell, value in zip(cells, ours, strict=True):
        difference, came_to = None, ""
        if value is not None and cell.printed is not None:
            same = matches_printed_digits(value, cell.printed, decimals[cell])
            difference, came_to = value - float(cell.printed), REPRODUCED if same else DIFFERS
        why = explanations(papers[cell.paper].tables[cell.table], cell.cell, came_to)
        status, reason = (
            (why[0].status, why[0].reason) if len(why) == 1 else (UNEXPLAINED, "" if came_to else _NOT_HERE)
        )
        rows.append((*cell[:4], value, difference, status, cell.basis if came_to else "", reason))
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"ours": float, "difference": float})


def part_name(part: str) -> str:
    """The printed table or figure that a target names: "Table 4" of "table-4"."""
    return part.replace("-", " ").capitalize()


def check_part(papers: Mapping[str, Paper], table: str) -> None:
    """Raise UserError for a table or figure that no paper of ``papers`` has."""
    known = [name for paper in papers.values() for name in paper.tables]
    if table not in ("All", *known):
        raise UserError(f"{table}: {', '.join(papers)} has no such table or figure. It has {', '.join(known)}.")


def computing(benchmark: str, table: str) -> set[str]:
    """Names of our tables that compute the printed ``table`` of a benchmark's paper; none if nothing does."""
    papers = read_papers(Resources.shipped("published/replication.yaml"), {benchmark})
    return {part.ours for paper in papers.values() if table in paper.tables for part in paper.tables[table].cells}


def one_paper(report: pd.DataFrame, papers: Mapping[str, Paper], table: str, paths: Collection[str]) -> str:
    """The cells of a paper beside ours, as text: of the printed ``table``, or of every one ("All"); why some are not
    reproduced; and ``paths``. Raises UserError as :func:`check_part` does.
    """
    check_part(papers, table)
    lines = []
    for (paper, name), rows in report.groupby(["paper", "table"], sort=False):
        if table in ("All", name):
            lines.append(f"\n{paper}, {name}: {papers[str(paper)].tables[name].shows}\n\n")
            shown = rows.loc[rows["status"] != NO_NUMBERS, ["cell", "printed", "ours", "status"]]
            shown["ours"] = shown["ours"].map(lambda value: "" if pd.isna(value) else f"{value:.4g}")
            lines += [shown.fillna("").to_string(index=False) + "\n\n"] * (len(shown) > 0)
            why = rows.loc[rows["status"] != REPRODUCED, ["status", "reason"]].drop_duplicates()
            lines += [f"{status}: {reason}\n" for status, reason in why.itertuples(index=False)]
    return "".join(lines).lstrip() + "\n" + "".join(f"{path}\n" for path in paths)


def explanations(printed: Printed, cell: str, came_to: str) -> list[Why]:
    """The reasons for a cell whose comparison ``came_to`` a status, or that could not be compared ('')."""
    wanted = (came_to,) if came_to else (NEEDS_DOWNLOAD, NEEDS_MODEL, NEEDS_PEOPLE, NO_NUMBERS)
    return [why for why in printed.why if why.status in wanted and fnmatchcase(cell, why.cells)]


def stale(papers: Mapping[str, Paper], report: pd.DataFrame) -> list[tuple[str, str, Why]]:
    """(paper, table, reason) of each reason that explains no cell of ``report``."""
    used = set(report[["paper", "table", "status", "reason"]].itertuples(index=False, name=None))
    return [
        (name, table, why)
        for name, paper in papers.items()
        for table, printed in paper.tables.items()
        for why in printed.why
        if (name, table, why.status, why.reason) not in used
    ]


def summarise(papers: Mapping[str, Paper], report: pd.DataFrame) -> str:
    """The replication report in Markdown: how many cells of each printed table have each status, then every reason with
    its number of cells."""
    counts = report.groupby(["paper", "table"], sort=False)["status"].value_counts().unstack(fill_value=0)
    counts = counts.reindex(columns=STATUSES, fill_value=0)
    counts = counts.loc[list(dict.fromkeys(zip(report["paper"], report["table"], strict=True)))]
    total = counts.sum()
    head = "| published | shows | " + " | ".join(STATUSES) + " |\n| --- | --- |" + " ---: |" * len(STATUSES) + "\n"
    lines = [
        "# Replication report\n",
        f"{_reproduced(report)} {total[DIFFERS]} differ, "
        f"{total[NEEDS_DOWNLOAD]} need a download, {total[NEEDS_MODEL]} a model, {total[NEEDS_PEOPLE]} people; "
        f"{total[UNEXPLAINED]} are unexplained. "
        f"{total[NO_NUMBERS]} tables and figures have no numbers.\n",
    ]
    for name, of_paper in counts.groupby(level="paper", sort=False):
        shows = papers[str(name)].tables
        lines.append(f"\n## {name}\n\n{head}" + "".join(_line(key[1], shows, row) for key, row in of_paper.iterrows()))
    lines.append("\n## Why\n\n| published | status | cells | why |\n| --- | --- | ---: | --- |\n")
    reasons = report.groupby(["paper", "table", "status", "reason"], sort=False).size()
    lines += [
        f"| {paper} {table} | {status} | {count} | {reason} |\n"
        for (paper, table, status, reason), count in reasons.items()
    ]
    return "".join(lines)


def _reproduced(report: pd.DataFrame) -> str:
    """How many printed cells are reproduced, by what ours are computed from, and how many others agree with what we
    computed before."""
    came_out = report[report["status"] == REPRODUCED]["basis"].value_counts().reindex(BASES, fill_value=0)
    printed = report["printed"].notna() & (report["basis"] != OURS)
    beside = f" {came_out[OURS]} more cells, of figures that print no numbers, match our second computation." * bool(
        came_out[OURS]
    )
    return (
        f"{came_out.drop(OURS).sum()} of {printed.sum()} published numbers are reproduced to the digit: "
        f"{came_out[OUTPUTS]} from the "
        f"authors' outputs, {came_out[DATA]} from their data, {came_out[ARITHMETIC]} by arithmetic on other published "
        "numbers."
        f"{beside} Of all {report['status'].ne(NO_NUMBERS).sum()} cells,"
    )


def matches_printed_digits(value: float, printed: str, decimals: int) -> bool:
    """Whether ``value`` rounds to ``printed`` at that many decimals; a tie may round either way."""
    if pd.isna(value):
        return False
    half_a_digit = Decimal(5).scaleb(-decimals - 1)
    return abs(Decimal(repr(float(value))) - Decimal(printed)) <= half_a_digit


def decimals_of(printed: str) -> int:
    """The decimal places of a number as printed; 7.26e-14 has 16."""
    exponent = Decimal(printed).as_tuple().exponent
    if not isinstance(exponent, int):
        raise ValueError(f"published value {printed!r} is not a number")
    return -exponent


def _cells_of(paper: str, benchmark: str, table: str, printed: Printed, resources: Resources) -> Iterator[Cell]:
    for part in printed.cells:
        for keys, metric, number in _numbers(part, resources):
            named = {name: value for name, value in keys.items() if value}
            cell = ", ".join([*named.values(), metric.replace("_", " ")])
            yield Cell(paper, table, cell, number, _place(benchmark, table, part, keys, metric), part.basis)
    if not printed.cells:
        yield Cell(paper, table, "", None)


def _numbers(part: Cells, resources: Resources) -> Iterator[tuple[dict[str, str], str, str | None]]:
    """(keys, metric, number as printed) of each cell; None where the printed one cannot be read."""
    for cell, numbers in part.numbers.items():
        yield from (({"cell": cell}, metric, number) for metric, number in numbers.items())
    if not part.file:
        return
    table = resources.published(part.file)
    for column, value in part.where.items():
        table = table[table[column].isin([value] if isinstance(value, str) else value)]
    for row in table.fillna("").to_dict("records"):
        for column, metric in part.values.items():
            yield {key: row[key] for key in part.keys}, row[part.metric] if part.metric else metric, row[column] or None


def _place(
    benchmark: str, table: str, part: Cells, keys: Mapping[str, str], metric: str
) -> tuple[str, str, frozenset[tuple[str, str]], str] | None:
    if not part.ours:
        return None
    if part.quantity:
        keys = {"published_in": table, "quantity": part.quantity.format(**keys)}
    return benchmark, part.ours, frozenset(keys.items()), metric


def _values(papers: Mapping[str, Paper], tables: Tables, published_as: Mapping[str, str]) -> dict[tuple, float]:
    """Computed values by place, as the field ``ours`` of :class:`Cell` gives it, with the published keys."""
    names = {paper.benchmark: paper.names for paper in papers.values()}
    values = {}
    for (benchmark, name), table in tables.items():
        known = names.get(benchmark, {}) | dict(published_as)
        keys = list(table.columns[: table.columns.get_loc("metric")])
        wanted = {part for cells in _parts(papers, benchmark, name) for part in cells}
        for row in table[table["published"].notna() & table["value"].notna()].to_dict("records"):
            in_print = {key: "" if pd.isna(row[key]) else known.get(row[key], str(row[key])) for key in keys}
            for chosen in wanted:
                place = frozenset((key, in_print[key]) for key in chosen)
                values[benchmark, name, place, row["metric"]] = row["value"]
    return values


def _parts(papers: Mapping[str, Paper], benchmark: str, name: str) -> Iterator[list[tuple[str, ...]]]:
    """The key columns by which printed cells are found in one of our tables."""
    for paper in papers.values():
        if paper.benchmark == benchmark:
            for printed in paper.tables.values():
                yield [
                    ("published_in", "quantity") if part.quantity else part.keys
                    for part in printed.cells
                    if part.ours == name
                ]


def _decimals_by_metric(cells: list[Cell]) -> dict[Cell, int]:
    """At how many decimals each cell is compared: the most that its metric is printed with in the table.

    A number that others imply is compared at its own decimals: such tables hold numbers from many places.
    """
    most: dict[tuple[str, str, str], int] = {}
    found = {}
    for cell in cells:
        if cell.ours and cell.printed is not None:
            key = (cell.paper, cell.table, cell.ours[3])
            most[key] = max(most.get(key, 0), decimals_of(cell.printed))
    for cell in cells:
        if cell.ours and cell.printed is not None:
            own = _ZERO_DECIMALS if cell.printed == "0" else decimals_of(cell.printed)
            implied = any(name == "quantity" for name, _ in cell.ours[2])
            found[cell] = own if implied else most[cell.paper, cell.table, cell.ours[3]]
    return found


def _line(table: str, shows: Mapping[str, Printed], counts: pd.Series) -> str:
    numbers = " | ".join(str(count) if count else "" for count in counts)
    return f"| {table} | {shows[table].shows} | {numbers} |\n"


def beside_print(runs: "Sequence[Run]", tables: Mapping[str, Mapping[str, pd.DataFrame]]) -> pd.DataFrame:
    """A row for each number of ``runs`` for which one was printed; ``tables`` are by the run's key and their name."""
    parts = []
    for run in runs:
        for name, table in tables[run.key].items():
            printed = table[table["published"].notna()]
            if printed.empty:
                continue
            keys = list(table.columns[: table.columns.get_loc("metric")])
            names = printed[[*keys, "metric"]].astype("string").fillna("")
            cells = [", ".join(filter(None, row)) for row in names.itertuples(index=False)]
            reproduced = printed["difference"].abs() <= printed["published"].map(_half_a_digit)
            parts.append(
                pd.DataFrame(
                    {
                        "paper": run.title,
                        "table": name,
                        "cell": cells,
                        "printed": printed["published"],
                        "ours": printed["value"],
                        "difference": printed["difference"],
                        "status": reproduced.map({True: "reproduced", False: "differs"}).where(
                            printed["value"].notna(), "not measured"
                        ),
                    }
                )
            )
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _half_a_digit(printed: str) -> float:
    """Half a unit of the last digit of a number as printed."""
    exponent = Decimal(printed).as_tuple().exponent
    return 0.5000001 * 10.0 ** int(exponent)
