"""How many pointer arguments of other people's kernels the analysis reads: no test, a count to run by hand.

    python tests/registry/triton/third_party.py FOLDER liger_kernel.ops fla.ops flag_gems.ops

imports each module below the packages from FOLDER (as `pip install --target` fills it), guesses arguments for each
kernel there, lowers those that it can and prints why pointers are refused. What needs a module or a device that is not
there is left out, and counted.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import pkgutil
import sys
import textwrap
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

from opweave.registry.dtypes import bfloat16
from opweave.registry.errors import OpweaveError
from opweave.registry.tensor import Tensor, from_numpy
from opweave.registry.triton.access import KernelAccesses
from opweave.registry.triton.effects import accesses

_ADDRESSED = {"load", "store", "make_block_ptr", "make_tensor_descriptor"}
_INDICES = (
    "idx",
    "index",
    "indices",
    "seqlens",
    "offset",
    "label",
    "target",
    "ids",
    "topk",
    "split",
    "lens",
    "position",
)
_FLOATS = (
    "eps",
    "scale",
    "beta",
    "alpha",
    "gamma",
    "prob",
    "softcap",
    "smoothing",
    "weight",
    "lr",
    "temp",
    "p",
    "bound",
)


def kernels(package: str) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Each kernel in a package with its name and the constants of its first configuration."""
    seen = set()
    for module in _modules(package):
        for name, value in vars(module).items():
            constants: dict[str, Any] = {}
            while hasattr(value, "fn") and not isinstance(value, JITFunction):
                if isinstance(value, Autotuner) and value.configs:
                    constants = {**value.configs[0].kwargs, **constants}
                value = value.fn
            if isinstance(value, JITFunction) and value.fn.__module__.startswith(package) and id(value) not in seen:
                seen.add(id(value))
                if _is_kernel(value):
                    yield f"{value.fn.__module__}.{name}", value, constants


def _modules(package: str) -> Iterator[Any]:
    root = importlib.import_module(package)
    yield root
    for info in pkgutil.walk_packages(root.__path__, package + ".", onerror=lambda name: None):
        try:
            yield importlib.import_module(info.name)
        except BaseException as error:
            failures[f"{package}: import: {type(error).__name__}"] += 1


def _tree(jit: Any) -> ast.FunctionDef:
    source = textwrap.dedent(inspect.getsource(jit.fn))
    return next(n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef))


def _is_kernel(jit: Any) -> bool:
    """Whether it is launched: it writes, and returns nothing."""
    nodes = list(ast.walk(_tree(jit)))
    returns = any(isinstance(n, ast.Return) and n.value is not None for n in nodes)
    return not returns and any(
        isinstance(n, ast.Attribute) and (n.attr == "store" or n.attr.startswith("atomic_")) for n in nodes
    )


def pointers(jit: Any, depth: int = 0) -> set[str]:
    """Names of the parameters that are used as addresses."""
    tree = _tree(jit)
    found: set[str] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and (
            node.func.attr in _ADDRESSED or node.func.attr.startswith("atomic_")
        ):
            found |= _bases(node.args[0] if node.args else node.keywords[0].value)
        elif isinstance(node.func, ast.Name) and depth < 4:
            callee = jit.fn.__globals__.get(node.func.id)
            if isinstance(callee, JITFunction):
                inner = pointers(callee, depth + 1)
                given = [*zip(callee.arg_names, node.args, strict=False), *((k.arg, k.value) for k in node.keywords)]
                for name, value in given:
                    if name in inner:
                        found |= _bases(value)
    changed = True
    while changed:
        before = len(found)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.expr):
                for target in node.targets:
                    pairs = [(target, node.value)]
                    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                        pairs = list(zip(target.elts, node.value.elts, strict=False))
                    for name, value in pairs:
                        if isinstance(name, ast.Name) and name.id in found:
                            found |= _bases(value)
        changed = len(found) > before
    return found & set(jit.arg_names)


def _bases(node: ast.expr) -> set[str]:
    """The names that an address starts from."""
    match node:
        case ast.Name(id=name):
            return {name}
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub()):
            return _bases(left)
        case ast.IfExp(body=body, orelse=orelse):
            return _bases(body) | _bases(orelse)
        case ast.Call(func=ast.Attribute(attr="to" | "advance", value=value)) if not _is_tl(value):
            return _bases(value)
        case ast.Call(func=ast.Attribute(attr="where"), args=[_, a, b]):
            return _bases(a) | _bases(b)
        case ast.Call(func=ast.Attribute(attr="advance" | "multiple_of" | "broadcast_to"), args=[first, *_]):
            return _bases(first)
        case ast.Subscript(value=value):
            return _bases(value)
    return set()


