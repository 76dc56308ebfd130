"""What is made from the typed configuration: its JSON schema, and the references in docs/ (``make docs``)."""

import json
import re
from collections.abc import Collection, Iterable
from inspect import getdoc
from typing import Any

from pydantic import BaseModel

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.families.decisions.spec import DecisionsDescription, VariedFactor
from biasatlas.benchmarks.families.derived import Derived, Drop, Join
from biasatlas.benchmarks.families.description import Rows
from biasatlas.benchmarks.families.pairs.spec import PairsDescription
from biasatlas.benchmarks.families.questions.spec import QuestionRows
from biasatlas.models.entry import SamplingSettings, Template
from biasatlas.models.kinds import KINDS
from biasatlas.stages import StagedModel, mark
from biasatlas.workflow.config.run import Run
from biasatlas.workflow.config.schema import Config, Construction, Simulation

SCHEMA = ROOT / "config" / "schema.json"
REFERENCE = ROOT / "docs" / "configuration.md"
PROTOCOLS = ROOT / "docs" / "protocols.md"
DESCRIPTIONS = ROOT / "docs" / "descriptions.md"
EXAMPLE = ROOT / "config" / "my-model.yaml"


def schema_text() -> str:
    """The JSON schema of a configuration file."""
    return json.dumps(Config.model_json_schema(), indent=2) + "\n"


def reference_text() -> str:
    """A complete configuration and the reference of every key, in Markdown."""
    sections: list[tuple[str, type[BaseModel]]] = [("The file", Config), ("`benchmarks.{name}`", Run)]
    sections += [(f"`models.{{name}}` of kind `{name}`", kind.entry) for name, kind in KINDS.items()]
    sections += [
        ("`models.{name}.sampling.{name}`", SamplingSettings),
        ("`models.{name}.templates.{template}`", Template),
        ("`construction`", Construction),
        ("`simulation`", Simulation),
    ]
    parts = [
        "# Configuration\n\nGenerated from the typed configuration by `make docs`; `config/schema.json` is the same as "
        "a JSON schema, for editors. The column *changes* says what is made anew when a value changes, with all that "
        "follows from it: answers (a model is asked), judgements (a judge is asked), scores, tables, or nothing "
        "(speed, limits, prices). Relative paths start from the folder that you run in, not from the file's.\n",
        "## A complete file\n\nThis is `config/my-model.yaml`; `make check CONFIG=config/my-model.yaml` says what it "
        f"will ask.\n\n```yaml\n{EXAMPLE.read_text(encoding='utf-8')}```\n",
    ]
    return "\n".join([*parts, *(_section(title, section) for title, section in sections)])


def _section(title: str, section: type[BaseModel], without: Collection[str] = ()) -> str:
    """A heading, what the section is, and a table of its keys but those in ``without``."""
    marked = issubclass(section, StagedModel)
    header = ["key", "type", "default", *(["changes"] if marked else []), "meaning"]
    lines = [f"| {' | '.join(header)} |", f"|{' --- |' * len(header)}", *_rows(section, marked, without)]
    return f"## {title}\n\n{getdoc(section)}\n\n" + "\n".join(lines) + "\n"


def descriptions_text() -> str:
    """Every key of a benchmark's description, in Markdown: those of all families, of each, and of their parts."""
    families: dict[str, type[BaseModel]] = {
        "pairs": PairsDescription,
        "questions": QuestionRows,
        "decisions": DecisionsDescription,
    }
    parts: dict[str, type[BaseModel]] = {
        "`derive.{column}`": Derived,
        "`join`": Join,
        "An item of `drop`": Drop,
        "`factors.{name}`": VariedFactor,
    }
    return "\n".join(
        [
            "# Keys of a description\n\nGenerated from the families of benchmarks by `make docs`; "
            "[adding.md](adding.md#a-benchmark-from-a-description) has examples. Texts name columns of the data in "
            "braces, as in `{sentence}`. A list means one or more. The column *changes* says what runs again when a "
            "value changes.\n",
            _section("All families", Rows),
            *(_section(f"Family `{name}`", section, Rows.model_fields) for name, section in families.items()),
            *(_section(title, section) for title, section in parts.items()),
        ]
    )


def protocols_text() -> str:
    """Every option of every benchmark, with its value under each protocol, in Markdown."""
    parts = [
        "# Protocols and their options\n\nGenerated from the benchmarks' options and `config/protocols/` by `make "
        "docs`. A protocol sets every option: `paper` follows the text, `released` the authors' code, `recommended` is "
        "ours. The column *changes* says what runs again when an option changes; *why* is the reason for the "
        "recommended value.\n"
    ]
    for benchmark in registry.benchmark_names():
        spec, names = registry.load_spec(benchmark), registry.protocol_names(benchmark)
        values = {name: registry.load_options(benchmark, name) for name in names}
        lines = [f"| option | {' | '.join(names)} | changes | meaning | why |", f"|{' --- |' * (len(names) + 4)}"]
        recommended = registry.protocol_file(benchmark, "recommended").read_text(encoding="utf-8")
        reasons = dict(re.findall(r"^(\w+):[^#\n]*# (.+)$", recommended, re.MULTILINE))
        for option, field in spec.options.model_fields.items():
            shown = [_value(getattr(values[name], option)) for name in names]
            meaning, why = field.description or "", reasons.get(option, "")
            cells = [f"`{option}`", *shown, mark(spec.options, option), meaning, why]
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
        parts.append(f"## {spec.title}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, bool | dict | list | tuple) else str(value)


def _rows(section: type[BaseModel], marked: bool, without: Collection[str] = ()) -> Iterable[str]:
    schema = section.model_json_schema()
    for name, field in section.model_fields.items():
        if name in without:
            continue
        shape = schema["properties"][name]
        types = " or ".join(_type(option) for option in shape.get("anyOf", [shape]) if option.get("type") != "null")
        default = "required" if field.is_required() else f"`{json.dumps(field.get_default(call_default_factory=True))}`"
        changes = [mark(section, name)] if marked and issubclass(section, StagedModel) else []
        yield f"| {' | '.join([f'`{name}`', types, default, *changes, field.description or ''])} |"


def _type(shape: dict[str, Any]) -> str:
    if "const" in shape:
        return f"`{shape['const']}`"
    if "enum" in shape:
        return ", ".join(f"`{value}`" for value in shape["enum"])
    if shape.get("type") == "array":
        items = shape.get("items", {})
        return f"list of {'mappings' if '$ref' in items else {'integer': 'numbers'}.get(items.get('type'), 'strings')}"
    if shape.get("type") == "object" or "$ref" in shape:
        return "mapping"
    bound = next(
        (f" {sign} {shape[key]}" for key, sign in (("exclusiveMinimum", ">"), ("minimum", "≥")) if key in shape), ""
    )
    words = {"string": "string", "integer": "integer", "number": "number", "boolean": "true or false"}
    return words[shape["type"]] + bound
