"""Make new DBB questions from other benchmarks' items, with a model as the writer.

``steps`` the steps: ``build(step, rows, prompts) -> requests``, ``parse(step, rows, responses) -> rows``, and the rules
             that a reply has to keep
``dataset`` the rows to start from, the prompts, the files that :mod:`biasatlas.benchmarks.dbb.items` reads; the sheet
             of the manual evaluation, its summary
"""

#: Files of the dataset that is made, as upstream names its own.
DATASET = (
    "Questions/constructed_all_data_questions.csv",
    "Questions/constructed_all_data_more_contexts_questions.csv",
    "concept_lists/constructed_concepts.csv",
)

#: The steps in their order. Nothing heavy is imported here: planning needs the names alone.
STEPS = (
    "quality_filter",
    "bias_summary",
    "raw_concepts",
    "post_hoc_check",
    "context_and_first_option",
    "second_option",
    "three_sentence_check",
    "nine_variations",
)
