"""Columns of TWBias's items, requests and scores; their meaning stands with the functions that make them."""

from biasatlas.columns import Columns, Factor

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
    "change": "string",
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
    "variant_changes",
    "tokens_original",
    "tokens_replaced",
    "ppl_original",
    "ppl_replaced_mean",
    "ppl_replaced_min",
    "log_ppl_replaced_mean",
    "status",
    "detail",
)

#: Terms are those that the authors list, and prompts their ten: a claim is for other sentences with these terms.
DESIGN = {
    "sentence": Factor(scores=("item_id",), items=("item_id",), sampled=True),
    "term pair": Factor(scores=("variant_changes",), items=("swaps",)),
    "prompt": Factor(scores=("prompt_type",)),
    "attribute": Factor(scores=("attribute_categories",), items=("attribute_categories",)),
}
