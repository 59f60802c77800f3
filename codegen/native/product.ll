; A matrix product or a batch of them, as slabs of calls of BLAS on the pool (codegen/blas.py says which and why).

%Product = type {
  i64,                    ;  0 the type: 0 float32, 1 float64
  [3 x i64],              ;  1 rows, what is summed over, columns
  [2 x i64],              ;  2 matrices: outer, inner
  ptr, [4 x i64],         ;  3 the left operand, and its steps from one matrix (outer, inner), row and column to the next
  ptr, [4 x i64],         ;  5 the right one
  ptr, [3 x i64],         ;  7 the result; its columns lie side by side
  [2 x i64],              ;  9 so many elements of the result are read by so many programs of what follows
  ptr, ptr, [3 x i64],    ; 11 the kernel that follows or null, its packed arguments and its grid
  [2 x i64]               ; 14 where the right operand is packed or 0, and whether it is there
}
; what the slabs are told, in words
%Slabs = type [32 x i64]

declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
@opweave_multiply_float_at = external global ptr          ; null until a product is made by it
@opweave_product_wide = constant i8 @WIDE@                ; whether any is; 2: and BLAS's registers are half as wide
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
declare i32 @sched_yield()
declare i32 @openblas_get_threads()
declare void @openblas_set_threads(i32)
@blas_sgemm = external global i8
@blas_dgemm = external global i8

; threads in products, and how many BLAS had before: all but the last of them leave it at one
@lock  = internal global i32 0
@users = internal global i64 0
@saved = internal global i32 1

define internal void @locked() {
entry:
  br label %try
try:
  %found = cmpxchg ptr @lock, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %found, 1
  br i1 %mine, label %out, label %wait
wait:
  %y = call i32 @sched_yield()
  br label %try
out:
  ret void
}

; ask BLAS for one thread
define void @opweave_blas_enter() noinline "untuned" {
entry:
  call void @locked()
  %users = load i64, ptr @users
  %first = icmp eq i64 %users, 0
  br i1 %first, label %ask, label %in
ask:
  %threads = call i32 @openblas_get_threads()
  store i32 %threads, ptr @saved
  %several = icmp sgt i32 %threads, 1
  br i1 %several, label %one, label %in
one:
  call void @openblas_set_threads(i32 1)
  br label %in
in:
  %more = add i64 %users, 1
  store i64 %more, ptr @users
  store atomic i32 0, ptr @lock release, align 4
  ret void
}

; give BLAS its threads back
define void @opweave_blas_leave() noinline "untuned" {
entry:
  call void @locked()
  %users = load i64, ptr @users
  %some = icmp sgt i64 %users, 0
  %less = sub i64 %users, 1
  %left = select i1 %some, i64 %less, i64 0
  store i64 %left, ptr @users
  %last = icmp eq i64 %left, 0
  br i1 %last, label %restore, label %out
restore:
  %threads = load i32, ptr @saved
  %several = icmp sgt i32 %threads, 1
  br i1 %several, label %set, label %out
set:
  call void @openblas_set_threads(i32 %threads)
  br label %out
out:
  store atomic i32 0, ptr @lock release, align 4
  ret void
}

; in a forked child: threads that were using it are not here
define void @opweave_blas_renew() noinline "untuned" {
entry:
  store atomic i32 0, ptr @lock release, align 4
  %users = load i64, ptr @users
  %some = icmp sgt i64 %users, 0
  br i1 %some, label %restore, label %out
restore:
  store i64 0, ptr @users
  %threads = load i32, ptr @saved
  call void @openblas_set_threads(i32 %threads)
  br label %out
out:
  ret void
}

; how much of a side one slab has
define internal i64 @slab(i64 %size) {
  %long = icmp sge i64 %size, @FOUR_LONG@
  %short = call i64 @llvm.smin.i64(i64 %size, i64 @SHORT@)
  %found = select i1 %long, i64 @LONG@, i64 %short
  ret i64 %found
}

; an operand as BLAS is told of it: address, whether it reads it transposed, leading dimension, steps of rows and
; columns, and between matrices (outer, inner); and what is to be freed
%Placed = type { ptr, i64, i64, i64, i64, i64, i64, ptr }

