"""Files of exported programs that are damaged or hostile: a typed error, and nothing else happens."""

from __future__ import annotations

import builtins
import copy
import io
import json
import os
import random
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl

import opweave
from opweave.export import ExportedProgram, export, load, save
from opweave.library import custom_op, triton_op, wrap_triton
from opweave.registry.errors import ArgumentError, ExportError, OpweaveError
from opweave.registry.op import ops, registry
from opweave.registry.tensor import Tensor, from_numpy
from opweave.tracer.export import archive


@custom_op("export_files::twice", mutates_args=())
def twice(x: Tensor, *, word: str = "a") -> Tensor:
    return from_numpy(x.numpy() * 2)


@twice.register_fake
def _(x: Tensor, *, word: str = "a") -> Tensor:
    return opweave.empty_like(x)


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


@triton_op("export_files::plus", mutates_args=())
def plus(x: Tensor, y: Tensor) -> Tensor:
    out = opweave.empty_like(x)
    n = x.numel()
    wrap_triton(add_kernel)[(triton.cdiv(n, 16),)](x, y, out, n, BLOCK=16)
    return out


X = from_numpy(np.random.default_rng(0).standard_normal((4, 5), dtype=np.float32))
W = from_numpy(np.random.default_rng(1).standard_normal((5, 5), dtype=np.float32))
V = W[1:3, 0]


def function(x: Tensor, *, scale: float, flags: dict[str, Any]) -> dict[str, Any]:
    h = plus(x @ W, x)
    picked = opweave.split(twice(h * scale), 2)[1][..., 1:4]
    return {"a": [picked.clamp(min=float("-inf")), V], "b": (picked.to(opweave.float64), flags["on"])}


def exported() -> ExportedProgram:
    return export(function, (X,), {"scale": 0.5, "flags": {"on": True}})


def call(program: ExportedProgram) -> list[Any]:
    result = program.module()(X, scale=0.5, flags={"on": True})
    return [*[t.numpy() for t in result["a"]], result["b"][0].numpy(), result["b"][1]]


def saved(program: ExportedProgram) -> bytes:
    file = io.BytesIO()
    save(program, file)
    return file.getvalue()


@pytest.fixture(scope="module")
def files() -> tuple[bytes, bytes]:
    """The program with its triton_op and with a launch in its place."""
    program = exported()
    return saved(program), saved(program.run_decompositions())


def entries_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def packed(entries: dict[str, bytes], **options: Any) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", **options) as file:
        for name, data in entries.items():
            file.writestr(name, data)
    return content.getvalue()


def sealed(entries: dict[str, bytes], manifest: dict[str, Any] | None = None) -> bytes:
    """Written as `save` does it, with hashes that are right."""
    about = manifest or json.loads(entries["manifest.json"])
    rest = {name: data for name, data in entries.items() if name != "manifest.json"}
    content = io.BytesIO()
    archive.write(content, rest, {key: value for key, value in about.items() if key == "ops"})
    return content.getvalue()


def edited(data: bytes, change: Callable[[dict[str, Any]], Any]) -> bytes:
    """The file with its program changed, and hashes that are right."""
    entries = entries_of(data)
    program = json.loads(entries["program.json"])
    change(program)
    entries["program.json"] = json.dumps(program).encode()
    return sealed(entries)


def refused(data: bytes, match: str | None = None) -> None:
    with pytest.raises(ExportError, match=match):
        load(io.BytesIO(data))


def nodes(program: dict[str, Any]) -> dict[str, Any]:
    return {node["name"]: node for node in program["graph"]["nodes"]}


def test_a_file_that_is_whole(files: tuple[bytes, bytes], tmp_path: Path) -> None:
    want = call(exported())
    for number, data in enumerate(files):
        path = tmp_path / f"{number}.opweave"
        save(load(io.BytesIO(data)), path)
        assert path.read_bytes() == data
        for got, expected in zip(call(load(str(path))), want, strict=True):
            np.testing.assert_array_equal(got, expected)
    assert sorted(os.listdir(tmp_path)) == ["0.opweave", "1.opweave"], "no temporary files are left"


