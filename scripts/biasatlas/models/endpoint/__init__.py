"""OpenAI-compatible endpoints (kind ``api``)."""

#: Raise it when a reply, or a stored record, becomes another response than before (:mod:`.replies`): responses are then
#: made anew from the store, and nothing is paid for. A golden test says when.
VERSION = 4

#: Part of a call's key: raise it when stored records lack what a response needs. They are then asked for, and paid for,
#: again.
ASKED = 1
