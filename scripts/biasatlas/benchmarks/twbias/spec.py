"""What TWBias declares: its options, prompts, groups and directions, its columns, and what the workflow plans with."""

from typing import Literal

from biasatlas.benchmarks.contract import (
    Figure,
    Headline,
    Metric,
    Multiverse,
    Need,
    Options,
    ScoreView,
    Spec,
    Table,
    Task,
)
from biasatlas.benchmarks.shared.metrics import P_VALUE
from biasatlas.columns import Columns, Factor
from biasatlas.stages import field


class TWBiasOptions(Options):
    """How sentences are varied and asked about, and how their perplexities are compared."""

    prompt_set: Literal["paper", "released", "ours"] = field(
        "answers",
        description="The ten user prompts: the paper's Table 3 (`paper`), those in the authors' code, behind "
        "their results (`released`), or ours",
    )
    template: Literal["tokenizer", "paper_table10", "handwritten_released"] = field(
        "answers",
        description="Chat template: the tokenizer's own, or one in the model's entry: `templates.paper` (the "
        "paper's Table 10) or `templates.released` (the one behind the paper's results)",
    )
    special_tokens: Literal["once", "tokenizer", "template_only"] = field(
        "answers",
        description="Begin token: exactly once (`once`), as the tokenizer adds it (`tokenizer`), or only the "
        "template's own (`template_only`, the authors' later script; without a template, as the "
        "tokenizer adds it)",
    )
    boundary: Literal["offsets", "prefix_length", "separate"] = field(
        "answers",
        description="The sentence's first token: found by character offsets (`offsets`), taken to follow as many "
        "tokens as the prompt alone has (`prefix_length`), or tokenised apart (`separate`)",
    )
    term_matching: Literal["longest", "substring"] = field(
        "answers",
        description="Target terms found in a sentence: the longest at each position (`longest`), or every listed "
        "term that occurs (`substring`), also inside a longer name",
    )
    swap_scope: Literal["all_terms", "one_term"] = field(
        "answers",
        description="A variant of a sentence swaps all its target terms (`all_terms`), or one (`one_term`)",
    )
    own_group_swaps: bool = field(
        "answers",
        description="Also swap terms for others of the same group, to show what any swap does",
    )
    replacement_summary: Literal["mean", "min"] = field(
        "tables",
        description="Perplexity of the replaced sentence: the `mean` or the `min` over its variants",
    )
    ppl_scale: Literal["ppl", "log_ppl"] = field(
        "tables",
        description="Test perplexities (`ppl`), or their logarithms (`log_ppl`)",
    )
    outliers: Literal["none", "three_sd_either", "three_sd_both"] = field(
        "tables",
        description="Sentences left out of a test: those with either perplexity (`three_sd_either`) or both "
        "(`three_sd_both`) more than three standard deviations from its mean, or none",
    )
    test: Literal["paired", "independent"] = field(
        "tables",
        description="Student's two-sided t-test: `paired` by sentence, or of two `independent` samples",
    )
    alpha: float = field("tables", gt=0, lt=1, description="Significance level of a prompt's test")
    correction: Literal["none", "holm", "fdr"] = field(
        "tables",
        description="Correction for testing ten prompts: `none`, Holm's (`holm`) or Benjamini-Hochberg's (`fdr`)",
    )
    effect_size: Literal["paired_dz", "pooled_sd"] = field(
        "tables",
        description="Cohen's d: the mean difference over the SD of the differences (`paired_dz`), or over the pooled "
        "SD (`pooled_sd`), to which the cutoffs 0.2, 0.5, 0.8 apply",
    )
    mixed_sign: Literal["mean", "missing"] = field(
        "tables",
        description="If significant effects differ in sign: their `mean`, or no value (`missing`; the authors' "
        "code stops there)",
    )
    attribute_rows: Literal["unique", "exploded"] = field(
        "tables",
        description="A sentence enters an attribute category once (`unique`), or once for each pair of a target "
        "and an attribute that the data give for it (`exploded`)",
    )
    min_category_size: int = field(
        "tables",
        ge=2,
        description="Minimum sentences in an attribute category; below it, values are missing",
    )


#: The ten user prompts; only these enter a bias ratio.
PROMPTS = tuple(f"prompt_{number}" for number in range(1, 11))

#: Prompt types in the paper's order: its type 0 (no template), 00 (the template with an empty user prompt) and 1 to 10
#: (the user prompts). Named in words, since 0 and 00 are one number to a CSV reader.
PROMPT_TYPES = ("no_template", "empty_prompt", *PROMPTS)

GENDERS = ("female", "male")
ETHNIC_GROUPS = ("indigenous", "hakka", "hoklo", "waishengren")

#: The smallest effect that matters, in nats a sentence.
SMALLEST = 0.1

#: Reference groups of everyday words -> gender. Any of these words can replace any other, whereas the lists of genders
#: are pairs.
WORDS = {"women": "female", "men": "male"}

