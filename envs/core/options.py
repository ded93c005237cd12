"""Rule options: one validated pydantic model a game."""

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from .errors import OptionError
from .rng import MAX_SEED

Model = TypeVar("Model", bound="Options")


class Options(BaseModel):
    """Base of every game's options: fields stand in the order of the record header, each with its default and a description."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @classmethod
    def parse(cls: type[Model], values: dict[str, Any]) -> Model:
        """Build the options; :class:`OptionError` names the option, the value and what is allowed."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise OptionError("; ".join(_explain(cls, e) for e in error.errors())) from None


def _explain(options: type[Options], error: Any) -> str:
    if not error["loc"]:
        return str(error["msg"]).removeprefix("Value error, ")
    name = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        known = ", ".join(options.model_fields) or "none"
        return f"unknown option {name!r}; the options are: {known}"
    return f"option {name!r} cannot be {error['input']!r}: {error['msg'][0].lower()}{error['msg'][1:]}"


def check_seed(seed: Any) -> int:
    """The seed as an int; :class:`OptionError` unless it is an integer from 0 to 2**53 - 1."""
    try:
        value = int(seed.__index__())
    except (AttributeError, TypeError):
        value = -1
    if isinstance(seed, bool) or not 0 <= value <= MAX_SEED:
        raise OptionError(f"seed cannot be {seed!r}: it must be an integer from 0 to {MAX_SEED}")
    return value
