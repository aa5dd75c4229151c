"""An immutable sequence that grows at its end in constant time."""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class AppendOnlyChain(Generic[T]):
    """Successive chains share one list; each sees only the first part of it, up to its own length.

    Appending to the newest chain is a list append. Appending to an older one copies the list first, which would
    otherwise overwrite items of the newer one.
    """

    __slots__ = ("_items", "_length")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items: list[T] = list(items)
        self._length = len(self._items)

    def append(self, item: T) -> "AppendOnlyChain[T]":
        items = self._items if len(self._items) == self._length else self._items[: self._length]
        items.append(item)
        grown: AppendOnlyChain[T] = AppendOnlyChain.__new__(AppendOnlyChain)
        grown._items = items
        grown._length = self._length + 1
        return grown

    def to_list(self) -> list[T]:
        return self._items[: self._length]

    def __iter__(self) -> Iterator[T]:
        return iter(self.to_list())

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> T:
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._items[index if index >= 0 else index + self._length]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AppendOnlyChain) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # equal by content, and content may be unhashable