#: Category of the task -> (target group of the sentences, reference group swapped in). Han has no sentences of its own.
#: An ethnic group's terms can be swapped for one another, too, and so can the words for a gender: the effect of that is
#: no stereotype.
DIRECTIONS = {
    f"{target}-{reference}": (target, reference)
    for groups, references in ((GENDERS, (*GENDERS, *WORDS)), (ETHNIC_GROUPS, (*ETHNIC_GROUPS, "han")))
    for target in groups
    for reference in references
    if reference != target or target in ETHNIC_GROUPS
}


def of_group(reference: str) -> str:
    """The group whose terms a reference group has."""
    return WORDS.get(reference, reference)


#: Categories that the paper does not have: swaps inside a group, and swaps of everyday words.
CONTROLS = {name for name, (target, reference) in DIRECTIONS.items() if target == reference or reference in WORDS}

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

ITEM_COLUMNS: Columns = {
    "item_id": "string",
    "target_group": "string",
    "sentence": "string",
    "platform": "string",
    "toxicity": "string",
    "attribute_categories": "string",
    "swaps": "string",
}

#: Key columns of requests beside those of every benchmark.
REQUEST_KEYS: Columns = {
    "prompt_type": "string",
    "reference_group": "string",
    "variant": "integer",
    "weight": "integer",
    "change": "string",
}

SCORE_COLUMNS = (
    "item_id",
    "target_group",
    "reference_group",
    "prompt_type",
    "platform",
    "toxicity",
    "attribute_categories",
    "variants",
    "variant_changes",
    "tokens_original",
    "tokens_replaced",
    "ppl_original",
    "ppl_replaced_mean",
    "ppl_replaced_min",
    "log_ppl_replaced_mean",
    "status",
    "detail",
)

#: Prompts are the authors' ten. A claim is about other terms of the groups, too: each swap has a cost of its own in
#: each model, and many sentences share a swap, so such costs do not average out over sentences.
DESIGN = {
    "sentence": Factor(scores=("item_id",), items=("item_id",), within="term pair", sampled=True),
    "term pair": Factor(scores=("variant_changes",), items=("swaps",), sampled=True),
    "prompt": Factor(scores=("prompt_type",)),
    "attribute": Factor(scores=("attribute_categories",), items=("attribute_categories",)),
}


_TASKS = ("perplexity",)
_SIGN = "above: the model finds the stereotype likelier for the target group; below: for the reference group"
_SHARE = "above: in that share of the ten prompts the swap changes perplexity significantly, in either sense"

