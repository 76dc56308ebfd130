"""Agreement among annotators, and of a judge with people, from files of the user's own."""

import pytest
from mcbe_cases import PROTOCOLS, PUBLISHED, SPEC, row

from biasatlas.benchmarks import registry
from biasatlas.errors import UserError

OPTIONS = PROTOCOLS["recommended"]
TABLES = registry.tables("mcbe")


def annotations(tmp_path, rows, header="category,item_id,rater,severity"):
    path = tmp_path / "annotations.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_annotator_agreement(tmp_path):
    """Two raters, four items, levels (0,0) (0,4) (4,4) (4,4): observed 3/4, chance (9 + 25) / 64, kappa 0.4667."""

    def agreement(rows):
        return TABLES["annotator_agreement"](annotations(tmp_path, rows), OPTIONS, PUBLISHED, {})

    pairs = [(0, 0.5), (0, 9), (8, 10), (9, 9)]
    rows = [f"age,{item},{rater},{score}" for item, pair in enumerate(pairs) for rater, score in enumerate(pair)]
    table = agreement(rows)
    found = row(table, category="age")
    assert found["value"] == pytest.approx((3 / 4 - 34 / 64) / (1 - 34 / 64))
    assert (found["published"], found["n"]) == ("0.65", 4)
    assert row(table, category="mean")["published"] == "0.67"
    with pytest.raises(UserError, match=r"line 2, column severity: '11'"):
        agreement(["age,1,1,11"])
    with pytest.raises(UserError, match=r"line 2: item_id is ''\. Expected a text"):
        agreement(["age,,1,1"])
    with pytest.raises(UserError, match="different numbers of raters"):
        agreement([*rows, "age,9,0,1"])


def test_judge_agreement(tmp_path):
    def agreement(rows, names, header="model_a,model_b,item_id,judge,human"):
        return TABLES["judge_agreement"](annotations(tmp_path, rows, header), OPTIONS, PUBLISHED, names)

    rows = [f"x,y,{item},{judge},{human}" for item, (judge, human) in enumerate(["aa", "ab", "bb", "bb"])]
    # The names of the configuration, in the other order than the paper's.
    table = agreement(rows, {"x": "Baichuan2-Chat-7B", "y": "InternLM2.5-7B-Chat"})
    assert (row(table, model_a="x")["value"], row(table, model_a="x")["published"]) == (75, "81.3")
    assert row(table, model_a="mean")["published"] == "83.7"
    assert set(table["metric"]) <= set(SPEC.metrics)
    with pytest.raises(UserError, match=r"line 2, column judge: 'c'. Expected a, b or tie"):
        agreement(["x,y,1,c,a"], {})
    with pytest.raises(UserError, match=r"line 6, column item_id: '0'. Expected one row per item and pair of models"):
        agreement([*rows, rows[0]], {})
    with pytest.raises(UserError, match="no column 'human'"):
        agreement(["x,y,1,a"], {}, "model_a,model_b,item_id,judge")
