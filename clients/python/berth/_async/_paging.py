from __future__ import annotations

from typing import AsyncIterator, Awaitable, Callable, Generic, Optional, TypeVar

from .._page import Page

T = TypeVar("T")


class AsyncPaged(Generic[T]):
    """A paged list. Iterate over all entries, or request one page at a time."""

    def __init__(self, load: Callable[[Optional[str]], Awaitable[Page[T]]]) -> None:
        self._load = load

    async def page(self, cursor: Optional[str] = None) -> Page[T]:
        return await self._load(cursor)

    async def __aiter__(self) -> AsyncIterator[T]:
        cursor: Optional[str] = None
        while True:
            page = await self._load(cursor)
            for item in page.data:
                yield item
            cursor = page.next_cursor
            if cursor is None:
                return
