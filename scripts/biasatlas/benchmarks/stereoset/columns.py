"""Columns of StereoSet's items, requests and scores; the steps that make them say what they hold."""

from biasatlas.columns import Columns

ITEM_COLUMNS: Columns = {
    "item_id": "string",
    "task": "string",
    "category": "string",
    "target": "string",
    "context": "string",
    "stereotype": "string",
    "anti-stereotype": "string",
    "unrelated": "string",
    "stereotype_id": "string",
    "anti-stereotype_id": "string",
    "unrelated_id": "string",
}

LIKELIHOOD_KEYS: Columns = {"label": "string", "sentence_id": "string"}

CHOICE_KEYS: Columns = {"order": "string"}

SCORE_COLUMNS = (
    "item_id",
    "target",
    "status",
    "stereotyped",
    "related",
    "stereotype",
    "anti-stereotype",
    "unrelated",
    "refused",
    "unparseable",
    "unresolved",
)
