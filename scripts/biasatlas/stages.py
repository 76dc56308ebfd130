"""What a field of the configuration changes: each field says so in its schema, and rerun triggers follow from that."""

from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

#: What is made anew when a field changes, with all that follows from it: "answers" (a model is asked something else),
#: "judgements" (a judge is), "scores", "tables", or "nothing" (speed, limits, prices).
Stage = Literal["answers", "judgements", "scores", "tables", "nothing"]

_ORDER: tuple[Stage, ...] = get_args(Stage)


def field(changes: Stage, default: Any = ..., **schema: Any) -> Any:
    """A pydantic field that says which stage it changes."""
    return Field(default, json_schema_extra={"changes": changes}, **schema)


class StagedModel(BaseModel):
    """A section whose fields all say which stage they change. Unknown keys and infinities are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        for name in cls.model_fields:
            mark(cls, name)


def mark(section: type[StagedModel], name: str) -> Stage:
    """What field ``name`` of ``section`` changes. Raises TypeError where the field does not say."""
    extra = section.model_fields[name].json_schema_extra
    changes = extra.get("changes") if isinstance(extra, dict) else None
    for known in _ORDER:
        if changes == known:
            return known
    raise TypeError(f"{section.__name__}.{name}: mark it with one of {', '.join(_ORDER)} (biasatlas.stages.field)")


def declaration(section: StagedModel) -> type[StagedModel]:
    """The class of a section, for code that asks what its fields could be; the class is then in the code's identity."""
    return type(section)


def fields_affecting(section: StagedModel, upto: Stage) -> dict[str, Any]:
    """The fields that can change what is made up to a stage, as plain values in the order of their names.

    With "scores": the fields that change answers, judgements or scores. Two sections that mean the same give the same
    text, whatever the order or spelling (1, 1.0) in the file.
    """
    stages = _ORDER[: _ORDER.index(upto) + 1]
    names = {name for name in type(section).model_fields if mark(type(section), name) in stages}
    return _sorted(section.model_dump(mode="json", include=names))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
