"""McBE: bias in Chinese, measured by five tasks on one set of instances, each scored from 0 to 100."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from biasatlas.benchmarks.contract import Benchmark, Figure, Metric, Table, Task

#: Category -> its name in the paper, which the published tables are keyed by.
CATEGORY_NAMES = {
    "gender": "Gender",
    "religion": "Religion",
    "nationality": "Nationality",
    "socioeconomic_status": "Socioeconomic Status",
    "age": "Age",
    "region": "Region",
    "lgbtq": "LGBTQ+",
    "race": "Race",
    "subculture": "Subculture",
    "worldview": "Worldview",
    "health": "Health",
    "appearance": "Appearance",
}
CATEGORIES = tuple(CATEGORY_NAMES)
#: Worldview instances have nothing to substitute: the paper leaves them out of PC and SS.
SUBSTITUTABLE = tuple(category for category in CATEGORIES if category != "worldview")

TASKS = ("PC", "SC", "SS", "BA", "BS")

_BETTER = "higher: less bias; 0 to 100"

SPEC = Benchmark(
    title="McBE",
    language="zh-Hans",
    citation=(
        "Tian Lan, Xiangdong Su, Xu Liu, Ruirui Wang, Ke Chang, Jiang Li and Guanglai Gao. McBE: A Multi-task Chinese "
        "Bias Evaluation Benchmark for Large Language Models. Findings of ACL 2025."
    ),
    sources=("mcbe",),
    sample="mcbe",
    tasks={
        "PC": Task(kind="likelihood", categories=SUBSTITUTABLE),
        "SC": Task(kind="choice", categories=CATEGORIES, ordered=("sc_text", "judge_ordered_context")),
        "SS": Task(kind="choice", categories=SUBSTITUTABLE),
        "BA": Task(kind="generation", categories=CATEGORIES, judged=True),
        "BS": Task(kind="choice", categories=CATEGORIES),
    },
    tables={
        "scores": Table("Score by model, category and task (Figures 10 and 11 of the paper)", TASKS, "mcbe_scores"),
        "category_means": Table("Mean over tasks, by category (Figure 6)", TASKS, "mcbe_scores"),
        "task_means": Table("Mean over categories, by task (Figure 8)", TASKS, "mcbe_scores"),
        "sizes": Table("One model family in several sizes, by task (Figure 7)", TASKS, "mcbe_scores"),
        "friedman": Table("Do models differ? Friedman test and Nemenyi's comparison of every pair", TASKS),
        "robustness": Table(
            "Agreement of two wordings of the same task (Table 12)", ("SC", "BS"), "mcbe_robustness_correlation"
        ),
        "composition": Table("Instances by category and subcategory (Table 6, Figure 4)", ("SC",), "mcbe_composition"),
        "similarity": Table("How alike instances are: mean Rouge-L of default sentences (Figure 5)", ("SC",)),
        "words": Table("The most frequent words of each category (Figure 9)", ("SC",)),
        "replication": Table("The paper's statistics, recomputed from its own printed scores", ()),
        "annotator_agreement": Table(
            "Agreement among your annotators (Table 10 of the paper)", (), "mcbe_fleiss_kappa", file="annotations"
        ),
        "judge_agreement": Table(
            "Agreement of a judge with people (Table 13 of the paper)", (), "mcbe_judge_agreement", file="ratings"
        ),
    },
    figures={
        "composition": Figure("Instances by category and subcategory (Figure 4 of the paper)", ("composition",)),
        "similarity": Figure("Mean Rouge-L between default sentences (Figure 5 of the paper)", ("similarity",)),
        "category_means": Figure("Mean over tasks, by category (Figure 6 of the paper)", ("category_means",)),
        "sizes": Figure("Score by model size (Figure 7 of the paper)", ("sizes",)),
        "task_means": Figure("Mean over categories, by task (Figure 8 of the paper)", ("task_means",)),
        "word_clouds": Figure("Frequent words by category (Figure 9 of the paper)", ("words",)),
        "scores": Figure("Score by model, category and task (Figures 10 and 11 of the paper)", ("scores",)),
        "scenario_selection": Figure("SS scores beside what a coin and a fixed ranking score", ("scores",)),
    },
    metrics={
        "score": Metric(100.0, _BETTER),
        "sd_over_repeats": Metric(None, "standard deviation of the score over repeated runs"),
        "refusal_rate": Metric(None, "share of replies that refuse", "share"),
        "unparseable_rate": Metric(None, "share of replies that give no answer that can be read", "share"),
        "unresolved_rate": Metric(None, "share of reply probability that was not expanded", "share"),
        "a_share": Metric(0.5, "share of answers A, both orders asked: near 0 or 1 is position, not content", "share"),
        "coin_flip_score": Metric(None, "the SS score of answers by coin on the same word lists"),
        "fixed_ranking_score": Metric(None, "the SS score of a model that always prefers by one ranking of the words"),
        "mean_score": Metric(100.0, _BETTER),
        "friedman_chi_square": Metric(None, "larger: the ranking of the models differs less by chance"),
        "friedman_p": Metric(None, "small: differences among models this consistent are unlikely by chance"),
        "mean_rank": Metric(None, "1 is the best model of every block"),
        "nemenyi_p": Metric(None, "small: these two models differ, all pairs taken into account"),
        "spearman": Metric(None, "1: both wordings rank models and categories alike"),
        "spearman_p": Metric(None, "small: unlikely without a monotone relation"),
        "pearson": Metric(None, "1: the scores under both wordings are proportional, up to a constant"),
        "pearson_p": Metric(None, "small: unlikely without a linear relation"),
        "instances": Metric(None, "a count"),
        "rouge_l": Metric(None, "0 to 1; higher: sentences share more text"),
        "occurrences": Metric(None, "a count"),
        "fleiss_kappa": Metric(None, "1: raters agree; 0: as chance would have it"),
        "agreement_percent": Metric(None, "share of answers on which judge and people prefer the same model", "%"),
        "mean_agreement_percent": Metric(None, "mean over pairs of models", "%"),
        "chi_square": Metric(None, "as friedman_chi_square"),
        "p_value": Metric(None, "as friedman_p"),
        "coefficient": Metric(None, "a correlation, -1 to 1"),
    },
    files={
        "annotations": "severities given by several annotators to each item",
        "ratings": "which of two models' answers a judge and people prefer",
    },
)


class OPTIONS(BaseModel):
    """Options of McBE: one for every point where the paper's text and its authors' code disagree or are silent.

    The groups: what is asked of the model, how replies are read, how scores are made. Changing the last asks nothing
    again; nor does changing how replies are read where ``answers`` is "sampled".
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    answers: Annotated[
        Literal["sampled", "exact"],
        Field(
            description="SC, SS and BS: sample whole replies and read them, or take the probability of every answer "
            "(models without log-probabilities are sampled all the same)"
        ),
    ]
    repeats: Annotated[int, Field(ge=1, description="Sampled runs of SC, SS, BA and BS")]
    generation: Annotated[
        Literal["table8", "checkpoint_config", "untempered"],
        Field(
            description="Sampling settings: those named table8 in the model's entry, those of its checkpoint, or the "
            "model's own distribution (temperature 1, nothing cut off or penalised)"
        ),
    ]
    max_tokens_answer: Annotated[int, Field(ge=1, description="Longest reply in SC, SS and BS, in tokens")]
    max_tokens_analysis: Annotated[int, Field(ge=1, description="Longest analysis in BA, in tokens")]
    system_prompt: Annotated[
        Literal["none", "template_default"],
        Field(description="An empty system message, or none of ours, so that a template's default one stands"),
    ]
    prompt_sets: Annotated[
        Literal["original", "both"],
        Field(description="SC and BS: the prompt alone, or a second wording too, for the robustness table"),
    ]
    repeated_words: Annotated[
        Literal["once", "as_listed"],
        Field(description="A word that a list repeats is used once, or as often as listed"),
    ]
    one_word: Annotated[
        Literal["exclude", "hundred"],
        Field(description="PC and SS of a list with one word: not applicable, or 100 since nothing varies"),
    ]

    pc_text: Annotated[
        Literal["template", "context_and_template"],
        Field(description="Sentence alone, or after its context (which is not scored)"),
    ]
    pc_bos: Annotated[
        Literal["force", "tokenizer_default", "none"],
        Field(description="Begin token: exactly once, as the tokenizer adds it, or none"),
    ]
    nll_reduction: Annotated[
        Literal["mean", "sum"], Field(description="Negative log-likelihood of a sentence: per token, or in all")
    ]
    pc_decay: Annotated[
        Literal["paper", "released"], Field(description="Decay rate of PC: 2e/3 = 1.8122, or the code's 1.7759")
    ]

    sc_text: Annotated[
        Literal["default_sentence", "context_first", "judge_ordered_context"],
        Field(
            description="Sentence alone, after its context, or in the order that a judge model gives (the answer 2 "
            "alone puts the context last)"
        ),
    ]
    sc_labels: Annotated[
        Literal["table3_order", "file_set", "shuffled"],
        Field(
            description="Subcategories offered: all of Table 3 in its order, those that occur in the file (printed as "
            "a Python list; the code's order is random, ours that of the file), or all in an order drawn per instance"
        ),
    ]
    sc_match: Annotated[
        Literal["exact", "substring"],
        Field(
            description="A reply names a subcategory if it starts with one, or if one occurs anywhere in it (where "
            "probabilities are taken, the first that occurs)"
        ),
    ]
    sc_unparsed: Annotated[
        Literal["exclude", "incorrect"],
        Field(description="Replies that name no subcategory: left out and counted, or wrong"),
    ]

    ss_text: Annotated[
        Literal["sentence", "context_and_sentence"], Field(description="Sentences alone, or each after the context")
    ]
    ss_parse: Annotated[
        Literal["first_letter", "first_five_characters"],
        Field(
            description="Letter at the start of the reply, or any among its first five characters, where A and B can "
            "both count"
        ),
    ]
    ss_unparsed: Annotated[
        Literal["exclude_instance", "no_count"],
        Field(description="An unreadable reply leaves its instance out, or counts for neither sentence"),
    ]
    ss_decay: Annotated[
        Literal["paper", "released"], Field(description="Decay rate of SS: that of PC, 1.8122, or the code's 0.1568")
    ]

    ba_length: Annotated[
        Literal["paragraph", "sentence"], Field(description="Length asked for: a short paragraph, or a long sentence")
    ]
    ba_refused: Annotated[
        Literal["exclude", "judge"],
        Field(description="Refusals and empty answers: left out and counted, or judged like any answer"),
    ]
    ba_judge_prompt: Annotated[
        Literal["paper", "released"], Field(description="Judge prompt with a role and a rubric, or the code's")
    ]
    judge_answers: Annotated[
        Literal["sampled", "exact"],
        Field(description="The judge's scores: read from a reply, or expected over the numbers it can say"),
    ]
    judge_attempts: Annotated[
        int, Field(ge=1, description="How often a judge is asked before its unreadable replies are recorded as such")
    ]
    judge_parse: Annotated[
        Literal["decimal", "first_integer"],
        Field(description="The number stated as the score, within its range, or the first run of digits, unchecked"),
    ]
    ba_aggregate: Annotated[
        Literal["weighted_sum", "weighted_mean"],
        Field(description="Sum of weighted criteria (0 to 100), or that over the sum of weights (0 to 12.5)"),
    ]

    bs_prompt: Annotated[
        Literal["paper", "released"],
        Field(description="Severity criteria alone, or with the code's leave to speculate and ban on paragraphs"),
    ]
    bs_parse: Annotated[
        Literal["stated", "leading", "first_number"],
        Field(
            description="Score stated anywhere (also a range's middle, Chinese numerals), at the start of the reply, "
            "or the first number whatever it is"
        ),
    ]
    bs_unparsed: Annotated[
        Literal["exclude", "minus_one"],
        Field(description="An unreadable severity is left out and counted, or counts as -1"),
    ]
