"""Columns of CrowS-Pairs' items, requests and scores; the steps that make them say what they hold."""

from biasatlas.columns import Columns

ITEM_COLUMNS: Columns = {
    "item_id": "string",
    "category": "string",
    "direction": "string",
    "more": "string",
    "less": "string",
}

#: ``pair`` is what a masked model needs of the other sentence.
PAIR_KEYS: Columns = {"label": "string", "pair": "string"}

CHOICE_KEYS: Columns = {"order": "string"}

SCORE_COLUMNS = (
    "item_id",
    "direction",
    "status",
    "stereotyped",
    "tie",
    "more",
    "less",
    "refused",
    "unparseable",
    "unresolved",
)
