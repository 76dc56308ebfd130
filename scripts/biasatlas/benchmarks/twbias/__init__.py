"""TWBias: social bias in Traditional Chinese, as the perplexity of sentences whose target group is swapped."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from biasatlas.benchmarks.contract import Benchmark, Figure, Metric, Table, Task

#: Prompt types in the paper's order: its type 0 (no template), 00 (the template with an empty user prompt) and 1 to 10
#: (the user prompts). Only the ten prompts enter a bias ratio. In words, for 0 and 00 are one number to a CSV reader.
PROMPTS = tuple(f"prompt_{number}" for number in range(1, 11))
PROMPT_TYPES = ("no_template", "empty_prompt", *PROMPTS)

GENDERS = ("female", "male")
ETHNIC_GROUPS = ("indigenous", "hakka", "hoklo", "waishengren")

#: Category of the task -> (target group of the sentences, reference group swapped in). Han has no sentences of its own.
DIRECTIONS = {
    f"{target}-{reference}": (target, reference)
    for groups, references in ((GENDERS, GENDERS), (ETHNIC_GROUPS, (*ETHNIC_GROUPS, "han")))
    for target in groups
    for reference in references
    if reference != target
}

#: Names of the groups in the paper, which its published tables are keyed by.
GROUP_NAMES = {
    "female": "Female",
    "male": "Male",
    "indigenous": "Indigenous Peoples",
    "hakka": "Hakka",
    "hoklo": "Hoklo",
    "waishengren": "Waishengren",
    "han": "Han",
}

_TASKS = ("perplexity",)
_SIGN = "above: the model finds the stereotype likelier of the target group; below: likelier of the reference group"
_SHARE = "above: in that share of the ten prompts the swap changes perplexity significantly, in either sense"

SPEC = Benchmark(
    title="TWBias",
    language="zh-Hant",
    citation=(
        "Hsin-Yi Hsieh, Shih-Cheng Huang and Richard Tzong-Han Tsai. TWBias: A Benchmark for Assessing Social Bias in "
        "Traditional Chinese Large Language Models through a Taiwan Cultural Lens. Findings of EMNLP 2024."
    ),
    sources=("twbias",),
    sample="twbias",
    tasks={"perplexity": Task(kind="likelihood", categories=tuple(DIRECTIONS))},
    tables={
        "composition": Table("Sentences by target group, platform and toxicity", _TASKS, "twbias_composition"),
        "gender": Table("Gender bias: share of significant prompts and effect size", _TASKS, "twbias_gender"),
        "ethnicity": Table(
            "Ethnic bias: share of significant prompts and effect size, by target and reference group",
            _TASKS,
            "twbias_ethnicity_recomputed",
        ),
        "toxicity": Table("Gender bias in toxic and non-toxic sentences", _TASKS, "twbias_toxicity"),
        "attributes": Table("Bias by attribute category", _TASKS),
        "prompts": Table("Every test behind the bias ratios, by prompt type, with types 0 and 00", _TASKS),
        "multiverse": Table("Gender bias under every choice of test, outlier rule, scale and effect size", _TASKS),
        "double_difference": Table(
            "Stereotypes kept apart from a general preference for one group's terms, by pair of groups", _TASKS
        ),
    },
    figures={
        "p_values_by_prompt": Figure("P-value of the gender swap by prompt type (Figure 2 of the paper)", ("prompts",)),
        "gender_attributes": Figure("Gender bias by attribute category (Figure 3 of the paper)", ("attributes",)),
        "ethnic_grid": Figure("Ethnic bias by target and reference group (Figure 5 of the paper)", ("ethnicity",)),
        "ethnic_attributes": Figure("Ethnic bias by attribute category (Figure 6 of the paper)", ("attributes",)),
    },
    metrics={
        "bias_ratio": Metric(0.0, _SHARE),
        "bias_ratio_holm": Metric(0.0, _SHARE + " (family-wise error held at alpha over the ten prompts)"),
        "bias_ratio_fdr": Metric(0.0, _SHARE + " (false discovery rate held at alpha over the ten prompts)"),
        "effect_size": Metric(0.0, _SIGN + "; mean over the significant prompts, 0 if there is none"),
        "effect_size_all_prompts": Metric(0.0, _SIGN + "; mean over all ten prompts"),
        "mean_difference": Metric(0.0, _SIGN + "; mean perplexity (or log perplexity) replaced minus original"),
        "t": Metric(0.0, _SIGN),
        "p_value": Metric(None, "below alpha: a difference this large is unlikely without an effect of the swap"),
        "double_difference": Metric(
            0.0,
            "above: each group's stereotypes are likelier of that group than of the other, whichever group's terms the "
            "model prefers",
            "nats per token",
        ),
        "double_difference_d": Metric(0.0, "as double_difference, over the pooled standard deviation"),
        "double_difference_p": Metric(None, "as p_value, of the double difference"),
        "sentences": Metric(None, "a count"),
    },
    released={
        "Taiwan-LLM-7B-v2.0.1-chat": "twbias_taiwan_llm",
        "Breeze-7B-Instruct-v0_1": "twbias_breeze",
    },
    released_tasks=_TASKS,
)


class OPTIONS(BaseModel):
    """Options of TWBias: one for every point where the paper's text and its authors' code disagree.

    The first six shape the requests, the others only the scores and tables: changing those asks no model again.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt_set: Annotated[
        Literal["paper", "released"],
        Field(description="Wording of the ten user prompts: the paper's Table 3, or the code's, behind its results"),
    ]
    template: Annotated[
        Literal["tokenizer", "paper_table10", "handwritten_released"],
        Field(
            description="Chat template: the tokenizer's own, or one of the model entry's literal strings, `paper` (the "
            "paper's Table 10) or `released` (the strings behind its results)"
        ),
    ]
    special_tokens: Annotated[
        Literal["once", "tokenizer", "template_only"],
        Field(
            description="Begin token exactly once, whatever the tokenizer adds, or none beside the template's own and "
            "whatever the tokenizer adds where there is no template (the authors' later script)"
        ),
    ]
    boundary: Annotated[
        Literal["offsets", "prefix_length", "separate"],
        Field(
            description="Where the sentence starts among the tokens: by character offsets, after as many tokens as the "
            "prompt has alone, or the two tokenised apart"
        ),
    ]
    term_matching: Annotated[
        Literal["longest", "substring"],
        Field(
            description="Target terms found in a sentence: the longest at each place, or every listed term that is a "
            "substring, which leaves stray characters where a short form stands inside a longer name"
        ),
    ]
    swap_scope: Annotated[
        Literal["all_terms", "one_term"],
        Field(description="A variant swaps every target term of the sentence, or one and leaves the others"),
    ]
    replacement_summary: Annotated[
        Literal["mean", "min"],
        Field(description="Perplexity of the replaced sentence: mean or minimum over its variants"),
    ]
    ppl_scale: Annotated[
        Literal["ppl", "log_ppl"],
        Field(description="Scale of tests and effect sizes: perplexity, or its logarithm in nats per token"),
    ]
    outliers: Annotated[
        Literal["none", "three_sd_either", "three_sd_both"],
        Field(
            description="Sentences left out of a test: none, or those with either (both) of their perplexities more "
            "than three population standard deviations from its mean over the direction's sentences"
        ),
    ]
    test: Annotated[
        Literal["paired", "independent"],
        Field(description="Student's two-sided t-test, paired by sentence, or of two independent samples"),
    ]
    alpha: Annotated[float, Field(gt=0, lt=1, description="Significance level of a prompt's test")]
    correction: Annotated[
        Literal["none", "holm", "fdr"],
        Field(description="Correction for testing ten prompts: none, Holm (family-wise) or Benjamini-Hochberg"),
    ]
    effect_size: Annotated[
        Literal["paired_dz", "pooled_sd"],
        Field(
            description="Cohen's d: mean difference over the standard deviation of the differences, or over the pooled "
            "standard deviation (the form that 0.2, 0.5 and 0.8 were proposed for)"
        ),
    ]
    mixed_sign: Annotated[
        Literal["mean", "missing"],
        Field(
            description="Significant prompts of both signs: average them all the same, or give no value (the authors' "
            "code stops there)"
        ),
    ]
    attribute_rows: Annotated[
        Literal["unique", "exploded"],
        Field(
            description="A sentence enters an attribute category once, or once for each of its target-attribute "
            "combinations, which repeats it"
        ),
    ]
    min_category_size: Annotated[
        int, Field(ge=2, description="Sentences that an attribute category needs; below it the values are missing")
    ]
