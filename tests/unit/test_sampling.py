"""Sampling settings that a protocol leaves to the model."""

import pandas as pd
import pytest

from biasatlas.errors import UserError
from biasatlas.models.sampling import fill_sampling

TABLE8 = {"table8": {"temperature": 0.7, "top_p": 0.8, "repetition_penalty": 1.05}}


def requests(**columns):
    nothing = {name: [None, None] for name in ("temperature", "top_p", "top_k", "repetition_penalty")}
    return pd.DataFrame({"request_id": ["a", "b"]} | nothing | columns)


def test_named_settings_are_filled_in_and_given_ones_stay():
    filled = fill_sampling(requests(sampling=["table8", "table8"], temperature=[None, 0.2]), TABLE8, "m")
    assert filled["temperature"].tolist() == [0.7, 0.2]
    assert filled["top_p"].tolist()[0] == 0.8
    assert filled["top_p"].isna().tolist() == [False, True]
    assert filled["top_k"].isna().all()


def test_requests_without_names_are_left_alone():
    asked = requests()
    assert fill_sampling(asked, {}, "m") is asked


def test_a_lacking_name_says_what_to_add():
    with pytest.raises(UserError, match=r"models\.m\.sampling\.table8"):
        fill_sampling(requests(sampling=["table8", None]), {"other": {}}, "m")
