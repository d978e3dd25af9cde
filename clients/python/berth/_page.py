from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Generic, List, Optional, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[T]):
    data: List[T]
    next_cursor: Optional[str]


def page_of(body: Any, decode_item: Callable[[Any], T]) -> Page[T]:
    return Page([decode_item(item) for item in body["data"]], body.get("nextCursor"))
