"""What an artifact says of itself: JSON, and a C header."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from opweave.codegen.artifact.entries import Entry
from opweave.codegen.artifact.module import symbol_of
from opweave.codegen.artifact.tensors import Described
from opweave.codegen.native.llvm import Host

#: Of the description and of the functions: what has another is refused.
VERSION = 1


def describe(
    name: str,
    entries: Sequence[Entry],
    structures: Sequence[Any],
    machine: Host,
    target: str,
    operators: Sequence[str],
    weights: dict[str, Any],
    libraries: Sequence[str],
) -> str:
    """The description as JSON.

    Parameters
    ----------
    name : str
        What its functions begin with.
    entries : sequence of Entry
        Its programs.
    structures : sequence
        For each of them how its inputs and results are nested.
    machine : Host
        What it is for.
    target : str
        What the user called that.
    operators : sequence of str
        Custom operators that it calls.
    weights : dict
        How many bytes, their digest, and whether they are inside.
    libraries : sequence of str
        What it needs besides libc.
    """
    about = {
        "format": "opweave artifact",
        "version": VERSION,
        "name": name,
        "target": target,
        "triple": machine.triple,
        "cpu": machine.cpu,
        "features": sorted(machine.features),
        "libraries": [*libraries],
        "operators": [{"name": operator, "symbol": symbol_of(operator)} for operator in operators],
        "weights": weights,
        "entries": [
            {
                "name": entry.name,
                "inputs": [*map(_tensor, entry.inputs)],
                "results": [*map(_tensor, entry.results)],
                "symbols": {symbol: {"min": max(low, 1), "max": high} for symbol, (low, high) in entry.symbols.items()},
                **structure,
            }
            for entry, structure in zip(entries, structures, strict=True)
        ],
    }
    return json.dumps(about)


def _tensor(tensor: Described) -> dict[str, Any]:
    return {
        "name": tensor.name, "dtype": tensor.dtype.name, "sizes": [*tensor.sizes], "strides": [*tensor.strides],
        "written": tensor.written,
    }  # fmt: skip


_C_TYPES = {
    "bool": "bool", "uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t",
    "float16": "_Float16", "bfloat16": "__bf16", "float32": "float", "float64": "double",
    "complex64": "float _Complex", "complex128": "double _Complex",
}  # fmt: skip

_HEADER = """\
/* {name}: compiled for {target}.
 *
 * Every function that returns an int32_t returns 0, or the code of an error, whose text {name}_error gives. Tensors are
 * DLPack's: on the CPU, with sizes in elements; strides may be NULL where elements lie side by side. Results are
 * memory of the caller, at multiples of 16 bytes, and lie apart from all inputs. One model may run on several threads
 * at once.
 */
#ifndef OPWEAVE_{guard}_H
#define OPWEAVE_{guard}_H
#include <stdint.h>

#if !defined(DLPACK_VERSION) && !defined(DLPACK_MAJOR_VERSION) && !defined(OPWEAVE_DLTENSOR)
#define OPWEAVE_DLTENSOR
typedef struct {{ int32_t device_type; int32_t device_id; }} DLDevice;
typedef struct {{ uint8_t code; uint8_t bits; uint16_t lanes; }} DLDataType;
typedef struct {{
  void *data;
  DLDevice device;          /* {{1, 0}} */
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
}} DLTensor;
enum {{ kDLCPU = 1 }};
enum {{ kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLComplex = 5, kDLBool = 6 }};
#endif

#ifndef OPWEAVE_OPERATOR
#define OPWEAVE_OPERATOR
/* A custom operator: its tensors, its results, and its numbers in the order of its schema (doubles for floats).
 * A tensor that is left out has no data. Anything but 0 is an error. */
typedef union {{ int64_t i; double d; }} opweave_number;
typedef int32_t (*opweave_function)(const DLTensor *inputs, const DLTensor *results, const opweave_number *numbers);
typedef struct {{ const char *name; opweave_function function; }} opweave_operator;
#endif

#ifdef __cplusplus
extern "C" {{
#endif

typedef struct {name}_model {name}_model;

/* {weights} Operators that are not given are those that are linked. */
int32_t {name}_create(const char *weights, const opweave_operator *operators, int64_t count, {name}_model **model);
void {name}_destroy({name}_model *model);

/* The sizes of all results, one after the other. */
int32_t {name}_result_sizes({name}_model *model, int32_t entry, const DLTensor *inputs, int64_t count, int64_t *sizes);
int32_t {name}_run({name}_model *model, int32_t entry, const DLTensor *inputs, int64_t count, DLTensor *results,
                   int64_t results_count);

/* Of the process; by default as many as it may run on. */
void {name}_set_threads(int64_t count);
const char *{name}_error(int32_t code);
/* JSON. */
const char *{name}_description(void);
{operators}{entries}
#ifdef __cplusplus
}}
#endif
#endif
"""


def header(name: str, target: str, entries: Sequence[Entry], operators: Sequence[str], inside: bool) -> str:
    """The C header of an artifact."""
    parts: list[str] = []
    for number, entry in enumerate(entries):
        macro = f"{name}_{entry.name}".upper()
        dims = sum(len(x.sizes) for x in entry.results)
        lines = [
            "",
            f"/* Entry {entry.name}",
            *(f" *   input {i}: {_shown(x)} {x.name}{', written' * x.written}" for i, x in enumerate(entry.inputs)),
            *(f" *   result {i}: {_shown(x)}" for i, x in enumerate(entry.results)),
            *(f" *   {s}: from {max(low, 1)}{f' to {high}' if high is not None else ''}"
              for s, (low, high) in entry.symbols.items()),
            " */",
            f"enum {{ {macro} = {number}, {macro}_INPUTS = {len(entry.inputs)},",
            f"       {macro}_RESULTS = {len(entry.results)}, {macro}_RESULT_DIMS = {dims} }};",
        ]  # fmt: skip
        parts += lines
    wanted = "".join(
        f"int32_t {symbol_of(op)}(const DLTensor *inputs, const DLTensor *results, const opweave_number *numbers);\n"
        for op in operators
    )
    return _HEADER.format(
        name=name, target=target, guard=name.upper(), entries="\n".join([*parts, ""]),
        operators=f"\n/* Custom operators that it calls. */\n{wanted}" if wanted else "",
        weights="The weights are part of it: `weights` is NULL." if inside else "`weights` is the path of its weights.",
    )  # fmt: skip


def _shown(tensor: Described) -> str:
    sizes = "".join(f"[{size}]" for size in tensor.sizes)
    plain = _is_plain(tensor)
    return f"{_C_TYPES[tensor.dtype.name]}{sizes}" + ("" if plain else f" strides {list(tensor.strides)}")


def _is_plain(tensor: Described) -> bool:
    """Whether elements lie side by side, as far as that is known."""
    step: Any = 1
    for size, stride in zip(reversed(tensor.sizes), reversed(tensor.strides), strict=True):
        if isinstance(stride, int) and isinstance(step, int) and stride != step and size != 1:
            return False
        step = step * size if isinstance(step, int) and isinstance(size, int) else None
    return True
