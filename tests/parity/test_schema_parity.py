"""Every operator that PyTorch has: its schema reads and prints back as PyTorch prints it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Optional

import pytest
from differences import left_out

from opweave.registry.errors import SchemaError
from opweave.registry.schema import infer_schema, parse_schema, register_annotation

torch = pytest.importorskip("torch", reason="compares with PyTorch, which is not installed")

# It names two of its arguments alike, so that no call could say which is meant.
AMBIGUOUS = {"static_runtime::clamp_nan_to_num"}


def test_all_schemas() -> None:
    read = 0
    for theirs in torch._C._jit_get_all_schemas():
        text = str(theirs)
        if theirs.name.startswith("parity_"):
            continue  # no difference: made by another test of this process
        if "__torch__" in text or theirs.name in AMBIGUOUS:
            assert left_out("schemas that are no schemas")
            with pytest.raises(SchemaError):
                parse_schema(text)
            continue
        ours = parse_schema(text)
        read += 1
        assert str(ours) == text
        assert (ours.name, ours.overload_name, ours.is_mutable) == (
            theirs.name, theirs.overload_name, theirs.is_mutable,
        )  # fmt: skip
        for argument, other in zip(ours.arguments, theirs.arguments, strict=True):
            assert (argument.name, argument.kwarg_only) == (other.name, other.kwarg_only)
            assert argument.has_default == other.has_default_value()
            assert argument.is_write == (other.alias_info is not None and other.alias_info.is_write)
    assert read > 4000


@pytest.mark.parametrize(
    "text",
    [
        "x::y(int[2] a=0, SymInt[2] b=0, int[2]? c=0, bool[3] d=True, float[2] e=1) -> ()",
        "x::y(float a=1, float? b=1, float c=1e20, float d=123456789012.5, float[] e=[1, 2.5], float f=.5) -> ()",
        "x::y(Layout b=strided, MemoryFormat c=contiguous_format, int d=Mean, ScalarType e=long) -> ()",
        "x::y(Tensor? a=None, Tensor b=None, Generator c=None) -> ((Tensor))",
        "x::y(complex a=1j, Scalar b=1, Scalar c=1.5, Scalar d=True, Scalar e=2j) -> (Tensor)",
        "x::y(Tensor(a)[](b!) a, Tensor[](c!) b, Tensor(d!)[3] c, Tensor(e!)[]? d) -> (Tensor(e), ...)",
        "x::y(int a, *, int b, *, int c) -> (...)",
        "x::y(NoneType a, Dict(int, (int, str)[])? b, int?[]? c, Future(t) d) -> t",
    ],
)
def test_prints_the_same(text: str) -> None:
    assert str(parse_schema(text)) == str(torch._C.parse_schema(text))


def _functions() -> list[Callable[..., Any]]:
    from torch import Tensor

    def plain(x: Tensor, n: int, p: float, *, flag: bool = True, mode: str = "a") -> Tensor: ...

    def optional(x: Optional[Tensor], z: Optional[int] = None, s: Optional[list[float]] = None) -> None: ...  # noqa: UP045

    def lists(x: list[Tensor], y: Sequence[int], w: Sequence[Optional[Tensor]]) -> list[Tensor]: ...  # noqa: UP045

    def numbers(x: torch.types.Number, y: Optional[torch.types.Number] = 2.5) -> tuple[Tensor, int]: ...  # noqa: UP045

    def devices(d: torch.dtype, e: torch.device) -> tuple[Tensor]: ...

    functions: list[Callable[..., Any]] = [plain, optional, lists, numbers, devices]
    for function in functions:
        # Evaluated here, since strings are looked up in the module.
        scope = {"Tensor": Tensor, "torch": torch, "Optional": Optional, "Sequence": Sequence}
        function.__annotations__ = {
            name: eval(text, scope) if isinstance(text, str) else text
            for name, text in function.__annotations__.items()
        }
    return functions


@pytest.mark.parametrize("mutates", [(), "unknown"])
def test_infers_the_same(mutates: Any) -> None:
    for kind, name in ((torch.Tensor, "Tensor"), (torch.dtype, "ScalarType"), (torch.device, "Device")):
        register_annotation(kind, name)
    for function in _functions():
        assert infer_schema(function, mutates_args=mutates) == torch.library.infer_schema(
            function, mutates_args=mutates
        )
