"""Requests as text: messages through a chat template, then the raw prefix."""

import json
from collections.abc import Mapping

import pandas as pd

from biasatlas.errors import UserError
from biasatlas.models.entry import Template
from biasatlas.models.local.load import LoadedModel


def render(requests: pd.DataFrame, model: LoadedModel, templates: Mapping[str, Template]) -> list[str]:
    """The text of each request before its answer.

    ``templates`` are the literal templates of the model's entry, by name. Raises UserError where the model has not the
    template that a request asks for.
    """
    columns = (texts(requests, name) for name in ("request_id", "messages", "template", "prefix"))
    rendered: dict[tuple[str, str], str] = {}
    prompts = []
    for request_id, messages, template, prefix in zip(*columns, strict=True):
        if (messages, template) not in rendered:
            rendered[messages, template] = _render_messages(request_id, messages, template, model, templates)
        prompts.append(rendered[messages, template] + prefix)
    return prompts


def texts(requests: pd.DataFrame, column: str, default: str = "") -> list[str]:
    """A column of text with ``default`` for nulls."""
    return [value if isinstance(value, str) else default for value in requests[column]]


def _render_messages(
    request_id: str, messages: str, template: str, model: LoadedModel, templates: Mapping[str, Template]
) -> str:
    chat = json.loads(messages) if messages else []
    if not chat:
        return ""
    if template == "tokenizer":
        return _render_chat(request_id, chat, model)
    if template not in templates:
        raise UserError(
            f"{model.name}: request {request_id!r} asks for the template {template!r}, the model's entry has "
            f"{', '.join(sorted(templates)) or 'none'}: add it there, or choose 'tokenizer'."
        )
    roles = [message["role"] for message in chat]
    if roles != ["user"]:
        raise UserError(
            f"{model.name}: request {request_id!r} has the roles {roles}, and the literal template {template!r} takes "
            "one user message: use the template 'tokenizer'."
        )
    text = chat[0]["content"]
    return templates[template].prompt.replace("{user}", text) if text else templates[template].empty


def _render_chat(request_id: str, chat: list[dict], model: LoadedModel) -> str:
    if not model.tokenizer.chat_template:
        raise UserError(
            f"{model.name}: the tokenizer has no chat template, and request {request_id!r} has messages: use a "
            "chat model, or give the model's entry a literal template."
        )
    is_open = chat[-1]["role"] == "assistant"
    return model.tokenizer.apply_chat_template(
        chat, tokenize=False, add_generation_prompt=not is_open, continue_final_message=is_open
    )
