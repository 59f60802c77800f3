"""The C++ headers that follow from the registry: dispatch keys, tags, and a function and a method for each declared op.

    python -m opweave.registry.cpp.headers        # writes opweave/include/opweave/keys.h and generated/

What C++ has in a form of its own is named in the headers that hold it, after `opweave-native:`, and left out here.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from opweave.registry import dtypes
from opweave.registry.cpp.library import ABSENT_KEYS
from opweave.registry.keys import (
    ALIASES,
    AUTOGRAD_MASK,
    GRAD,
    DispatchKey,
    after_ADInplaceOrView_keyset,
    after_autograd_keyset,
)
from opweave.registry.op import OpOverload, registry
from opweave.registry.ops import surface
from opweave.registry.schema import Argument, FunctionSchema
from opweave.registry.tags import Tag
from opweave.registry.types import ListType, Type

_NOTE = (
    "// Made by registry/cpp/headers.py of what the registry declares; a test fails where they differ. Do not edit.\n"
)
_HEAD = f"{_NOTE}#pragma once\n"

#: By the name of a schema's type, its C++ parameter and how an optional one is written.
_TYPES = {
    "Tensor": ("const Tensor&", "const std::optional<Tensor>&"),
    "int": ("int64_t", "std::optional<int64_t>"),
    "SymInt": ("int64_t", "std::optional<int64_t>"),
    "float": ("double", "std::optional<double>"),
    "bool": ("bool", "std::optional<bool>"),
    "Scalar": ("const Scalar&", "const std::optional<Scalar>&"),
    "str": ("std::string_view", "std::optional<std::string_view>"),
    "ScalarType": ("ScalarType", "std::optional<ScalarType>"),
    "Layout": ("Layout", "std::optional<Layout>"),
    "Device": ("Device", "std::optional<Device>"),
    "MemoryFormat": ("MemoryFormat", "std::optional<MemoryFormat>"),
    "Generator": ("Generator", "std::optional<Generator>"),
}
_LISTS = {
    "int": ("IntArrayRef", "const OptionalIntArrayRef&"),
    "SymInt": ("IntArrayRef", "const OptionalIntArrayRef&"),
    "float": ("ArrayRef<double>", "std::optional<ArrayRef<double>>"),
    "bool": ("ArrayRef<bool>", "std::optional<ArrayRef<bool>>"),
    "Tensor": ("TensorList", "std::optional<TensorList>"),
    "Tensor?": ("ArrayRef<std::optional<Tensor>>", ""),
    "Scalar": ("ArrayRef<Scalar>", ""),
}
#: What adds an argument of a type to a call, where that has a name of its own.
_SETTERS = {"const Tensor&": "t", "int64_t": "i", "double": "f", "bool": "b", "const Scalar&": "s", "IntArrayRef": "l",
            "std::optional<ScalarType>": "d"}  # fmt: skip
_SELF = "(*this)"
#: Arguments of a new tensor that C++ takes as one `TensorOptions`, and how each is read from it.
_OPTIONS = {"dtype": "dtype_opt", "layout": "layout_opt", "device": "device_opt", "pin_memory": "pinned_memory_opt"}
_RESULTS = {
    ("Tensor",): ("Tensor", "tensor"), ("Tensor[]",): ("std::vector<Tensor>", "tensors"), (): ("void", "run"),
    ("SymInt",): ("int64_t", "integer"), ("int",): ("int64_t", "integer"), ("bool",): ("bool", "boolean"),
    ("SymBool",): ("bool", "boolean"), ("Scalar",): ("Scalar", "scalar"), ("float",): ("double", "real"),
    ("Tensor", "Tensor[]"): ("std::tuple<Tensor, std::vector<Tensor>>", "tensor_and_tensors"),
    **{("Tensor",) * n: (f"std::tuple<{', '.join(['Tensor'] * n)}>", f"tensors{n}") for n in (2, 3, 4)},
}  # fmt: skip
#: The element types in the order of PyTorch's numbers.
_NUMBERED = ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
#: Numbers from here on are of keys that no tensor has.
_FIRST_ABSENT = 1000
_KEYWORDS = frozenset("default operator namespace template class new delete this union signed int float double".split())


def keys() -> str:
    """`opweave/keys.h`: the dispatch keys with the numbers of `registry.keys`, and the tags."""
    numbers = {key.name: int(key) for key in DispatchKey}
    numbers |= {name: _FIRST_ABSENT + i for i, name in enumerate(sorted(ABSENT_KEYS))}
    members = " \\\n".join(f"  _({name}, {number})" for name, number in numbers.items())
    members_of = {alias: sum(key.bit for key in keys if key) for alias, keys in ALIASES.items()}
    aliases = "\n".join(
        f"      case DispatchKey::{alias.name}:\n        return {bits}u;" for alias, bits in members_of.items()
    )
    tags = " \\\n".join(f"  _({tag.name})" for tag in Tag)
    return f"""{_HEAD}#include <cstdint>
