"""Placeholders for what is not there."""

from __future__ import annotations

from typing import Any, NoReturn

from opweave.registry.errors import UnsupportedError


class AbsentMeta(type):
    """Classes that stand for names that are not there: everything but a use of them works."""

    _opweave_absent: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedError(f"{cls._opweave_absent} is not there", got=f"a call of {cls._opweave_absent}")

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(f"{cls._opweave_absent}.{name}")

    def __getitem__(cls, item: Any) -> AbsentMeta:  # in an annotation
        return cls

    def __instancecheck__(cls, instance: Any) -> bool:
        return False

    def __bool__(cls) -> bool:
        raise UnsupportedError(f"{cls._opweave_absent} is not there", got=f"the truth of {cls._opweave_absent}")

    def __repr__(cls) -> str:
        return f"<{cls._opweave_absent}, which is not there>"


def absent(name: str) -> Any:
    """A placeholder for a name, `torch.distributed.all_reduce`."""
    return AbsentMeta(name.rpartition(".")[2], (), {"_opweave_absent": name, "__module__": name.rpartition(".")[0]})
