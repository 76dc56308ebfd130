"""McBE's declaration, for the workflow and for people, with its protocols' options."""

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
from biasatlas.benchmarks.mcbe import (
    CATEGORIES,
    DESIGN,
    ITEM_COLUMNS,
    REQUEST_KEYS,
    SCORE_COLUMNS,
    SUBSTITUTABLE,
    TASKS,
)
from biasatlas.benchmarks.shared.metrics import P_VALUE, RATES
from biasatlas.stages import field

#: Tasks that ask in words.
_ASKED = ("SC", "SS", "BA", "BS")
_COPIED = "the Chinese prompts of Tables 7 and 11"
_BETTER = "higher: less bias; 0 to 100"
#: Raise it when one of McBE's parsers parses any reply differently. A golden test says when.
VERSION = 4


class McBEOptions(Options):
    """What is asked of the model and how its replies are read, what is asked of the judge, how scores are made."""

    templates: Literal["paper", "released", "ours"] = field(
        "answers",
        description="Prompts of SC, SS, BA and BS: the paper's Tables 7 and 11 (`paper`), the authors' code's "
        "(`released`: BA asks for a long sentence, not a short paragraph; BS allows speculation and "
        "forbids paragraphs), or ours",
    )
    answers: Literal["sampled", "exact"] = field(
        "answers",
        description="SC, SS and BS: parse sampled replies (`sampled`), or use the probability of every answer, "
        "if the model gives it (`exact`)",
    )
    repeats: int = field("answers", ge=1, description="How many replies to sample in SC, SS, BA and BS")
    generation: Literal["table8", "checkpoint_config", "untempered"] = field(
        "answers",
        description="Sampling settings: `sampling.table8` in the model's entry (`table8`), the checkpoint's own "
        "(`checkpoint_config`), or temperature 1 with nothing cut off or penalised (`untempered`)",
    )
    max_tokens_answer: int = field("answers", ge=1, le=131_072, description="Longest reply in SC, SS and BS, in tokens")
    max_tokens_analysis: int = field("answers", ge=1, le=131_072, description="Longest analysis in BA, in tokens")
    system_prompt: Literal["none", "template_default"] = field(
        "answers",
        description="`none`: an empty system message; `template_default`: no system message, so the chat "
        "template may add its own",
    )
    prompt_sets: Literal["original", "both"] = field(
        "answers",
        description="SC and BS: ask with one prompt (`original`), or also with a second, for the table "
        "`robustness` (`both`)",
    )
    repeated_words: Literal["once", "as_listed"] = field(
        "answers", description="Use a word that a list repeats `once`, or `as_listed`"
    )
    one_word: Literal["exclude", "hundred"] = field(
        "answers",
        description="PC and SS of a list with one word: not applicable (`exclude`), or 100 because nothing "
        "varies (`hundred`)",
    )

    pc_text: Literal["template", "context_and_template"] = field(
        "answers",
        description="PC: score the sentence alone (`template`), or after its context, which isn't scored "
        "(`context_and_template`)",
    )
    pc_bos: Literal["force", "tokenizer_default", "none"] = field(
        "answers", description="PC: the begin token exactly once (`force`), as the tokenizer adds it, or `none`"
    )
    nll_reduction: Literal["mean", "sum"] = field(
        "scores", description="PC: negative log-likelihood per token (`mean`), or of the whole sentence (`sum`)"
    )
    pc_spread: Literal["list", "pairs"] = field(
        "scores",
        description="PC: the score from the variance over a list's words (`list`, the paper's), lower for longer "
        "lists; or the mean over the scores of all pairs of words (`pairs`)",
    )
    pc_decay: Literal["paper", "released"] = field(
        "scores", description="PC: decay rate of the paper, 2e/3 = 1.8122, or of the authors' code, 1.7759"
    )

    sc_text: Literal["default_sentence", "context_first", "judge_ordered_context"] = field(
        "answers",
        description="SC: the sentence alone (`default_sentence`), after its context (`context_first`), or in the "
        "order that a judge model chooses (`judge_ordered_context`)",
    )
    sc_labels: Literal["table3_order", "file_set", "shuffled"] = field(
        "answers",
        description="SC: offer all subcategories in the order of Table 3, all in an order drawn for each "
        "instance (`shuffled`), or those in the file, in its order (`file_set`; the authors' code "
        "orders them at random)",
    )
    sc_match: Literal["label", "substring"] = field(
        "answers",
        description="SC: a reply is right if its one answer is the right subcategory (`label`), or if that occurs in "
        "it (`substring`; under `answers: exact`, before any other)",
    )
    sc_unparsed: Literal["exclude", "incorrect"] = field(
        "scores",
        description="SC: a reply without a subcategory is left out and counted separately (`exclude`), or wrong "
        "(`incorrect`)",
    )

    ss_text: Literal["sentence", "context_and_sentence"] = field(
        "answers", description="SS: show the sentences alone (`sentence`), or each after the context"
    )
    ss_parse: Literal["letter", "first_five_characters"] = field(
        "answers",
        description="SS: the `letter` that a reply gives as its answer, or each letter among its first five "
        "characters, where A and B can both count",
    )
    ss_unparsed: Literal["exclude", "no_count"] = field(
        "scores",
        description="SS: unparseable replies are left out of the shares (`exclude`), or count for neither "
        "sentence (`no_count`)",
    )
    ss_decay: Literal["paper", "released"] = field(
        "scores", description="SS: the paper's decay rate for PC, 1.8122, or that of the authors' code, 0.1568"
    )

    ba_refused: Literal["exclude", "judge"] = field(
        "judgements",
        description="BA: refusals and empty answers are left out and counted separately (`exclude`), or judged "
        "like others (`judge`)",
    )
    judge_template: Literal["paper", "released", "ours"] = field(
        "judgements",
        description="The judge's prompts: the paper's, the authors' code's (`released`), or ours",
    )
    judge_answers: Literal["sampled", "exact"] = field(
        "judgements",
        description="The judge's score: parsed from a reply (`sampled`), or the mean over all scores, weighted "
        "by their probabilities (`exact`)",
    )
    judge_attempts: int = field(
        "judgements",
        ge=1,
        le=100,
        description="Maximum attempts to get a parseable score from the judge",
    )
    judge_grades: int = field(
        "judgements",
        ge=1,
        le=10,
        description="How often the judge grades each analysis; if the grades differ, there is no score",
    )
    judge_parse: Literal["decimal", "first_integer"] = field(
        "judgements",
        description="`decimal`: the one number that a reply gives as the score, if within its range; "
        "`first_integer`: its first digits, whatever their value",
    )
    ba_aggregate: Literal["weighted_sum", "weighted_mean"] = field(
        "scores",
        description="BA: the weighted sum of the criteria, 0 to 100 (`weighted_sum`), or that over the sum of "
        "the weights, 0 to 12.5 (`weighted_mean`)",
    )

    bs_parse: Literal["decimal", "first_number"] = field(
        "answers",
        description="BS: the one number that a reply gives as its answer (`decimal`), or its first number",
    )
    bs_unparsed: Literal["exclude", "minus_one"] = field(
        "scores",
        description="BS: an unparseable reply is left out and counted separately (`exclude`), or counts as -1 "
        "(`minus_one`)",
    )


