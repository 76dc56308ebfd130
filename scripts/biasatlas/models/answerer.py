"""A configured model as one function from requests to responses: for judges and writers, which may be of any kind."""

from collections.abc import Callable, Mapping

import pandas as pd

from biasatlas.workflow.config import ApiModel
from biasatlas.models.sampling import fill_sampling, with_checkpoint
from biasatlas.models.store import ResponseStore
from biasatlas.benchmarks.shared.readers import Reader


def answerer(
    name: str, entry: Mapping, settings: Mapping, ready: str, store: ResponseStore, readers: Mapping[str, Reader]
) -> Callable[[pd.DataFrame], tuple[pd.DataFrame, dict]]:
    """``entry`` is that of model ``name`` in the configuration; ``settings`` what a local model is loaded with.

    ``ready`` is the file or folder that was waited for; that of a model from the hub names the commit to load. Sampling
    settings that a request leaves to the model are filled in, as they are for a model under test.
    """
    if entry["kind"] == "api":
        from biasatlas.models.endpoint import api

        endpoint = ApiModel.model_validate(entry)
        sampling = {label: one.model_dump() for label, one in endpoint.sampling.items()}
        return lambda requests: api.answer(
            fill_sampling(requests, sampling, name), endpoint, store=store, readers=readers
        )

    from biasatlas.models import hf  # imports torch, which endpoints do not need
    from biasatlas.models.hub import at_commit

    settings = at_commit(settings, ready)
    templates, named = settings.pop("templates", {}), settings.pop("sampling", {})
    model = hf.load(**settings)
    sampling = with_checkpoint(named, model.model.generation_config.to_dict())
    return lambda requests: hf.answer(
        fill_sampling(requests, sampling, name), model, templates=templates, readers=readers, store=store
    )