#include <initializer_list>
#include <ostream>

#include "abi.h"

namespace OPWEAVE_HIDDEN opweave {{

#define OPWEAVE_DISPATCH_KEYS(_) \\
{members}
enum class DispatchKey : uint16_t {{
#define OPWEAVE_ENTRY(name, number) name = number,
  OPWEAVE_DISPATCH_KEYS(OPWEAVE_ENTRY)
#undef OPWEAVE_ENTRY
  CatchAll = {int(DispatchKey.CompositeImplicitAutograd)}
}};
inline const char* toString(DispatchKey k) {{
  switch (k) {{
#define OPWEAVE_ENTRY(name, number) \\
  case DispatchKey::name:           \\
    return #name;
    OPWEAVE_DISPATCH_KEYS(OPWEAVE_ENTRY)
#undef OPWEAVE_ENTRY
  }}
  return "UnknownKey";
}}
inline std::ostream& operator<<(std::ostream& out, DispatchKey k) {{ return out << toString(k); }}

// A set of keys, by the bits that the host uses.
class DispatchKeySet {{
 public:
  constexpr DispatchKeySet() = default;
  constexpr explicit DispatchKeySet(uint64_t bits) : bits_(bits) {{}}
  constexpr DispatchKeySet(DispatchKey k) : bits_(bits_of(k)) {{}}
  constexpr DispatchKeySet(std::initializer_list<DispatchKey> keys) {{
    for (DispatchKey k : keys) bits_ |= DispatchKeySet(k).bits_;
  }}
  constexpr bool has(DispatchKey k) const {{ return bits_ & DispatchKeySet(k).bits_; }}
  constexpr DispatchKeySet add(DispatchKey k) const {{ return *this | DispatchKeySet(k); }}
  constexpr DispatchKeySet remove(DispatchKey k) const {{ return *this - DispatchKeySet(k); }}
  constexpr bool empty() const {{ return bits_ == 0; }}
  constexpr DispatchKeySet operator|(DispatchKeySet o) const {{ return DispatchKeySet(bits_ | o.bits_); }}
  constexpr DispatchKeySet operator&(DispatchKeySet o) const {{ return DispatchKeySet(bits_ & o.bits_); }}
  constexpr DispatchKeySet operator-(DispatchKeySet o) const {{ return DispatchKeySet(bits_ & ~o.bits_); }}
  constexpr bool operator==(DispatchKeySet o) const {{ return bits_ == o.bits_; }}
  constexpr bool operator!=(DispatchKeySet o) const {{ return bits_ != o.bits_; }}
  constexpr DispatchKey highestPriorityTypeId() const {{
    for (int k = {max(int(key) for key in DispatchKey if not key.is_alias)}; k > 0; k--)
      if (bits_ >> k & 1) return DispatchKey(k);
    return DispatchKey::Undefined;
  }}
  constexpr uint64_t raw_repr() const {{ return bits_; }}

 private:
  // An alias stands for its members; a key that no tensor has for none.
  static constexpr uint64_t bits_of(DispatchKey k) {{
    switch (k) {{
{aliases}
      default:
        return k == DispatchKey::Undefined || int(k) > 63 ? 0 : uint64_t(1) << int(k);
    }}
  }}
  uint64_t bits_ = 0;
}};
inline constexpr uint64_t kAutogradBits = {AUTOGRAD_MASK | GRAD}u, kGradBit = {GRAD}u;
inline constexpr DispatchKeySet after_autograd_keyset{{uint64_t({after_autograd_keyset.bits})}};
inline constexpr DispatchKeySet after_ADInplaceOrView_keyset{{uint64_t({after_ADInplaceOrView_keyset.bits})}};

#define OPWEAVE_TAGS(_) \\
{tags}
enum class Tag {{
#define OPWEAVE_ENTRY(name) name,
  OPWEAVE_TAGS(OPWEAVE_ENTRY)
#undef OPWEAVE_ENTRY
}};
inline const char* toString(Tag t) {{
  switch (t) {{
#define OPWEAVE_ENTRY(name) \\
  case Tag::name:           \\
    return #name;
    OPWEAVE_TAGS(OPWEAVE_ENTRY)
#undef OPWEAVE_ENTRY
  }}
  return "unknown_tag";
}}

}}  // namespace opweave
"""


# ---- ops


def _type(kind: Type) -> str | None:
    """The C++ type of a parameter; None where there is none."""
    whole = kind.required
    if isinstance(whole, ListType):
        names = _LISTS.get(str(whole.element))
    else:
        names = _TYPES.get(str(whole))
    return None if names is None else names[1 if kind.is_optional else 0] or None


def _default(argument: Argument) -> str | None:
    """A default as C++ writes it; None where it has none."""
    if not argument.has_default:
        return None
    value: Any = argument.default
    if value is None:
        return "{}" if argument.type.is_tensor else "std::nullopt"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return "{" + ", ".join(map(str, value)) + "}"
    kind = str(argument.type.required)
    if isinstance(value, dtypes.DType) or kind == "ScalarType":
        return f"ScalarType({_dtype_number(value)})"
    if kind == "MemoryFormat":
        return f"MemoryFormat({int(value)})"
    if isinstance(value, str):
        return f'"{value}"'
    text = repr(value)
    return text.replace("inf", "std::numeric_limits<double>::infinity()").replace("nan", 'std::nan("")')


def _dtype_number(value: Any) -> int:
    """PyTorch's number of an element type, which is how a schema writes it."""
    return value if isinstance(value, int) else _NUMBERED.index(value.name)


