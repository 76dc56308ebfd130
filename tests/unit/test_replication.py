"""The replication report: digits, cells, and that every cell has one reason and no reason is left over."""

from collections import Counter
from fnmatch import fnmatchcase

import pandas as pd
import pytest
import yaml
from pydantic import ValidationError

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.errors import UserError
from biasatlas.report.claims import read_claims
from biasatlas.report.replication import (
    ARITHMETIC,
    COLUMNS,
    DIFFERS,
    NEEDS_DOWNLOAD,
    NEEDS_MODEL,
    REPRODUCED,
    STATUSES,
    UNEXPLAINED,
    Paper,
    computing,
    decimals_of,
    explanations,
    matches_printed_digits,
    one_paper,
    part_name,
    published_cells,
    read_papers,
    replication_report,
    stale,
    summarise,
)
from biasatlas.resources import Resources

SHIPPED = Resources.shipped("published/*")
PAPERS = read_papers(SHIPPED)
CELLS = published_cells(PAPERS, SHIPPED)


@pytest.mark.parametrize(
    ("value", "published", "decimals", "expected"),
    [
        (0.0915, "0.092", 3, True),
        (0.0914, "0.092", 3, False),
        (0.0925, "0.092", 3, True),  # a tie may round either way
        (0.8, "1", 1, False),
        (0.96, "1", 1, True),
        (-0.2424, "-0.242", 3, True),
        (0.2424, "-0.242", 3, False),
        (float("nan"), "0", 1, False),
        (307.0, "307", 0, True),
        (7.259e-14, "7.26e-14", 16, True),
        (7.254e-14, "7.26e-14", 16, False),
    ],
)
def test_matches_printed_digits(value, published, decimals, expected):
    assert matches_printed_digits(value, published, decimals) is expected


def test_every_release_stands_for_its_printed_model_in_both_configurations():
    """A cell that config/papers.yaml reproduces would stay unexplained under config/released.yaml, which has more."""
    papers, released = (
        yaml.safe_load((ROOT / "config" / name).read_text(encoding="utf-8"))["models"].values()
        for name in ("papers.yaml", "released.yaml")
    )
    of = [
        {(entry["release"], entry.get("published_as")) for entry in entries if entry["kind"] == "released"}
        for entries in (papers, released)
    ]
    assert of[0] and of[0] <= of[1]


@pytest.mark.parametrize("printed", ["n/a", "NaN"])
def test_what_is_printed_and_no_number_cannot_be_compared(printed):
    with pytest.raises((ValueError, ArithmeticError)):
        decimals_of(printed)


# The shipped list


def test_a_cell_stands_once():
    assert [cell for cell, count in Counter(cell[:3] for cell in CELLS).items() if count > 1] == []


@pytest.mark.parametrize("paper", PAPERS)
def test_every_cell_has_exactly_one_reason(paper):
    """At most one for each outcome; one that no table computes has exactly one, which says what it needs."""
    for cell in CELLS:
        if cell.paper != paper:
            continue
        printed = PAPERS[paper].tables[cell.table]
        found = {came_to: explanations(printed, cell.cell, came_to) for came_to in (REPRODUCED, DIFFERS, "")}
        assert all(len(reasons) <= 1 for reasons in found.values()), (cell, found)
        assert any(found.values()), cell
        assert cell.ours or not (found[REPRODUCED] or found[DIFFERS]), (cell, "no table computes it")


def test_no_reason_is_left_over():
    for name, paper in PAPERS.items():
        for table, printed in paper.tables.items():
            cells = [cell.cell for cell in CELLS if (cell.paper, cell.table) == (name, table)]
            for why in printed.why:
                assert any(fnmatchcase(cell, why.cells) for cell in cells), (name, table, why.cells)


