"""From a graph to functions: through the disk cache, under a name that tells the graph from any other.

See `runtime.code` for what is kept and how it is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from opweave.codegen import cache
from opweave.codegen.generated import Generated
from opweave.fake.symbolic import SymNumber
from opweave.registry.device import Device
from opweave.registry.interrupts import let_through
from opweave.registry.loading import load_heavy
from opweave.registry.native_kernel import native_kernel
from opweave.registry.nested import leaves
from opweave.registry.op import OpOverload
from opweave.registry.tensor import Tensor
from opweave.runtime.code import Loaded, pack, run, unpack
from opweave.runtime.logging import channel
from opweave.tracer.declared import kind_of
from opweave.tracer.graph import Graph
from opweave.tracer.launches import launch_of
from opweave.tracer.printing import operand_graphs

_kernels_log = channel("kernels")


def load(
    graph: Graph, name: str, device: Device, constants: Mapping[str, Tensor], generate: Callable[[], Generated]
) -> Loaded:
    """The code of a graph, from the cache or generated.

    Parameters
    ----------
    graph : Graph
        After the passes.
    name : str
        Of the user's function.
    device : Device
        Where it runs.
    constants : mapping of str to Tensor
        What its `get_attr` nodes read.
    generate : callable
        Makes the code.
    """
    key = cache.key_of("\n".join(fingerprint(graph)), name, device.type)
    artifact = cache.fetch(key, lambda: pack(generate()))
    try:
        generated = unpack(artifact.files)
    except Exception as error:
        let_through(error)
        if not artifact.hit:
            raise
        _kernels_log.warning("cache: %s is of no use (%r); making it anew", artifact.path, error)
        artifact = cache.fetch(key, lambda: pack(generate()), anew=True)
        generated = unpack(artifact.files)
    shared = None not in generated.names.values()
    if not shared:
        # It names an object that no text stands for; only code made in this process has it.
        generated.names = generate().names
    loaded = run(generated, artifact.path, device, constants)
    loaded.key = key if shared else None
    return loaded


def fingerprint(graph: Graph) -> Iterator[str]:
    """Lines that tell a graph from any other that needs other code: its text, and all layouts."""
    yield f"{graph} {graph.graph.get('wide')}"
    for node in graph.nodes:
        for value in leaves(node.meta.get("val")):
            if isinstance(value, Tensor):
                yield from _symbols(value)
                yield f"{node.name} {value._sizes} {value._strides} {value._offset} {value._dtype.name} {value._device}"
        if isinstance(node.target, Graph):
            yield f"region {node.name}"
            launch = launch_of(node.target)
            if launch is not None:
                yield f"kernel {load_heavy('opweave.codegen.launches').digest(launch)}"
            yield from fingerprint(node.target)
        if isinstance(node.target, OpOverload) and native_kernel(node.target) is not None:
            yield f"native {node.name}"
        kind = kind_of(node)
        if kind is not None and kind.text:
            yield f"map {node.name} {kind.text}"
        for inner in operand_graphs(node):
            yield f"function {node.name}"
            yield from fingerprint(inner)


def _symbols(value: Tensor) -> Iterator[str]:
    """What code may depend on of sizes that are not fixed."""
    for number in (*value._sizes, *value._strides, value._offset):
        if isinstance(number, SymNumber):
            yield f"{number} {number.env.range_of(number)} {number.hint}"