def _name(text: str) -> str:
    return f"{text}_" if text in _KEYWORDS else text


class _Signature:
    """One C++ overload of an op: its parameters, and the arguments of the call in the order of the schema."""

    def __init__(self, schema: FunctionSchema, options: bool) -> None:
        #: (C++ type, name, default)
        self.parameters: list[tuple[str, str, str | None]] = []
        self.arguments: list[str] = []
        self.written: list[str] = []
        self.supported = True
        merged = options and all(any(a.name == name for a in schema.arguments) for name in _OPTIONS)
        self.has_options = merged
        for argument in schema.arguments:
            name = _name(argument.name)
            if merged and argument.name in _OPTIONS:
                given = f"options.{_OPTIONS[argument.name]}()"
                if argument.has_default and argument.default is not None:
                    given = f"{_type(argument.type)}({given}.value_or({_default(argument)}))"
                self.arguments.append(given)
                if argument.name == next(iter(_OPTIONS)):
                    required = not argument.has_default
                    self.parameters.append(("TensorOptions", "options", None if required else "{}"))
                continue
            kind = _type(argument.type)
            if kind is None:
                self.supported = False
                return
            self.parameters.append((kind, name, _default(argument)))
            self.arguments.append(name)
            if argument.name in schema.mutated_args:
                self.written.append(name)
        if not options and all(any(a.name == name for a in schema.arguments) for name in _OPTIONS):
            self.parameters = [(kind, name, None) for kind, name, _ in self.parameters]  # or calls were ambiguous
        for i in range(len(self.parameters) - 1, 0, -1):  # only what is last may be left out
            if self.parameters[i][2] is None:
                self.parameters[:i] = [(kind, name, None) for kind, name, _ in self.parameters[:i]]
                break

    def setter(self, name: str) -> str:
        """What adds an argument to a call."""
        kind = next((kind for kind, parameter, _ in self.parameters if parameter == name), None)
        return "t" if name == _SELF else _SETTERS.get(kind or "", "arg")

    def key(self, leave: str = "") -> tuple[str, ...]:
        """What tells overloads apart."""
        return tuple(kind for kind, name, _ in self.parameters if name != leave)

    def text(self, leave: str = "", *, defaults: bool = True) -> str:
        """The parameters."""
        shown = [p for p in self.parameters if p[1] != leave]
        return ", ".join(f"{kind} {name}" + (f" = {d}" if d and defaults else "") for kind, name, d in shown)


class _Function:
    """What C++ has for an op."""

    def __init__(self, op: OpOverload, name: str, signature: _Signature, schema: FunctionSchema) -> None:
        self.op, self.name, self.signature, self.schema = op, name, signature, schema
        returns = tuple(str(r.type) for r in schema.returns)
        self.result, self.finish = _RESULTS[returns]
        self.returned = ""
        if len(schema.returns) == 1 and schema.is_mutable and signature.written and self.result == "Tensor":
            self.result, self.returned = "Tensor&", signature.written[0]

    @property
    def is_method(self) -> bool:
        """Whether it is called on its first argument."""
        arguments = self.schema.arguments
        return bool(arguments) and arguments[0].name == "self" and arguments[0].type.is_tensor

    def body(self, self_name: str) -> str:
        """The statements of a call."""
        return f'static detail::HostOp op("{self.op.name}"); {self._call(self_name)}'

    def _call(self, self_name: str) -> str:
        names = [self_name if a == "self" and self.is_method else a for a in self.signature.arguments]
        call = "detail::Call(op)" + "".join(f".{self.signature.setter(name)}({name})" for name in names)
        written = [self_name if w == "self" and self.is_method else w for w in self.signature.written]
        after = "".join(self._forgetting(name, self_name) for name in written)
        if self.returned:
            target = self_name if self.returned == "self" and self.is_method else self.returned
            return f"{call}.run();{after} return const_cast<Tensor&>({target});"
        if after:
            return (
                f"{call}.run();{after}"
                if self.result == "void"
                else f"auto made = {call}.{self.finish}();{after} return made;"
            )
        return f"return {call}.{self.finish}();" if self.result != "void" else f"{call}.run();"

    def _forgetting(self, name: str, self_name: str) -> str:
        """What follows a call that writes to an argument."""
        kinds = {n: kind for kind, n, _ in self.signature.parameters}
        if kinds.get(name) == "TensorList":
            return f" for (const auto& t : {name}) t.forget_description();"
        is_tensor = name == self_name or kinds.get(name) == "const Tensor&"
        return f" {name}.forget_description();" if is_tensor else ""