; not 0 if there is no memory
define internal i32 @place(ptr %x, ptr %steps, i64 %item, i64 %outer, i64 %inner, i64 %rows, i64 %columns, ptr %to) noinline "untuned" {
entry:
  %outer.p = getelementptr i64, ptr %steps, i64 0
  %inner.p = getelementptr i64, ptr %steps, i64 1
  %row.p = getelementptr i64, ptr %steps, i64 2
  %column.p = getelementptr i64, ptr %steps, i64 3
  %outer.step = load i64, ptr %outer.p
  %inner.step = load i64, ptr %inner.p
  %row = load i64, ptr %row.p
  %column = load i64, ptr %column.p
  %beside = icmp eq i64 %column, 1
  %apart = icmp sge i64 %row, %columns
  %plain = and i1 %beside, %apart
  br i1 %plain, label %done, label %turned
turned:
  %below = icmp eq i64 %row, 1
  %wide = icmp sge i64 %column, %rows
  %transposed = and i1 %below, %wide
  br i1 %transposed, label %done, label %copied

copied:                                                  ; BLAS cannot read it where it is
  %matrix = mul i64 %rows, %columns
  %matrices = mul i64 %outer, %inner
  %elements = mul i64 %matrix, %matrices
  %bytes = mul i64 %elements, %item
  %some = call i64 @llvm.smax.i64(i64 %bytes, i64 8)
  %copy = call ptr @malloc(i64 %some)
  %nowhere = icmp eq ptr %copy, null
  br i1 %nowhere, label %none, label %fill
fill:
  %single = icmp eq i64 %item, 4
  %near = mul i64 %inner, %matrix
  %empty = icmp eq i64 %elements, 0
  br i1 %empty, label %filled, label %each
each:
  %i = phi i64 [ 0, %fill ], [ %i1, %stored ]
  %c = srem i64 %i, %columns
  %i.rows = sdiv i64 %i, %columns
  %r = srem i64 %i.rows, %rows
  %i.matrices = sdiv i64 %i.rows, %rows
  %in = srem i64 %i.matrices, %inner
  %out = sdiv i64 %i.matrices, %inner
  %c.at = mul i64 %c, %column
  %r.at = mul i64 %r, %row
  %in.at = mul i64 %in, %inner.step
  %out.at = mul i64 %out, %outer.step
  %s0 = add i64 %c.at, %r.at
  %s1 = add i64 %in.at, %out.at
  %at = add i64 %s0, %s1
  br i1 %single, label %four, label %eight
four:
  %from.4 = getelementptr i32, ptr %x, i64 %at
  %value.4 = load i32, ptr %from.4
  %to.4 = getelementptr i32, ptr %copy, i64 %i
  store i32 %value.4, ptr %to.4
  br label %stored
eight:
  %from.8 = getelementptr i64, ptr %x, i64 %at
  %value.8 = load i64, ptr %from.8
  %to.8 = getelementptr i64, ptr %copy, i64 %i
  store i64 %value.8, ptr %to.8
  br label %stored
stored:
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %elements
  br i1 %more, label %each, label %filled
filled:
  br label %done

done:
  %address = phi ptr [ %x, %entry ], [ %x, %turned ], [ %copy, %filled ]
  %order = phi i64 [ @PLAIN@, %entry ], [ @TRANSPOSED@, %turned ], [ @PLAIN@, %filled ]
  %lead = phi i64 [ %row, %entry ], [ %column, %turned ], [ %columns, %filled ]
  %row.step = phi i64 [ %row, %entry ], [ 1, %turned ], [ %columns, %filled ]
  %column.step = phi i64 [ 1, %entry ], [ %column, %turned ], [ 1, %filled ]
  %far.step = phi i64 [ %outer.step, %entry ], [ %outer.step, %turned ], [ %near, %filled ]
  %near.step = phi i64 [ %inner.step, %entry ], [ %inner.step, %turned ], [ %matrix, %filled ]
  %memory = phi ptr [ null, %entry ], [ null, %turned ], [ %copy, %filled ]
  %leading = call i64 @llvm.smax.i64(i64 %lead, i64 1)
  %p0 = insertvalue %Placed poison, ptr %address, 0
  %p1 = insertvalue %Placed %p0, i64 %order, 1
  %p2 = insertvalue %Placed %p1, i64 %leading, 2
  %p3 = insertvalue %Placed %p2, i64 %row.step, 3
  %p4 = insertvalue %Placed %p3, i64 %column.step, 4
  %p5 = insertvalue %Placed %p4, i64 %far.step, 5
  %p6 = insertvalue %Placed %p5, i64 %near.step, 6
  %p7 = insertvalue %Placed %p6, ptr %memory, 7
  store %Placed %p7, ptr %to
  ret i32 0
none:
  ret i32 1
}