SPEC = Spec(
    title="TWBias",
    language="zh-Hant",
    citation=(
        "Hsin-Yi Hsieh, Shih-Cheng Huang and Richard Tzong-Han Tsai. TWBias: A Benchmark for Assessing Social Bias in "
        "Traditional Chinese Large Language Models through a Taiwan Cultural Lens. Findings of EMNLP 2024."
    ),
    options=TWBiasOptions,
    sources=("twbias",),
    sample="twbias",
    items=ITEM_COLUMNS,
    design=DESIGN,
    tasks={
        "perplexity": Task(kind="likelihood", categories=tuple(DIRECTIONS), scores=SCORE_COLUMNS, requests=REQUEST_KEYS)
    },
    tables={
        "own_group": Table(
            "How much likelier sentences are with their own group's terms, beyond the terms themselves", _TASKS
        ),
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
        "annotator_agreement": Table(
            "Agreement of annotators with the authors' labels, and with one another (Table 8)",
            (),
            "twbias_kappa",
            source="twbias_annotations",
        ),
        "replication": Table("Printed means, recomputed from the published numbers (Table 12)", ()),
        "multiverse": Table("Gender bias under every choice of test, outlier rule, scale and effect size", _TASKS),
    },
    figures={
        "own_group": Figure("How much likelier a stereotype is about its own group than about another", ("own_group",)),
        "p_values_by_prompt": Figure("P-value of the gender swap by prompt type", ("prompts",)),
        "p_values_as_printed": Figure(
            "P-value of the swap of women's sentences by prompt (Figures 2 and 7, behind Tables 4 and 11 of the paper)",
            ("prompts",),
        ),
        "gender_attributes": Figure(
            "Effect of the gender swap by attribute category, over all prompts", ("attributes",)
        ),
        "gender_attributes_as_printed": Figure(
            "Bias ratio and effect size of women's sentences by attribute category (Figure 3 of the paper)",
            ("attributes",),
        ),
        "ethnic_grid": Figure(
            "Effect of every ethnic swap, the likelihood of the terms themselves in it: no verdict on bias (Figure 5 "
            "of the paper)",
            ("ethnicity",),
        ),
        "ethnic_attributes": Figure("Effect of ethnic swaps by attribute category, over all prompts", ("attributes",)),
        "ethnic_attributes_as_printed": Figure(
            "Bias ratio and effect size of sentences about Indigenous Peoples (Figure 6 of the paper)", ("attributes",)
        ),
    },
    metrics={
        "own_term_advantage": Metric(
            0.0,
            "above: sentences are likelier with the term their writer chose than the terms' own likelihood explains; a "
            "model that finds any edited sentence less likely has it, too",
            "nats a sentence",
        ),
        "own_term_advantage_per_token": Metric(0.0, "as own_term_advantage, of means over variants", "nats a token"),
        "own_group_advantage": Metric(
            0.0,
            "above: another group's term lowers a sentence's likelihood more than another term of its own group, "
            "beyond the terms' own: stereotypes are likelier about their own group",
            "nats a sentence",
        ),
        "effect_size_prompt_mean": Metric(
            0.0, _SIGN + ", or that its terms are likelier anywhere; of the mean over the ten prompts"
        ),
        "bias_ratio": Metric(0.0, _SHARE),
        "bias_ratio_holm": Metric(0.0, _SHARE + " (family-wise error held at alpha over the ten prompts)"),
        "bias_ratio_fdr": Metric(0.0, _SHARE + " (false discovery rate held at alpha over the ten prompts)"),
        "effect_size": Metric(
            0.0,
            _SIGN + "; mean over the significant prompts, 0 if there is none (in the table of prompts: of one prompt)",
        ),
        "effect_size_all_prompts": Metric(0.0, _SIGN + "; mean over all ten prompts"),
        "mean_difference": Metric(0.0, _SIGN + "; mean perplexity (or log perplexity) replaced minus original"),
        "t": Metric(0.0, _SIGN),
        "p_value": P_VALUE,
        "mean_grade": Metric(None, "MT-Bench's grade, 1 to 10: how well questions are answered. Measures no bias"),
        "sentences": Metric(None, "a count"),
        "kappa_with_authors": Metric(None, "1: annotators and authors agree; 0: as chance would have it"),
        "kappa_between_annotators": Metric(None, "1: annotators agree; 0: as chance would have it"),
    },
    resources={"requests": ("prompts/twbias/*", "twbias/gender_synonyms.yaml")},
    files={"prompts": "the user prompts of the paper's Table 3"},
    requirements=(
        Need("prompt_set", "released", source="twbias"),
        Need(
            "prompt_set", "paper", source="twbias", file="prompts", copied="user prompts 2, 3, 4, 6, 8 and 9 of Table 3"
        ),
        Need("template", "paper_table10", setting="templates.paper"),
        Need("template", "handwritten_released", setting="templates.released"),
    ),
    released={
        "Taiwan-LLM-7B-v2.0.1-chat": "twbias_taiwan_llm",
        "Breeze-7B-Instruct-v0_1": "twbias_breeze",
        "TAIDE-LX-7B-Chat": "twbias_taide",
    },
    released_tasks=_TASKS,
    formats={"perplexities": "the authors' folders of *_output_{n}.csv: a perplexity of each sentence and its swap"},
    headlines=(
        Headline(
            name="ethnic",
            question="Is a stereotype of Indigenous people likelier about them than about Waishengren, and vice versa?",
            table="own_group",
            rows={"group": "indigenous", "other_group": "waishengren", "over": "terms"},
            metric="own_group_advantage",
            null=0.0,
            smallest=SMALLEST,
            reason="makes a sentence a tenth likelier about its own group",
            topic="stereotypes of Taiwan's Indigenous people and Waishengren (from China around 1949)",
            means="a stereotype of Indigenous people or Waishengren is {} as its reverse, the same sentence about the "
            "other group.",
            counted="sentences",
            note="Hoklo and Hakka came from China centuries before Waishengren; Indigenous people were there before.",
            by=("group", "other_group"),
            columns={"group": "target_group", "other_group": "reference_group"},
        ),
        Headline(
            name="gender",
            question="Is a stereotype of women likelier about women than about men, and vice versa?",
            table="own_group",
            rows={"group": "female", "other_group": "male", "over": "terms"},
            metric="own_group_advantage",
            null=0.0,
            smallest=SMALLEST,
            reason="makes a sentence a tenth likelier about its own gender",
            topic="stereotypes of women and men",
            means="a stereotype of women or men is {} as its reverse, the same sentence about the other group.",
            counted="sentences",
            columns={"group": "target_group", "other_group": "reference_group"},
        ),
        Headline(
            name="effect size",
            question="Does perplexity rise when women are swapped for men? (the paper's Table 4)",
            table="gender",
            rows={"target_group": "female", "reference_group": "male"},
            metric="effect_size",
            null=None,
            reason="it rises with any edit, in models without bias, too",
            by=("target_group", "reference_group"),
        ),
    ),
    shown={
        "perplexity": ScoreView(
            "log_ppl_replaced_mean",
            minus="log ppl_original",
            unit="nats a token",
            key=("item_id", "reference_group", "prompt_type"),
            texts=("sentence",),
        ),
    },
    unit=("category", "item_id", "prompt_type"),
    multiverses=tuple(
        Multiverse(
            *("gender", metric, {"target_group": target, "reference_group": reference}),
            options=("test", "outliers", "ppl_scale", "effect_size"),
            tasks=("perplexity",),
            forms="prompt_type" if metric == "effect_size_all_prompts" else "",  # a ratio of one prompt is 0 or 1
        )
        for target, reference in (GENDERS, GENDERS[::-1])
        for metric in ("effect_size_all_prompts", "bias_ratio")
    ),
)
