"""What services send, form by form (``tests/api/forms.json``, each with its source), and what it comes to."""

import json

import pytest
from conftest import ROOT

from biasatlas.models.endpoint import Services, services
from biasatlas.models.endpoint.transport import outcome

FORMS = json.loads((ROOT / "tests/api/forms.json").read_text(encoding="utf-8"))
#: What a choice or an error that says nothing falls back to where the service is not known: never another answer.
WEAKER = {"filtered": {"retry", "unanswerable"}, "account": {"retry"}, "retry": {"account"}}


def _outcome(form, service):
    return outcome(form["status"], json.dumps(form["body"]).encode(), service=service)


@pytest.mark.parametrize("form", FORMS, ids=[f"{form['kind']}-{place}" for place, form in enumerate(FORMS)])
def test_each_form_comes_to_what_its_service_means(form):
    assert _outcome(form, form["service"]).kind == form["kind"]


@pytest.mark.parametrize("form", FORMS, ids=[f"{form['kind']}-{place}" for place, form in enumerate(FORMS)])
def test_a_form_of_an_unknown_host_is_never_another_answer(form):
    kind = _outcome(form, "").kind
    assert kind == form["kind"] or kind in WEAKER[form["kind"]]


def test_what_ends_the_matter_is_kept_and_nothing_else():
    for form in FORMS:
        found = _outcome(form, form["service"])
        ends = found.kind in ("ok", "truncated", "refused", "filtered", "thought", "unparseable")
        assert bool(found.records) == ends
        assert bool(found.reason) == (not found.records or form["status"] != 200 or "choices" not in form["body"]) or (
            form["body"]["choices"] == []
        )


def test_a_finish_reason_that_nobody_knows_is_no_answer():
    assert services().of_finish("surprise") == services().of_finish(None) == "retry"
    assert services().of_finish("STOP: end") == "ok"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://mine.openai.azure.com/openai/v1", "openai"),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "gemini"),
        ("https://europe-west1-aiplatform.googleapis.com/v1", "gemini"),
        ("https://openai.com.example.org/v1", ""),
        ("http://127.0.0.1:8000/v1", ""),
    ],
)
def test_a_service_is_known_by_its_host(url, name):
    assert services().named(url) == name


def test_a_service_is_added_as_data_alone():
    known = json.loads((ROOT / "resources/services.json").read_text(encoding="utf-8"))
    rule = {"kind": "filtered", "statuses": [418], "words": ["not a teapot"]}
    known["services"]["teapot"] = {"hosts": ["tea.example"], "errors": [rule]}
    more = Services.model_validate_json(json.dumps(known))
    assert more.named("https://api.tea.example/v1") == "teapot"
    assert more.of_error(418, "I am not a teapot", "teapot") == "filtered"
    assert more.of_error(418, "I am not a teapot", "") == "unanswerable"


#: An answer that is whole but for the error beside it, as of a gateway that turns "error" into "stop".
_HALF = {"message": {"role": "assistant", "content": "half"}, "finish_reason": "stop"}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"choices": [_HALF], "error": None}, "ok"),
        ({"choices": [_HALF], "error": {"code": None, "message": ""}}, "ok"),
        ({"choices": [_HALF | {"error": {"code": 0, "message": ""}}]}, "ok"),
        ({"choices": [_HALF], "error": "broke off"}, "retry"),
        ({"choices": [_HALF], "error": {"code": 502, "message": "broke off"}}, "retry"),
        ({"choices": [_HALF | {"error": {"code": 502, "message": "broke off"}}]}, "retry"),
        ({"choices": [_HALF | {"error": {"code": 502, "message": "broke off"}}, _HALF]}, "ok"),
        ({"error": {"code": "content_filter", "message": "x"}}, "filtered"),
        ({"error": {"code": "insufficient_quota", "message": "x"}}, "account"),
        ({"error": {"code": "server_error", "message": "x"}}, "retry"),
        ({"error": {"code": "\u00b2", "message": "a digit that is not a number"}}, "retry"),
    ],
)
def test_an_error_in_a_reply_of_status_200_is_no_answer(body, kind):
    assert outcome(200, json.dumps(body).encode()).kind == kind


def test_a_setting_that_a_server_does_not_know_is_named():
    body = {"detail": [{"loc": ["body", "n"], "msg": "extra fields not permitted"}]}
    assert outcome(422, json.dumps(body).encode()).reason == "422 extra fields not permitted body n"


def test_a_prompt_that_an_error_repeats_is_not_about_the_account():
    said = {"error": {"message": "Invalid input: 'The billing clerk was late.'"}}
    assert outcome(400, json.dumps(said).encode()).kind == "unanswerable"
    said = {"error": {"code": "billing_hard_limit_reached", "message": "Billing hard limit has been reached"}}
    assert outcome(400, json.dumps(said).encode()).kind == "account"