; as a launch from Python runs it: not at its `cost`, since the next product may be a larger one
define i32 @opweave_product_run(ptr %code, ptr %packed, i64 %n, i32 %gx, i32 %gy, i32 %gz, ptr %cost) {
  %result = call i32 @opweave_product(ptr %packed)
  ret i32 %result
}

; 0: done, 1: the handler of a signal raised, 3: there is no memory
define i32 @opweave_product(ptr %about) {
entry:
  %slabs = alloca %Slabs, align 16
  %left = alloca %Placed, align 16
  %right = alloca %Placed, align 16
  %cost = alloca double, align 8
  %words = alloca [28 x i64], align 8
  %type = load i64, ptr %about
  %single = icmp eq i64 %type, 0
  %item = select i1 %single, i64 4, i64 8
  %m.p = getelementptr %Product, ptr %about, i64 0, i32 1, i64 0
  %k.p = getelementptr %Product, ptr %about, i64 0, i32 1, i64 1
  %n.p = getelementptr %Product, ptr %about, i64 0, i32 1, i64 2
  %outer.p = getelementptr %Product, ptr %about, i64 0, i32 2, i64 0
  %inner.p = getelementptr %Product, ptr %about, i64 0, i32 2, i64 1
  %a.p = getelementptr %Product, ptr %about, i64 0, i32 3
  %a.steps = getelementptr %Product, ptr %about, i64 0, i32 4
  %b.p = getelementptr %Product, ptr %about, i64 0, i32 5
  %b.steps = getelementptr %Product, ptr %about, i64 0, i32 6
  %c.p = getelementptr %Product, ptr %about, i64 0, i32 7
  %c.outer.p = getelementptr %Product, ptr %about, i64 0, i32 8, i64 0
  %c.inner.p = getelementptr %Product, ptr %about, i64 0, i32 8, i64 1
  %c.row.p = getelementptr %Product, ptr %about, i64 0, i32 8, i64 2
  %elements.p = getelementptr %Product, ptr %about, i64 0, i32 9, i64 0
  %each.p = getelementptr %Product, ptr %about, i64 0, i32 9, i64 1
  %then.p = getelementptr %Product, ptr %about, i64 0, i32 10
  %packed.p = getelementptr %Product, ptr %about, i64 0, i32 11
  %gx.p = getelementptr %Product, ptr %about, i64 0, i32 12, i64 0
  %gy.p = getelementptr %Product, ptr %about, i64 0, i32 12, i64 1
  %gz.p = getelementptr %Product, ptr %about, i64 0, i32 12, i64 2
  %m = load i64, ptr %m.p
  %k = load i64, ptr %k.p
  %n = load i64, ptr %n.p
  %outer = load i64, ptr %outer.p
  %inner = load i64, ptr %inner.p
  %a = load ptr, ptr %a.p
  %b = load ptr, ptr %b.p
  %c = load ptr, ptr %c.p
  %c.outer = load i64, ptr %c.outer.p
  %c.inner = load i64, ptr %c.inner.p
  %c.row = load i64, ptr %c.row.p
  %elements = load i64, ptr %elements.p
  %each = load i64, ptr %each.p
  %then = load ptr, ptr %then.p
  %packed = load ptr, ptr %packed.p
  %gx = load i64, ptr %gx.p
  %gy = load i64, ptr %gy.p
  %gz = load i64, ptr %gz.p
  %followed = icmp ne ptr %then, null
  %unattended = icmp eq ptr %then, null
  %gxy = mul i64 %gx, %gy
  %count = mul i64 %gxy, %gz
  %batches = mul i64 %outer, %inner
  %area = mul i64 %m, %n
  %volume = mul i64 %area, %batches
  %none = icmp eq i64 %volume, 0
  br i1 %none, label %after, label %some
some:
  %terms = mul i64 %volume, %k
  %few = icmp sle i64 %terms, @SMALL@
  %single.matrix = icmp eq i64 %batches, 1
  %b.row.p = getelementptr i64, ptr %b.steps, i64 2
  %b.column.p = getelementptr i64, ptr %b.steps, i64 3
  %b.column = load i64, ptr %b.column.p
  %beside = icmp eq i64 %b.column, 1
  %small.0 = and i1 %few, %single.matrix
  %small = and i1 %small.0, %beside
  br i1 %small, label %blocks, label %which

which:                                                   ; BLAS packs operands for each slab anew, but a kernel can follow slabs
  %by.columns.0 = icmp slt i64 %m, %n
  %by.columns.1 = icmp slt i64 %m, @TWO_SHORT@
  %by.columns = and i1 %by.columns.0, %by.columns.1
  %unfollowable = or i1 %unattended, %by.columns
  %deep = icmp sge i64 %k, @DEEP@
  %wide = load i8, ptr @opweave_product_wide
  %narrow.blas = icmp eq i8 %wide, 2
  %whole.pays = or i1 %deep, %narrow.blas
  %whole.will.do = or i1 %unfollowable, %whole.pays
  %flat = icmp sle i64 %m, @LONG@
  %cached = icmp sle i64 %area, @CACHED@
  %near = or i1 %flat, %cached
  %either = and i1 %near, %whole.will.do
  %little = icmp sle i64 %area, @OWN@
  %a.beside.p = getelementptr i64, ptr %a.steps, i64 3
  %a.beside = load i64, ptr %a.beside.p
  %in.place = icmp eq i64 %a.beside, 1
  %large.0 = and i1 %little, %in.place
  %large = and i1 %large.0, %unattended
  %ever = icmp ne i8 %wide, 0
  %fit.0 = or i1 %either, %large
  %by.halves = and i1 %narrow.blas, %whole.will.do
  %fit = or i1 %fit.0, %by.halves
  %several.rows = icmp sgt i64 %m, 1
  %broad = icmp sge i64 %n, @BROAD@
  %plenty = icmp sgt i64 %terms, @MANY@
  %kept.of = getelementptr %Product, ptr %about, i64 0, i32 13
  %kept.at = load i64, ptr %kept.of
  %kept = icmp ne i64 %kept.at, 0
  %long = or i1 %plenty, %kept
  %own.0 = and i1 %fit, %several.rows
  %own.1 = and i1 %broad, %long
  %each.terms = mul i64 %area, %k
  %each.large = icmp sgt i64 %each.terms, @SMALL@
  %each.alone = and i1 %each.large, %unattended
  %of.its.own = or i1 %single.matrix, %each.alone
  %own.2 = and i1 %single, %of.its.own
  %own.3 = and i1 %own.0, %own.1
  %own.4 = and i1 %own.2, %own.3
  %own.5 = and i1 %own.4, %ever
  %maker = load ptr, ptr @opweave_multiply_float_at
  %there = icmp ne ptr %maker, null
  %own = and i1 %own.5, %there
  br i1 %own, label %packed.once, label %shape
packed.once:                                             ; the words of `narrow_products`: what there is, no term, 1 and 1
  call void @llvm.memset.p0.i64(ptr %words, i8 0, i64 224, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %words, ptr %m.p, i64 152, i1 false)
  %alpha.p = getelementptr i64, ptr %words, i64 24
  store i64 u0x3F800000, ptr %alpha.p
  %beta.p = getelementptr i64, ptr %words, i64 25
  store i64 u0x3F800000, ptr %beta.p
  %kept.p = getelementptr i64, ptr %words, i64 26
  call void @llvm.memcpy.p0.p0.i64(ptr %kept.p, ptr %kept.of, i64 16, i1 false)
  %made = call i32 %maker(ptr %words)
  %unmade = icmp ne i32 %made, 0
  br i1 %unmade, label %not.made, label %after
not.made:
  ret i32 %made

blocks:                                                  ; in registers, without BLAS and the pool
  %a.row.p = getelementptr i64, ptr %a.steps, i64 2
  %a.column.p = getelementptr i64, ptr %a.steps, i64 3
  %a.row = load i64, ptr %a.row.p
  %a.column = load i64, ptr %a.column.p
  %b.row = load i64, ptr %b.row.p
  %one.row = icmp eq i64 %m, 1
  br i1 %one.row, label %vector, label %blocks.any
vector:
  br i1 %single, label %vector.single, label %vector.double
vector.single:
  %made.single = call i1 @"vector.float"(i64 %m, i64 %n, i64 %k, ptr %a, i64 %a.row, i64 %a.column, ptr %b, i64 %b.row, i64 1, ptr %c, i64 %c.row)
  br label %blocks.done
vector.double:
  %made.double = call i1 @"vector.double"(i64 %m, i64 %n, i64 %k, ptr %a, i64 %a.row, i64 %a.column, ptr %b, i64 %b.row, i64 1, ptr %c, i64 %c.row)
  br label %blocks.done
blocks.any:
  br i1 %single, label %blocks.single, label %blocks.double
blocks.single:
  call void @"small.float"(i64 %m, i64 %n, i64 %k, ptr %a, i64 %a.row, i64 %a.column, ptr %b, i64 %b.row, ptr %c, i64 %c.row)
  br label %blocks.done
blocks.double:
  call void @"small.double"(i64 %m, i64 %n, i64 %k, ptr %a, i64 %a.row, i64 %a.column, ptr %b, i64 %b.row, ptr %c, i64 %c.row)
  br label %blocks.done
blocks.done:
  %watched = load atomic i32, ptr @opweave_profiling monotonic, align 4
  %seen = icmp ne i32 %watched, 0
  %several = icmp ne i64 %count, 1
  %apart = or i1 %seen, %several
  %unfollowed = xor i1 %followed, true
  %elsewhere = or i1 %apart, %unfollowed
  br i1 %elsewhere, label %after, label %at.once
at.once:                                                 ; the one program of the kernel that follows
  %once.code = load ptr, ptr %then
  %once.x = trunc i64 %gx to i32
  %once.y = trunc i64 %gy to i32
  %once.z = trunc i64 %gz to i32
  call void %once.code(ptr %packed, i64 0, i64 1, i32 %once.x, i32 %once.y, i32 %once.z)
  ret i32 0

shape:                                                   ; rows and columns of a slab
  %many = icmp sge i64 %batches, @MATRICES@
  %low = icmp sle i64 %m, @LONG@
  %whole = and i1 %many, %low
  %tall = icmp sge i64 %m, %n
  %high = icmp sge i64 %m, @TWO_SHORT@
  %by.rows = or i1 %tall, %high
  %some.rows = call i64 @slab(i64 %m)
  %some.columns = call i64 @slab(i64 %n)
  %whole.rows = xor i1 %by.rows, true
  %all.rows = or i1 %whole, %whole.rows
  %all.columns = or i1 %whole, %by.rows
  %rows = select i1 %all.rows, i64 %m, i64 %some.rows
  %columns = select i1 %all.columns, i64 %n, i64 %some.columns
  %m.up = add i64 %m, %rows
  %m.last = sub i64 %m.up, 1
  %row.slabs = sdiv i64 %m.last, %rows
  %n.up = add i64 %n, %columns
  %n.last = sub i64 %n.up, 1
  %column.slabs = sdiv i64 %n.last, %columns
  %of.matrix = mul i64 %row.slabs, %column.slabs
  %programs = mul i64 %batches, %of.matrix
  %row.work = mul i64 %rows, %columns
  %work = mul i64 %row.work, %k

  %a.none = call i32 @place(ptr %a, ptr %a.steps, i64 %item, i64 %outer, i64 %inner, i64 %m, i64 %k, ptr %left)
  %a.lost = icmp ne i32 %a.none, 0
  br i1 %a.lost, label %no.memory, label %a.placed
a.placed:
  %b.none = call i32 @place(ptr %b, ptr %b.steps, i64 %item, i64 %outer, i64 %inner, i64 %k, i64 %n, ptr %right)
  %b.lost = icmp ne i32 %b.none, 0
  %l = load %Placed, ptr %left
  %l.memory = extractvalue %Placed %l, 7
  br i1 %b.lost, label %half, label %placed
half:
  call void @free(ptr %l.memory)
  br label %no.memory
no.memory:
  ret i32 3

placed:                                                  ; whether programs of the kernel can follow each slab
  %r = load %Placed, ptr %right
  %r.memory = extractvalue %Placed %r, 7
  %full.width = icmp eq i64 %column.slabs, 1
  %lone = icmp eq i64 %batches, 1
  %rest = srem i64 %m, %rows
  %even = icmp eq i64 %rest, 0
  %tight = or i1 %lone, %even
  %in.a.row = and i1 %full.width, %tight
  %in.slab = mul i64 %rows, %n
  %one = icmp eq i64 %programs, 1
  %known = icmp sgt i64 %elements, 0
  %step = select i1 %known, i64 %elements, i64 1
  %over = srem i64 %in.slab, %step
  %fits = icmp eq i64 %over, 0
  %divides = and i1 %known, %fits
  %possible = or i1 %one, %divides
  %profiling = load atomic i32, ptr @opweave_profiling monotonic, align 4
  %unwatched = icmp eq i32 %profiling, 0                 ; else the kernel is timed by itself
  %joined.0 = and i1 %in.a.row, %possible
  %joined.1 = and i1 %joined.0, %unwatched
  %joined = and i1 %joined.1, %followed
  %stretches = sdiv i64 %in.slab, %step
  %some.each = mul i64 %stretches, %each
  %with.slab = select i1 %one, i64 %count, i64 %some.each
  br i1 %joined, label %code, label %fields
code:
  %then.code = load ptr, ptr %then
  br label %fields

fields:
  %follower = phi ptr [ null, %placed ], [ %then.code, %code ]
  %gemm = select i1 %single, ptr @blas_sgemm, ptr @blas_dgemm
  %run = select i1 %single, ptr @opweave_gemm_float32, ptr @opweave_gemm_float64
@STORES@
  %work.f = sitofp i64 %work to double
  %expected = fdiv double %work.f, @RATE@
  %expected.some = fadd double %expected, 1.0
  store double %expected.some, ptr %cost
  %heavy = icmp sge i64 %work, @MANY@
  br i1 %heavy, label %entered, label %go
entered:
  call void @opweave_blas_enter()
  br label %go
go:
  %stopped = call i32 @opweave_run(ptr %run, ptr %slabs, i64 %programs, i32 1, i32 1, i32 1, ptr %cost)
  br i1 %heavy, label %leave, label %left.alone
leave:
  call void @opweave_blas_leave()
  br label %left.alone
left.alone:
  call void @free(ptr %l.memory)
  call void @free(ptr %r.memory)
  %failed = icmp ne i32 %stopped, 0
  %finished = or i1 %failed, %joined
  br i1 %finished, label %out, label %after
after:
  br i1 %followed, label %follow, label %well
follow:
  %follow.r = call i32 @launched(ptr %then, ptr %packed, i64 %gx, i64 %gy, i64 %gz)
  ret i32 %follow.r
out:
  ret i32 %stopped
well:
  ret i32 0
}

