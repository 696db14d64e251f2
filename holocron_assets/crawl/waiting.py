"""Items of a batch that wait to be read: which of them are read next, and which together."""

from collections import Counter, deque
from collections.abc import Callable, Sequence

from holocron_assets.lake.declaration.schema import Row

Group = Sequence[Row]


class Waiting:
    """Items that wait. Those of larger groups come first: they never failed, and do no harm to each other.

    Hosts take turns: the next group is of the host of which the fewest groups are being read. So a host that
    answers slowly does not take the threads that others need.
    """

    def __init__(self, host: Callable[[Row], str]) -> None:
        """Nothing waits; `host` says what an item is read from."""
        self._host = host
        self._by_size: dict[int, dict[str, deque[Row]]] = {}
        self._being_read: Counter[str] = Counter()

    def add(self, item: Row, size: int) -> None:
        """Let an item wait, to be read in a group of at most `size`."""
        hosts = self._by_size.setdefault(size, {})
        hosts.setdefault(self._host(item), deque()).append(item)

    def take(self) -> Group | None:
        """The next group, which is being read from now on; None if nothing waits."""
        if not self._by_size:
            return None
        size = max(self._by_size)
        hosts = self._by_size[size]
        host = min(hosts, key=self._being_read.__getitem__)
        items = hosts.pop(host)
        group = [items.popleft() for _ in range(min(size, len(items)))]
        if items:
            hosts[host] = items  # last in turn
        elif not hosts:
            del self._by_size[size]
        self._being_read[host] += 1
        return group

    def note_read(self, group: Group) -> None:
        """Note that a group is not being read any more."""
        self._being_read[self._host(group[0])] -= 1
