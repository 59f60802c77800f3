; What a sanitized kernel calls before each access and at each step of a loop (access_check.py).
;
; `@s.`, `@r.` and `@f.` are places in the state, in a range, and the number of a finding.

@opweave_sanitizer_state = global i64 0, align 8

; one step less; 1 where that goes on
define private i1 @step(ptr %state) {
  %steps.at = getelementptr i64, ptr %state, i64 @s.steps@
  %steps = load i64, ptr %steps.at
  %less = sub i64 %steps, 1
  store i64 %less, ptr %steps.at
  %left = icmp sgt i64 %steps, 0
  ret i1 %left
}

define private void @fail(
    ptr %state, i64 %why, i64 %site, i64 %kind, i64 %program, i64 %index, i64 %address, i64 %other, i64 %range) {
  %found.at = getelementptr i64, ptr %state, i64 @s.found@
  store i64 %why, ptr %found.at
  %site.at = getelementptr i64, ptr %state, i64 @s.site@
  store i64 %site, ptr %site.at
  %kind.at = getelementptr i64, ptr %state, i64 @s.kind@
  store i64 %kind, ptr %kind.at
  %program.at = getelementptr i64, ptr %state, i64 @s.program@
  store i64 %program, ptr %program.at
  %index.at = getelementptr i64, ptr %state, i64 @s.index@
  store i64 %index, ptr %index.at
  %address.at = getelementptr i64, ptr %state, i64 @s.address@
  store i64 %address, ptr %address.at
  %other.at = getelementptr i64, ptr %state, i64 @s.other@
  store i64 %other, ptr %other.at
  %range.at = getelementptr i64, ptr %state, i64 @s.range@
  store i64 %range, ptr %range.at
  ret void
}

define private ptr @met.cell(ptr %state, i32 %who) {
  %met.at = getelementptr i64, ptr %state, i64 @s.met@
  %met = load ptr, ptr %met.at
  %mask = sub i32 @met@, 1
  %i = sub i32 %who, 1
  %m = and i32 %i, %mask
  %w = zext i32 %m to i64
  %cell = getelementptr i32, ptr %met, i64 %w
  ret ptr %cell
}

; the program meets another one at an atomic: what that did before is done
define private void @meet(ptr %state, i32 %mine, i32 %who) {
  %cell = call ptr @met.cell(ptr %state, i32 %who)
  %last = load i32, ptr %cell
  %known = icmp eq i32 %last, %mine
  br i1 %known, label %done, label %new
new:
  store i32 %mine, ptr %cell
  %count.at = getelementptr i64, ptr %state, i64 @s.edge_count@
  %count = load i64, ptr %count.at
  %limit.at = getelementptr i64, ptr %state, i64 @s.edge_limit@
  %limit = load i64, ptr %limit.at
  %more = add i64 %count, 1
  store i64 %more, ptr %count.at
  %room = icmp slt i64 %count, %limit
  br i1 %room, label %keep, label %done
keep:
  %edges.at = getelementptr i64, ptr %state, i64 @s.edges@
  %edges = load ptr, ptr %edges.at
  %pair = mul i64 %count, 2
  %edge = getelementptr i32, ptr %edges, i64 %pair
  store i32 %mine, ptr %edge
  %second = getelementptr i32, ptr %edge, i64 1
  store i32 %who, ptr %second
  br label %done
done:
  ret void
}

