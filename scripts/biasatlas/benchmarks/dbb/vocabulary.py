"""DBB's categories, descriptor types and identities, and what its question templates have in common."""

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
