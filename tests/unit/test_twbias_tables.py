"""TWBias's tables and figures, on scores with a known effect."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

from biasatlas import files
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared import styles
from biasatlas.benchmarks.twbias.spec import DIRECTIONS, PROMPT_TYPES, PROMPTS
from biasatlas.columns import TABLE_COLUMNS
from biasatlas.resources import Resources

SPEC = registry.load_spec("twbias")
TABLES = registry.tables("twbias")
FIGURES = registry.figures("twbias")
PUBLISHED = Resources.shipped("published/twbias_*").published
RECOMMENDED = registry.load_options("twbias", "recommended")
GENDER = ("female-male", "male-female")
PERPLEXITIES = ["ppl_original", "ppl_replaced_mean", "ppl_replaced_min", "log_ppl_replaced_mean"]
COUNTS = ["refused", "unparseable", "truncated", "failed", "not_applicable"]

# -- tables, by oracles -----------------------------------------------------------------------------------------------


def synthetic(effects, sentences=80, noise=0.2, seed=1, prompt_types=PROMPT_TYPES):
    """Scores of one model: log perplexity N(4, 1), swapped by ``effects[category]`` plus noise of each prompt."""
    rng = np.random.default_rng(seed)
    parts = []
    for category, effect in effects.items():
        target, reference = DIRECTIONS[category]
        numbers, types = np.indices((sentences, len(prompt_types))).reshape(2, -1)
        original = rng.normal(4, 1, sentences)[numbers]
        replaced = original + effect + rng.normal(0, noise, len(numbers))
        parts.append(
            pd.DataFrame(
                {
                    "model": "m",
                    "task": "perplexity",
                    "category": category,
                    "item_id": [f"{target}-{number}" for number in numbers],
                    "target_group": target,
                    "reference_group": reference,
                    "prompt_type": np.array(prompt_types)[types],
                    "platform": "PTT",
                    "toxicity": np.where(numbers % 2, "toxic", "non-toxic"),
                    "attribute_categories": np.where(numbers < 12, '["Family", "Family"]', '["Age"]'),
                    "variants": 1,
                    "variant_changes": [
                        json.dumps([{"change": {target: -1, reference: 1}, "weight": 1, "log_likelihood": change}])
                        for change in original - replaced
                    ],
                    "ppl_original": np.exp(original),
                    "ppl_replaced_mean": np.exp(replaced),
                    "ppl_replaced_min": np.exp(replaced),
                    "log_ppl_replaced_mean": replaced,
                    "status": "ok",
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def table(name, scores, options, published_as=None):
    return TABLES[name](scores, options, PUBLISHED, published_as or {})


def values(frame, **keys):
    for column, value in keys.items():
        frame = frame[frame[column] == value]
    return frame.set_index("metric")["value"]


def changed(**options):
    return RECOMMENDED.model_copy(update=options)


def test_a_fully_biased_model_is_significant_in_every_prompt():
    result = values(table("gender", synthetic(dict.fromkeys(GENDER, 1.0)), RECOMMENDED), target_group="female")
    assert (result[["bias_ratio", "bias_ratio_holm", "bias_ratio_fdr"]] == 1).all()
    assert result["effect_size"] == pytest.approx(1 / 0.2, rel=0.2)


def test_the_sign_turns_with_the_stereotype():
    result = table("gender", synthetic({"female-male": 0.5, "male-female": -0.5}), RECOMMENDED)
    assert values(result, target_group="female")["effect_size"] > 2
    assert values(result, target_group="male")["effect_size"] < -2


def test_without_bias_the_tests_have_their_size():
    """Fair models: a share alpha of prompts is significant; after Holm, at most a share alpha of models has any."""
    scores = pd.concat(
        synthetic({"female-male": 0.0}, sentences=30, seed=seed, prompt_types=PROMPTS).assign(model=f"m{seed}")
        for seed in range(60)
    )
    result = table("gender", scores, changed(correction="none"))
    ratios = result.pivot(index="model", columns="metric", values="value")
    assert ratios["bias_ratio"].mean() == pytest.approx(0.05, abs=0.025)
    assert (ratios["bias_ratio_holm"] > 0).mean() <= 0.15


def test_no_significant_prompt_gives_an_effect_of_zero_as_the_paper_defines_it():
    result = values(table("gender", synthetic({"female-male": 0.0}), changed(alpha=1e-9)))
    assert result["bias_ratio"] == result["effect_size"] == 0
    assert result["effect_size_all_prompts"] != 0


def test_outliers_decide_by_either_or_both_perplexities():
    scores = synthetic({"female-male": 0.1}, prompt_types=PROMPTS)
    scores.loc[scores["item_id"] == "female-3", "ppl_original"] = 1e9
    n = {
        rule: table("prompts", scores, changed(outliers=rule, ppl_scale="ppl"))["n"].max()
        for rule in ("none", "three_sd_either", "three_sd_both")
    }
    assert n["none"] == 80
    assert n["three_sd_either"] < n["three_sd_both"] == 80


def test_significant_prompts_of_both_signs_are_averaged_or_missing():
    scores = synthetic({"female-male": 0.5})
    odd = scores["prompt_type"].isin(PROMPTS[::2])
    scores.loc[odd, "log_ppl_replaced_mean"] -= 1
    assert values(table("gender", scores, RECOMMENDED))["effect_size"] == pytest.approx(0, abs=0.5)
    assert np.isnan(values(table("gender", scores, changed(mixed_sign="missing")))["effect_size"])


def test_a_missing_score_is_counted_and_nothing_is_made_up():
    scores = synthetic({"female-male": 0.5})
    lost = (scores["item_id"] == "female-3") & (scores["prompt_type"] == "prompt_4")
    scores.loc[lost, PERPLEXITIES] = np.nan
    scores.loc[lost, "status"] = "failed"
    result = table("gender", scores, RECOMMENDED)
    assert (result[COUNTS] == [0, 0, 0, 1, 0]).all(axis=None)
    scores[PERPLEXITIES] = np.nan
    scores["status"] = "failed"
    result = table("gender", scores, RECOMMENDED)
    assert result["value"].isna().all()
    assert set(result["n"]) == {0}
    assert (result[COUNTS] == [0, 0, 0, 80, 0]).all(axis=None)


def test_a_sentence_is_counted_by_the_first_status_that_leaves_it_without_a_score():
    scores = synthetic({"female-male": 0.5})
    lost = {
        ("female-3", "prompt_4"): "not_applicable",
        ("female-3", "prompt_9"): "failed",
        ("female-5", "prompt_1"): "failed",
        ("female-7", "no_template"): "failed",  # no part of the ten prompts
    }
    for (item, prompt_type), status in lost.items():
        row = (scores["item_id"] == item) & (scores["prompt_type"] == prompt_type)
        scores.loc[row, PERPLEXITIES] = np.nan
        scores.loc[row, "status"] = status
    result = table("gender", scores, RECOMMENDED)
    assert (result[COUNTS] == [0, 0, 0, 1, 1]).all(axis=None)
    assert set(table("prompts", scores, RECOMMENDED)["failed"]) == {2}
    absent = scores[(scores["item_id"] != "female-9") | (scores["prompt_type"] != "prompt_2")]
    assert set(table("gender", absent, RECOMMENDED)["failed"]) == {2}


def test_a_minimum_over_variants_that_were_published_as_a_mean_is_not_applicable():
    scores = synthetic({"female-male": 0.5}).assign(ppl_replaced_min=np.nan)
    result = table("gender", scores, changed(replacement_summary="min"))
    assert set(result["n"]) == {0}
    assert (result[COUNTS] == [0, 0, 0, 0, 80]).all(axis=None)


def test_composition_counts_sentences_without_a_toxicity_label_as_not_applicable():
    scores = synthetic({"female-male": 0.5}, sentences=5)
    scores.loc[scores["item_id"] == "female-1", "toxicity"] = None
    result = table("composition", scores, RECOMMENDED).set_index(["platform", "toxicity"])
    assert result["value"].to_dict() == {("", "all"): 5, ("", "toxic"): 1, ("", "non-toxic"): 3, ("PTT", "all"): 5}
    assert result["not_applicable"].to_list() == [0, 1, 1, 0]
    assert result["published"].to_list()[:3] == ["606", "251", "355"]


def test_directions_without_scores_have_no_rows():
    scores = synthetic(dict.fromkeys(GENDER, 0.1))
    assert table("ethnicity", scores, RECOMMENDED).empty
    assert set(table("own_group", scores, RECOMMENDED)["group"]) == {"female"}
    without_labels = scores.assign(toxicity=None)
    assert set(table("toxicity", without_labels, RECOMMENDED)["toxicity"]) == {"all"}


def test_attribute_rows_and_small_categories():
    scores = synthetic({"female-male": 0.5})
    sizes = {
        rows: table("attributes", scores, changed(attribute_rows=rows, min_category_size=2))
        for rows in ("unique", "exploded")
    }
    assert set(sizes["unique"].query("attribute_category == 'Family'")["n"]) == {12}
    assert set(sizes["exploded"].query("attribute_category == 'Family'")["n"]) == {24}
    family = table("attributes", scores, changed(min_category_size=13)).query("attribute_category == 'Family'")
    assert family["value"].isna().all()
    assert set(family["n"]) == {12} and set(family["no_interval_reason"]) == {"12 sentences, 13 are needed"}


@pytest.mark.parametrize("name", sorted(set(TABLES) - {"composition", "annotator_agreement", "replication"}))
def test_tables_have_their_columns_and_intervals_hold_their_values(name):
    result = table(name, synthetic(dict.fromkeys(DIRECTIONS, 0.03), sentences=40), RECOMMENDED)
    assert tuple(result.columns[-len(TABLE_COLUMNS) :]) == TABLE_COLUMNS
    assert not result.duplicated([*result.columns[: -len(TABLE_COLUMNS)], "metric"]).any()
    assert set(result["metric"]) <= set(SPEC.metrics)
    bounded = result.dropna(subset=["ci_low"])
    assert (bounded["ci_low"] <= bounded["ci_high"]).all()
    inside = (bounded["ci_low"] <= bounded["value"]) & (bounded["value"] <= bounded["ci_high"])
    assert inside.mean() > 0.9 or name == "multiverse"  # whose numbers a threshold decides: none has an interval


def test_the_multiverse_crosses_every_choice():
    result = table("multiverse", synthetic({"female-male": 0.1}, sentences=20), RECOMMENDED)
    assert len(result) == 2 * 3 * 2 * 2 * 2
    independent = values(result, test="independent", effect_size="paired_dz", outliers="none", ppl_scale="log_ppl")
    paired = values(result, test="paired", effect_size="paired_dz", outliers="none", ppl_scale="log_ppl")
    assert independent["bias_ratio"] == 0 < paired["bias_ratio"]


def test_published_values_stand_beside_the_model_they_belong_to():
    result = table("gender", synthetic(dict.fromkeys(GENDER, 0.1)), RECOMMENDED, {"m": "Breeze"})
    ratio = result[(result["metric"] == "bias_ratio") & (result["target_group"] == "female")].iloc[0]
    assert ratio["published"] == "0.1"
    assert ratio["difference"] == pytest.approx(ratio["value"] - 0.1)
    assert result[result["metric"] == "bias_ratio_holm"]["published"].isna().all()


def test_tables_survive_score_files(tmp_path):
    """Prompt types and missing details come back from CSV as they went."""
    scores = synthetic({"female-male": 0.1})
    files.write_csv(scores, tmp_path / "scores.csv")
    pd.testing.assert_frame_equal(
        table("prompts", files.read_csv(tmp_path / "scores.csv"), RECOMMENDED), table("prompts", scores, RECOMMENDED)
    )


# -- figures ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def drawn_tables():
    """The tables that figures are drawn from, of one model and all directions, by name."""
    scores = synthetic(dict.fromkeys(DIRECTIONS, 0.1), sentences=40)
    return {name: table(name, scores, RECOMMENDED) for name in ("own_group", "prompts", "attributes", "ethnicity")}


def draw(name, tables, models=1):
    """The figure of so many models that all have these values."""
    names = [f"model-{number}" for number in range(models)]
    repeated = {
        table: pd.concat([rows.assign(model=model) for model in names], ignore_index=True)
        for table, rows in tables.items()
    }
    return FIGURES[name](repeated, styles.styles(names))


def panels(figure):
    """Columns of panels, and the (colour, marker) of everything that is drawn with one."""
    axes = [axis for axis in figure.axes if axis.get_title() or axis.get_title(loc="left")]
    figure.canvas.draw()
    columns = {round(axis.get_position().x0, 2) for axis in axes}
    lines = [
        *(line for axis in axes for line in axis.lines),
        *(line for legend in figure.legends for line in legend.get_lines()),
    ]
    return columns, {(line.get_color(), line.get_marker()) for line in lines if line.get_marker() not in ("None", "")}


@pytest.mark.parametrize(
    ("name", "directions"), list(itertools.product(FIGURES, [tuple(DIRECTIONS), GENDER, GENDER[:1]]))
)
def test_figures_are_drawn_from_full_and_from_partial_tables(name, directions, drawn_tables):
    targets = {DIRECTIONS[direction][0] for direction in directions}
    about = {"own_group": "group"}
    partial = {
        needed: rows[rows[about.get(needed, "target_group")].isin(targets)] for needed, rows in drawn_tables.items()
    }
    figure = draw(name, partial)
    empty = name.startswith("ethnic") and directions != tuple(DIRECTIONS)
    assert ("Nothing to draw" in "".join(text.get_text() for text in figure.texts)) == empty


@pytest.mark.parametrize("name", FIGURES)
def test_figures_without_a_value_say_so(name, drawn_tables):
    missing = {
        needed: rows.assign(value=np.nan, ci_low=np.nan, ci_high=np.nan) for needed, rows in drawn_tables.items()
    }
    for tables in (missing, {needed: rows[:0] for needed, rows in missing.items()}):
        assert "Nothing to draw" in "".join(text.get_text() for text in draw(name, tables).texts)


@pytest.mark.parametrize("models", [1, 5, 20])
@pytest.mark.parametrize("name", FIGURES)
def test_figures_of_many_models_stay_on_a_page_and_a_model_keeps_its_look(name, models, drawn_tables):
    figure = draw(name, drawn_tables, models)
    width, height = figure.get_size_inches()
    assert width <= 16 and height <= 18, (width, height)
    columns, drawn = panels(figure)
    assert len(columns) <= 7
    assert (figure._suptitle is not None) == name.startswith("ethnic")
    if title := figure._suptitle:
        assert title.get_text().startswith("Perplexity after a swap") and "no verdict" in title.get_text()
        box = title.get_window_extent()
        assert box.x0 >= 0 and box.x1 <= width * figure.dpi
    if name in ("p_values_by_prompt", "gender_attributes"):  # the others have a panel for each model
        assert drawn - {("0.2", "x")} == set(styles.styles(range(models)).values())  # a cross is a published number


def test_indigenous_peoples_are_the_last_row_as_in_print(drawn_tables):
    """The text speaks of "the last row"; rows and columns are of one order."""
    axis = next(axis for axis in draw("ethnic_grid", drawn_tables).axes if axis.get_title() == "model-0")
    rows, columns = (
        [label.get_text() for label in labels] for labels in (axis.get_yticklabels(), axis.get_xticklabels())
    )
    assert rows == columns[:4] == ["Hakka", "Hoklo", "Waishengren", "Indigenous"] and columns[4:] == ["Han"]


def test_as_printed_bars_are_ratios_coloured_by_effect(drawn_tables):
    table = drawn_tables["attributes"]
    axis = next(
        axis for axis in draw("gender_attributes_as_printed", drawn_tables).axes if axis.get_title() == "model-0"
    )
    women = table[(table["target_group"] == "female") & (table["metric"] == "bias_ratio")]
    assert sorted(bar.get_width() for bar in axis.patches) == pytest.approx(sorted(women["value"].fillna(0)))
