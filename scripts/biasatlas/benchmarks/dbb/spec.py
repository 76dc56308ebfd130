"""DBB's declaration: its protocols' options, what the workflow plans with, and its own texts that people read."""

from dataclasses import replace
from typing import Literal

from biasatlas.benchmarks.contract import (
    Confounder,
    Figure,
    Headline,
    Metric,
    Multiverse,
    Need,
    ScoreView,
    Spec,
    Table,
    Task,
)
from biasatlas.benchmarks.dbb import (
    CATEGORIES,
    DESIGN,
    ITEM_COLUMNS,
    MCQ_REQUEST_COLUMNS,
    NAMES_REQUEST_COLUMNS,
    NAMES_SCORE_COLUMNS,
    PLACEHOLDER,
    SCORE_COLUMNS,
    SG_REQUEST_COLUMNS,
    TABLE_10_NAMES,
)
from biasatlas.benchmarks.shared.metrics import P_VALUE, RATES
from biasatlas.benchmarks.shared.prompting import SamplingOptions
from biasatlas.stages import field

_MCQ, _SG = ("MCQ",), ("SG",)
_SHIFT = "100: the two identities never get the same option; 0: the identity changes nothing"
_COUNT = "of the instances, those whose bias score reaches the threshold"

_CONFIDENCE = Confounder(
    "A model that is 20% less confident about one identity, whatever it is asked, shifts by up to 4 points", 4.0
)
_WAYS = ("reversed when reworded", "")
_SHOWN = ScoreView(
    "shift",
    unit="points",
    key=("instance_id",),
    parts=tuple({"template_id": "template_id", "type": "type", "identity": f"identity_{side}"} for side in (1, 2)),
    texts=("context", "option_1", "option_2"),
    blank=(PLACEHOLDER, "descriptor_paper"),
)


class DBBOptions(SamplingOptions):
    """An option for every point where the paper's text and its authors' code disagree, or where both are open.

    Descriptor types always bear the paper's numbers (Table 10) and are found in the released file by their content: the
    file numbers Gender 3 and 4, Race 3 and 4, and Religion 1 and 3 the other way round.
    """

    descriptor_text: Literal["paper", "file"] = field(
        "answers",
        description="`paper`: descriptors as in the paper's Table 10, with the comma that closes a clause; "
        "`file`: as in the released file, with its misspellings and double spaces",
    )
    name_rule: Literal["fixed", "random_per_type"] = field(
        "answers",
        description="The name in a descriptor that has one: Table 10's (`fixed`), or one of Table 2's twelve, "
        "drawn for each template and type (`random_per_type`)",
    )
    name_seed: int = field("answers", ge=0, description="Seed of these draws")
    pronoun_rule: Literal["identity", "shared"] = field(
        "answers",
        description="The pronoun in Gender's options: that of the identity (`identity`), or 'the person' for "
        "both (`shared`). In other categories both identities always have the same",
    )
    pronoun_case: Literal["grammatical", "released"] = field(
        "answers",
        description="`grammatical`: pronouns have the case and the capital that their place requires; `released`: each "
        "is capitalised, and none is in the object form",
    )
    placeholder: Literal["all", "released"] = field(
        "answers",
        description="`all`: every placeholder is filled, and an option without one stays as it is. `released`, "
        "as in the authors' code: an option with a possessive placeholder keeps its plain ones "
        "unfilled, and one without any is replaced by an earlier template's",
    )
    prompt: Literal["table11", "released", "short", "letter"] = field(
        "answers",
        description="Instruction of MCQ: the paper's (`table11`), the same with straight quotation marks "
        "(`released`), the authors' shorter one (`short`), or ours (`letter`)",
    )
    parser: Literal["letter", "strict_choice"] = field(
        "answers",
        description="`letter`: a reply's answer is read in any form; `strict_choice`: only the form 'a) answer' "
        "counts, as in the paper (Table 5)",
    )
    layout: Literal["labelled", "plain"] = field(
        "answers",
        description="`labelled`: the prompt has the words 'Context' and 'Choices'; `plain`: it doesn't. Neither "
        "the paper nor the code says which",
    )
    system_prompt: Literal["none", "released"] = field(
        "answers", description="The system message: none, or the authors' one line (`released`)"
    )
    option_order: Literal["fixed", "counterbalanced"] = field(
        "answers",
        description="`fixed`: the first concept's option is always a; `counterbalanced`: every question is asked "
        "in both orders",
    )
    estimator: Literal["sampled", "option_probability"] = field(
        "scores",
        description="An option's probability: its frequency in `repeats` answers (`sampled`; if the model gives "
        "probabilities, answers are drawn from them, with a fixed seed), or the model's own "
        "probability, if it gives one (`option_probability`)",
    )
    refusal: Literal["exclude", "count_as_neither"] = field(
        "scores",
        description="Answers that choose neither option are left out of an option's probability (`exclude`), or count "
        "for neither (`count_as_neither`)",
    )
    threshold: float = field(
        "tables", gt=0, le=100, description="Bias score, in points, from which an instance counts as biased"
    )
    false_discovery_rate: float = field(
        "tables",
        gt=0,
        lt=1,
        description="False discovery rate (Benjamini-Hochberg) of `count_corrected` and `rate_corrected`",
    )
    sg_prompt: Literal["released", "short"] = field(
        "answers", description="Instruction of SG: the authors' story prompt (`released`), or our one line (`short`)"
    )
    sg_lookup: Literal["by_concept", "modulo_50"] = field(
        "answers",
        description="The variations that a question gets: its own template's (`by_concept`), or, as in the "
        "authors' code, those of the template whose number is the question's row modulo 50 "
        "(`modulo_50`)",
    )
    sg_pronoun: Literal["identity", "released"] = field(
        "answers",
        description="The pronoun in SG's variations: as in MCQ (`identity`), or guessed from capitals in the "
        "original options, as in the authors' code, which writes She's and He's for her and his "
        "(`released`)",
    )
    sg_special_tokens: Literal["exclude", "include"] = field(
        "answers",
        description="`exclude`: special tokens aren't scored; `include`: a variation is tokenised apart from its "
        "prompt, and the special tokens that this adds are scored",
    )
    sg_normalise: Literal["per_variation", "after_mean"] = field(
        "scores",
        description="`per_variation`: p is computed in each variation, then averaged; `after_mean`: it is "
        "computed from averaged reciprocal perplexities",
    )


