"""What is bound to `Tensor`: methods, operators and properties.

Written by `python -m opweave.typing_stubs` from the declarations of the ops; see there."""

from builtins import bool as _bool, float as _float, int as _int, str as _str, tuple as _tuple
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload
from opweave.registry import return_types
from opweave.registry.argument_types import Bool, DTypeLike, DeviceLike, Float, Index, Int, Number, Operand
from opweave.registry.autograd.graph import Node, RemovableHandle
from opweave.registry.dtypes import DType
from opweave.registry.memory_format import Layout, MemoryFormat
from opweave.registry.ops.random import Generator
from opweave.registry.tensor import Tensor

class Methods:
    __slots__ = ()
    def __add__(self, other: Operand) -> Tensor: ...
    def __radd__(self, other: Operand) -> Tensor: ...
    def __sub__(self, other: Operand) -> Tensor: ...
    def __rsub__(self, other: Operand) -> Tensor: ...
    def __mul__(self, other: Operand) -> Tensor: ...
    def __rmul__(self, other: Operand) -> Tensor: ...
    def __truediv__(self, other: Operand) -> Tensor: ...
    def __rtruediv__(self, other: Operand) -> Tensor: ...
    def __floordiv__(self, other: Operand) -> Tensor: ...
    def __rfloordiv__(self, other: Operand) -> Tensor: ...
    def __mod__(self, other: Operand) -> Tensor: ...
    def __rmod__(self, other: Operand) -> Tensor: ...
    def __pow__(self, other: Operand) -> Tensor: ...
    def __rpow__(self, other: Operand) -> Tensor: ...
    def __matmul__(self, other: Operand) -> Tensor: ...
    def __rmatmul__(self, other: Operand) -> Tensor: ...
    def __and__(self, other: Operand) -> Tensor: ...
    def __rand__(self, other: Operand) -> Tensor: ...
    def __or__(self, other: Operand) -> Tensor: ...
    def __ror__(self, other: Operand) -> Tensor: ...
    def __xor__(self, other: Operand) -> Tensor: ...
    def __rxor__(self, other: Operand) -> Tensor: ...
    def __lshift__(self, other: Operand) -> Tensor: ...
    def __rlshift__(self, other: Operand) -> Tensor: ...
    def __rshift__(self, other: Operand) -> Tensor: ...
    def __rrshift__(self, other: Operand) -> Tensor: ...
    def __iadd__(self, other: Operand) -> Tensor: ...
    def __isub__(self, other: Operand) -> Tensor: ...
    def __imul__(self, other: Operand) -> Tensor: ...
    def __itruediv__(self, other: Operand) -> Tensor: ...
    def __ifloordiv__(self, other: Operand) -> Tensor: ...
    def __imod__(self, other: Operand) -> Tensor: ...
    def __ipow__(self, other: Operand) -> Tensor: ...
    def __iand__(self, other: Operand) -> Tensor: ...
    def __ior__(self, other: Operand) -> Tensor: ...
    def __ixor__(self, other: Operand) -> Tensor: ...
    def __ilshift__(self, other: Operand) -> Tensor: ...
    def __irshift__(self, other: Operand) -> Tensor: ...
    def __lt__(self, other: Operand) -> Tensor: ...
    def __le__(self, other: Operand) -> Tensor: ...
    def __gt__(self, other: Operand) -> Tensor: ...
    def __ge__(self, other: Operand) -> Tensor: ...
    def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __getitem__(self, key: Index) -> Tensor: ...
    def __setitem__(self, key: Index, value: Operand) -> None: ...
    @property
    def H(self) -> Tensor:
        """A matrix transposed and conjugated."""
        ...
    @property
    def T(self) -> Tensor:
        """A view with the dimensions in the opposite order."""
        ...
    def abs(self) -> Tensor:
        """The absolute value of each element; of a complex number its magnitude.

        Returns
        -------
        Tensor
            Its shape is the argument's.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.abs(x)
        tensor([1.0000, 0.5000, 2.0000])
        >>> x.abs()
        tensor([1.0000, 0.5000, 2.0000])"""
        ...
    def abs_(self) -> Tensor:
        """The absolute value of each element; of a complex number its magnitude. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.abs_()
        tensor([1.0000, 0.5000, 2.0000])"""
        ...
    def absolute(self) -> Tensor:
        """The absolute value of each element; of a complex number its magnitude.

        Returns
        -------
        Tensor
            Its shape is the argument's.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.abs(x)
        tensor([1.0000, 0.5000, 2.0000])
        >>> x.abs()
        tensor([1.0000, 0.5000, 2.0000])"""
        ...
    def absolute_(self) -> Tensor:
        """The absolute value of each element; of a complex number its magnitude. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.abs_()
        tensor([1.0000, 0.5000, 2.0000])"""
        ...
    def acos(self) -> Tensor:
        """The inverse cosine of each element, in radians from 0 to π; NaN outside of [-1, 1].

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> opweave.acos(x)
        tensor([1.3181, 1.0472, 0.0000])
        >>> x.acos()
        tensor([1.3181, 1.0472, 0.0000])"""
        ...
    def acos_(self) -> Tensor:
        """The inverse cosine of each element, in radians from 0 to π; NaN outside of [-1, 1]. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> x.acos_()
        tensor([1.3181, 1.0472, 0.0000])"""
        ...
    def acosh(self) -> Tensor:
        """The inverse hyperbolic cosine of each element; NaN below 1.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 4.0])
        >>> opweave.acosh(x)
        tensor([0.0000, 1.3170, 2.0634])
        >>> x.acosh()
        tensor([0.0000, 1.3170, 2.0634])"""
        ...
    def acosh_(self) -> Tensor:
        """The inverse hyperbolic cosine of each element; NaN below 1. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 4.0])
        >>> x.acosh_()
        tensor([0.0000, 1.3170, 2.0634])"""
        ...
    @overload
    def adaptive_avg_pool1d(self, output_size: Int | Sequence[Int]) -> Tensor: ...
    @overload
    def adaptive_avg_pool1d(self, *output_size: Int) -> Tensor:
        """The means over windows that cover a line evenly.

        Parameters
        ----------
        output_size : int or sequence of int
            The size of the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[[1.0, 2.0, 3.0, 4.0]]])
        >>> opweave.adaptive_avg_pool1d(x, 2)
        tensor([[[1.5000, 3.5000]]])
        >>> x.adaptive_avg_pool1d(2)
        tensor([[[1.5000, 3.5000]]])"""
        ...
    @overload
    def adaptive_avg_pool2d(self, output_size: Int | Sequence[Int]) -> Tensor: ...
    @overload
    def adaptive_avg_pool2d(self, *output_size: Int) -> Tensor:
        """The means over windows that cover an image evenly, as many as the output has places.

        Parameters
        ----------
        output_size : int or sequence of int
            The size of the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.arange(16.0).view(1, 1, 4, 4)
        >>> x.adaptive_avg_pool2d([2, 2])
        tensor([[[[ 2.5000,  4.5000],
                  [10.5000, 12.5000]]]])"""
        ...
    @overload
    def adaptive_avg_pool3d(self, output_size: Int | Sequence[Int]) -> Tensor: ...
    @overload
    def adaptive_avg_pool3d(self, *output_size: Int) -> Tensor:
        """The means over windows that cover a volume evenly, as many as the output has places.

        Parameters
        ----------
        output_size : int or sequence of int
            The size of the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.arange(8.0).view(1, 1, 2, 2, 2)
        >>> x.adaptive_avg_pool3d([1, 1, 1])
        tensor([[[[[3.5000]]]]])"""
        ...
    @overload
    def adaptive_max_pool1d(self, output_size: Int | Sequence[Int]) -> _tuple[Tensor, Tensor]: ...
    @overload
    def adaptive_max_pool1d(self, *output_size: Int) -> _tuple[Tensor, Tensor]:
        """The maxima over windows that cover a line evenly, and their places in it.

        Parameters
        ----------
        output_size : int or sequence of int
            The size of the result.

        Returns
        -------
        tuple[Tensor, Tensor]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor([[[1.0, 2.0, 3.0, 4.0]]])
        >>> opweave.adaptive_max_pool1d(x, 2)
        (tensor([[[2., 4.]]]), tensor([[[1, 3]]]))
        >>> x.adaptive_max_pool1d(2)
        (tensor([[[2., 4.]]]), tensor([[[1, 3]]]))"""
        ...
    @overload
    def adaptive_max_pool2d(self, output_size: Int | Sequence[Int]) -> _tuple[Tensor, Tensor]: ...
    @overload
    def adaptive_max_pool2d(self, *output_size: Int) -> _tuple[Tensor, Tensor]:
        """The maxima over windows that cover the image evenly and their places in it: the first, or the last NaN.

        Parameters
        ----------
        output_size : int or sequence of int
            The size of the result.

        Returns
        -------
        tuple[Tensor, Tensor]
            The tensors.

        Examples
        --------
        >>> x = opweave.arange(16.0).view(1, 1, 4, 4)
        >>> x.adaptive_max_pool2d([2, 2])
        (tensor([[[[ 5.,  7.],
                  [13., 15.]]]]), tensor([[[[ 5,  7],
                  [13, 15]]]]))"""
        ...
    @overload
    def adaptive_max_pool3d(self, output_size: Int | Sequence[Int]) -> _tuple[Tensor, Tensor]: ...
    @overload
    def adaptive_max_pool3d(self, *output_size: Int) -> _tuple[Tensor, Tensor]:
        """The maxima over windows that cover the image evenly and their places in it: the first, or the last NaN.

        Parameters
        ----------
        output_size : int or sequence of int
            The size of the result.

        Returns
        -------
        tuple[Tensor, Tensor]
            The tensors.

        Examples
        --------
        >>> x = opweave.arange(8.0).view(1, 1, 2, 2, 2)
        >>> x.adaptive_max_pool3d([1, 1, 1])
        (tensor([[[[[7.]]]]]), tensor([[[[[7]]]]]))"""
        ...
    @overload
    def add(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor: ...
    @overload
    def add(self, other: Number, alpha: Number = 1) -> Tensor:
        """The sum `input + alpha * other`, element by element.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.
        alpha : number, default 1
            A factor of `other`.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> opweave.add(x, y, alpha=2)
        tensor([ 9., 12., 15.])
        >>> x.add(y, alpha=2)
        tensor([ 9., 12., 15.])"""
        ...
    @overload
    def add_(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor: ...
    @overload
    def add_(self, other: Number, alpha: Number = 1) -> Tensor:
        """The sum `input + alpha * other`, element by element. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.
        alpha : number, default 1
            A factor of `other`.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> x.add_(y, alpha=2)
        tensor([ 9., 12., 15.])"""
        ...
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """Beta x + alpha Σ a b over a batch; where beta is 0, x does not count.

        Parameters
        ----------
        batch1 : Tensor
            The first batch of matrices.
        batch2 : Tensor
            The second batch of matrices.
        beta : number, default 1
            A factor of `input`.
        alpha : number, default 1
            A factor.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> y = opweave.ones(3, 2, 2)
        >>> z = opweave.ones(3, 2, 2)
        >>> opweave.addbmm(x, y, z)
        tensor([[ 7.,  8.],
                [ 9., 10.]])
        >>> x.addbmm(y, z)
        tensor([[ 7.,  8.],
                [ 9., 10.]])"""
        ...
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """Beta x + alpha Σ a b over a batch; where beta is 0, x does not count. In place.

        Parameters
        ----------
        batch1 : Tensor
            The first batch of matrices.
        batch2 : Tensor
            The second batch of matrices.
        beta : number, default 1
            A factor of `input`.
        alpha : number, default 1
            A factor.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> y = opweave.ones(3, 2, 2)
        >>> z = opweave.ones(3, 2, 2)
        >>> x.addbmm_(y, z)
        tensor([[ 7.,  8.],
                [ 9., 10.]])"""
        ...
    def addcdiv(self, tensor1: Tensor | Number, tensor2: Tensor | Number, *, value: Number = 1) -> Tensor:
        """`input + value * tensor1 / tensor2`, element by element.

        Parameters
        ----------
        tensor1 : Tensor or number
            One tensor.
        tensor2 : Tensor or number
            Another tensor.
        value : number, default 1
            A factor of the quotient.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> z = opweave.tensor([2.0, 2.0, 2.0])
        >>> opweave.addcdiv(x, y, z, value=2)
        tensor([5., 7., 9.])
        >>> x.addcdiv(y, z, value=2)
        tensor([5., 7., 9.])"""
        ...
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
        """`input + value * tensor1 / tensor2`, element by element. In place.

        Parameters
        ----------
        tensor1 : Tensor
            One tensor.
        tensor2 : Tensor
            Another tensor.
        value : number, default 1
            A factor of the quotient.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> z = opweave.tensor([2.0, 2.0, 2.0])
        >>> x.addcdiv_(y, z, value=2)
        tensor([5., 7., 9.])"""
        ...
    def addcmul(self, tensor1: Tensor | Number, tensor2: Tensor | Number, *, value: Number = 1) -> Tensor:
        """`input + value * tensor1 * tensor2`, element by element.

        Parameters
        ----------
        tensor1 : Tensor or number
            One tensor.
        tensor2 : Tensor or number
            Another tensor.
        value : number, default 1
            A factor of the product.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> z = opweave.tensor([2.0, 2.0, 2.0])
        >>> opweave.addcmul(x, y, z, value=2)
        tensor([17., 22., 27.])
        >>> x.addcmul(y, z, value=2)
        tensor([17., 22., 27.])"""
        ...
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
        """`input + value * tensor1 * tensor2`, element by element. In place.

        Parameters
        ----------
        tensor1 : Tensor
            One tensor.
        tensor2 : Tensor
            Another tensor.
        value : number, default 1
            A factor of the product.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> z = opweave.tensor([2.0, 2.0, 2.0])
        >>> x.addcmul_(y, z, value=2)
        tensor([17., 22., 27.])"""
        ...
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """`beta * input + alpha * (mat1 @ mat2)`; where beta is 0, what `input` holds does not count.

        Parameters
        ----------
        mat1 : Tensor
            The first matrix.
        mat2 : Tensor
            The second matrix.
        beta : number, default 1
            A factor of `input`.
        alpha : number, default 1
            A factor.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> y = opweave.tensor([[0.0, 1.0], [1.0, 0.0]])
        >>> z = opweave.tensor([[1.0, 1.0], [1.0, 1.0]])
        >>> opweave.addmm(x, y, z)
        tensor([[2., 3.],
                [4., 5.]])
        >>> x.addmm(y, z)
        tensor([[2., 3.],
                [4., 5.]])"""
        ...
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """`beta * input + alpha * (mat1 @ mat2)`; where beta is 0, what `input` holds does not count. In place.

        Parameters
        ----------
        mat1 : Tensor
            The first matrix.
        mat2 : Tensor
            The second matrix.
        beta : number, default 1
            A factor of `input`.
        alpha : number, default 1
            A factor.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> y = opweave.tensor([[0.0, 1.0], [1.0, 0.0]])
        >>> z = opweave.tensor([[1.0, 1.0], [1.0, 1.0]])
        >>> x.addmm_(y, z)
        tensor([[2., 3.],
                [4., 5.]])"""
        ...
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """`beta * input + alpha * (mat @ vec)`; where beta is 0, what `input` holds does not count.

        Parameters
        ----------
        mat : Tensor
            A matrix.
        vec : Tensor
            A vector.
        beta : number, default 1
            A factor of `input`.
        alpha : number, default 1
            A factor.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 1.0])
        >>> y = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> z = opweave.tensor([1.0, 2.0])
        >>> opweave.addmv(x, y, z)
        tensor([ 6., 12.])
        >>> x.addmv(y, z)
        tensor([ 6., 12.])"""
        ...
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """`beta * input + alpha * (mat @ vec)`; where beta is 0, what `input` holds does not count. In place.

        Parameters
        ----------
        mat : Tensor
            A matrix.
        vec : Tensor
            A vector.
        beta : number, default 1
            A factor of `input`.
        alpha : number, default 1
            A factor.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 1.0])
        >>> y = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> z = opweave.tensor([1.0, 2.0])
        >>> x.addmv_(y, z)
        tensor([ 6., 12.])"""
        ...
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """Beta x + alpha v wᵀ; where beta is 0, x does not count.

        Parameters
        ----------
        vec1 : Tensor
            One vector.
        vec2 : Tensor
            Another vector.
        beta : number, default 1
            A factor of `input`.
        alpha : number, default 1
            A factor.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> y = opweave.tensor([1.0, 2.0])
        >>> z = opweave.tensor([1.0, 10.0])
        >>> opweave.addr(x, y, z)
        tensor([[ 2., 12.],
                [ 5., 24.]])
        >>> x.addr(y, z)
        tensor([[ 2., 12.],
                [ 5., 24.]])"""
        ...
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """Beta x + alpha v wᵀ; where beta is 0, x does not count. In place.

        Parameters
        ----------
        vec1 : Tensor
            One vector.
        vec2 : Tensor
            Another vector.
        beta : number, default 1
            A factor of `input`.
        alpha : number, default 1
            A factor.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> y = opweave.tensor([1.0, 2.0])
        >>> z = opweave.tensor([1.0, 10.0])
        >>> x.addr_(y, z)
        tensor([[ 2., 12.],
                [ 5., 24.]])"""
        ...
    def adjoint(self) -> Tensor:
        """The matrices in the last two dimensions transposed and conjugated.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.adjoint(x)
        tensor([[1., 3.],
                [2., 4.]])
        >>> x.adjoint()
        tensor([[1., 3.],
                [2., 4.]])"""
        ...
    def alias(self) -> Tensor:
        """Another tensor over the same memory.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.alias(x)
        tensor([1., 2., 3.])
        >>> x.alias()
        tensor([1., 2., 3.])"""
        ...
    def alias_copy(self) -> Tensor:
        """Another tensor over the same memory. Here as a copy.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.alias_copy(x)
        tensor([1., 2., 3.])
        >>> x.alias_copy()
        tensor([1., 2., 3.])"""
        ...
    @overload
    def all(self, dim: Int, keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor: ...
    @overload
    def all(self, axis: Int, keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor: ...
    @overload
    def all(self, dim: Sequence[Int] | None = None, keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor: ...
    @overload
    def all(self, axis: Sequence[Int] | None = None, keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor:
        """Whether no element is 0, of the whole tensor or over dimensions.

        Parameters
        ----------
        dim : int or sequence of int, optional
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.

        Returns
        -------
        Tensor
            A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.

        Examples
        --------
        >>> x = opweave.tensor([[True, False], [True, True]])
        >>> opweave.all(x, 1)
        tensor([False,  True])
        >>> x.all(1)
        tensor([False,  True])"""
        ...
    def allclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
        """Whether `isclose` holds everywhere; a trace, which does not know, takes `isclose(...).all()`.

        Parameters
        ----------
        input, other : Tensor
            Of one dtype.
        rtol, atol : float
            Relative and absolute tolerance.
        equal_nan : bool
            Whether NaN equals NaN.

        Examples
        --------
        >>> opweave.allclose(opweave.tensor([1.0]), opweave.tensor([1.0001]), rtol=1e-3)
        True"""
        ...
    def alpha_dropout_(self, p: Float, train: Bool) -> Tensor:
        """Dropout that keeps mean and variance: dropped elements take the value that SELU saturates at. In place.

        Parameters
        ----------
        p : float
            The p of the norm.
        train : bool
            Whether anything is dropped.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.alpha_dropout_(x, 0.5, False).shape
        opweave.Size([3])"""
        ...
    @overload
    def amax(self, dim: Int | Sequence[Int] = ..., keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor: ...
    @overload
    def amax(self, axis: Int | Sequence[Int] = ..., keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor:
        """Maximum over some dimensions; NaN wins.

        Parameters
        ----------
        dim : int or sequence of int, default ()
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.

        Returns
        -------
        Tensor
            A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.amax(x, 1)
        tensor([3., 6.])
        >>> x.amax(1)
        tensor([3., 6.])"""
        ...
    @overload
    def amin(self, dim: Int | Sequence[Int] = ..., keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor: ...
    @overload
    def amin(self, axis: Int | Sequence[Int] = ..., keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor:
        """Minimum over some dimensions; NaN wins.

        Parameters
        ----------
        dim : int or sequence of int, default ()
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.

        Returns
        -------
        Tensor
            A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.amin(x, 1)
        tensor([1., 4.])
        >>> x.amin(1)
        tensor([1., 4.])"""
        ...
    @overload
    def aminmax(self, *, dim: Int | None = None, keepdim: Bool = False, keepdims: Bool = False) -> return_types.aminmax: ...
    @overload
    def aminmax(self, *, axis: Int | None = None, keepdim: Bool = False, keepdims: Bool = False) -> return_types.aminmax:
        """The least and the largest element, of the whole tensor or along a dimension.

        Parameters
        ----------
        dim : int, optional
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.

        Returns
        -------
        return_types.aminmax
            A named tuple of tensors: min, max.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.aminmax(x, dim=1)
        opweave.return_types.aminmax(
        min=tensor([1., 4.]),
        max=tensor([3., 6.]))
        >>> x.aminmax(dim=1)
        opweave.return_types.aminmax(
        min=tensor([1., 4.]),
        max=tensor([3., 6.]))"""
        ...
    def angle(self) -> Tensor:
        """The angle of complex numbers, between -π and π; π for negative real numbers, and 0 for others.

        Returns
        -------
        Tensor
            Its shape is the argument's.

        Examples
        --------
        >>> x = opweave.tensor([1 + 1j, -1 + 0j])
        >>> opweave.angle(x)
        tensor([0.7854, 3.1416])
        >>> x.angle()
        tensor([0.7854, 3.1416])"""
        ...
    @overload
    def any(self, dim: Int, keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor: ...
    @overload
    def any(self, axis: Int, keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor: ...
    @overload
    def any(self, dim: Sequence[Int] | None = None, keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor: ...
    @overload
    def any(self, axis: Sequence[Int] | None = None, keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor:
        """Whether any element is other than 0, of the whole tensor or over dimensions.

        Parameters
        ----------
        dim : int or sequence of int, optional
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.

        Returns
        -------
        Tensor
            A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.

        Examples
        --------
        >>> x = opweave.tensor([[True, False], [False, False]])
        >>> opweave.any(x, 1)
        tensor([ True, False])
        >>> x.any(1)
        tensor([ True, False])"""
        ...
    def arccos(self) -> Tensor:
        """The inverse cosine of each element, in radians from 0 to π; NaN outside of [-1, 1].

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> opweave.acos(x)
        tensor([1.3181, 1.0472, 0.0000])
        >>> x.acos()
        tensor([1.3181, 1.0472, 0.0000])"""
        ...
    def arccos_(self) -> Tensor:
        """The inverse cosine of each element, in radians from 0 to π; NaN outside of [-1, 1]. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> x.acos_()
        tensor([1.3181, 1.0472, 0.0000])"""
        ...
    def arccosh(self) -> Tensor:
        """The inverse hyperbolic cosine of each element; NaN below 1.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 4.0])
        >>> opweave.acosh(x)
        tensor([0.0000, 1.3170, 2.0634])
        >>> x.acosh()
        tensor([0.0000, 1.3170, 2.0634])"""
        ...
    def arccosh_(self) -> Tensor:
        """The inverse hyperbolic cosine of each element; NaN below 1. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 4.0])
        >>> x.acosh_()
        tensor([0.0000, 1.3170, 2.0634])"""
        ...
    def arcsin(self) -> Tensor:
        """The inverse sine of each element, in radians from -π/2 to π/2; NaN outside of [-1, 1].

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> opweave.asin(x)
        tensor([0.2527, 0.5236, 1.5708])
        >>> x.asin()
        tensor([0.2527, 0.5236, 1.5708])"""
        ...
    def arcsin_(self) -> Tensor:
        """The inverse sine of each element, in radians from -π/2 to π/2; NaN outside of [-1, 1]. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> x.asin_()
        tensor([0.2527, 0.5236, 1.5708])"""
        ...
    def arcsinh(self) -> Tensor:
        """The inverse hyperbolic sine of each element.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.asinh(x)
        tensor([-0.8814,  0.4812,  1.4436])
        >>> x.asinh()
        tensor([-0.8814,  0.4812,  1.4436])"""
        ...
    def arcsinh_(self) -> Tensor:
        """The inverse hyperbolic sine of each element. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.asinh_()
        tensor([-0.8814,  0.4812,  1.4436])"""
        ...
    def arctan(self) -> Tensor:
        """The inverse tangent of each element, in radians from -π/2 to π/2.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.atan(x)
        tensor([-0.7854,  0.4636,  1.1071])
        >>> x.atan()
        tensor([-0.7854,  0.4636,  1.1071])"""
        ...
    def arctan2(self, other: Tensor | Number) -> Tensor:
        """The angle of the point (other, input), in radians from -π to π, by the signs of both.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments,
            for whole numbers the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> y = opweave.tensor([2.0, 3.0, 1.0])
        >>> opweave.atan2(x, y)
        tensor([-0.4636,  0.1651,  1.1071])
        >>> x.atan2(y)
        tensor([-0.4636,  0.1651,  1.1071])"""
        ...
    def arctan2_(self, other: Tensor | Number) -> Tensor:
        """The angle of the point (other, input), in radians from -π to π, by the signs of both. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> y = opweave.tensor([2.0, 3.0, 1.0])
        >>> x.atan2_(y)
        tensor([-0.4636,  0.1651,  1.1071])"""
        ...
    def arctan_(self) -> Tensor:
        """The inverse tangent of each element, in radians from -π/2 to π/2. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.atan_()
        tensor([-0.7854,  0.4636,  1.1071])"""
        ...
    def arctanh(self) -> Tensor:
        """The inverse hyperbolic tangent of each element; infinite at -1 and 1, NaN beyond.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([0.2, 0.5, 0.9])
        >>> opweave.atanh(x)
        tensor([0.2027, 0.5493, 1.4722])
        >>> x.atanh()
        tensor([0.2027, 0.5493, 1.4722])"""
        ...
    def arctanh_(self) -> Tensor:
        """The inverse hyperbolic tangent of each element; infinite at -1 and 1, NaN beyond. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0.2, 0.5, 0.9])
        >>> x.atanh_()
        tensor([0.2027, 0.5493, 1.4722])"""
        ...
    @overload
    def argmax(self, dim: Int | None = None, keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor: ...
    @overload
    def argmax(self, axis: Int | None = None, keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor:
        """Index of the first maximum (of the flattened tensor where no dimension is given).

        Parameters
        ----------
        dim : int, optional
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.

        Returns
        -------
        Tensor
            A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.argmax(x, 1)
        tensor([2, 2])
        >>> x.argmax(1)
        tensor([2, 2])"""
        ...
    @overload
    def argmin(self, dim: Int | None = None, keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor: ...
    @overload
    def argmin(self, axis: Int | None = None, keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor:
        """Index of the first minimum (of the flattened tensor where no dimension is given).

        Parameters
        ----------
        dim : int, optional
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.

        Returns
        -------
        Tensor
            A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.argmin(x, 1)
        tensor([0, 0])
        >>> x.argmin(1)
        tensor([0, 0])"""
        ...
    @overload
    def argsort(self, dim: Int = -1, descending: Bool = False) -> Tensor: ...
    @overload
    def argsort(self, axis: Int = -1, descending: Bool = False) -> Tensor: ...
    @overload
    def argsort(self, *, stable: Bool, dim: Int = -1, descending: Bool = False) -> Tensor: ...
    @overload
    def argsort(self, *, stable: Bool, axis: Int = -1, descending: Bool = False) -> Tensor:
        """The places that elements come from when they are sorted along a dimension.

        Parameters
        ----------
        dim : int, default -1
            The dimension, counted from the end where negative.
        descending : bool, default False
            Whether the largest comes first.
        stable : bool, optional
            Whether equal elements keep their order.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([3.0, 1.0, 2.0])
        >>> opweave.argsort(x)
        tensor([1, 2, 0])
        >>> x.argsort()
        tensor([1, 2, 0])"""
        ...
    def argwhere(self) -> Tensor:
        """The indices of all elements other than 0, a row for each.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([0.0, 2.0, 3.0])
        >>> opweave.argwhere(x)
        tensor([[1],
                [2]])
        >>> x.argwhere()
        tensor([[1],
                [2]])"""
        ...
    def as_strided(self, size: Sequence[Int], stride: Sequence[Int], storage_offset: Int | None = None) -> Tensor:
        """A view with sizes, strides and an offset into memory of one's own choice.

        Parameters
        ----------
        size : sequence of int
            The sizes.
        stride : sequence of int
            The strides, in elements.
        storage_offset : int, optional
            Where in memory it begins, in elements.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.as_strided(x, [2, 2], [1, 1])
        tensor([[1., 2.],
                [2., 3.]])
        >>> x.as_strided([2, 2], [1, 1])
        tensor([[1., 2.],
                [2., 3.]])"""
        ...
    def as_strided_(self, size: Sequence[Int], stride: Sequence[Int], storage_offset: Int | None = None) -> Tensor:
        """A view with sizes, strides and an offset into memory of one's own choice. In place.

        Parameters
        ----------
        size : sequence of int
            The sizes.
        stride : sequence of int
            The strides, in elements.
        storage_offset : int, optional
            Where in memory it begins, in elements.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.as_strided_([2, 2], [1, 1])
        tensor([[1., 2.],
                [2., 3.]])"""
        ...
    def as_strided_copy(self, size: Sequence[Int], stride: Sequence[Int], storage_offset: Int | None = None) -> Tensor:
        """A view with sizes, strides and an offset into memory of one's own choice. Here as a copy.

        Parameters
        ----------
        size : sequence of int
            The sizes.
        stride : sequence of int
            The strides, in elements.
        storage_offset : int, optional
            Where in memory it begins, in elements.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.as_strided_copy(x, [2, 2], [1, 1])
        tensor([[1., 2.],
                [2., 3.]])
        >>> x.as_strided_copy([2, 2], [1, 1])
        tensor([[1., 2.],
                [2., 3.]])"""
        ...
    def as_strided_scatter(self, src: Tensor, size: Sequence[Int], stride: Sequence[Int], storage_offset: Int | None = None) -> Tensor:
        """A copy with `src` where `as_strided` would look.

        Parameters
        ----------
        src : Tensor
            What is written.
        size : sequence of int
            The sizes.
        stride : sequence of int
            How far apart windows are; as large as they are by default.
        storage_offset : int, optional
            Where in memory it begins, in elements.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([8.0, 9.0])
        >>> opweave.as_strided_scatter(x, y, [2], [2])
        tensor([8., 2., 9.])
        >>> x.as_strided_scatter(y, [2], [2])
        tensor([8., 2., 9.])"""
        ...
    def as_subclass(self, cls: Any) -> Any:
        """The same elements, with their history, as a tensor of a subclass.

        Parameters
        ----------
        cls : type
            `Tensor`, or a class derived from it.

        Examples
        --------
        >>> class Image(opweave.Tensor): pass
        >>> image = opweave.ones(2).as_subclass(Image)
        >>> type(image + 1).__name__
        'Image'"""
        ...
    def asin(self) -> Tensor:
        """The inverse sine of each element, in radians from -π/2 to π/2; NaN outside of [-1, 1].

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> opweave.asin(x)
        tensor([0.2527, 0.5236, 1.5708])
        >>> x.asin()
        tensor([0.2527, 0.5236, 1.5708])"""
        ...
    def asin_(self) -> Tensor:
        """The inverse sine of each element, in radians from -π/2 to π/2; NaN outside of [-1, 1]. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> x.asin_()
        tensor([0.2527, 0.5236, 1.5708])"""
        ...
    def asinh(self) -> Tensor:
        """The inverse hyperbolic sine of each element.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.asinh(x)
        tensor([-0.8814,  0.4812,  1.4436])
        >>> x.asinh()
        tensor([-0.8814,  0.4812,  1.4436])"""
        ...
    def asinh_(self) -> Tensor:
        """The inverse hyperbolic sine of each element. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.asinh_()
        tensor([-0.8814,  0.4812,  1.4436])"""
        ...
    def atan(self) -> Tensor:
        """The inverse tangent of each element, in radians from -π/2 to π/2.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.atan(x)
        tensor([-0.7854,  0.4636,  1.1071])
        >>> x.atan()
        tensor([-0.7854,  0.4636,  1.1071])"""
        ...
    def atan2(self, other: Tensor | Number) -> Tensor:
        """The angle of the point (other, input), in radians from -π to π, by the signs of both.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments,
            for whole numbers the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> y = opweave.tensor([2.0, 3.0, 1.0])
        >>> opweave.atan2(x, y)
        tensor([-0.4636,  0.1651,  1.1071])
        >>> x.atan2(y)
        tensor([-0.4636,  0.1651,  1.1071])"""
        ...
    def atan2_(self, other: Tensor | Number) -> Tensor:
        """The angle of the point (other, input), in radians from -π to π, by the signs of both. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> y = opweave.tensor([2.0, 3.0, 1.0])
        >>> x.atan2_(y)
        tensor([-0.4636,  0.1651,  1.1071])"""
        ...
    def atan_(self) -> Tensor:
        """The inverse tangent of each element, in radians from -π/2 to π/2. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.atan_()
        tensor([-0.7854,  0.4636,  1.1071])"""
        ...
    def atanh(self) -> Tensor:
        """The inverse hyperbolic tangent of each element; infinite at -1 and 1, NaN beyond.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([0.2, 0.5, 0.9])
        >>> opweave.atanh(x)
        tensor([0.2027, 0.5493, 1.4722])
        >>> x.atanh()
        tensor([0.2027, 0.5493, 1.4722])"""
        ...
    def atanh_(self) -> Tensor:
        """The inverse hyperbolic tangent of each element; infinite at -1 and 1, NaN beyond. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0.2, 0.5, 0.9])
        >>> x.atanh_()
        tensor([0.2027, 0.5493, 1.4722])"""
        ...
    def atleast_1d(self) -> Tensor:
        """A number as a vector of one.

        Returns
        -------
        Tensor
            A new tensor.
        tuple[Tensor, ...]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor(1.0)
        >>> opweave.atleast_1d(x)
        tensor([1.])
        >>> x.atleast_1d()
        tensor([1.])"""
        ...
    def atleast_2d(self) -> Tensor:
        """A vector as a row, a number as a matrix of one.

        Returns
        -------
        Tensor
            A new tensor.
        tuple[Tensor, ...]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.atleast_2d(x)
        tensor([[1., 2., 3.]])
        >>> x.atleast_2d()
        tensor([[1., 2., 3.]])"""
        ...
    def atleast_3d(self) -> Tensor:
        """With a last dimension of 1 for a matrix, a first one too for a vector.

        Returns
        -------
        Tensor
            A new tensor.
        tuple[Tensor, ...]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.atleast_3d(x)
        tensor([[[1.],
                 [2.],
                 [3.]]])
        >>> x.atleast_3d()
        tensor([[[1.],
                 [2.],
                 [3.]]])"""
        ...
    def avg_pool1d(self, kernel_size: Int | Sequence[Int], stride: Int | Sequence[Int] = ..., padding: Int | Sequence[Int] = ..., ceil_mode: Bool = False, count_include_pad: Bool = True) -> Tensor:
        """The mean of each window of a line.

        Parameters
        ----------
        kernel_size : int or sequence of int
            The size of a window.
        stride : int or sequence of int, default ()
            How far apart windows are; as large as they are by default.
        padding : int or sequence of int, default (0,)
            How many elements are added at each side.
        ceil_mode : bool, default False
            Whether a last window may stick out.
        count_include_pad : bool, default True
            Whether padding counts in the means.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[[1.0, 2.0, 3.0, 4.0]]])
        >>> opweave.avg_pool1d(x, 2)
        tensor([[[1.5000, 3.5000]]])
        >>> x.avg_pool1d(2)
        tensor([[[1.5000, 3.5000]]])"""
        ...
    def avg_pool2d(self, kernel_size: Int | Sequence[Int], stride: Int | Sequence[Int] = ..., padding: Int | Sequence[Int] = 0, ceil_mode: Bool = False, count_include_pad: Bool = True, divisor_override: Int | None = None) -> Tensor:
        """The mean of each window.

        Parameters
        ----------
        kernel_size : int or sequence of int
            The size of a window.
        stride : int or sequence of int, default ()
            How far apart windows are; as large as they are by default.
        padding : int or sequence of int, default 0
            How many elements are added at each side.
        ceil_mode : bool, default False
            Whether a last window may stick out.
        count_include_pad : bool, default True
            Whether padding counts in the means.
        divisor_override : int, optional
            What to divide by instead of the size of the window.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.arange(16.0).view(1, 1, 4, 4)
        >>> x.avg_pool2d(2)
        tensor([[[[ 2.5000,  4.5000],
                  [10.5000, 12.5000]]]])"""
        ...
    def avg_pool3d(self, kernel_size: Int | Sequence[Int], stride: Int | Sequence[Int] = ..., padding: Int | Sequence[Int] = 0, ceil_mode: Bool = False, count_include_pad: Bool = True, divisor_override: Int | None = None) -> Tensor:
        """The mean of each window.

        Parameters
        ----------
        kernel_size : int or sequence of int
            The size of a window.
        stride : int or sequence of int, default ()
            How far apart windows are; as large as they are by default.
        padding : int or sequence of int, default 0
            How many elements are added at each side.
        ceil_mode : bool, default False
            Whether a last window may stick out.
        count_include_pad : bool, default True
            Whether padding counts in the means.
        divisor_override : int, optional
            What to divide by instead of the size of the window.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.arange(8.0).view(1, 1, 2, 2, 2)
        >>> x.avg_pool3d(2)
        tensor([[[[[3.5000]]]]])"""
        ...
    def backward(self, gradient: Tensor | None = None, retain_graph: _bool | None = None, create_graph: _bool = False, inputs: Any = None) -> None:
        """Add this tensor's gradients to the `grad` of the leaves it comes from; see `autograd.backward`.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])"""
        ...
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """`beta * input + alpha * (batch1 @ batch2)` for each matrix of a batch.

        Parameters
        ----------
        batch1 : Tensor
            The first batch of matrices.
        batch2 : Tensor
            The second batch of matrices.
        beta : number, default 1
            A factor of `input`.
        alpha : number, default 1
            A factor.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.zeros(2, 2, 2)
        >>> y = opweave.ones(2, 2, 3)
        >>> z = opweave.ones(2, 3, 2)
        >>> opweave.baddbmm(x, y, z)
        tensor([[[3., 3.],
                 [3., 3.]],
        <BLANKLINE>
                [[3., 3.],
                 [3., 3.]]])
        >>> x.baddbmm(y, z)
        tensor([[[3., 3.],
                 [3., 3.]],
        <BLANKLINE>
                [[3., 3.],
                 [3., 3.]]])"""
        ...
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """`beta * input + alpha * (batch1 @ batch2)` for each matrix of a batch. In place.

        Parameters
        ----------
        batch1 : Tensor
            The first batch of matrices.
        batch2 : Tensor
            The second batch of matrices.
        beta : number, default 1
            A factor of `input`.
        alpha : number, default 1
            A factor.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.zeros(2, 2, 2)
        >>> y = opweave.ones(2, 2, 3)
        >>> z = opweave.ones(2, 3, 2)
        >>> x.baddbmm_(y, z)
        tensor([[[3., 3.],
                 [3., 3.]],
        <BLANKLINE>
                [[3., 3.],
                 [3., 3.]]])"""
        ...
    @overload
    def bernoulli(self, p: Float, *, generator: Generator | None = None) -> Tensor: ...
    @overload
    def bernoulli(self, *, generator: Generator | None = None) -> Tensor: ...
    @overload
    def bernoulli(self, p: Tensor, *, generator: Generator | None = None) -> Tensor:
        """1 with a probability, else 0: the probability that each element is, or that `p` gives.

        Parameters
        ----------
        p : float or Tensor, optional
            The probabilities.
        generator : Generator, optional
            The source of random numbers; the device's own by default.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([0.0, 1.0, 1.0])
        >>> opweave.bernoulli(x).shape
        opweave.Size([3])
        >>> x.bernoulli().shape
        opweave.Size([3])"""
        ...
    @overload
    def bernoulli_(self, p: Float = 0.5, *, generator: Generator | None = None) -> Tensor: ...
    @overload
    def bernoulli_(self, p: Tensor, *, generator: Generator | None = None) -> Tensor:
        """1 with a probability, else 0: the probability that each element is, or that `p` gives. In place.

        Parameters
        ----------
        p : float or Tensor, default 0.5
            The probabilities.
        generator : Generator, optional
            The source of random numbers; the device's own by default.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.bernoulli_().shape
        opweave.Size([3])"""
        ...
    def bfloat16(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor with elements of type bfloat16; itself where it has that type already.

        Examples
        --------
        >>> opweave.tensor([0, 2]).bfloat16().dtype
        opweave.bfloat16"""
        ...
    def binary_cross_entropy(self, target: Tensor, weight: Tensor | None = None, reduction: Int = 1) -> Tensor:
        """-(t log(x) + (1 - t) log(1 - x)), with logarithms of -100 or more; NaN where x is no probability.

        Parameters
        ----------
        target : Tensor
            What it should be.
        weight : Tensor, optional
            The weights.
        reduction : int, default 1
            0 none, 1 mean, 2 sum.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([0.2, 0.9])
        >>> y = opweave.tensor([0.0, 1.0])
        >>> x.binary_cross_entropy(y)
        tensor(0.1643)"""
        ...
    def binary_cross_entropy_with_logits(self, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: Int = 1) -> Tensor:
        """`binary_cross_entropy` of sigmoid(x), without overflow; `pos_weight` counts targets of 1 so often.

        Parameters
        ----------
        target : Tensor
            What it should be.
        weight : Tensor, optional
            The weights.
        pos_weight : Tensor, optional
            Weights of positive examples.
        reduction : int, default 1
            0 none, 1 mean, 2 sum.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([-2.0, 3.0])
        >>> y = opweave.tensor([0.0, 1.0])
        >>> opweave.binary_cross_entropy_with_logits(x, y)
        tensor(0.0878)
        >>> x.binary_cross_entropy_with_logits(y)
        tensor(0.0878)"""
        ...
    def bincount(self, weights: Tensor | None = None, minlength: Int = 0) -> Tensor:
        """How often each number from 0 up is there, or the sum of its weights.

        Parameters
        ----------
        weights : Tensor, optional
            The weights.
        minlength : int, default 0
            How many numbers at least.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([0, 1, 1, 3])
        >>> opweave.bincount(x)
        tensor([1, 2, 0, 1])
        >>> x.bincount()
        tensor([1, 2, 0, 1])"""
        ...
    def bitwise_and(self, other: Tensor | Number) -> Tensor:
        """The bits that both have, of whole numbers; of truth values, whether both are true.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast.

        Examples
        --------
        >>> x = opweave.tensor([12, 7])
        >>> y = opweave.tensor([10, 3])
        >>> opweave.bitwise_and(x, y)
        tensor([8, 3])
        >>> x.bitwise_and(y)
        tensor([8, 3])"""
        ...
    def bitwise_and_(self, other: Tensor | Number) -> Tensor:
        """The bits that both have, of whole numbers; of truth values, whether both are true. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([12, 7])
        >>> y = opweave.tensor([10, 3])
        >>> x.bitwise_and_(y)
        tensor([8, 3])"""
        ...
    def bitwise_left_shift(self, other: Tensor | Number) -> Tensor:
        """The bits moved to the left, so many places as `other` says.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([1, 3])
        >>> y = opweave.tensor([2, 1])
        >>> opweave.bitwise_left_shift(x, y)
        tensor([4, 6])
        >>> x.bitwise_left_shift(y)
        tensor([4, 6])"""
        ...
    def bitwise_left_shift_(self, other: Tensor | Number) -> Tensor:
        """The bits moved to the left, so many places as `other` says. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1, 3])
        >>> y = opweave.tensor([2, 1])
        >>> x.bitwise_left_shift_(y)
        tensor([4, 6])"""
        ...
    def bitwise_not(self) -> Tensor:
        """The other bits of whole numbers; the opposite of truth values.

        Returns
        -------
        Tensor
            Its shape is the argument's.

        Examples
        --------
        >>> x = opweave.tensor([0, 5])
        >>> opweave.bitwise_not(x)
        tensor([-1, -6])
        >>> x.bitwise_not()
        tensor([-1, -6])"""
        ...
    def bitwise_not_(self) -> Tensor:
        """The other bits of whole numbers; the opposite of truth values. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0, 5])
        >>> x.bitwise_not_()
        tensor([-1, -6])"""
        ...
    def bitwise_or(self, other: Tensor | Number) -> Tensor:
        """The bits that either has, of whole numbers; of truth values, whether either is true.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast.

        Examples
        --------
        >>> x = opweave.tensor([12, 7])
        >>> y = opweave.tensor([10, 3])
        >>> opweave.bitwise_or(x, y)
        tensor([14,  7])
        >>> x.bitwise_or(y)
        tensor([14,  7])"""
        ...
    def bitwise_or_(self, other: Tensor | Number) -> Tensor:
        """The bits that either has, of whole numbers; of truth values, whether either is true. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([12, 7])
        >>> y = opweave.tensor([10, 3])
        >>> x.bitwise_or_(y)
        tensor([14,  7])"""
        ...
    def bitwise_right_shift(self, other: Tensor | Number) -> Tensor:
        """The bits moved to the right, so many places as `other` says; the sign stays.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([8, 7])
        >>> y = opweave.tensor([2, 1])
        >>> opweave.bitwise_right_shift(x, y)
        tensor([2, 3])
        >>> x.bitwise_right_shift(y)
        tensor([2, 3])"""
        ...
    def bitwise_right_shift_(self, other: Tensor | Number) -> Tensor:
        """The bits moved to the right, so many places as `other` says; the sign stays. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([8, 7])
        >>> y = opweave.tensor([2, 1])
        >>> x.bitwise_right_shift_(y)
        tensor([2, 3])"""
        ...
    def bitwise_xor(self, other: Tensor | Number) -> Tensor:
        """The bits that one of both has, of whole numbers; of truth values, whether they differ.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast.

        Examples
        --------
        >>> x = opweave.tensor([12, 7])
        >>> y = opweave.tensor([10, 3])
        >>> opweave.bitwise_xor(x, y)
        tensor([6, 4])
        >>> x.bitwise_xor(y)
        tensor([6, 4])"""
        ...
    def bitwise_xor_(self, other: Tensor | Number) -> Tensor:
        """The bits that one of both has, of whole numbers; of truth values, whether they differ. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([12, 7])
        >>> y = opweave.tensor([10, 3])
        >>> x.bitwise_xor_(y)
        tensor([6, 4])"""
        ...
    def bmm(self, mat2: Tensor) -> Tensor:
        """The matrix product for each pair of matrices of two batches.

        Parameters
        ----------
        mat2 : Tensor
            The second matrix.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.ones(2, 2, 3)
        >>> y = opweave.ones(2, 3, 1)
        >>> opweave.bmm(x, y)
        tensor([[[3.],
                 [3.]],
        <BLANKLINE>
                [[3.],
                 [3.]]])
        >>> x.bmm(y)
        tensor([[[3.],
                 [3.]],
        <BLANKLINE>
                [[3.],
                 [3.]]])"""
        ...
    def bool(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor with elements of type bool; itself where it has that type already.

        Examples
        --------
        >>> opweave.tensor([0, 2]).bool().dtype
        opweave.bool"""
        ...
    @overload
    def broadcast_to(self, size: Sequence[Int]) -> Tensor: ...
    @overload
    def broadcast_to(self, *size: Int) -> Tensor:
        """A view with larger sizes, in which dimensions of size 1 repeat.

        Parameters
        ----------
        size : sequence of int
            The sizes.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.broadcast_to(x, [2, 3])
        tensor([[1., 2., 3.],
                [1., 2., 3.]])
        >>> x.broadcast_to([2, 3])
        tensor([[1., 2., 3.],
                [1., 2., 3.]])"""
        ...
    def byte(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor with elements of type uint8; itself where it has that type already.

        Examples
        --------
        >>> opweave.tensor([0, 2]).byte().dtype
        opweave.uint8"""
        ...
    def cauchy(self, median: Float = 0.0, sigma: Float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Numbers drawn from a Cauchy distribution, in the shape of the tensor.

        Parameters
        ----------
        median : float, default 0.0
            Where the middle is.
        sigma : float, default 1.0
            The scale.
        generator : Generator, optional
            The source of random numbers; the device's own by default.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.cauchy().shape
        opweave.Size([3])"""
        ...
    def cauchy_(self, median: Float = 0.0, sigma: Float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Numbers drawn from a Cauchy distribution, in the shape of the tensor. In place.

        Parameters
        ----------
        median : float, default 0.0
            Where the middle is.
        sigma : float, default 1.0
            The scale.
        generator : Generator, optional
            The source of random numbers; the device's own by default.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.cauchy_().shape
        opweave.Size([3])"""
        ...
    def cdouble(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor with elements of type complex128; itself where it has that type already.

        Examples
        --------
        >>> opweave.tensor([0, 2]).cdouble().dtype
        opweave.complex128"""
        ...
    def ceil(self) -> Tensor:
        """The least whole number that is no less, for each element.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.ceil(x)
        tensor([-1.,  1.,  2.])
        >>> x.ceil()
        tensor([-1.,  1.,  2.])"""
        ...
    def ceil_(self) -> Tensor:
        """The least whole number that is no less, for each element. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.ceil_()
        tensor([-1.,  1.,  2.])"""
        ...
    def celu(self, alpha: Number = 1.0) -> Tensor:
        """max(0, x) + min(0, alpha (exp(x / alpha) - 1)) (Barron 2017).

        Parameters
        ----------
        alpha : number, default 1.0
            A factor.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[-3.6, 6.5, -0.7, -8.0], [2.2, -5.1, 5.1, -2.2], [8.0, 0.7, -6.5, 3.6]])
        >>> opweave.celu(x)
        tensor([[-0.9727,  6.5000, -0.5034, -0.9997],
                [ 2.2000, -0.9939,  5.1000, -0.8892],
                [ 8.0000,  0.7000, -0.9985,  3.6000]])
        >>> x.celu()
        tensor([[-0.9727,  6.5000, -0.5034, -0.9997],
                [ 2.2000, -0.9939,  5.1000, -0.8892],
                [ 8.0000,  0.7000, -0.9985,  3.6000]])"""
        ...
    def cfloat(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor with elements of type complex64; itself where it has that type already.

        Examples
        --------
        >>> opweave.tensor([0, 2]).cfloat().dtype
        opweave.complex64"""
        ...
    def channel_shuffle(self, groups: Int) -> Tensor:
        """The channels of (N, C, ...) dealt out in turn to the groups that they came in.

        Parameters
        ----------
        groups : int
            How many groups the channels are divided in.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.arange(4.0).view(1, 4, 1)
        >>> opweave.channel_shuffle(x, 2)
        tensor([[[0.],
                 [2.],
                 [1.],
                 [3.]]])
        >>> x.channel_shuffle(2)
        tensor([[[0.],
                 [2.],
                 [1.],
                 [3.]]])"""
        ...
    def char(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor with elements of type int8; itself where it has that type already.

        Examples
        --------
        >>> opweave.tensor([0, 2]).char().dtype
        opweave.int8"""
        ...
    def cholesky(self, upper: Bool = False) -> Tensor:
        """As `linalg.cholesky`.

        Parameters
        ----------
        upper : bool, default False
            Whether the upper triangle is meant.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[2.0, 1.0], [1.0, 3.0]])
        >>> opweave.cholesky(x).shape
        opweave.Size([2, 2])
        >>> x.cholesky().shape
        opweave.Size([2, 2])"""
        ...
    def cholesky_inverse(self, upper: Bool = False) -> Tensor:
        """The inverse of A from its Cholesky factor.

        Parameters
        ----------
        upper : bool, default False
            Whether the upper triangle is meant.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[2.0, 0.0], [0.5, 1.0]])
        >>> opweave.cholesky_inverse(x)
        tensor([[ 0.3125, -0.2500],
                [-0.2500,  1.0000]])
        >>> x.cholesky_inverse()
        tensor([[ 0.3125, -0.2500],
                [-0.2500,  1.0000]])"""
        ...
    def cholesky_solve(self, input2: Tensor, upper: Bool = False) -> Tensor:
        """X with A X = B, from the Cholesky factor of A.

        Parameters
        ----------
        input2 : Tensor
            The second tensor.
        upper : bool, default False
            Whether the upper triangle is meant.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[4.0], [2.0]])
        >>> y = opweave.tensor([[2.0, 0.0], [0.0, 1.0]])
        >>> opweave.cholesky_solve(x, y)
        tensor([[1.],
                [2.]])
        >>> x.cholesky_solve(y)
        tensor([[1.],
                [2.]])"""
        ...
    @overload
    def chunk(self, chunks: Int, dim: Int = 0) -> _tuple[Tensor, ...]: ...
    @overload
    def chunk(self, chunks: Int, axis: Int = 0) -> _tuple[Tensor, ...]:
        """At most so many parts of a dimension, as views; the last may be smaller.

        Parameters
        ----------
        chunks : int
            How many parts.
        dim : int, default 0
            The dimension, counted from the end where negative.

        Returns
        -------
        tuple[Tensor, ...]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.chunk(x, 2)
        (tensor([1., 2.]), tensor([3.]))
        >>> x.chunk(2)
        (tensor([1., 2.]), tensor([3.]))"""
        ...
    def clamp(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
        """Each element brought between `min` and `max`; a bound that is None is none.

        Parameters
        ----------
        min : Tensor or number, optional
            The lower bound: a number, or a tensor that broadcasts.
        max : Tensor or number, optional
            The upper bound: a number, or a tensor that broadcasts.

        Returns
        -------
        Tensor
            Its shape is the argument's.

        Examples
        --------
        >>> x = opweave.tensor([-3.0, 0.5, 4.0])
        >>> opweave.clamp(x, -1, 1)
        tensor([-1.0000,  0.5000,  1.0000])
        >>> x.clamp(-1, 1)
        tensor([-1.0000,  0.5000,  1.0000])"""
        ...
    @overload
    def clamp_(self, min: Number | None = None, max: Number | None = None) -> Tensor: ...
    @overload
    def clamp_(self, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
        """Each element brought between `min` and `max`; a bound that is None is none. In place.

        Parameters
        ----------
        min : number or Tensor, optional
            The lower bound: a number, or a tensor that broadcasts.
        max : number or Tensor, optional
            The upper bound: a number, or a tensor that broadcasts.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-3.0, 0.5, 4.0])
        >>> x.clamp_(-1, 1)
        tensor([-1.0000,  0.5000,  1.0000])"""
        ...
    @overload
    def clamp_max(self, max: Number) -> Tensor: ...
    @overload
    def clamp_max(self, max: Tensor) -> Tensor:
        """Each element, or the bound where it is larger.

        Parameters
        ----------
        max : number or Tensor
            The upper bound.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.clamp_max(x, 2)
        tensor([1., 2., 2.])
        >>> x.clamp_max(2)
        tensor([1., 2., 2.])"""
        ...
    @overload
    def clamp_max_(self, max: Number) -> Tensor: ...
    @overload
    def clamp_max_(self, max: Tensor) -> Tensor:
        """Each element, or the bound where it is larger. In place.

        Parameters
        ----------
        max : number or Tensor
            The upper bound.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.clamp_max_(2)
        tensor([1., 2., 2.])"""
        ...
    @overload
    def clamp_min(self, min: Number) -> Tensor: ...
    @overload
    def clamp_min(self, min: Tensor) -> Tensor:
        """Each element, or the bound where it is less.

        Parameters
        ----------
        min : number or Tensor
            The lower bound.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.clamp_min(x, 2)
        tensor([2., 2., 3.])
        >>> x.clamp_min(2)
        tensor([2., 2., 3.])"""
        ...
    @overload
    def clamp_min_(self, min: Number) -> Tensor: ...
    @overload
    def clamp_min_(self, min: Tensor) -> Tensor:
        """Each element, or the bound where it is less. In place.

        Parameters
        ----------
        min : number or Tensor
            The lower bound.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.clamp_min_(2)
        tensor([2., 2., 3.])"""
        ...
    def clip(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
        """Each element brought between `min` and `max`; a bound that is None is none.

        Parameters
        ----------
        min : Tensor or number, optional
            The lower bound: a number, or a tensor that broadcasts.
        max : Tensor or number, optional
            The upper bound: a number, or a tensor that broadcasts.

        Returns
        -------
        Tensor
            Its shape is the argument's.

        Examples
        --------
        >>> x = opweave.tensor([-3.0, 0.5, 4.0])
        >>> opweave.clamp(x, -1, 1)
        tensor([-1.0000,  0.5000,  1.0000])
        >>> x.clamp(-1, 1)
        tensor([-1.0000,  0.5000,  1.0000])"""
        ...
    @overload
    def clip_(self, min: Number | None = None, max: Number | None = None) -> Tensor: ...
    @overload
    def clip_(self, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
        """Each element brought between `min` and `max`; a bound that is None is none. In place.

        Parameters
        ----------
        min : number or Tensor, optional
            The lower bound: a number, or a tensor that broadcasts.
        max : number or Tensor, optional
            The upper bound: a number, or a tensor that broadcasts.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-3.0, 0.5, 4.0])
        >>> x.clamp_(-1, 1)
        tensor([-1.0000,  0.5000,  1.0000])"""
        ...
    def clone(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """A copy in memory of its own, through which gradients flow.

        Parameters
        ----------
        memory_format : memory_format, optional
            How the result lies in memory.

        Returns
        -------
        Tensor
            Its shape is the argument's.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.clone(x)
        tensor([1., 2., 3.])
        >>> x.clone()
        tensor([1., 2., 3.])"""
        ...
    def col2im(self, output_size: Int | Sequence[Int], kernel_size: Int | Sequence[Int], dilation: Int | Sequence[Int], padding: Int | Sequence[Int], stride: Int | Sequence[Int]) -> Tensor:
        """Columns added up where their elements lie in an image: the adjoint of `im2col`.

        Parameters
        ----------
        output_size : int or sequence of int
            The size of the result.
        kernel_size : int or sequence of int
            The size of a window.
        dilation : int or sequence of int
            How far apart the elements of a window are.
        padding : int or sequence of int
            How many elements are added at each side.
        stride : int or sequence of int
            How far apart windows are; as large as they are by default.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.ones(1, 4, 4)
        >>> x.col2im([4, 4], [2, 2], [1, 1], [0, 0], [2, 2]).shape
        opweave.Size([1, 1, 4, 4])"""
        ...
    def combinations(self, r: Int = 2, with_replacement: Bool = False) -> Tensor:
        """All choices of r elements, in their order, a row for each.

        Parameters
        ----------
        r : int, default 2
            How many.
        with_replacement : bool, default False
            Whether an element may be there twice.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1, 2, 3])
        >>> opweave.combinations(x)
        tensor([[1, 2],
                [1, 3],
                [2, 3]])
        >>> x.combinations()
        tensor([[1, 2],
                [1, 3],
                [2, 3]])"""
        ...
    @overload
    def concatenate(self, dim: Int = 0) -> Tensor: ...
    @overload
    def concatenate(self, axis: Int = 0) -> Tensor:
        """Join tensors along a dimension; another name of `cat`.

        Parameters
        ----------
        dim : int, default 0
            The dimension, counted from the end where negative.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> opweave.concat([x, y])
        tensor([1., 2., 3., 4., 5., 6.])"""
        ...
    def conj(self) -> Tensor:
        """The conjugate: a copy of complex numbers, and what is real itself.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([1 + 2j])
        >>> opweave.conj(x)
        tensor([1.-2.j])
        >>> x.conj()
        tensor([1.-2.j])"""
        ...
    def conj_physical(self) -> Tensor:
        """The complex conjugate, as a new tensor.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1 + 2j])
        >>> opweave.conj_physical(x)
        tensor([1.-2.j])
        >>> x.conj_physical()
        tensor([1.-2.j])"""
        ...
    def conj_physical_(self) -> Tensor:
        """The complex conjugate, as a new tensor. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1 + 2j])
        >>> x.conj_physical_()
        tensor([1.-2.j])"""
        ...
    def constant_pad_nd(self, pad: Sequence[Int], value: Number = 0) -> Tensor:
        """The tensor with a constant around it; negative numbers cut elements off.

        Parameters
        ----------
        pad : sequence of int
            Numbers for the sides of the last dimension, then of the one before, ...
        value : number, default 0
            The number.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.constant_pad_nd(x, [1, 2], 0.5)
        tensor([0.5000, 1.0000, 2.0000, 3.0000, 0.5000, 0.5000])
        >>> x.constant_pad_nd([1, 2], 0.5)
        tensor([0.5000, 1.0000, 2.0000, 3.0000, 0.5000, 0.5000])"""
        ...
    def contiguous(self, *, memory_format: MemoryFormat = ...) -> Tensor:
        """The tensor with its elements in row-major order; itself where they are.

        Parameters
        ----------
        memory_format : memory_format, default opweave.contiguous_format
            How the result lies in memory.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.contiguous(x)
        tensor([[1., 2.],
                [3., 4.]])
        >>> x.contiguous()
        tensor([[1., 2.],
                [3., 4.]])"""
        ...
    def copy(self, src: Tensor | Number, non_blocking: Bool = False) -> Tensor:
        """The elements of `src`, broadcast and converted, in the shape and type of the tensor.

        Parameters
        ----------
        src : Tensor or number
            What is written.
        non_blocking : bool, default False
            For the signature's sake.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> x.copy(y)
        tensor([4., 5., 6.])"""
        ...
    def copy_(self, src: Tensor, non_blocking: Bool = False) -> Tensor:
        """The elements of `src`, broadcast and converted, in the shape and type of the tensor. In place.

        Parameters
        ----------
        src : Tensor
            What is written.
        non_blocking : bool, default False
            For the signature's sake.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> x.copy_(y)
        tensor([4., 5., 6.])"""
        ...
    def copysign(self, other: Tensor | Number) -> Tensor:
        """The magnitude of each element with the sign of the other.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments,
            for whole numbers the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([-1.0, 1.0, -0.0])
        >>> opweave.copysign(x, y)
        tensor([-1.,  2., -3.])
        >>> x.copysign(y)
        tensor([-1.,  2., -3.])"""
        ...
    def copysign_(self, other: Tensor | Number) -> Tensor:
        """The magnitude of each element with the sign of the other. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([-1.0, 1.0, -0.0])
        >>> x.copysign_(y)
        tensor([-1.,  2., -3.])"""
        ...
    def corrcoef(self) -> Tensor:
        """The correlations of rows, whose columns are observations.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
        >>> opweave.corrcoef(x)
        tensor([[ 1., -1.],
                [-1.,  1.]])
        >>> x.corrcoef()
        tensor([[ 1., -1.],
                [-1.,  1.]])"""
        ...
    def cos(self) -> Tensor:
        """The cosine of each element, in radians.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.cos(x)
        tensor([ 0.5403,  0.8776, -0.4161])
        >>> x.cos()
        tensor([ 0.5403,  0.8776, -0.4161])"""
        ...
    def cos_(self) -> Tensor:
        """The cosine of each element, in radians. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.cos_()
        tensor([ 0.5403,  0.8776, -0.4161])"""
        ...
    def cosh(self) -> Tensor:
        """The hyperbolic cosine of each element.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.cosh(x)
        tensor([1.5431, 1.1276, 3.7622])
        >>> x.cosh()
        tensor([1.5431, 1.1276, 3.7622])"""
        ...
    def cosh_(self) -> Tensor:
        """The hyperbolic cosine of each element. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.cosh_()
        tensor([1.5431, 1.1276, 3.7622])"""
        ...
    @overload
    def count_nonzero(self, dim: Sequence[Int]) -> Tensor: ...
    @overload
    def count_nonzero(self, axis: Sequence[Int]) -> Tensor: ...
    @overload
    def count_nonzero(self, *dim: Int) -> Tensor: ...
    @overload
    def count_nonzero(self, dim: Int | None = None) -> Tensor: ...
    @overload
    def count_nonzero(self, axis: Int | None = None) -> Tensor:
        """How many elements are other than 0, of the whole tensor or over dimensions.

        Parameters
        ----------
        dim : sequence of int or int, optional
            The dimension, counted from the end where negative.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[0.0, 2.0], [3.0, 4.0]])
        >>> opweave.count_nonzero(x, 1)
        tensor([1, 2])
        >>> x.count_nonzero(1)
        tensor([1, 2])"""
        ...
    def cov(self, *, correction: Int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """The covariances of rows, whose columns are observations.

        Parameters
        ----------
        correction : int, default 1
            What is subtracted from the number of elements before dividing by it; 1 by default.
        fweights : Tensor, optional
            How often each observation counts, in whole numbers.
        aweights : Tensor, optional
            How much each observation counts.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
        >>> opweave.cov(x)
        tensor([[ 1., -1.],
                [-1.,  1.]])
        >>> x.cov()
        tensor([[ 1., -1.],
                [-1.,  1.]])"""
        ...
    def cpu(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor in main memory; itself where it is there already.

        Examples
        --------
        >>> opweave.tensor([1.0]).cpu()
        tensor([1.])"""
        ...
    @overload
    def cross(self, other: Tensor | Number, dim: Int | None = None) -> Tensor: ...
    @overload
    def cross(self, other: Tensor | Number, axis: Int | None = None) -> Tensor:
        """The product of vectors in space, in the first dimension of 3 elements if none is named.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.
        dim : int, optional
            The dimension, counted from the end where negative.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 0.0, 0.0])
        >>> y = opweave.tensor([0.0, 1.0, 0.0])
        >>> opweave.cross(x, y)
        tensor([0., 0., 1.])
        >>> x.cross(y)
        tensor([0., 0., 1.])"""
        ...
    def cross_entropy_loss(self, target: Tensor, weight: Tensor | None = None, reduction: Int = 1, ignore_index: Int = -100, label_smoothing: Float = 0.0) -> Tensor:
        """-log(softmax(x)) at the class numbers, or weighted by the probabilities of the classes.

        Parameters
        ----------
        target : Tensor
            What it should be.
        weight : Tensor, optional
            The weights.
        reduction : int, default 1
            0 none, 1 mean, 2 sum.
        ignore_index : int, default -100
            Targets that do not count.
        label_smoothing : float, default 0.0
            The share that all classes have of the target.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, -2.0, 0.0, 2.0, -1.0])
        >>> y = opweave.tensor([0.8, 0.0, 0.5, 1.0, 0.2])
        >>> x.cross_entropy_loss(y)
        tensor(3.5298)"""
        ...
    def cuda(self, device: DeviceLike | None = 'cuda', memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor on a GPU; itself where it is there already.

        Examples
        --------
        >>> opweave.ones(2).cuda()  # doctest: +SKIP
        tensor([1., 1.], device='cuda:0')"""
        ...
    @overload
    def cummax(self, dim: Int) -> return_types.cummax: ...
    @overload
    def cummax(self, axis: Int) -> return_types.cummax:
        """The largest element so far along a dimension, and where it was.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.

        Returns
        -------
        return_types.cummax
            A named tuple of tensors: values, indices.

        Examples
        --------
        >>> x = opweave.tensor([3.0, 1.0, 2.0])
        >>> opweave.cummax(x, 0)
        opweave.return_types.cummax(
        values=tensor([3., 3., 3.]),
        indices=tensor([0, 0, 0]))
        >>> x.cummax(0)
        opweave.return_types.cummax(
        values=tensor([3., 3., 3.]),
        indices=tensor([0, 0, 0]))"""
        ...
    @overload
    def cummin(self, dim: Int) -> return_types.cummin: ...
    @overload
    def cummin(self, axis: Int) -> return_types.cummin:
        """The least element so far along a dimension, and where it was.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.

        Returns
        -------
        return_types.cummin
            A named tuple of tensors: values, indices.

        Examples
        --------
        >>> x = opweave.tensor([3.0, 1.0, 2.0])
        >>> opweave.cummin(x, 0)
        opweave.return_types.cummin(
        values=tensor([3., 1., 1.]),
        indices=tensor([0, 1, 1]))
        >>> x.cummin(0)
        opweave.return_types.cummin(
        values=tensor([3., 1., 1.]),
        indices=tensor([0, 1, 1]))"""
        ...
    @overload
    def cumprod(self, dim: Int, *, dtype: DTypeLike | None = None) -> Tensor: ...
    @overload
    def cumprod(self, axis: Int, *, dtype: DTypeLike | None = None) -> Tensor:
        """The product of the elements so far along a dimension.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        dtype : dtype, optional
            The element type of the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.cumprod(x, 0)
        tensor([1., 2., 6.])
        >>> x.cumprod(0)
        tensor([1., 2., 6.])"""
        ...
    @overload
    def cumprod_(self, dim: Int, *, dtype: DTypeLike | None = None) -> Tensor: ...
    @overload
    def cumprod_(self, axis: Int, *, dtype: DTypeLike | None = None) -> Tensor:
        """The product of the elements so far along a dimension. In place.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        dtype : dtype, optional
            The element type of the result.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.cumprod_(0)
        tensor([1., 2., 6.])"""
        ...
    @overload
    def cumsum(self, dim: Int, *, dtype: DTypeLike | None = None) -> Tensor: ...
    @overload
    def cumsum(self, axis: Int, *, dtype: DTypeLike | None = None) -> Tensor:
        """The sum of the elements so far along a dimension.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        dtype : dtype, optional
            The element type of the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.cumsum(x, 0)
        tensor([1., 3., 6.])
        >>> x.cumsum(0)
        tensor([1., 3., 6.])"""
        ...
    @overload
    def cumsum_(self, dim: Int, *, dtype: DTypeLike | None = None) -> Tensor: ...
    @overload
    def cumsum_(self, axis: Int, *, dtype: DTypeLike | None = None) -> Tensor:
        """The sum of the elements so far along a dimension. In place.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        dtype : dtype, optional
            The element type of the result.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.cumsum_(0)
        tensor([1., 3., 6.])"""
        ...
    @property
    def data(self) -> Tensor: ...
    @data.setter
    def data(self, value: Tensor) -> None:
        """The same data without history, as a tensor whose writes are not counted as this one's."""
        ...
    def deg2rad(self) -> Tensor:
        """Degrees in radians.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.deg2rad(x)
        tensor([-0.0175,  0.0087,  0.0349])
        >>> x.deg2rad()
        tensor([-0.0175,  0.0087,  0.0349])"""
        ...
    def deg2rad_(self) -> Tensor:
        """Degrees in radians. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.deg2rad_()
        tensor([-0.0175,  0.0087,  0.0349])"""
        ...
    def det(self) -> Tensor:
        """As `linalg.det`.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.det(x)
        tensor(-2.)
        >>> x.det()
        tensor(-2.)"""
        ...
    def detach(self) -> Tensor:
        """The same memory as a tensor without history: gradients do not flow through it.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.detach(x)
        tensor([1., 2., 3.])
        >>> x.detach()
        tensor([1., 2., 3.])"""
        ...
    def detach_(self) -> Tensor:
        """Forget the history; in place.

        Examples
        --------
        >>> (opweave.ones(2, requires_grad=True) * 2).detach_().requires_grad
        False"""
        ...
    def detach_copy(self) -> Tensor:
        """The same memory as a tensor without history: gradients do not flow through it. Here as a copy.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.detach_copy(x)
        tensor([1., 2., 3.])
        >>> x.detach_copy()
        tensor([1., 2., 3.])"""
        ...
    def diag(self, diagonal: Int = 0) -> Tensor:
        """The diagonal of a matrix, or a matrix of zeros with a vector as its diagonal.

        Parameters
        ----------
        diagonal : int, default 0
            Which diagonal: 0 the main one, positive numbers above it.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.diag(x)
        tensor([1., 4.])
        >>> x.diag()
        tensor([1., 4.])"""
        ...
    def diag_embed(self, offset: Int = 0, dim1: Int = -2, dim2: Int = -1) -> Tensor:
        """The last dimension as a diagonal of matrices of zeros in two new ones.

        Parameters
        ----------
        offset : int, default 0
            Which diagonal: 0 the main one, positive numbers above it.
        dim1 : int, default -2
            Another dimension.
        dim2 : int, default -1
            The second of the matrix's dimensions.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0])
        >>> opweave.diag_embed(x)
        tensor([[1., 0.],
                [0., 2.]])
        >>> x.diag_embed()
        tensor([[1., 0.],
                [0., 2.]])"""
        ...
    def diagflat(self, offset: Int = 0) -> Tensor:
        """A matrix of zeros with all elements on a diagonal.

        Parameters
        ----------
        offset : int, default 0
            Which diagonal: 0 the main one, positive numbers above it.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0])
        >>> opweave.diagflat(x)
        tensor([[1., 0.],
                [0., 2.]])
        >>> x.diagflat()
        tensor([[1., 0.],
                [0., 2.]])"""
        ...
    def diagonal(self, offset: Int = 0, dim1: Int = 0, dim2: Int = 1) -> Tensor:
        """A view of the diagonal of two dimensions, as a new last one.

        Parameters
        ----------
        offset : int, default 0
            Which diagonal: 0 the main one, positive numbers above it.
        dim1 : int, default 0
            Another dimension.
        dim2 : int, default 1
            The second of the matrix's dimensions.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.diagonal(x)
        tensor([1., 4.])
        >>> x.diagonal()
        tensor([1., 4.])"""
        ...
    def diagonal_copy(self, offset: Int = 0, dim1: Int = 0, dim2: Int = 1) -> Tensor:
        """A view of the diagonal of two dimensions, as a new last one. Here as a copy.

        Parameters
        ----------
        offset : int, default 0
            Which diagonal: 0 the main one, positive numbers above it.
        dim1 : int, default 0
            Another dimension.
        dim2 : int, default 1
            The second of the matrix's dimensions.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.diagonal_copy(x)
        tensor([1., 4.])
        >>> x.diagonal_copy()
        tensor([1., 4.])"""
        ...
    def diagonal_scatter(self, src: Tensor, offset: Int = 0, dim1: Int = 0, dim2: Int = 1) -> Tensor:
        """A copy with another diagonal.

        Parameters
        ----------
        src : Tensor
            What is written.
        offset : int, default 0
            Which diagonal: 0 the main one, positive numbers above it.
        dim1 : int, default 0
            Another dimension.
        dim2 : int, default 1
            The second of the matrix's dimensions.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> y = opweave.tensor([8.0, 9.0])
        >>> opweave.diagonal_scatter(x, y)
        tensor([[8., 2.],
                [3., 9.]])
        >>> x.diagonal_scatter(y)
        tensor([[8., 2.],
                [3., 9.]])"""
        ...
    @overload
    def diff(self, n: Int = 1, dim: Int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor: ...
    @overload
    def diff(self, n: Int = 1, axis: Int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
        """The n-th differences of neighbours along a dimension.

        Parameters
        ----------
        n : int, default 1
            How often.
        dim : int, default -1
            The dimension, counted from the end where negative.
        prepend : Tensor, optional
            What stands before the elements.
        append : Tensor, optional
            What stands after the elements.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 4.0, 9.0])
        >>> opweave.diff(x)
        tensor([3., 5.])
        >>> x.diff()
        tensor([3., 5.])"""
        ...
    def digamma(self) -> Tensor:
        """The derivative of log Γ(x).

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> opweave.digamma(x)
        tensor([-4.2275, -1.9635, -0.5772])
        >>> x.digamma()
        tensor([-4.2275, -1.9635, -0.5772])"""
        ...
    def digamma_(self) -> Tensor:
        """The derivative of log Γ(x). In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> x.digamma_()
        tensor([-4.2275, -1.9635, -0.5772])"""
        ...
    def dist(self, other: Tensor | Number, p: Number = 2) -> Tensor:
        """The p-norm of the difference.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.
        p : number, default 2
            The p of the norm.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> opweave.dist(x, y)
        tensor(5.1962)
        >>> x.dist(y)
        tensor(5.1962)"""
        ...
    @overload
    def div(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def div(self, other: Tensor | Number, *, rounding_mode: Literal['trunc', 'floor'] | None) -> Tensor:
        """The quotient `input / other`; with `rounding_mode`, cut towards 0 or down to a whole number.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.
        rounding_mode : {'trunc', 'floor'}, optional
            Towards 0 or down; by default the quotient stays as it is.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments,
            for whole numbers the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([7.0, -7.0])
        >>> opweave.div(x, 2, rounding_mode='floor')
        tensor([ 3., -4.])
        >>> x.div(2, rounding_mode='floor')
        tensor([ 3., -4.])"""
        ...
    @overload
    def div_(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def div_(self, other: Tensor | Number, *, rounding_mode: Literal['trunc', 'floor'] | None) -> Tensor:
        """The quotient `input / other`; with `rounding_mode`, cut towards 0 or down to a whole number. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.
        rounding_mode : {'trunc', 'floor'}, optional
            Towards 0 or down; by default the quotient stays as it is.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([7.0, -7.0])
        >>> x.div_(2, rounding_mode='floor')
        tensor([ 3., -4.])"""
        ...
    @overload
    def divide(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def divide(self, other: Tensor | Number, *, rounding_mode: Literal['trunc', 'floor'] | None) -> Tensor:
        """The quotient `input / other`; with `rounding_mode`, cut towards 0 or down to a whole number.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.
        rounding_mode : {'trunc', 'floor'}, optional
            Towards 0 or down; by default the quotient stays as it is.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments,
            for whole numbers the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([7.0, -7.0])
        >>> opweave.div(x, 2, rounding_mode='floor')
        tensor([ 3., -4.])
        >>> x.div(2, rounding_mode='floor')
        tensor([ 3., -4.])"""
        ...
    @overload
    def divide_(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def divide_(self, other: Tensor | Number, *, rounding_mode: Literal['trunc', 'floor'] | None) -> Tensor:
        """The quotient `input / other`; with `rounding_mode`, cut towards 0 or down to a whole number. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.
        rounding_mode : {'trunc', 'floor'}, optional
            Towards 0 or down; by default the quotient stays as it is.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([7.0, -7.0])
        >>> x.div_(2, rounding_mode='floor')
        tensor([ 3., -4.])"""
        ...
    def dot(self, tensor: Tensor) -> Tensor:
        """The sum of products of two vectors.

        Parameters
        ----------
        tensor : Tensor
            A vector of the same size.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> opweave.dot(x, y)
        tensor(32.)
        >>> x.dot(y)
        tensor(32.)"""
        ...
    def double(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor with elements of type float64; itself where it has that type already.

        Examples
        --------
        >>> opweave.tensor([0, 2]).double().dtype
        opweave.float64"""
        ...
    def dropout_(self, p: Float, train: Bool) -> Tensor:
        """Each element set to 0 with probability p, the others scaled by 1 / (1 - p); without `train` the input. In place.

        Parameters
        ----------
        p : float
            The probability that an element is dropped.
        train : bool
            Whether anything is dropped.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.dropout_(x, 0.5, False).shape
        opweave.Size([3])"""
        ...
    @overload
    def dsplit(self, sections: Int) -> _tuple[Tensor, ...]: ...
    @overload
    def dsplit(self, indices: Sequence[Int]) -> _tuple[Tensor, ...]: ...
    @overload
    def dsplit(self, *indices: Int) -> _tuple[Tensor, ...]:
        """Parts of the third dimension, as views.

        Parameters
        ----------
        indices : sequence of int, optional
            Which places, as whole numbers.
        sections : int, optional
            How many parts, or where to cut.

        Returns
        -------
        tuple[Tensor, ...]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor([[[1.0, 2.0]]])
        >>> opweave.dsplit(x, 2)
        (tensor([[[1.]]]), tensor([[[2.]]]))
        >>> x.dsplit(2)
        (tensor([[[1.]]]), tensor([[[2.]]]))"""
        ...
    def elu(self, alpha: Number = 1, scale: Number = 1, input_scale: Number = 1) -> Tensor:
        """x where positive, alpha (exp(x) - 1) elsewhere.

        Parameters
        ----------
        alpha : number, default 1
            A factor.
        scale : number, default 1
            A factor of the scores; 1 / √width by default.
        input_scale : number, default 1
            A factor of x in the exponential.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.elu()
        tensor([-0.6321,  0.5000,  2.0000])"""
        ...
    def elu_(self, alpha: Number = 1, scale: Number = 1, input_scale: Number = 1) -> Tensor:
        """x where positive, alpha (exp(x) - 1) elsewhere. In place.

        Parameters
        ----------
        alpha : number, default 1
            A factor.
        scale : number, default 1
            A factor of the scores; 1 / √width by default.
        input_scale : number, default 1
            A factor of x in the exponential.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.elu_()
        tensor([-0.6321,  0.5000,  2.0000])"""
        ...
    def embedding_renorm_(self, indices: Tensor, max_norm: Float, norm_type: Float) -> Tensor:
        """The rows at the indices made smaller in place, where their norm is above the limit.

        Parameters
        ----------
        indices : Tensor
            Which places, as whole numbers.
        max_norm : float
            The limit.
        norm_type : float
            The p of the norm.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> y = opweave.tensor([1])
        >>> x.embedding_renorm_(y, 1.0, 2.0)
        tensor([[1.0000, 2.0000],
                [0.6000, 0.8000]])"""
        ...
    def empty_like(self, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, requires_grad: Bool = False) -> Tensor:
        """A tensor like another, with nothing in particular in it.

        Parameters
        ----------
        dtype : dtype, optional
            The element type of the result.
        layout : layout, optional
            How the elements lie; `strided` is the one there is.
        device : device or str, optional
            Where the result is; by default in main memory, or where the argument is.
        pin_memory : bool, optional
            For the signature's sake.
        memory_format : memory_format, optional
            How the result lies in memory.
        requires_grad : bool, default False
            Whether autograd records what is done with the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.empty_like(x).shape
        opweave.Size([2, 3])
        >>> x.empty_like().shape
        opweave.Size([2, 3])"""
        ...
    def eq(self, other: Tensor | Number) -> Tensor:
        """Whether each element equals the other.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements are bool.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([1.0, 0.0, 3.0])
        >>> opweave.eq(x, y)
        tensor([ True, False,  True])
        >>> x.eq(y)
        tensor([ True, False,  True])"""
        ...
    def eq_(self, other: Tensor | Number) -> Tensor:
        """Whether each element equals the other. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([1.0, 0.0, 3.0])
        >>> x.eq_(y)
        tensor([1., 0., 1.])"""
        ...
    def equal(self, other: Tensor) -> _bool:
        """Whether both have the same sizes and elements; NaN equals nothing.

        Parameters
        ----------
        input, other : Tensor

        Examples
        --------
        >>> opweave.equal(opweave.tensor([1, 2]), opweave.tensor([1, 2]))
        True"""
        ...
    def erf(self) -> Tensor:
        """The error function of each element.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.erf(x)
        tensor([-0.8427,  0.5205,  0.9953])
        >>> x.erf()
        tensor([-0.8427,  0.5205,  0.9953])"""
        ...
    def erf_(self) -> Tensor:
        """The error function of each element. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.erf_()
        tensor([-0.8427,  0.5205,  0.9953])"""
        ...
    def erfc(self) -> Tensor:
        """1 - erf(x), of which nothing is lost where erf is near 1.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.erfc(x)
        tensor([1.8427, 0.4795, 0.0047])
        >>> x.erfc()
        tensor([1.8427, 0.4795, 0.0047])"""
        ...
    def erfc_(self) -> Tensor:
        """1 - erf(x), of which nothing is lost where erf is near 1. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.erfc_()
        tensor([1.8427, 0.4795, 0.0047])"""
        ...
    def erfinv(self) -> Tensor:
        """The y with erf(y) = x: polynomials in log(1 - x²) (Giles 2010), whose digits are those of float32.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([0.2, 0.5, 0.9])
        >>> opweave.erfinv(x)
        tensor([0.1791, 0.4769, 1.1631])
        >>> x.erfinv()
        tensor([0.1791, 0.4769, 1.1631])"""
        ...
    def erfinv_(self) -> Tensor:
        """The y with erf(y) = x: polynomials in log(1 - x²) (Giles 2010), whose digits are those of float32. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0.2, 0.5, 0.9])
        >>> x.erfinv_()
        tensor([0.1791, 0.4769, 1.1631])"""
        ...
    def exp(self) -> Tensor:
        """e to the power of each element.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.exp(x)
        tensor([0.3679, 1.6487, 7.3891])
        >>> x.exp()
        tensor([0.3679, 1.6487, 7.3891])"""
        ...
    def exp2(self) -> Tensor:
        """2 to the power of each element.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.exp2(x)
        tensor([0.5000, 1.4142, 4.0000])
        >>> x.exp2()
        tensor([0.5000, 1.4142, 4.0000])"""
        ...
    def exp2_(self) -> Tensor:
        """2 to the power of each element. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.exp2_()
        tensor([0.5000, 1.4142, 4.0000])"""
        ...
    def exp_(self) -> Tensor:
        """e to the power of each element. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.exp_()
        tensor([0.3679, 1.6487, 7.3891])"""
        ...
    @overload
    def expand(self, size: Sequence[Int], *, implicit: Bool = False) -> Tensor: ...
    @overload
    def expand(self, *size: Int, implicit: Bool = False) -> Tensor:
        """A view with larger sizes, in which dimensions of size 1 repeat; -1 keeps a size.

        Parameters
        ----------
        size : sequence of int
            The sizes.
        implicit : bool, default False
            For the signature's sake.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([[1.0], [2.0]])
        >>> opweave.expand(x, [2, 3])
        tensor([[1., 1., 1.],
                [2., 2., 2.]])
        >>> x.expand([2, 3])
        tensor([[1., 1., 1.],
                [2., 2., 2.]])"""
        ...
    def expand_as(self, other: Tensor | Number) -> Tensor:
        """A view with the sizes of another tensor, in which dimensions of size 1 repeat.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([[1.0], [2.0]])
        >>> y = opweave.zeros(2, 3)
        >>> opweave.expand_as(x, y)
        tensor([[1., 1., 1.],
                [2., 2., 2.]])
        >>> x.expand_as(y)
        tensor([[1., 1., 1.],
                [2., 2., 2.]])"""
        ...
    @overload
    def expand_copy(self, size: Sequence[Int], *, implicit: Bool = False) -> Tensor: ...
    @overload
    def expand_copy(self, *size: Int, implicit: Bool = False) -> Tensor:
        """A view with larger sizes, in which dimensions of size 1 repeat; -1 keeps a size. Here as a copy.

        Parameters
        ----------
        size : sequence of int
            The sizes.
        implicit : bool, default False
            For the signature's sake.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0], [2.0]])
        >>> opweave.expand_copy(x, [2, 3])
        tensor([[1., 1., 1.],
                [2., 2., 2.]])
        >>> x.expand_copy([2, 3])
        tensor([[1., 1., 1.],
                [2., 2., 2.]])"""
        ...
    def expm1(self) -> Tensor:
        """exp(x) - 1, of which nothing is lost where x is small.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.expm1(x)
        tensor([-0.6321,  0.6487,  6.3891])
        >>> x.expm1()
        tensor([-0.6321,  0.6487,  6.3891])"""
        ...
    def expm1_(self) -> Tensor:
        """exp(x) - 1, of which nothing is lost where x is small. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.expm1_()
        tensor([-0.6321,  0.6487,  6.3891])"""
        ...
    def exponential(self, lambd: Float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Numbers drawn from an exponential distribution, in the shape of the tensor.

        Parameters
        ----------
        lambd : float, default 1.0
            The rate.
        generator : Generator, optional
            The source of random numbers; the device's own by default.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.exponential().shape
        opweave.Size([3])"""
        ...
    def exponential_(self, lambd: Float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Numbers drawn from an exponential distribution, in the shape of the tensor. In place.

        Parameters
        ----------
        lambd : float, default 1.0
            The rate.
        generator : Generator, optional
            The source of random numbers; the device's own by default.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.exponential_().shape
        opweave.Size([3])"""
        ...
    def feature_alpha_dropout_(self, p: Float, train: Bool) -> Tensor:
        """`alpha_dropout` of whole channels. In place.

        Parameters
        ----------
        p : float
            The p of the norm.
        train : bool
            Whether anything is dropped.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([[[1.0]]])
        >>> opweave.feature_alpha_dropout_(x, 0.5, False).shape
        opweave.Size([1, 1, 1])"""
        ...
    def feature_dropout_(self, p: Float, train: Bool) -> Tensor:
        """`dropout` of whole channels. In place.

        Parameters
        ----------
        p : float
            The p of the norm.
        train : bool
            Whether anything is dropped.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([[[1.0]]])
        >>> opweave.feature_dropout_(x, 0.5, False).shape
        opweave.Size([1, 1, 1])"""
        ...
    def fill(self, value: Tensor | Number) -> Tensor:
        """A tensor like this one with one number everywhere.

        Parameters
        ----------
        value : Tensor or number
            The number.

        Returns
        -------
        Tensor
            Its shape is the argument's.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.fill(x, 7)
        tensor([7., 7., 7.])
        >>> x.fill(7)
        tensor([7., 7., 7.])"""
        ...
    @overload
    def fill_(self, value: Number) -> Tensor: ...
    @overload
    def fill_(self, value: Tensor) -> Tensor:
        """A tensor like this one with one number everywhere. In place.

        Parameters
        ----------
        value : number or Tensor
            The number.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.fill_(7)
        tensor([7., 7., 7.])"""
        ...
    def fill_diagonal_(self, fill_value: Number, wrap: Bool = False) -> Tensor:
        """Write a number to the elements whose indices are all equal; with `wrap`, begin again below a tall matrix.

        Parameters
        ----------
        fill_value : number
            The number.
        wrap : bool, default False
            Whether to begin again below a tall matrix.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.fill_diagonal_(0)
        tensor([[0., 2.],
                [3., 0.]])"""
        ...
    def fix(self) -> Tensor:
        """Each element without its fraction.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.trunc(x)
        tensor([-1.,  0.,  2.])
        >>> x.trunc()
        tensor([-1.,  0.,  2.])"""
        ...
    def fix_(self) -> Tensor:
        """Each element without its fraction. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.trunc_()
        tensor([-1.,  0.,  2.])"""
        ...
    def flatten(self, start_dim: Int = 0, end_dim: Int = -1) -> Tensor:
        """Dimensions from one to another as a single one; a view where strides allow it.

        Parameters
        ----------
        start_dim : int, default 0
            The first of the dimensions.
        end_dim : int, default -1
            The last of the dimensions.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.ones(2, 2, 3)
        >>> opweave.flatten(x, 1)
        tensor([[1., 1., 1., 1., 1., 1.],
                [1., 1., 1., 1., 1., 1.]])
        >>> x.flatten(1)
        tensor([[1., 1., 1., 1., 1., 1.],
                [1., 1., 1., 1., 1., 1.]])"""
        ...
    @overload
    def flip(self, dims: Sequence[Int]) -> Tensor: ...
    @overload
    def flip(self, axis: Sequence[Int]) -> Tensor: ...
    @overload
    def flip(self, *dims: Int) -> Tensor:
        """Reverse the order along dimensions (a copy: strides are never negative).

        Parameters
        ----------
        dims : sequence of int
            The dimensions, counted from the end where negative.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.flip(x, [0])
        tensor([3., 2., 1.])
        >>> x.flip([0])
        tensor([3., 2., 1.])"""
        ...
    def fliplr(self) -> Tensor:
        """The columns backwards.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.fliplr(x)
        tensor([[2., 1.],
                [4., 3.]])
        >>> x.fliplr()
        tensor([[2., 1.],
                [4., 3.]])"""
        ...
    def flipud(self) -> Tensor:
        """The rows backwards.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.flipud(x)
        tensor([[3., 4.],
                [1., 2.]])
        >>> x.flipud()
        tensor([[3., 4.],
                [1., 2.]])"""
        ...
    def float(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor with elements of type float32; itself where it has that type already.

        Examples
        --------
        >>> opweave.tensor([0, 2]).float().dtype
        opweave.float32"""
        ...
    def float_power(self, exponent: Tensor | Number) -> Tensor:
        """The power in double precision.

        Parameters
        ----------
        exponent : Tensor or number
            The exponents.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.float_power(x, 2)
        tensor([1., 4., 9.], dtype=opweave.float64)
        >>> x.float_power(2)
        tensor([1., 4., 9.], dtype=opweave.float64)"""
        ...
    def float_power_(self, exponent: Tensor | Number) -> Tensor:
        """The power in double precision. In place.

        Parameters
        ----------
        exponent : Tensor or number
            The exponents.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.float_power_(2)
        tensor([1., 4., 9.])"""
        ...
    def floor(self) -> Tensor:
        """The largest whole number that is no larger, for each element.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.floor(x)
        tensor([-1.,  0.,  2.])
        >>> x.floor()
        tensor([-1.,  0.,  2.])"""
        ...
    def floor_(self) -> Tensor:
        """The largest whole number that is no larger, for each element. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.floor_()
        tensor([-1.,  0.,  2.])"""
        ...
    def floor_divide(self, other: Tensor | Number) -> Tensor:
        """The quotient, rounded down to a whole number.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([7, -7])
        >>> opweave.floor_divide(x, 2)
        tensor([ 3, -4])
        >>> x.floor_divide(2)
        tensor([ 3, -4])"""
        ...
    def floor_divide_(self, other: Tensor | Number) -> Tensor:
        """The quotient, rounded down to a whole number. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([7, -7])
        >>> x.floor_divide_(2)
        tensor([ 3, -4])"""
        ...
    def fmax(self, other: Tensor | Number) -> Tensor:
        """The larger, or the one that is a number.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> y = opweave.tensor([2.0, 3.0, 1.0])
        >>> opweave.fmax(x, y)
        tensor([2., 3., 2.])
        >>> x.fmax(y)
        tensor([2., 3., 2.])"""
        ...
    def fmin(self, other: Tensor | Number) -> Tensor:
        """The smaller, or the one that is a number.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> y = opweave.tensor([2.0, 3.0, 1.0])
        >>> opweave.fmin(x, y)
        tensor([-1.0000,  0.5000,  1.0000])
        >>> x.fmin(y)
        tensor([-1.0000,  0.5000,  1.0000])"""
        ...
    def fmod(self, other: Tensor | Number) -> Tensor:
        """What is left of a division that is cut towards 0; it has the sign of the dividend.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([7, -7])
        >>> opweave.fmod(x, 3)
        tensor([ 1, -1])
        >>> x.fmod(3)
        tensor([ 1, -1])"""
        ...
    def fmod_(self, other: Tensor | Number) -> Tensor:
        """What is left of a division that is cut towards 0; it has the sign of the dividend. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([7, -7])
        >>> x.fmod_(3)
        tensor([ 1, -1])"""
        ...
    def frac(self) -> Tensor:
        """What is left of each element without its whole part; it has the element's sign.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.frac(x)
        tensor([0.0000, 0.5000, 0.0000])
        >>> x.frac()
        tensor([0.0000, 0.5000, 0.0000])"""
        ...
    def frac_(self) -> Tensor:
        """What is left of each element without its whole part; it has the element's sign. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.frac_()
        tensor([0.0000, 0.5000, 0.0000])"""
        ...
    def frexp(self) -> return_types.frexp:
        """(m, e) with x = m 2^e and m between 1/2 and 1 in size; zeros, infinities and NaN go with an exponent of 0.

        Returns
        -------
        return_types.frexp
            A named tuple of tensors: mantissa, exponent.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.frexp(x)
        opweave.return_types.frexp(
        mantissa=tensor([0.5000, 0.5000, 0.7500]),
        exponent=tensor([1, 2, 2], dtype=opweave.int32))
        >>> x.frexp()
        opweave.return_types.frexp(
        mantissa=tensor([0.5000, 0.5000, 0.7500]),
        exponent=tensor([1, 2, 2], dtype=opweave.int32))"""
        ...
    @overload
    def frobenius_norm(self, dim: Int | Sequence[Int], keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor: ...
    @overload
    def frobenius_norm(self, axis: Int | Sequence[Int], keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor:
        """The root of the sum of squares over dimensions.

        Parameters
        ----------
        dim : int or sequence of int
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.frobenius_norm(x, [0, 1])
        tensor(5.4772)
        >>> x.frobenius_norm([0, 1])
        tensor(5.4772)"""
        ...
    def full_like(self, fill_value: Number, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, requires_grad: Bool = False) -> Tensor:
        """A tensor like another with one number everywhere.

        Parameters
        ----------
        fill_value : number
            The number.
        dtype : dtype, optional
            The element type of the result.
        layout : layout, optional
            How the elements lie; `strided` is the one there is.
        device : device or str, optional
            Where the result is; by default in main memory, or where the argument is.
        pin_memory : bool, optional
            For the signature's sake.
        memory_format : memory_format, optional
            How the result lies in memory.
        requires_grad : bool, default False
            Whether autograd records what is done with the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.full_like(x, 7)
        tensor([7., 7., 7.])
        >>> x.full_like(7)
        tensor([7., 7., 7.])"""
        ...
    @overload
    def gather(self, dim: Int, index: Tensor, *, sparse_grad: Bool = False) -> Tensor: ...
    @overload
    def gather(self, axis: Int, index: Tensor, *, sparse_grad: Bool = False) -> Tensor:
        """`out[i][j] = self[index[i][j]][j]` for dimension 0, and so on.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        index : Tensor
            Which places, as whole numbers.
        sparse_grad : bool, default False
            For the signature's sake.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> y = opweave.tensor([[0, 0], [1, 0]])
        >>> opweave.gather(x, 1, y)
        tensor([[1., 1.],
                [4., 3.]])
        >>> x.gather(1, y)
        tensor([[1., 1.],
                [4., 3.]])"""
        ...
    def gcd(self, other: Tensor) -> Tensor:
        """The greatest common divisor of whole numbers.

        Parameters
        ----------
        other : Tensor
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([12, 7])
        >>> y = opweave.tensor([18, 21])
        >>> opweave.gcd(x, y)
        tensor([6, 7])
        >>> x.gcd(y)
        tensor([6, 7])"""
        ...
    def gcd_(self, other: Tensor | Number) -> Tensor:
        """The greatest common divisor of whole numbers. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([12, 7])
        >>> y = opweave.tensor([18, 21])
        >>> x.gcd_(y)
        tensor([6, 7])"""
        ...
    def ge(self, other: Tensor | Number) -> Tensor:
        """Whether each element is no less than the other.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements are bool.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.ge(x, 2)
        tensor([False,  True,  True])
        >>> x.ge(2)
        tensor([False,  True,  True])"""
        ...
    def ge_(self, other: Tensor | Number) -> Tensor:
        """Whether each element is no less than the other. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.ge_(2)
        tensor([0., 1., 1.])"""
        ...
    def gelu(self, *, approximate: Literal['none', 'tanh'] = 'none') -> Tensor:
        """Hendrycks & Gimpel 2016: x Φ(x); "tanh" is the paper's approximation of Φ.

        Parameters
        ----------
        approximate : {'none', 'tanh'}, default 'none'
            Whether to use the paper's approximation by `tanh`.

        Returns
        -------
        Tensor
            Its shape is the argument's.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.gelu(x)
        tensor([-0.1587,  0.3457,  1.9545])
        >>> x.gelu()
        tensor([-0.1587,  0.3457,  1.9545])"""
        ...
    def gelu_(self, *, approximate: Literal['none', 'tanh'] = 'none') -> Tensor:
        """Hendrycks & Gimpel 2016: x Φ(x); "tanh" is the paper's approximation of Φ. In place.

        Parameters
        ----------
        approximate : {'none', 'tanh'}, default 'none'
            Whether to use the paper's approximation by `tanh`.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.gelu_()
        tensor([-0.1587,  0.3457,  1.9545])"""
        ...
    def geometric(self, p: Float, *, generator: Generator | None = None) -> Tensor:
        """How many draws it takes until one with probability p succeeds, in the shape of the tensor.

        Parameters
        ----------
        p : float
            The probability of success.
        generator : Generator, optional
            The source of random numbers; the device's own by default.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.geometric(0.5).shape
        opweave.Size([3])"""
        ...
    def geometric_(self, p: Float, *, generator: Generator | None = None) -> Tensor:
        """How many draws it takes until one with probability p succeeds, in the shape of the tensor. In place.

        Parameters
        ----------
        p : float
            The probability of success.
        generator : Generator, optional
            The source of random numbers; the device's own by default.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.geometric_(0.5).shape
        opweave.Size([3])"""
        ...
    def geqrf(self) -> return_types.geqrf:
        """LAPACK's QR: R above the diagonal, below it the vectors of the reflections whose factors are tau.

        Returns
        -------
        return_types.geqrf
            A named tuple of tensors: a, tau.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> [t.shape for t in opweave.geqrf(x)]
        [opweave.Size([2, 2]), opweave.Size([2])]
        >>> [t.shape for t in x.geqrf()]
        [opweave.Size([2, 2]), opweave.Size([2])]"""
        ...
    def ger(self, vec2: Tensor) -> Tensor:
        """All products of two vectors' elements.

        Parameters
        ----------
        vec2 : Tensor
            Another vector.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0])
        >>> y = opweave.tensor([3.0, 4.0])
        >>> opweave.ger(x, y)
        tensor([[3., 4.],
                [6., 8.]])
        >>> x.ger(y)
        tensor([[3., 4.],
                [6., 8.]])"""
        ...
    @overload
    def glu(self, dim: Int = -1) -> Tensor: ...
    @overload
    def glu(self, axis: Int = -1) -> Tensor:
        """The first half of a dimension times the sigmoid of the second (Dauphin et al. 2016).

        Parameters
        ----------
        dim : int, default -1
            The dimension, counted from the end where negative.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 0.0, 0.0])
        >>> x.glu()
        tensor([0.5000, 1.0000])"""
        ...
    @property
    def grad(self) -> Tensor | None: ...
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...
    @grad.deleter
    def grad(self) -> None:
        """The accumulated gradient."""
        ...
    @property
    def grad_fn(self) -> Node | None:
        """The node of the op that made this tensor, None for a leaf."""
        ...
    def greater(self, other: Tensor | Number) -> Tensor:
        """Whether each element is larger than the other.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements are bool.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.gt(x, 2)
        tensor([False, False,  True])
        >>> x.gt(2)
        tensor([False, False,  True])"""
        ...
    def greater_(self, other: Tensor | Number) -> Tensor:
        """Whether each element is larger than the other. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.gt_(2)
        tensor([0., 0., 1.])"""
        ...
    def greater_equal(self, other: Tensor | Number) -> Tensor:
        """Whether each element is no less than the other.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements are bool.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.ge(x, 2)
        tensor([False,  True,  True])
        >>> x.ge(2)
        tensor([False,  True,  True])"""
        ...
    def greater_equal_(self, other: Tensor | Number) -> Tensor:
        """Whether each element is no less than the other. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.ge_(2)
        tensor([0., 1., 1.])"""
        ...
    def gt(self, other: Tensor | Number) -> Tensor:
        """Whether each element is larger than the other.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements are bool.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.gt(x, 2)
        tensor([False, False,  True])
        >>> x.gt(2)
        tensor([False, False,  True])"""
        ...
    def gt_(self, other: Tensor | Number) -> Tensor:
        """Whether each element is larger than the other. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.gt_(2)
        tensor([0., 0., 1.])"""
        ...
    def half(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor with elements of type float16; itself where it has that type already.

        Examples
        --------
        >>> opweave.tensor([0, 2]).half().dtype
        opweave.float16"""
        ...
    def hardshrink(self, lambd: Number = 0.5) -> Tensor:
        """0 from -lambd to lambd, x elsewhere.

        Parameters
        ----------
        lambd : number, default 0.5
            The limit.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.hardshrink(x)
        tensor([-1.,  0.,  2.])
        >>> x.hardshrink()
        tensor([-1.,  0.,  2.])"""
        ...
    def hardsigmoid(self) -> Tensor:
        """The sigmoid in three straight pieces (Courbariaux et al. 2015).

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.hardsigmoid()
        tensor([0.3333, 0.5833, 0.8333])"""
        ...
    def hardsigmoid_(self) -> Tensor:
        """The sigmoid in three straight pieces (Courbariaux et al. 2015). In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.hardsigmoid_()
        tensor([0.3333, 0.5833, 0.8333])"""
        ...
    def hardswish(self) -> Tensor:
        """x hardsigmoid(x) (Howard et al. 2019).

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.hardswish()
        tensor([-0.3333,  0.2917,  1.6667])"""
        ...
    def hardswish_(self) -> Tensor:
        """x hardsigmoid(x) (Howard et al. 2019). In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.hardswish_()
        tensor([-0.3333,  0.2917,  1.6667])"""
        ...
    def hardtanh(self, min_val: Number = -1, max_val: Number = 1) -> Tensor:
        """x limited to [min_val, max_val]; an integer's limits are integers.

        Parameters
        ----------
        min_val : number, default -1
            The lower bound.
        max_val : number, default 1
            The upper bound.

        Returns
        -------
        Tensor
            Its shape is the argument's.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.hardtanh()
        tensor([-1.0000,  0.5000,  1.0000])"""
        ...
    def hardtanh_(self, min_val: Number = -1, max_val: Number = 1) -> Tensor:
        """x limited to [min_val, max_val]; an integer's limits are integers. In place.

        Parameters
        ----------
        min_val : number, default -1
            The lower bound.
        max_val : number, default 1
            The upper bound.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.hardtanh_()
        tensor([-1.0000,  0.5000,  1.0000])"""
        ...
    @overload
    def hash_tensor(self, dim: Int | Sequence[Int] = ..., *, keepdim: Bool = False, mode: Int = 0, keepdims: Bool = False) -> Tensor: ...
    @overload
    def hash_tensor(self, axis: Int | Sequence[Int] = ..., *, keepdim: Bool = False, mode: Int = 0, keepdims: Bool = False) -> Tensor: ...
    @overload
    def hash_tensor(self, *dim: Int, keepdim: Bool = False, mode: Int = 0, keepdims: Bool = False) -> Tensor:
        """The exclusive or of the 64 bits of elements, as float64 or int64, along dimensions.

        Parameters
        ----------
        dim : int or sequence of int, default ()
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.
        mode : int, default 0
            How it is done.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.hash_tensor(x)
        tensor(4609434218613702656, dtype=opweave.uint64)
        >>> x.hash_tensor()
        tensor(4609434218613702656, dtype=opweave.uint64)"""
        ...
    def heaviside(self, values: Tensor | Number) -> Tensor:
        """0 below 0, 1 above, and the value given at 0; 0 for NaN.

        Parameters
        ----------
        values : Tensor or number
            The values.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.0, 2.0])
        >>> y = opweave.tensor([0.5])
        >>> opweave.heaviside(x, y)
        tensor([0.0000, 0.5000, 1.0000])
        >>> x.heaviside(y)
        tensor([0.0000, 0.5000, 1.0000])"""
        ...
    def heaviside_(self, values: Tensor) -> Tensor:
        """0 below 0, 1 above, and the value given at 0; 0 for NaN. In place.

        Parameters
        ----------
        values : Tensor
            The values.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.0, 2.0])
        >>> y = opweave.tensor([0.5])
        >>> x.heaviside_(y)
        tensor([0.0000, 0.5000, 1.0000])"""
        ...
    def hinge_embedding_loss(self, target: Tensor, margin: Float = 1.0, reduction: Int = 1) -> Tensor:
        """x where t is 1, max(0, margin - x) where it is -1, and the sum of both where it is neither.

        Parameters
        ----------
        target : Tensor
            What it should be.
        margin : float, default 1.0
            The margin.
        reduction : int, default 1
            0 none, 1 mean, 2 sum.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([0.5, 0.5])
        >>> y = opweave.tensor([1.0, -1.0])
        >>> opweave.hinge_embedding_loss(x, y)
        tensor(0.5000)
        >>> x.hinge_embedding_loss(y)
        tensor(0.5000)"""
        ...
    def histc(self, bins: Int = 100, min: Number = 0, max: Number = 0) -> Tensor:
        """How many elements are in each of equal bins from min to max; of those found, where these are equal.

        Parameters
        ----------
        bins : int, default 100
            How many bins, or their edges.
        min : number, default 0
            The lower bound.
        max : number, default 0
            The upper bound.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 2.0, 4.0])
        >>> opweave.histc(x, 3, 1, 4)
        tensor([1., 2., 1.])
        >>> x.histc(3, 1, 4)
        tensor([1., 2., 1.])"""
        ...
    @overload
    def histogram(self, bins: Int = 100, *, range: Sequence[Float] | None = None, weight: Tensor | None = None, density: Bool = False) -> return_types.histogram: ...
    @overload
    def histogram(self, bins: Tensor, *, weight: Tensor | None = None, density: Bool = False) -> return_types.histogram:
        """How many elements, or what weight of them, lie between edges, and the edges.

        Parameters
        ----------
        bins : int or Tensor, default 100
            How many bins, or their edges.
        range : sequence of float, optional
            The least and the largest edge.
        weight : Tensor, optional
            The weights.
        density : bool, default False
            Whether the sum over the bins is 1.

        Returns
        -------
        return_types.histogram
            A named tuple of tensors: hist, bin_edges.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 2.0, 4.0])
        >>> opweave.histogram(x, 3)
        opweave.return_types.histogram(
        hist=tensor([1., 2., 1.]),
        bin_edges=tensor([1., 2., 3., 4.]))
        >>> x.histogram(3)
        opweave.return_types.histogram(
        hist=tensor([1., 2., 1.]),
        bin_edges=tensor([1., 2., 3., 4.]))"""
        ...
    @overload
    def histogramdd(self, bins: Sequence[Int], range: Sequence[Float] | None = None, weight: Tensor | None = None, density: Bool = False) -> return_types.histogramdd: ...
    @overload
    def histogramdd(self, bins: Int, range: Sequence[Float] | None = None, weight: Tensor | None = None, density: Bool = False) -> return_types.histogramdd: ...
    @overload
    def histogramdd(self, bins: Sequence[Tensor], range: Sequence[Float] | None = None, weight: Tensor | None = None, density: Bool = False) -> return_types.histogramdd:
        """How many points, or what weight of them, lie in as many bins of each dimension, and the edges of bins.

        Parameters
        ----------
        bins : sequence of int or int or sequence of Tensor
            How many bins, or their edges.
        range : sequence of float, optional
            The least and the largest edge.
        weight : Tensor, optional
            The weights.
        density : bool, default False
            Whether the sum over the bins is 1.

        Returns
        -------
        return_types.histogramdd
            A named tuple of tensors: hist, bin_edges.

        Examples
        --------
        >>> x = opweave.tensor([[0.0, 0.0], [1.0, 2.0], [1.0, 1.0]])
        >>> opweave.histogramdd(x, [2, 2])
        opweave.return_types.histogramdd(
        hist=tensor([[1., 0.],
                [0., 2.]]),
        bin_edges=(tensor([0.0000, 0.5000, 1.0000]), tensor([0., 1., 2.])))
        >>> x.histogramdd([2, 2])
        opweave.return_types.histogramdd(
        hist=tensor([[1., 0.],
                [0., 2.]]),
        bin_edges=(tensor([0.0000, 0.5000, 1.0000]), tensor([0., 1., 2.])))"""
        ...
    @overload
    def hsplit(self, sections: Int) -> _tuple[Tensor, ...]: ...
    @overload
    def hsplit(self, indices: Sequence[Int]) -> _tuple[Tensor, ...]: ...
    @overload
    def hsplit(self, *indices: Int) -> _tuple[Tensor, ...]:
        """Parts of the second dimension (of a vector, the first), as views.

        Parameters
        ----------
        indices : sequence of int, optional
            Which places, as whole numbers.
        sections : int, optional
            How many parts, or where to cut.

        Returns
        -------
        tuple[Tensor, ...]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.hsplit(x, 2)
        (tensor([[1.],
                [3.]]), tensor([[2.],
                [4.]]))
        >>> x.hsplit(2)
        (tensor([[1.],
                [3.]]), tensor([[2.],
                [4.]]))"""
        ...
    def huber_loss(self, target: Tensor, reduction: Int = 1, delta: Float = 1.0) -> Tensor:
        """d² / 2 for a difference d up to delta, delta (d - delta / 2) beyond (Huber 1964).

        Parameters
        ----------
        target : Tensor
            What it should be.
        reduction : int, default 1
            0 none, 1 mean, 2 sum.
        delta : float, default 1.0
            Where the square ends.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([0.0, 0.0])
        >>> y = opweave.tensor([0.5, 3.0])
        >>> x.huber_loss(y)
        tensor(1.3125)"""
        ...
    def hypot(self, other: Tensor | Number) -> Tensor:
        """√(x² + y²), which overflows only where the result does.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([3.0])
        >>> y = opweave.tensor([4.0])
        >>> opweave.hypot(x, y)
        tensor([5.])
        >>> x.hypot(y)
        tensor([5.])"""
        ...
    def hypot_(self, other: Tensor | Number) -> Tensor:
        """√(x² + y²), which overflows only where the result does. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([3.0])
        >>> y = opweave.tensor([4.0])
        >>> x.hypot_(y)
        tensor([5.])"""
        ...
    def i0(self) -> Tensor:
        """The modified Bessel function of the first kind and order 0.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.i0(x)
        tensor([1.2661, 1.0635, 2.2796])
        >>> x.i0()
        tensor([1.2661, 1.0635, 2.2796])"""
        ...
    def i0_(self) -> Tensor:
        """The modified Bessel function of the first kind and order 0. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.i0_()
        tensor([1.2661, 1.0635, 2.2796])"""
        ...
    def igamma(self, other: Tensor) -> Tensor:
        """The lower incomplete gamma function, divided by Γ: the share below x for each pair (a, x).

        Parameters
        ----------
        other : Tensor
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0])
        >>> y = opweave.tensor([1.0, 1.0])
        >>> opweave.igamma(x, y)
        tensor([0.6321, 0.2642])
        >>> x.igamma(y)
        tensor([0.6321, 0.2642])"""
        ...
    def igamma_(self, other: Tensor | Number) -> Tensor:
        """The lower incomplete gamma function, divided by Γ: the share below x for each pair (a, x). In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0])
        >>> y = opweave.tensor([1.0, 1.0])
        >>> x.igamma_(y)
        tensor([0.6321, 0.2642])"""
        ...
    def igammac(self, other: Tensor) -> Tensor:
        """The upper incomplete gamma function, divided by Γ: the share above x for each pair (a, x).

        Parameters
        ----------
        other : Tensor
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0])
        >>> y = opweave.tensor([1.0, 1.0])
        >>> opweave.igammac(x, y)
        tensor([0.3679, 0.7358])
        >>> x.igammac(y)
        tensor([0.3679, 0.7358])"""
        ...
    def igammac_(self, other: Tensor | Number) -> Tensor:
        """The upper incomplete gamma function, divided by Γ: the share above x for each pair (a, x). In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0])
        >>> y = opweave.tensor([1.0, 1.0])
        >>> x.igammac_(y)
        tensor([0.3679, 0.7358])"""
        ...
    def im2col(self, kernel_size: Int | Sequence[Int], dilation: Int | Sequence[Int], padding: Int | Sequence[Int], stride: Int | Sequence[Int]) -> Tensor:
        """The windows of an image as columns: (batch, channels * kernel, windows).

        Parameters
        ----------
        kernel_size : int or sequence of int
            The size of a window.
        dilation : int or sequence of int
            How far apart the elements of a window are.
        padding : int or sequence of int
            How many elements are added at each side.
        stride : int or sequence of int
            How far apart windows are; as large as they are by default.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.arange(16.0).view(1, 1, 4, 4)
        >>> x.im2col([2, 2], [1, 1], [0, 0], [2, 2]).shape
        opweave.Size([1, 4, 4])"""
        ...
    @property
    def imag(self) -> Tensor: ...
    @imag.setter
    def imag(self, value: Any) -> None:
        """The imaginary parts of complex numbers, as a view."""
        ...
    def index(self, indices: Sequence[Tensor | None]) -> Tensor:
        """The elements at index tensors, which broadcast together; None takes a whole dimension.

        Parameters
        ----------
        indices : sequence of Tensor
            Which places, as whole numbers.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([-2.0, 0.0, 2.0])
        >>> y = opweave.tensor([2, -3], dtype=opweave.int32)
        >>> x.index([y])
        tensor([ 2., -2.])"""
        ...
    @overload
    def index_add(self, dim: Int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor: ...
    @overload
    def index_add(self, axis: Int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
        """A copy with slices of the source, times alpha, added to those of these numbers.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        index : Tensor
            Which places, as whole numbers.
        source : Tensor
            What is written.
        alpha : number, default 1
            A factor.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([0, 0])
        >>> z = opweave.tensor([10.0, 20.0])
        >>> opweave.index_add(x, 0, y, z)
        tensor([31.,  2.,  3.])
        >>> x.index_add(0, y, z)
        tensor([31.,  2.,  3.])"""
        ...
    @overload
    def index_add_(self, dim: Int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor: ...
    @overload
    def index_add_(self, axis: Int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
        """A copy with slices of the source, times alpha, added to those of these numbers. In place.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        index : Tensor
            Which places, as whole numbers.
        source : Tensor
            What is written.
        alpha : number, default 1
            A factor.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([0, 0])
        >>> z = opweave.tensor([10.0, 20.0])
        >>> x.index_add_(0, y, z)
        tensor([31.,  2.,  3.])"""
        ...
    @overload
    def index_copy(self, dim: Int, index: Tensor, source: Tensor) -> Tensor: ...
    @overload
    def index_copy(self, axis: Int, index: Tensor, source: Tensor) -> Tensor:
        """A copy with slices of the source in the places of a dimension that `index` names.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        index : Tensor
            Which places, as whole numbers.
        source : Tensor
            What is written.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([2, 0])
        >>> z = opweave.tensor([10.0, 20.0])
        >>> opweave.index_copy(x, 0, y, z)
        tensor([20.,  2., 10.])
        >>> x.index_copy(0, y, z)
        tensor([20.,  2., 10.])"""
        ...
    @overload
    def index_copy_(self, dim: Int, index: Tensor, source: Tensor) -> Tensor: ...
    @overload
    def index_copy_(self, axis: Int, index: Tensor, source: Tensor) -> Tensor:
        """A copy with slices of the source in the places of a dimension that `index` names. In place.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        index : Tensor
            Which places, as whole numbers.
        source : Tensor
            What is written.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([2, 0])
        >>> z = opweave.tensor([10.0, 20.0])
        >>> x.index_copy_(0, y, z)
        tensor([20.,  2., 10.])"""
        ...
    @overload
    def index_fill(self, dim: Int, index: Tensor, value: Number) -> Tensor: ...
    @overload
    def index_fill(self, axis: Int, index: Tensor, value: Number) -> Tensor: ...
    @overload
    def index_fill(self, dim: Int, index: Tensor, value: Tensor) -> Tensor: ...
    @overload
    def index_fill(self, axis: Int, index: Tensor, value: Tensor) -> Tensor:
        """A copy with a number in the slices of these numbers.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        index : Tensor
            Which places, as whole numbers.
        value : number or Tensor
            The number.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([0, 2])
        >>> opweave.index_fill(x, 0, y, 9)
        tensor([9., 2., 9.])
        >>> x.index_fill(0, y, 9)
        tensor([9., 2., 9.])"""
        ...
    @overload
    def index_fill_(self, dim: Int, index: Tensor, value: Number) -> Tensor: ...
    @overload
    def index_fill_(self, axis: Int, index: Tensor, value: Number) -> Tensor: ...
    @overload
    def index_fill_(self, dim: Int, index: Tensor, value: Tensor) -> Tensor: ...
    @overload
    def index_fill_(self, axis: Int, index: Tensor, value: Tensor) -> Tensor:
        """A copy with a number in the slices of these numbers. In place.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        index : Tensor
            Which places, as whole numbers.
        value : number or Tensor
            The number.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([0, 2])
        >>> x.index_fill_(0, y, 9)
        tensor([9., 2., 9.])"""
        ...
    def index_put(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: Bool = False) -> Tensor:
        """A copy with values at index tensors; with `accumulate` they are added to what is there.

        Parameters
        ----------
        indices : sequence of Tensor
            Which places, as whole numbers.
        values : Tensor
            The values.
        accumulate : bool, default False
            Whether values are added to what is there.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([0, 2])
        >>> z = opweave.tensor([8.0, 9.0])
        >>> opweave.index_put(x, [y], z)
        tensor([8., 2., 9.])
        >>> x.index_put([y], z)
        tensor([8., 2., 9.])"""
        ...
    def index_put_(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: Bool = False) -> Tensor:
        """A copy with values at index tensors; with `accumulate` they are added to what is there. In place.

        Parameters
        ----------
        indices : sequence of Tensor
            Which places, as whole numbers.
        values : Tensor
            The values.
        accumulate : bool, default False
            Whether values are added to what is there.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([0, 2])
        >>> z = opweave.tensor([8.0, 9.0])
        >>> x.index_put_([y], z)
        tensor([8., 2., 9.])"""
        ...
    @overload
    def index_reduce(self, dim: Int, index: Tensor, source: Tensor, reduce: Literal['prod', 'mean', 'amax', 'amin'], *, include_self: Bool = True) -> Tensor: ...
    @overload
    def index_reduce(self, axis: Int, index: Tensor, source: Tensor, reduce: Literal['prod', 'mean', 'amax', 'amin'], *, include_self: Bool = True) -> Tensor:
        """A copy with the products, means or extremes of slices of the source that have one number.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        index : Tensor
            Which places, as whole numbers.
        source : Tensor
            What is written.
        reduce : {'prod', 'mean', 'amax', 'amin'}
            How elements for one place are combined.
        include_self : bool, default True
            Whether what is there counts, too.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([0, 0])
        >>> z = opweave.tensor([10.0, 20.0])
        >>> opweave.index_reduce(x, 0, y, z, 'amax')
        tensor([20.,  2.,  3.])
        >>> x.index_reduce(0, y, z, 'amax')
        tensor([20.,  2.,  3.])"""
        ...
    @overload
    def index_reduce_(self, dim: Int, index: Tensor, source: Tensor, reduce: Literal['prod', 'mean', 'amax', 'amin'], *, include_self: Bool = True) -> Tensor: ...
    @overload
    def index_reduce_(self, axis: Int, index: Tensor, source: Tensor, reduce: Literal['prod', 'mean', 'amax', 'amin'], *, include_self: Bool = True) -> Tensor:
        """A copy with the products, means or extremes of slices of the source that have one number. In place.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        index : Tensor
            Which places, as whole numbers.
        source : Tensor
            What is written.
        reduce : {'prod', 'mean', 'amax', 'amin'}
            How elements for one place are combined.
        include_self : bool, default True
            Whether what is there counts, too.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([0, 0])
        >>> z = opweave.tensor([10.0, 20.0])
        >>> x.index_reduce_(0, y, z, 'amax')
        tensor([20.,  2.,  3.])"""
        ...
    @overload
    def index_select(self, dim: Int, index: Tensor) -> Tensor: ...
    @overload
    def index_select(self, axis: Int, index: Tensor) -> Tensor:
        """The slices of a dimension that a vector of indices names.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        index : Tensor
            Which places, as whole numbers.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> y = opweave.tensor([1, 1, 0])
        >>> opweave.index_select(x, 0, y)
        tensor([[3., 4.],
                [3., 4.],
                [1., 2.]])
        >>> x.index_select(0, y)
        tensor([[3., 4.],
                [3., 4.],
                [1., 2.]])"""
        ...
    def inner(self, other: Tensor | Number) -> Tensor:
        """The sums of products over the last dimensions.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> opweave.inner(x, y)
        tensor(32.)
        >>> x.inner(y)
        tensor(32.)"""
        ...
    def int(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor with elements of type int32; itself where it has that type already.

        Examples
        --------
        >>> opweave.tensor([0, 2]).int().dtype
        opweave.int32"""
        ...
    def inverse(self) -> Tensor:
        """As `linalg.inv`.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[2.0, 0.0], [0.0, 4.0]])
        >>> opweave.inverse(x)
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
        >>> x.inverse()
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])"""
        ...
    def is_conj(self) -> _bool:
        """Whether the elements in memory are the conjugates: never, here.

        Examples
        --------
        >>> opweave.is_conj(opweave.tensor([1j]).conj())
        False"""
        ...
    def is_inference(self) -> _bool:
        """Whether the tensor was made in inference mode.

        Examples
        --------
        >>> opweave.zeros(2).is_inference()
        False"""
        ...
    @property
    def is_leaf(self) -> _bool:
        """Whether the tensor was not made by a recorded op."""
        ...
    def is_neg(self) -> _bool:
        """Whether the elements in memory have the other sign: never, here.

        Examples
        --------
        >>> opweave.is_neg(opweave.tensor([1.0]))
        False"""
        ...
    def is_nonzero(self) -> _bool:
        """Whether the single element is other than 0.

        Examples
        --------
        >>> opweave.is_nonzero(opweave.tensor([2.0]))
        True"""
        ...
    def is_same_size(self, other: Tensor) -> _bool:
        """Whether two tensors have the same sizes.

        Examples
        --------
        >>> opweave.is_same_size(opweave.zeros(2, 3), opweave.zeros(3, 2))
        False"""
        ...
    def is_signed(self) -> _bool:
        """Whether elements may be negative.

        Examples
        --------
        >>> opweave.is_signed(opweave.tensor([1], dtype=opweave.uint8))
        False"""
        ...
    def isclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
        """Where `|input - other| <= atol + rtol * |other|`, or both are equal.

        Parameters
        ----------
        input, other : Tensor
            Of one dtype.
        rtol, atol : float
            Relative and absolute tolerance.
        equal_nan : bool
            Whether NaN equals NaN.

        Examples
        --------
        >>> opweave.isclose(opweave.tensor([1.0, 2.0]), opweave.tensor([1.0, 2.1]))
        tensor([ True, False])"""
        ...
    def isfinite(self) -> Tensor:
        """Whether each element is a finite number.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements are bool.

        Examples
        --------
        >>> x = opweave.tensor([1.0, float("inf"), float("nan")])
        >>> opweave.isfinite(x)
        tensor([ True, False, False])
        >>> x.isfinite()
        tensor([ True, False, False])"""
        ...
    def isinf(self) -> Tensor:
        """Whether each element is infinite.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements are bool.

        Examples
        --------
        >>> x = opweave.tensor([1.0, float("inf"), float("nan")])
        >>> opweave.isinf(x)
        tensor([False,  True, False])
        >>> x.isinf()
        tensor([False,  True, False])"""
        ...
    def isnan(self) -> Tensor:
        """Whether each element is NaN.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements are bool.

        Examples
        --------
        >>> x = opweave.tensor([1.0, float("inf"), float("nan")])
        >>> opweave.isnan(x)
        tensor([False, False,  True])
        >>> x.isnan()
        tensor([False, False,  True])"""
        ...
    def isneginf(self) -> Tensor:
        """Whether each element is -inf.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements are bool.

        Examples
        --------
        >>> x = opweave.tensor([1.0, float("-inf"), float("nan")])
        >>> opweave.isneginf(x)
        tensor([False,  True, False])
        >>> x.isneginf()
        tensor([False,  True, False])"""
        ...
    def isposinf(self) -> Tensor:
        """Whether each element is +inf.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements are bool.

        Examples
        --------
        >>> x = opweave.tensor([1.0, float("inf"), float("nan")])
        >>> opweave.isposinf(x)
        tensor([False,  True, False])
        >>> x.isposinf()
        tensor([False,  True, False])"""
        ...
    def isreal(self) -> Tensor:
        """Whether the imaginary part is 0.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1 + 0j, 1j])
        >>> opweave.isreal(x)
        tensor([ True, False])
        >>> x.isreal()
        tensor([ True, False])"""
        ...
    def istft(self, n_fft: Int, hop_length: Int | None = None, win_length: Int | None = None, window: Tensor | None = None, center: Bool = True, normalized: Bool = False, onesided: Bool | None = None, length: Int | None = None, return_complex: Bool = False) -> Tensor:
        """The signal of which `stft` gives these transforms: the least squares (Griffin and Lim 1984).

        Parameters
        ----------
        n_fft : int
            The size of the transforms.
        hop_length : int, optional
            How far apart the windows are.
        win_length : int, optional
            The size of the windows.
        window : Tensor, optional
            The window.
        center : bool, default True
            Whether the windows are centred, so that the signal is continued at its ends.
        normalized : bool, default False
            Whether to divide by the root of the size.
        onesided : bool, optional
            Whether to give only what the rest follows from.
        length : int, optional
            How many places.
        return_complex : bool, default False
            Whether to give complex numbers.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> w = opweave.ones(8)
        >>> x = opweave.stft(opweave.ones(16), 8, window=w, return_complex=True)
        >>> opweave.istft(x, 8, window=w).shape
        opweave.Size([16])
        >>> x.istft(8, window=w).shape
        opweave.Size([16])"""
        ...
    def kl_div(self, target: Tensor, reduction: Int = 1, *, log_target: Bool = False) -> Tensor:
        """t (log(t) - x), of log-probabilities x; of t = 0 it is 0.

        Parameters
        ----------
        target : Tensor
            What it should be.
        reduction : int, default 1
            0 none, 1 mean, 2 sum.
        log_target : bool, default False
            Whether the target is the logarithm.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([0.5, 0.5]).log()
        >>> y = opweave.tensor([0.25, 0.75])
        >>> opweave.kl_div(x, y)
        tensor(0.0654)
        >>> x.kl_div(y)
        tensor(0.0654)"""
        ...
    def kron(self, other: Tensor | Number) -> Tensor:
        """A block for each element of the first: its product with the second.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 10.0])
        >>> y = opweave.tensor([1.0, 2.0])
        >>> opweave.kron(x, y)
        tensor([ 1.,  2., 10., 20.])
        >>> x.kron(y)
        tensor([ 1.,  2., 10., 20.])"""
        ...
    @overload
    def kthvalue(self, k: Int, dim: Int = -1, keepdim: Bool = False, *, keepdims: Bool = False) -> return_types.kthvalue: ...
    @overload
    def kthvalue(self, k: Int, axis: Int = -1, keepdim: Bool = False, *, keepdims: Bool = False) -> return_types.kthvalue:
        """The k-th smallest element along a dimension, counted from 1, and where it was: of equals, in their order.

        Parameters
        ----------
        k : int
            How many, or which.
        dim : int, default -1
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.

        Returns
        -------
        return_types.kthvalue
            A named tuple of tensors: values, indices.

        Examples
        --------
        >>> x = opweave.tensor([3.0, 1.0, 2.0])
        >>> opweave.kthvalue(x, 2)
        opweave.return_types.kthvalue(
        values=tensor(2.),
        indices=tensor(2))
        >>> x.kthvalue(2)
        opweave.return_types.kthvalue(
        values=tensor(2.),
        indices=tensor(2))"""
        ...
    def l1_loss(self, target: Tensor, reduction: Int = 1) -> Tensor:
        """|x - y|.

        Parameters
        ----------
        target : Tensor
            What it should be.
        reduction : int, default 1
            0 none, 1 mean, 2 sum.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> x.l1_loss(y)
        tensor(3.)"""
        ...
    def lcm(self, other: Tensor) -> Tensor:
        """The least common multiple of whole numbers.

        Parameters
        ----------
        other : Tensor
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([4, 6])
        >>> y = opweave.tensor([6, 8])
        >>> opweave.lcm(x, y)
        tensor([12, 24])
        >>> x.lcm(y)
        tensor([12, 24])"""
        ...
    def lcm_(self, other: Tensor | Number) -> Tensor:
        """The least common multiple of whole numbers. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([4, 6])
        >>> y = opweave.tensor([6, 8])
        >>> x.lcm_(y)
        tensor([12, 24])"""
        ...
    def ldexp(self, other: Tensor | Number) -> Tensor:
        """x 2^y; of a whole y rounded once, and no larger a type than that of x, whatever 2^y is by itself.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 3.0])
        >>> y = opweave.tensor([2, 3])
        >>> opweave.ldexp(x, y)
        tensor([ 4., 24.])
        >>> x.ldexp(y)
        tensor([ 4., 24.])"""
        ...
    def ldexp_(self, other: Tensor | Number) -> Tensor:
        """x 2^y; of a whole y rounded once, and no larger a type than that of x, whatever 2^y is by itself. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 3.0])
        >>> y = opweave.tensor([2, 3])
        >>> x.ldexp_(y)
        tensor([ 4., 24.])"""
        ...
    def le(self, other: Tensor | Number) -> Tensor:
        """Whether each element is no larger than the other.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements are bool.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.le(x, 2)
        tensor([ True,  True, False])
        >>> x.le(2)
        tensor([ True,  True, False])"""
        ...
    def le_(self, other: Tensor | Number) -> Tensor:
        """Whether each element is no larger than the other. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.le_(2)
        tensor([1., 1., 0.])"""
        ...
    def leaky_relu(self, negative_slope: Number = 0.01) -> Tensor:
        """x where positive, negative_slope times x elsewhere.

        Parameters
        ----------
        negative_slope : number, default 0.01
            The slope where x is negative.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.leaky_relu()
        tensor([-0.0100,  0.5000,  2.0000])"""
        ...
    def leaky_relu_(self, negative_slope: Number = 0.01) -> Tensor:
        """x where positive, negative_slope times x elsewhere. In place.

        Parameters
        ----------
        negative_slope : number, default 0.01
            The slope where x is negative.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.leaky_relu_()
        tensor([-0.0100,  0.5000,  2.0000])"""
        ...
    def lerp(self, end: Tensor | Number, weight: Tensor | Number) -> Tensor:
        """The point between `input` and `end` that `weight` says: 0 is the first, 1 the second.

        Parameters
        ----------
        end : Tensor or number
            The other end.
        weight : Tensor or number
            How far from `input` to `end`.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> opweave.lerp(x, y, 0.5)
        tensor([2.5000, 3.5000, 4.5000])
        >>> x.lerp(y, 0.5)
        tensor([2.5000, 3.5000, 4.5000])"""
        ...
    @overload
    def lerp_(self, end: Tensor, weight: Tensor) -> Tensor: ...
    @overload
    def lerp_(self, end: Tensor, weight: Number) -> Tensor:
        """The point between `input` and `end` that `weight` says: 0 is the first, 1 the second. In place.

        Parameters
        ----------
        end : Tensor
            The other end.
        weight : Tensor or number
            How far from `input` to `end`.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> x.lerp_(y, 0.5)
        tensor([2.5000, 3.5000, 4.5000])"""
        ...
    def less(self, other: Tensor | Number) -> Tensor:
        """Whether each element is less than the other.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements are bool.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.lt(x, 2)
        tensor([ True, False, False])
        >>> x.lt(2)
        tensor([ True, False, False])"""
        ...
    def less_(self, other: Tensor | Number) -> Tensor:
        """Whether each element is less than the other. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.lt_(2)
        tensor([1., 0., 0.])"""
        ...
    def less_equal(self, other: Tensor | Number) -> Tensor:
        """Whether each element is no larger than the other.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements are bool.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.le(x, 2)
        tensor([ True,  True, False])
        >>> x.le(2)
        tensor([ True,  True, False])"""
        ...
    def less_equal_(self, other: Tensor | Number) -> Tensor:
        """Whether each element is no larger than the other. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.le_(2)
        tensor([1., 1., 0.])"""
        ...
    def lgamma(self) -> Tensor:
        """log |Γ(x)|, by Stirling's series, near 1 and 2 by a polynomial; of numbers below 1/2 by reflection.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> opweave.lgamma(x)
        tensor([1.2880, 0.5724, 0.0000])
        >>> x.lgamma()
        tensor([1.2880, 0.5724, 0.0000])"""
        ...
    def lgamma_(self) -> Tensor:
        """log |Γ(x)|, by Stirling's series, near 1 and 2 by a polynomial; of numbers below 1/2 by reflection. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> x.lgamma_()
        tensor([1.2880, 0.5724, 0.0000])"""
        ...
    def lift_fresh_copy(self) -> Tensor:
        """A copy of data that came from Python while tracing: each run of the trace starts from its own.

        Returns
        -------
        Tensor
            Its shape is the argument's.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.lift_fresh_copy(x)
        tensor([1., 2., 3.])
        >>> x.lift_fresh_copy()
        tensor([1., 2., 3.])"""
        ...
    def log(self) -> Tensor:
        """The natural logarithm of each element; NaN for negative numbers.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> opweave.log(x)
        tensor([-1.3863, -0.6931,  0.0000])
        >>> x.log()
        tensor([-1.3863, -0.6931,  0.0000])"""
        ...
    def log10(self) -> Tensor:
        """The logarithm to base 10 of each element.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> opweave.log10(x)
        tensor([-0.6021, -0.3010,  0.0000])
        >>> x.log10()
        tensor([-0.6021, -0.3010,  0.0000])"""
        ...
    def log10_(self) -> Tensor:
        """The logarithm to base 10 of each element. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> x.log10_()
        tensor([-0.6021, -0.3010,  0.0000])"""
        ...
    def log1p(self) -> Tensor:
        """log(1 + x), of which nothing is lost where x is small.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> opweave.log1p(x)
        tensor([0.2231, 0.4055, 0.6931])
        >>> x.log1p()
        tensor([0.2231, 0.4055, 0.6931])"""
        ...
    def log1p_(self) -> Tensor:
        """log(1 + x), of which nothing is lost where x is small. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> x.log1p_()
        tensor([0.2231, 0.4055, 0.6931])"""
        ...
    def log2(self) -> Tensor:
        """The logarithm to base 2 of each element.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> opweave.log2(x)
        tensor([-2., -1.,  0.])
        >>> x.log2()
        tensor([-2., -1.,  0.])"""
        ...
    def log2_(self) -> Tensor:
        """The logarithm to base 2 of each element. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> x.log2_()
        tensor([-2., -1.,  0.])"""
        ...
    def log_(self) -> Tensor:
        """The natural logarithm of each element; NaN for negative numbers. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> x.log_()
        tensor([-1.3863, -0.6931,  0.0000])"""
        ...
    def log_normal(self, mean: Float = 1.0, std: Float = 2.0, *, generator: Generator | None = None) -> Tensor:
        """Numbers whose logarithm is normal, in the shape of the tensor.

        Parameters
        ----------
        mean : float, default 1.0
            The means.
        std : float, default 2.0
            The standard deviations.
        generator : Generator, optional
            The source of random numbers; the device's own by default.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.log_normal().shape
        opweave.Size([3])"""
        ...
    def log_normal_(self, mean: Float = 1.0, std: Float = 2.0, *, generator: Generator | None = None) -> Tensor:
        """Numbers whose logarithm is normal, in the shape of the tensor. In place.

        Parameters
        ----------
        mean : float, default 1.0
            The means.
        std : float, default 2.0
            The standard deviations.
        generator : Generator, optional
            The source of random numbers; the device's own by default.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.log_normal_().shape
        opweave.Size([3])"""
        ...
    def log_sigmoid(self) -> Tensor:
        """log(sigmoid(x)) without overflow: min(x, 0) - log(1 + exp(-|x|)).

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.log_sigmoid()
        tensor([-1.3133, -0.4741, -0.1269])"""
        ...
    @overload
    def log_softmax(self, dim: Int, dtype: DTypeLike | None = None) -> Tensor: ...
    @overload
    def log_softmax(self, axis: Int, dtype: DTypeLike | None = None) -> Tensor:
        """The logarithm of `softmax` along a dimension, without overflow.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        dtype : dtype, optional
            The element type of the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.log_softmax(x, 0)
        tensor([-2.4076, -1.4076, -0.4076])
        >>> x.log_softmax(0)
        tensor([-2.4076, -1.4076, -0.4076])"""
        ...
    def logaddexp(self, other: Tensor | Number) -> Tensor:
        """log(exp(x) + exp(y)), without overflow.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> y = opweave.tensor([2.0, 3.0, 1.0])
        >>> opweave.logaddexp(x, y)
        tensor([2.0486, 3.0789, 2.3133])
        >>> x.logaddexp(y)
        tensor([2.0486, 3.0789, 2.3133])"""
        ...
    def logaddexp2(self, other: Tensor | Number) -> Tensor:
        """log2(2^x + 2^y).

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> y = opweave.tensor([2.0, 3.0, 1.0])
        >>> opweave.logaddexp2(x, y)
        tensor([2.1699, 3.2348, 2.5850])
        >>> x.logaddexp2(y)
        tensor([2.1699, 3.2348, 2.5850])"""
        ...
    @overload
    def logcumsumexp(self, dim: Int) -> Tensor: ...
    @overload
    def logcumsumexp(self, axis: Int) -> Tensor:
        """log(cumsum(exp(x))), without overflow.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.logcumsumexp(x, 0)
        tensor([1.0000, 2.3133, 3.4076])
        >>> x.logcumsumexp(0)
        tensor([1.0000, 2.3133, 3.4076])"""
        ...
    def logdet(self) -> Tensor:
        """The logarithm of determinants; NaN where one is negative.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[2.0, 0.0], [0.0, 4.0]])
        >>> opweave.logdet(x)
        tensor(2.0794)
        >>> x.logdet()
        tensor(2.0794)"""
        ...
    def logical_and(self, other: Tensor | Number) -> Tensor:
        """Whether both elements are other than 0.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements are bool.

        Examples
        --------
        >>> x = opweave.tensor([0, 1])
        >>> y = opweave.tensor([1, 1])
        >>> opweave.logical_and(x, y)
        tensor([False,  True])
        >>> x.logical_and(y)
        tensor([False,  True])"""
        ...
    def logical_and_(self, other: Tensor | Number) -> Tensor:
        """Whether both elements are other than 0. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0, 1])
        >>> y = opweave.tensor([1, 1])
        >>> x.logical_and_(y)
        tensor([0, 1])"""
        ...
    def logical_not(self) -> Tensor:
        """Whether each element is 0.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements are bool.

        Examples
        --------
        >>> x = opweave.tensor([0, 1])
        >>> opweave.logical_not(x)
        tensor([ True, False])
        >>> x.logical_not()
        tensor([ True, False])"""
        ...
    def logical_not_(self) -> Tensor:
        """Whether each element is 0. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0, 1])
        >>> x.logical_not_()
        tensor([1, 0])"""
        ...
    def logical_or(self, other: Tensor | Number) -> Tensor:
        """Whether either element is other than 0.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements are bool.

        Examples
        --------
        >>> x = opweave.tensor([0, 1])
        >>> y = opweave.tensor([0, 0])
        >>> opweave.logical_or(x, y)
        tensor([False,  True])
        >>> x.logical_or(y)
        tensor([False,  True])"""
        ...
    def logical_or_(self, other: Tensor | Number) -> Tensor:
        """Whether either element is other than 0. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0, 1])
        >>> y = opweave.tensor([0, 0])
        >>> x.logical_or_(y)
        tensor([0, 1])"""
        ...
    def logical_xor(self, other: Tensor | Number) -> Tensor:
        """Whether one of both elements is other than 0.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements are bool.

        Examples
        --------
        >>> x = opweave.tensor([0, 1])
        >>> y = opweave.tensor([1, 1])
        >>> opweave.logical_xor(x, y)
        tensor([ True, False])
        >>> x.logical_xor(y)
        tensor([ True, False])"""
        ...
    def logical_xor_(self, other: Tensor | Number) -> Tensor:
        """Whether one of both elements is other than 0. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0, 1])
        >>> y = opweave.tensor([1, 1])
        >>> x.logical_xor_(y)
        tensor([1, 0])"""
        ...
    def logit(self, eps: Float | None = None) -> Tensor:
        """log(x / (1 - x)), of x that is brought into [eps, 1 - eps] first.

        Parameters
        ----------
        eps : float, optional
            How far from 0 and 1 the elements are kept.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 0.75])
        >>> opweave.logit(x)
        tensor([-1.0986,  0.0000,  1.0986])
        >>> x.logit()
        tensor([-1.0986,  0.0000,  1.0986])"""
        ...
    def logit_(self, eps: Float | None = None) -> Tensor:
        """log(x / (1 - x)), of x that is brought into [eps, 1 - eps] first. In place.

        Parameters
        ----------
        eps : float, optional
            How far from 0 and 1 the elements are kept.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 0.75])
        >>> x.logit_()
        tensor([-1.0986,  0.0000,  1.0986])"""
        ...
    @overload
    def logsumexp(self, dim: Int | Sequence[Int], keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor: ...
    @overload
    def logsumexp(self, axis: Int | Sequence[Int], keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor:
        """log(Σ exp(x)) over dimensions, without overflow.

        Parameters
        ----------
        dim : int or sequence of int
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.logsumexp(x, 0)
        tensor(3.4076)
        >>> x.logsumexp(0)
        tensor(3.4076)"""
        ...
    def long(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor with elements of type int64; itself where it has that type already.

        Examples
        --------
        >>> opweave.tensor([0, 2]).long().dtype
        opweave.int64"""
        ...
    def lt(self, other: Tensor | Number) -> Tensor:
        """Whether each element is less than the other.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements are bool.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.lt(x, 2)
        tensor([ True, False, False])
        >>> x.lt(2)
        tensor([ True, False, False])"""
        ...
    def lt_(self, other: Tensor | Number) -> Tensor:
        """Whether each element is less than the other. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.lt_(2)
        tensor([1., 0., 0.])"""
        ...
    @overload
    def lu(self, pivot: _bool = True, get_infos: Literal[False] = False, out: _tuple[Tensor, Tensor] | None = None) -> _tuple[Tensor, Tensor]: ...
    @overload
    def lu(self, pivot: _bool = True, *, get_infos: Literal[True], out: _tuple[Tensor, Tensor, Tensor] | None = None) -> _tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def lu(self, pivot: _bool = True, get_infos: _bool = False, out: Any = None) -> _tuple[Tensor, ...]:
        """The factorization of A as `linalg.lu_factor` gives it, with the infos if they are asked for.

        Parameters
        ----------
        pivot : bool
            Whether to swap rows.
        get_infos : bool
            Whether to give the infos, too.
        out : sequence of Tensor, optional
            Where to write the results.

        Examples
        --------
        >>> [t.shape for t in opweave.lu(opweave.eye(3))]
        [opweave.Size([3, 3]), opweave.Size([3])]"""
        ...
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """As `linalg.lu_solve`.

        Parameters
        ----------
        LU_data : Tensor
            The factorization, as `linalg.lu_factor` gives it.
        LU_pivots : Tensor
            The rows that were swapped.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[3.0], [2.0]])
        >>> y = opweave.tensor([[3.0, 4.0], [0.5, 2.0]])
        >>> z = opweave.tensor([1, 2], dtype=opweave.int32)
        >>> opweave.lu_solve(x, y, z)
        tensor([[0.6667],
                [0.2500]])
        >>> x.lu_solve(y, z)
        tensor([[0.6667],
                [0.2500]])"""
        ...
    @property
    def mH(self) -> Tensor:
        """The matrices in the last two dimensions, transposed and conjugated."""
        ...
    @property
    def mT(self) -> Tensor:
        """A view of the matrices in the last two dimensions, transposed."""
        ...
    @overload
    def masked_fill(self, mask: Tensor | Number, value: Number) -> Tensor: ...
    @overload
    def masked_fill(self, mask: Tensor, value: Tensor) -> Tensor:
        """A copy with a number where a mask is true.

        Parameters
        ----------
        mask : Tensor or number
            Truth values, which broadcast.
        value : number or Tensor
            The number.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([True, False, True])
        >>> opweave.masked_fill(x, y, 0)
        tensor([0., 2., 0.])
        >>> x.masked_fill(y, 0)
        tensor([0., 2., 0.])"""
        ...
    @overload
    def masked_fill_(self, mask: Tensor, value: Number) -> Tensor: ...
    @overload
    def masked_fill_(self, mask: Tensor, value: Tensor) -> Tensor:
        """A copy with a number where a mask is true. In place.

        Parameters
        ----------
        mask : Tensor
            Truth values, which broadcast.
        value : number or Tensor
            The number.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([True, False, True])
        >>> x.masked_fill_(y, 0)
        tensor([0., 2., 0.])"""
        ...
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """A copy in which the places where a mask is true hold the first elements of the source, in order.

        Parameters
        ----------
        mask : Tensor
            Truth values, which broadcast.
        source : Tensor
            What is written.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([True, False, True])
        >>> z = opweave.tensor([8.0, 9.0])
        >>> opweave.masked_scatter(x, y, z)
        tensor([8., 2., 9.])
        >>> x.masked_scatter(y, z)
        tensor([8., 2., 9.])"""
        ...
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """A copy in which the places where a mask is true hold the first elements of the source, in order. In place.

        Parameters
        ----------
        mask : Tensor
            Truth values, which broadcast.
        source : Tensor
            What is written.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([True, False, True])
        >>> z = opweave.tensor([8.0, 9.0])
        >>> x.masked_scatter_(y, z)
        tensor([8., 2., 9.])"""
        ...
    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements where a mask is true, as a vector.

        Parameters
        ----------
        mask : Tensor
            Truth values, which broadcast.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([True, False, True])
        >>> opweave.masked_select(x, y)
        tensor([1., 3.])
        >>> x.masked_select(y)
        tensor([1., 3.])"""
        ...
    def matmul(self, other: Tensor | Number) -> Tensor:
        """Matrix product: 1-d operands are row and column vectors, leading dimensions are batches that broadcast.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> y = opweave.tensor([[0.0, 1.0], [1.0, 0.0]])
        >>> opweave.matmul(x, y)
        tensor([[2., 1.],
                [4., 3.]])
        >>> x.matmul(y)
        tensor([[2., 1.],
                [4., 3.]])"""
        ...
    def matrix_H(self) -> Tensor:
        """A matrix transposed and conjugated.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.matrix_H()
        tensor([[1., 3.],
                [2., 4.]])"""
        ...
    def matrix_exp(self) -> Tensor:
        """As `linalg.matrix_exp`.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[0.0, 1.0], [0.0, 0.0]])
        >>> opweave.matrix_exp(x)
        tensor([[1., 1.],
                [0., 1.]])
        >>> x.matrix_exp()
        tensor([[1., 1.],
                [0., 1.]])"""
        ...
    def matrix_power(self, n: Int) -> Tensor:
        """As `linalg.matrix_power`.

        Parameters
        ----------
        n : int
            A whole number.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.matrix_power(x, 2)
        tensor([[ 7., 10.],
                [15., 22.]])
        >>> x.matrix_power(2)
        tensor([[ 7., 10.],
                [15., 22.]])"""
        ...
    @overload
    def max(self) -> Tensor: ...
    @overload
    def max(self, dim: Int, keepdim: Bool = False, *, keepdims: Bool = False) -> return_types.max: ...
    @overload
    def max(self, axis: Int, keepdim: Bool = False, *, keepdims: Bool = False) -> return_types.max: ...
    @overload
    def max(self, other: Tensor | Number) -> Tensor:
        """The largest element; along a dimension, with its place; of two tensors, as `maximum`.

        Parameters
        ----------
        other : Tensor or number, optional
            The other tensor; shapes broadcast.
        dim : int, optional
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.

        Returns
        -------
        Tensor
            A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.
        return_types.max
            A named tuple of tensors: values, indices.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.max(x, 1)
        opweave.return_types.max(
        values=tensor([3., 6.]),
        indices=tensor([2, 2]))
        >>> x.max(1)
        opweave.return_types.max(
        values=tensor([3., 6.]),
        indices=tensor([2, 2]))"""
        ...
    def max_pool2d(self, kernel_size: Int | Sequence[Int], stride: Int | Sequence[Int] = ..., padding: Int | Sequence[Int] = 0, dilation: Int | Sequence[Int] = 1, ceil_mode: Bool = False) -> Tensor:
        """The largest element of each window of an image.

        Parameters
        ----------
        kernel_size : int or sequence of int
            The size of a window.
        stride : int or sequence of int, default ()
            How far apart windows are; as large as they are by default.
        padding : int or sequence of int, default 0
            How many elements are added at each side.
        dilation : int or sequence of int, default 1
            How far apart the elements of a window are.
        ceil_mode : bool, default False
            Whether a last window may stick out.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.arange(16.0).view(1, 1, 4, 4)
        >>> opweave.max_pool2d(x, 2)
        tensor([[[[ 5.,  7.],
                  [13., 15.]]]])
        >>> x.max_pool2d(2)
        tensor([[[[ 5.,  7.],
                  [13., 15.]]]])"""
        ...
    def max_pool2d_with_indices(self, kernel_size: Int | Sequence[Int], stride: Int | Sequence[Int] = ..., padding: Int | Sequence[Int] = 0, dilation: Int | Sequence[Int] = 1, ceil_mode: Bool = False) -> _tuple[Tensor, Tensor]:
        """The largest element of each window and its place in the flattened image: the first, or the last NaN.

        Parameters
        ----------
        kernel_size : int or sequence of int
            The size of a window.
        stride : int or sequence of int, default ()
            How far apart windows are; as large as they are by default.
        padding : int or sequence of int, default 0
            How many elements are added at each side.
        dilation : int or sequence of int, default 1
            How far apart the elements of a window are.
        ceil_mode : bool, default False
            Whether a last window may stick out.

        Returns
        -------
        tuple[Tensor, Tensor]
            The tensors.

        Examples
        --------
        >>> x = opweave.arange(16.0).view(1, 1, 4, 4)
        >>> x.max_pool2d_with_indices(2)
        (tensor([[[[ 5.,  7.],
                  [13., 15.]]]]), tensor([[[[ 5,  7],
                  [13, 15]]]]))"""
        ...
    def max_pool3d(self, kernel_size: Int | Sequence[Int], stride: Int | Sequence[Int] = ..., padding: Int | Sequence[Int] = 0, dilation: Int | Sequence[Int] = 1, ceil_mode: Bool = False) -> Tensor:
        """The largest element of each window of a volume.

        Parameters
        ----------
        kernel_size : int or sequence of int
            The size of a window.
        stride : int or sequence of int, default ()
            How far apart windows are; as large as they are by default.
        padding : int or sequence of int, default 0
            How many elements are added at each side.
        dilation : int or sequence of int, default 1
            How far apart the elements of a window are.
        ceil_mode : bool, default False
            Whether a last window may stick out.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.arange(8.0).view(1, 1, 2, 2, 2)
        >>> opweave.max_pool3d(x, 2)
        tensor([[[[[7.]]]]])
        >>> x.max_pool3d(2)
        tensor([[[[[7.]]]]])"""
        ...
    def max_pool3d_with_indices(self, kernel_size: Int | Sequence[Int], stride: Int | Sequence[Int] = ..., padding: Int | Sequence[Int] = 0, dilation: Int | Sequence[Int] = 1, ceil_mode: Bool = False) -> _tuple[Tensor, Tensor]:
        """The largest element of each window and its place in the flattened image: the first, or the last NaN.

        Parameters
        ----------
        kernel_size : int or sequence of int
            The size of a window.
        stride : int or sequence of int, default ()
            How far apart windows are; as large as they are by default.
        padding : int or sequence of int, default 0
            How many elements are added at each side.
        dilation : int or sequence of int, default 1
            How far apart the elements of a window are.
        ceil_mode : bool, default False
            Whether a last window may stick out.

        Returns
        -------
        tuple[Tensor, Tensor]
            The tensors.

        Examples
        --------
        >>> x = opweave.arange(8.0).view(1, 1, 2, 2, 2)
        >>> x.max_pool3d_with_indices(2)
        (tensor([[[[[7.]]]]]), tensor([[[[[7]]]]]))"""
        ...
    def max_unpool2d(self, indices: Tensor, output_size: Int | Sequence[Int]) -> Tensor:
        """An image of zeros with the elements at the places that pooling found them at.

        Parameters
        ----------
        indices : Tensor
            Which places, as whole numbers.
        output_size : int or sequence of int
            The size of the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[[[5.0]]]])
        >>> y = opweave.tensor([[[[3]]]])
        >>> x.max_unpool2d(y, [2, 2])
        tensor([[[[0., 0.],
                  [0., 5.]]]])"""
        ...
    def max_unpool3d(self, indices: Tensor, output_size: Int | Sequence[Int], stride: Int | Sequence[Int], padding: Int | Sequence[Int]) -> Tensor:
        """A volume of zeros with the elements at the places that pooling found them at.

        Parameters
        ----------
        indices : Tensor
            Which places, as whole numbers.
        output_size : int or sequence of int
            The size of the result.
        stride : int or sequence of int
            How far apart windows are; as large as they are by default.
        padding : int or sequence of int
            How many elements are added at each side.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[[[[5.0]]]]])
        >>> y = opweave.tensor([[[[[3]]]]])
        >>> x.max_unpool3d(y, [2, 2, 2], [2, 2, 2], [0, 0, 0]).shape
        opweave.Size([1, 1, 2, 2, 2])"""
        ...
    def maximum(self, other: Tensor | Number) -> Tensor:
        """The larger of two elements; NaN where either is.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> y = opweave.tensor([2.0, 3.0, 1.0])
        >>> opweave.maximum(x, y)
        tensor([2., 3., 2.])
        >>> x.maximum(y)
        tensor([2., 3., 2.])"""
        ...
    @overload
    def mean(self, *, dtype: DTypeLike | None = None) -> Tensor: ...
    @overload
    def mean(self, dim: Int | Sequence[Int] | None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, keepdims: Bool = False) -> Tensor: ...
    @overload
    def mean(self, axis: Int | Sequence[Int] | None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, keepdims: Bool = False) -> Tensor:
        """The mean of all elements, or over dimensions.

        Parameters
        ----------
        dim : int or sequence of int, optional
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.
        dtype : dtype, optional
            The element type of the result.

        Returns
        -------
        Tensor
            A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.mean(x, 1)
        tensor([2., 5.])
        >>> x.mean(1)
        tensor([2., 5.])"""
        ...
    @overload
    def median(self, dim: Int, keepdim: Bool = False, *, keepdims: Bool = False) -> return_types.median: ...
    @overload
    def median(self, axis: Int, keepdim: Bool = False, *, keepdims: Bool = False) -> return_types.median: ...
    @overload
    def median(self) -> Tensor:
        """The middle element in order, of an even number the lower; along a dimension, with its place.

        Parameters
        ----------
        dim : int, optional
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.

        Returns
        -------
        return_types.median
            A named tuple of tensors: values, indices.
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([3.0, 1.0, 2.0])
        >>> opweave.median(x, 0)
        opweave.return_types.median(
        values=tensor(2.),
        indices=tensor(2))
        >>> x.median(0)
        opweave.return_types.median(
        values=tensor(2.),
        indices=tensor(2))"""
        ...
    @overload
    def min(self) -> Tensor: ...
    @overload
    def min(self, dim: Int, keepdim: Bool = False, *, keepdims: Bool = False) -> return_types.min: ...
    @overload
    def min(self, axis: Int, keepdim: Bool = False, *, keepdims: Bool = False) -> return_types.min: ...
    @overload
    def min(self, other: Tensor | Number) -> Tensor:
        """The least element; along a dimension, with its place; of two tensors, as `minimum`.

        Parameters
        ----------
        other : Tensor or number, optional
            The other tensor; shapes broadcast.
        dim : int, optional
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.

        Returns
        -------
        Tensor
            A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.
        return_types.min
            A named tuple of tensors: values, indices.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.min(x, 1)
        opweave.return_types.min(
        values=tensor([1., 4.]),
        indices=tensor([0, 0]))
        >>> x.min(1)
        opweave.return_types.min(
        values=tensor([1., 4.]),
        indices=tensor([0, 0]))"""
        ...
    def minimum(self, other: Tensor | Number) -> Tensor:
        """The smaller of two elements; NaN where either is.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> y = opweave.tensor([2.0, 3.0, 1.0])
        >>> opweave.minimum(x, y)
        tensor([-1.0000,  0.5000,  1.0000])
        >>> x.minimum(y)
        tensor([-1.0000,  0.5000,  1.0000])"""
        ...
    def mish(self) -> Tensor:
        """x tanh(log(1 + exp(x))) (Misra 2019).

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.mish()
        tensor([-0.3034,  0.3752,  1.9440])"""
        ...
    def mish_(self) -> Tensor:
        """x tanh(log(1 + exp(x))) (Misra 2019). In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.mish_()
        tensor([-0.3034,  0.3752,  1.9440])"""
        ...
    def mm(self, mat2: Tensor) -> Tensor:
        """The product of two matrices.

        Parameters
        ----------
        mat2 : Tensor
            The second matrix.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> y = opweave.tensor([[0.0, 1.0], [1.0, 0.0]])
        >>> opweave.mm(x, y)
        tensor([[2., 1.],
                [4., 3.]])
        >>> x.mm(y)
        tensor([[2., 1.],
                [4., 3.]])"""
        ...
    @overload
    def mode(self, dim: Int = -1, keepdim: Bool = False, *, keepdims: Bool = False) -> return_types.mode: ...
    @overload
    def mode(self, axis: Int = -1, keepdim: Bool = False, *, keepdims: Bool = False) -> return_types.mode:
        """The most frequent element, of several the least, and the place of its last.

        Parameters
        ----------
        dim : int, default -1
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.

        Returns
        -------
        return_types.mode
            A named tuple of tensors: values, indices.

        Examples
        --------
        >>> x = opweave.tensor([1, 2, 2, 3])
        >>> opweave.mode(x)
        opweave.return_types.mode(
        values=tensor(2),
        indices=tensor(2))
        >>> x.mode()
        opweave.return_types.mode(
        values=tensor(2),
        indices=tensor(2))"""
        ...
    @overload
    def moveaxis(self, source: Sequence[Int], destination: Sequence[Int]) -> Tensor: ...
    @overload
    def moveaxis(self, source: Int, destination: Int) -> Tensor:
        """A view with dimensions at other places, the others in their order.

        Parameters
        ----------
        source : sequence of int or int
            The dimensions that move.
        destination : sequence of int or int
            Where these dimensions stand in the result.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.ones(2, 2, 3)
        >>> opweave.movedim(x, 0, 2).shape
        opweave.Size([2, 3, 2])
        >>> x.movedim(0, 2).shape
        opweave.Size([2, 3, 2])"""
        ...
    @overload
    def movedim(self, source: Sequence[Int], destination: Sequence[Int]) -> Tensor: ...
    @overload
    def movedim(self, source: Int, destination: Int) -> Tensor:
        """A view with dimensions at other places, the others in their order.

        Parameters
        ----------
        source : sequence of int or int
            The dimensions that move.
        destination : sequence of int or int
            Where these dimensions stand in the result.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.ones(2, 2, 3)
        >>> opweave.movedim(x, 0, 2).shape
        opweave.Size([2, 3, 2])
        >>> x.movedim(0, 2).shape
        opweave.Size([2, 3, 2])"""
        ...
    def mse_loss(self, target: Tensor, reduction: Int = 1) -> Tensor:
        """The mean (or sum) of squared differences.

        Parameters
        ----------
        target : Tensor
            What it should be.
        reduction : int, default 1
            0 none, 1 mean, 2 sum.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> x.mse_loss(y)
        tensor(9.)"""
        ...
    def msort(self) -> Tensor:
        """The elements in order along the first dimension.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([3.0, 1.0, 2.0])
        >>> opweave.msort(x)
        tensor([1., 2., 3.])
        >>> x.msort()
        tensor([1., 2., 3.])"""
        ...
    def mul(self, other: Tensor | Number) -> Tensor:
        """The product `input * other`, element by element.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> opweave.mul(x, y)
        tensor([ 4., 10., 18.])
        >>> x.mul(y)
        tensor([ 4., 10., 18.])"""
        ...
    def mul_(self, other: Tensor | Number) -> Tensor:
        """The product `input * other`, element by element. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> x.mul_(y)
        tensor([ 4., 10., 18.])"""
        ...
    def multinomial(self, num_samples: Int, replacement: Bool = False, *, generator: Generator | None = None) -> Tensor:
        """Places drawn with the probabilities that the weights of a row are in proportion to.

        Parameters
        ----------
        num_samples : int
            How many to draw.
        replacement : bool, default False
            Whether a place may be drawn again.
        generator : Generator, optional
            The source of random numbers; the device's own by default.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.multinomial(x, 2).shape
        opweave.Size([2])
        >>> x.multinomial(2).shape
        opweave.Size([2])"""
        ...
    def multiply(self, other: Tensor | Number) -> Tensor:
        """The product `input * other`, element by element.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> opweave.mul(x, y)
        tensor([ 4., 10., 18.])
        >>> x.mul(y)
        tensor([ 4., 10., 18.])"""
        ...
    def multiply_(self, other: Tensor | Number) -> Tensor:
        """The product `input * other`, element by element. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> x.mul_(y)
        tensor([ 4., 10., 18.])"""
        ...
    def mv(self, vec: Tensor) -> Tensor:
        """The product of a matrix and a vector.

        Parameters
        ----------
        vec : Tensor
            A vector.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> y = opweave.tensor([1.0, 1.0])
        >>> opweave.mv(x, y)
        tensor([3., 7.])
        >>> x.mv(y)
        tensor([3., 7.])"""
        ...
    def mvlgamma(self, p: Int) -> Tensor:
        """log Γ_p(x) = p (p - 1) / 4 log π + Σ log Γ(x - j / 2) for j = 0 ... p - 1.

        Parameters
        ----------
        p : int
            The number of dimensions.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([2.0, 3.0])
        >>> opweave.mvlgamma(x, 2)
        tensor([0.4516, 1.5502])
        >>> x.mvlgamma(2)
        tensor([0.4516, 1.5502])"""
        ...
    def mvlgamma_(self, p: Int) -> Tensor:
        """log Γ_p(x) = p (p - 1) / 4 log π + Σ log Γ(x - j / 2) for j = 0 ... p - 1. In place.

        Parameters
        ----------
        p : int
            The number of dimensions.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([2.0, 3.0])
        >>> x.mvlgamma_(2)
        tensor([0.4516, 1.5502])"""
        ...
    def nan_to_num(self, nan: Float | None = None, posinf: Float | None = None, neginf: Float | None = None) -> Tensor:
        """Numbers in place of NaN and infinities: 0, the largest and the least of the type by default.

        Parameters
        ----------
        nan : float, optional
            What stands for NaN.
        posinf : float, optional
            What stands for +inf.
        neginf : float, optional
            What stands for -inf.

        Returns
        -------
        Tensor
            Its shape is the argument's.

        Examples
        --------
        >>> x = opweave.tensor([1.0, float("nan")])
        >>> opweave.nan_to_num(x)
        tensor([1., 0.])
        >>> x.nan_to_num()
        tensor([1., 0.])"""
        ...
    def nan_to_num_(self, nan: Float | None = None, posinf: Float | None = None, neginf: Float | None = None) -> Tensor:
        """Numbers in place of NaN and infinities: 0, the largest and the least of the type by default. In place.

        Parameters
        ----------
        nan : float, optional
            What stands for NaN.
        posinf : float, optional
            What stands for +inf.
        neginf : float, optional
            What stands for -inf.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, float("nan")])
        >>> x.nan_to_num_()
        tensor([1., 0.])"""
        ...
    @overload
    def nanmean(self, dim: Int | Sequence[Int] | None = None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, keepdims: Bool = False) -> Tensor: ...
    @overload
    def nanmean(self, axis: Int | Sequence[Int] | None = None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, keepdims: Bool = False) -> Tensor:
        """The mean of what is a number.

        Parameters
        ----------
        dim : int or sequence of int, optional
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.
        dtype : dtype, optional
            The element type of the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, float("nan"), 3.0])
        >>> opweave.nanmean(x)
        tensor(2.)
        >>> x.nanmean()
        tensor(2.)"""
        ...
    @overload
    def nanmedian(self, dim: Int, keepdim: Bool = False, *, keepdims: Bool = False) -> return_types.nanmedian: ...
    @overload
    def nanmedian(self, axis: Int, keepdim: Bool = False, *, keepdims: Bool = False) -> return_types.nanmedian: ...
    @overload
    def nanmedian(self) -> Tensor:
        """`median` of what is a number.

        Parameters
        ----------
        dim : int, optional
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.

        Returns
        -------
        return_types.nanmedian
            A named tuple of tensors: values, indices.
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, float("nan"), 3.0])
        >>> opweave.nanmedian(x)
        tensor(1.)
        >>> x.nanmedian()
        tensor(1.)"""
        ...
    @overload
    def nanquantile(self, q: Float, dim: Int | None = None, keepdim: Bool = False, *, interpolation: Literal['linear', 'lower', 'higher', 'midpoint', 'nearest'] = 'linear', keepdims: Bool = False) -> Tensor: ...
    @overload
    def nanquantile(self, q: Float, axis: Int | None = None, keepdim: Bool = False, *, interpolation: Literal['linear', 'lower', 'higher', 'midpoint', 'nearest'] = 'linear', keepdims: Bool = False) -> Tensor: ...
    @overload
    def nanquantile(self, q: Tensor, dim: Int | None = None, keepdim: Bool = False, *, interpolation: Literal['linear', 'lower', 'higher', 'midpoint', 'nearest'] = 'linear', keepdims: Bool = False) -> Tensor: ...
    @overload
    def nanquantile(self, q: Tensor, axis: Int | None = None, keepdim: Bool = False, *, interpolation: Literal['linear', 'lower', 'higher', 'midpoint', 'nearest'] = 'linear', keepdims: Bool = False) -> Tensor:
        """`quantile` of what is a number.

        Parameters
        ----------
        q : float or Tensor
            Shares between 0 and 1.
        dim : int, optional
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.
        interpolation : {'linear', 'lower', 'higher', 'midpoint', 'nearest'}, default 'linear'
            What stands between two elements.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, float("nan"), 3.0])
        >>> opweave.nanquantile(x, 0.5)
        tensor(2.)
        >>> x.nanquantile(0.5)
        tensor(2.)"""
        ...
    @overload
    def nansum(self, dim: Int | Sequence[Int] | None = None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, keepdims: Bool = False) -> Tensor: ...
    @overload
    def nansum(self, axis: Int | Sequence[Int] | None = None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, keepdims: Bool = False) -> Tensor:
        """The sum of what is a number.

        Parameters
        ----------
        dim : int or sequence of int, optional
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.
        dtype : dtype, optional
            The element type of the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, float("nan"), 3.0])
        >>> opweave.nansum(x)
        tensor(4.)
        >>> x.nansum()
        tensor(4.)"""
        ...
    @overload
    def narrow(self, dim: Int, start: Int, length: Int) -> Tensor: ...
    @overload
    def narrow(self, axis: Int, start: Int, length: Int) -> Tensor:
        """A view of so many places of a dimension from one on.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        start : int
            Where it begins.
        length : int
            How many places.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.narrow(x, 0, 1, 2)
        tensor([2., 3.])
        >>> x.narrow(0, 1, 2)
        tensor([2., 3.])"""
        ...
    @overload
    def narrow_copy(self, dim: Int, start: Int, length: Int) -> Tensor: ...
    @overload
    def narrow_copy(self, axis: Int, start: Int, length: Int) -> Tensor:
        """A view of so many places of a dimension from one on. Here as a copy.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        start : int
            Where it begins.
        length : int
            How many places.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.narrow_copy(x, 0, 1, 2)
        tensor([2., 3.])
        >>> x.narrow_copy(0, 1, 2)
        tensor([2., 3.])"""
        ...
    def ne(self, other: Tensor | Number) -> Tensor:
        """Whether each element differs from the other.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements are bool.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([1.0, 0.0, 3.0])
        >>> opweave.ne(x, y)
        tensor([False,  True, False])
        >>> x.ne(y)
        tensor([False,  True, False])"""
        ...
    def ne_(self, other: Tensor | Number) -> Tensor:
        """Whether each element differs from the other. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([1.0, 0.0, 3.0])
        >>> x.ne_(y)
        tensor([0., 1., 0.])"""
        ...
    def neg(self) -> Tensor:
        """Each element with the other sign.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.neg(x)
        tensor([ 1.0000, -0.5000, -2.0000])
        >>> x.neg()
        tensor([ 1.0000, -0.5000, -2.0000])"""
        ...
    def neg_(self) -> Tensor:
        """Each element with the other sign. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.neg_()
        tensor([ 1.0000, -0.5000, -2.0000])"""
        ...
    def negative(self) -> Tensor:
        """Each element with the other sign.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.neg(x)
        tensor([ 1.0000, -0.5000, -2.0000])
        >>> x.neg()
        tensor([ 1.0000, -0.5000, -2.0000])"""
        ...
    def negative_(self) -> Tensor:
        """Each element with the other sign. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.neg_()
        tensor([ 1.0000, -0.5000, -2.0000])"""
        ...
    def new(self, *args: Any, device: DeviceLike | None = None) -> Tensor:
        """A tensor of this one's dtype, on its device: of sizes, without particular elements, or of a sequence of elements.

        PyTorch's older form of `new_empty` and `new_tensor`.

        Parameters
        ----------
        *args
            Sizes, or a sequence or array of elements; nothing for an empty tensor.
        device : Device or str, optional
            The tensor's own, if given.

        Examples
        --------
        >>> x = opweave.zeros(2, dtype=opweave.int64)
        >>> x.new(2, 3).shape, x.new([2, 3])
        (opweave.Size([2, 3]), tensor([2, 3]))"""
        ...
    @overload
    def new_empty(self, size: Sequence[Int], *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, requires_grad: Bool = False) -> Tensor: ...
    @overload
    def new_empty(self, *size: Int, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, requires_grad: Bool = False) -> Tensor:
        """A tensor of some sizes, of this one's type and device, with nothing in particular in it.

        Parameters
        ----------
        size : sequence of int
            The sizes.
        dtype : dtype, optional
            The element type of the result.
        layout : layout, optional
            How the elements lie; `strided` is the one there is.
        device : device or str, optional
            Where the result is; by default in main memory, or where the argument is.
        pin_memory : bool, optional
            For the signature's sake.
        requires_grad : bool, default False
            Whether autograd records what is done with the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.new_empty(x, [2]).shape
        opweave.Size([2])
        >>> x.new_empty([2]).shape
        opweave.Size([2])"""
        ...
    def new_empty_strided(self, size: Sequence[Int], stride: Sequence[Int], *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, requires_grad: Bool = False) -> Tensor:
        """A tensor of some sizes and strides, of this one's type and device, with nothing in particular in it.

        Parameters
        ----------
        size : sequence of int
            The sizes.
        stride : sequence of int
            How far apart windows are; as large as they are by default.
        dtype : dtype, optional
            The element type of the result.
        layout : layout, optional
            How the elements lie; `strided` is the one there is.
        device : device or str, optional
            Where the result is; by default in main memory, or where the argument is.
        pin_memory : bool, optional
            For the signature's sake.
        requires_grad : bool, default False
            Whether autograd records what is done with the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.new_empty_strided(x, [2, 3], [1, 2]).shape
        opweave.Size([2, 3])
        >>> x.new_empty_strided([2, 3], [1, 2]).shape
        opweave.Size([2, 3])"""
        ...
    def new_full(self, size: Sequence[Int], fill_value: Number, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, requires_grad: Bool = False) -> Tensor:
        """A tensor of some sizes, of this one's type and device, with one number everywhere.

        Parameters
        ----------
        size : sequence of int
            The sizes.
        fill_value : number
            The number.
        dtype : dtype, optional
            The element type of the result.
        layout : layout, optional
            How the elements lie; `strided` is the one there is.
        device : device or str, optional
            Where the result is; by default in main memory, or where the argument is.
        pin_memory : bool, optional
            For the signature's sake.
        requires_grad : bool, default False
            Whether autograd records what is done with the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.new_full(x, [2], 7)
        tensor([7., 7.])
        >>> x.new_full([2], 7)
        tensor([7., 7.])"""
        ...
    @overload
    def new_ones(self, size: Sequence[Int], *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, requires_grad: Bool = False) -> Tensor: ...
    @overload
    def new_ones(self, *size: Int, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, requires_grad: Bool = False) -> Tensor:
        """A tensor of ones, of this one's type and device.

        Parameters
        ----------
        size : sequence of int
            The sizes.
        dtype : dtype, optional
            The element type of the result.
        layout : layout, optional
            How the elements lie; `strided` is the one there is.
        device : device or str, optional
            Where the result is; by default in main memory, or where the argument is.
        pin_memory : bool, optional
            For the signature's sake.
        requires_grad : bool, default False
            Whether autograd records what is done with the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.new_ones(x, [2])
        tensor([1., 1.])
        >>> x.new_ones([2])
        tensor([1., 1.])"""
        ...
    def new_tensor(self, data: Any, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None, requires_grad: _bool = False) -> Tensor:
        """A new tensor with a copy of the data, of this tensor's dtype and device where none are given.

        Parameters
        ----------
        data : number, nested sequence, array or Tensor
            As for `opweave.tensor`.
        dtype : DType, optional
            Wanted element type.
        device : Device or str, optional
            Where to put it.
        requires_grad : bool
            Whether autograd records what is done with it.

        Examples
        --------
        >>> opweave.zeros(1).new_tensor([1, 2])
        tensor([1., 2.])"""
        ...
    @overload
    def new_zeros(self, size: Sequence[Int], *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, requires_grad: Bool = False) -> Tensor: ...
    @overload
    def new_zeros(self, *size: Int, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, requires_grad: Bool = False) -> Tensor:
        """A tensor of zeros, of this one's type and device.

        Parameters
        ----------
        size : sequence of int
            The sizes.
        dtype : dtype, optional
            The element type of the result.
        layout : layout, optional
            How the elements lie; `strided` is the one there is.
        device : device or str, optional
            Where the result is; by default in main memory, or where the argument is.
        pin_memory : bool, optional
            For the signature's sake.
        requires_grad : bool, default False
            Whether autograd records what is done with the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.new_zeros(x, [2])
        tensor([0., 0.])
        >>> x.new_zeros([2])
        tensor([0., 0.])"""
        ...
    def nextafter(self, other: Tensor | Number) -> Tensor:
        """The next number of the type in the direction of the other (after Rump, Zimmermann, Boldo and Melquiond 2009).

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> y = opweave.tensor([2.0, 3.0, 1.0])
        >>> opweave.nextafter(x, y)
        tensor([-1.0000,  0.5000,  2.0000])
        >>> x.nextafter(y)
        tensor([-1.0000,  0.5000,  2.0000])"""
        ...
    def nextafter_(self, other: Tensor | Number) -> Tensor:
        """The next number of the type in the direction of the other (after Rump, Zimmermann, Boldo and Melquiond 2009). In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> y = opweave.tensor([2.0, 3.0, 1.0])
        >>> x.nextafter_(y)
        tensor([-1.0000,  0.5000,  2.0000])"""
        ...
    def nll_loss(self, target: Tensor, weight: Tensor | None = None, reduction: Int = 1, ignore_index: Int = -100) -> Tensor:
        """The negative log-probabilities at the class numbers, averaged by default.

        Parameters
        ----------
        target : Tensor
            What it should be.
        weight : Tensor, optional
            The weights.
        reduction : int, default 1
            0 none, 1 mean, 2 sum.
        ignore_index : int, default -100
            Targets that do not count.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[0.5, 0.5], [0.2, 0.8]]).log()
        >>> y = opweave.tensor([0, 1])
        >>> x.nll_loss(y)
        tensor(0.4581)"""
        ...
    def nll_loss_forward(self, target: Tensor, weight: Tensor | None, reduction: Int, ignore_index: Int) -> return_types.nll_loss_forward:
        """`nll_loss` with the sum of weights that it divided by.

        Parameters
        ----------
        target : Tensor
            What it should be.
        weight : Tensor, optional
            The weights.
        reduction : int
            0 none, 1 mean, 2 sum.
        ignore_index : int
            Targets that do not count.

        Returns
        -------
        return_types.nll_loss_forward
            A named tuple of tensors: output, total_weight.

        Examples
        --------
        >>> x = opweave.tensor([[0.5, 0.5], [0.2, 0.8]]).log()
        >>> y = opweave.tensor([0, 1])
        >>> x.nll_loss_forward(y, None, 1, -100)
        opweave.return_types.nll_loss_forward(
        output=tensor(0.4581),
        total_weight=tensor(2.))"""
        ...
    def nll_loss_nd(self, target: Tensor, weight: Tensor | None = None, reduction: Int = 1, ignore_index: Int = -100) -> Tensor:
        """`nll_loss` of scores with any number of places.

        Parameters
        ----------
        target : Tensor
            What it should be.
        weight : Tensor, optional
            The weights.
        reduction : int, default 1
            0 none, 1 mean, 2 sum.
        ignore_index : int, default -100
            Targets that do not count.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([-1.5, -3.0, -2.0, -1.0, -2.5])
        >>> y = opweave.tensor(3)
        >>> x.nll_loss_nd(y)
        tensor(1.)"""
        ...
    @overload
    def nonzero(self, *, out: Tensor | None = None, as_tuple: Literal[False] = False) -> Tensor: ...
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> _tuple[Tensor, ...]: ...
    @overload
    def nonzero(self, *, out: Tensor | None = None, as_tuple: _bool) -> Any:
        """The indices of all elements other than 0.

        Parameters
        ----------
        input : Tensor
        out : Tensor, optional
            Where to write them, if they are one tensor.
        as_tuple : bool
            Whether to give a tensor for each dimension, so that `input[input.nonzero(as_tuple=True)]` are these elements.

        Returns
        -------
        Tensor or tuple of Tensor
            int64; a row for each element, or a tensor for each dimension.

        Examples
        --------
        >>> opweave.nonzero(opweave.tensor([0.0, 2.0, 3.0]))
        tensor([[1],
                [2]])"""
        ...
    def nonzero_numpy(self) -> _tuple[Tensor, ...]:
        """The indices of all elements other than 0, a tensor for each dimension.

        Returns
        -------
        tuple[Tensor, ...]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor([0.0, 2.0, 3.0])
        >>> opweave.nonzero_numpy(x)
        (tensor([1, 2]),)
        >>> x.nonzero_numpy()
        (tensor([1, 2]),)"""
        ...
    def nonzero_static(self, *, size: Int, fill_value: Int = -1) -> Tensor:
        """The first `size` indices of elements other than 0, a row for each, and rows of a number where there are fewer.

        Parameters
        ----------
        size : int
            The sizes.
        fill_value : int, default -1
            The number.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([0.0, 2.0, 3.0])
        >>> opweave.nonzero_static(x, size=3)
        tensor([[ 1],
                [ 2],
                [-1]])
        >>> x.nonzero_static(size=3)
        tensor([[ 1],
                [ 2],
                [-1]])"""
        ...
    @overload
    def norm(self, p: _float | _str | None = 'fro', dim: Any = None, keepdim: _bool = False, out: Tensor | None = None, dtype: DType | None = None, *, keepdims: _bool = False) -> Tensor: ...
    @overload
    def norm(self, p: _float | _str | None = 'fro', axis: Any = None, keepdim: _bool = False, out: Tensor | None = None, dtype: DType | None = None, *, keepdims: _bool = False) -> Tensor:
        """The p-norm of all elements, or of those in some dimensions.

        Parameters
        ----------
        input : Tensor
        p : float or str, optional
            A number, `"fro"`, which is 2, or `"nuc"`, the sum of the singular values of the matrices in two dimensions.
        dim : int or sequence of int, optional
            All by default.
        keepdim : bool
            Keep these dimensions, of size 1.
        out : Tensor, optional
            Where to write the result.
        dtype : DType, optional
            The type to convert to first.

        Examples
        --------
        >>> opweave.norm(opweave.tensor([3.0, 4.0]))
        tensor(5.)"""
        ...
    def normal_(self, mean: Float = 0.0, std: Float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Numbers drawn from normal distributions with these means and standard deviations. In place.

        Parameters
        ----------
        mean : float, default 0.0
            The means.
        std : float, default 1.0
            The standard deviations.
        generator : Generator, optional
            The source of random numbers; the device's own by default.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.normal_().shape
        opweave.Size([3])"""
        ...
    def normal_functional(self, mean: Float = 0.0, std: Float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Normal numbers in the shape of the tensor.

        Parameters
        ----------
        mean : float, default 0.0
            The means.
        std : float, default 1.0
            The standard deviations.
        generator : Generator, optional
            The source of random numbers; the device's own by default.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.normal_functional().shape
        opweave.Size([3])"""
        ...
    def not_equal(self, other: Tensor | Number) -> Tensor:
        """Whether each element differs from the other.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements are bool.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([1.0, 0.0, 3.0])
        >>> opweave.ne(x, y)
        tensor([False,  True, False])
        >>> x.ne(y)
        tensor([False,  True, False])"""
        ...
    def not_equal_(self, other: Tensor | Number) -> Tensor:
        """Whether each element differs from the other. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([1.0, 0.0, 3.0])
        >>> x.ne_(y)
        tensor([0., 1., 0.])"""
        ...
    def nuclear_norm(self, keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor:
        """The sum of the singular values of a matrix.

        Parameters
        ----------
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[2.0, 0.0], [0.0, 1.0]])
        >>> opweave.nuclear_norm(x)
        tensor(3.)
        >>> x.nuclear_norm()
        tensor(3.)"""
        ...
    def numpy_T(self) -> Tensor:
        """A view with the dimensions in the opposite order.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.numpy_T()
        tensor([[1., 4.],
                [2., 5.],
                [3., 6.]])"""
        ...
    def one_hot(self, num_classes: Int = -1) -> Tensor:
        """A new last dimension of zeros with a 1 in the place of each number; -1 takes the largest number's place.

        Parameters
        ----------
        num_classes : int, default -1
            How many classes.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([0, 2])
        >>> x.one_hot(3)
        tensor([[1, 0, 0],
                [0, 0, 1]])"""
        ...
    def ones_like(self, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, requires_grad: Bool = False) -> Tensor:
        """A tensor like another with 1 everywhere.

        Parameters
        ----------
        dtype : dtype, optional
            The element type of the result.
        layout : layout, optional
            How the elements lie; `strided` is the one there is.
        device : device or str, optional
            Where the result is; by default in main memory, or where the argument is.
        pin_memory : bool, optional
            For the signature's sake.
        memory_format : memory_format, optional
            How the result lies in memory.
        requires_grad : bool, default False
            Whether autograd records what is done with the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.ones_like(x)
        tensor([1., 1., 1.])
        >>> x.ones_like()
        tensor([1., 1., 1.])"""
        ...
    def orgqr(self, input2: Tensor) -> Tensor:
        """As `linalg.householder_product`.

        Parameters
        ----------
        input2 : Tensor
            The second tensor.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0], [0.5]])
        >>> y = opweave.tensor([1.0])
        >>> opweave.orgqr(x, y).shape
        opweave.Size([2, 1])
        >>> x.orgqr(y).shape
        opweave.Size([2, 1])"""
        ...
    def ormqr(self, input2: Tensor, input3: Tensor, left: Bool = True, transpose: Bool = False) -> Tensor:
        """Q C, or C Q, with all columns of the Q that reflections are; or with its conjugate transpose.

        Parameters
        ----------
        input2 : Tensor
            The second tensor.
        input3 : Tensor
            The third tensor.
        left : bool, default True
            Whether the matrix stands on the left of the unknown.
        transpose : bool, default False
            Whether to use the transposed matrix.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0], [0.5]])
        >>> y = opweave.tensor([1.0])
        >>> z = opweave.tensor([[1.0], [1.0]])
        >>> opweave.ormqr(x, y, z).shape
        opweave.Size([2, 1])
        >>> x.ormqr(y, z).shape
        opweave.Size([2, 1])"""
        ...
    def outer(self, vec2: Tensor) -> Tensor:
        """The product of each element of a vector with each of another.

        Parameters
        ----------
        vec2 : Tensor
            Another vector.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> opweave.outer(x, y)
        tensor([[ 4.,  5.,  6.],
                [ 8., 10., 12.],
                [12., 15., 18.]])
        >>> x.outer(y)
        tensor([[ 4.,  5.,  6.],
                [ 8., 10., 12.],
                [12., 15., 18.]])"""
        ...
    @property
    def output_nr(self) -> _int:
        """Which output of `grad_fn` this tensor is."""
        ...
    def pad(self, pad: Sequence[Int], mode: Literal['constant', 'reflect', 'replicate', 'circular'] = 'constant', value: Float | None = None) -> Tensor:
        """The tensor with its last dimensions padded; `mode` is constant, reflect, replicate or circular.

        Parameters
        ----------
        pad : sequence of int
            Numbers for the sides of the last dimension, then of the one before, ...
        mode : {'constant', 'reflect', 'replicate', 'circular'}, default 'constant'
            How it is done.
        value : float, optional
            The number.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.pad([1, 1])
        tensor([0., 1., 2., 3., 0.])"""
        ...
    def pdist(self, p: Float = 2.0) -> Tensor:
        """The distances between all pairs of rows, as a vector.

        Parameters
        ----------
        p : float, default 2.0
            The p of the norm.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
        >>> opweave.pdist(x)
        tensor([5.0000, 1.0000, 4.2426])
        >>> x.pdist()
        tensor([5.0000, 1.0000, 4.2426])"""
        ...
    @overload
    def permute(self, dims: Sequence[Int]) -> Tensor: ...
    @overload
    def permute(self, axis: Sequence[Int]) -> Tensor: ...
    @overload
    def permute(self, *dims: Int) -> Tensor:
        """A view with the dimensions in another order.

        Parameters
        ----------
        dims : sequence of int
            The dimensions, counted from the end where negative.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.permute(x, [1, 0])
        tensor([[1., 4.],
                [2., 5.],
                [3., 6.]])
        >>> x.permute([1, 0])
        tensor([[1., 4.],
                [2., 5.],
                [3., 6.]])"""
        ...
    @overload
    def permute_copy(self, dims: Sequence[Int]) -> Tensor: ...
    @overload
    def permute_copy(self, axis: Sequence[Int]) -> Tensor: ...
    @overload
    def permute_copy(self, *dims: Int) -> Tensor:
        """A view with the dimensions in another order. Here as a copy.

        Parameters
        ----------
        dims : sequence of int
            The dimensions, counted from the end where negative.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.permute_copy(x, [1, 0])
        tensor([[1., 4.],
                [2., 5.],
                [3., 6.]])
        >>> x.permute_copy([1, 0])
        tensor([[1., 4.],
                [2., 5.],
                [3., 6.]])"""
        ...
    def pinverse(self, rcond: Float = 1e-15) -> Tensor:
        """As `linalg.pinv`.

        Parameters
        ----------
        rcond : float, default 1e-15
            The relative tolerance.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[2.0, 0.0], [0.0, 4.0]])
        >>> opweave.pinverse(x)
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
        >>> x.pinverse()
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])"""
        ...
    def pixel_shuffle(self, upscale_factor: Int) -> Tensor:
        """(..., C r², H, W) as (..., C, H r, W r): the channels of a pixel become a square of pixels.

        Parameters
        ----------
        upscale_factor : int
            How much larger the image becomes.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.arange(4.0).view(1, 4, 1, 1)
        >>> opweave.pixel_shuffle(x, 2)
        tensor([[[[0., 1.],
                  [2., 3.]]]])
        >>> x.pixel_shuffle(2)
        tensor([[[[0., 1.],
                  [2., 3.]]]])"""
        ...
    def pixel_unshuffle(self, downscale_factor: Int) -> Tensor:
        """The inverse of `pixel_shuffle`.

        Parameters
        ----------
        downscale_factor : int
            How much smaller the image becomes.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.arange(4.0).view(1, 1, 2, 2)
        >>> opweave.pixel_unshuffle(x, 2)
        tensor([[[[0.]],
        <BLANKLINE>
                 [[1.]],
        <BLANKLINE>
                 [[2.]],
        <BLANKLINE>
                 [[3.]]]])
        >>> x.pixel_unshuffle(2)
        tensor([[[[0.]],
        <BLANKLINE>
                 [[1.]],
        <BLANKLINE>
                 [[2.]],
        <BLANKLINE>
                 [[3.]]]])"""
        ...
    def poisson(self, generator: Generator | None = None) -> Tensor:
        """Numbers of events at rates that the elements are.

        Parameters
        ----------
        generator : Generator, optional
            The source of random numbers; the device's own by default.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.7, 4.6, 2.5, 0.5], [3.4, 1.3, 4.2, 2.1], [5.0, 3.0, 0.9, 3.8]])
        >>> opweave.poisson(x).shape
        opweave.Size([3, 4])
        >>> x.poisson().shape
        opweave.Size([3, 4])"""
        ...
    def polygamma(self, n: _int) -> Tensor:
        """The n-th derivative of `digamma` at each element.

        Examples
        --------
        >>> opweave.tensor([1.0]).polygamma(1)
        tensor([1.6449])"""
        ...
    def polygamma_(self, n: Int) -> Tensor:
        """The n-th derivative of `digamma` at each element.

        Parameters
        ----------
        n : int
            A whole number.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0])
        >>> x.polygamma_(1)
        tensor([1.6449, 0.6449])"""
        ...
    def positive(self) -> Tensor:
        """The tensor itself.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.positive(x)
        tensor([1., 2., 3.])
        >>> x.positive()
        tensor([1., 2., 3.])"""
        ...
    def pow(self, exponent: Tensor | Number) -> Tensor:
        """`input` to the power of `exponent`, element by element.

        Parameters
        ----------
        exponent : Tensor or number
            The exponents.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> y = opweave.tensor([2.0, 3.0, 1.0])
        >>> opweave.pow(x, y)
        tensor([1.0000, 0.1250, 2.0000])
        >>> x.pow(y)
        tensor([1.0000, 0.1250, 2.0000])"""
        ...
    def pow_(self, exponent: Tensor | Number) -> Tensor:
        """`input` to the power of `exponent`, element by element. In place.

        Parameters
        ----------
        exponent : Tensor or number
            The exponents.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> y = opweave.tensor([2.0, 3.0, 1.0])
        >>> x.pow_(y)
        tensor([1.0000, 0.1250, 2.0000])"""
        ...
    def prelu(self, weight: Tensor) -> Tensor:
        """x where positive, else weight x, with one weight for all or one for each channel (He et al. 2015).

        Parameters
        ----------
        weight : Tensor
            The weights.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, -2.0, 0.0, 2.0, -1.0])
        >>> y = opweave.tensor([1.0])
        >>> opweave.prelu(x, y)
        tensor([ 1., -2.,  0.,  2., -1.])
        >>> x.prelu(y)
        tensor([ 1., -2.,  0.,  2., -1.])"""
        ...
    @overload
    def prod(self, *, dtype: DTypeLike | None = None) -> Tensor: ...
    @overload
    def prod(self, dim: Int, keepdim: Bool = False, *, dtype: DTypeLike | None = None, keepdims: Bool = False) -> Tensor: ...
    @overload
    def prod(self, axis: Int, keepdim: Bool = False, *, dtype: DTypeLike | None = None, keepdims: Bool = False) -> Tensor:
        """The product of all elements, or over a dimension.

        Parameters
        ----------
        dim : int, optional
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.
        dtype : dtype, optional
            The element type of the result.

        Returns
        -------
        Tensor
            A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.prod(x)
        tensor(6.)
        >>> x.prod()
        tensor(6.)"""
        ...
    def put(self, index: Tensor, source: Tensor, accumulate: Bool = False) -> Tensor:
        """A copy with elements of the flattened tensor written, or added to.

        Parameters
        ----------
        index : Tensor
            Which places, as whole numbers.
        source : Tensor
            What is written.
        accumulate : bool, default False
            Whether values are added to what is there.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([0])
        >>> z = opweave.tensor([9.0])
        >>> opweave.put(x, y, z)
        tensor([9., 2., 3.])
        >>> x.put(y, z)
        tensor([9., 2., 3.])"""
        ...
    def put_(self, index: Tensor, source: Tensor, accumulate: Bool = False) -> Tensor:
        """A copy with elements of the flattened tensor written, or added to. In place.

        Parameters
        ----------
        index : Tensor
            Which places, as whole numbers.
        source : Tensor
            What is written.
        accumulate : bool, default False
            Whether values are added to what is there.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([0])
        >>> z = opweave.tensor([9.0])
        >>> x.put_(y, z)
        tensor([9., 2., 3.])"""
        ...
    def qr(self, some: Bool = True) -> return_types.qr:
        """As `linalg.qr`, `"reduced"` or `"complete"`.

        Parameters
        ----------
        some : bool, default True
            Whether the matrices of vectors are as small as can be.

        Returns
        -------
        return_types.qr
            A named tuple of tensors: Q, R.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> [t.shape for t in opweave.qr(x)]
        [opweave.Size([2, 2]), opweave.Size([2, 2])]
        >>> [t.shape for t in x.qr()]
        [opweave.Size([2, 2]), opweave.Size([2, 2])]"""
        ...
    @overload
    def quantile(self, q: Float, dim: Int | None = None, keepdim: Bool = False, *, interpolation: Literal['linear', 'lower', 'higher', 'midpoint', 'nearest'] = 'linear', keepdims: Bool = False) -> Tensor: ...
    @overload
    def quantile(self, q: Float, axis: Int | None = None, keepdim: Bool = False, *, interpolation: Literal['linear', 'lower', 'higher', 'midpoint', 'nearest'] = 'linear', keepdims: Bool = False) -> Tensor: ...
    @overload
    def quantile(self, q: Tensor, dim: Int | None = None, keepdim: Bool = False, *, interpolation: Literal['linear', 'lower', 'higher', 'midpoint', 'nearest'] = 'linear', keepdims: Bool = False) -> Tensor: ...
    @overload
    def quantile(self, q: Tensor, axis: Int | None = None, keepdim: Bool = False, *, interpolation: Literal['linear', 'lower', 'higher', 'midpoint', 'nearest'] = 'linear', keepdims: Bool = False) -> Tensor:
        """The elements below which shares of all are, between two of them by interpolation.

        Parameters
        ----------
        q : float or Tensor
            Shares between 0 and 1.
        dim : int, optional
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.
        interpolation : {'linear', 'lower', 'higher', 'midpoint', 'nearest'}, default 'linear'
            What stands between two elements.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.quantile(x, 0.25)
        tensor(1.5000)
        >>> x.quantile(0.25)
        tensor(1.5000)"""
        ...
    def rad2deg(self) -> Tensor:
        """Radians in degrees.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.rad2deg(x)
        tensor([-57.2958,  28.6479, 114.5916])
        >>> x.rad2deg()
        tensor([-57.2958,  28.6479, 114.5916])"""
        ...
    def rad2deg_(self) -> Tensor:
        """Radians in degrees. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.rad2deg_()
        tensor([-57.2958,  28.6479, 114.5916])"""
        ...
    @overload
    def rand_like(self, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, requires_grad: Bool = False) -> Tensor: ...
    @overload
    def rand_like(self, *, generator: Generator | None, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, requires_grad: Bool = False) -> Tensor:
        """Numbers drawn evenly from 0 up to 1, in a tensor like another.

        Parameters
        ----------
        generator : Generator, optional
            The source of random numbers; the device's own by default.
        dtype : dtype, optional
            The element type of the result.
        layout : layout, optional
            How the elements lie; `strided` is the one there is.
        device : device or str, optional
            Where the result is; by default in main memory, or where the argument is.
        pin_memory : bool, optional
            For the signature's sake.
        memory_format : memory_format, optional
            How the result lies in memory.
        requires_grad : bool, default False
            Whether autograd records what is done with the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.rand_like(x).shape
        opweave.Size([3])
        >>> x.rand_like().shape
        opweave.Size([3])"""
        ...
    @overload
    def randint_like(self, low: Int, high: Int, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, requires_grad: Bool = False) -> Tensor: ...
    @overload
    def randint_like(self, high: Int, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, requires_grad: Bool = False) -> Tensor:
        """Whole numbers drawn evenly, in a tensor like another.

        Parameters
        ----------
        low : int, optional
            Where they begin.
        high : int
            Where they end, itself not among them.
        dtype : dtype, optional
            The element type of the result.
        layout : layout, optional
            How the elements lie; `strided` is the one there is.
        device : device or str, optional
            Where the result is; by default in main memory, or where the argument is.
        pin_memory : bool, optional
            For the signature's sake.
        memory_format : memory_format, optional
            How the result lies in memory.
        requires_grad : bool, default False
            Whether autograd records what is done with the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.randint_like(x, 0, 10).shape
        opweave.Size([3])
        >>> x.randint_like(0, 10).shape
        opweave.Size([3])"""
        ...
    @overload
    def randn_like(self, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, requires_grad: Bool = False) -> Tensor: ...
    @overload
    def randn_like(self, *, generator: Generator | None, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, requires_grad: Bool = False) -> Tensor:
        """Normal numbers in a tensor like another.

        Parameters
        ----------
        generator : Generator, optional
            The source of random numbers; the device's own by default.
        dtype : dtype, optional
            The element type of the result.
        layout : layout, optional
            How the elements lie; `strided` is the one there is.
        device : device or str, optional
            Where the result is; by default in main memory, or where the argument is.
        pin_memory : bool, optional
            For the signature's sake.
        memory_format : memory_format, optional
            How the result lies in memory.
        requires_grad : bool, default False
            Whether autograd records what is done with the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.randn_like(x).shape
        opweave.Size([3])
        >>> x.randn_like().shape
        opweave.Size([3])"""
        ...
    @overload
    def random(self, from_: Int, to: Int | None, *, generator: Generator | None = None) -> Tensor: ...
    @overload
    def random(self, to: Int, *, generator: Generator | None = None) -> Tensor: ...
    @overload
    def random(self, *, generator: Generator | None = None) -> Tensor:
        """Whole numbers drawn evenly, in the shape of the tensor.

        Parameters
        ----------
        from_ : int, optional
            The least of the numbers.
        to : int, optional
            Where they end, itself not among them.
        generator : Generator, optional
            The source of random numbers; the device's own by default.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.random(0, 10).shape
        opweave.Size([3])"""
        ...
    @overload
    def random_(self, from_: Int, to: Int | None, *, generator: Generator | None = None) -> Tensor: ...
    @overload
    def random_(self, to: Int, *, generator: Generator | None = None) -> Tensor: ...
    @overload
    def random_(self, *, generator: Generator | None = None) -> Tensor:
        """Whole numbers drawn evenly, in the shape of the tensor. In place.

        Parameters
        ----------
        from_ : int, optional
            The least of the numbers.
        to : int, optional
            Where they end, itself not among them.
        generator : Generator, optional
            The source of random numbers; the device's own by default.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.random_().shape
        opweave.Size([3])"""
        ...
    def ravel(self) -> Tensor:
        """All elements as a vector; a view where they lie in order.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.ravel(x)
        tensor([1., 2., 3., 4.])
        >>> x.ravel()
        tensor([1., 2., 3., 4.])"""
        ...
    @property
    def real(self) -> Tensor: ...
    @real.setter
    def real(self, value: Any) -> None:
        """The real parts of complex numbers, as a view; a real tensor itself."""
        ...
    def reciprocal(self) -> Tensor:
        """1 / x for each element.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.reciprocal(x)
        tensor([-1.0000,  2.0000,  0.5000])
        >>> x.reciprocal()
        tensor([-1.0000,  2.0000,  0.5000])"""
        ...
    def reciprocal_(self) -> Tensor:
        """1 / x for each element. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.reciprocal_()
        tensor([-1.0000,  2.0000,  0.5000])"""
        ...
    @overload
    def reflection_pad1d(self, padding: Int | Sequence[Int]) -> Tensor: ...
    @overload
    def reflection_pad1d(self, *padding: Int) -> Tensor:
        """A line continued at its ends by its mirror image, without the last element.

        Parameters
        ----------
        padding : int or sequence of int
            How many elements are added at each side.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[[1.0, 2.0, 3.0, 4.0]]])
        >>> x.reflection_pad1d([1, 1])
        tensor([[[2., 1., 2., 3., 4., 3.]]])"""
        ...
    @overload
    def reflection_pad2d(self, padding: Int | Sequence[Int]) -> Tensor: ...
    @overload
    def reflection_pad2d(self, *padding: Int) -> Tensor:
        """An image continued at its borders by its mirror image, without the last elements.

        Parameters
        ----------
        padding : int or sequence of int
            How many elements are added at each side.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.arange(16.0).view(1, 1, 4, 4)
        >>> x.reflection_pad2d([1, 1, 1, 1]).shape
        opweave.Size([1, 1, 6, 6])"""
        ...
    @overload
    def reflection_pad3d(self, padding: Int | Sequence[Int]) -> Tensor: ...
    @overload
    def reflection_pad3d(self, *padding: Int) -> Tensor:
        """A volume continued at its borders by its mirror image, without the last elements.

        Parameters
        ----------
        padding : int or sequence of int
            How many elements are added at each side.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.arange(8.0).view(1, 1, 2, 2, 2)
        >>> x.reflection_pad3d([1, 1, 1, 1, 1, 1]).shape
        opweave.Size([1, 1, 4, 4, 4])"""
        ...
    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call `hook(grad)` when this tensor's gradient is computed; what it returns (if anything) replaces it.

        Examples
        --------
        >>> x = opweave.ones(2, requires_grad=True)
        >>> handle = x.register_hook(lambda grad: grad * 10)
        >>> x.sum().backward()
        >>> x.grad
        tensor([10., 10.])"""
        ...
    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call `hook(tensor)` after a gradient was added to this leaf's `grad`.

        Examples
        --------
        >>> x = opweave.ones(2, requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda t: print(t.grad))
        >>> x.sum().backward()
        tensor([1., 1.])"""
        ...
    def relu(self) -> Tensor:
        """x where positive, 0 elsewhere.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.relu(x)
        tensor([0.0000, 0.5000, 2.0000])
        >>> x.relu()
        tensor([0.0000, 0.5000, 2.0000])"""
        ...
    def relu6(self) -> Tensor:
        """x limited to [0, 6] (Howard et al. 2017).

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[-3.6, 6.5, -0.7, -8.0], [2.2, -5.1, 5.1, -2.2], [8.0, 0.7, -6.5, 3.6]])
        >>> x.relu6()
        tensor([[0.0000, 6.0000, 0.0000, 0.0000],
                [2.2000, 0.0000, 5.1000, 0.0000],
                [6.0000, 0.7000, 0.0000, 3.6000]])"""
        ...
    def relu6_(self) -> Tensor:
        """x limited to [0, 6] (Howard et al. 2017). In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([[-3.6, 6.5, -0.7, -8.0], [2.2, -5.1, 5.1, -2.2], [8.0, 0.7, -6.5, 3.6]])
        >>> x.relu6_()
        tensor([[0.0000, 6.0000, 0.0000, 0.0000],
                [2.2000, 0.0000, 5.1000, 0.0000],
                [6.0000, 0.7000, 0.0000, 3.6000]])"""
        ...
    def relu_(self) -> Tensor:
        """x where positive, 0 elsewhere. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.relu_()
        tensor([0.0000, 0.5000, 2.0000])"""
        ...
    def remainder(self, other: Tensor | Number) -> Tensor:
        """What is left of a division that is rounded down; it has the sign of the divisor.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([7, -7])
        >>> opweave.remainder(x, 3)
        tensor([1, 2])
        >>> x.remainder(3)
        tensor([1, 2])"""
        ...
    def remainder_(self, other: Tensor | Number) -> Tensor:
        """What is left of a division that is rounded down; it has the sign of the divisor. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([7, -7])
        >>> x.remainder_(3)
        tensor([1, 2])"""
        ...
    @overload
    def renorm(self, p: Number, dim: Int, maxnorm: Number) -> Tensor: ...
    @overload
    def renorm(self, p: Number, axis: Int, maxnorm: Number) -> Tensor:
        """The slices along a dimension, made smaller where their p-norm is above the limit.

        Parameters
        ----------
        p : number
            The p of the norm.
        dim : int
            The dimension, counted from the end where negative.
        maxnorm : number
            The limit.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.renorm(x, 2, 0, 1.0)
        tensor([[0.4472, 0.8944],
                [0.6000, 0.8000]])
        >>> x.renorm(2, 0, 1.0)
        tensor([[0.4472, 0.8944],
                [0.6000, 0.8000]])"""
        ...
    @overload
    def renorm_(self, p: Number, dim: Int, maxnorm: Number) -> Tensor: ...
    @overload
    def renorm_(self, p: Number, axis: Int, maxnorm: Number) -> Tensor:
        """The slices along a dimension, made smaller where their p-norm is above the limit. In place.

        Parameters
        ----------
        p : number
            The p of the norm.
        dim : int
            The dimension, counted from the end where negative.
        maxnorm : number
            The limit.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.renorm_(2, 0, 1.0)
        tensor([[0.4472, 0.8944],
                [0.6000, 0.8000]])"""
        ...
    @overload
    def repeat(self, repeats: Sequence[Int]) -> Tensor: ...
    @overload
    def repeat(self, *repeats: Int) -> Tensor:
        """The tensor so many times along each dimension, as a copy.

        Parameters
        ----------
        repeats : sequence of int
            How often.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1, 2])
        >>> opweave.repeat(x, [2, 2])
        tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]])
        >>> x.repeat([2, 2])
        tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]])"""
        ...
    @overload
    def repeat_interleave(self, repeats: Int, dim: Int | None = None, *, output_size: Int | None = None) -> Tensor: ...
    @overload
    def repeat_interleave(self, repeats: Int, axis: Int | None = None, *, output_size: Int | None = None) -> Tensor: ...
    @overload
    def repeat_interleave(self, *, output_size: Int | None = None) -> Tensor: ...
    @overload
    def repeat_interleave(self, repeats: Tensor, dim: Int | None = None, *, output_size: Int | None = None) -> Tensor: ...
    @overload
    def repeat_interleave(self, repeats: Tensor, axis: Int | None = None, *, output_size: Int | None = None) -> Tensor:
        """Each element of a dimension so often, one after the other.

        Parameters
        ----------
        repeats : int or Tensor
            How often.
        dim : int, optional
            The dimension, counted from the end where negative.
        output_size : int, optional
            The size of the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1, 2])
        >>> opweave.repeat_interleave(x, 2)
        tensor([1, 1, 2, 2])
        >>> x.repeat_interleave(2)
        tensor([1, 1, 2, 2])"""
        ...
    @overload
    def replication_pad1d(self, padding: Int | Sequence[Int]) -> Tensor: ...
    @overload
    def replication_pad1d(self, *padding: Int) -> Tensor:
        """A line continued at its ends by its last elements.

        Parameters
        ----------
        padding : int or sequence of int
            How many elements are added at each side.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[[1.0, 2.0, 3.0, 4.0]]])
        >>> x.replication_pad1d([1, 1])
        tensor([[[1., 1., 2., 3., 4., 4.]]])"""
        ...
    @overload
    def replication_pad2d(self, padding: Int | Sequence[Int]) -> Tensor: ...
    @overload
    def replication_pad2d(self, *padding: Int) -> Tensor:
        """An image continued at its borders by the elements there.

        Parameters
        ----------
        padding : int or sequence of int
            How many elements are added at each side.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.arange(16.0).view(1, 1, 4, 4)
        >>> x.replication_pad2d([1, 1, 1, 1]).shape
        opweave.Size([1, 1, 6, 6])"""
        ...
    @overload
    def replication_pad3d(self, padding: Int | Sequence[Int]) -> Tensor: ...
    @overload
    def replication_pad3d(self, *padding: Int) -> Tensor:
        """A volume continued at its borders by the elements there.

        Parameters
        ----------
        padding : int or sequence of int
            How many elements are added at each side.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.arange(8.0).view(1, 1, 2, 2, 2)
        >>> x.replication_pad3d([1, 1, 1, 1, 1, 1]).shape
        opweave.Size([1, 1, 4, 4, 4])"""
        ...
    @property
    def requires_grad(self) -> _bool: ...
    @requires_grad.setter
    def requires_grad(self, value: _bool) -> None:
        """Whether gradients flow to this tensor."""
        ...
    def requires_grad_(self, requires_grad: _bool = True) -> Tensor:
        """Say whether gradients flow to this leaf; in place.

        Examples
        --------
        >>> opweave.zeros(2).requires_grad_().requires_grad
        True"""
        ...
    @overload
    def reshape(self, shape: Sequence[Int]) -> Tensor: ...
    @overload
    def reshape(self, *shape: Int) -> Tensor:
        """The same elements with other sizes; a view where strides allow it. One size may be -1.

        Parameters
        ----------
        shape : sequence of int
            The sizes; one of them may be -1, which follows from the others.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.reshape(x, [3, 2])
        tensor([[1., 2.],
                [3., 4.],
                [5., 6.]])
        >>> x.reshape([3, 2])
        tensor([[1., 2.],
                [3., 4.],
                [5., 6.]])"""
        ...
    def reshape_as(self, other: Tensor | Number) -> Tensor:
        """The same elements with the sizes of another tensor.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> y = opweave.zeros(3, 2)
        >>> opweave.reshape_as(x, y)
        tensor([[1., 2.],
                [3., 4.],
                [5., 6.]])
        >>> x.reshape_as(y)
        tensor([[1., 2.],
                [3., 4.],
                [5., 6.]])"""
        ...
    @overload
    def resize_(self, size: Sequence[Int], *, memory_format: MemoryFormat | None = None) -> Tensor: ...
    @overload
    def resize_(self, *size: Int, memory_format: MemoryFormat | None = None) -> Tensor:
        """Let a tensor have other sizes, row-major over its memory; it gets more memory where nothing else has a part in its own, and what is new there may be anything.

        Parameters
        ----------
        size : sequence of int
            The sizes.
        memory_format : memory_format, optional
            How the result lies in memory.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.resize_([2])
        tensor([1., 2.])"""
        ...
    def resize_as_(self, the_template: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """Let a tensor have the sizes of another; with `preserve_format` its memory format too.

        Parameters
        ----------
        the_template : Tensor
            The tensor whose sizes are taken.
        memory_format : memory_format, optional
            How the result lies in memory.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([[1.0], [2.0]])
        >>> x.resize_as_(y)
        tensor([[1.],
                [2.]])"""
        ...
    def resolve_conj(self) -> Tensor:
        """The tensor: it is as it says.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.resolve_conj(x)
        tensor([1., 2., 3.])
        >>> x.resolve_conj()
        tensor([1., 2., 3.])"""
        ...
    def resolve_neg(self) -> Tensor:
        """The tensor: it is as it says.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.resolve_neg(x)
        tensor([1., 2., 3.])
        >>> x.resolve_neg()
        tensor([1., 2., 3.])"""
        ...
    def retain_grad(self) -> None:
        """Keep the gradient of a tensor that is no leaf in its `grad`.

        Examples
        --------
        >>> x = opweave.ones(2, requires_grad=True)
        >>> y = x * 2
        >>> y.retain_grad()
        >>> y.sum().backward()
        >>> y.grad
        tensor([1., 1.])"""
        ...
    @property
    def retains_grad(self) -> _bool:
        """Whether `retain_grad` keeps this non-leaf's gradient."""
        ...
    @overload
    def roll(self, shifts: Int | Sequence[Int], dims: Int | Sequence[Int] = ...) -> Tensor: ...
    @overload
    def roll(self, shifts: Int | Sequence[Int], axis: Int | Sequence[Int] = ...) -> Tensor:
        """Shift elements along dimensions, those beyond the end coming back at the start.

        Parameters
        ----------
        shifts : int or sequence of int
            How far.
        dims : int or sequence of int, default ()
            The dimensions, counted from the end where negative.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.roll(x, 1)
        tensor([3., 1., 2.])
        >>> x.roll(1)
        tensor([3., 1., 2.])"""
        ...
    @overload
    def rot90(self, k: Int = 1, dims: Sequence[Int] = ...) -> Tensor: ...
    @overload
    def rot90(self, k: Int = 1, axis: Sequence[Int] = ...) -> Tensor:
        """Turned by k quarters, from the first of two dimensions towards the second.

        Parameters
        ----------
        k : int, default 1
            How many quarters.
        dims : sequence of int, default (0, 1)
            The dimensions, counted from the end where negative.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.rot90(x)
        tensor([[2., 4.],
                [1., 3.]])
        >>> x.rot90()
        tensor([[2., 4.],
                [1., 3.]])"""
        ...
    @overload
    def round(self) -> Tensor: ...
    @overload
    def round(self, *, decimals: Int) -> Tensor:
        """The nearest whole number, or number of so many decimals; half goes to even.

        Parameters
        ----------
        decimals : int, optional
            How many decimals; negative numbers round before the point.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([0.5, 1.25, -1.5])
        >>> opweave.round(x)
        tensor([ 0.,  1., -2.])
        >>> x.round()
        tensor([ 0.,  1., -2.])"""
        ...
    @overload
    def round_(self) -> Tensor: ...
    @overload
    def round_(self, *, decimals: Int) -> Tensor:
        """The nearest whole number, or number of so many decimals; half goes to even.

        Parameters
        ----------
        decimals : int, optional
            How many decimals; negative numbers round before the point.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0.5, 1.25, -1.5])
        >>> x.round_()
        tensor([ 0.,  1., -2.])"""
        ...
    def rsqrt(self) -> Tensor:
        """1 / √x for each element.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> opweave.rsqrt(x)
        tensor([2.0000, 1.4142, 1.0000])
        >>> x.rsqrt()
        tensor([2.0000, 1.4142, 1.0000])"""
        ...
    def rsqrt_(self) -> Tensor:
        """1 / √x for each element. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> x.rsqrt_()
        tensor([2.0000, 1.4142, 1.0000])"""
        ...
    @overload
    def rsub(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor: ...
    @overload
    def rsub(self, other: Number, alpha: Number = 1) -> Tensor:
        """`other - alpha * input`, element by element.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.
        alpha : number, default 1
            A factor.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> opweave.rsub(x, y)
        tensor([3., 3., 3.])
        >>> x.rsub(y)
        tensor([3., 3., 3.])"""
        ...
    @overload
    def scatter(self, dim: Int, index: Tensor, src: Tensor) -> Tensor: ...
    @overload
    def scatter(self, axis: Int, index: Tensor, src: Tensor) -> Tensor: ...
    @overload
    def scatter(self, dim: Int, index: Tensor, value: Number) -> Tensor: ...
    @overload
    def scatter(self, axis: Int, index: Tensor, value: Number) -> Tensor: ...
    @overload
    def scatter(self, dim: Int, index: Tensor, value: Number, *, reduce: Literal['add', 'multiply']) -> Tensor: ...
    @overload
    def scatter(self, axis: Int, index: Tensor, value: Number, *, reduce: Literal['add', 'multiply']) -> Tensor: ...
    @overload
    def scatter(self, dim: Int, index: Tensor, src: Tensor, *, reduce: Literal['add', 'multiply']) -> Tensor: ...
    @overload
    def scatter(self, axis: Int, index: Tensor, src: Tensor, *, reduce: Literal['add', 'multiply']) -> Tensor:
        """A copy with elements of `src`, or a number, at places along a dimension that `index` says.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        index : Tensor
            Which places, as whole numbers.
        value : number, optional
            The number.
        src : Tensor, optional
            What is written.
        reduce : {'add', 'multiply'}, optional
            How elements for one place are combined.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([2, 0])
        >>> z = opweave.tensor([8.0, 9.0])
        >>> opweave.scatter(x, 0, y, z)
        tensor([9., 2., 8.])
        >>> x.scatter(0, y, z)
        tensor([9., 2., 8.])"""
        ...
    @overload
    def scatter_(self, dim: Int, index: Tensor, src: Tensor) -> Tensor: ...
    @overload
    def scatter_(self, axis: Int, index: Tensor, src: Tensor) -> Tensor: ...
    @overload
    def scatter_(self, dim: Int, index: Tensor, value: Number) -> Tensor: ...
    @overload
    def scatter_(self, axis: Int, index: Tensor, value: Number) -> Tensor: ...
    @overload
    def scatter_(self, dim: Int, index: Tensor, value: Number, *, reduce: Literal['add', 'multiply']) -> Tensor: ...
    @overload
    def scatter_(self, axis: Int, index: Tensor, value: Number, *, reduce: Literal['add', 'multiply']) -> Tensor: ...
    @overload
    def scatter_(self, dim: Int, index: Tensor, src: Tensor, *, reduce: Literal['add', 'multiply']) -> Tensor: ...
    @overload
    def scatter_(self, axis: Int, index: Tensor, src: Tensor, *, reduce: Literal['add', 'multiply']) -> Tensor:
        """A copy with elements of `src`, or a number, at places along a dimension that `index` says. In place.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        index : Tensor
            Which places, as whole numbers.
        value : number, optional
            The number.
        src : Tensor, optional
            What is written.
        reduce : {'add', 'multiply'}, optional
            How elements for one place are combined.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([2, 0])
        >>> z = opweave.tensor([8.0, 9.0])
        >>> x.scatter_(0, y, z)
        tensor([9., 2., 8.])"""
        ...
    @overload
    def scatter_add(self, dim: Int, index: Tensor, src: Tensor) -> Tensor: ...
    @overload
    def scatter_add(self, axis: Int, index: Tensor, src: Tensor) -> Tensor:
        """A copy with `out[index[i][j]][j] += src[i][j]` for dimension 0, and so on.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        index : Tensor
            Which places, as whole numbers.
        src : Tensor
            What is written.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([0, 0])
        >>> z = opweave.tensor([8.0, 9.0])
        >>> opweave.scatter_add(x, 0, y, z)
        tensor([18.,  2.,  3.])
        >>> x.scatter_add(0, y, z)
        tensor([18.,  2.,  3.])"""
        ...
    @overload
    def scatter_add_(self, dim: Int, index: Tensor, src: Tensor) -> Tensor: ...
    @overload
    def scatter_add_(self, axis: Int, index: Tensor, src: Tensor) -> Tensor:
        """A copy with `out[index[i][j]][j] += src[i][j]` for dimension 0, and so on. In place.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        index : Tensor
            Which places, as whole numbers.
        src : Tensor
            What is written.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([0, 0])
        >>> z = opweave.tensor([8.0, 9.0])
        >>> x.scatter_add_(0, y, z)
        tensor([18.,  2.,  3.])"""
        ...
    @overload
    def scatter_reduce(self, dim: Int, index: Tensor, src: Tensor, reduce: Literal['sum', 'prod', 'mean', 'amax', 'amin'], *, include_self: Bool = True) -> Tensor: ...
    @overload
    def scatter_reduce(self, axis: Int, index: Tensor, src: Tensor, reduce: Literal['sum', 'prod', 'mean', 'amax', 'amin'], *, include_self: Bool = True) -> Tensor:
        """A copy in which each place is reduced with all elements of the source that `index` sends there.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        index : Tensor
            Which places, as whole numbers.
        src : Tensor
            What is written.
        reduce : {'sum', 'prod', 'mean', 'amax', 'amin'}
            How elements for one place are combined.
        include_self : bool, default True
            Whether what is there counts, too.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([0, 0])
        >>> z = opweave.tensor([8.0, 9.0])
        >>> opweave.scatter_reduce(x, 0, y, z, 'amax')
        tensor([9., 2., 3.])
        >>> x.scatter_reduce(0, y, z, 'amax')
        tensor([9., 2., 3.])"""
        ...
    @overload
    def scatter_reduce_(self, dim: Int, index: Tensor, src: Tensor, reduce: Literal['sum', 'prod', 'mean', 'amax', 'amin'], *, include_self: Bool = True) -> Tensor: ...
    @overload
    def scatter_reduce_(self, axis: Int, index: Tensor, src: Tensor, reduce: Literal['sum', 'prod', 'mean', 'amax', 'amin'], *, include_self: Bool = True) -> Tensor:
        """A copy in which each place is reduced with all elements of the source that `index` sends there. In place.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        index : Tensor
            Which places, as whole numbers.
        src : Tensor
            What is written.
        reduce : {'sum', 'prod', 'mean', 'amax', 'amin'}
            How elements for one place are combined.
        include_self : bool, default True
            Whether what is there counts, too.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([0, 0])
        >>> z = opweave.tensor([8.0, 9.0])
        >>> x.scatter_reduce_(0, y, z, 'amax')
        tensor([9., 2., 3.])"""
        ...
    @overload
    def select(self, dim: Int, index: Int) -> Tensor: ...
    @overload
    def select(self, axis: Int, index: Int) -> Tensor:
        """A view of one place of a dimension, which is gone.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        index : int
            Which places, as whole numbers.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.select(x, 0, 1)
        tensor([3., 4.])
        >>> x.select(0, 1)
        tensor([3., 4.])"""
        ...
    @overload
    def select_copy(self, dim: Int, index: Int) -> Tensor: ...
    @overload
    def select_copy(self, axis: Int, index: Int) -> Tensor:
        """A view of one place of a dimension, which is gone. Here as a copy.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        index : int
            Which places, as whole numbers.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.select_copy(x, 0, 1)
        tensor([3., 4.])
        >>> x.select_copy(0, 1)
        tensor([3., 4.])"""
        ...
    @overload
    def select_scatter(self, src: Tensor, dim: Int, index: Int) -> Tensor: ...
    @overload
    def select_scatter(self, src: Tensor, axis: Int, index: Int) -> Tensor:
        """A copy of a tensor in which another one stands at an index of a dimension.

        Parameters
        ----------
        src : Tensor
            What is written.
        dim : int
            The dimension, counted from the end where negative.
        index : int
            Which places, as whole numbers.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> y = opweave.tensor([8.0, 9.0])
        >>> opweave.select_scatter(x, y, 0, 1)
        tensor([[1., 2.],
                [8., 9.]])
        >>> x.select_scatter(y, 0, 1)
        tensor([[1., 2.],
                [8., 9.]])"""
        ...
    def selu(self) -> Tensor:
        """Elu with the two constants that keep mean 0 and variance 1 (Klambauer et al. 2017).

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[-3.6, 6.5, -0.7, -8.0], [2.2, -5.1, 5.1, -2.2], [8.0, 0.7, -6.5, 3.6]])
        >>> opweave.selu(x)
        tensor([[-1.7101,  6.8296, -0.8851, -1.7575],
                [ 2.3115, -1.7474,  5.3586, -1.5633],
                [ 8.4056,  0.7355, -1.7555,  3.7825]])
        >>> x.selu()
        tensor([[-1.7101,  6.8296, -0.8851, -1.7575],
                [ 2.3115, -1.7474,  5.3586, -1.5633],
                [ 8.4056,  0.7355, -1.7555,  3.7825]])"""
        ...
    def set_(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: views, graphs and what autograd saved rely on a tensor's memory; write `x = other.view(sizes)`.

        Examples
        --------
        >>> x = other.view(sizes)  # doctest: +SKIP"""
        ...
    def sgn(self) -> Tensor:
        """x / |x|, 0 for 0: the sign of a real number, the direction of a complex one.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.sgn(x)
        tensor([-1.,  1.,  1.])
        >>> x.sgn()
        tensor([-1.,  1.,  1.])"""
        ...
    def sgn_(self) -> Tensor:
        """x / |x|, 0 for 0: the sign of a real number, the direction of a complex one. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.sgn_()
        tensor([-1.,  1.,  1.])"""
        ...
    def short(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor with elements of type int16; itself where it has that type already.

        Examples
        --------
        >>> opweave.tensor([0, 2]).short().dtype
        opweave.int16"""
        ...
    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-x)) for each element.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.sigmoid(x)
        tensor([0.2689, 0.6225, 0.8808])
        >>> x.sigmoid()
        tensor([0.2689, 0.6225, 0.8808])"""
        ...
    def sigmoid_(self) -> Tensor:
        """1 / (1 + exp(-x)) for each element. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.sigmoid_()
        tensor([0.2689, 0.6225, 0.8808])"""
        ...
    def sign(self) -> Tensor:
        """-1, 0 or 1; 0 for NaN, as in PyTorch.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.sign(x)
        tensor([-1.,  1.,  1.])
        >>> x.sign()
        tensor([-1.,  1.,  1.])"""
        ...
    def sign_(self) -> Tensor:
        """-1, 0 or 1; 0 for NaN, as in PyTorch. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.sign_()
        tensor([-1.,  1.,  1.])"""
        ...
    def signbit(self) -> Tensor:
        """Whether the sign of each element is negative, of -0.0 too.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements are bool.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.signbit(x)
        tensor([ True, False, False])
        >>> x.signbit()
        tensor([ True, False, False])"""
        ...
    def silu(self) -> Tensor:
        """x sigmoid(x) (Elfwing et al. 2017).

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.silu()
        tensor([-0.2689,  0.3112,  1.7616])"""
        ...
    def silu_(self) -> Tensor:
        """x sigmoid(x) (Elfwing et al. 2017). In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.silu_()
        tensor([-0.2689,  0.3112,  1.7616])"""
        ...
    def sin(self) -> Tensor:
        """The sine of each element, in radians.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.sin(x)
        tensor([-0.8415,  0.4794,  0.9093])
        >>> x.sin()
        tensor([-0.8415,  0.4794,  0.9093])"""
        ...
    def sin_(self) -> Tensor:
        """The sine of each element, in radians. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.sin_()
        tensor([-0.8415,  0.4794,  0.9093])"""
        ...
    def sinc(self) -> Tensor:
        """sin(πx) / (πx), 1 at 0.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([0.2, 0.5, 0.9])
        >>> opweave.sinc(x)
        tensor([0.9355, 0.6366, 0.1093])
        >>> x.sinc()
        tensor([0.9355, 0.6366, 0.1093])"""
        ...
    def sinc_(self) -> Tensor:
        """sin(πx) / (πx), 1 at 0. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0.2, 0.5, 0.9])
        >>> x.sinc_()
        tensor([0.9355, 0.6366, 0.1093])"""
        ...
    def sinh(self) -> Tensor:
        """The hyperbolic sine of each element.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.sinh(x)
        tensor([-1.1752,  0.5211,  3.6269])
        >>> x.sinh()
        tensor([-1.1752,  0.5211,  3.6269])"""
        ...
    def sinh_(self) -> Tensor:
        """The hyperbolic sine of each element. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.sinh_()
        tensor([-1.1752,  0.5211,  3.6269])"""
        ...
    @overload
    def slice(self, dim: Int = 0, start: Int | None = None, end: Int | None = None, step: Int = 1) -> Tensor: ...
    @overload
    def slice(self, axis: Int = 0, start: Int | None = None, end: Int | None = None, step: Int = 1) -> Tensor:
        """A view of places of a dimension from `start` up to `end`, `step` apart.

        Parameters
        ----------
        dim : int, default 0
            The dimension, counted from the end where negative.
        start : int, optional
            Where it begins.
        end : int, optional
            Where it ends.
        step : int, default 1
            How far apart.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.slice(x, 0, 1, 3)
        tensor([2., 3.])
        >>> x.slice(0, 1, 3)
        tensor([2., 3.])"""
        ...
    @overload
    def slice_copy(self, dim: Int = 0, start: Int | None = None, end: Int | None = None, step: Int = 1) -> Tensor: ...
    @overload
    def slice_copy(self, axis: Int = 0, start: Int | None = None, end: Int | None = None, step: Int = 1) -> Tensor:
        """A view of places of a dimension from `start` up to `end`, `step` apart. Here as a copy.

        Parameters
        ----------
        dim : int, default 0
            The dimension, counted from the end where negative.
        start : int, optional
            Where it begins.
        end : int, optional
            Where it ends.
        step : int, default 1
            How far apart.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.slice_copy(x, 0, 1, 3)
        tensor([2., 3.])
        >>> x.slice_copy(0, 1, 3)
        tensor([2., 3.])"""
        ...
    @overload
    def slice_scatter(self, src: Tensor, dim: Int = 0, start: Int | None = None, end: Int | None = None, step: Int = 1) -> Tensor: ...
    @overload
    def slice_scatter(self, src: Tensor, axis: Int = 0, start: Int | None = None, end: Int | None = None, step: Int = 1) -> Tensor:
        """A copy of a tensor in which another one stands for a slice of a dimension.

        Parameters
        ----------
        src : Tensor
            What is written.
        dim : int, default 0
            The dimension, counted from the end where negative.
        start : int, optional
            Where it begins.
        end : int, optional
            Where it ends.
        step : int, default 1
            How far apart.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([8.0, 9.0])
        >>> opweave.slice_scatter(x, y, 0, 1, 3)
        tensor([1., 8., 9.])
        >>> x.slice_scatter(y, 0, 1, 3)
        tensor([1., 8., 9.])"""
        ...
    def slogdet(self) -> return_types.slogdet:
        """As `linalg.slogdet`.

        Returns
        -------
        return_types.slogdet
            A named tuple of tensors: sign, logabsdet.

        Examples
        --------
        >>> x = opweave.tensor([[2.0, 0.0], [0.0, 4.0]])
        >>> opweave.slogdet(x)
        opweave.return_types.slogdet(
        sign=tensor(1.),
        logabsdet=tensor(2.0794))
        >>> x.slogdet()
        opweave.return_types.slogdet(
        sign=tensor(1.),
        logabsdet=tensor(2.0794))"""
        ...
    def smooth_l1_loss(self, target: Tensor, reduction: Int = 1, beta: Float = 1.0) -> Tensor:
        """d² / (2 beta) for a difference d below beta, d - beta / 2 beyond (Girshick 2015).

        Parameters
        ----------
        target : Tensor
            What it should be.
        reduction : int, default 1
            0 none, 1 mean, 2 sum.
        beta : float, default 1.0
            Where the square ends.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([0.0, 0.0])
        >>> y = opweave.tensor([0.5, 3.0])
        >>> x.smooth_l1_loss(y)
        tensor(1.3125)"""
        ...
    def soft_margin_loss(self, target: Tensor, reduction: Int = 1) -> Tensor:
        """log(1 + exp(-t x)).

        Parameters
        ----------
        target : Tensor
            What it should be.
        reduction : int, default 1
            0 none, 1 mean, 2 sum.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0])
        >>> y = opweave.tensor([1.0])
        >>> x.soft_margin_loss(y)
        tensor(0.3133)"""
        ...
    @overload
    def softmax(self, dim: Int, dtype: DTypeLike | None = None) -> Tensor: ...
    @overload
    def softmax(self, axis: Int, dtype: DTypeLike | None = None) -> Tensor:
        """exp(x) divided by its sum along a dimension, so that the results are positive and add up to 1.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        dtype : dtype, optional
            The element type of the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.softmax(x, 0)
        tensor([0.0900, 0.2447, 0.6652])
        >>> x.softmax(0)
        tensor([0.0900, 0.2447, 0.6652])"""
        ...
    def softplus(self, beta: Number = 1, threshold: Number = 20) -> Tensor:
        """log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold.

        Parameters
        ----------
        beta : number, default 1
            How sharp the bend is.
        threshold : number, default 20
            The threshold.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.softplus(x)
        tensor([0.3133, 0.9741, 2.1269])
        >>> x.softplus()
        tensor([0.3133, 0.9741, 2.1269])"""
        ...
    def softshrink(self, lambd: Number = 0.5) -> Tensor:
        """x nearer to 0 by lambd, and 0 where it is no further than that.

        Parameters
        ----------
        lambd : number, default 0.5
            The limit.

        Returns
        -------
        Tensor
            Its shape is the argument's.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.softshrink()
        tensor([-0.5000,  0.0000,  1.5000])"""
        ...
    @overload
    def sort(self, dim: Int = -1, descending: Bool = False) -> return_types.sort: ...
    @overload
    def sort(self, axis: Int = -1, descending: Bool = False) -> return_types.sort: ...
    @overload
    def sort(self, *, stable: Bool | None, dim: Int = -1, descending: Bool = False) -> return_types.sort: ...
    @overload
    def sort(self, *, stable: Bool | None, axis: Int = -1, descending: Bool = False) -> return_types.sort:
        """The elements along a dimension in order, and where each was.

        Parameters
        ----------
        dim : int, default -1
            The dimension, counted from the end where negative.
        descending : bool, default False
            Whether the largest comes first.
        stable : bool, optional
            Whether equal elements keep their order.

        Returns
        -------
        return_types.sort
            A named tuple of tensors: values, indices.

        Examples
        --------
        >>> x = opweave.tensor([3.0, 1.0, 2.0])
        >>> opweave.sort(x)
        opweave.return_types.sort(
        values=tensor([1., 2., 3.]),
        indices=tensor([1, 2, 0]))
        >>> x.sort()
        opweave.return_types.sort(
        values=tensor([1., 2., 3.]),
        indices=tensor([1, 2, 0]))"""
        ...
    @overload
    def split(self, split_size: Sequence[Int], dim: Int = 0) -> _tuple[Tensor, ...]: ...
    @overload
    def split(self, split_size: Sequence[Int], axis: Int = 0) -> _tuple[Tensor, ...]: ...
    @overload
    def split(self, split_size: Int, dim: Int = 0) -> _tuple[Tensor, ...]: ...
    @overload
    def split(self, split_size: Int, axis: Int = 0) -> _tuple[Tensor, ...]:
        """Parts of a dimension, so large as one number or a list of them says, as views.

        Parameters
        ----------
        split_size : sequence of int or int
            How large the parts are.
        dim : int, default 0
            The dimension, counted from the end where negative.

        Returns
        -------
        tuple[Tensor, ...]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.split(x, 2)
        (tensor([1., 2.]), tensor([3.]))
        >>> x.split(2)
        (tensor([1., 2.]), tensor([3.]))"""
        ...
    @overload
    def split_copy(self, split_size: Int, dim: Int = 0) -> _tuple[Tensor, ...]: ...
    @overload
    def split_copy(self, split_size: Int, axis: Int = 0) -> _tuple[Tensor, ...]:
        """Parts of a dimension, so large as one number or a list of them says, as views. Here as a copy.

        Parameters
        ----------
        split_size : int
            How large the parts are.
        dim : int, default 0
            The dimension, counted from the end where negative.

        Returns
        -------
        tuple[Tensor, ...]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.split_copy(x, 2)
        (tensor([1., 2.]), tensor([3.]))
        >>> x.split_copy(2)
        (tensor([1., 2.]), tensor([3.]))"""
        ...
    @overload
    def split_with_sizes(self, split_sizes: Sequence[Int], dim: Int = 0) -> _tuple[Tensor, ...]: ...
    @overload
    def split_with_sizes(self, split_sizes: Sequence[Int], axis: Int = 0) -> _tuple[Tensor, ...]:
        """Parts of a dimension that are so large as a list says, as views.

        Parameters
        ----------
        split_sizes : sequence of int
            How large each part is.
        dim : int, default 0
            The dimension, counted from the end where negative.

        Returns
        -------
        tuple[Tensor, ...]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.split_with_sizes(x, [1, 2])
        (tensor([1.]), tensor([2., 3.]))
        >>> x.split_with_sizes([1, 2])
        (tensor([1.]), tensor([2., 3.]))"""
        ...
    @overload
    def split_with_sizes_copy(self, split_sizes: Sequence[Int], dim: Int = 0) -> _tuple[Tensor, ...]: ...
    @overload
    def split_with_sizes_copy(self, split_sizes: Sequence[Int], axis: Int = 0) -> _tuple[Tensor, ...]:
        """Parts of a dimension that are so large as a list says, as views. Here as a copy.

        Parameters
        ----------
        split_sizes : sequence of int
            How large each part is.
        dim : int, default 0
            The dimension, counted from the end where negative.

        Returns
        -------
        tuple[Tensor, ...]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.split_with_sizes_copy(x, [1, 2])
        (tensor([1.]), tensor([2., 3.]))
        >>> x.split_with_sizes_copy([1, 2])
        (tensor([1.]), tensor([2., 3.]))"""
        ...
    def sqrt(self) -> Tensor:
        """The square root of each element; NaN for negative numbers.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> opweave.sqrt(x)
        tensor([0.5000, 0.7071, 1.0000])
        >>> x.sqrt()
        tensor([0.5000, 0.7071, 1.0000])"""
        ...
    def sqrt_(self) -> Tensor:
        """The square root of each element; NaN for negative numbers. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([0.25, 0.5, 1.0])
        >>> x.sqrt_()
        tensor([0.5000, 0.7071, 1.0000])"""
        ...
    def square(self) -> Tensor:
        """The square of each element.

        Returns
        -------
        Tensor
            Its shape is the argument's.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.square(x)
        tensor([1.0000, 0.2500, 4.0000])
        >>> x.square()
        tensor([1.0000, 0.2500, 4.0000])"""
        ...
    def square_(self) -> Tensor:
        """The square of each element. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.square_()
        tensor([1.0000, 0.2500, 4.0000])"""
        ...
    @overload
    def squeeze(self) -> Tensor: ...
    @overload
    def squeeze(self, dim: Int) -> Tensor: ...
    @overload
    def squeeze(self, axis: Int) -> Tensor: ...
    @overload
    def squeeze(self, dim: Sequence[Int]) -> Tensor: ...
    @overload
    def squeeze(self, axis: Sequence[Int]) -> Tensor: ...
    @overload
    def squeeze(self, *dim: Int) -> Tensor:
        """A view without dimensions of size 1: all of them, or those that are named.

        Parameters
        ----------
        dim : int or sequence of int, optional
            The dimension, counted from the end where negative.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([[1.0], [2.0]])
        >>> opweave.squeeze(x, 1)
        tensor([1., 2.])
        >>> x.squeeze(1)
        tensor([1., 2.])"""
        ...
    @overload
    def squeeze_(self) -> Tensor: ...
    @overload
    def squeeze_(self, dim: Int) -> Tensor: ...
    @overload
    def squeeze_(self, axis: Int) -> Tensor: ...
    @overload
    def squeeze_(self, dim: Sequence[Int]) -> Tensor: ...
    @overload
    def squeeze_(self, axis: Sequence[Int]) -> Tensor: ...
    @overload
    def squeeze_(self, *dim: Int) -> Tensor:
        """A view without dimensions of size 1: all of them, or those that are named. In place.

        Parameters
        ----------
        dim : int or sequence of int, optional
            The dimension, counted from the end where negative.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([[1.0], [2.0]])
        >>> x.squeeze_(1)
        tensor([1., 2.])"""
        ...
    @overload
    def squeeze_copy(self) -> Tensor: ...
    @overload
    def squeeze_copy(self, dim: Int) -> Tensor: ...
    @overload
    def squeeze_copy(self, axis: Int) -> Tensor: ...
    @overload
    def squeeze_copy(self, dim: Sequence[Int]) -> Tensor: ...
    @overload
    def squeeze_copy(self, axis: Sequence[Int]) -> Tensor: ...
    @overload
    def squeeze_copy(self, *dim: Int) -> Tensor:
        """A view without dimensions of size 1: all of them, or those that are named. Here as a copy.

        Parameters
        ----------
        dim : int or sequence of int, optional
            The dimension, counted from the end where negative.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0], [2.0]])
        >>> opweave.squeeze_copy(x, 1)
        tensor([1., 2.])
        >>> x.squeeze_copy(1)
        tensor([1., 2.])"""
        ...
    @overload
    def std(self, dim: Int | Sequence[Int] | None = None, *, correction: Number | None = None, keepdim: Bool = False, keepdims: Bool = False) -> Tensor: ...
    @overload
    def std(self, axis: Int | Sequence[Int] | None = None, *, correction: Number | None = None, keepdim: Bool = False, keepdims: Bool = False) -> Tensor: ...
    @overload
    def std(self, *dim: Int, correction: Number | None = None, keepdim: Bool = False, keepdims: Bool = False) -> Tensor: ...
    @overload
    def std(self, unbiased: Bool = True) -> Tensor: ...
    @overload
    def std(self, dim: Int | Sequence[Int] | None, unbiased: Bool = True, keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor: ...
    @overload
    def std(self, axis: Int | Sequence[Int] | None, unbiased: Bool = True, keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor:
        """The standard deviation of all elements, or over dimensions.

        Parameters
        ----------
        unbiased : bool, default True
            Whether to divide by the number of elements less 1.
        dim : int or sequence of int, optional
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.
        correction : number, optional
            What is subtracted from the number of elements before dividing by it; 1 by default.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.std(x, 1)
        tensor([1., 1.])
        >>> x.std(1)
        tensor([1., 1.])"""
        ...
    @overload
    def std_mean(self, dim: Int | Sequence[Int] | None = None, *, correction: Number | None = None, keepdim: Bool = False, keepdims: Bool = False) -> _tuple[Tensor, Tensor]: ...
    @overload
    def std_mean(self, axis: Int | Sequence[Int] | None = None, *, correction: Number | None = None, keepdim: Bool = False, keepdims: Bool = False) -> _tuple[Tensor, Tensor]: ...
    @overload
    def std_mean(self, *dim: Int, correction: Number | None = None, keepdim: Bool = False, keepdims: Bool = False) -> _tuple[Tensor, Tensor]: ...
    @overload
    def std_mean(self, unbiased: Bool = True) -> _tuple[Tensor, Tensor]: ...
    @overload
    def std_mean(self, dim: Int | Sequence[Int] | None, unbiased: Bool = True, keepdim: Bool = False, *, keepdims: Bool = False) -> _tuple[Tensor, Tensor]: ...
    @overload
    def std_mean(self, axis: Int | Sequence[Int] | None, unbiased: Bool = True, keepdim: Bool = False, *, keepdims: Bool = False) -> _tuple[Tensor, Tensor]:
        """The standard deviation and the mean of all elements, or over dimensions.

        Parameters
        ----------
        unbiased : bool, default True
            Whether to divide by the number of elements less 1.
        dim : int or sequence of int, optional
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.
        correction : number, optional
            What is subtracted from the number of elements before dividing by it; 1 by default.

        Returns
        -------
        tuple[Tensor, Tensor]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.std_mean(x, 1)
        (tensor([1., 1.]), tensor([2., 5.]))
        >>> x.std_mean(1)
        (tensor([1., 1.]), tensor([2., 5.]))"""
        ...
    def stft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: _str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
        """The Fourier transforms of windows of a signal (short-time Fourier transform), in columns.

        Parameters
        ----------
        n_fft : int
            Points of each transform.
        hop_length : int, optional
            From window to window; a quarter of `n_fft` by default.
        win_length : int, optional
            Points of the window, which stands in the middle of `n_fft`; as many by default.
        window : Tensor, optional
            What the points are multiplied by; ones by default.
        center : bool
            Whether the signal is padded, so that the t-th window is centred at `t * hop_length`.
        pad_mode : str
            How it is padded, as in `nn.functional.pad`.
        normalized : bool
            Whether to divide by the root of `n_fft`.
        onesided : bool, optional
            Whether to give the half that tells the rest; the default for real numbers.
        return_complex : bool, optional
            False for the parts in a last dimension of size 2.
        align_to_window : bool, optional
            Without `center`, whether the first window, rather than its `n_fft` points, starts where the signal does.

        Examples
        --------
        >>> opweave.stft(opweave.ones(16), 8, window=opweave.ones(8), return_complex=True).shape
        opweave.Size([5, 9])"""
        ...
    @overload
    def sub(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor: ...
    @overload
    def sub(self, other: Number, alpha: Number = 1) -> Tensor:
        """The difference `input - alpha * other`, element by element.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.
        alpha : number, default 1
            A factor of `other`.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> opweave.sub(x, y)
        tensor([-3., -3., -3.])
        >>> x.sub(y)
        tensor([-3., -3., -3.])"""
        ...
    @overload
    def sub_(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor: ...
    @overload
    def sub_(self, other: Number, alpha: Number = 1) -> Tensor:
        """The difference `input - alpha * other`, element by element. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.
        alpha : number, default 1
            A factor of `other`.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> x.sub_(y)
        tensor([-3., -3., -3.])"""
        ...
    @overload
    def subtract(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor: ...
    @overload
    def subtract(self, other: Number, alpha: Number = 1) -> Tensor:
        """The difference `input - alpha * other`, element by element.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.
        alpha : number, default 1
            A factor of `other`.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> opweave.sub(x, y)
        tensor([-3., -3., -3.])
        >>> x.sub(y)
        tensor([-3., -3., -3.])"""
        ...
    @overload
    def subtract_(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor: ...
    @overload
    def subtract_(self, other: Number, alpha: Number = 1) -> Tensor:
        """The difference `input - alpha * other`, element by element. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.
        alpha : number, default 1
            A factor of `other`.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> x.sub_(y)
        tensor([-3., -3., -3.])"""
        ...
    @overload
    def sum(self, *, dtype: DTypeLike | None = None) -> Tensor: ...
    @overload
    def sum(self, dim: Int | Sequence[Int] | None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, keepdims: Bool = False) -> Tensor: ...
    @overload
    def sum(self, axis: Int | Sequence[Int] | None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, keepdims: Bool = False) -> Tensor:
        """The sum of all elements, or over dimensions.

        Parameters
        ----------
        dim : int or sequence of int, optional
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.
        dtype : dtype, optional
            The element type of the result.

        Returns
        -------
        Tensor
            A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.sum(x, 1)
        tensor([ 6., 15.])
        >>> x.sum(1)
        tensor([ 6., 15.])"""
        ...
    @overload
    def sum_to_size(self, size: Sequence[Int]) -> Tensor: ...
    @overload
    def sum_to_size(self, *size: Int) -> Tensor:
        """The sums that broadcasting to the tensor's sizes would undo.

        Parameters
        ----------
        size : sequence of int
            The sizes.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.sum_to_size(x, [1, 3])
        tensor([[5., 7., 9.]])
        >>> x.sum_to_size([1, 3])
        tensor([[5., 7., 9.]])"""
        ...
    def svd(self, some: Bool = True, compute_uv: Bool = True) -> return_types.svd:
        """U, S and V (not transposed); without vectors, zeros stand for U and V.

        Parameters
        ----------
        some : bool, default True
            Whether the matrices of vectors are as small as can be.
        compute_uv : bool, default True
            Whether to compute the vectors.

        Returns
        -------
        return_types.svd
            A named tuple of tensors: U, S, V.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> [t.shape for t in opweave.svd(x)]
        [opweave.Size([2, 2]), opweave.Size([2]), opweave.Size([3, 2])]
        >>> [t.shape for t in x.svd()]
        [opweave.Size([2, 2]), opweave.Size([2]), opweave.Size([3, 2])]"""
        ...
    def swapaxes(self, axis0: Int, axis1: Int) -> Tensor:
        """A view with two dimensions exchanged; another name of `transpose`.

        Parameters
        ----------
        axis0 : int
            One dimension.
        axis1 : int
            Another dimension.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.swapaxes(x, 0, 1)
        tensor([[1., 4.],
                [2., 5.],
                [3., 6.]])
        >>> x.swapaxes(0, 1)
        tensor([[1., 4.],
                [2., 5.],
                [3., 6.]])"""
        ...
    def swapaxes_(self, axis0: Int, axis1: Int) -> Tensor:
        """A view with two dimensions exchanged; another name of `transpose`. In place.

        Parameters
        ----------
        axis0 : int
            One dimension.
        axis1 : int
            Another dimension.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.swapaxes_(0, 1)
        tensor([[1., 4.],
                [2., 5.],
                [3., 6.]])"""
        ...
    def swapdims(self, dim0: Int, dim1: Int) -> Tensor:
        """A view with two dimensions exchanged; another name of `transpose`.

        Parameters
        ----------
        dim0 : int
            One dimension.
        dim1 : int
            Another dimension.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.swapdims(x, 0, 1)
        tensor([[1., 4.],
                [2., 5.],
                [3., 6.]])
        >>> x.swapdims(0, 1)
        tensor([[1., 4.],
                [2., 5.],
                [3., 6.]])"""
        ...
    def swapdims_(self, dim0: Int, dim1: Int) -> Tensor:
        """A view with two dimensions exchanged; another name of `transpose`. In place.

        Parameters
        ----------
        dim0 : int
            One dimension.
        dim1 : int
            Another dimension.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.swapdims_(0, 1)
        tensor([[1., 4.],
                [2., 5.],
                [3., 6.]])"""
        ...
    def sym_is_contiguous(self, memory_format: MemoryFormat = ...) -> _bool:
        """Whether the elements lie in row-major order, or that of another format, without gaps.

        Parameters
        ----------
        memory_format : memory_format, default opweave.contiguous_format
            How the result lies in memory.

        Returns
        -------
        bool
            The answer, as Python has it.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.sym_is_contiguous()
        True"""
        ...
    def sym_numel(self) -> _int:
        """Number of elements.

        Returns
        -------
        int
            The answer, as Python has it.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.sym_numel()
        6"""
        ...
    @overload
    def sym_size(self, dim: Int) -> _int: ...
    @overload
    def sym_size(self, axis: Int) -> _int:
        """Size of a dimension.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.

        Returns
        -------
        int
            The answer, as Python has it.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.sym_size(1)
        3"""
        ...
    def sym_storage_offset(self) -> _int:
        """Elements from the start of the storage.

        Returns
        -------
        int
            The answer, as Python has it.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.sym_storage_offset()
        0"""
        ...
    @overload
    def sym_stride(self, dim: Int) -> _int: ...
    @overload
    def sym_stride(self, axis: Int) -> _int:
        """Stride of a dimension, in elements.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.

        Returns
        -------
        int
            The answer, as Python has it.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.sym_stride(0)
        3"""
        ...
    def t(self) -> Tensor:
        """A view of a matrix with its dimensions exchanged; a vector as it is.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.t(x)
        tensor([[1., 4.],
                [2., 5.],
                [3., 6.]])
        >>> x.t()
        tensor([[1., 4.],
                [2., 5.],
                [3., 6.]])"""
        ...
    def t_(self) -> Tensor:
        """A view of a matrix with its dimensions exchanged; a vector as it is. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.t_()
        tensor([[1., 4.],
                [2., 5.],
                [3., 6.]])"""
        ...
    def t_copy(self) -> Tensor:
        """A view of a matrix with its dimensions exchanged; a vector as it is. Here as a copy.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.t_copy(x)
        tensor([[1., 4.],
                [2., 5.],
                [3., 6.]])
        >>> x.t_copy()
        tensor([[1., 4.],
                [2., 5.],
                [3., 6.]])"""
        ...
    def take(self, index: Tensor) -> Tensor:
        """Elements of the flattened tensor at these places.

        Parameters
        ----------
        index : Tensor
            Which places, as whole numbers.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> y = opweave.tensor([0, 5])
        >>> opweave.take(x, y)
        tensor([1., 6.])
        >>> x.take(y)
        tensor([1., 6.])"""
        ...
    @overload
    def take_along_dim(self, indices: Tensor, dim: Int | None = None) -> Tensor: ...
    @overload
    def take_along_dim(self, indices: Tensor, axis: Int | None = None) -> Tensor:
        """Elements along a dimension at places that indices say, as `argsort` gives them.

        Parameters
        ----------
        indices : Tensor
            Which places, as whole numbers.
        dim : int, optional
            The dimension, counted from the end where negative.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([3.0, 1.0, 2.0])
        >>> y = opweave.tensor([1, 2, 0])
        >>> opweave.take_along_dim(x, y, 0)
        tensor([1., 2., 3.])
        >>> x.take_along_dim(y, 0)
        tensor([1., 2., 3.])"""
        ...
    def tan(self) -> Tensor:
        """The tangent of each element, in radians.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.tan(x)
        tensor([-1.5574,  0.5463, -2.1850])
        >>> x.tan()
        tensor([-1.5574,  0.5463, -2.1850])"""
        ...
    def tan_(self) -> Tensor:
        """The tangent of each element, in radians. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.tan_()
        tensor([-1.5574,  0.5463, -2.1850])"""
        ...
    def tanh(self) -> Tensor:
        """The hyperbolic tangent of each element.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
            the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.tanh(x)
        tensor([-0.7616,  0.4621,  0.9640])
        >>> x.tanh()
        tensor([-0.7616,  0.4621,  0.9640])"""
        ...
    def tanh_(self) -> Tensor:
        """The hyperbolic tangent of each element. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.tanh_()
        tensor([-0.7616,  0.4621,  0.9640])"""
        ...
    @overload
    def tensor_split(self, sections: Int, dim: Int = 0) -> _tuple[Tensor, ...]: ...
    @overload
    def tensor_split(self, sections: Int, axis: Int = 0) -> _tuple[Tensor, ...]: ...
    @overload
    def tensor_split(self, indices: Sequence[Int], dim: Int = 0) -> _tuple[Tensor, ...]: ...
    @overload
    def tensor_split(self, indices: Sequence[Int], axis: Int = 0) -> _tuple[Tensor, ...]: ...
    @overload
    def tensor_split(self, tensor_indices_or_sections: Tensor, dim: Int = 0) -> _tuple[Tensor, ...]: ...
    @overload
    def tensor_split(self, tensor_indices_or_sections: Tensor, axis: Int = 0) -> _tuple[Tensor, ...]:
        """Parts of a dimension as views: a number of them as even as can be, or cut before these places.

        Parameters
        ----------
        tensor_indices_or_sections : Tensor, optional
            How many parts, or where to cut, as a tensor.
        indices : sequence of int, optional
            Which places, as whole numbers.
        sections : int, optional
            How many parts, or where to cut.
        dim : int, default 0
            The dimension, counted from the end where negative.

        Returns
        -------
        tuple[Tensor, ...]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.tensor_split(x, 2)
        (tensor([1., 2.]), tensor([3.]))
        >>> x.tensor_split(2)
        (tensor([1., 2.]), tensor([3.]))"""
        ...
    def tensordot(self, other: Tensor | Number, dims_self: Sequence[Int], dims_other: Sequence[Int]) -> Tensor:
        """The sum of products over pairs of dimensions; the other dimensions of the first, then of the second.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.
        dims_self : sequence of int
            See the schema: aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) ->
            Tensor.
        dims_other : sequence of int
            See the schema: aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) ->
            Tensor.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> y = opweave.tensor([[0.0, 1.0], [1.0, 0.0]])
        >>> opweave.tensordot(x, y, 1)
        tensor([[2., 1.],
                [4., 3.]])"""
        ...
    def threshold(self, threshold: Number, value: Number) -> Tensor:
        """x where it exceeds the threshold, else the value.

        Parameters
        ----------
        threshold : number
            The threshold.
        value : number
            The number.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-2.0, 0.0, 2.0])
        >>> opweave.threshold(x, 0.5, -1)
        tensor([-1., -1.,  2.])
        >>> x.threshold(0.5, -1)
        tensor([-1., -1.,  2.])"""
        ...
    def threshold_(self, threshold: Number, value: Number) -> Tensor:
        """x where it exceeds the threshold, else the value. In place.

        Parameters
        ----------
        threshold : number
            The threshold.
        value : number
            The number.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-2.0, 0.0, 2.0])
        >>> x.threshold_(0.5, -1)
        tensor([-1., -1.,  2.])"""
        ...
    @overload
    def tile(self, dims: Sequence[Int]) -> Tensor: ...
    @overload
    def tile(self, axis: Sequence[Int]) -> Tensor: ...
    @overload
    def tile(self, *dims: Int) -> Tensor:
        """The tensor so many times along each dimension, the last ones first, as a copy.

        Parameters
        ----------
        dims : sequence of int
            How often along each dimension.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1, 2])
        >>> opweave.tile(x, [2, 2])
        tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]])
        >>> x.tile([2, 2])
        tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]])"""
        ...
    @overload
    def to(self, dtype: DTypeLike, non_blocking: _bool = False, copy: _bool = False, *, memory_format: MemoryFormat | None = None) -> Tensor: ...
    @overload
    def to(self, device: DeviceLike | None = None, dtype: DTypeLike | None = None, non_blocking: _bool = False, copy: _bool = False, *, memory_format: MemoryFormat | None = None) -> Tensor: ...
    @overload
    def to(self, other: Tensor, non_blocking: _bool = False, copy: _bool = False, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor with another dtype or on another device; itself where nothing changes and `copy` is false.

        Parameters
        ----------
        *args
            A dtype, a device, both in either order, or a tensor whose dtype and device are taken.
        dtype, device
            The same by name.
        copy : bool
            Whether the result is new even where nothing changes.
        memory_format : MemoryFormat, optional
            How the result lies in memory; as the tensor does by default.

        Examples
        --------
        >>> opweave.tensor([1, 2]).to(opweave.float32)
        tensor([1., 2.])"""
        ...
    def to_dense(self, dtype: DTypeLike | None = None, *, masked_grad: Bool | None = None) -> Tensor:
        """The tensor itself, whose elements are all there, in the dtype that is said.

        Parameters
        ----------
        dtype : dtype, optional
            The element type of the result.
        masked_grad : bool, optional
            See the schema: aten::to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None)
            -> Tensor.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.to_dense()
        tensor([[1., 2.],
                [3., 4.]])"""
        ...
    @overload
    def topk(self, k: Int, dim: Int = -1, largest: Bool = True, sorted: Bool = True) -> return_types.topk: ...
    @overload
    def topk(self, k: Int, axis: Int = -1, largest: Bool = True, sorted: Bool = True) -> return_types.topk:
        """The k largest (or smallest) elements along a dimension, in order, and where they were: of equals, the first.

        Parameters
        ----------
        k : int
            How many, or which.
        dim : int, default -1
            The dimension, counted from the end where negative.
        largest : bool, default True
            Whether to take the largest.
        sorted : bool, default True
            Whether the results are in order.

        Returns
        -------
        return_types.topk
            A named tuple of tensors: values, indices.

        Examples
        --------
        >>> x = opweave.tensor([3.0, 1.0, 2.0])
        >>> opweave.topk(x, 2)
        opweave.return_types.topk(
        values=tensor([3., 2.]),
        indices=tensor([0, 2]))
        >>> x.topk(2)
        opweave.return_types.topk(
        values=tensor([3., 2.]),
        indices=tensor([0, 2]))"""
        ...
    def trace(self) -> Tensor:
        """The sum of the diagonal of a matrix.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.trace(x)
        tensor(5.)
        >>> x.trace()
        tensor(5.)"""
        ...
    def transpose(self, dim0: Int, dim1: Int) -> Tensor:
        """A view with two dimensions exchanged.

        Parameters
        ----------
        dim0 : int
            One dimension.
        dim1 : int
            Another dimension.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.transpose(x, 0, 1)
        tensor([[1., 4.],
                [2., 5.],
                [3., 6.]])
        >>> x.transpose(0, 1)
        tensor([[1., 4.],
                [2., 5.],
                [3., 6.]])"""
        ...
    def transpose_(self, dim0: Int, dim1: Int) -> Tensor:
        """A view with two dimensions exchanged. In place.

        Parameters
        ----------
        dim0 : int
            One dimension.
        dim1 : int
            Another dimension.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.transpose_(0, 1)
        tensor([[1., 4.],
                [2., 5.],
                [3., 6.]])"""
        ...
    def transpose_copy(self, dim0: Int, dim1: Int) -> Tensor:
        """A view with two dimensions exchanged. Here as a copy.

        Parameters
        ----------
        dim0 : int
            One dimension.
        dim1 : int
            Another dimension.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.transpose_copy(x, 0, 1)
        tensor([[1., 4.],
                [2., 5.],
                [3., 6.]])
        >>> x.transpose_copy(0, 1)
        tensor([[1., 4.],
                [2., 5.],
                [3., 6.]])"""
        ...
    def triangular_solve(self, A: Tensor, upper: Bool = True, transpose: Bool = False, unitriangular: Bool = False) -> return_types.triangular_solve:
        """X with A X = B for triangular matrices A, or their transpose, and a copy of A.

        Parameters
        ----------
        A : Tensor
            Matrices in the last two dimensions; all others are a batch.
        upper : bool, default True
            Whether the upper triangle is meant.
        transpose : bool, default False
            Whether to use the transposed matrix.
        unitriangular : bool, default False
            Whether the diagonal is 1, and not read.

        Returns
        -------
        return_types.triangular_solve
            A named tuple of tensors: solution, cloned_coefficient.

        Examples
        --------
        >>> x = opweave.tensor([[3.0], [4.0]])
        >>> y = opweave.tensor([[2.0, 1.0], [0.0, 4.0]])
        >>> opweave.triangular_solve(x, y)
        opweave.return_types.triangular_solve(
        solution=tensor([[1.],
                [1.]]),
        cloned_coefficient=tensor([[2., 1.],
                [0., 4.]]))
        >>> x.triangular_solve(y)
        opweave.return_types.triangular_solve(
        solution=tensor([[1.],
                [1.]]),
        cloned_coefficient=tensor([[2., 1.],
                [0., 4.]]))"""
        ...
    def tril(self, diagonal: Int = 0) -> Tensor:
        """The lower triangle of matrices; 0 above the diagonal.

        Parameters
        ----------
        diagonal : int, default 0
            Which diagonal: 0 the main one, positive numbers above it.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.tril(x)
        tensor([[1., 0.],
                [3., 4.]])
        >>> x.tril()
        tensor([[1., 0.],
                [3., 4.]])"""
        ...
    def tril_(self, diagonal: Int = 0) -> Tensor:
        """The lower triangle of matrices; 0 above the diagonal. In place.

        Parameters
        ----------
        diagonal : int, default 0
            Which diagonal: 0 the main one, positive numbers above it.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.tril_()
        tensor([[1., 0.],
                [3., 4.]])"""
        ...
    def triu(self, diagonal: Int = 0) -> Tensor:
        """The upper triangle of matrices; 0 below the diagonal.

        Parameters
        ----------
        diagonal : int, default 0
            Which diagonal: 0 the main one, positive numbers above it.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.triu(x)
        tensor([[1., 2.],
                [0., 4.]])
        >>> x.triu()
        tensor([[1., 2.],
                [0., 4.]])"""
        ...
    def triu_(self, diagonal: Int = 0) -> Tensor:
        """The upper triangle of matrices; 0 below the diagonal. In place.

        Parameters
        ----------
        diagonal : int, default 0
            Which diagonal: 0 the main one, positive numbers above it.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.triu_()
        tensor([[1., 2.],
                [0., 4.]])"""
        ...
    @overload
    def true_divide(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def true_divide(self, other: Tensor | Number, *, rounding_mode: Literal['trunc', 'floor'] | None) -> Tensor:
        """The quotient `input / other`; with `rounding_mode`, cut towards 0 or down to a whole number.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.
        rounding_mode : {'trunc', 'floor'}, optional
            Towards 0 or down; by default the quotient stays as it is.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments,
            for whole numbers the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([7.0, -7.0])
        >>> opweave.div(x, 2, rounding_mode='floor')
        tensor([ 3., -4.])
        >>> x.div(2, rounding_mode='floor')
        tensor([ 3., -4.])"""
        ...
    @overload
    def true_divide_(self, other: Tensor | Number) -> Tensor: ...
    @overload
    def true_divide_(self, other: Tensor | Number, *, rounding_mode: Literal['trunc', 'floor'] | None) -> Tensor:
        """The quotient `input / other`; with `rounding_mode`, cut towards 0 or down to a whole number. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.
        rounding_mode : {'trunc', 'floor'}, optional
            Towards 0 or down; by default the quotient stays as it is.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([7.0, -7.0])
        >>> x.div_(2, rounding_mode='floor')
        tensor([ 3., -4.])"""
        ...
    def trunc(self) -> Tensor:
        """Each element without its fraction.

        Returns
        -------
        Tensor
            Its shape is the argument's; elements have the promoted type of the arguments.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> opweave.trunc(x)
        tensor([-1.,  0.,  2.])
        >>> x.trunc()
        tensor([-1.,  0.,  2.])"""
        ...
    def trunc_(self) -> Tensor:
        """Each element without its fraction. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> x.trunc_()
        tensor([-1.,  0.,  2.])"""
        ...
    @overload
    def type(self, dtype: None = None) -> _str: ...
    @overload
    def type(self, dtype: DTypeLike) -> Tensor:
        """The tensor with another element type, which may have its old name; without one, that name of its own.

        Examples
        --------
        >>> opweave.tensor([1, 2]).type(opweave.float32)
        tensor([1., 2.])
        >>> opweave.ones(2).type()
        'torch.FloatTensor'"""
        ...
    def type_as(self, other: Tensor) -> Tensor:
        """The tensor with the element type of another; itself where it has that type already.

        Examples
        --------
        >>> opweave.tensor([1, 2]).type_as(opweave.tensor([0.5]))
        tensor([1., 2.])"""
        ...
    @overload
    def unbind(self, dim: Int = 0) -> _tuple[Tensor, ...]: ...
    @overload
    def unbind(self, axis: Int = 0) -> _tuple[Tensor, ...]:
        """The slices along a dimension, as views.

        Parameters
        ----------
        dim : int, default 0
            The dimension, counted from the end where negative.

        Returns
        -------
        tuple[Tensor, ...]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.unbind(x)
        (tensor([1., 2.]), tensor([3., 4.]))
        >>> x.unbind()
        (tensor([1., 2.]), tensor([3., 4.]))"""
        ...
    @overload
    def unbind_copy(self, dim: Int = 0) -> _tuple[Tensor, ...]: ...
    @overload
    def unbind_copy(self, axis: Int = 0) -> _tuple[Tensor, ...]:
        """The slices along a dimension, as views. Here as a copy.

        Parameters
        ----------
        dim : int, default 0
            The dimension, counted from the end where negative.

        Returns
        -------
        tuple[Tensor, ...]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.unbind_copy(x)
        (tensor([1., 2.]), tensor([3., 4.]))
        >>> x.unbind_copy()
        (tensor([1., 2.]), tensor([3., 4.]))"""
        ...
    @overload
    def unflatten(self, dim: Int, sizes: Sequence[Int]) -> Tensor: ...
    @overload
    def unflatten(self, axis: Int, sizes: Sequence[Int]) -> Tensor:
        """One dimension as several, as a view; one of their sizes may be -1.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        sizes : sequence of int
            The sizes.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([1, 2, 3, 4])
        >>> opweave.unflatten(x, 0, [2, 2])
        tensor([[1, 2],
                [3, 4]])
        >>> x.unflatten(0, [2, 2])
        tensor([[1, 2],
                [3, 4]])"""
        ...
    def unfold(self, dimension: Int, size: Int, step: Int) -> Tensor:
        """Windows of `size` elements of a dimension, `step` apart, in a new last dimension.

        Parameters
        ----------
        dimension : int
            The dimension.
        size : int
            The sizes.
        step : int
            How far apart.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([1, 2, 3, 4])
        >>> x.unfold(0, 2, 1)
        tensor([[1, 2],
                [2, 3],
                [3, 4]])"""
        ...
    def unfold_copy(self, dimension: Int, size: Int, step: Int) -> Tensor:
        """Windows of `size` elements of a dimension, `step` apart, in a new last dimension. Here as a copy.

        Parameters
        ----------
        dimension : int
            The dimension.
        size : int
            The sizes.
        step : int
            How far apart.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1, 2, 3, 4])
        >>> x.unfold_copy(0, 2, 1)
        tensor([[1, 2],
                [2, 3],
                [3, 4]])"""
        ...
    def uniform(self, from_: Float = 0.0, to: Float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Numbers drawn evenly from an interval, in the shape of the tensor.

        Parameters
        ----------
        from_ : float, default 0.0
            The least of the numbers.
        to : float, default 1.0
            Where they end, itself not among them.
        generator : Generator, optional
            The source of random numbers; the device's own by default.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.uniform().shape
        opweave.Size([3])"""
        ...
    def uniform_(self, from_: Float = 0.0, to: Float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Numbers drawn evenly from an interval, in the shape of the tensor. In place.

        Parameters
        ----------
        from_ : float, default 0.0
            The least of the numbers.
        to : float, default 1.0
            Where they end, itself not among them.
        generator : Generator, optional
            The source of random numbers; the device's own by default.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.uniform_().shape
        opweave.Size([3])"""
        ...
    @overload
    def unique(self, sorted: _bool = True, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: Int | None = None) -> Tensor: ...
    @overload
    def unique(self, sorted: _bool = True, *, return_inverse: Literal[True], return_counts: Literal[True], dim: Int | None = None) -> _tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def unique(self, sorted: _bool = True, *, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: Int | None = None) -> _tuple[Tensor, Tensor]: ...
    @overload
    def unique(self, sorted: _bool = True, *, return_inverse: Literal[False] = False, return_counts: Literal[True], dim: Int | None = None) -> _tuple[Tensor, Tensor]: ...
    @overload
    def unique(self, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: Int | None = None) -> Any:
        """The distinct elements in order, or slices along a dimension.

        Parameters
        ----------
        input : Tensor
        sorted : bool
            They always are.
        return_inverse : bool
            Give the place of each element among them too.
        return_counts : bool
            Give how often each is there too.
        dim : int, optional
            Compare slices along this dimension.

        Examples
        --------
        >>> opweave.unique(opweave.tensor([2, 1, 2]))
        tensor([1, 2])"""
        ...
    @overload
    def unique_consecutive(self, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: Int | None = None) -> Tensor: ...
    @overload
    def unique_consecutive(self, *, return_inverse: Literal[True], return_counts: Literal[True], dim: Int | None = None) -> _tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def unique_consecutive(self, *, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: Int | None = None) -> _tuple[Tensor, Tensor]: ...
    @overload
    def unique_consecutive(self, *, return_inverse: Literal[False] = False, return_counts: Literal[True], dim: Int | None = None) -> _tuple[Tensor, Tensor]: ...
    @overload
    def unique_consecutive(self, return_inverse: _bool = False, return_counts: _bool = False, dim: Int | None = None) -> Any:
        """The first of each run of equal elements, or of equal slices along a dimension.

        Parameters
        ----------
        input : Tensor
        return_inverse : bool
            Give the run of each element too.
        return_counts : bool
            Give how long each run is too.
        dim : int, optional
            Compare slices along this dimension.

        Examples
        --------
        >>> opweave.unique_consecutive(opweave.tensor([1, 1, 2, 1]))
        tensor([1, 2, 1])"""
        ...
    @overload
    def unique_dim(self, dim: Int, sorted: Bool = True, return_inverse: Bool = False, return_counts: Bool = False) -> _tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def unique_dim(self, axis: Int, sorted: Bool = True, return_inverse: Bool = False, return_counts: Bool = False) -> _tuple[Tensor, Tensor, Tensor]:
        """The distinct slices along a dimension, in order.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.
        sorted : bool, default True
            Whether the results are in order.
        return_inverse : bool, default False
            Whether to give where each went.
        return_counts : bool, default False
            Whether to give how often each was there.

        Returns
        -------
        tuple[Tensor, Tensor, Tensor]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor([[1, 2], [1, 2]])
        >>> opweave.unique_dim(x, 0)
        (tensor([[1, 2]]), tensor([], dtype=opweave.int64), tensor([], dtype=opweave.int64))
        >>> x.unique_dim(0)
        (tensor([[1, 2]]), tensor([], dtype=opweave.int64), tensor([], dtype=opweave.int64))"""
        ...
    @overload
    def unsafe_chunk(self, chunks: Int, dim: Int = 0) -> _tuple[Tensor, ...]: ...
    @overload
    def unsafe_chunk(self, chunks: Int, axis: Int = 0) -> _tuple[Tensor, ...]:
        """`chunk`, of whose results autograd lets each be written.

        Parameters
        ----------
        chunks : int
            How many parts.
        dim : int, default 0
            The dimension, counted from the end where negative.

        Returns
        -------
        tuple[Tensor, ...]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.unsafe_chunk(x, 2)
        (tensor([1., 2.]), tensor([3.]))
        >>> x.unsafe_chunk(2)
        (tensor([1., 2.]), tensor([3.]))"""
        ...
    @overload
    def unsafe_split(self, split_size: Int, dim: Int = 0) -> _tuple[Tensor, ...]: ...
    @overload
    def unsafe_split(self, split_size: Int, axis: Int = 0) -> _tuple[Tensor, ...]:
        """`split`, of whose results autograd lets each be written.

        Parameters
        ----------
        split_size : int
            How large the parts are.
        dim : int, default 0
            The dimension, counted from the end where negative.

        Returns
        -------
        tuple[Tensor, ...]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.unsafe_split(x, 2)
        (tensor([1., 2.]), tensor([3.]))
        >>> x.unsafe_split(2)
        (tensor([1., 2.]), tensor([3.]))"""
        ...
    @overload
    def unsafe_split_with_sizes(self, split_sizes: Sequence[Int], dim: Int = 0) -> _tuple[Tensor, ...]: ...
    @overload
    def unsafe_split_with_sizes(self, split_sizes: Sequence[Int], axis: Int = 0) -> _tuple[Tensor, ...]:
        """`split_with_sizes`, of whose results autograd lets each be written.

        Parameters
        ----------
        split_sizes : sequence of int
            How large each part is.
        dim : int, default 0
            The dimension, counted from the end where negative.

        Returns
        -------
        tuple[Tensor, ...]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.unsafe_split_with_sizes(x, [1, 2])
        (tensor([1.]), tensor([2., 3.]))
        >>> x.unsafe_split_with_sizes([1, 2])
        (tensor([1.]), tensor([2., 3.]))"""
        ...
    @overload
    def unsqueeze(self, dim: Int) -> Tensor: ...
    @overload
    def unsqueeze(self, axis: Int) -> Tensor:
        """A view with a new dimension of size 1.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.unsqueeze(x, 0)
        tensor([[1., 2., 3.]])
        >>> x.unsqueeze(0)
        tensor([[1., 2., 3.]])"""
        ...
    @overload
    def unsqueeze_(self, dim: Int) -> Tensor: ...
    @overload
    def unsqueeze_(self, axis: Int) -> Tensor:
        """A view with a new dimension of size 1. In place.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.unsqueeze_(0)
        tensor([[1., 2., 3.]])"""
        ...
    @overload
    def unsqueeze_copy(self, dim: Int) -> Tensor: ...
    @overload
    def unsqueeze_copy(self, axis: Int) -> Tensor:
        """A view with a new dimension of size 1. Here as a copy.

        Parameters
        ----------
        dim : int
            The dimension, counted from the end where negative.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.unsqueeze_copy(x, 0)
        tensor([[1., 2., 3.]])
        >>> x.unsqueeze_copy(0)
        tensor([[1., 2., 3.]])"""
        ...
    @overload
    def upsample_bicubic2d(self, output_size: Int | Sequence[Int], align_corners: Bool, scales_h: Float | None = None, scales_w: Float | None = None) -> Tensor: ...
    @overload
    def upsample_bicubic2d(self, output_size: Sequence[Int] | None, align_corners: Bool, scale_factors: Sequence[Float] | None) -> Tensor:
        """An image at another size, by cubic interpolation.

        Parameters
        ----------
        output_size : int or sequence of int, optional
            The size of the result.
        align_corners : bool
            Whether the corners of both images are at the same places.
        scale_factors : sequence of float, optional
            See the schema: aten::upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners,
            float? scales_h=None, float? scales_w=None) -> Tensor.
        scales_h : float, optional
            See the schema: aten::upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners,
            float? scales_h=None, float? scales_w=None) -> Tensor.
        scales_w : float, optional
            See the schema: aten::upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners,
            float? scales_h=None, float? scales_w=None) -> Tensor.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.arange(16.0).view(1, 1, 4, 4)
        >>> x.upsample_bicubic2d([8, 8], False).shape
        opweave.Size([1, 1, 8, 8])"""
        ...
    @overload
    def upsample_bilinear2d(self, output_size: Int | Sequence[Int], align_corners: Bool, scales_h: Float | None = None, scales_w: Float | None = None) -> Tensor: ...
    @overload
    def upsample_bilinear2d(self, output_size: Sequence[Int] | None, align_corners: Bool, scale_factors: Sequence[Float] | None) -> Tensor:
        """The image at another size, each element weighted from the four around its place.

        Parameters
        ----------
        output_size : int or sequence of int, optional
            The size of the result.
        align_corners : bool
            Whether the corners of both images are at the same places.
        scale_factors : sequence of float, optional
            See the schema: aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool
            align_corners, float? scales_h=None, float? scales_w=None) -> Tensor.
        scales_h : float, optional
            See the schema: aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool
            align_corners, float? scales_h=None, float? scales_w=None) -> Tensor.
        scales_w : float, optional
            See the schema: aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool
            align_corners, float? scales_h=None, float? scales_w=None) -> Tensor.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.arange(16.0).view(1, 1, 4, 4)
        >>> x.upsample_bilinear2d([8, 8], False).shape
        opweave.Size([1, 1, 8, 8])"""
        ...
    @overload
    def upsample_nearest2d(self, output_size: Int | Sequence[Int], scales_h: Float | None = None, scales_w: Float | None = None) -> Tensor: ...
    @overload
    def upsample_nearest2d(self, output_size: Sequence[Int] | None, scale_factors: Sequence[Float] | None) -> Tensor:
        """The image at another size, each element that of the nearest place above and left.

        Parameters
        ----------
        output_size : int or sequence of int, optional
            The size of the result.
        scale_factors : sequence of float, optional
            See the schema: aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float?
            scales_h=None, float? scales_w=None) -> Tensor.
        scales_h : float, optional
            See the schema: aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float?
            scales_h=None, float? scales_w=None) -> Tensor.
        scales_w : float, optional
            See the schema: aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float?
            scales_h=None, float? scales_w=None) -> Tensor.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.arange(16.0).view(1, 1, 4, 4)
        >>> x.upsample_nearest2d([8, 8]).shape
        opweave.Size([1, 1, 8, 8])"""
        ...
    @overload
    def var(self, dim: Int | Sequence[Int] | None = None, *, correction: Number | None = None, keepdim: Bool = False, keepdims: Bool = False) -> Tensor: ...
    @overload
    def var(self, axis: Int | Sequence[Int] | None = None, *, correction: Number | None = None, keepdim: Bool = False, keepdims: Bool = False) -> Tensor: ...
    @overload
    def var(self, *dim: Int, correction: Number | None = None, keepdim: Bool = False, keepdims: Bool = False) -> Tensor: ...
    @overload
    def var(self, unbiased: Bool = True) -> Tensor: ...
    @overload
    def var(self, dim: Int | Sequence[Int] | None, unbiased: Bool = True, keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor: ...
    @overload
    def var(self, axis: Int | Sequence[Int] | None, unbiased: Bool = True, keepdim: Bool = False, *, keepdims: Bool = False) -> Tensor:
        """The variance of all elements, or over dimensions.

        Parameters
        ----------
        unbiased : bool, default True
            Whether to divide by the number of elements less 1.
        dim : int or sequence of int, optional
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.
        correction : number, optional
            What is subtracted from the number of elements before dividing by it; 1 by default.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.var(x, 1)
        tensor([1., 1.])
        >>> x.var(1)
        tensor([1., 1.])"""
        ...
    @overload
    def var_mean(self, dim: Int | Sequence[Int] | None = None, *, correction: Number | None = None, keepdim: Bool = False, keepdims: Bool = False) -> _tuple[Tensor, Tensor]: ...
    @overload
    def var_mean(self, axis: Int | Sequence[Int] | None = None, *, correction: Number | None = None, keepdim: Bool = False, keepdims: Bool = False) -> _tuple[Tensor, Tensor]: ...
    @overload
    def var_mean(self, *dim: Int, correction: Number | None = None, keepdim: Bool = False, keepdims: Bool = False) -> _tuple[Tensor, Tensor]: ...
    @overload
    def var_mean(self, unbiased: Bool = True) -> _tuple[Tensor, Tensor]: ...
    @overload
    def var_mean(self, dim: Int | Sequence[Int] | None, unbiased: Bool = True, keepdim: Bool = False, *, keepdims: Bool = False) -> _tuple[Tensor, Tensor]: ...
    @overload
    def var_mean(self, axis: Int | Sequence[Int] | None, unbiased: Bool = True, keepdim: Bool = False, *, keepdims: Bool = False) -> _tuple[Tensor, Tensor]:
        """The variance and the mean of all elements, or over dimensions.

        Parameters
        ----------
        unbiased : bool, default True
            Whether to divide by the number of elements less 1.
        dim : int or sequence of int, optional
            The dimension, counted from the end where negative.
        keepdim : bool, default False
            Whether reduced dimensions stay, with size 1.
        correction : number, optional
            What is subtracted from the number of elements before dividing by it; 1 by default.

        Returns
        -------
        tuple[Tensor, Tensor]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.var_mean(x, 1)
        (tensor([1., 1.]), tensor([2., 5.]))
        >>> x.var_mean(1)
        (tensor([1., 1.]), tensor([2., 5.]))"""
        ...
    def vdot(self, other: Tensor | Number) -> Tensor:
        """The sum of products of two vectors, the first conjugated.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> y = opweave.tensor([4.0, 5.0, 6.0])
        >>> opweave.vdot(x, y)
        tensor(32.)
        >>> x.vdot(y)
        tensor(32.)"""
        ...
    @overload
    def view(self, dtype: DTypeLike) -> Tensor: ...
    @overload
    def view(self, size: Int | Sequence[Int]) -> Tensor: ...
    @overload
    def view(self, *size: Int) -> Tensor:
        """Other sizes, or another element type, over the same memory.

        Examples
        --------
        >>> opweave.tensor([1, 2, 3, 4]).view(2, 2)
        tensor([[1, 2],
                [3, 4]])"""
        ...
    def view_as(self, other: Tensor | Number) -> Tensor:
        """A view with the sizes of another tensor.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> y = opweave.zeros(3, 2)
        >>> opweave.view_as(x, y)
        tensor([[1., 2.],
                [3., 4.],
                [5., 6.]])
        >>> x.view_as(y)
        tensor([[1., 2.],
                [3., 4.],
                [5., 6.]])"""
        ...
    def view_as_complex(self) -> Tensor:
        """A view of pairs in the last dimension as complex numbers.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.view_as_complex(x)
        tensor([1.+2.j, 3.+4.j])
        >>> x.view_as_complex()
        tensor([1.+2.j, 3.+4.j])"""
        ...
    def view_as_complex_copy(self) -> Tensor:
        """A view of pairs in the last dimension as complex numbers. Here as a copy.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.view_as_complex_copy(x)
        tensor([1.+2.j, 3.+4.j])
        >>> x.view_as_complex_copy()
        tensor([1.+2.j, 3.+4.j])"""
        ...
    def view_as_real(self) -> Tensor:
        """A view of complex numbers as pairs in a new last dimension.

        Returns
        -------
        Tensor
            A tensor over the same memory: what is written to one is in the other.

        Examples
        --------
        >>> x = opweave.tensor([1 + 2j])
        >>> opweave.view_as_real(x)
        tensor([[1., 2.]])
        >>> x.view_as_real()
        tensor([[1., 2.]])"""
        ...
    def view_as_real_copy(self) -> Tensor:
        """A view of complex numbers as pairs in a new last dimension. Here as a copy.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1 + 2j])
        >>> opweave.view_as_real_copy(x)
        tensor([[1., 2.]])
        >>> x.view_as_real_copy()
        tensor([[1., 2.]])"""
        ...
    @overload
    def view_copy(self, size: Sequence[Int]) -> Tensor: ...
    @overload
    def view_copy(self, *size: Int) -> Tensor: ...
    @overload
    def view_copy(self, dtype: DTypeLike) -> Tensor:
        """The same elements with other sizes, as a copy.

        Parameters
        ----------
        dtype : dtype, optional
            The element type of the result.
        size : sequence of int, optional
            The sizes.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> opweave.view_copy(x, [3, 2])
        tensor([[1., 2.],
                [3., 4.],
                [5., 6.]])
        >>> x.view_copy([3, 2])
        tensor([[1., 2.],
                [3., 4.],
                [5., 6.]])"""
        ...
    @overload
    def vsplit(self, sections: Int) -> _tuple[Tensor, ...]: ...
    @overload
    def vsplit(self, indices: Sequence[Int]) -> _tuple[Tensor, ...]: ...
    @overload
    def vsplit(self, *indices: Int) -> _tuple[Tensor, ...]:
        """Parts of the first dimension, as views.

        Parameters
        ----------
        indices : sequence of int, optional
            Which places, as whole numbers.
        sections : int, optional
            How many parts, or where to cut.

        Returns
        -------
        tuple[Tensor, ...]
            The tensors.

        Examples
        --------
        >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> opweave.vsplit(x, 2)
        (tensor([[1., 2.]]), tensor([[3., 4.]]))
        >>> x.vsplit(2)
        (tensor([[1., 2.]]), tensor([[3., 4.]]))"""
        ...
    def where(self, condition: Tensor, other: Tensor | Number) -> Tensor:
        """The tensor's elements where a condition holds, another's elsewhere.

        Examples
        --------
        >>> opweave.tensor([1.0, 2.0]).where(opweave.tensor([True, False]), 0)
        tensor([1., 0.])"""
        ...
    def xlogy(self, other: Tensor | Number) -> Tensor:
        """x log(y), 0 where x is 0.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments,
            for whole numbers the default floating type.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> y = opweave.tensor([2.0, 3.0, 1.0])
        >>> opweave.xlogy(x, y)
        tensor([-0.6931,  0.5493,  0.0000])
        >>> x.xlogy(y)
        tensor([-0.6931,  0.5493,  0.0000])"""
        ...
    def xlogy_(self, other: Tensor | Number) -> Tensor:
        """x log(y), 0 where x is 0. In place.

        Parameters
        ----------
        other : Tensor or number
            The other tensor; shapes broadcast.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([-1.0, 0.5, 2.0])
        >>> y = opweave.tensor([2.0, 3.0, 1.0])
        >>> x.xlogy_(y)
        tensor([-0.6931,  0.5493,  0.0000])"""
        ...
    def zero(self) -> Tensor:
        """A tensor like this one with 0 everywhere.

        Returns
        -------
        Tensor
            Its shape is the argument's.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.zero()
        tensor([0., 0., 0.])"""
        ...
    def zero_(self) -> Tensor:
        """A tensor like this one with 0 everywhere. In place.

        Returns
        -------
        Tensor
            The first tensor, which was written to.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> x.zero_()
        tensor([0., 0., 0.])"""
        ...
    def zeros_like(self, *, dtype: DTypeLike | None = None, layout: Layout | None = None, device: DeviceLike | None = None, pin_memory: Bool | None = None, memory_format: MemoryFormat | None = None, requires_grad: Bool = False) -> Tensor:
        """A tensor like another with 0 everywhere.

        Parameters
        ----------
        dtype : dtype, optional
            The element type of the result.
        layout : layout, optional
            How the elements lie; `strided` is the one there is.
        device : device or str, optional
            Where the result is; by default in main memory, or where the argument is.
        pin_memory : bool, optional
            For the signature's sake.
        memory_format : memory_format, optional
            How the result lies in memory.
        requires_grad : bool, default False
            Whether autograd records what is done with the result.

        Returns
        -------
        Tensor
            A new tensor.

        Examples
        --------
        >>> x = opweave.tensor([1.0, 2.0, 3.0])
        >>> opweave.zeros_like(x)
        tensor([0., 0., 0.])
        >>> x.zeros_like()
        tensor([0., 0., 0.])"""
        ...
