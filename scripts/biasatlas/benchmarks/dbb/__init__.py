"""DBB: social bias that descriptions evoke, as the shift of a model's choice when only the description changes.

Pan, Li, Wei and Zhu. A Benchmark for Description-Based Evaluation of Social Bias in LLMs. Here: its categories,
descriptor types and identities, what its question templates have in common, and columns of items, requests, scores.
"""

from biasatlas.columns import CASES, Columns, Factor

#: Category -> descriptor type -> its identities, in the order of the paper's Table 10.
TYPES: dict[str, dict[str, tuple[str, ...]]] = {
    "Age": {f"Age {number}": ("Young", "Old") for number in (1, 2, 3)},
    "Gender": {f"Gender {number}": ("Female", "Male") for number in (1, 2, 3, 4)},
    "Race": {f"Race {number}": ("Asian", "Black", "White", "Latinx", "Middle-East") for number in (1, 2, 3, 4)},
    "SES": {f"SES {number}": ("Rich", "Poor") for number in (1, 2)},
    "Religions": {f"Religion {number}": ("Christian", "Jewish", "Muslim", "Buddhist") for number in (1, 2, 3)},
}

CATEGORIES = tuple(TYPES)

#: Descriptor type -> its identities.
IDENTITIES = {name: identities for types in TYPES.values() for name, identities in types.items()}

#: Question templates in the published data.
TEMPLATES = 1547

#: Where the person stands in a template.
PLACEHOLDER = "[[X]]"

#: Texts of each option in semi-generation: the original and nine variations.
VARIATIONS = 10

#: The letters of the two options, in the order in which they are shown.
LABELS = ("A", "B")

#: The name in the paper's Table 10, by category (Age 3 has none); it stands for any name of Table 2.
TABLE_10_NAMES = {"Age": "Jessica", "SES": "James", "Religions": "Kai"}

#: The twelve names of the paper's Table 2 with the subject pronouns of the released file, four to a group (female,
#: male, neutral): drawing a group and then one of its names is the same as drawing one of the twelve.
NAMES = (
    dict.fromkeys(("Jessica", "Aisha", "Sofia", "Amara"), "she")
    | dict.fromkeys(("Donald", "Kai", "James", "Amari"), "he")
    | {"Zhang": "he", "Taylor": "she", "Lee": "he", "Smith": "she"}
)

#: A question: a template crossed with a descriptor. :func:`biasatlas.benchmarks.dbb.items.read_items` explains them.
ITEM_COLUMNS: Columns = {
    "item_id": "string",
    "template_id": "string",
    "concept_1": "string",
    "concept_2": "string",
    "bias_type": "string",
    "context": "string",
    "option_1": "string",
    "option_2": "string",
    "variations_1": "string",
    "variations_2": "string",
    "fault": "string",
    "fault_sg": "string",
    "source_id": "string",
    "category": "string",
    "type": "string",
    "identity": "string",
    "descriptor_paper": "string",
    "descriptor_file": "string",
    "named": "boolean",
    "pronoun": "string",
    "row": "integer",
    "fault_descriptor": "string",
    **dict.fromkeys(
        ("filled_context", "filled_option_1", "filled_option_2", "filled_name", "filled_samples"), "string"
    ),
}

#: ``order``: 1 where the first concept's option is shown first (as A), 2 where the second's is.
MCQ_REQUEST_COLUMNS: Columns = {"order": "integer"}

#: ``name``: the name in the description.
NAMES_REQUEST_COLUMNS: Columns = {**MCQ_REQUEST_COLUMNS, "name": "string"}

#: ``option`` is 1 or 2; ``variation`` counts from 0.
SG_REQUEST_COLUMNS: Columns = {"option": "integer", "variation": "integer"}

#: Columns of scores, ending as in :data:`biasatlas.columns.CASES`.
CASE_COLUMNS = tuple(f"score{case}" for case in CASES)

#: A test instance: two questions that differ in the identity. :func:`biasatlas.benchmarks.dbb.scores.score_responses`
#: explains them.
SCORE_COLUMNS = (
    "instance_id",
    "template_id",
    "type",
    "identity_1",
    "identity_2",
    "concept_1",
    "concept_2",
    "source_id",
    "p_1",
    "p_2",
    "draws_1",
    "draws_2",
    "log_odds_1",
    "log_odds_2",
    "nats_1",
    "nats_2",
    "pronouns",
    "shift",
    "score",
    "refused",
    "ambiguous",
    "unparseable",
    "unresolved",
    "first_option_share",
    "status",
    "detail",
    *CASE_COLUMNS,
)

#: An instance has a row for each name.
NAMES_SCORE_COLUMNS = (*SCORE_COLUMNS, "name")

#: Every template is asked with every descriptor; a descriptor is an identity in the words of its type.
DESIGN = {
    "template": Factor(scores=("template_id",), items=("template_id",), within="concept", sampled=True, whole=True),
    "concept": Factor(scores=("concept_1", "concept_2"), items=("concept_1", "concept_2")),
    "descriptor type": Factor(scores=("type",), items=("type",)),
    "identity": Factor(scores=("identity_1", "identity_2"), items=("identity",)),
    "draw": Factor(scores=("draws_1", "draws_2"), within="template"),
}

#: Intervals are over templates.
(TEMPLATE,) = DESIGN["template"].scores

#: Files of a constructed dataset, named as upstream's are.
CONSTRUCTED_FILES = (
    "Questions/constructed_all_data_questions.csv",
    "Questions/constructed_all_data_more_contexts_questions.csv",
    "concept_lists/constructed_concepts.csv",
)

#: The steps of a construction in their order.
CONSTRUCTION_STEPS = (
    "quality_filter",
    "bias_summary",
    "raw_concepts",
    "post_hoc_check",
    "context_and_first_option",
    "second_option",
    "three_sentence_check",
    "nine_variations",
)
