"""Between the API's JSON with names such as `timeoutMs` and Python's dataclasses and options with names such as `timeout_ms`."""

from __future__ import annotations

import collections.abc
import dataclasses
import re
from functools import lru_cache
from typing import Any, Dict, List, Literal, Mapping, Type, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")

# The fields that say which variant of several an object is.
_TAGS = ("type", "kind", "tool")


@dataclasses.dataclass(frozen=True)
class Open:
    """An object with more fields than the API describes. They are attributes too: `event.data.exit_code`."""

    raw: Dict[str, Any] = dataclasses.field(repr=False)
    """The object as the API sent it."""

    def __getattr__(self, name: str) -> Any:
        # Python asks for special methods of objects that are not complete yet, such as copies.
        if not name.startswith("_") and camel_case(name) in self.raw:
            return self.raw[camel_case(name)]
        raise AttributeError(name)


class Unknown(Open):
    """A variant that this version of the client does not know. Ignore it, or look at its `raw` fields."""

    def __repr__(self) -> str:
        return f"Unknown({self.raw!r})"


def camel_case(name: str) -> str:
    return re.sub(r"_([a-z0-9])", lambda match: match.group(1).upper(), name.rstrip("_"))


def to_wire(kind: Any, options: Mapping[str, Any]) -> Dict[str, Any]:
    """The JSON of options, whose names and types are those of a TypedDict. The service ignores what it does not know, so that an option
    with a wrong name would be lost."""
    hints = _hints(kind)
    for name in options:
        if name not in hints:
            raise TypeError(f"There is no option {name!r}. The options are: {', '.join(hints)}")
    return {camel_case(name): _value_to_wire(hints[name], value) for name, value in options.items()}


def _value_to_wire(kind: Any, value: Any) -> Any:
    kinds = get_args(kind) if get_origin(kind) is Union else (kind,)
    if isinstance(value, Mapping):
        objects = [each for each in kinds if is_typeddict(each)]
        fitting = [each for each in objects if value.keys() <= _hints(each).keys()]
        # The keys of records, such as `metadata`, are the caller's own.
        return to_wire((fitting or objects)[0], value) if objects else value
    if isinstance(value, (list, tuple)):
        items = [get_args(each)[0] for each in kinds if get_origin(each) is collections.abc.Sequence]
        return [_value_to_wire(items[0], each) for each in value] if items else value
    return value


def is_typeddict(kind: Any) -> bool:
    return isinstance(kind, type) and hasattr(kind, "__required_keys__")


def decode(kind: Type[T], value: Any) -> T:
    """A body as a dataclass. Fields that the class does not have are ignored, and fields that the body does not have are None."""
    decoded: T = decode_any(kind, value)
    return decoded


def decode_any(kind: Any, value: Any) -> Any:
    """The same for every type that the generated classes use."""
    if value is None:
        return None
    if get_origin(kind) is Union:
        return _decode_union(get_args(kind), value)
    if isinstance(value, list) and get_origin(kind) is list:
        (item,) = get_args(kind)
        return [decode_any(item, each) for each in value]
    if isinstance(value, dict) and dataclasses.is_dataclass(kind):
        return _decode_object(kind, value)
    return value


def merge(data: T, changes: Mapping[str, Any]) -> T:
    """A copy of a dataclass with those of its fields that a body has."""
    hints = _hints(cast(Any, type(data)))
    known = {name: decode_any(hint, changes[camel_case(name)]) for name, hint in hints.items() if camel_case(name) in changes}
    changed: T = dataclasses.replace(cast(Any, data), **known)
    return changed


def _decode_object(kind: Any, value: Dict[str, Any]) -> Any:
    fields = {name: decode_any(hint, value.get(camel_case(name))) for name, hint in _hints(kind).items()}
    return kind(**{**fields, "raw": value} if issubclass(kind, Open) else fields)


def _decode_union(kinds: Any, value: Any) -> Any:
    if isinstance(value, list):
        kind = next((kind for kind in kinds if get_origin(kind) is list), None)
        return decode_any(kind, value) if kind else value
    if not isinstance(value, dict):
        return value
    objects: List[Any] = [kind for kind in kinds if dataclasses.is_dataclass(kind)]
    if len(objects) == 1 and not _tags(objects[0]):
        return _decode_object(objects[0], value)
    for kind in objects:
        if _matches(kind, value):
            return _decode_object(kind, value)
    return Unknown(value) if objects else value


def _matches(kind: Any, value: Dict[str, Any]) -> bool:
    tags = _tags(kind)
    return bool(tags) and all(value.get(name) in values for name, values in tags.items())


@lru_cache(maxsize=None)
def _tags(kind: Any) -> Dict[str, Any]:
    return {name: get_args(hint) for name, hint in _hints(kind).items() if name in _TAGS and get_origin(hint) is Literal}


@lru_cache(maxsize=None)
def _hints(kind: Any) -> Dict[str, Any]:
    return {name: hint for name, hint in get_type_hints(kind).items() if name != "raw"}
