"""The report page: self-contained, honest about demonstrations, and closed to what models write."""

import math

import pandas as pd
import pytest

from biasatlas.report.page import ROWS_SHOWN, cell, page

MODELS = {"m": {"kind": "planted", "odds_ratio": 4.0, "seed": 1}}


def run(folder, table, data="sample"):
    path = folder / "gender.csv"
    table.to_csv(path, index=False)
    figure = folder / "ethnic_grid.svg"
    figure.write_text("<svg/>")
    return {
        "benchmark": "twbias",
        "protocol": "recommended",
        "data": data,
        "left_out": ["twbias: task perplexity is left out: <i>reason</i>"],
        "tables": {"gender": str(path)},
        "figures": {"ethnic_grid": str(figure)},
    }


def test_what_models_write_is_escaped(tmp_path):
    table = pd.DataFrame({"model": ["</script><script>alert(1)</script>"], "metric": ["bias_ratio"], "value": [0.25]})
    text = page([run(tmp_path, table)], MODELS | {"<b>": MODELS["m"]}, [], {})
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "<b></td>" not in text
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert "https://" not in text


def test_a_demonstration_is_called_one(tmp_path):
    table = pd.DataFrame({"model": ["m"], "metric": ["bias_ratio"], "value": [0.25]})
    assert "Demonstration" in page([run(tmp_path, table)], MODELS, [], {})
    real = {"m": {"kind": "hf", "source": "owner/name", "revision": "main"}}
    assert "Demonstration" not in page([run(tmp_path, table, "full")], real, [], {})


def test_long_tables_say_what_they_leave_out(tmp_path):
    table = pd.DataFrame({"model": "m", "metric": "bias_ratio", "value": range(ROWS_SHOWN + 5)})
    text = page([run(tmp_path, table)], MODELS, [], {})
    assert f"The first {ROWS_SHOWN} of {ROWS_SHOWN + 5} rows" in text
    assert "tables/twbias/recommended/gender.csv" in text


def test_what_was_spent_is_added_up(tmp_path):
    answers = {"calls": 10, "failed": 1, "prompt_tokens": 100, "completion_tokens": 50, "cost": 0.25, "currency": "USD"}
    text = page([], MODELS, [], {"judge": [answers, answers]})
    assert "0.5 USD" in text
    assert ">20<" in text


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.123456, "0.1235"), (606.0, "606"), (math.nan, ""), (None, ""), ("x", "x"), (5.46e-18, "5.46e-18"), (3, "3")],
)
def test_cell(value, shown):
    assert cell(value) == shown
