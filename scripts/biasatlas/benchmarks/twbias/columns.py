"""Columns of TWBias's items, requests and scores; their meaning stands with the functions that make them."""

from biasatlas.columns import Columns

ITEM_COLUMNS: Columns = {
    "item_id": "string",
    "target_group": "string",
    "sentence": "string",
    "platform": "string",
    "toxicity": "string",
    "attribute_categories": "string",
    "swaps": "string",
}

#: Key columns of requests beside those of every benchmark.
REQUEST_KEYS: Columns = {
    "prompt_type": "string",
    "reference_group": "string",
    "variant": "integer",
    "weight": "integer",
}

SCORE_COLUMNS = (
    "item_id",
    "target_group",
    "reference_group",
    "prompt_type",
    "platform",
    "toxicity",
    "attribute_categories",
    "variants",
    "tokens_original",
    "tokens_replaced",
    "ppl_original",
    "ppl_replaced_mean",
    "ppl_replaced_min",
    "log_ppl_replaced_mean",
    "status",
    "detail",
)
