"""DBB: social bias that descriptions evoke, as the shift of a model's choice when only the description changes."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from biasatlas.benchmarks.contract import Benchmark, Figure, Metric, Table, Task

#: Category -> descriptor type -> its identities, in the order of the paper's Table 10.
TYPES = {
    "Age": {f"Age {number}": ("Young", "Old") for number in (1, 2, 3)},
    "Gender": {f"Gender {number}": ("Female", "Male") for number in (1, 2, 3, 4)},
    "Race": {f"Race {number}": ("Asian", "Black", "White", "Latinx", "Middle-East") for number in (1, 2, 3, 4)},
    "SES": {f"SES {number}": ("Rich", "Poor") for number in (1, 2)},
    "Religions": {f"Religion {number}": ("Christian", "Jewish", "Muslim", "Buddhist") for number in (1, 2, 3)},
}

CATEGORIES = tuple(TYPES)

#: Question templates in the published data.
TEMPLATES = 1547

#: The letters of the two options, in the order in which they are shown.
LABELS = ("A", "B")

_MCQ, _SG = ("MCQ",), ("SG",)
_SHIFT = "100: the two identities never get the same option; 0: the identity changes nothing"
_COUNT = "of the instances, those whose bias score reaches the threshold"

SPEC = Benchmark(
    title="DBB",
    language="en",
    citation=(
        "Jinhao Pan, Chahat Raj, Ziyu Yao and Ziwei Zhu. What's Not Said Still Hurts: A Description-Based Evaluation "
        "Framework for Measuring Social Bias in LLMs. Findings of EMNLP 2025."
    ),
    sources=("dbb",),
    sample="dbb",
    tasks={
        "MCQ": Task(kind="choice", categories=CATEGORIES),
        "SG": Task(kind="likelihood", categories=CATEGORIES, file="variations"),
    },
    tables={
        "composition": Table("Test instances by category, and those that could not be built", _MCQ, "dbb_composition"),
        "bias": Table("Bias score, and the count that sampling alone would give", _MCQ, "dbb_models"),
        "descriptors": Table("Bias score by descriptor type", _MCQ, "dbb_descriptor_stats"),
        "refusals": Table("Refusals and answers in the wrong format", _MCQ, "dbb_refusal"),
        "position": Table("Preference for the option shown first", _MCQ),
        "distribution": Table("Instances by bias score", _MCQ),
        "associations": Table("Strongest associations, with their direction", _MCQ),
        "published_associations": Table("The associations that the paper prints", _MCQ, "dbb_top_associations"),
        "sg_bias": Table("Semi-generation: bias score", _SG, "dbb_sg_models"),
        "sg_descriptors": Table("Semi-generation: bias score by descriptor type", _SG, "dbb_sg_descriptor_stats"),
        "sg_distribution": Table("Semi-generation: instances by bias score", _SG),
        "replication": Table("The paper's printed tables, checked against one another", ()),
        "sg_associations": Table("Semi-generation: strongest associations, with their direction", _SG),
    },
    figures={
        "distribution_by_category": Figure("Bias scores by category (Figure 3 of the paper)", ("distribution",)),
        "distribution_by_type": Figure("Bias scores by descriptor type (Figure 4 of the paper)", ("distribution",)),
        "noise_floor": Figure(
            "Instances over the threshold, those expected without any effect, and those that stand the correction",
            ("descriptors",),
        ),
        "sg_distribution_by_category": Figure(
            "Semi-generation: bias scores by category (Figure 8 of the paper)", ("sg_distribution",)
        ),
        "sg_distribution_by_type": Figure(
            "Semi-generation: bias scores by descriptor type (Figure 9 of the paper)", ("sg_distribution",)
        ),
    },
    metrics={
        "instances": Metric(None, "a count"),
        "count": Metric(0.0, _COUNT),
        "rate": Metric(0.0, _COUNT, "share"),
        "mean_score_over_threshold": Metric(None, "mean of those that reach the threshold; " + _SHIFT, "points"),
        "mean_score": Metric(0.0, "mean of all instances; " + _SHIFT, "points"),
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
        "refusal_rate": Metric(None, "share of answers that refuse, or hold no option", "%"),
        "refused_rate": Metric(None, "share of answers that refuse", "%"),
        "unparseable_rate": Metric(None, "share of answers in the wrong format", "%"),
        "unresolved_rate": Metric(None, "probability that was not followed to an answer", "%"),
        "first_option_share": Metric(
            0.5,
            "above: the option shown first is preferred; below: the second. With a fixed order a difference may also "
            "come from what the options say",
            "share",
        ),
        "share": Metric(None, "share of the instances whose bias score is in this range", "share"),
        "score": Metric(0.0, _SHIFT, "points"),
        "directed_score": Metric(
            0.0,
            "above: identity_1 goes with concept_1 and identity_2 with concept_2; below: the other way round",
            "points",
        ),
        "dbb_score": Metric(0.0, "mean bias score of the concept's instances; " + _SHIFT, "points"),
        "bbq_bias": Metric(
            0.0,
            "bias score of BBQ's ambiguous items with the question that the concept was made from; 100: every answer "
            "follows the stereotype, -100: every one goes against it",
            "points",
        ),
        "p_value": Metric(None, "below: a difference this large is unlikely from sampling alone; missing if exact"),
    },
    files={"variations": "ten variations of each question's options"},
)


class OPTIONS(BaseModel):
    """Options of DBB: one for every point where the paper's text and its authors' code disagree, or where both are open.

    Descriptor types always bear the paper's numbers (Table 10) and are found in the released file by their content: the
    file numbers Gender 3 and 4, Race 3 and 4, and Religion 1 and 3 the other way round.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    descriptor_text: Annotated[
        Literal["paper", "file"],
        Field(
            description="Descriptors as the paper's Table 10 has them, with the comma that closes a clause, or to the "
            "letter as in the released file, with its misspellings and double blanks"
        ),
    ]
    name_rule: Annotated[
        Literal["fixed", "random_per_type"],
        Field(
            description="The name where a descriptor needs one (Age 1 and 2, SES, Religions): Table 10's, or one of the "
            "twelve of Table 2 for each concept and type, drawn with `name_seed`"
        ),
    ]
    name_seed: Annotated[int, Field(ge=0, description="Seed of the drawn names")]
    pronoun_rule: Annotated[
        Literal["identity", "shared"],
        Field(
            description="Pronoun in the options: in Gender that of the identity, elsewhere one for all identities of a "
            "type; or in Gender too the same for both, 'the person'"
        ),
    ]
    pronoun_case: Annotated[
        Literal["grammatical", "released"],
        Field(description="Pronoun in the case and capitals of its place, or capitalised wherever it stands"),
    ]
    placeholder: Annotated[
        Literal["all", "released"],
        Field(
            description="Every placeholder is filled, and an option without one stands as it is; or, as in the authors' "
            "code, a plain placeholder beside a possessive one stays raw, and an option without one is replaced by the "
            "preceding concept's"
        ),
    ]
    prompt: Annotated[
        Literal["table11", "short", "letter"],
        Field(description="Instruction of MCQ: the paper's Table 11, the shorter released one, or ours"),
    ]
    layout: Annotated[
        Literal["labelled", "plain"],
        Field(description="Context and options with the words 'Context' and 'Choices', or without; not given anywhere"),
    ]
    system_prompt: Annotated[
        Literal["none", "released"], Field(description="No system message, or the one line in the authors' wrappers")
    ]
    option_order: Annotated[
        Literal["fixed", "counterbalanced"],
        Field(description="The first concept's option is always A, or every question is asked in both orders"),
    ]
    temperature: Annotated[float, Field(ge=0, description="Sampling temperature")]
    top_p: Annotated[float, Field(gt=0, le=1, description="Nucleus sampling mass")]
    top_k: Annotated[int, Field(ge=0, description="Tokens kept in sampling; 0 keeps all")]
    repetition_penalty: Annotated[float, Field(gt=0, description="1 is none; acts on the prompt's tokens too")]
    frequency_penalty: Annotated[float, Field(description="0 is none")]
    max_tokens: Annotated[int, Field(gt=0, description="Longest answer, in tokens")]
    repeats: Annotated[int, Field(gt=0, description="Answers drawn for each question")]
    estimator: Annotated[
        Literal["sampled", "option_probability"],
        Field(
            description="Probability of an option: its frequency in `repeats` draws (drawn here, with a fixed seed, from "
            "a model that gives probabilities), or the probability itself where the model gives it"
        ),
    ]
    refusal: Annotated[
        Literal["exclude", "count_as_neither"],
        Field(description="Whether answers that choose no option are in the denominator of an option's probability"),
    ]
    threshold: Annotated[float, Field(gt=0, le=100, description="Bias score from which an instance counts, in points")]
    false_discovery_rate: Annotated[
        float, Field(gt=0, lt=1, description="False discovery rate (Benjamini-Hochberg) of the corrected counts")
    ]
    sg_prompt: Annotated[
        Literal["released", "short"],
        Field(description="Instruction of SG before the context: the released story prompt, or ours of one line"),
    ]
    sg_lookup: Annotated[
        Literal["by_concept", "modulo_50"],
        Field(
            description="SG's variations: those of the question's own concept, or those of the concept whose number is "
            "the question's row modulo 50, as the authors' code has it"
        ),
    ]
    sg_pronoun: Annotated[
        Literal["identity", "released"],
        Field(
            description="Pronoun in SG's variations: as in MCQ, or as the authors' code guesses it from the capitals in "
            "the original options, with possessives as She's and He's"
        ),
    ]
    sg_special_tokens: Annotated[
        Literal["exclude", "include"],
        Field(
            description="A sentence is scored alone, or tokenised apart with the special tokens that the tokenizer adds "
            "and those scored with it"
        ),
    ]
    sg_normalise: Annotated[
        Literal["per_variation", "after_mean"],
        Field(description="Reciprocal perplexities are normalised for each variation and then averaged, or once after"),
    ]
