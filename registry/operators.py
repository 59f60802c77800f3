"""All ops by name, those of files that were not run, too (`registry.families`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from opweave.registry.packet import OpOverloadPacket

if TYPE_CHECKING:
    from opweave.registry.op import OpOverload


class Operators(Mapping[str, "OpOverload"]):
    """Ops by name, of files of `registry/ops` that have not been run, too: who asks for one has its file run.

    Parameters
    ----------
    loaded : dict of str to OpOverload
        Those that are there.
    packets : dict of str to OpOverloadPacket
        All packets, which know the files they wait for.
    """

    def __init__(self, loaded: dict[str, OpOverload], packets: dict[str, OpOverloadPacket]) -> None:
        self._loaded, self._packets = loaded, packets

    def __getitem__(self, name: str) -> OpOverload:
        packet = self._packets.get(name.partition(".")[0])
        if packet is not None and packet.is_waiting:
            packet.overloads()
        return self._loaded[name]

    def _all(self) -> dict[str, OpOverload]:
        for packet in [*self._packets.values()]:
            if packet.is_waiting:
                packet.overloads()
        return self._loaded

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())
