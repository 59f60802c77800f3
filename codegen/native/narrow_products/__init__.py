"""The native code of products of narrow numbers: bfloat16, float16 and 8-bit whole numbers.

Operands are packed in *groups* of neighbours along what is summed over, as many as 32 bits hold, which one instruction
multiplies and sums where the machine has one (AVX512-BF16, VNNI); elsewhere a group is one number, widened. A *panel*
of the right operand is a few registers of columns, a row of groups after the other; it is packed once for all rows. The
left operand is read where it is, if groups lie there in one piece, else packed likewise, in blocks of rows. For a row
or two, nothing is packed if both operands lie in one piece along what is summed over. Where the machine has AMX, tiles
of groups are multiplied (`tiles`). Numbers of float32 are groups of one, too (`codegen/blas.py` says when). Of few rows
of them a program packs a panel piece by piece, and uses each while the caches have it; memory is asked for ahead. What
many products of few rows are multiplied by may be packed once for all of them (`codegen/host/packing.py`).

A program makes a block of rows of a panel in float32 or int32, in the order of what is summed over, and rounds once.
Sums to which nothing is done, and that fill registers, are kept where the result lies.
What a program makes follows from the sizes alone, so results do not depend on the number of threads.
"""

from __future__ import annotations

from opweave.codegen.native import llvm
from opweave.codegen.native.amx import ROW_BYTES
from opweave.codegen.native.correlation.words import Record
from opweave.codegen.native.emitting import Function, Int
from opweave.codegen.native.narrow_products.tiles import Tiles
from opweave.codegen.native.narrow_products.vectors import (
    ENOUGH,
    FEW,
    FIELDS,
    HEIGHTS,
    HIGH,
    LINE,
    PACKED,
    PARTS,
    READ_TWICE,
    SHARED,
    TALL,
    WORDS,
    Kind,
)
from opweave.codegen.native.objects import UNTUNED


def source_for_host(stored: str) -> str:
    """`source` for this machine."""
    return source(Kind.of(stored, llvm.host()))


def source(kind: Kind) -> str:
    """The LLVM IR of `i32 opweave_multiply(ptr words)`: 0 done, 1 the handler of a signal raised, 3 no memory."""
    return _Module(kind).text()