def test_what_is_in_it_is_plain(files: tuple[bytes, bytes]) -> None:
    entries = entries_of(files[1])
    assert list(entries) == ["manifest.json", "program.json", "kernels/0.ttir", "data/0.npy"]
    manifest = json.loads(entries["manifest.json"])
    assert manifest["ops"]["export_files::twice"] == 'export_files::twice(Tensor x, *, str word="a") -> Tensor'
    assert (manifest["format"], manifest["version"]) == ("opweave.export", 2)
    np.testing.assert_array_equal(np.load(io.BytesIO(entries["data/0.npy"])), W.numpy().ravel())
    assert entries["kernels/0.ttir"].startswith(b"module {") and __file__.encode() not in files[1]


# ---- damage ----------------------------------------------------------------------------------------------------------


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A file with one random mishap."""
    a, b = sorted(rng.sample(range(len(data)), 2))
    short = data[a : min(b, a + rng.choice((1, 4, 16, 300)))]
    match rng.randrange(8):
        case 0:
            return data[:a]
        case 1:
            changed = bytearray(data)
            for _ in range(rng.choice((1, 1, 2, 8))):
                changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            return bytes(changed)
        case 2:
            return data[:a] + bytes(len(short)) + data[a + len(short) :]
        case 3:
            return data[:a] + short + data[a:]
        case 4:
            return data[:a] + data[a + len(short) :]
        case 5:
            return data[:a] + rng.randbytes(len(short)) + data[a + len(short) :]
        case 6:
            return data[b:] + data[:b]
        case _:
            return data + rng.randbytes(rng.choice((1, 22, 100)))


def test_a_thousand_mishaps(files: tuple[bytes, bytes]) -> None:
    rng = random.Random(0)
    want = call(exported())
    survived = 0
    for number in range(1000):
        data = damaged(files[number % 2], rng)
        try:
            program = load(io.BytesIO(data))
            got = call(program)
        except OpweaveError:
            continue
        survived += 1
        for one, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(one, other)
    assert survived < 300, "most mishaps are noticed; the others are in what means nothing"


def places(value: Any) -> list[tuple[Any, Any]]:
    """All (container, key) of nested JSON."""
    found: list[tuple[Any, Any]] = []
    keys: Any = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        found.append((value, key))
        found += places(value[key])
    return found


STRANGE: list[Any] = [
    None, True, 0, -1, 1, 2**31, 2**63, 2**200, 1.5, 1e308, "", "x", "../../etc/passwd", "__class__", "a\nb", "\ud800",
    [], {}, [[]], [None], {"node": "x"}, {"node": "output"}, {"tuple": []}, {"slice": [1, 2]}, {"dtype": "object"},
    {"float": "1e400"}, {"complex": [1]}, {"dict": [[[], 1]]}, {"device": "cuda:999999999999"}, {"ellipsis": False},
]  # fmt: skip


@pytest.mark.slow
def test_a_thousand_forgeries(files: tuple[bytes, bytes]) -> None:
    """Values that are replaced, dropped or exchanged, under hashes that are right: an error, or a whole program."""
    rng = random.Random(1)
    loaded = 0
    for number in range(1000):
        entries = entries_of(files[number % 2])
        name = "manifest.json" if number % 10 == 0 else "program.json"
        content = json.loads(entries[name])
        container, key = rng.choice(places(content))
        match rng.randrange(4):
            case 0 | 1:
                container[key] = copy.deepcopy(rng.choice(STRANGE))
            case 2:
                del container[key]
            case _:
                other, place = rng.choice(places(content))
                container[key] = copy.deepcopy(other[place])
        if name == "manifest.json":
            data = packed({**entries, name: json.dumps(content).encode()})
        else:
            data = sealed({**entries, name: json.dumps(content).encode()})
        try:
            program = load(io.BytesIO(data))
            again = load(io.BytesIO(saved(program)))
        except OpweaveError:
            continue
        loaded += 1
        assert str(again) == str(program)
    assert 0 < loaded < 500


# ---- hostile files ---------------------------------------------------------------------------------------------------


def deep(levels: int, kind: str) -> str:
    return f'{{"{kind}": [' * levels + "1" + "]}" * levels


class TestContainers:
    @pytest.mark.parametrize("data", [b"", b"PK", b"PK\5\6" + bytes(18), b"\0" * 1000, b"cos\nsystem\n(S'true'\ntR."])
    def test_no_zip(self, data: bytes) -> None:
        refused(data)

    @pytest.mark.parametrize(
        "name",
        ["../evil.json", "/etc/passwd", "data/../../evil.npy", "C:\\evil", "data/0.npy\0.py", "evil.py", "data/x.npy",
         "data/0.pkl", "program.json/", "data/", "DATA/0.npy", "data/\u0661.npy"],
    )  # fmt: skip
    @pytest.mark.filterwarnings("ignore:Duplicate")
    def test_names(self, files: tuple[bytes, bytes], name: str, tmp_path: Path, monkeypatch: Any) -> None:
        monkeypatch.chdir(tmp_path)
        entries = entries_of(files[0])
        refused(packed({**entries, name: b"x"}))
        assert os.listdir(tmp_path) == []

    def test_an_entry_that_nothing_names(self, files: tuple[bytes, bytes]) -> None:
        refused(sealed({**entries_of(files[0]), "data/7.npy": b"x"}), "nothing refers to")

    def test_a_name_twice(self, files: tuple[bytes, bytes]) -> None:
        content = io.BytesIO(files[0])
        with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(content, "a") as file:
            file.writestr("program.json", b"{}")
        refused(content.getvalue(), "twice")

    def test_a_zip_bomb(self, files: tuple[bytes, bytes]) -> None:
        bomb = packed({**entries_of(files[0]), "data/1.npy": bytes(200 << 20)}, compression=zipfile.ZIP_DEFLATED)
        assert len(bomb) < 1 << 20
        tracemalloc.start()
        refused(bomb, "longer than the file")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8 << 20

    def test_a_small_compressed_entry(self, files: tuple[bytes, bytes]) -> None:
        refused(packed(entries_of(files[0]), compression=zipfile.ZIP_DEFLATED))

    def test_entries_that_overlap(self, files: tuple[bytes, bytes]) -> None:
        """Two entries of the directory that show the same bytes of the file."""
        content = io.BytesIO(packed(entries_of(files[0])))
        with zipfile.ZipFile(content, "a") as file:
            twin = copy.copy(file.infolist()[-1])
            twin.filename = "data/9.npy"
            file.filelist.append(twin)
            file.NameToInfo["data/9.npy"] = twin
            file._didModify = True  # type: ignore[attr-defined]
        refused(content.getvalue())

    @pytest.mark.parametrize(
        "change",
        [{"version": 3}, {"version": 0}, {"version": True}, {"version": None}, {"format": "torch"}, {"entries": {}},
         {"entries": None}, {"ops": 3}, {"extra": 1}],
    )  # fmt: skip
    def test_manifests(self, files: tuple[bytes, bytes], change: dict[str, Any]) -> None:
        entries = entries_of(files[0])
        manifest = {**json.loads(entries["manifest.json"]), **change}
        refused(packed({**entries, "manifest.json": json.dumps(manifest).encode()}))

    def test_a_hash(self, files: tuple[bytes, bytes]) -> None:
        entries = entries_of(files[0])
        entries["data/0.npy"] = entries["data/0.npy"][:-1] + b"\1"
        refused(packed(entries), "damaged")

    def test_paths_and_files(self, tmp_path: Path) -> None:
        with pytest.raises(ExportError, match="cannot be read"):
            load(tmp_path / "missing")
        with pytest.raises(ExportError, match="cannot be read"):
            load(tmp_path)
        with pytest.raises(ArgumentError):
            load(3)
        with pytest.raises(ArgumentError, match="binary"):
            load(io.StringIO("x"))
        with pytest.raises(ArgumentError):
            load("a\0b")

    def test_a_save_that_fails_leaves_the_old_file(self, tmp_path: Path) -> None:
        path = tmp_path / "p.opweave"
        program = exported()
        save(program, path)
        before = path.read_bytes()
        program.graph.placeholder("late")
        with pytest.raises(OpweaveError):
            save(program, path)
        assert path.read_bytes() == before and os.listdir(tmp_path) == ["p.opweave"]


class TestJson:
    @pytest.mark.parametrize(
        "text",
        [b"", b"{", b"[]", b"3", b'"x"', b"\xff\xfe", b"NaN", b'{"a": NaN}', b'{"a": Infinity}', b'{"a": 1e999}',
         b'{"a": 1, "a": 2}', b"9" * 5000, b"[" * 100_000, b'{"a":' * 50_000 + b"1" + b"}" * 50_000],
    )  # fmt: skip
    def test_text(self, files: tuple[bytes, bytes], text: bytes) -> None:
        refused(sealed({**entries_of(files[0]), "program.json": text}), "program.json")
        refused(packed({**entries_of(files[0]), "manifest.json": text}))

    def test_length(self, files: tuple[bytes, bytes]) -> None:
        refused(sealed({**entries_of(files[0]), "program.json": b" " * (33 << 20)}), "longer than")

    @pytest.mark.parametrize("kind", ["tuple", "dict", "slice"])
    def test_depth_of_operands(self, files: tuple[bytes, bytes], kind: str) -> None:
        def change(program: dict[str, Any]) -> None:
            value = json.loads(deep(100, "tuple"))
            inner = [["k", value]] if kind == "dict" else [None, None, value] if kind == "slice" else [value]
            nodes(program)["mul"]["args"][1] = {kind: inner}

        refused(edited(files[0], change), "nested")

    def test_depth_of_structures(self, files: tuple[bytes, bytes]) -> None:
        refused(edited(files[0], lambda p: p.update(in_spec=json.loads(deep(100, "list").replace("1", '"*"')))))


def set_in(*path: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(program: dict[str, Any]) -> None:
        place: Any = {**program, "nodes": nodes(program)}
        for key in path[:-1]:
            place = place[key]
        (program if len(path) == 1 else place)[path[-1]] = to

    return change


def swap_nodes(program: dict[str, Any]) -> None:
    program["graph"]["nodes"].reverse()


def repeat_node(program: dict[str, Any]) -> None:
    program["graph"]["nodes"].append(program["graph"]["nodes"][-1])


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (swap_nodes, "earlier node"),
        (repeat_node, "not used yet"),
        (set_in("nodes", "mul", "args", 0, to={"node": "mul"}), "earlier node"),
        (set_in("nodes", "mul", "name", to="def"), "not used yet"),
        (set_in("nodes", "mul", "name", to="__import__('os')"), "identifier"),
        (set_in("nodes", "mul", "name", to="ｍｕｌ"), "identifier"),
        (set_in("nodes", "mul", "kind", to="eval"), "kind of node"),
        (set_in("nodes", "mul", "kind", to=["op"]), "kind of node"),
        (set_in("nodes", "mul", "target", to="os::system"), "manifest"),
        (set_in("nodes", "mul", "target", to=3), "text"),
        (set_in("nodes", "mul", "args", to={}), "list"),
        (set_in("nodes", "mul", "args", to=[]), "fits"),
        (set_in("nodes", "mul", "kwargs", to={"beta": 1}), "fits"),
        (set_in("nodes", "mul", "kwargs", to={"a b": 1}), "identifier"),
        (set_in("nodes", "mul", "extra", to=1), "extra"),
        (set_in("nodes", "mul", "site", to=["a\nimport os", 1, "f"]), "printable"),
        (set_in("nodes", "mul", "site", to=["a", -1, "f"]), "integer"),
        (set_in("nodes", "mul", "val", "sizes", to=[2**62, 2**62]), "memory"),
        (set_in("nodes", "mul", "val", "sizes", to=[-1, 5]), "integer"),
        (set_in("nodes", "mul", "val", "sizes", to=[4.0, 5]), "integer"),
        (set_in("nodes", "mul", "val", "sizes", to=[1] * 100), "dimensions"),
        (set_in("nodes", "mul", "val", "strides", to=[2**62, 2**62]), "memory"),
        (set_in("nodes", "mul", "val", "strides", to=[1]), "strides"),
        (set_in("nodes", "mul", "val", "dtype", to="object"), "dtype"),
        (set_in("nodes", "mul", "val", "device", to="disk"), "device"),
        (set_in("nodes", "plus", "body", "call", to=3), "text"),
        (set_in("nodes", "plus", "body", "graph", "outputs", to={"tuple": []}), "one result"),
        (set_in("nodes", "plus", "body", "graph", "inputs", to=[]), "node"),
        (set_in("graph", "outputs", to=None), "outputs|return"),
        (set_in("graph", "outputs", to={"tuple": []}), "outputs|return"),
        (set_in("graph", "inputs", 0, "name", to="x"), "not used yet"),
        (set_in("graph", to=[]), "object"),
        (set_in("inputs", to=[]), "user inputs"),
        (set_in("inputs", 0, "kind", to="CUSTOM_OBJ"), "kind of input"),
        (set_in("inputs", 0, "target", to="W2"), "tensor"),
        (set_in("inputs", 0, "node", to="mul"), "input"),
        (set_in("inputs", 0, "path", to="x\n"), "printable"),
        (set_in("in_spec", to="*"), "user inputs"),
        (set_in("in_spec", to={"set": []}), "structure"),
        (set_in("in_spec", to={"dict": [["a", "*"], ["a", "*"]]}), "once"),
        (set_in("out_spec", to="*"), "return"),
        (set_in("mutated", to=["x"]), "writes"),
        (set_in("range_constraints", to={"s0": [2, 4]}), "constraints"),
        (set_in("name", to="f(x): import os"), "identifier"),
        (set_in("tensors", "W", "sizes", to=[2**40, 5]), "inside"),
        (set_in("tensors", "W", "offset", to=1), "inside"),
        (set_in("tensors", "W", "offset", to=-1), "integer"),
        (set_in("tensors", "W", "strides", to=[10, 1]), "inside"),
        (set_in("tensors", "W", "dtype", to="float64"), "inside"),
        (set_in("tensors", "W", "dtype", to="bool"), "0 or 1"),
        (set_in("tensors", "W", "storage", to=1), "integer"),
        (set_in("tensors", "W", "storage", to=-1), "integer"),
        (set_in("tensors", "W", "device", to="meta"), "cpu"),
        (set_in("tensors", "W", "requires_grad", to=1), "true or false"),
        (set_in("tensors", to={}), "tensor"),
        (set_in("storages", 0, "entry", to="../x.npy"), "entry"),
        (set_in("storages", 0, "entry", to="program.json"), "entry"),
        (set_in("storages", to=[]), "integer"),
        (set_in("kernels", 0, "entry", to="data/0.npy"), "entry"),
        (set_in("kernels", 0, "parameters", 0, to=["x", "*fp32; evil"]), "Triton type"),
        (set_in("kernels", 0, "parameters", 0, to=["y", "*fp32"]), "names of their own"),
        (set_in("kernels", 0, "writes", to=["nothing"]), "names of their own"),
        (set_in("kernels", to=[]), "integer|nothing refers"),
    ],
)
def test_programs(files: tuple[bytes, bytes], change: Callable[[dict[str, Any]], Any], match: str) -> None:
    refused(edited(files[0], change), match)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"kernel": 1}, "integer"),
        ({"grid": [1, 1]}, "three"),
        ({"grid": [2**31, 1, 1]}, "integer"),
        ({"grid": [{"op": "ceildiv"}, 1, 1]}, "operand"),
        ({"grid": [{"node": "late"}, 1, 1]}, "earlier node"),
        ({"grid": [{"node": "x"}, 1, 1]}, "computes an integer"),
        ({"grid": [1.5, 1, 1]}, "integer"),
        ({"kwargs": {}}, "for x"),
        ({"clones": ["n"]}, "tensors"),
        ({"clones": 3}, "list"),
    ],
)
def test_launches(files: tuple[bytes, bytes], change: dict[str, Any], match: str) -> None:
    refused(edited(files[1], lambda p: nodes(p)["triton_kernel_wrapper_mutation"].update(change)), match)


@pytest.mark.parametrize(
    "schema",
    ["", "x", "aten::mul.Tensor(", "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor" + "]" * 3,
     "aten::add.Tensor(Tensor self, Tensor other) -> Tensor", "aten::mul.Tensor(" + "(" * 10_000, 3, None,
     "aten::mul.Tensor(Tensor self, int other=" + "9" * 5000 + ") -> Tensor"],
)  # fmt: skip
def test_schemas(files: tuple[bytes, bytes], schema: Any) -> None:
    entries = entries_of(files[0])
    manifest = json.loads(entries["manifest.json"])
    manifest["ops"]["aten::mul.Tensor"] = schema
    refused(sealed(entries, manifest))


def test_a_builtin_op_of_another_schema(files: tuple[bytes, bytes]) -> None:
    entries = entries_of(files[0])
    manifest = json.loads(entries["manifest.json"])
    manifest["ops"]["aten::mul.Tensor"] = "aten::mul.Tensor(Tensor self, Tensor other, int more) -> Tensor"
    with pytest.raises(ExportError, match=r"other schemas: aten::mul\.Tensor") as caught:
        load(io.BytesIO(sealed(entries, manifest)))
    assert "exported:   aten::mul.Tensor(Tensor self, Tensor other, int more) -> Tensor" in str(caught.value)
    assert "registered: aten::mul.Tensor(Tensor self, Tensor other) -> Tensor" in str(caught.value)


def npy(array: Any, **options: Any) -> bytes:
    content = io.BytesIO()
    np.lib.format.write_array(content, array, **options)
    return content.getvalue()


def with_header(header: str, body: bytes) -> bytes:
    text = (header + " " * (-(len(header) + 11) % 64) + "\n").encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x93NUMPY",
        npy(np.array([print, 1], object), allow_pickle=True),
        npy(np.asfortranarray(np.zeros((5, 5), np.float32))),
        npy(np.zeros((5, 5), np.float32)),
        npy(np.zeros(25, np.float32), version=(2, 0)),
        npy(np.zeros(25, ">f4")),
        npy(np.zeros(25, [("a", "<f4")])),
        npy(np.zeros(25, "<U1")),
        npy(np.zeros(25, "<M8[s]")),
        npy(np.zeros(25, np.float32))[:-1],
        npy(np.zeros(25, np.float32)) + b"\0",
        npy(np.zeros(3, np.float32)),
        with_header("{'descr': '<f4', 'fortran_order': True, 'shape': (25,), }", bytes(100)),
        with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (9000000000000000000,), }", bytes(100)),
        with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-25,), }", bytes(100)),
        with_header("{'descr': __import__('os').abort(), 'fortran_order': False, 'shape': (25,), }", bytes(100)),
        with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (25,), }" + "(" * 5000, bytes(100)),
    ],
)
def test_arrays(files: tuple[bytes, bytes], data: bytes) -> None:
    refused(sealed({**entries_of(files[0]), "data/0.npy": data}))


def test_huge_sizes_take_no_memory(files: tuple[bytes, bytes]) -> None:
    data = edited(files[0], set_in("nodes", "mul", "val", "sizes", to=[2**40, 2**10]))
    tracemalloc.start()
    program = load(io.BytesIO(data))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert program.graph.named("mul").meta["val"].shape == (2**40, 2**10) and peak < 8 << 20  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"module {", b"modul {"),
        (b"tt.store", b"tt.stare"),
        (b"tt.return", b""),
        (b"arith.addf", b'arith.addf" evil'),
        (b"%", b"\0"),
        (b"tt.func", b"tt.fun"),
        (b"!tt.ptr<f32>", b"!tt.ptr<f64>"),
        (b"i32", b"i64"),
        (b"}", b""),
    ],
)
def test_kernels_that_do_not_compile(files: tuple[bytes, bytes], old: bytes, new: bytes) -> None:
    entries = entries_of(files[1])
    assert old in entries["kernels/0.ttir"]
    entries["kernels/0.ttir"] = entries["kernels/0.ttir"].replace(old, new)
    refused(sealed(entries), "add_kernel")


def test_a_kernel_that_is_no_text(files: tuple[bytes, bytes]) -> None:
    refused(sealed({**entries_of(files[1]), "kernels/0.ttir": b"\xff\xfe"}), "text")


def test_loading_runs_nothing(files: tuple[bytes, bytes], monkeypatch: Any) -> None:
    """No kernel, no fake rule, no text is executed until the program is called."""
    called: list[Any] = []

    def forbidden(*args: Any, **kwargs: Any) -> Any:
        called.append(args)
        raise AssertionError("executed while loading")

    operator = ops.export_files.twice.default
    before = registry.version
    for name in ("eval", "exec", "compile"):
        monkeypatch.setattr(builtins, name, forbidden)
    monkeypatch.setattr(operator, "fake", forbidden)
    for key in operator.kernels:
        monkeypatch.setitem(operator.kernels, key, forbidden)
    for data in files:
        program = load(io.BytesIO(data))
        str(program)
        save(program, io.BytesIO())
    assert called == [] and registry.version == before
