"""Filters as the kernel in registers reads them: some terms of some of them, a row each."""

from __future__ import annotations

from opweave.codegen.native.correlation.vectors import Vectors
from opweave.codegen.native.correlation.words import PITCH, Record
from opweave.codegen.native.emitting import Function, Int, Number
from opweave.codegen.native.objects import UNTUNED

#: How many taps ahead filters are asked for.
_TAPS_AHEAD = 8


class Filters(Vectors):
    """What looks at filters and brings them to where they are read."""

    def _is_turned(self, c: Record) -> Int:
        """Whether a channel's taps lie side by side in the opposite order."""
        taps, by = ([c[f"{name}{d}"] for d in range(3)] for name in ("taps", "w"))
        even = by[1].equals(taps[2] * by[2]).either(taps[1].equals(1))
        even = even.both(by[0].equals(taps[1] * taps[2] * by[2]).either(taps[0].equals(1)))
        return even.both(by[2].equals(-1))

    def _backwards(self, f: Function, of: str, window: Int) -> tuple[str, str]:
        """The taps of a channel that lie before an address, as they are and at the end of a register, turned around."""
        bits = self._masked_bits(f, self._stored_at(f, of, 1 - window), self._below(f, window))
        order = ", ".join(f"i32 {k}" for k in reversed(range(self.lanes)))
        kind = f"<{self.lanes} x {self.stored}>"
        return bits, f.op(f"shufflevector {kind} {bits}, {kind} poison, <{self.lanes} x i32> <{order}>")

    def _filters(self) -> str:
        """Terms [r0, r1) of some filters, a row each."""
        f, c, _ = self._open("filters", "ptr base", "i64 rows", "i64 r0", "i64 r1", "ptr to")
        rows, r0, r1, w_m = f.param("rows"), f.param("r0"), f.param("r1"), c["w_m"]
        if self.by_channels:
            return self._filters_of_channels(f, c, rows, r0, r1)
        if self.kind.paired:
            return self._filters_of_pairs(f, c, rows, r0, r1)
        bits = f"<{self.lanes} x i1>"
        several = f.room(bits)
        f.line(f"store {bits} zeroinitializer, ptr {several}")
        with f.loop(0, rows) as m:
            of, to = self._stored_at(f, "%base", m * w_m + r0), self._at(f, "%to", m * PITCH)
            with f.loop(0, r1 - r0, 64 // self.item) as k:
                later = self._stored_at(f, of, w_m * 3 + k)
                self._ahead(f, later)
            whole = (r1 - r0) & -self.lanes
            with f.loop(0, whole, self.lanes) as k:
                value = self._load_several(f, self._stored_at(f, of, k))
                self._vstore(f, value, self._at(f, to, k))
                self._is_odd(f, value, self.vector, several, bits)
            with f.when(whole < r1 - r0):
                value = f.op(f"call {self.vector} @first(ptr {self._stored_at(f, of, whole)}, i64 {r1 - r0 - whole})")
                self._vstore(f, value, self._at(f, to, whole))
                self._is_odd(f, value, self.vector, several, bits)
        self._note(f, c, several)
        return f.end()

    def _filters_of_pairs(self, f: Function, c: Record, rows: Int, r0: Int, r1: Int) -> str:
        """`_filters` where pairs are what lies in memory."""
        w_m, count = c["w_m"], 2 * self.lanes
        kind, several = f"<{count} x i16>", f.room("i32")
        f.line(f"store i32 0, ptr {several}")
        whole = (r1 - r0) // count * count

        def keep(value: str, place: str) -> None:
            f.line(f"store {kind} {value}, ptr {place}, align 4")
            high = f.op(f"and {kind} {value}, splat (i16 32640)")
            odd = f.op(f"bitcast <{count} x i1> {f.op(f'icmp eq {kind} {high}, splat (i16 32640)')} to i{count}")
            before = f.op(f"load i32, ptr {several}")
            f.line(f"store i32 {f.op(f'or i32 {before}, {odd}')}, ptr {several}")

        with f.loop(0, rows) as m:
            of, to = self._stored_at(f, "%base", m * w_m + r0), self._at(f, "%to", m * PITCH)
            with f.loop(0, whole, count) as k:
                self._ahead(f, self._stored_at(f, of, w_m * 3 + k))
                keep(f.op(f"load {kind}, ptr {self._stored_at(f, of, k)}, align 2"), self._stored_at(f, to, k))
            with f.when(whole < r1 - r0):
                mask = self._below(f, r1 - r0 - whole, count)
                value = f.op(
                    f"call {kind} @llvm.masked.load.v{count}i16.p0(ptr align 2 {self._stored_at(f, of, whole)},"
                    f" <{count} x i1> {mask}, {kind} zeroinitializer)"
                )
                keep(value, self._stored_at(f, to, whole))
        found = Int(f, f.op(f"icmp ne i32 {f.op(f'load i32, ptr {several}')}, 0"))
        with f.when(found):
            c["odd"] = 1
        declared = f"declare {kind} @llvm.masked.load.v{count}i16.p0(ptr, <{count} x i1>, {kind})"
        return f"{declared}\n\n{f.end()}"

    def _filters_of_channels(self, f: Function, c: Record, rows: Int, r0: Int, r1: Int) -> str:
        """`_filters` where a term is a tap of two channels."""
        w_m, window, channels, n = c["w_m"], c["window"], c["channels"], 2 * self.lanes
        kind = f"<{n} x i16>"
        most, order = f.room(kind), f.room(f"[{n} x i16]")
        f.line(f"store {kind} zeroinitializer, ptr {most}")

        def load(place: str, count: Int | None) -> str:
            if count is None:
                return f.op(f"load {kind}, ptr {place}, align 2")
            mask = self._below(f, count, n)
            return f.op(
                f"call {kind} @llvm.masked.load.v{n}i16.p0(ptr align 2 {place}, <{n} x i1> {mask},"
                f" {kind} zeroinitializer)"
            )

        def keep(value: str, place: str) -> None:
            f.line(f"store {kind} {value}, ptr {place}, align 4")
            size = f.op(f"and {kind} {value}, splat (i16 32767)")
            old = f.op(f"load {kind}, ptr {most}")
            f.line(f"store {kind} {f.op(f'call {kind} @llvm.umax.v{n}i16({kind} {size}, {kind} {old})')}, ptr {most}")

        # Of two channels that lie side by side, the taps of one and of the other by turns.
        with f.loop(0, self.lanes) as k:
            for j, of in enumerate((k, window + k)):
                short = f.op(f"trunc i64 {of & (n - 1)} to i16")
                f.line(f"store i16 {short}, ptr {f.at(order, k * 2 + j, 'i16')}")
        turn = f.op(f"load {kind}, ptr {order}")
        units = r1 - r0
        with f.loop(0, rows) as m:
            of, to = self._stored_at(f, "%base", m * w_m), self._at(f, "%to", m * PITCH)
            with f.when(window.equals(1)):
                end = (channels - r0 * 2).least(units * 2)
                even = end & -n
                with f.loop(0, even, n) as k:
                    self._ahead(f, self._stored_at(f, of, w_m * 3 + r0 * 2 + k))
                    keep(load(self._stored_at(f, of, r0 * 2 + k), None), self._stored_at(f, to, k))
                with f.when(even < end):
                    keep(load(self._stored_at(f, of, r0 * 2 + even), end - even), self._stored_at(f, to, even))
            small = (window > 1).both(window <= self.lanes)
            with f.when(small), f.loop(r0, r1, window) as k:
                # Blocks are of whole channels, since these have fewer taps than there are terms in a block.
                place = self._stored_at(f, of, k * 2)
                self._ahead(f, self._stored_at(f, of, w_m * 3 + k * 2))
                value = load(place, (channels * window - k * 2).least(window * 2))
                mixed = f.op(f"call {kind} @llvm.x86.avx512.permvar.hi.512({kind} {value}, {kind} {turn})")
                keep(mixed, self._at(f, to, k - r0))
            with f.when(window > self.lanes), f.loop(r0 // window, r1.up(window)) as channel:
                begin = channel * window
                first, last = (r0 - begin).most(0), (r1 - begin).least(window)
                own = self._stored_at(f, of, channel * window * 2)
                second = (channel * 2 + 1 < channels).choose(last, 0)
                with f.loop(first, last, self.lanes) as k:
                    parts: list[str] = []
                    for place, end in ((k, last), (window + k, second)):
                        at = self._stored_at(f, own, place)
                        bits = self._masked_bits(f, at, self._below(f, end - k))
                        parts.append(f.op(f"zext <{self.lanes} x i16> {bits} to <{self.lanes} x i32>"))
                    high = f.op(f"shl <{self.lanes} x i32> {parts[1]}, splat (i32 16)")
                    both = f.op(f"or <{self.lanes} x i32> {parts[0]}, {high}")
                    keep(f.op(f"bitcast <{self.lanes} x i32> {both} to {kind}"), self._at(f, to, begin + k - r0))
        found = f.op(f"call i16 @llvm.vector.reduce.umax.v{n}i16({kind} {f.op(f'load {kind}, ptr {most}')})")
        with f.when(Int(f, f.op(f"icmp uge i16 {found}, 32640"))):
            c["odd"] = 1
        declared = (
            f"declare {kind} @llvm.masked.load.v{n}i16.p0(ptr, <{n} x i1>, {kind})\n"
            f"declare {kind} @llvm.umax.v{n}i16({kind}, {kind})\n"
            f"declare i16 @llvm.vector.reduce.umax.v{n}i16({kind})\n"
            f"declare {kind} @llvm.x86.avx512.permvar.hi.512({kind}, {kind})"
        )
        return f"{declared}\n\n{f.end()}"

    def _ahead(self, f: Function, place: str) -> None:
        """Ask for what is read soon; there may be nothing."""
        f.line(f"call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 3, i32 1)")

    def _ahead_in_short(self, f: Function, place: str) -> None:
        """The same where rows are read in pieces as short as a register, too short for a processor to see what is next.

        Registers as long as a line of the cache do without.
        """
        if self.kind.bits < 512:
            self._ahead(f, place)

    def _note(self, f: Function, c: Record, several: str, one: str | None = None) -> None:
        """Have it known that numbers are not finite."""
        bits = f"<{self.lanes} x i1>"
        some = f.op(f"call i1 @llvm.vector.reduce.or.v{self.lanes}i1({bits} {f.op(f'load {bits}, ptr {several}')})")
        found = Int(f, some)
        if one is not None:
            found = found.either(Int(f, f.op(f"load i1, ptr {one}")))
        with f.when(found):
            c["odd"] = 1

    def _survey(self) -> str:
        """Look at filters, some a program: are all numbers finite; those that do not lie in order are put so."""
        f, c = self._task("survey", UNTUNED)
        rows, terms, window, channels = c["rows"], c["terms"], c["window"], c["channels"]
        bits = f"<{self.lanes} x i1>"
        several = f.room(bits)
        f.line(f"store {bits} zeroinitializer, ptr {several}")
        plain = c["plain"].equals(1)
        blocks, parts, each = rows.up(self.looked), c["blocked"], self._each
        # In the order of the kernel in registers, a block of terms behind the other, or filter by filter.
        of_block = (parts > 0).choose(c["depth"] // window.most(1) * each, channels).most(1)
        apart = (parts > 0).choose(PITCH * each, terms + self.lanes)
        with f.loop(f.param("start"), f.param("end")) as i:
            g, m0 = i // blocks, i % blocks * self.looked
            m1 = (m0 + self.looked).least(rows)
            with f.when(plain.both(parts.equals(0))), f.loop(m0, m1) as m:
                of = self._stored_at(f, c.pointer("weight"), g * c["w_g"] + m * c["w_m"])
                with f.loop(0, terms, self.lanes) as k:
                    value = f.op(f"call {self.vector} @first(ptr {self._stored_at(f, of, k)}, i64 {terms - k})")
                    self._is_odd(f, value, self.vector, several, bits)
            with f.when(plain.denied().either(parts > 0)), f.loop(0, channels, of_block) as begin:
                place = ((g * parts.most(1) + begin // of_block) * rows + m0) * apart
                to = self._stored_at(f, c.pointer("packed"), place)
                end = (begin + of_block).least(channels)
                self._put_in_order(f, g, (m0, m1), (begin, end), to, apart)
        self._note(f, c, several)
        return f.end()

    @property
    def _each(self) -> int:
        """Channels of a term."""
        return 2 if self.by_channels else 1

    def _put_in_order(
        self, f: Function, g: Int, rows: tuple[Number, Number], channels: tuple[Number, Number], to: str, apart: Number
    ) -> None:
        f.line(
            f"call void @ordered(ptr %c, ptr null, i64 {g}, i64 {rows[0]}, i64 {rows[1]}, i64 {channels[0]},"
            f" i64 {channels[1]}, ptr {to}, i64 {apart})"
        )

    def _ordered(self) -> str:
        """Put some channels of some filters in order, and note what is not finite; writes somewhat before a filter."""
        names = ("g", "m0", "m1", "begin", "end")
        f, c, _ = self._open("ordered", *(f"i64 {name}" for name in names), "ptr to", "i64 apart")
        g, m0, m1, begin, end = (f.param(name) for name in names)
        apart, window = f.param("apart"), c["window"]
        one, bits = f.room("i1"), f"<{self.lanes} x i1>"
        several = f.room(bits)
        f.line(f"store i1 false, ptr {one}")
        f.line(f"store {bits} zeroinitializer, ptr {several}")
        w_c, w_m = c["w_c"], c["w_m"]
        weight = self._stored_at(f, c.pointer("weight"), g * c["w_g"])
        taps, by = ([c[f"{name}{d}"] for d in range(3)] for name in ("taps", "w"))
        square = window.equals(1).both(w_m.equals(1))

        def move(of: str, offset: Int, to: str, place: Int) -> None:
            value = f.op(f"load {self.stored}, ptr {self._stored_at(f, of, offset)}")
            f.line(f"store {self.stored} {value}, ptr {self._stored_at(f, to, place)}")
            self._is_odd(f, self._widened(f, value), self.real, one, "i1")

        def there(m: Number, channel: Int) -> str:
            return self._stored_at(f, "%to", (m - m0) * apart + (channel - begin) * window)

        plain = f.const(0).equals(1)
        if self.stored == self.real:
            # Those that are in order are copied.
            plain = c["plain"].equals(1)
            with f.when(plain), f.loop(m0, m1) as m:
                of, to, count = (
                    self._stored_at(f, weight, m * w_m + begin * window),
                    there(m, begin),
                    (end - begin) * window,
                )
                with f.loop(0, count, self.lanes) as k:
                    value = f.op(f"call {self.vector} @first(ptr {self._stored_at(f, of, k)}, i64 {count - k})")
                    self._vstore(f, value, self._stored_at(f, to, k))
                    self._is_odd(f, value, self.vector, several, bits)
            square = square.both(plain.denied())
        # One tap, and the gradient by the input: filters lie side by side, channels are to.
        with f.when(square), f.loop(begin, end, self.lanes) as channel, f.loop(m0, m1, self.lanes) as m:
            found: list[str] = []
            read, kept = self._below(f, m1 - m), self._below(f, end - channel)
            for j in range(self.lanes):
                self._ahead(f, self._stored_at(f, weight, m + (channel + j + self.lanes) * w_c))
                of = self._stored_at(f, weight, m + (channel + j).least(end - 1) * w_c)
                found.append(self._loaded(f, of, read))
                self._is_odd(f, found[-1], self.vector, several, bits)
            for j, value in enumerate(self._transposed(f, found)):
                with f.when(m + j < m1):
                    self._put_some(f, value, there(m + j, channel), kept)
        turned = self._is_turned(c).both(window <= self.lanes)
        offsets, tap = f.op(f"call ptr @malloc(i64 {window * 8 + 8})"), f.variable(0)
        with f.loop(0, taps[0]) as z, f.loop(0, taps[1]) as y, f.loop(0, taps[2]) as x:
            f.store(z * by[0] + y * by[1] + x * by[2], offsets, tap.value)
            tap.set(tap.value + 1)
        by_taps = c["by_taps"].equals(1)
        with f.when(by_taps):
            self._ordered_by_taps(f, c, weight, offsets, (m0, m1, begin, end, apart), several)
        # What a channel has for these filters lies together, if that is the gradient by the input.
        other = square.either(by_taps).either(plain).denied()
        if self.by_channels:
            in_pairs = other.both(c["paired"].equals(1))
            other = other.both(c["paired"].equals(0))
            with f.when(in_pairs), f.loop(2, end - begin + 1, 2) as left:
                channel = end - left
                with f.loop(m0, m1) as m:
                    of = self._stored_at(f, weight, m * w_m + channel * w_c)
                    self._ahead(f, self._stored_at(f, of, w_c * -4))
                    both, to = (of, self._stored_at(f, of, w_c)), there(m, channel)
                    with f.loop(0, window, rolled=False) as k:
                        for j, one_ in enumerate(both):
                            move(one_, f.load(offsets, k), to, k * 2 + j)
        with f.when(other), f.loop(1, end - begin + 1) as left:
            channel = end - left
            with f.loop(m0, m1) as m:
                of = self._stored_at(f, weight, m * w_m + channel * w_c)
                self._ahead(f, self._stored_at(f, of, w_c * -4))
                to = there(m, channel)
                # Turned around in a register, and put where only channels are that come after it.
                with f.when(turned):
                    bits_, back = self._backwards(f, of, window)
                    kind, at = f"<{self.lanes} x {self.stored}>", self._stored_at(f, to, window - self.lanes)
                    f.line(f"store {kind} {back}, ptr {at}, align {self._item_stored()}")
                    self._is_odd(f, self._widened(f, bits_, self.lanes), self.vector, several, bits)
                with f.when(turned.denied()), f.loop(0, window, rolled=False) as k:
                    move(of, f.load(offsets, k), to, k)
        f.line(f"call void @free(ptr {offsets})")
        self._note(f, c, several, one)
        return f.end()

    def _by_taps(self, c: Record) -> Int:
        """Whether filters are put in order tap by tap, the channels of each side by side: by copies, or by squares."""
        beside = c["w_c"].equals(1).either(c["w_m"].equals(1))
        turned = self._is_turned(c).both(c["w_m"].equals(c["window"]))
        if not self.by_channels:
            # Taps that fit in a register are turned around in one, and read in the order in which they lie.
            turned = turned.both(c["window"] > self.lanes)
        return (c["window"] > 1).both(beside.either(turned))

    def _ordered_by_taps(
        self, f: Function, c: Record, weight: str, offsets: str, parts: tuple[Int, Int, Int, Int, Int], several: str
    ) -> None:
        """Put filters in order tap by tap."""
        m0, m1, begin, end, apart = parts
        n, window, w_m, w_c, each = self.lanes, c["window"], c["w_m"], c["w_c"], self._each
        # Places of rows count numbers that are computed with: one, or a pair.
        pitch, units = apart // each, (end - begin) // each
        bits, whole, kind = f"<{n} x i1>", f"<{n} x i32>", f"<{2 * n} x i16>"
        largest = f.room(kind)
        f.line(f"store {kind} zeroinitializer, ptr {largest}")

        def keep(value: str, place: Int, mask: str) -> None:
            self._put_masked(f, value, self.real, self._at(f, "%to", place), mask)

        def look(value: str) -> None:
            if each == 1:
                self._is_odd(f, value, self.vector, several, bits)
                return
            pairs = f.op(f"bitcast {self.vector} {value} to {kind}")
            size = f.op(f"and {kind} {pairs}, splat (i16 32767)")
            old = f.op(f"load {kind}, ptr {largest}")
            new = f.op(f"call {kind} @llvm.umax.v{2 * n}i16({kind} {size}, {kind} {old})")
            f.line(f"store {kind} {new}, ptr {largest}")

        with f.when(w_c.equals(1)), f.loop(m0, m1) as m, f.loop(0, window) as k:
            of = self._stored_at(f, weight, m * w_m + f.load(offsets, k) + begin)
            with f.loop(0, units, n) as u:
                place = self._stored_at(f, of, u * each)
                # Some taps before: those of a row may all lie in the same few lines of a cache.
                self._ahead(f, self._stored_at(f, place, f.load(offsets, 1) * _TAPS_AHEAD))
                if each == 1:
                    value = f.op(f"call {self.vector} @first(ptr {place}, i64 {units - u})")
                else:
                    mask = self._below(f, (units - u) * 2, 2 * n)
                    both = f.op(
                        f"call {kind} @llvm.masked.load.v{2 * n}i16.p0(ptr align 2 {place}, <{2 * n} x i1> {mask},"
                        f" {kind} zeroinitializer)"
                    )
                    value = f.op(f"bitcast {kind} {both} to {self.vector}")
                look(value)
                keep(value, (m - m0) * pitch + k * units + u, self._below(f, units - u))
        squares = w_c.equals(1).denied()
        with f.when(squares):
            # Numbers of a channel that lie in a row: the filters of each tap, or those of all taps.
            beside, filters = w_m.equals(1), m1 - m0
            runs, long = beside.choose(window, 1), beside.choose(filters, filters * window)
            table = f.op(f"call ptr @malloc(i64 {filters * window * 8 + 8})")
            with f.loop(0, filters) as m, f.loop(0, window) as k:
                f.store(m * pitch + k * units, table, beside.choose(k * filters + m, m * window + (window - 1 - k)))
            with f.loop(0, runs) as q:
                first = beside.choose(m0 + f.load(offsets, q), m0 * w_m - (window - 1))
                # From the end: what is written beyond a tap's channels is where those of the next one will be.
                with f.loop(n, units.up(n) * n + 1, n) as left, f.loop(0, long, n) as e:
                    u = units.up(n) * n - left
                    most = units - u if self.kind.bits == 512 else (units > n).choose(n, units - u)
                    found: list[str] = []
                    read, kept = self._below(f, long - e), self._below(f, most)
                    for j in range(n):
                        channel = (u + j).least(units - 1) * each + begin
                        place = self._stored_at(f, weight, channel * w_c + first + e)
                        halves: list[str] = []
                        for h in range(each):
                            at = self._stored_at(f, place, w_c * h)
                            self._ahead(f, self._stored_at(f, at, w_c * (-each * n)))
                            halves.append(self._raw(f, at, read))
                        if each == 2:
                            low, high = (f.op(f"bitcast {self.vector} {half} to {whole}") for half in halves)
                            high = f.op(f"shl {whole} {high}, splat (i32 16)")
                            both = f.op(f"or {whole} {low}, {high}")
                            halves = [f.op(f"bitcast {whole} {both} to {self.vector}")]
                        found.append(halves[0])
                        look(found[-1])
                    for r, value in enumerate(self._transposed(f, found)):
                        with f.when(e + r < long):
                            keep(value, f.load(table, q * filters + e + r) + u, kept)
            f.line(f"call void @free(ptr {table})")
        if each == 2:
            most = f.op(f"call i16 @llvm.vector.reduce.umax.v{2 * n}i16({kind} {f.op(f'load {kind}, ptr {largest}')})")
            with f.when(Int(f, f.op(f"icmp uge i16 {most}, 32640"))):
                c["odd"] = 1

    def _filters_at(self, f: Function, c: Record, g: Int, m: Int, r0: Int, left: str) -> str:
        """Where terms of some filters of a group lie as the kernel in registers reads them: `left`, or ready."""
        blocked = c["blocked"]
        there = self._at(f, c.pointer("packed"), ((g * blocked + r0 // c["depth"]) * c["rows"] + m) * PITCH)
        return f.op(f"select i1 {blocked > 0}, ptr {there}, ptr {left}")

    def _put_filters(
        self, f: Function, c: Record, t: str, g: Int, m0: Int, some: Int, r0: Int, r1: Int, left: str
    ) -> None:
        """Put terms of some filters in order, if they are not."""
        late = c["late"].equals(1)
        with f.when(late):
            window = c["window"].most(1)
            channels = r0 // window * self._each, r1 // window * self._each
            self._put_in_order(f, g, (m0, m0 + some), channels, left, PITCH * self._each)
        with f.when(c["blocked"].equals(0).both(late.denied())):
            weight = self._stored_at(f, c.pointer("weight"), g * c["w_g"] + m0 * c["w_m"])
            f.line(f"call void @filters(ptr %c, ptr {t}, ptr {weight}, i64 {some}, i64 {r0}, i64 {r1}, ptr {left})")

    def _clear_rows(self, f: Function, base: str, first: Int, end: Int) -> None:
        """Zeros to rows that the kernel in registers reads beyond the last: what memory has there may be subnormal.

        Products with such numbers take a hundred times as long as others.
        """
        f.line(f"call void @clear(ptr {self._at(f, base, first * PITCH)}, i64 {(end - first) * PITCH})")

    def _clear_columns(self, f: Function, slab: str, far: Number, panel: Int, count: Int, depth: Int) -> None:
        """Zeros to the last register of a block's columns, if it has places beyond the last."""
        last = (count - 1) // panel
        lane = (count - 1 - last * panel) // self.lanes * self.lanes
        with f.when((count % self.lanes > 0).both(count > 0)), f.loop(0, depth) as k:
            self._vstore(f, "zeroinitializer", self._at(f, slab, last * far + lane + k * self.wide))

    def _quit(self, f: Function, c: Record, missing: Int) -> None:
        """Leave where there is no memory."""
        with f.when(missing):
            for name in ("turned", "landing"):
                f.line(f"call void @free(ptr {c.pointer(name)})")
        f.leave(missing, "i32 3")
