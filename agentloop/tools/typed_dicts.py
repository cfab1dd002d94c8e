"""`typing.TypedDict` for pydantic, which before Python 3.12 takes only its twin from typing_extensions."""

from __future__ import annotations

import types
import typing
from typing import Annotated, Any, NotRequired, Required, Union

import typing_extensions

__all__ = ["with_readable_dicts"]


def with_readable_dicts(annotation: Any) -> Any:
    """The annotation with the twin in place of each `typing.TypedDict` in it, also inside lists, unions and others."""
    if typing.is_typeddict(annotation) and type(annotation).__module__ == "typing":
        return _twin(annotation)
    args = typing.get_args(annotation)
    changed = tuple(with_readable_dicts(arg) for arg in args)
    if all(new is old for new, old in zip(changed, args, strict=True)):
        return annotation
    origin: Any = typing.get_origin(annotation)
    if origin in (Union, types.UnionType):
        return Union[changed]  # noqa: UP007 - made of a tuple
    return Annotated[changed] if origin is Annotated else origin[changed]


def _twin(original: Any) -> Any:
    fields: dict[str, Any] = {}
    for key, hint in typing.get_type_hints(original, include_extras=True).items():
        # The class itself does not see the marks in annotations that are still strings.
        mark: Any = Required if key in original.__required_keys__ else NotRequired
        while typing.get_origin(hint) in (Required, NotRequired):
            mark, hint = typing.get_origin(hint), typing.get_args(hint)[0]
        fields[key] = mark[hint if hint is original else with_readable_dicts(hint)]
    make: Any = typing_extensions.TypedDict
    twin = make(original.__name__, fields)
    twin.__doc__ = original.__doc__
    return twin
