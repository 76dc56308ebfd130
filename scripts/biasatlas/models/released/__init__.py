"""Published outputs of models (kind ``released``)."""

#: Raise it when the same published files give other responses here. What a benchmark's importer makes of them is the
#: business of its ``import_responses``.
VERSION = 1
