"""Published outputs of models (kind ``released``)."""

#: Raise it when code in this folder gives other responses from the same published files. It does not cover a
#: benchmark's importer, ``import_responses``.
VERSION = 1
