"""`__torch_function__` of subclasses of `Tensor`, modes, and `opweave.overrides`."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import opweave
from opweave import nn, overrides
from opweave.overrides import DisableTorchFunction, DisableTorchFunctionSubclass, TorchFunctionMode
from opweave.registry.errors import OpweaveError, UnsupportedError
from opweave.registry.overridable import disabled
from opweave.registry.tensor import Tensor
from opweave.runtime.backward import Backward


class Image(Tensor):
    """A subclass that says nothing of its own."""


def ones(*sizes: int, **options: Any) -> Any:
    return opweave.ones(*sizes, **options)


def untyped(value: Any) -> Any:
    return value


def image(*sizes: int) -> Any:
    return opweave.arange(6, dtype=opweave.float32).reshape(sizes or (2, 3)).as_subclass(Image)


# ---- what results are ----------------------------------------------------------------------------------------------

OF_IMAGES: dict[str, Callable[[Any], Any]] = {
    "operator": lambda x: x + 1,
    "turned operator": lambda x: 1 - x,
    "beside a plain tensor": lambda x: ones(3) * x,
    "comparison": lambda x: x == x,
    "matrix product": lambda x: x @ ones(3, 2),
    "function": lambda x: opweave.add(x, 1),
    "overload": lambda x: opweave.ops.aten.mul.Tensor(x, x),
    "function of a list": lambda x: opweave.cat([ones(2, 3), x]),
    "nn.functional": lambda x: nn.functional.relu(x),
    "module": lambda x: nn.Linear(3, 2)(x),
    "method": lambda x: x.sum(0),
    "method in place": lambda x: x.add_(1),
    "view": lambda x: x.reshape(-1),
    "index": lambda x: x[0, 1:],
    "attribute": lambda x: x.T,
    "cast": lambda x: x.double(),
    "copy": lambda x: x.clone(),
    "detached": lambda x: x.detach(),
    "data": lambda x: x.data,
    "like": lambda x: opweave.zeros_like(x),
    "new": lambda x: x.new_zeros(3),
    "einsum": lambda x: opweave.einsum("ij,j->i", x, ones(3)),
}


@pytest.mark.parametrize("name", OF_IMAGES)
def test_results_are_of_the_subclass(name: str) -> None:
    use = OF_IMAGES[name]
    opweave.manual_seed(0)
    found = use(image())
    opweave.manual_seed(0)
    plain = use(image().as_subclass(Tensor))
    assert type(found) is Image and type(plain) is Tensor
    assert found.tolist() == plain.tolist() and found.dtype == plain.dtype


def test_results_of_several_parts() -> None:
    values, indices = image().max(1)
    assert type(values) is type(indices) is Image and type(image().max(1)).__name__ == "max"
    assert [type(part) for part in (*image().split(1), *opweave.chunk(image(), 3, 1), *image().unbind())] == [Image] * 7
    assert [type(row) for row in image()] == [Image] * 2


def test_what_is_no_tensor_stays() -> None:
    x = image()
    assert x.shape == (2, 3) and type(x.shape) is opweave.Size and x.dtype is opweave.float32 and x.numel() == 6
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]] and len(x) == 2 and float(x[1, 1]) == 4 and bool(x[1, 1])
    assert x.numpy().sum() == 15 and x.device.type == "cpu" and not x.requires_grad
    assert type(opweave.tensor(x)) is Tensor


def test_bases_and_conversions() -> None:
    class Photo(Image): ...

    photo, mask = image().as_subclass(Photo), ones(2, 3).as_subclass(type("Mask", (Tensor,), {}))
    assert type(photo + image()) is Photo and type(image() + photo) is Photo
    assert isinstance(photo, Tensor) and Photo.__bases__ == (Image,) and opweave.is_tensor(photo)
    with pytest.raises(TypeError, match="Mask"):
        _ = photo + mask
    assert Image.add is Tensor.add and Image.shape is Tensor.shape
    for wrong in (int, "Image", None):
        with pytest.raises(TypeError, match="as_subclass"):
            ones(2).as_subclass(wrong)
    assert (photo == "a photo") is False and photo != "a photo"


def test_gradients() -> None:
    leaf: Any = ones(3, requires_grad=True)
    x = leaf.as_subclass(Image)
    loss = (x * x).exp().sum()
    assert type(loss) is Image and loss.requires_grad
    loss.backward()
    assert type(leaf.grad) is Tensor
    assert leaf.grad.tolist() == pytest.approx([2 * 2.718281828] * 3)
    own = untyped(Image([1.0, 2.0]).requires_grad_())
    assert type(own) is Image and own.is_leaf
    (own * 3).sum().backward()
    assert untyped(own).grad.tolist() == [3, 3]
    (found,) = opweave.autograd.grad((own * own).sum(), own)
    assert found is not None and found.tolist() == [2, 4]


def test_pickles_and_copies() -> None:
    x = image().requires_grad_()
    x.label = ["cat"]
    for way in (copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))):
        again = untyped(way(x))
        assert isinstance(again, Image) and type(again) is Image
        again = untyped(again)
        assert again.label == ["cat"] and again.label is not x.label
        assert again.tolist() == x.tolist() and again.requires_grad and again.is_leaf
        assert type(again + 1) is Image
    assert repr(image(6)).startswith("Image([0., 1.")


def test_parameters_are_plain() -> None:
    class Weight(nn.Parameter): ...

    weight = Weight(ones(2))
    assert isinstance(weight, nn.Parameter) and type(weight + 1) is Tensor


# ---- what a class is asked -----------------------------------------------------------------------------------------


def test_calls_are_asked_about_once_as_they_were_made() -> None:
    asked: list[tuple[Any, int]] = []

    class Loud(Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            assert all(issubclass(kind, Tensor) for kind in types)
            asked.append((func, len(args)))
            return super().__torch_function__(func, types, args, kwargs)

    x = ones(2, 3).as_subclass(Loud)

    def told(use: Callable[[], Any]) -> Any:
        asked.clear()
        use()
        assert len(asked) == 1, asked
        return asked[0][0]

    assert told(lambda: x.add(1)) is Tensor.add and told(lambda: opweave.add(x, 1)) is opweave.add
    assert told(lambda: x + 1).__name__ in ("__add__", "add")
    assert told(lambda: x.add_(1)) is Tensor.add_
    assert told(lambda: opweave.softmax(x, -1)) is opweave.softmax
    assert told(lambda: opweave.cat([x, x])) is opweave.cat and told(lambda: x.max(1)) is Tensor.max
    assert told(lambda: opweave.max(x, 1)) is opweave.max
    assert (
        told(lambda: x.shape) == Tensor.shape.__get__ and told(lambda: x.requires_grad) == Tensor.requires_grad.__get__
    )
    assert told(lambda: setattr(x, "requires_grad", False)) == Tensor.requires_grad.__set__
    assert told(lambda: x[0]).__name__ == "__getitem__" and told(lambda: repr(x)) is Tensor.__repr__
    assert told(lambda: nn.functional.relu(x)).__name__ == "relu"
    assert told(lambda: x.clone()).__name__ == "clone" and told(lambda: len(x)).__name__ == "__len__"
    asked.clear()
    with DisableTorchFunctionSubclass():
        assert type(x + 1) is Tensor and x.shape == (2, 3)
    assert not asked


def test_a_class_may_answer_by_itself_or_decline() -> None:
    class Answering(Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return "sum" if func is opweave.sum else NotImplemented

    x = ones(2).as_subclass(Answering)
    assert opweave.sum(x) == "sum"
    with pytest.raises(TypeError, match="no implementation in the __torch_function__ of Answering"):
        opweave.exp(x)

    class Raising(Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise ValueError("mine")

    for use in (lambda x: x + 1, opweave.exp, lambda x: x.shape):
        with pytest.raises(ValueError, match="mine"):
            use(ones(2).as_subclass(Raising))


def test_a_class_that_is_not_asked() -> None:
    class Silent(Image):
        __torch_function__ = disabled  # type: ignore[assignment]

    x = ones(2).as_subclass(Silent)
    assert type(x) is Silent and type(x + 1) is Tensor and not overrides.has_torch_function((x,))


def test_methods_of_the_class_and_of_others_it_has() -> None:
    class Named:
        def mean(self) -> Any:
            return "mean"

    class Both(Named, Image):  # type: ignore[misc]
        def sum(self) -> Any:  # type: ignore[override]
            return super().sum() + 1

    x = image().as_subclass(Both)
    assert x.mean() == "mean" and x.sum() == 16 and type(x.sum()) is Both


# ---- as libraries have it ------------------------------------------------------------------------------------------


def test_tensors_that_stay_what_they_are_only_where_they_are_copied() -> None:
    """As torchvision's images and boxes: results are plain, but for those of a few methods, which are wrapped."""

    class Kept(Tensor):
        unwrapped: Any = None

        @classmethod
        def _to_tensor(cls, data: Any, requires_grad: bool | None = None) -> Any:
            if requires_grad is None:
                requires_grad = data.requires_grad if isinstance(data, Tensor) else False
            return opweave.as_tensor(data).requires_grad_(requires_grad)

        @classmethod
        def _wrap_output(cls, output: Any, args: Any = (), kwargs: Any = None) -> Any:
            return output.as_subclass(Tensor) if isinstance(output, Tensor) and not isinstance(output, cls) else output

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if not all(issubclass(cls, kind) for kind in types):
                return NotImplemented
            with DisableTorchFunctionSubclass():
                output = func(*args, **(kwargs or {}))
            if func in (Tensor.clone, Tensor.to, Tensor.detach, Tensor.requires_grad_) and isinstance(args[0], cls):
                return cls.wrap(output, args[0])
            if func in (Tensor.add_, Tensor.mul_) and isinstance(output, cls):
                return output.as_subclass(Tensor)
            return cls._wrap_output(output, args, kwargs)

        @classmethod
        def wrap(cls, tensor: Any, like: Any) -> Any:
            return tensor.as_subclass(cls)

        @property
        def shape(self) -> Any:
            with DisableTorchFunctionSubclass():
                return super().shape

        @property
        def ndim(self) -> int:
            with DisableTorchFunctionSubclass():
                return super().ndim

        def __deepcopy__(self, memo: Any) -> Any:
            return self.detach().clone().requires_grad_(self.requires_grad)

    class Boxes(Kept):
        canvas: tuple[int, int]

        def __new__(cls, data: Any, *, canvas: tuple[int, int], requires_grad: bool | None = None) -> Any:
            return cls._of(cls._to_tensor(data, requires_grad), canvas)

        @classmethod
        def _of(cls, tensor: Any, canvas: tuple[int, int]) -> Any:
            made = tensor.as_subclass(cls)
            made.canvas = canvas
            return made

        @classmethod
        def wrap(cls, tensor: Any, like: Any) -> Any:
            return cls._of(tensor, like.canvas)

    boxes = Boxes([[0.0, 1.0, 2.0, 3.0]], canvas=(10, 20))
    assert type(boxes) is Boxes and boxes.shape == (1, 4) and boxes.ndim == 2
    assert type(boxes + 1) is Tensor and type(boxes[0]) is Tensor and type(boxes.sum()) is Tensor
    for same in (boxes.clone(), boxes.to(opweave.float64), boxes.detach(), copy.deepcopy(boxes)):
        assert type(same) is Boxes and same.canvas == (10, 20)
    grown = boxes.add_(1)
    assert type(grown) is Tensor and type(boxes) is Boxes and boxes.tolist() == [[1, 2, 3, 4]]
    trained = Boxes([[1.0] * 4], canvas=(1, 1), requires_grad=True)
    assert trained.requires_grad and type(trained) is Boxes
    (grad,) = opweave.autograd.grad(trained.square().sum(), trained)
    assert grad is not None and grad.tolist() == [[2.0] * 4]


