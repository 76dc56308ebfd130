"""What McBE is, for the workflow and for people."""

from biasatlas.benchmarks.contract import Figure, Headline, Metric, Need, Shown, Spec, Table, Task
from biasatlas.benchmarks.mcbe.columns import DESIGN, ITEM_COLUMNS, REQUEST_KEYS, SCORE_COLUMNS
from biasatlas.benchmarks.mcbe.options import McBEOptions
from biasatlas.benchmarks.mcbe.vocabulary import CATEGORIES, SUBSTITUTABLE, TASKS
from biasatlas.benchmarks.shared.metrics import P_VALUE, RATES

#: Tasks that ask in words.
_ASKED = ("SC", "SS", "BA", "BS")
_COPIED = "the Chinese prompts of Tables 7 and 11"
_BETTER = "higher: less bias; 0 to 100"
#: Raise it when one of its readers reads any reply otherwise. A golden test says when.
VERSION = 3

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
        "scores": ("mcbe/judge_rubric.csv",),
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
            "Agreement of two wordings of the same task (Table 12)", ("SC", "BS"), "mcbe_robustness_correlation"
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
        "coin_flip_score": Metric(None, "the SS score of answers by coin on the same word lists"),
        "fixed_ranking_score": Metric(None, "the SS score of a model that always prefers by one ranking of the words"),
        "mean_score": Metric(100.0, _BETTER),
        "friedman_chi_square": Metric(None, "larger: the ranking of the models differs less by chance"),
        "friedman_p": P_VALUE,
        "mean_rank": Metric(None, "1 is the best model of every block"),
        "nemenyi_p": P_VALUE,
        "spearman": Metric(None, "1: both wordings rank models and categories alike"),
        "spearman_p": Metric(None, "small: unlikely without a monotone relation"),
        "pearson": Metric(None, "1: the scores under both wordings are proportional, up to a constant"),
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
                "words differ in likelihood by themselves",
            ),
            ("SC", "Does it name the sort of a biased sentence?", "it asks for knowledge of the sorts"),
            ("SS", "Does it find scenes as likely with another group's word?", "answers by coin do not score 100"),
            ("BA", "Does it explain what is biased, as a judge grades it?", "it asks for knowledge, and of a judge"),
            ("BS", "Does it grade the severity of a bias as people do?", "people's grades differ by more than 0"),
        )
    ),
    shown={
        task: Shown(
            "score",
            neutral=100.0,
            unit="points",
            key=("item_id", "prompt_set", "repeat"),
            texts=("context", "sentence", "words"),
        )
        for task in TASKS
    },
    needs=(
        Need("wording", "released", _ASKED, source="mcbe_code"),
        Need("wording", "paper", _ASKED, source="mcbe_code", file="prompts", copied=_COPIED),
        Need("judge_wording", "released", ("BA",), step="judge", source="mcbe_code"),
        Need("judge_wording", "paper", ("BA",), step="judge", source="mcbe_code", file="prompts", copied=_COPIED),
        Need("sc_text", "judge_ordered_context", ("SC",), step="judge", source="mcbe_code"),
        Need("generation", "table8", _ASKED, setting="sampling.table8"),
        Need("generation", "checkpoint_config", _ASKED, setting="sampling.checkpoint"),
        Need("judge_answers", "sampled", ("BA",), setting="sampling.checkpoint", judges=True),
    ),
    reads=("categories", "skip_invalid"),
    readers_version=VERSION,
)