def test_a_download_is_of_a_model_that_a_configuration_downloads():
    """And of the tables that are computed, no cell of a model whose outputs are downloaded there is said to need a run."""
    contents = [yaml.safe_load((ROOT / "config" / name).read_text()) for name in ("released.yaml", "dbb_released.yaml")]
    released = {entry.get("published_as") for content in contents for entry in content["models"].values()}
    for cell in filter(lambda cell: cell.ours, CELLS):
        for why in explanations(PAPERS[cell.paper].tables[cell.table], cell.cell, ""):
            assert (why.status == NEEDS_DOWNLOAD) == bool(released & set(cell.cell.split(", "))), (cell, why)


def test_every_table_and_figure_of_the_papers_is_there():
    counts = {
        paper: [Counter(t.split()[0] for t in PAPERS[paper].tables)[of] for of in ("Table", "Figure")]
        for paper in PAPERS
    }
    assert counts["McBE"] == [13, 11] and counts["TWBias"] == [12, 8] and counts["DBB"] == [15, 9]


def test_what_computes_a_cell_and_what_a_reason_names_exist():
    names = {name for benchmark in registry.benchmark_names() for name in _names(benchmark)}
    for paper in PAPERS.values():
        spec = registry.load_spec(paper.benchmark)
        for printed in paper.tables.values():
            assert {part.ours for part in printed.cells} - {""} <= set(spec.tables)
            for why in printed.why:
                for kind in (
                    "the table ",
                    "the figure ",
                    "comparison's figure ",
                    "comparison's table ",
                    "the benchmark ",
                ):
                    for text in why.reason.split(kind)[1:]:
                        assert text.replace(";", " ").replace(",", " ").split()[0] in names, why.reason


def _names(benchmark):
    spec = registry.load_spec(benchmark)
    return [benchmark, *spec.tables, *spec.figures, *COMPARED]


COMPARED = ("bbq_distribution", "bbq_examples", "dbb_bbq")


def test_every_published_file_is_in_the_replication_report_or_the_claims():
    files = {part.file for paper in PAPERS.values() for printed in paper.tables.values() for part in printed.cells}
    files |= {claim.about.file for claims in read_claims(SHIPPED).values() for claim in claims if claim.about}
    there = {path.stem for path in (ROOT / "resources/published").glob("*.csv")}
    # A benchmark without code may have a test of its own that checks them against its release.
    descriptions = filter(None, map(registry.description, registry.benchmark_names()))
    elsewhere = {described.published for described in descriptions} - files
    assert there - elsewhere == files - {""}


def test_the_page_lists_every_printed_table():
    page = (ROOT / "docs/replication-tables.md").read_text(encoding="utf-8")
    for name, paper in PAPERS.items():
        section = page.split(f"## {name}\n")[1].split("\n## ")[0]
        rows = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("| ")][2:]
        assert rows == list(paper.tables), name


# What public outputs give


def test_printed_numbers_that_imply_one_another():
    """McBE's and DBB's, which read no scores: the results, and nothing is unexplained."""
    papers = {name: PAPERS[name] for name in ("McBE", "DBB")}
    tables = {
        (paper.benchmark, "replication"): registry.tables(paper.benchmark)["replication"](
            None, None, SHIPPED.published, {}
        )
        for paper in papers.values()
    }
    report = replication_report(papers, published_cells(papers, SHIPPED), tables, {})
    assert list(report) == list(COLUMNS)
    assert report[report["status"] == UNEXPLAINED].empty
    assert stale(papers, report) == []
    friedman = report[report["table"] == "Appendix E.2"]
    assert len(friedman) == 2 and set(friedman["status"]) == {DIFFERS}  # 24 readings of two values are two
    counted = report["status"].value_counts()
    assert (counted[REPRODUCED], counted[DIFFERS]) == (93, 19)
    text = summarise(papers, report)
    assert "93 of" in text and "93 by arithmetic on other published numbers" in text and "0 are unexplained" in text
    assert set(report["basis"]) == {"", ARITHMETIC}


# A small one, of which all is known


