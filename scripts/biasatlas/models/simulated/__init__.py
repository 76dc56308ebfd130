"""Models whose answers follow a stated formula, so that the truth of every metric is known (kind ``known``)."""

#: Raise it when the same entry gives other answers to the same requests.
VERSION = 1