#: Why PC and SS have no null: a variance has no sign.
_LISTS = (
    "telling these from bias takes a word that is the original in one list and a substitute in another, and only 5 of "
    "our sample's 9 lists have one"
)

SPEC = Spec(
    title="McBE",
    language="zh-Hans",
    citation=(
        "Tian Lan, Xiangdong Su, Xu Liu, Ruirui Wang, Ke Chang, Jiang Li and Guanglai Gao. McBE: A Multi-task Chinese "
        "Bias Evaluation Benchmark for Large Language Models. Findings of ACL 2025."
    ),
    options=McBEOptions,
    sources=("mcbe",),
    sample="mcbe",
    items=ITEM_COLUMNS,
    design=DESIGN,
    tasks={
        "PC": Task("likelihood", SUBSTITUTABLE, SCORE_COLUMNS["PC"], REQUEST_KEYS["PC"]),
        "SC": Task(
            "choice",
            CATEGORIES,
            SCORE_COLUMNS["SC"],
            REQUEST_KEYS["SC"],
            ordered=("sc_text", "judge_ordered_context"),
        ),
        "SS": Task("choice", SUBSTITUTABLE, SCORE_COLUMNS["SS"], REQUEST_KEYS["SS"]),
        "BA": Task("generation", CATEGORIES, SCORE_COLUMNS["BA"], REQUEST_KEYS["BA"], judged=True),
        "BS": Task("choice", CATEGORIES, SCORE_COLUMNS["BS"], REQUEST_KEYS["BS"]),
    },
    resources={
        "items": ("mcbe/subcategories.csv", "published/mcbe_composition.csv"),
        "requests": ("mcbe/subcategories.csv", "prompts/mcbe/model.yaml", "prompts/mcbe/printed.csv"),
        "judge": ("mcbe/judge_rubric.csv", "prompts/mcbe/judge.yaml", "prompts/mcbe/printed.csv"),
        "scores": {"BA": ("mcbe/judge_rubric.csv", "mcbe/judge_weights.csv")},
    },
    tables={
        "scores": Table("Score by model, category and task (Figures 10 and 11 of the paper)", TASKS, "mcbe_scores"),
        "category_means": Table("Mean over tasks, by category (Figure 6)", TASKS, "mcbe_scores"),
        "task_means": Table("Mean over categories, by task (Figure 8)", TASKS, "mcbe_scores"),
        "sizes": Table("One model family in several sizes, by category (Figure 7)", TASKS, "mcbe_scores"),
        "task_sizes": Table("One model family in several sizes, by task (section 5.2)", TASKS, "mcbe_scores"),
        "sizes_elsewhere": Table(
            "Does bias rise with size? SS beside what CBBQ prints (section 5.2)", ("SS",), "mcbe_sizes_elsewhere"
        ),
        "friedman": Table("Do models differ? Friedman test and Nemenyi's comparison of every pair", TASKS),
        "robustness": Table(
            "Agreement of two prompt templates of the same task (Table 12)", ("SC", "BS"), "mcbe_robustness_correlation"
        ),
        "composition": Table("Instances by category and subcategory (Table 6, Figure 4)", ("SC",), "mcbe_composition"),
        "similarity": Table(
            "How alike instances are: default sentences by mean Rouge-L with all others (Figure 5)", ("SC",)
        ),
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
        "similarity": Figure(
            "Default sentences by mean Rouge-L with all others (Figure 5 of the paper)", ("similarity",)
        ),
        "category_means": Figure("Mean over tasks, by category (Figure 6 of the paper)", ("category_means",)),
        "sizes": Figure("Mean over tasks by model size, for each category (Figure 7 of the paper)", ("sizes",)),
        "task_sizes": Figure("Mean over categories by model size, for each task", ("task_sizes",)),
        "task_means": Figure("Mean over categories, by task (Figure 8 of the paper)", ("task_means",)),
        "word_clouds": Figure("Frequent words by category (Figure 9 of the paper)", ("words",)),
        "scores": Figure("Score by model, category and task (Figures 10 and 11 of the paper)", ("scores",)),
        "scenario_selection": Figure("SS scores beside what a coin and a fixed ranking score", ("scores",)),
    },
    metrics={
        "score": Metric(100.0, _BETTER),
        "sd_over_repeats": Metric(None, "standard deviation of the score over repeated runs"),
        **{name: RATES[name] for name in ("refusal_rate", "ambiguous_rate", "unparseable_rate", "unresolved_rate")},
        "a_share": Metric(0.5, "share of answers A, both orders asked: near 0 or 1 is position, not content", "share"),
        "coin_flip_score": Metric(None, "the SS score of coin flips on the same word lists"),
        "fixed_ranking_score": Metric(None, "the SS score of a model that always prefers by one ranking of the words"),
        "mean_score": Metric(100.0, _BETTER),
        "friedman_chi_square": Metric(None, "larger: the models' ranks differ more than by chance"),
        "friedman_p": P_VALUE,
        "mean_rank": Metric(None, "1 is the best model of every block"),
        "nemenyi_p": P_VALUE,
        "spearman": Metric(None, "1: both prompt templates rank models and categories alike"),
        "spearman_p": Metric(None, "small: unlikely without a monotone relation"),
        "pearson": Metric(None, "1: the scores under both prompt templates are proportional, up to a constant"),
        "pearson_p": Metric(None, "small: unlikely without a linear relation"),
        "instances": Metric(None, "a count"),
        "rouge_l": Metric(None, "0 to 1; higher: sentences share more text"),
        "rouge_l_share": Metric(None, "share of the sentences whose mean Rouge-L is in this range", "share"),
        "cbbq_bias": Metric(None, "as CBBQ's paper prints it; higher: more bias"),
        "occurrences": Metric(None, "a count"),
        "percent": Metric(None, "share of a category's instances", "%"),
        "fleiss_kappa": Metric(None, "1: raters agree; 0: as chance would have it"),
        "agreement_percent": Metric(None, "share of answers on which judge and people prefer the same model", "%"),
        "mean_agreement_percent": Metric(None, "mean over pairs of models", "%"),
    },
    files={
        "annotations": "severities given by several annotators to each item",
        "ratings": "which of two models' answers a judge and people prefer",
        "prompts": "the prompts of the paper's Tables 7 and 11",
    },
    headlines=tuple(
        Headline(
            name=task,
            question=question,
            table="task_means",
            rows={"task": task, "average": "available"},
            metric="mean_score",
            null=None,
            reason=reason,
        )
        for task, question, reason in (
            (
                "PC",
                "Do sentences stay as likely with another group's word?",
                f"any difference between words lowers it, even in how likely they are by themselves; {_LISTS}",
            ),
            ("SC", "Does it name the subcategory of a bias?", "it measures competence: classification"),
            (
                "SS",
                "Does it find scenes as likely with another group's word?",
                f"any difference between words lowers it, and coin flips do not score 100; {_LISTS}",
            ),
            (
                "BA",
                "Does it explain what is biased, as a judge grades it?",
                "it measures competence, as a judge sees it",
            ),
            (
                "BS",
                "Does it grade the severity of a bias as people do?",
                "it measures competence: agreement with people, who disagree themselves",
            ),
        )
    ),
    shown={
        task: ScoreView(
            "score",
            neutral=100.0,
            unit="points",
            key=("item_id", "prompt_set", "repeat"),
            texts=("context", "sentence", "words"),
        )
        for task in TASKS
    },
    requirements=(
        Need("templates", "released", _ASKED, source="mcbe_code"),
        Need("templates", "paper", _ASKED, source="mcbe_code", file="prompts", copied=_COPIED),
        Need("judge_template", "released", ("BA",), step="judge", source="mcbe_code"),
        Need("judge_template", "paper", ("BA",), step="judge", source="mcbe_code", file="prompts", copied=_COPIED),
        Need("sc_text", "judge_ordered_context", ("SC",), step="judge", source="mcbe_code"),
        Need("generation", "table8", _ASKED, setting="sampling.table8"),
        Need("generation", "checkpoint_config", _ASKED, setting="sampling.checkpoint"),
        Need("judge_answers", "sampled", ("BA",), setting="sampling.checkpoint", judges=True),
    ),
    reads=("categories", "cells", "skip_invalid"),
    parser_version=VERSION,
    unit=("task", "item_id", "prompt_set", "repeat"),
    multiverses=tuple(
        Multiverse("task_means", "mean_score", {"task": task, "average": "available"}, options=options, tasks=(task,))
        for task, options in (
            ("PC", ("nll_reduction", "pc_spread", "pc_decay")),
            ("SC", ("sc_unparsed",)),
            ("SS", ("ss_unparsed", "ss_decay")),
            ("BS", ("bs_unparsed",)),
        )
    ),
)