SMALL = {
    "shows": "ratios",
    "cells": [
        {
            "numbers": {"a": {"ratio": "0.3"}, "b": {"ratio": "1"}, "c": {"ratio": "0.5"}},
            "keys": ["cell"],
            "ours": "ratios",
        }
    ],
    "why": [
        {"status": REPRODUCED, "reason": "from the outputs"},
        {"cells": "b, *", "status": DIFFERS, "reason": "exchanged"},
        {"cells": "c, *", "status": NEEDS_MODEL, "reason": "no outputs"},
    ],
}


def small(values, **changes):
    papers = {"A paper": Paper.model_validate({"benchmark": "bench", "tables": {"Table 1": SMALL | changes}})}
    rows = [{"cell": cell, "metric": "ratio", "value": value, "published": "1"} for cell, value in values.items()]
    table = pd.DataFrame(rows, columns=["cell", "metric", "value", "published"])
    return papers, replication_report(papers, published_cells(papers, SHIPPED), {("bench", "ratios"): table}, {})


def test_each_cell_says_what_it_came_to_and_why():
    papers, report = small({"a": 0.3, "b": 0.8})
    assert report[["cell", "printed", "ours", "status", "reason"]].astype(object).where(
        report.notna(), None
    ).to_numpy().tolist() == [
        ["a, ratio", "0.3", 0.3, REPRODUCED, "from the outputs"],
        ["b, ratio", "1", 0.8, DIFFERS, "exchanged"],
        ["c, ratio", "0.5", None, NEEDS_MODEL, "no outputs"],
    ]
    assert report["difference"].round(6).tolist()[1] == -0.2
    assert stale(papers, report) == []


def test_one_table_of_a_paper_ends_with_the_paths_that_it_is_from():
    papers, report = small({"a": 0.3, "b": 0.8})
    text = one_paper(report, papers, "Table 1", ["results/ratios.csv"])
    assert text.startswith("A paper, Table 1: ratios\n") and text.endswith("\nresults/ratios.csv\n")
    assert "\n\ndiffers: exchanged\nneeds this model: no outputs\n\nresults" in text and len(text.splitlines()) == 11
    assert one_paper(report, papers, part_name("all"), []) == text.removesuffix("results/ratios.csv\n")
    with pytest.raises(UserError, match=r"Table 9: A paper has no such table or figure\. It has Table 1"):
        one_paper(report, papers, part_name("table-9"), [])


def test_what_computes_a_printed_table_is_told_by_its_name():
    assert computing("twbias", "Table 4") == {"gender"} and computing("twbias", "Table 99") == set()


def test_a_reason_that_holds_no_longer_explains_nothing():
    papers, report = small({"a": 0.2, "b": 1.0, "c": 0.5})
    assert report["status"].tolist() == [UNEXPLAINED, REPRODUCED, REPRODUCED]
    assert {why.status for _, _, why in stale(papers, report)} == {DIFFERS, NEEDS_MODEL}
    assert "1 are unexplained" in summarise(papers, report)


def test_two_reasons_for_one_cell_are_none():
    twice = [*SMALL["why"], {"cells": "a*", "status": REPRODUCED, "reason": "another"}]
    _, report = small({"a": 0.3, "b": 0.8}, why=twice)
    assert report["status"].tolist()[0] == UNEXPLAINED


def test_what_a_configuration_does_not_compute_says_so():
    _, report = small({"b": 0.8})
    assert report["status"].tolist()[0] == UNEXPLAINED and "not computed" in report["reason"].tolist()[0]


def test_a_missing_value_is_as_none():
    _, report = small({"a": float("nan"), "b": 0.8, "c": float("nan")})
    assert report["status"].tolist() == [UNEXPLAINED, DIFFERS, NEEDS_MODEL]


def test_a_status_is_one_of_few():
    assert set(STATUSES) - {UNEXPLAINED} == {
        "reproduced to the digit",
        "differs",
        "needs a download",
        "needs this model",
        "needs people",
        "no numbers",
    }
    with pytest.raises(ValidationError):
        small({}, why=[{"status": "close", "reason": "a guess"}])