; the same as a loop that a replayed call has (`registry.tape`): dims are matrices, rows, what is summed over and columns;
; steps, in bytes, those between matrices of each operand, then the left one's, the right one's and the result's own two
define void @opweave_product_loop(ptr %places, ptr %dims, ptr %steps, ptr %type) noinline "untuned" {
entry:
  %about = alloca %Product, align 16
  call void @llvm.memset.p0.i64(ptr %about, i8 0, i64 ptrtoint (ptr getelementptr (%Product, ptr null, i64 1) to i64), i1 false)
  %number = ptrtoint ptr %type to i64
  store i64 %number, ptr %about
  %shift = add i64 %number, 2
  %matrices.p = getelementptr i64, ptr %dims, i64 0
  %matrices = load i64, ptr %matrices.p
  %m.p = getelementptr i64, ptr %dims, i64 1
  %m = load i64, ptr %m.p
  %k.p = getelementptr i64, ptr %dims, i64 2
  %k = load i64, ptr %k.p
  %n.p = getelementptr i64, ptr %dims, i64 3
  %n = load i64, ptr %n.p
  %at.1.0 = getelementptr %Product, ptr %about, i64 0, i32 1, i64 0
  store i64 %m, ptr %at.1.0
  %at.1.1 = getelementptr %Product, ptr %about, i64 0, i32 1, i64 1
  store i64 %k, ptr %at.1.1
  %at.1.2 = getelementptr %Product, ptr %about, i64 0, i32 1, i64 2
  store i64 %n, ptr %at.1.2
  %outer.at = getelementptr %Product, ptr %about, i64 0, i32 2, i64 0
  store i64 1, ptr %outer.at
  %at.2.1 = getelementptr %Product, ptr %about, i64 0, i32 2, i64 1
  store i64 %matrices, ptr %at.2.1
  %a.p = getelementptr ptr, ptr %places, i64 0
  %a = load ptr, ptr %a.p
  %at.3 = getelementptr %Product, ptr %about, i64 0, i32 3
  store ptr %a, ptr %at.3
  %b.p = getelementptr ptr, ptr %places, i64 1
  %b = load ptr, ptr %b.p
  %at.5 = getelementptr %Product, ptr %about, i64 0, i32 5
  store ptr %b, ptr %at.5
  %c.p = getelementptr ptr, ptr %places, i64 2
  %c = load ptr, ptr %c.p
  %at.7 = getelementptr %Product, ptr %about, i64 0, i32 7
  store ptr %c, ptr %at.7
  %a.between.bytes.p = getelementptr i64, ptr %steps, i64 0
  %a.between.bytes = load i64, ptr %a.between.bytes.p
  %a.between = ashr i64 %a.between.bytes, %shift
  %at.4.1 = getelementptr %Product, ptr %about, i64 0, i32 4, i64 1
  store i64 %a.between, ptr %at.4.1
  %b.between.bytes.p = getelementptr i64, ptr %steps, i64 1
  %b.between.bytes = load i64, ptr %b.between.bytes.p
  %b.between = ashr i64 %b.between.bytes, %shift
  %at.6.1 = getelementptr %Product, ptr %about, i64 0, i32 6, i64 1
  store i64 %b.between, ptr %at.6.1
  %c.between.bytes.p = getelementptr i64, ptr %steps, i64 2
  %c.between.bytes = load i64, ptr %c.between.bytes.p
  %c.between = ashr i64 %c.between.bytes, %shift
  %at.8.1 = getelementptr %Product, ptr %about, i64 0, i32 8, i64 1
  store i64 %c.between, ptr %at.8.1
  %a.row.bytes.p = getelementptr i64, ptr %steps, i64 3
  %a.row.bytes = load i64, ptr %a.row.bytes.p
  %a.row = ashr i64 %a.row.bytes, %shift
  %at.4.2 = getelementptr %Product, ptr %about, i64 0, i32 4, i64 2
  store i64 %a.row, ptr %at.4.2
  %a.column.bytes.p = getelementptr i64, ptr %steps, i64 4
  %a.column.bytes = load i64, ptr %a.column.bytes.p
  %a.column = ashr i64 %a.column.bytes, %shift
  %at.4.3 = getelementptr %Product, ptr %about, i64 0, i32 4, i64 3
  store i64 %a.column, ptr %at.4.3
  %b.row.bytes.p = getelementptr i64, ptr %steps, i64 5
  %b.row.bytes = load i64, ptr %b.row.bytes.p
  %b.row = ashr i64 %b.row.bytes, %shift
  %at.6.2 = getelementptr %Product, ptr %about, i64 0, i32 6, i64 2
  store i64 %b.row, ptr %at.6.2
  %b.column.bytes.p = getelementptr i64, ptr %steps, i64 6
  %b.column.bytes = load i64, ptr %b.column.bytes.p
  %b.column = ashr i64 %b.column.bytes, %shift
  %at.6.3 = getelementptr %Product, ptr %about, i64 0, i32 6, i64 3
  store i64 %b.column, ptr %at.6.3
  %c.row.bytes.p = getelementptr i64, ptr %steps, i64 7
  %c.row.bytes = load i64, ptr %c.row.bytes.p
  %c.row = ashr i64 %c.row.bytes, %shift
  %at.8.2 = getelementptr %Product, ptr %about, i64 0, i32 8, i64 2
  store i64 %c.row, ptr %at.8.2
  %raised = call i32 @opweave_product(ptr %about)         ; whoever calls looks for an exception
  ret void
}
