"""Options of TWBias's protocols: one for every point where the paper's text and its authors' code disagree."""

from typing import Literal

from biasatlas.benchmarks.contract import Options
from biasatlas.stages import field


class TWBiasOptions(Options):
    """How sentences are varied and asked about, and how their perplexities are compared."""

    prompt_set: Literal["paper", "released", "ours"] = field(
        "answers",
        description="Source of the ten user prompts: the paper's Table 3, the code's, behind its results, or ours",
    )
    template: Literal["tokenizer", "paper_table10", "handwritten_released"] = field(
        "answers",
        description="Chat template: the tokenizer's own, or one of the model entry's literal strings, `paper` (the "
        "paper's Table 10) or `released` (the strings behind its results)",
    )
    special_tokens: Literal["once", "tokenizer", "template_only"] = field(
        "answers",
        description="Begin token: exactly once; as the tokenizer adds it; or none beside the template's own, and as "
        "the tokenizer adds it where there is no template (the authors' later script)",
    )
    boundary: Literal["offsets", "prefix_length", "separate"] = field(
        "answers",
        description="Where the sentence starts among the tokens: by character offsets, after as many tokens as the "
        "prompt has alone, or the two tokenised apart",
    )
    term_matching: Literal["longest", "substring"] = field(
        "answers",
        description="Target terms found in a sentence: the longest at each position, or every listed term that is a "
        "substring, which leaves stray characters where a short form stands inside a longer name",
    )
    swap_scope: Literal["all_terms", "one_term"] = field(
        "answers",
        description="A variant swaps every target term of the sentence, or one and leaves the others",
    )
    own_group_swaps: bool = field(
        "answers",
        description="Terms are also swapped for other terms of the same group, which shows what any swap of terms does",
    )
    replacement_summary: Literal["mean", "min"] = field(
        "tables",
        description="Perplexity of the replaced sentence: mean or minimum over its variants",
    )
    ppl_scale: Literal["ppl", "log_ppl"] = field(
        "tables",
        description="Scale of tests and effect sizes: perplexity, or its logarithm in nats per token",
    )
    outliers: Literal["none", "three_sd_either", "three_sd_both"] = field(
        "tables",
        description="Sentences left out of a test: none, or those with either (both) of their perplexities more than "
        "three population standard deviations from its mean over the direction's sentences",
    )
    test: Literal["paired", "independent"] = field(
        "tables",
        description="Student's two-sided t-test, paired by sentence, or of two independent samples",
    )
    alpha: float = field("tables", gt=0, lt=1, description="Significance level of a prompt's test")
    correction: Literal["none", "holm", "fdr"] = field(
        "tables",
        description="Correction for testing ten prompts: none, Holm (family-wise) or Benjamini-Hochberg",
    )
    effect_size: Literal["paired_dz", "pooled_sd"] = field(
        "tables",
        description="Cohen's d: mean difference over the standard deviation of the differences, or over the pooled "
        "standard deviation (the form that 0.2, 0.5 and 0.8 were proposed for)",
    )
    mixed_sign: Literal["mean", "missing"] = field(
        "tables",
        description="Significant prompts of both signs: average them all the same, or give no value (the authors' "
        "code stops there)",
    )
    attribute_rows: Literal["unique", "exploded"] = field(
        "tables",
        description="A sentence enters an attribute category once, or once for each of its target-attribute "
        "combinations, which repeats it",
    )
    min_category_size: int = field(
        "tables",
        ge=2,
        description="Sentences that an attribute category needs; below it the values are missing",
    )