def test_tensors_that_hand_on_what_they_know() -> None:
    """As fastai's: results are of the subclass, with the attributes of the first argument that has some."""

    class Base(Tensor):
        def __new__(cls, x: Any, **about: Any) -> Any:
            made = opweave.as_tensor(x).as_subclass(cls)
            vars(made).update(about)
            return made

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = super().__torch_function__(func, types, args, kwargs or {})
            known = [a for a in args if isinstance(a, Base) and a.__dict__]
            for part in result if isinstance(result, (list, tuple)) else [result]:
                if isinstance(part, Base) and known:
                    vars(part).update(vars(known[0]))
            return result

        def new_tensor(self, data: Any, **options: Any) -> Any:
            return self.as_subclass(Tensor).new_tensor(data, **options).as_subclass(type(self))

    class Mask(Base): ...

    mask: Any = Mask([[1.0, 2.0], [3.0, 4.0]], codes=["sky", "road"])
    for found in map(untyped, (mask + 1, mask[0], mask.float(), mask.t(), -mask)):
        assert type(found) is Mask and untyped(found).codes == ["sky", "road"]
    assert [part.codes for part in mask.unbind()] == [["sky", "road"]] * 2
    assert type(mask.new_tensor([1.0])) is Mask
    assert nn.functional.cross_entropy(mask, opweave.tensor([0, 1])).item() > 0
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    out = model(mask)
    out.sum().backward()
    assert type(out) is Mask and model[0].weight.grad is not None and type(model[0].weight.grad) is Tensor