class _Module(Tiles):
    def text(self) -> str:
        """All functions."""
        parts = [
            _HEAD, self._instruction(), *self._loads(), self._rounded(), *self._kernels(), self._dots(),
            self._pack_beside(), self._pack_across(), self._pack_scattered(), self._pack(), self._row_sums(),
            self._term(), self._finish(), self._prepare(), self._entry(),
            self._multiply_tiles() if self.kind.tiles else self._multiply(), self._loop(),
            '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.unroll.disable"}',
        ]  # fmt: skip
        return "\n\n".join(part for part in parts if part)

    def _kernels(self) -> list[str]:
        if self.kind.tiles:
            return self._tile_functions()
        chosen = [(h, v) for v in self._vectors() for h in self._high(v)]
        heights = ", ".join(f"i64 {h}" for h, _ in chosen)
        micros = ", ".join(f"ptr @micro.{h}x{v}" for h, v in chosen)
        return [
            f"@heights = internal constant [{len(chosen)} x i64] [{heights}]",
            f"@micros = internal constant [{len(chosen)} x ptr] [{micros}]",
            *(self._micro(h, v) for h, v in chosen),
        ]

    def _flip(self) -> int:
        return HIGH if self.shifted else 0

    def _prepare(self) -> str:
        """Pack blocks of the left operand, or panels of the right one."""
        f, c = self._task("prepare", UNTUNED)
        m, k, n, groups, height = (c[name] for name in ("m", "k", "n", "groups", "height"))
        panels, row_blocks = c["panels"], c["row_blocks"]
        here = c["direct"].equals(1).choose(0, row_blocks)
        each = here + c["shared"] * panels
        with f.loop(f.param("start"), f.param("end")) as i:
            batch, part = i // each, i % each
            with f.when(part < here):
                row = part * height
                left = f.at(c.pointer("left"), (batch * row_blocks + part) * height * groups, "i32")
                of = f.at(self._matrix(f, c, "a", batch, self.memory), row * c["a_row"], self.memory)
                how = "pack.rows" if self.kind.tiles else "pack"
                f.line(
                    f"call void @{how}(ptr {left}, ptr {of}, i64 {c['a_row']}, i64 {c['a_column']},"
                    f" i64 {(m - row).least(height)}, i64 {height}, i64 {k}, i64 0)"
                )
                if self.shifted:
                    sums = f.at(c.pointer("sums"), (batch * row_blocks + part) * height, "i32")
                    f.line(f"call void @row.sums(ptr {sums}, ptr {left}, i64 {height}, i64 {groups})")
            with f.when(part >= here):
                column = (part - here) * self.width
                count = (n - column).least(self.width)
                right = f.at(c.pointer("right"), (batch * panels * self.width + column) * groups, "i32")
                of = f.at(self._matrix(f, c, "b", batch, self.memory), column * c["b_column"], self.memory)
                f.line(
                    f"call void @pack(ptr {right}, ptr {of}, i64 {c['b_column']}, i64 {c['b_row']}, i64 {count},"
                    f" i64 {count.up(self.lanes) * self.lanes}, i64 {k}, i64 {self._flip()})"
                )
        return f.end()

    def _multiply(self) -> str:
        """Make blocks of rows of panels."""
        f, c = self._task("multiply", UNTUNED)
        m, k, n, groups, height = (c[name] for name in ("m", "k", "n", "groups", "height"))
        panels, row_blocks, direct, shared = (c[name] for name in ("panels", "row_blocks", "direct", "shared"))
        size = self.kind.size
        sums, scratch = f.room(f"[{self.tallest * self.width} x i32]"), f.room(f"[{self.depth * self.width} x i32]")
        panel, added = f.room("ptr"), f.room("ptr")
        is_direct, is_shared = direct.equals(1), shared.equals(1)
        a_row = is_direct.choose(c["a_row"] * self.item, 4)
        a_step = is_direct.choose(4, height * 4)
        with f.loop(f.param("start"), f.param("end")) as i:
            batch, rest = i // (panels * row_blocks), i % (panels * row_blocks)
            block, column = rest // panels, rest % panels * self.width
            row = block * height
            rows, columns = (m - row).least(height), (n - column).least(self.width)
            vectors = columns.up(self.lanes)
            width = vectors * self.lanes
            in_place = f.at(self._matrix(f, c, "a", batch, self.memory), row * c["a_row"], self.memory)
            blocks = batch * row_blocks + block
            packed = f.at(c.pointer("left"), blocks * height * groups, "i32")
            a = f.op(f"select i1 {is_direct}, ptr {in_place}, ptr {packed}")
            b = f.at(self._matrix(f, c, "b", batch, self.memory), column * c["b_column"], self.memory)
            right = f.at(c.pointer("right"), (batch * panels * self.width + column) * groups, "i32")
            dotted = c["dotted"].equals(1)
            corrections = f.at(c.pointer("sums"), blocks * height, "i32")
            straight = self._is_straight(f, c, dotted, columns)
            totals, pitch = self._totals(f, c, straight, batch, row, column, sums)
            with f.when(groups.equals(0)), f.loop(0, rows * self.width, self.lanes) as j:
                f.line(f"store {self.groups} zeroinitializer, ptr {f.at(sums, j, 'i32')}, align 64")
            with f.when(dotted):
                plain = f.at(self._matrix(f, c, "a", batch, self.memory), row * c["a_row"], self.memory)
                f.line(
                    f"call void @dots(i64 {k}, ptr {plain}, i64 {c['a_row']}, ptr {b}, i64 {c['b_column']},"
                    f" i64 {rows}, i64 {columns}, ptr {sums})"
                )
            with f.loop(0, dotted.choose(0, groups), self.depth) as g:
                count = (groups - g).least(self.depth)
                with f.when(is_shared):
                    f.line(f"store ptr {f.at(right, g * width, 'i32')}, ptr {panel}")
                with f.when(is_shared.denied()):
                    of = f.at(b, g * size * c["b_row"], self.memory)
                    numbers = (k - g * size).least(self.depth * size)
                    f.line(
                        f"call void @pack(ptr {scratch}, ptr {of}, i64 {c['b_column']}, i64 {c['b_row']},"
                        f" i64 {columns}, i64 {width}, i64 {numbers}, i64 {self._flip()})"
                    )
                    f.line(f"store ptr {scratch}, ptr {panel}")
                here, along = f.op(f"load ptr, ptr {panel}"), f.at(a, g * a_step, "i8")
                more = (g > 0).choose(1, 0)
                done = f.variable(0)
                with f.loop((vectors - 1) * HEIGHTS, vectors * HEIGHTS) as which:
                    high, micro = f.load("@heights", which), f.op(f"load ptr, ptr {f.at('@micros', which)}")
                    with f.loop(done.value, rows - high + 1, high) as r:
                        # Of what comes next in the panel, each asks for a line in two groups.
                        ahead = f.at(here, count * width + r // high * count * (LINE // 8), "i32")
                        f.line(
                            f"call void {micro}(i64 {count}, ptr {f.at(along, r * a_row, 'i8')}, i64 {a_row},"
                            f" i64 {a_step}, ptr {here}, ptr {f.at(totals, r * pitch, 'i8')}, i64 {pitch}, i64 {more},"
                            f" ptr {ahead}, ptr {f.at(corrections, r, 'i32')})"
                        )
                        done.set(r + high)
            width = f.const(self.width)
            with f.when(straight.denied()):
                self._put_block(f, c, batch, row, column, rows, columns, sums, width, added)
        return f.end()

    def _entry(self) -> str:
        f = Function("i32", self.name, ["ptr words"], UNTUNED)
        context = f.room(f"[{len(WORDS)} x i64]")
        f.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {context}, ptr %words, i64 {8 * len(FIELDS)}, i1 false)")
        c, size = Record(f, context, WORDS), self.kind.size
        m, k, n = (c[name] for name in "mkn")
        never = f.const(0).equals(1)
        turnable = c["a_column"].equals(1).both(c["b_row"].equals(1))
        dotted = turnable.both(m <= FEW) if self.dots else never
        turned = never
        if self.kind.tiles:
            # What is packed, and turned at the end, takes less than packing the right operand.
            turned = c["b_row"].equals(1).both(dotted.denied()).both(m * (k + n * 2) < n * k)
            self._exchange(f, c, turned)
            m, n = c["m"], c["n"]
        batches = c["far"] * c["near"]
        f.leave((batches * m * n).equals(0), "i32 0")
        groups, panels = self._all_groups(k), n.up(self.width)
        along = c["a_column"].equals(1)
        in_place = along if self.direct else never
        tall = in_place.both(m <= self.tallest).choose(self.tallest, self.tall)
        height = m.up(m.up(tall) * self.lanes) * self.lanes
        # A row of programs more is better than a core without any.
        for _ in range(2):
            few = (batches * panels * m.up(height) < ENOUGH).both(height > self.low)
            half = height.up(2 * self.lanes) * self.lanes
            if self.direct:
                # One row of programs packs for itself.
                few = few.both(half * self.width * k >= SHARED)
            height = few.choose(half, height)
        given = never
        if self.direct:
            # Rows are made by one thread: it has what a kernel that follows needs of them.
            given = (c["packed"] > 0).both(batches.equals(1))
            parted = m.up(PARTS * self.lanes) * self.lanes
            height = given.choose(parted.least(TALL), height)
        row_blocks = m.up(height)
        direct = (along.both((k % size).equals(0)) if size == 2 else in_place).either(dotted)
        if self.kind.tiles:
            lines = ((c["a_row"] * self.item | c["a"]) & (ROW_BYTES - 1)).equals(0)
            direct = along.both((panels <= READ_TWICE).either(dotted).either(lines))
        shared = (row_blocks > 1).either(given)
        for name, value in {
            "groups": groups, "panels": panels, "height": height, "row_blocks": row_blocks,
            "direct": direct.choose(1, 0),
            "dotted": dotted.choose(1, 0), "shared": shared.choose(1, 0), "turned": turned.choose(1, 0),
            "left": 0, "right": 0, "sums": 0,
        }.items():  # fmt: skip
            c[name] = value
        left = direct.choose(0, batches * row_blocks * height * groups)
        right = shared.both(given.denied()).choose(batches * panels * self.width * groups, 0)
        sums = batches * row_blocks * height if self.shifted else f.const(0)
        memory, cost, result = f.room("ptr"), f.room("double"), f.room("i32")
        f.line(f"store ptr null, ptr {memory}")
        f.line(f"store i32 0, ptr {result}")
        apart = left + right + sums
        with f.when(apart > 0):
            raw = f.op(f"call ptr @malloc(i64 {apart * 4 + 256})")
            f.leave(f.is_null(raw), "i32 3")
            f.line(f"store ptr {raw}, ptr {memory}")
            start = Int(f, f.op(f"ptrtoint ptr {raw} to i64"))
            start = (start + 63) & -64
            c["left"] = start
            # Each begins at a line of the cache.
            c["right"] = start + ((left * 4 + 63) & -64)
            c["sums"] = start + ((left * 4 + 63) & -64) + ((right * 4 + 63) & -64)
        with f.when(given):
            c["right"] = c["packed"]

        def go(function: str, programs: Int, each: Int) -> None:
            """Run programs, unless the handler of a signal has raised while others ran."""
            with f.when(Int(f, f.op(f"icmp eq i32 {f.op(f'load i32, ptr {result}')}, 0"))):
                work = f.op(f"sitofp i64 {each} to double")
                f.line(f"store double {f.op(f'fdiv double {work}, {self.rate:e}')}, ptr {cost}")
                found = f.op(
                    f"call i32 @opweave_run(ptr @{function}, ptr {context}, i64 {programs}, i32 1, i32 1, i32 1,"
                    f" ptr {cost})"
                )
                f.line(f"store i32 {found}, ptr {result}")

        parts = direct.choose(0, row_blocks) + shared.choose(panels, 0)
        if self.direct:
            # Panels come behind the rows.
            parts = given.both(c["ready"].equals(1)).choose(direct.choose(0, row_blocks), parts)
        with f.when(parts > 0):
            go("prepare", batches * parts, groups * self.width * int(self.rate / PACKED))
        go("multiply", batches * row_blocks * panels, (m.least(height) + 16) * n.least(self.width) * k + 1000)
        f.line(f"call void @free(ptr {f.op(f'load ptr, ptr {memory}')})")
        text = f.end(f"i32 {f.op(f'load i32, ptr {result}')}")
        # As a launch from Python runs it.
        f = Function("i32", f"{self.name}_run", _RUN)
        found = f.op(f"call i32 @{self.name}(ptr %packed)")
        return f"{text}\n\n{f.end(f'i32 {found}')}"

    def _loop(self) -> str:
        """The same as a loop that a replayed call has (`registry.tape`), as `product.ll` has it of BLAS's products."""
        f = Function("void", f"{self.name}_loop", ["ptr places", "ptr dims", "ptr steps", "ptr data"], UNTUNED)
        words = f.room(f"[{len(FIELDS)} x i64]")
        f.line(f"call void @llvm.memset.p0.i64(ptr {words}, i8 0, i64 {8 * len(FIELDS)}, i1 false)")
        one = f.const(0x3F800000)
        found = {"far": f.const(1), "alpha": one, "beta": one}
        found |= {name: f.load("%dims", i) for i, name in enumerate(("near", "m", "k", "n"))}
        found |= {name: f.load("%places", i) for i, name in enumerate("abc")}
        result = 4 if self._result() in ("i32", "float") else 2
        steps = ("a_near", "b_near", "c_near", "a_row", "a_column", "b_row", "b_column", "c_row")
        for i, name in enumerate(steps):
            found[name] = f.load("%steps", i) // (result if name.startswith("c") else self.item)
        for name, value in found.items():
            f.store(value, words, FIELDS.index(name))
        # Whoever calls looks for an exception.
        f.op(f"call i32 @{self.name}(ptr {words})")
        return f.end()


_RUN = ("ptr code", "ptr packed", "i64 n", "i32 gx", "i32 gy", "i32 gz", "ptr cost")
_HEAD = """\
declare ptr @malloc(i64)
declare void @free(ptr)
declare i64 @llvm.smin.i64(i64, i64)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
declare i64 @llvm.smax.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i32 @opweave_run(ptr, ptr, i64, i32, i32, i32, ptr)"""
