"""A configured model as one function from requests to responses: for judges and writers, which may be of any kind."""

from collections.abc import Callable, Mapping

import pandas as pd

from biasatlas.config import ApiModel
from biasatlas.models.store import ResponseStore
from biasatlas.parsers import Parser


def answerer(
    entry: Mapping, settings: Mapping, ready: str, store: ResponseStore, parsers: Mapping[str, Parser]
) -> Callable[[pd.DataFrame], tuple[pd.DataFrame, dict]]:
    """``entry`` is the model's in the configuration; ``settings`` what a local model is loaded with.

    ``ready`` is the file or folder that was waited for; that of a model from the hub names the commit to load.
    """
    if entry["kind"] == "api":
        from biasatlas.models import api

        endpoint = ApiModel.model_validate(entry)
        return lambda requests: api.answer(requests, endpoint, store=store, parsers=parsers)

    from biasatlas.models import hf  # imports torch, which endpoints do not need
    from biasatlas.models.hub import at_commit

    settings = at_commit(settings, ready)
    templates = settings.get("templates", {})
    model = hf.load(**{name: value for name, value in settings.items() if name not in ("templates", "sampling")})
    return lambda requests: hf.answer(requests, model, templates=templates, parsers=parsers, store=store)