# ---- modes ---------------------------------------------------------------------------------------------------------


def test_modes_are_asked_about_all_functions() -> None:
    names: list[str] = []

    class Names(TorchFunctionMode):
        def __init__(self, prefix: str) -> None:
            self.prefix = prefix

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            names.append(f"{self.prefix}{func.__name__}")
            return func(*args, **(kwargs or {}))

    x = ones(3)
    for _ in range(3):
        _ = x + x  # a call that native code would replay
    with Names("a "):
        y = opweave.zeros(3)
        opweave.add(x, y)
        x.mul(2)
        with Names("b "):
            opweave.exp(x)
    _ = x + x
    assert names == ["a zeros", "a add", "a mul", "b exp", "a exp"]
    with Names(""), pytest.raises(OpweaveError):
        opweave.cat(3)  # type: ignore[arg-type]
    assert overrides.has_torch_function((x,)) is False


def test_modes_change_what_is_made() -> None:
    class Doubles(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = dict(kwargs or {})
            if func in (opweave.zeros, opweave.ones, opweave.full):
                kwargs.setdefault("dtype", opweave.float64)
            return func(*args, **kwargs)

    with Doubles():
        assert opweave.zeros(2).dtype == opweave.float64 and ones(2, dtype=opweave.int64).dtype == opweave.int64
        with DisableTorchFunctionSubclass():
            assert opweave.zeros(2).dtype == opweave.float64
        with DisableTorchFunction():
            assert opweave.zeros(2).dtype == opweave.float32
    assert opweave.zeros(2).dtype == opweave.float32


def test_modes_come_before_subclasses() -> None:
    class Types(TorchFunctionMode):
        seen: Any = None

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.seen = types
            return func(*args, **(kwargs or {}))

    with Types() as mode:
        assert type(opweave.exp(image())) is Image
    assert mode.seen == (Image,)


# ---- opweave.overrides ---------------------------------------------------------------------------------------------


def test_functions_of_ones_own() -> None:
    def area(x: Any, *, scale: int = 1) -> Any:
        if overrides.has_torch_function((x,)):
            return overrides.handle_torch_function(area, (x,), x, scale=scale)
        return x.sum() * scale

    assert type(area(image(), scale=2)) is Image and area(image(), scale=2) == 30 and type(area(ones(2))) is Tensor

    class Object:
        def __torch_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return func, types, kwargs

    assert area(Object(), scale=3) == (area, (Object,), {"scale": 3})

    @overrides.wrap_torch_function(lambda x: (x,))
    def size(x: Any) -> Any:
        return x.numel()

    assert size(ones(3)) == 3 and size(Object()) == (size, (Object,), {})


def test_names() -> None:
    assert overrides.is_tensor_like(image()) and overrides.is_tensor_like(ones(1))
    assert not overrides.is_tensor_like(3)
    assert overrides.resolve_name(opweave.softmax) == "opweave.softmax"
    assert overrides.resolve_name(Tensor.add_) == "opweave.Tensor.add_"
    assert overrides.resolve_name(Tensor.shape.__get__) == "opweave.Tensor.shape.__get__"
    assert overrides.resolve_name(len) is None
    assert overrides.is_tensor_method_or_property(Tensor.clone) and not overrides.is_tensor_method_or_property(len)
    table = overrides.get_overridable_functions()
    assert opweave.cat in table[opweave] and Tensor.add_ in table[Tensor] and Tensor.shape.__get__ in table[Tensor]


# ---- beside the rest -----------------------------------------------------------------------------------------------


def test_compiled_functions_refuse_what_no_graph_can_ask() -> None:
    strict = opweave.compile(lambda x: x * 2 + 1, fullgraph=True)
    assert strict(ones(2)).tolist() == [3, 3]
    with pytest.raises(UnsupportedError, match="x is a Image, whose __torch_function__"):
        strict(image(6))
    with pytest.raises(UnsupportedError, match="as_subclass"):
        opweave.compile(lambda x: (x * 2).as_subclass(Image), fullgraph=True)(ones(2))
    kept = image(6)
    with pytest.raises(UnsupportedError, match="as_subclass"):
        opweave.compile(lambda x: x + kept, fullgraph=True)(ones(6))
    assert type(strict(image(6).as_subclass(Tensor)).as_subclass(Image)) is Image
    parts = opweave.compile(lambda x: x * 2 + 1)
    for x in (ones(6), image(6), ones(6), image(6)):
        found = parts(x)
        assert type(found) is type(x) and found.tolist() == (x * 2 + 1).tolist()


def test_data_loaders_and_optimizers() -> None:
    batch = opweave.utils.data.default_collate([image(), image()])
    assert batch.shape == (2, 2, 3)
    weight = image().requires_grad_()
    optimizer = opweave.optim.Adam([weight], lr=0.1)
    (weight * weight).sum().backward()
    before = weight.tolist()
    optimizer.step()
    assert weight.tolist() != before and type(weight) is Image


def test_ways_back_stay_compiled_where_there_are_subclasses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys of subclasses are excluded there, which changes nothing for plain tensors."""
    assert type(ones(2).as_subclass(Image) + 1) is Image
    compiled = opweave.compile(lambda x: (x * 2).sin().sum())
    x = ones(3).requires_grad_()
    monkeypatch.setattr(Backward, "_interpreted", lambda self, missing: pytest.fail("interpreted"))
    for _ in range(2):
        (grad,) = opweave.autograd.grad(compiled(x), x)
    assert grad.tolist() == pytest.approx([2 * math.cos(2)] * 3)
    with DisableTorchFunctionSubclass():
        assert compiled(ones(3)).item() == pytest.approx(3 * math.sin(2))
