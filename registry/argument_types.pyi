"""What arguments of ops may be, as stubs call it. A stub alone: nothing of it is there when programs run."""

from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np

from opweave.fake.symbolic import SymBool, SymFloat, SymInt
from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.tensor import Tensor

Int: TypeAlias = int | SymInt | np.integer[Any]
Float: TypeAlias = float | SymFloat | SymInt | np.floating[Any] | np.integer[Any]
Bool: TypeAlias = bool | SymBool | np.bool_
Number: TypeAlias = complex | SymInt | SymFloat | SymBool | np.number[Any] | np.bool_
DTypeLike: TypeAlias = DType | type[complex] | type[np.generic] | np.dtype[Any]
DeviceLike: TypeAlias = Device | str | int
#: The other operand of an operator.
Operand: TypeAlias = Tensor | Number | np.ndarray[Any, Any]
Index: TypeAlias = Int | Bool | slice | EllipsisType | None | Tensor | list[Any] | tuple[Any, ...] | np.ndarray[Any, Any]