SPEC = Spec(
    title="DBB",
    language="en",
    citation=(
        "Jinhao Pan, Kyle Li, Bowen Wei and Ziwei Zhu. A Benchmark for Description-Based Evaluation of Social Bias in "
        "LLMs."
    ),
    options=DBBOptions,
    sources=("dbb",),
    sample="dbb",
    items=ITEM_COLUMNS,
    design=DESIGN,
    resources={"items": ("dbb/descriptors.csv",), "requests": ("prompts/dbb/*.txt",)},
    tasks={
        "MCQ": Task(kind="choice", categories=CATEGORIES, scores=SCORE_COLUMNS, requests=MCQ_REQUEST_COLUMNS),
        "SG": Task(
            kind="likelihood",
            categories=CATEGORIES,
            scores=SCORE_COLUMNS,
            requests=SG_REQUEST_COLUMNS,
            file="variations",
        ),
        "names": Task(
            kind="choice",
            categories=tuple(TABLE_10_NAMES),
            scores=NAMES_SCORE_COLUMNS,
            requests=NAMES_REQUEST_COLUMNS,
            by_name=True,
        ),
    },
    tables={
        "composition": Table("Test instances by category, and those that could not be built", _MCQ, "dbb_composition"),
        "consistency": Table("Shifts that several descriptions of the same identities have in common", _MCQ),
        "bias": Table("Bias score, and the count that sampling alone would give", _MCQ, "dbb_models"),
        "descriptors": Table("Bias score by descriptor type", _MCQ, "dbb_descriptor_stats"),
        "refusals": Table("Refusals and answers in the wrong format", _MCQ, "dbb_refusal"),
        "position": Table("Preference for the option shown first", _MCQ),
        "distribution": Table("Instances by bias score", _MCQ),
        "associations": Table("Strongest associations, with their direction", _MCQ),
        "published_associations": Table(
            "The associations that the paper prints (Tables 6 and 7)", _MCQ, "dbb_top_associations"
        ),
        "name_draws": Table("How far the bias score moves with the names that are drawn", ("MCQ", "names")),
        "sg_consistency": Table(
            "Semi-generation: shifts that several descriptions of the same identities have in common", _SG
        ),
        "sg_bias": Table("Semi-generation: bias score", _SG, "dbb_sg_models"),
        "sg_descriptors": Table("Semi-generation: bias score by descriptor type", _SG, "dbb_sg_descriptor_stats"),
        "sg_distribution": Table("Semi-generation: instances by bias score", _SG),
        "replication": Table("The paper's printed tables, checked against one another", ()),
        "sg_associations": Table("Semi-generation: strongest associations, with their direction", _SG),
    },
    figures={
        "distribution_by_category": Figure(
            "Bias scores, of all and by category (Figure 3 of the paper)", ("distribution",)
        ),
        "distribution_as_printed": Figure("Bias scores of all instances (Figure 3 of the paper)", ("distribution",)),
        "count": Figure("Instances over the threshold by category (Figure 4 of the paper)", ("bias",)),
        "rate": Figure("Share of each category's instances over the threshold", ("bias",)),
        "distribution_by_type": Figure("Bias scores by descriptor type", ("distribution",)),
        "noise_floor": Figure(
            "Instances over the threshold, those expected without any effect, and those that are significant",
            ("descriptors",),
        ),
        "sg_distribution_by_category": Figure(
            "Semi-generation: bias scores, of all and by category (Figure 9 of the paper)", ("sg_distribution",)
        ),
        "sg_distribution_as_printed": Figure(
            "Semi-generation: bias scores of all instances (Figure 9 of the paper)", ("sg_distribution",)
        ),
        "sg_count": Figure(
            "Semi-generation: instances over the threshold by category (Figure 8 of the paper)", ("sg_bias",)
        ),
        "sg_rate": Figure("Semi-generation: share of each category's instances over the threshold", ("sg_bias",)),
        "sg_distribution_by_type": Figure("Semi-generation: bias scores by descriptor type", ("sg_distribution",)),
    },
    metrics={
        "consistent_shift": Metric(
            0.0,
            "above: shifts recur in other descriptions of the same identities; below: they reverse. Wording that "
            "moves answers at random gives 0 on average",
            "points",
            root=True,
        ),
        "consistent_shift_p": P_VALUE,
        "consistent_nats": Metric(
            0.0,
            "as consistent_shift, for whole texts, net of pronouns and of lower confidence about an identity",
            "nats a text",
            root=True,
        ),
        "consistent_nats_p": P_VALUE,
        "replicated_rate": Metric(
            0.0,
            "two descriptions both reach the threshold in one direction, less those in opposite ones; wording that "
            "moves answers either way has expectation 0",
            "share",
        ),
        "instances": Metric(None, "a count"),
        "count": Metric(0.0, _COUNT),
        "rate": Metric(0.0, _COUNT, "share"),
        "template_rate": Metric(
            None,
            "templates with any instance whose bias score reaches the threshold; no model is known to score 0",
            "share",
        ),
        "mean_score_over_threshold": Metric(None, "mean of those that reach the threshold; " + _SHIFT, "points"),
        "mean_bias_score": Metric(0.0, "mean of all instances; " + _SHIFT, "points"),
        "count_sd": Metric(None, "standard deviation of count over 20 draws of the names"),
        "count_range": Metric(None, "the largest count of 20 draws of the names less the smallest"),
        "mean_score_sd": Metric(None, "as count_sd, of mean_score_over_threshold", "points"),
        "mean_score_range": Metric(None, "as count_range, of mean_score_over_threshold", "points"),
        "noise_floor_rate": Metric(
            None, "the rate that as many draws give on average if no identity has an effect; compare `rate` with it"
        ),
        "noise_floor_mean_score": Metric(
            None, "mean_score_over_threshold on average if no identity has an effect", "points"
        ),
        "excess_rate": Metric(0.0, "rate minus noise_floor_rate: the share that the noise does not explain", "share"),
        "count_corrected": Metric(
            0.0,
            _COUNT + " and differ beyond the sampling noise, false discovery rate held; for exact probabilities the "
            "same as count",
        ),
        "rate_corrected": Metric(0.0, "as count_corrected", "share"),
        **RATES,
        "first_option_share": Metric(
            0.5,
            "above: the option shown first is preferred; below: the second. With a fixed order a difference may also "
            "come from what the options say",
            "share",
        ),
        "share": Metric(None, "share of the instances whose bias score is in this range", "share"),
        "association_score": Metric(0.0, _SHIFT, "points"),
        "directed_score": Metric(
            0.0,
            "above: identity_1 goes with concept_1 and identity_2 with concept_2; below: the other way round",
            "points",
        ),
        "p_value": P_VALUE,
    },
    files={
        "variations": "ten variations of each question's options",
        "dataset": "the questions as their authors filled them: Bias-Dataset.csv, or the zip of their larger set",
    },
    datasets={"released": ("dbb", "dbb_dataset"), "released_more": ("dbb", "dbb_more_samples")},
    released={"gpt-4o": "dbb_gpt_4o"},
    released_tasks=("MCQ",),
    formats={"replies": "CSV or JSON (or a zip of them) with the dataset's columns and one of replies or choices"},
    headlines=(
        Headline(
            name="choice",
            question="Does its answer change when only the person's group changes?",
            table="consistency",
            rows={"category": "All"},
            metric="consistent_shift",
            null=0.0,
            smallest=5.0,
            reason="a quarter of the 20 percentage points from which the paper calls a question biased",
            by=("category",),
            parts=_MCQ,
            confounders=(_CONFIDENCE,),
            topic="choices that depend on a person's group",
            times="percentage points",
            means="from one group to another the chance of an answer shifts by {} up or down, in a typical question.",
            ends=_WAYS,
        ),
        Headline(
            name="continuation",
            question="Is a continuation likelier when only the person in the text changes?",
            table="sg_consistency",
            rows={"category": "All"},
            metric="consistent_nats",
            null=0.0,
            smallest=0.1,
            reason="makes a continuation a tenth likelier under one identity",
            by=("category",),
            parts=_SG,
            topic="texts that depend on a person's group",
            means="a continuation becomes {} when only the group changes.",
            ends=_WAYS,
            counted="texts",
        ),
    ),
    shown={"MCQ": replace(_SHOWN, chosen=("p_1", "p_2")), "SG": _SHOWN, "names": _SHOWN},
    requirements=(
        *(Need("prompt", value, ("MCQ", "names"), source="dbb") for value in ("table11", "released", "short")),
        Need("sg_prompt", "released", _SG, source="dbb"),
    ),
    unit=("task", "instance_id"),
    multiverses=tuple(
        Multiverse(table, metric, {"category": "All"}, options=("estimator", "refusal"), tasks=("MCQ",))
        for table, metric in (("consistency", "consistent_shift"), ("bias", "rate"))
    ),
)
