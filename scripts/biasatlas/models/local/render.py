"""Requests as text: messages through a chat template, then the raw prefix."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pandas as pd
from transformers import PreTrainedTokenizerBase

from biasatlas.errors import UserError
from biasatlas.models.entry import Template
from biasatlas.models.hub import first_line
from biasatlas.models.local.load import LoadedModel

#: Literal templates of a model's entry, by name.
Templates = Mapping[str, Template]

#: The template that takes the place of the tokenizer's own.
DEFAULT = "default"


class Rendered(NamedTuple):
    """The text before an answer, or the ``reason`` why the model cannot be asked.

    ``folded``: the template takes no system message, so it was put before the user's.
    """

    text: str
    reason: str = ""
    folded: bool = False


def render(
    requests: pd.DataFrame, model: LoadedModel, templates: Templates, arguments: Mapping[str, Any]
) -> list[Rendered]:
    """The text of each request before its answer.

    ``templates`` and ``arguments`` (of the tokenizer's template) are those of the model's entry. Messages with the
    template "tokenizer" have no text if the tokenizer has no template and the entry none named DEFAULT. Raises
    UserError for another template that the entry lacks, and for messages that a template does not take.
    """
    columns = (texts(requests, name) for name in ("request_id", "messages", "template", "prefix"))
    known: dict[tuple[str, str], Rendered] = {}
    prompts = []
    for request_id, messages, template, prefix in zip(*columns, strict=True):
        if (messages, template) not in known:
            chat = json.loads(messages) if messages else []
            known[messages, template] = _render(request_id, chat, template, model, templates, arguments)
        rendered = known[messages, template]
        prompts.append(rendered._replace(text=rendered.text + prefix) if prefix else rendered)
    return prompts


def texts(requests: pd.DataFrame, column: str, default: str = "") -> list[str]:
    """A column of text with ``default`` for nulls."""
    return [value if isinstance(value, str) else default for value in requests[column]]


def check_chat(
    tokenizer: PreTrainedTokenizerBase, templates: Templates, arguments: Mapping[str, Any], name: str
) -> None:
    """Raise UserError for a chat template that cannot be rendered, and for ``arguments`` that it does not read."""
    if tokenizer.chat_template and DEFAULT not in templates:
        try:
            _apply(tokenizer, [{"role": "user", "content": "?"}], arguments)
        except Exception as error:  # a template may raise anything
            raise UserError(
                f"{name}: the tokenizer's chat template cannot be rendered ({first_line(error)}): expected Jinja that "
                f"takes a user's message; mend it, or give the entry `templates.{DEFAULT}`."
            ) from error
    words = re.findall(r"\w+", str(tokenizer.chat_template or ""))
    unparsed = [argument for argument in arguments if argument not in words]
    if unparsed:
        raise UserError(
            f"{name}: template_arguments.{unparsed[0]} is nothing that the tokenizer's chat template reads: correct "
            "its spelling, or leave it out."
        )


def _render(
    request_id: str,
    chat: list[dict],
    template: str,
    model: LoadedModel,
    templates: Templates,
    arguments: Mapping[str, Any],
) -> Rendered:
    if not chat:
        return Rendered("")
    if template == "tokenizer" and DEFAULT in templates:
        template = DEFAULT
    if template == "tokenizer":
        return _render_chat(request_id, chat, model, arguments)
    if template not in templates:
        raise UserError(
            f"{model.name}: request {request_id!r} asks for the template {template!r}, the model's entry has "
            f"{', '.join(sorted(templates)) or 'none'}: add it there, or choose 'tokenizer'."
        )
    folded = fold_system(chat)
    roles = [message["role"] for message in chat]
    if [message["role"] for message in folded] != ["user"]:
        raise UserError(
            f"{model.name}: request {request_id!r} has the roles {roles}, and the literal template {template!r} takes "
            "one user message: use the template 'tokenizer'."
        )
    text = folded[0]["content"]
    literal = templates[template]
    return Rendered(literal.prompt.replace("{user}", text) if text else literal.empty, folded="system" in roles)


def _render_chat(request_id: str, chat: list[dict], model: LoadedModel, arguments: Mapping[str, Any]) -> Rendered:
    """Messages through the tokenizer's template; a system message that it refuses or drops is put before the user's."""
    if not model.tokenizer.chat_template:
        return Rendered("", f"the tokenizer has no chat template, and the model's entry no `templates.{DEFAULT}`")
    system = [message["content"] for message in chat if message["role"] == "system"]
    try:
        text = _apply(model.tokenizer, chat, arguments)
        if all(content.strip() in text for content in system):
            return Rendered(text)
    except Exception as error:  # a template may raise anything
        if not system:
            raise _refused(request_id, model, error) from error
    try:
        return Rendered(_apply(model.tokenizer, fold_system(chat), arguments), folded=True)
    except Exception as error:
        raise _refused(request_id, model, error) from error


def _refused(request_id: str, model: LoadedModel, error: Exception) -> UserError:
    return UserError(
        f"{model.name}: the tokenizer's chat template does not take request {request_id!r} ({first_line(error)}): give "
        f"the entry `templates.{DEFAULT}`."
    )


def fold_system(chat: Iterable[dict]) -> list[dict]:
    """``chat`` with its system messages, unless empty, at the start of the first other one, a blank line between."""
    system = [message["content"] for message in chat if message["role"] == "system" and message["content"]]
    others = [dict(message) for message in chat if message["role"] != "system"]
    if others and system:
        others[0]["content"] = "\n\n".join([*system, *filter(None, [others[0]["content"]])])
    return others


def _apply(tokenizer: PreTrainedTokenizerBase, chat: list[dict], arguments: Mapping[str, Any]) -> str:
    is_open = chat[-1]["role"] == "assistant"
    return tokenizer.apply_chat_template(
        chat, tokenize=False, add_generation_prompt=not is_open, continue_final_message=is_open, **arguments
    )
