"""Prompt types, groups and directions of TWBias, and the groups' names in print."""

#: The ten user prompts; only these enter a bias ratio.
PROMPTS = tuple(f"prompt_{number}" for number in range(1, 11))

#: Prompt types in the paper's order: its type 0 (no template), 00 (the template with an empty user prompt) and 1 to 10
#: (the user prompts). In words, for 0 and 00 are one number to a CSV reader.
PROMPT_TYPES = ("no_template", "empty_prompt", *PROMPTS)

GENDERS = ("female", "male")
ETHNIC_GROUPS = ("indigenous", "hakka", "hoklo", "waishengren")

#: Category of the task -> (target group of the sentences, reference group swapped in). Han has no sentences of its own.
#: An ethnic group's terms can be swapped for one another, too: what that does is no stereotype. Genders list no synonyms.
DIRECTIONS = {
    f"{target}-{reference}": (target, reference)
    for groups, references in ((GENDERS, GENDERS), (ETHNIC_GROUPS, (*ETHNIC_GROUPS, "han")))
    for target in groups
    for reference in references
    if reference != target or target in ETHNIC_GROUPS
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
