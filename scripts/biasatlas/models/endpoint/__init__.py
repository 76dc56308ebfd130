"""OpenAI-compatible endpoints (kind ``api``)."""

#: Part of what identifies an answer. Raise it when a reply becomes another record than before (:mod:`.replies`): stored
#: records are then asked for, and paid for, again. A golden test says when.
VERSION = 1
