"""What tokens cost: the prices of an entry, or those that the package genai-prices keeps, which needs no network."""

from functools import cache

from biasatlas.errors import UserError
from biasatlas.models.endpoint.entry import ApiEntry


def prices(entry: ApiEntry) -> tuple[float, float]:
    """The prices of a million tokens of prompt and of completion, in the entry's currency; 0 where it names none.

    Raises UserError for `prices: known` where the package is not installed, or knows no price of the model.
    """
    if entry.prices == "known":
        return _known(entry.model, entry.base_url)
    return entry.price_input_per_million, entry.price_output_per_million


@cache
def _known(model: str, base_url: str) -> tuple[float, float]:
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        raise UserError(
            f"prices: known: the package that knows the price of {model} is not installed. Run `pip install genai-prices`, "
            "or give `price_input_per_million` and `price_output_per_million`."
        ) from None
    try:
        found = calc_price(Usage(input_tokens=1000, output_tokens=1000), model, provider_api_url=base_url)
    except LookupError:
        raise UserError(
            f"prices: known: genai-prices knows no price of {model} at {base_url}. Give `price_input_per_million` and "
            "`price_output_per_million` (in `currency`)."
        ) from None
    return 1000 * float(found.input_price), 1000 * float(found.output_price)


def cost(entry: ApiEntry, prompt_tokens: float, completion_tokens: float) -> float:
    """The price of so many tokens, in the entry's currency."""
    for_input, for_output = prices(entry)
    return (prompt_tokens * for_input + completion_tokens * for_output) / 1_000_000
