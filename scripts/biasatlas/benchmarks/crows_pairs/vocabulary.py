"""Names that several steps of CrowS-Pairs share."""

BIAS_TYPES = (
    "age",
    "disability",
    "gender",
    "nationality",
    "physical-appearance",
    "race-color",
    "religion",
    "sexual-orientation",
    "socioeconomic",
)

#: The two sentences of a pair: the more stereotypical one, and the less.
SENTENCES = ("more", "less")

#: Labels of the two options of a prompt.
LABELS = ("A", "B")
