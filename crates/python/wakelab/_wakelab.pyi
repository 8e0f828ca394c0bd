"""The native part of wakelab: the program's commands, and tables in Arrow's memory."""

from collections.abc import Callable, Sequence
from typing import Any, Self, final

__all__ = ["Search", "Table", "run", "set_policy", "toml"]

@final
class Table:
    """A table in Arrow's memory, for what reads the Arrow PyCapsule interface."""

    def __new__(cls, columns: Sequence[tuple[str, str, Sequence[Any]]]) -> Self: ...
    def __len__(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any: ...

@final
class Search:
    """What a search policy knows when a search begins."""

    @property
    def target(self) -> int:
        """The CPU around which the search is made."""
    @property
    def waker_cpu(self) -> int:
        """The CPU of the waking task."""
    @property
    def prev_cpu(self) -> int:
        """The CPU on which the wakee ran last."""
    @property
    def cpus(self) -> list[int]:
        """The CPUs of the target's LLC that the wakee may use."""
    @property
    def idle(self) -> list[int]:
        """Those of them that are idle now. A kernel would have to probe them to know."""
    @property
    def has_idle_core(self) -> bool:
        """Whether the scan is for an idle core; it then has no limit."""
    @property
    def limit(self) -> int | None:
        """How many CPUs the scan may probe as the kernel's own policies have it; None for no limit."""

def set_policy(function: Callable[[Search], int | Sequence[int] | None]) -> None: ...
def run(
    args: Sequence[str],
    command: str,
    library: str,
    progress: Callable[[int, int, str], object] | None = None,
) -> tuple[int | None, bytes, list[tuple[str, str]]]: ...
def toml(json: str) -> str: ...