def _native() -> dict[str, set[str]]:
    """What headers have by hand: of `method` and `function` the names, or `name/number of parameters`."""
    found: dict[str, set[str]] = {"method": set(), "function": set()}
    for path in sorted((include_folder() / "opweave").glob("*.h")):
        for sort, names in re.findall(r"// opweave-native (method|function): (.*)", path.read_text()):
            found[sort].update(names.split())
    return found


def _functions() -> Iterator[_Function]:
    """Of each op the overloads that C++ can have, and those of its other names."""
    aliases: dict[str, list[str]] = {}
    for alias, base in surface._ALIASES.items():
        aliases.setdefault(base, []).append(alias)
        aliases.setdefault(f"{base}_", []).append(f"{alias}_")
    for op in sorted(registry.operators.values(), key=lambda op: op.name):
        if op.decl is None or op.namespace != "aten":
            continue
        schema = op._schema
        if tuple(str(r.type) for r in schema.returns) not in _RESULTS:
            continue
        is_out = any(a.kwarg_only and a.name in schema.mutated_args for a in schema.arguments)
        for name in [op.opname, *aliases.get(op.opname, ())]:
            for options in (True, False):
                signature = _Signature(schema, options)
                if not signature.supported or (not options and _Signature(schema, True).has_options is False):
                    continue
                yield _Function(op, f"{name}_out" if is_out else name, signature, schema)


def methods() -> str:
    """`generated/methods.h`: what stands in the class."""
    lines, seen, native = [_NOTE], set[tuple[str, ...]](), _native()["method"]
    for function in _functions():
        signature = function.signature
        if not function.is_method or function.name in native or function.name.endswith("_out"):
            continue
        key = (function.name, *signature.key("self"))
        if key in seen:
            continue
        seen.add(key)
        lines.append(f"{function.result} {function.name}({signature.text('self')}) const;\n")
    return "".join(lines)


def method_bodies() -> str:
    """`generated/method_bodies.h`."""
    lines, seen, native = [_HEAD, _OPEN], set[tuple[str, ...]](), _native()["method"]
    for function in _functions():
        signature = function.signature
        key = (function.name, *signature.key("self"))
        if not function.is_method or function.name in native or function.name.endswith("_out") or key in seen:
            continue
        seen.add(key)
        taken = signature.text("self", defaults=False)
        lines.append(f"inline {function.result} Tensor::{function.name}({taken}) const {{ {function.body(_SELF)} }}\n")
    return "".join([*lines, _CLOSE])


def functions() -> str:
    """`generated/functions.h`."""
    lines, seen, native = [_HEAD, _OPEN], set[tuple[str, ...]](), _native()["function"]
    for function in _functions():
        signature = function.signature
        if function.name in native or (signature.has_options and f"{function.name}/options" in native):
            continue
        taken = signature
        if function.name.endswith("_out"):
            first = [p for p in signature.parameters if p[1] in signature.written]
            taken.parameters = first + [p for p in signature.parameters if p not in first]
        key = (function.name, *taken.key())
        if key in seen:
            continue
        seen.add(key)
        lines.append(f"inline {function.result} {function.name}({taken.text()}) {{ {function.body('self')} }}\n")
    return "".join([*lines, _CLOSE])


_OPEN = "namespace OPWEAVE_HIDDEN opweave {\n"
_CLOSE = "}  // namespace opweave\n"


def include_folder() -> Path:
    """Where the headers are."""
    return (
        Path(sys.modules[__name__.partition(".")[0] if __name__ != "__main__" else "opweave"].__path__[0]) / "include"
    )


def made() -> dict[Path, str]:
    """The text of each file."""
    folder = include_folder() / "opweave"
    return {
        folder / "keys.h": keys(),
        folder / "generated" / "methods.h": methods(),
        folder / "generated" / "method_bodies.h": method_bodies(),
        folder / "generated" / "functions.h": functions(),
    }


if __name__ == "__main__":
    for path, text in made().items():
        path.write_text(text)