def _is_tl(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("tl", "triton")


def guesses(jit: Any, constants: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Arguments to try, the likeliest first."""
    addresses = pointers(jit)
    tree = _tree(jit)
    tests = {
        n.id
        for node in ast.walk(tree)
        if isinstance(node, (ast.If, ast.IfExp, ast.BoolOp, ast.UnaryOp))
        for n in _tested(node)
        if isinstance(n, ast.Name)
    }
    for dtype, on, size, floats in itertools.product((np.float32, bfloat16), (True, False), (32, 16), (True, False)):
        values: dict[str, Any] = {}
        for p in jit.params:
            name, low = p.name, p.name.lower()
            if p.is_constexpr:
                if name in constants:
                    values[name] = constants[name]
                elif p.has_default and p.default is not None:
                    values[name] = p.default
                elif "dtype" in low:
                    values[name] = tl.float32
                elif low in ("activation", "act", "casting_mode", "reduction", "mode") or low.endswith("_type"):
                    values[name] = p.default if p.has_default else "silu"
                elif name in tests or low.split("_")[0] in ("use", "is", "has", "store", "save", "output", "return"):
                    values[name] = on
                else:
                    values[name] = 2 if low in ("hq", "g") else 1 if low in ("b", "num_stages") else size
            elif name in addresses or "ptr" in low:
                ints = any(word in low for word in _INDICES)
                values[name] = _tensor(np.int64 if ints else dtype)
            elif p.has_default and p.default is not None:
                values[name] = p.default
            else:
                real = any(low == w or low.endswith("_" + w) or (len(w) > 2 and w in low) for w in _FLOATS)
                values[name] = 0.5 if real and floats else 48
        yield values


def _tested(node: Any) -> list[ast.expr]:
    if isinstance(node, ast.BoolOp):
        return node.values
    return [node.operand if isinstance(node, ast.UnaryOp) else node.test]


def _tensor(dtype: Any) -> Tensor:
    made = from_numpy(np.zeros(64, np.float32 if dtype is bfloat16 else dtype))
    return made.to(bfloat16) if dtype is bfloat16 else made


failures: Counter[str] = Counter()


def lower(jit: Any, constants: dict[str, Any]) -> KernelAccesses | None:
    last: Exception | None = None
    for values in guesses(jit, constants):
        try:
            return accesses(jit, (), values)[0]
        except OpweaveError as error:
            last = error
    if last is not None:
        reason = (last.got or "").splitlines()[-1:]
        failures[f"lowering: {reason[0][:90] if reason else last}"] += 1
    return None


def main(folder: str, *packages: str) -> None:
    sys.path.insert(0, folder)
    warnings.simplefilter("ignore")
    lowered = found = total = readable = followed = unused = placed = offsets = 0
    reasons: Counter[str] = Counter()
    for package in packages:
        for name, jit, constants in kernels(package):
            found += 1
            analysed = lower(jit, constants)
            if analysed is None:
                continue
            lowered += 1
            for p in analysed.parameters:
                total += 1
                readable += p.is_readable
                unused += not p.accesses and p.is_readable
                followed += p.is_readable and all(a.is_followed for a in p.accesses)
                placed += sum(a.is_followed for a in p.accesses)
                offsets += len(p.accesses)
                for reason in dict.fromkeys(e.reason for e in p.escapes):
                    reasons[reason] += 1
                    print(f"  {name}: {p.name}: {reason}  {p.escapes[0].where}")
        print(f"{package}: {found} kernels so far, {lowered} lowered")
    share = f"{100 * readable / max(1, total):.1f} %"
    print(
        f"{found} kernels, {lowered} lowered; {total} pointers: {readable} readable ({share}), of these {unused} unused"
    )
    print(f"{followed} of the readable ones have no opaque leaf; {placed} of {offsets} offsets")
    for counter in (reasons, failures):
        for reason, count in counter.most_common(25):
            print(f"{count:6d}  {reason}")


if __name__ == "__main__":
    main(*sys.argv[1:])