; whether what another program did is done before: it is no other, or was met, or was met by one that was met
define private i1 @ordered(ptr %state, i32 %mine, i32 %who) {
  %nobody = icmp eq i32 %who, 0
  %myself = icmp eq i32 %who, %mine
  %quiet = or i1 %nobody, %myself
  br i1 %quiet, label %yes, label %look
look:
  %cell = call ptr @met.cell(ptr %state, i32 %who)
  %last = load i32, ptr %cell
  %known = icmp eq i32 %last, %mine
  br i1 %known, label %yes, label %ask
ask:
  %count.at = getelementptr i64, ptr %state, i64 @s.edge_count@
  %count = load i64, ptr %count.at
  %none = icmp eq i64 %count, 0
  br i1 %none, label %no, label %search
search:
  %ordered.at = getelementptr i64, ptr %state, i64 @s.ordered@
  %ordered = load ptr, ptr %ordered.at
  %mine.w = sext i32 %mine to i64
  %who.w = sext i32 %who to i64
  %answer = call i64 %ordered(i64 %mine.w, i64 %who.w)
  %found = icmp ne i64 %answer, 0
  br i1 %found, label %remember, label %no
remember:
  store i32 %mine, ptr %cell
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

define i1 @opweave_step(i64 %site, i64 %program) {
entry:
  %state.i = load i64, ptr @opweave_sanitizer_state
  %absent = icmp eq i64 %state.i, 0
  br i1 %absent, label %fine, label %present
present:
  %state = inttoptr i64 %state.i to ptr
  %found.at = getelementptr i64, ptr %state, i64 @s.found@
  %found = load i64, ptr %found.at
  %over = icmp ne i64 %found, 0
  br i1 %over, label %stop, label %count
count:
  %left = call i1 @step(ptr %state)
  br i1 %left, label %fine, label %endless
endless:
  call void @fail(ptr %state, i64 @f.endless@, i64 %site, i64 0, i64 %program, i64 0, i64 0, i64 0, i64 -1)
  br label %stop
stop:
  ret i1 false
fine:
  ret i1 true
}

define i1 @opweave_check(
    i64 %address, i64 %size, i64 %kind, i64 %argument, i64 %site, i64 %index, i64 %program, i64 %value) {
entry:
  %state.i = load i64, ptr @opweave_sanitizer_state
  %absent = icmp eq i64 %state.i, 0
  br i1 %absent, label %fine, label %present
present:
  %state = inttoptr i64 %state.i to ptr
  %found.at = getelementptr i64, ptr %state, i64 @s.found@
  %found = load i64, ptr %found.at
  %over = icmp ne i64 %found, 0
  br i1 %over, label %stop, label %begin
begin:
  %ranges.at = getelementptr i64, ptr %state, i64 @s.ranges@
  %ranges = load ptr, ptr %ranges.at
  %count.at = getelementptr i64, ptr %state, i64 @s.count@
  %count = load i64, ptr %count.at
  %last = add i64 %address, %size
  %plain = icmp eq i64 %kind, 1
  %plain.read = icmp eq i64 %kind, 0
  %volatile = icmp eq i64 %kind, 3
  %reads = or i1 %plain.read, %volatile
  %told = icmp sge i64 %kind, 4
  br i1 %told, label %fail, label %counted
counted:
  %left = call i1 @step(ptr %state)
  br i1 %left, label %where, label %fail
where:
  %known = icmp sge i64 %argument, 0
  br i1 %known, label %given, label %search
given:                                         ; the argument that the address was made from
  %given.n = mul i64 %argument, @fields@
  %given.r = getelementptr i64, ptr %ranges, i64 %given.n
  %given.start = load i64, ptr %given.r
  %bare = icmp eq i64 %given.start, 0
  br i1 %bare, label %search, label %given.check
given.check:
  %given.end.at = getelementptr i64, ptr %given.r, i64 @r.end@
  %given.end = load i64, ptr %given.end.at
  %given.low = icmp sge i64 %address, %given.start
  %given.high = icmp sle i64 %last, %given.end
  %given.in = and i1 %given.low, %given.high
  br i1 %given.in, label %row, label %fail

search:                                        ; any of them
  %r = phi i64 [ 0, %where ], [ 0, %given ], [ %r.next, %next ]
  %more = icmp slt i64 %r, %count
  br i1 %more, label %candidate, label %elsewhere
candidate:
  %c.n = mul i64 %r, @fields@
  %c.r = getelementptr i64, ptr %ranges, i64 %c.n
  %c.start = load i64, ptr %c.r
  %c.end.at = getelementptr i64, ptr %c.r, i64 @r.end@
  %c.end = load i64, ptr %c.end.at
  %c.there = icmp ne i64 %c.start, 0
  %c.low = icmp sge i64 %address, %c.start
  %c.high = icmp sle i64 %last, %c.end
  %c.both = and i1 %c.low, %c.high
  %c.in = and i1 %c.both, %c.there
  br i1 %c.in, label %row, label %next
next:
  %r.next = add i64 %r, 1
  br label %search

elsewhere:                                     ; memory of no argument: it must at least be there
  %chosen = icmp eq i64 %argument, -2
  br i1 %chosen, label %fail, label %anywhere
anywhere:
  %maps.at = getelementptr i64, ptr %state, i64 @s.maps@
  %maps = load ptr, ptr %maps.at
  %map.count.at = getelementptr i64, ptr %state, i64 @s.map_count@
  %map.count = load i64, ptr %map.count.at
  br label %map
map:
  %m = phi i64 [ 0, %anywhere ], [ %m.next, %map.next ]
  %m.more = icmp slt i64 %m, %map.count
  br i1 %m.more, label %map.try, label %fail
map.try:
  %m.n = mul i64 %m, 3
  %m.r = getelementptr i64, ptr %maps, i64 %m.n
  %m.start = load i64, ptr %m.r
  %m.end.at = getelementptr i64, ptr %m.r, i64 1
  %m.end = load i64, ptr %m.end.at
  %m.low = icmp sge i64 %address, %m.start
  %m.high = icmp sle i64 %last, %m.end
  %m.in = and i1 %m.low, %m.high
  br i1 %m.in, label %map.rights, label %map.next
map.next:
  %m.next = add i64 %m, 1
  br label %map
map.rights:
  %m.w.at = getelementptr i64, ptr %m.r, i64 2
  %m.w = load i64, ptr %m.w.at
  %m.writable = icmp ne i64 %m.w, 0
  %m.ok = or i1 %reads, %m.writable
  %m.mask = sub i64 %size, 1
  %m.rest = and i64 %address, %m.mask
  %m.aligned = icmp eq i64 %m.rest, 0
  %m.right = select i1 %m.aligned, i64 @f.read-only@, i64 @f.misaligned@
  %m.fine = and i1 %m.ok, %m.aligned
  br i1 %m.fine, label %fine, label %fail

row:                                           ; in the memory of an argument
  %n = phi i64 [ %argument, %given.check ], [ %r, %candidate ]
  %n.n = mul i64 %n, @fields@
  %range = getelementptr i64, ptr %ranges, i64 %n.n
  %start = load i64, ptr %range
  %offset = sub i64 %address, %start
  %mask = sub i64 %size, 1
  %rest = and i64 %address, %mask
  %aligned = icmp eq i64 %rest, 0
  br i1 %aligned, label %rights, label %fail
rights:
  %writable.at = getelementptr i64, ptr %range, i64 @r.writable@
  %writable.i = load i64, ptr %writable.at
  %writable = icmp ne i64 %writable.i, 0
  %allowed = or i1 %reads, %writable
  br i1 %allowed, label %content, label %fail
content:
  %written.at = getelementptr i64, ptr %range, i64 @r.written@
  %written.i = load i64, ptr %written.at
  %written = inttoptr i64 %written.i to ptr
  %memory = inttoptr i64 %address to ptr
  %tracked = icmp ne i64 %written.i, 0
  %untold = xor i1 %tracked, true
  %skip = or i1 %untold, %plain
  br i1 %skip, label %order, label %bytes
bytes:                                         ; a read of bytes that are all as `empty` left them
  %k = phi i64 [ 0, %content ], [ %k.next, %same ]
  %k.more = icmp slt i64 %k, %size
  br i1 %k.more, label %byte, label %fail
byte:
  %k.o = add i64 %offset, %k
  %w.at = getelementptr i8, ptr %written, i64 %k.o
  %w = load i8, ptr %w.at
  %b.at = getelementptr i8, ptr %memory, i64 %k
  %b = load i8, ptr %b.at
  %w.no = icmp eq i8 %w, 0
  %b.no = icmp eq i8 %b, @poison@
  %fresh = and i1 %w.no, %b.no
  br i1 %fresh, label %same, label %order
same:
  %k.next = add i64 %k, 1
  br label %bytes

order:                                         ; which programs came by at each byte
  %writers.at = getelementptr i64, ptr %range, i64 @r.writers@
  %writers = load ptr, ptr %writers.at
  %readers.at = getelementptr i64, ptr %range, i64 @r.readers@
  %readers = load ptr, ptr %readers.at
  %mine.w = add i64 %program, 1
  %mine = trunc i64 %mine.w to i32
  %mine.n = sub i32 0, %mine
  %mark = select i1 %plain, i32 %mine, i32 %mine.n
  br label %cell
cell:
  %j = phi i64 [ 0, %order ], [ %j.next, %settled ]
  %j.more = icmp slt i64 %j, %size
  br i1 %j.more, label %look, label %fine
look:
  %j.o = add i64 %offset, %j
  %who.at = getelementptr i32, ptr %writers, i64 %j.o
  %who = load i32, ptr %who.at
  %who.neg = sub i32 0, %who
  %by.atomic = icmp slt i32 %who, 0
  %who.abs = select i1 %by.atomic, i32 %who.neg, i32 %who
  %who.w = sext i32 %who.abs to i64
  %two = mul i64 %j.o, 2
  %one.at = getelementptr i32, ptr %readers, i64 %two
  %one = load i32, ptr %one.at
  %two.at = getelementptr i32, ptr %one.at, i64 1
  %another = load i32, ptr %two.at
  %nobody = icmp eq i32 %who, 0
  %quiet.p = icmp eq i32 %who.abs, %mine
  %quiet = or i1 %nobody, %quiet.p
  br i1 %quiet, label %behind, label %somebody
somebody:
  %atomic = icmp eq i64 %kind, 2
  %both.atomic = and i1 %atomic, %by.atomic
  %joins = or i1 %both.atomic, %volatile
  br i1 %joins, label %meeting, label %peek
peek:                                          ; a first look, as before a compare-and-swap, may come late
  %peeks = and i1 %plain.read, %by.atomic
  br i1 %peeks, label %settled, label %apart
meeting:
  call void @meet(ptr %state, i32 %mine, i32 %who.abs)
  br label %behind
apart:
  %after = call i1 @ordered(ptr %state, i32 %mine, i32 %who.abs)
  br i1 %after, label %behind, label %clash
clash:
  %c.both.plain = xor i1 %by.atomic, true
  %c.plain = and i1 %plain, %c.both.plain
  br label %decide
behind:
  br i1 %reads, label %read, label %write
read:
  br i1 %volatile, label %settled, label %note.reader
note.reader:
  %again = icmp eq i32 %one, %mine
  br i1 %again, label %settled, label %first
first:
  store i32 %one, ptr %two.at
  store i32 %mine, ptr %one.at
  br label %settled
write:
  br i1 %plain, label %write.1, label %settle
write.1:
  %one.before = call i1 @ordered(ptr %state, i32 %mine, i32 %one)
  br i1 %one.before, label %write.2, label %decide
write.2:
  %two.before = call i1 @ordered(ptr %state, i32 %mine, i32 %another)
  br i1 %two.before, label %settle, label %decide
decide:                                        ; no matter who comes first, if the byte stays what it is
  %v.kind = phi i64 [ @f.race@, %clash ], [ @f.overwritten@, %write.1 ], [ @f.overwritten@, %write.2 ]
  %v.who = phi i32 [ %who.abs, %clash ], [ %one, %write.1 ], [ %another, %write.2 ]
  %v.may = phi i1 [ %c.plain, %clash ], [ true, %write.1 ], [ true, %write.2 ]
  %v.clash = phi i1 [ true, %clash ], [ false, %write.1 ], [ false, %write.2 ]
  %v.who.w = sext i32 %v.who to i64
  %v.reads = and i1 %reads, %v.clash
  %v.why = select i1 %v.reads, i64 @f.stale@, i64 %v.kind
  %v.narrow = icmp slt i64 %j, 8
  %v.compare = and i1 %v.may, %v.narrow
  br i1 %v.compare, label %compare, label %fail
compare:
  %shift = mul i64 %j, 8
  %shifted = lshr i64 %value, %shift
  %byte.new = trunc i64 %shifted to i8
  %byte.at = getelementptr i8, ptr %memory, i64 %j
  %byte.old = load i8, ptr %byte.at
  %equal = icmp eq i8 %byte.new, %byte.old
  br i1 %equal, label %harmless, label %fail
harmless:
  %benign.at = getelementptr i64, ptr %state, i64 @s.benign@
  %benign = load i64, ptr %benign.at
  %asked = icmp ne i64 %benign, 0
  %tell = and i1 %asked, %v.clash
  br i1 %tell, label %fail, label %settle
settle:
  store i32 %mark, ptr %who.at
  store i32 0, ptr %one.at
  store i32 0, ptr %two.at
  br i1 %tracked, label %note, label %settled
note:
  %note.at = getelementptr i8, ptr %written, i64 %j.o
  store i8 1, ptr %note.at
  br label %settled
settled:
  %j.next = add i64 %j, 1
  br label %cell

fail:
  %why = phi i64 [ %value, %begin ], [ @f.endless@, %counted ], [ @f.outside@, %given.check ],
    [ @f.outside@, %elsewhere ], [ @f.outside@, %map ], [ %m.right, %map.rights ], [ @f.misaligned@, %row ],
    [ @f.read-only@, %rights ], [ @f.unwritten@, %bytes ], [ %v.why, %decide ], [ %v.why, %compare ],
    [ @f.benign@, %harmless ]
  %which = phi i64 [ -1, %begin ], [ -1, %counted ], [ %argument, %given.check ], [ %argument, %elsewhere ],
    [ %argument, %map ], [ -1, %map.rights ], [ %n, %row ], [ %n, %rights ], [ %n, %bytes ], [ %n, %decide ],
    [ %n, %compare ], [ %n, %harmless ]
  %whom = phi i64 [ 0, %begin ], [ 0, %counted ], [ 0, %given.check ], [ 0, %elsewhere ], [ 0, %map ],
    [ 0, %map.rights ], [ 0, %row ], [ 0, %rights ], [ 0, %bytes ], [ %v.who.w, %decide ], [ %v.who.w, %compare ],
    [ %v.who.w, %harmless ]
  call void @fail(ptr %state, i64 %why, i64 %site, i64 %kind, i64 %program, i64 %index, i64 %address, i64 %whom,
    i64 %which)
  ret i1 false
stop:
  ret i1 false
fine:
  ret i1 true
}
