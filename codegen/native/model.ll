; An artifact's own functions (codegen/artifact/module.py says what stands for `@NAME@`s, and makes the constants).
;
; A call fills a frame of words: of each input its address, sizes and strides, and of each result its address. Then the
; entry's table runs over it (steps.ll): first what it checks, then the rest. Codes of errors are those of `error`.

; DLPack's: data, device, (dimensions, element type), sizes, strides, offset in bytes
%Tensor = type { ptr, i64, i64, ptr, ptr, i64 }
; what a tensor must be: (dimensions, element type), its place in the frame, places of sizes and strides, bytes its
; address is a multiple of, the first of its messages, bytes of an element
%Described = type { i64, i64, ptr, i64, i64, i64 }
; words of the frame, words given, words of the template, template, table, checks, instructions, place of the bytes of
; the block, inputs, results
%Entry = type { i64, i64, i64, ptr, ptr, i64, i64, i64, i64, ptr, i64, ptr }
; weights, bytes that are mapped, a block that no call has, operators
%Model = type { ptr, i64, ptr, [0 x ptr] }
; an operator of the user's
%Operator = type { ptr, ptr }

declare i32 @opweave_product(ptr)
declare ptr @calloc(i64, i64)
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i32 @strcmp(ptr, ptr)
declare i32 @memcmp(ptr, ptr, i64)
declare i32 @open(ptr, i32)
declare i32 @close(i32)
declare i64 @lseek(i32, i64, i32)
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i64 @llvm.ctpop.i64(i64)
declare void @opweave_set_threads(i64)

@chosen = internal global i64 0                          ; whether somebody said how many threads

define ptr @@NAME@_description() {
  ret ptr @description
}

define ptr @@NAME@_error(i32 %code) {
entry:
  %known = icmp ult i32 %code, @CODES@
  br i1 %known, label %find, label %unknown
find:
  %i = zext i32 %code to i64
  %p = getelementptr ptr, ptr @texts, i64 %i
  %text = load ptr, ptr %p
  ret ptr %text
unknown:
  ret ptr @unknown.text
}

define void @@NAME@_set_threads(i64 %count) {
entry:
  %some = call i64 @llvm.smax.i64(i64 %count, i64 1)
  store atomic i64 1, ptr @chosen monotonic, align 8
  call void @opweave_set_threads(i64 %some)
  ret void
}

; as many threads as the process may run on
define internal void @settle.threads() {
entry:
  %set = alloca [16 x i64], align 16
  %said = load atomic i64, ptr @chosen monotonic, align 8
  %unsaid = icmp eq i64 %said, 0
  br i1 %unsaid, label %ask, label %out
ask:
  store [16 x i64] zeroinitializer, ptr %set
  %r = call i32 @sched_getaffinity(i32 0, i64 128, ptr %set)
  br label %count
count:
  %i = phi i64 [ 0, %ask ], [ %i1, %count ]
  %sum = phi i64 [ 0, %ask ], [ %sum1, %count ]
  %p = getelementptr i64, ptr %set, i64 %i
  %word = load i64, ptr %p
  %ones = call i64 @llvm.ctpop.i64(i64 %word)
  %sum1 = add i64 %sum, %ones
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, 16
  br i1 %more, label %count, label %set.them
set.them:
  %some = call i64 @llvm.smax.i64(i64 %sum1, i64 1)
  call void @opweave_set_threads(i64 %some)
  br label %out
out:
  ret void
}

define i32 @@NAME@_create(ptr %path, ptr %operators, i64 %count, ptr %to) #0 {
entry:
  %nowhere = icmp eq ptr %to, null
  br i1 %nowhere, label %null, label %cpu
null:
  ret i32 @NULL@
cpu:
  store ptr null, ptr %to
  %lacks = call i32 @lacking()
  %able = icmp eq i32 %lacks, 0
  br i1 %able, label %made, label %unable
unable:
  ret i32 @CPU@
made:
  %result = call i32 @create(ptr %path, ptr %operators, i64 %count, ptr %to)
  ret i32 %result
}

define internal i32 @create(ptr %path, ptr %operators, i64 %count, ptr %to) {
entry:
  call void @settle.threads()
  %size.p = getelementptr %Model, ptr null, i64 0, i32 3, i64 @OPERATORS@
  %size = ptrtoint ptr %size.p to i64
  %model = call ptr @calloc(i64 1, i64 %size)
  %no.memory = icmp eq ptr %model, null
  br i1 %no.memory, label %lost, label %resolve
lost:
  ret i32 @MEMORY@

resolve:                                                 ; the caller's operators first, then those that are linked
  %k = phi i64 [ 0, %entry ], [ %k1, %have ]
  %all = icmp eq i64 %k, @OPERATORS@
  br i1 %all, label %weigh, label %look
look:
  %name.p = getelementptr ptr, ptr @operators, i64 %k
  %name = load ptr, ptr %name.p
  %linked.p = getelementptr ptr, ptr @linked, i64 %k
  %linked = load ptr, ptr %linked.p
  br label %given
given:
  %j = phi i64 [ 0, %look ], [ %j1, %other ]
  %over = icmp sge i64 %j, %count
  br i1 %over, label %settled, label %compare
compare:
  %theirs.p = getelementptr %Operator, ptr %operators, i64 %j, i32 0
  %theirs = load ptr, ptr %theirs.p
  %unnamed = icmp eq ptr %theirs, null
  br i1 %unnamed, label %other, label %spell
spell:
  %c = call i32 @strcmp(ptr %theirs, ptr %name)
  %same = icmp eq i32 %c, 0
  br i1 %same, label %take, label %other
take:
  %function.p = getelementptr %Operator, ptr %operators, i64 %j, i32 1
  %function = load ptr, ptr %function.p
  br label %settled
other:
  %j1 = add i64 %j, 1
  br label %given
settled:
  %found = phi ptr [ %linked, %given ], [ %function, %take ]
  %missing = icmp eq ptr %found, null
  br i1 %missing, label %none, label %have
none:
  call void @free(ptr %model)
  %which = trunc i64 %k to i32
  %missing.code = add i32 %which, @FIRST_OPERATOR@
  ret i32 %missing.code
have:
  %own.p = getelementptr %Model, ptr %model, i64 0, i32 3, i64 %k
  store ptr %found, ptr %own.p
  %k1 = add i64 %k, 1
  br label %resolve

weigh:
  %inside = load ptr, ptr @weights
  %needs = icmp eq i64 @WEIGHTS@, 0
  %has = icmp ne ptr %inside, null
  %fixed = or i1 %needs, %has
  br i1 %fixed, label %keep, label %file
keep:
  store ptr %inside, ptr %model
  br label %ready
file:
  %pathless = icmp eq ptr %path, null
  br i1 %pathless, label %no.file, label %open
open:
  %fd = call i32 @open(ptr %path, i32 0)
  %closed = icmp slt i32 %fd, 0
  br i1 %closed, label %no.file, label %measure
no.file:
  call void @free(ptr %model)
  ret i32 @NO_WEIGHTS@
measure:
  %length = call i64 @lseek(i32 %fd, i64 0, i32 2)
  %right = icmp eq i64 %length, @FILE_BYTES@
  br i1 %right, label %map, label %wrong
map:
  %at = call ptr @mmap(ptr null, i64 %length, i32 1, i32 2, i32 %fd, i64 0)
  %at.i = ptrtoint ptr %at to i64
  %unmapped = icmp eq i64 %at.i, -1
  br i1 %unmapped, label %wrong, label %verify
verify:
  %differs = call i32 @memcmp(ptr %at, ptr @weights.head, i64 64)
  %its.own = icmp eq i32 %differs, 0
  br i1 %its.own, label %accept, label %unmap
unmap:
  %u = call i32 @munmap(ptr %at, i64 %length)
  br label %wrong
wrong:
  %cl = call i32 @close(i32 %fd)
  call void @free(ptr %model)
  ret i32 @WRONG_WEIGHTS@
accept:
  %cl2 = call i32 @close(i32 %fd)
  %data = getelementptr i8, ptr %at, i64 64
  store ptr %data, ptr %model
  %mapped.p = getelementptr %Model, ptr %model, i64 0, i32 1
  store i64 %length, ptr %mapped.p
  br label %ready
ready:
  store ptr %model, ptr %to
  ret i32 0
}

define void @@NAME@_destroy(ptr %model) {
entry:
  %none = icmp eq ptr %model, null
  br i1 %none, label %out, label %some
some:
  %block.p = getelementptr %Model, ptr %model, i64 0, i32 2
  %block = load ptr, ptr %block.p
  call void @free(ptr %block)
  %mapped.p = getelementptr %Model, ptr %model, i64 0, i32 1
  %mapped = load i64, ptr %mapped.p
  %whole = icmp eq i64 %mapped, 0
  br i1 %whole, label %last, label %unmap
unmap:
  %weights = load ptr, ptr %model
  %at = getelementptr i8, ptr %weights, i64 -64
  %u = call i32 @munmap(ptr %at, i64 %mapped)
  br label %last
last:
  call void @free(ptr %model)
  br label %out
out:
  ret void
}

; whether a tensor is of the kind, and where it begins; 0, or a message
define internal i32 @fits(ptr %tensor, ptr %described, ptr %address) {
entry:
  %message.p = getelementptr %Described, ptr %described, i64 0, i32 4
  %message.w = load i64, ptr %message.p
  %message = trunc i64 %message.w to i32
  %data.p = getelementptr %Tensor, ptr %tensor, i64 0, i32 0
  %data = load ptr, ptr %data.p
  %nowhere = icmp eq ptr %data, null
  br i1 %nowhere, label %null, label %type.of
null:
  ret i32 %message
type.of:
  %kind.p = getelementptr %Tensor, ptr %tensor, i64 0, i32 2
  %kind = load i64, ptr %kind.p
  %wanted = load i64, ptr %described
  %type = lshr i64 %kind, 32
  %wanted.type = lshr i64 %wanted, 32
  %same.type = icmp eq i64 %type, %wanted.type
  br i1 %same.type, label %dims, label %other.type
other.type:
  %m1 = add i32 %message, 1
  ret i32 %m1
dims:
  %rank = trunc i64 %kind to i32
  %wanted.rank = trunc i64 %wanted to i32
  %same.rank = icmp eq i32 %rank, %wanted.rank
  br i1 %same.rank, label %shape, label %other.rank
other.rank:
  %m2 = add i32 %message, 2
  ret i32 %m2
shape:
  %scalar = icmp eq i32 %wanted.rank, 0
  %shape.p = getelementptr %Tensor, ptr %tensor, i64 0, i32 3
  %shape.at = load ptr, ptr %shape.p
  %shaped = icmp ne ptr %shape.at, null
  %told = or i1 %scalar, %shaped
  br i1 %told, label %place.of, label %other.rank
place.of:
  %device.p = getelementptr %Tensor, ptr %tensor, i64 0, i32 1
  %device.w = load i64, ptr %device.p
  %device = trunc i64 %device.w to i32
  %here = icmp eq i32 %device, 1
  br i1 %here, label %align, label %elsewhere
elsewhere:
  %m3 = add i32 %message, 3
  ret i32 %m3
align:
  %offset.p = getelementptr %Tensor, ptr %tensor, i64 0, i32 5
  %offset = load i64, ptr %offset.p
  %begin = getelementptr i8, ptr %data, i64 %offset
  %at = ptrtoint ptr %begin to i64
  %multiple.p = getelementptr %Described, ptr %described, i64 0, i32 3
  %multiple = load i64, ptr %multiple.p
  %below = sub i64 %multiple, 1
  %rest = and i64 %at, %below
  %aligned = icmp eq i64 %rest, 0
  br i1 %aligned, label %good, label %crooked
crooked:
  %m4 = add i32 %message, 4
  ret i32 %m4
good:
  store i64 %at, ptr %address
  ret i32 0
}

; a tensor's stride: its own, or that of elements side by side; dims from the last to the first
define internal i64 @stride(ptr %tensor, i64 %dim, i64 %rank) {
entry:
  %strides.p = getelementptr %Tensor, ptr %tensor, i64 0, i32 4
  %strides = load ptr, ptr %strides.p
  %told = icmp ne ptr %strides, null
  br i1 %told, label %read, label %first
read:
  %p = getelementptr i64, ptr %strides, i64 %dim
  %own = load i64, ptr %p
  ret i64 %own
first:
  %sizes.p = getelementptr %Tensor, ptr %tensor, i64 0, i32 3
  %sizes = load ptr, ptr %sizes.p
  %last = sub i64 %rank, 1
  br label %next
next:
  %i = phi i64 [ %last, %first ], [ %i1, %on ]
  %product = phi i64 [ 1, %first ], [ %more, %on ]
  %there = icmp sle i64 %i, %dim
  br i1 %there, label %out, label %on
on:
  %q = getelementptr i64, ptr %sizes, i64 %i
  %size = load i64, ptr %q
  %some = call i64 @llvm.smax.i64(i64 %size, i64 1)
  %more = mul i64 %product, %some
  %i1 = sub i64 %i, 1
  br label %next
out:
  ret i64 %product
}

; bytes from a tensor's first element to behind its last
define internal i64 @extent(ptr %tensor, i64 %rank, i64 %item) {
entry:
  %sizes.p = getelementptr %Tensor, ptr %tensor, i64 0, i32 3
  %sizes = load ptr, ptr %sizes.p
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %some ]
  %sum = phi i64 [ 1, %entry ], [ %sum1, %some ]
  %done = icmp eq i64 %i, %rank
  br i1 %done, label %out, label %on
on:
  %p = getelementptr i64, ptr %sizes, i64 %i
  %size = load i64, ptr %p
  %nothing = icmp sle i64 %size, 0
  br i1 %nothing, label %none, label %some
none:
  ret i64 0
some:
  %below = sub i64 %size, 1
  %stride = call i64 @stride(ptr %tensor, i64 %i, i64 %rank)
  %far = mul i64 %below, %stride
  %sum1 = add i64 %sum, %far
  %i1 = add i64 %i, 1
  br label %next
out:
  %bytes = mul i64 %sum, %item
  ret i64 %bytes
}

; fill the frame with what is given, and check it
define internal i32 @prepare(ptr %model, ptr %about, ptr %inputs, ptr %frame, i64 %begin) {
entry:
  %address = alloca i64
  %given.p = getelementptr %Entry, ptr %about, i64 0, i32 1
  %given = load i64, ptr %given.p
  %own.p = getelementptr %Entry, ptr %about, i64 0, i32 2
  %own.words = load i64, ptr %own.p
  %template.p = getelementptr %Entry, ptr %about, i64 0, i32 3
  %template = load ptr, ptr %template.p
  %own = getelementptr i64, ptr %frame, i64 %given
  %own.bytes = mul i64 %own.words, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %own, ptr %template, i64 %own.bytes, i1 false)
  %weights = load ptr, ptr %model
  store ptr %weights, ptr %frame
  %operators = getelementptr %Model, ptr %model, i64 0, i32 3
  %operators.p = getelementptr i64, ptr %frame, i64 1
  store ptr %operators, ptr %operators.p
  %count.p = getelementptr %Entry, ptr %about, i64 0, i32 8
  %count = load i64, ptr %count.p
  %described.p = getelementptr %Entry, ptr %about, i64 0, i32 9
  %described = load ptr, ptr %described.p
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %filled ]
  %all = icmp eq i64 %i, %count
  br i1 %all, label %check, label %one
one:
  %tensor = getelementptr %Tensor, ptr %inputs, i64 %i
  %wanted = getelementptr %Described, ptr %described, i64 %i
  %unfit = call i32 @fits(ptr %tensor, ptr %wanted, ptr %address)
  %fit = icmp eq i32 %unfit, 0
  br i1 %fit, label %fill, label %refused
refused:
  ret i32 %unfit
fill:
  %place.p = getelementptr %Described, ptr %wanted, i64 0, i32 1
  %place = load i64, ptr %place.p
  %to = getelementptr i64, ptr %frame, i64 %place
  %at = load i64, ptr %address
  store i64 %at, ptr %to
  %kind = load i64, ptr %wanted
  %rank = and i64 %kind, 4294967295
  %sizes.p = getelementptr %Tensor, ptr %tensor, i64 0, i32 3
  %sizes = load ptr, ptr %sizes.p
  br label %dim
dim:
  %d = phi i64 [ 0, %fill ], [ %d1, %each ]
  %full = icmp eq i64 %d, %rank
  br i1 %full, label %filled, label %each
each:
  %size.p = getelementptr i64, ptr %sizes, i64 %d
  %size = load i64, ptr %size.p
  %stride = call i64 @stride(ptr %tensor, i64 %d, i64 %rank)
  %d1 = add i64 %d, 1
  %size.to = getelementptr i64, ptr %to, i64 %d1
  store i64 %size, ptr %size.to
  %behind = add i64 %d1, %rank
  %stride.to = getelementptr i64, ptr %to, i64 %behind
  store i64 %stride, ptr %stride.to
  br label %dim
filled:
  %i1 = add i64 %i, 1
  br label %next
check:
  %checks.p = getelementptr %Entry, ptr %about, i64 0, i32 5
  %checks = load i64, ptr %checks.p
  %code = call i32 @stretch(ptr %about, i64 0, i64 %checks, ptr %frame, i64 %begin)
  ret i32 %code
}

; run a stretch of the table; 0 or the code of an error
define internal i32 @stretch(ptr %about, i64 %from, i64 %to, ptr %frame, i64 %begin) {
entry:
  %table.p = getelementptr %Entry, ptr %about, i64 0, i32 4
  %table = load ptr, ptr %table.p
  %ended = call i64 @steps(ptr %table, i64 %from, i64 %to, ptr %frame, i64 %begin)
  %status = trunc i64 %ended to i32
  %said = icmp sge i32 %status, 4
  br i1 %said, label %tell, label %out
tell:
  %where = lshr i64 %ended, 32
  %at = getelementptr %Instruction, ptr %table, i64 %where
  %message.p = getelementptr %Instruction, ptr %at, i64 0, i32 3
  %message = load i32, ptr %message.p
  %asserted = icmp eq i32 %status, 4
  br i1 %asserted, label %number, label %out
number:                                                  ; the cell has the number of the assertion, from one
  %cell.p = getelementptr %Instruction, ptr %at, i64 0, i32 1
  %cell.i = load i32, ptr %cell.p
  %cell.w = zext i32 %cell.i to i64
  %cell = getelementptr i64, ptr %frame, i64 %cell.w
  %which = load i32, ptr %cell
  %before = sub i32 %which, 1
  %numbered = add i32 %message, %before
  br label %out
out:
  %code = phi i32 [ %status, %entry ], [ %message, %tell ], [ %numbered, %number ]
  ret i32 %code
}

; what a caller says of an entry: 0, or the code of an error
define internal i32 @asked(ptr %model, i32 %number, ptr %inputs, i64 %count, ptr %to) {
entry:
  %no.model = icmp eq ptr %model, null
  br i1 %no.model, label %null, label %range
range:
  %known = icmp ult i32 %number, @ENTRIES@
  br i1 %known, label %find, label %unknown
unknown:
  ret i32 @NO_ENTRY@
find:
  %n = zext i32 %number to i64
  %about = getelementptr %Entry, ptr @entries, i64 %n
  store ptr %about, ptr %to
  %wanted.p = getelementptr %Entry, ptr %about, i64 0, i32 8
  %wanted = load i64, ptr %wanted.p
  %right = icmp eq i64 %wanted, %count
  br i1 %right, label %there, label %wrong
wrong:
  ret i32 @INPUTS@
there:
  %some = icmp ne i64 %count, 0
  %nowhere = icmp eq ptr %inputs, null
  %bad = and i1 %some, %nowhere
  br i1 %bad, label %null, label %good
null:
  ret i32 @NULL@
good:
  ret i32 0
}

; a frame on the stack or, if it is large, not
define internal ptr @frame(ptr %about, ptr %stack) {
entry:
  %words = load i64, ptr %about
  %large = icmp ugt i64 %words, @STACK_WORDS@
  br i1 %large, label %heap, label %small
heap:
  %some = mul i64 %words, 8
  %up = add i64 %some, 63
  %bytes = and i64 %up, -64
  %found = call ptr @aligned_alloc(i64 64, i64 %bytes)
  ret ptr %found
small:
  ret ptr %stack
}

define i32 @@NAME@_result_sizes(ptr %model, i32 %number, ptr %inputs, i64 %count, ptr %to) {
entry:
  %stack = alloca [@STACK_WORDS@ x i64], align 64
  %about.p = alloca ptr
  %asked = call i32 @asked(ptr %model, i32 %number, ptr %inputs, i64 %count, ptr %about.p)
  %fine = icmp eq i32 %asked, 0
  br i1 %fine, label %where, label %refused
refused:
  ret i32 %asked
where:
  %nowhere = icmp eq ptr %to, null
  br i1 %nowhere, label %null, label %begin
null:
  ret i32 @NULL@
begin:
  %about = load ptr, ptr %about.p
  %frame = call ptr @frame(ptr %about, ptr %stack)
  %lost = icmp eq ptr %frame, null
  br i1 %lost, label %no.memory, label %fill
no.memory:
  ret i32 @MEMORY@
fill:
  %code = call i32 @prepare(ptr %model, ptr %about, ptr %inputs, ptr %frame, i64 0)
  %good = icmp eq i32 %code, 0
  br i1 %good, label %write, label %done
write:
  %all.p = getelementptr %Entry, ptr %about, i64 0, i32 10
  %all = load i64, ptr %all.p
  %results.p = getelementptr %Entry, ptr %about, i64 0, i32 11
  %results = load ptr, ptr %results.p
  br label %next
next:
  %i = phi i64 [ 0, %write ], [ %i1, %filled ]
  %at = phi i64 [ 0, %write ], [ %at.end, %filled ]
  %over = icmp eq i64 %i, %all
  br i1 %over, label %done, label %one
one:
  %described = getelementptr %Described, ptr %results, i64 %i
  %kind = load i64, ptr %described
  %rank = and i64 %kind, 4294967295
  %dims.p = getelementptr %Described, ptr %described, i64 0, i32 2
  %dims = load ptr, ptr %dims.p
  br label %dim
dim:
  %d = phi i64 [ 0, %one ], [ %d1, %each ]
  %at.end = phi i64 [ %at, %one ], [ %at.1, %each ]
  %full = icmp eq i64 %d, %rank
  br i1 %full, label %filled, label %each
each:
  %place.p = getelementptr i64, ptr %dims, i64 %d
  %place = load i64, ptr %place.p
  %size.p = getelementptr i64, ptr %frame, i64 %place
  %size = load i64, ptr %size.p
  %to.p = getelementptr i64, ptr %to, i64 %at.end
  store i64 %size, ptr %to.p
  %d1 = add i64 %d, 1
  %at.1 = add i64 %at.end, 1
  br label %dim
filled:
  %i1 = add i64 %i, 1
  br label %next
done:
  %own = icmp ne ptr %frame, %stack
  br i1 %own, label %clear, label %out
clear:
  call void @free(ptr %frame)
  br label %out
out:
  ret i32 %code
}

define i32 @@NAME@_run(ptr %model, i32 %number, ptr %inputs, i64 %count, ptr %results, i64 %results.count) {
entry:
  %stack = alloca [@STACK_WORDS@ x i64], align 64
  %about.p = alloca ptr
  %asked = call i32 @asked(ptr %model, i32 %number, ptr %inputs, i64 %count, ptr %about.p)
  %fine = icmp eq i32 %asked, 0
  br i1 %fine, label %where, label %refused
refused:
  ret i32 %asked
where:
  %about = load ptr, ptr %about.p
  %all.p = getelementptr %Entry, ptr %about, i64 0, i32 10
  %all = load i64, ptr %all.p
  %as.many = icmp eq i64 %all, %results.count
  br i1 %as.many, label %there, label %wrong
wrong:
  ret i32 @RESULTS@
there:
  %some = icmp ne i64 %all, 0
  %nowhere = icmp eq ptr %results, null
  %bad = and i1 %some, %nowhere
  br i1 %bad, label %null, label %begin
null:
  ret i32 @NULL@
begin:
  %time = call i64 @now()
  %frame = call ptr @frame(ptr %about, ptr %stack)
  %lost = icmp eq ptr %frame, null
  br i1 %lost, label %no.memory, label %fill
no.memory:
  ret i32 @MEMORY@
fill:
  %unfit = call i32 @prepare(ptr %model, ptr %about, ptr %inputs, ptr %frame, i64 %time)
  %good = icmp eq i32 %unfit, 0
  br i1 %good, label %place, label %done
place:
  %unplaced = call i32 @results(ptr %about, ptr %inputs, ptr %results, ptr %frame)
  %placed = icmp eq i32 %unplaced, 0
  br i1 %placed, label %memory, label %done
memory:
  %bytes.p = getelementptr %Entry, ptr %about, i64 0, i32 7
  %bytes.at = load i64, ptr %bytes.p
  %bytes.w = getelementptr i64, ptr %frame, i64 %bytes.at
  %bytes = load i64, ptr %bytes.w
  %block = call ptr @acquire(ptr %model, i64 %bytes)
  %full = icmp eq ptr %block, null
  br i1 %full, label %done, label %go
go:
  %data = getelementptr i8, ptr %block, i64 64
  %data.p = getelementptr i64, ptr %frame, i64 2
  store ptr %data, ptr %data.p
  %checks.p = getelementptr %Entry, ptr %about, i64 0, i32 5
  %checks = load i64, ptr %checks.p
  %end.p = getelementptr %Entry, ptr %about, i64 0, i32 6
  %end = load i64, ptr %end.p
  %ran = call i32 @stretch(ptr %about, i64 %checks, i64 %end, ptr %frame, i64 %time)
  %kept.p = getelementptr %Model, ptr %model, i64 0, i32 2
  %before = atomicrmw xchg ptr %kept.p, ptr %block acq_rel
  call void @free(ptr %before)
  br label %done
done:
  %code = phi i32 [ %unfit, %fill ], [ %unplaced, %place ], [ @MEMORY@, %memory ], [ %ran, %go ]
  %own = icmp ne ptr %frame, %stack
  br i1 %own, label %clear, label %out
clear:
  call void @free(ptr %frame)
  br label %out
out:
  ret i32 %code
}

; memory for a call: the block that is kept, if it is large enough. It begins with its size
define internal ptr @acquire(ptr %model, i64 %bytes) {
entry:
  %kept.p = getelementptr %Model, ptr %model, i64 0, i32 2
  %kept = atomicrmw xchg ptr %kept.p, ptr null acq_rel
  %none = icmp eq ptr %kept, null
  br i1 %none, label %new, label %look
look:
  %has = load i64, ptr %kept
  %enough = icmp uge i64 %has, %bytes
  br i1 %enough, label %take, label %drop
take:
  ret ptr %kept
drop:
  call void @free(ptr %kept)
  br label %new
new:
  %some = add i64 %bytes, 127
  %size = and i64 %some, -64
  %absurd = icmp ugt i64 %bytes, 70368744177664
  br i1 %absurd, label %nothing, label %allocate
allocate:
  %block = call ptr @aligned_alloc(i64 64, i64 %size)
  %lost = icmp eq ptr %block, null
  br i1 %lost, label %nothing, label %made
made:
  store i64 %bytes, ptr %block
  ret ptr %block
nothing:
  ret ptr null
}

; put the addresses of results into the frame; 0 or a message
define internal i32 @results(ptr %about, ptr %inputs, ptr %results, ptr %frame) {
entry:
  %address = alloca i64
  %all.p = getelementptr %Entry, ptr %about, i64 0, i32 10
  %all = load i64, ptr %all.p
  %table.p = getelementptr %Entry, ptr %about, i64 0, i32 11
  %table = load ptr, ptr %table.p
  %inputs.p = getelementptr %Entry, ptr %about, i64 0, i32 8
  %inputs.n = load i64, ptr %inputs.p
  %their.p = getelementptr %Entry, ptr %about, i64 0, i32 9
  %their = load ptr, ptr %their.p
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %free.of ]
  %over = icmp eq i64 %i, %all
  br i1 %over, label %well, label %one
one:
  %tensor = getelementptr %Tensor, ptr %results, i64 %i
  %described = getelementptr %Described, ptr %table, i64 %i
  %unfit = call i32 @fits(ptr %tensor, ptr %described, ptr %address)
  %fit = icmp eq i32 %unfit, 0
  br i1 %fit, label %shape, label %refused
refused:
  ret i32 %unfit
shape:
  %message.p = getelementptr %Described, ptr %described, i64 0, i32 4
  %message.w = load i64, ptr %message.p
  %message = trunc i64 %message.w to i32
  %kind = load i64, ptr %described
  %rank = and i64 %kind, 4294967295
  %dims.p = getelementptr %Described, ptr %described, i64 0, i32 2
  %dims = load ptr, ptr %dims.p
  %sizes.p = getelementptr %Tensor, ptr %tensor, i64 0, i32 3
  %sizes = load ptr, ptr %sizes.p
  br label %dim
dim:
  %d = phi i64 [ 0, %shape ], [ %d1, %same ]
  %full = icmp eq i64 %d, %rank
  br i1 %full, label %apart, label %each
each:
  %size.place.p = getelementptr i64, ptr %dims, i64 %d
  %size.place = load i64, ptr %size.place.p
  %size.at = getelementptr i64, ptr %frame, i64 %size.place
  %wanted = load i64, ptr %size.at
  %size.p = getelementptr i64, ptr %sizes, i64 %d
  %size = load i64, ptr %size.p
  %right = icmp eq i64 %wanted, %size
  br i1 %right, label %step, label %other
step:
  %behind = add i64 %d, %rank
  %stride.place.p = getelementptr i64, ptr %dims, i64 %behind
  %stride.place = load i64, ptr %stride.place.p
  %stride.at = getelementptr i64, ptr %frame, i64 %stride.place
  %stride.wanted = load i64, ptr %stride.at
  %stride = call i64 @stride(ptr %tensor, i64 %d, i64 %rank)
  %alike = icmp eq i64 %stride.wanted, %stride
  %lone = icmp sle i64 %wanted, 1
  %laid = or i1 %alike, %lone
  br i1 %laid, label %same, label %other
other:
  %m5 = add i32 %message, 5
  ret i32 %m5
same:
  %d1 = add i64 %d, 1
  br label %dim

apart:                                                   ; from all inputs, and from the results before
  %place.p = getelementptr %Described, ptr %described, i64 0, i32 1
  %place = load i64, ptr %place.p
  %to = getelementptr i64, ptr %frame, i64 %place
  %at = load i64, ptr %address
  store i64 %at, ptr %to
  %item.p = getelementptr %Described, ptr %described, i64 0, i32 5
  %item = load i64, ptr %item.p
  %bytes = call i64 @extent(ptr %tensor, i64 %rank, i64 %item)
  %end = add i64 %at, %bytes
  %others = add i64 %inputs.n, %i
  br label %beside
beside:
  %j = phi i64 [ 0, %apart ], [ %j1, %distinct ]
  %clear = icmp eq i64 %j, %others
  br i1 %clear, label %free.of, label %compare
compare:
  %is.input = icmp slt i64 %j, %inputs.n
  %own.j = sub i64 %j, %inputs.n
  %other.tensor.a = getelementptr %Tensor, ptr %inputs, i64 %j
  %other.tensor.b = getelementptr %Tensor, ptr %results, i64 %own.j
  %other.tensor = select i1 %is.input, ptr %other.tensor.a, ptr %other.tensor.b
  %other.about.a = getelementptr %Described, ptr %their, i64 %j
  %other.about.b = getelementptr %Described, ptr %table, i64 %own.j
  %other.about = select i1 %is.input, ptr %other.about.a, ptr %other.about.b
  %other.kind = load i64, ptr %other.about
  %other.rank = and i64 %other.kind, 4294967295
  %other.item.p = getelementptr %Described, ptr %other.about, i64 0, i32 5
  %other.item = load i64, ptr %other.item.p
  %other.bytes = call i64 @extent(ptr %other.tensor, i64 %other.rank, i64 %other.item)
  %other.place.p = getelementptr %Described, ptr %other.about, i64 0, i32 1
  %other.place = load i64, ptr %other.place.p
  %other.word = getelementptr i64, ptr %frame, i64 %other.place
  %other.at = load i64, ptr %other.word
  %other.end = add i64 %other.at, %other.bytes
  %before = icmp ule i64 %end, %other.at
  %after = icmp ule i64 %other.end, %at
  %separate = or i1 %before, %after
  br i1 %separate, label %distinct, label %shared
shared:
  %m6 = add i32 %message, 6
  ret i32 %m6
distinct:
  %j1 = add i64 %j, 1
  br label %beside
free.of:
  %i1 = add i64 %i, 1
  br label %next
well:
  ret i32 0
}

@ATTRIBUTES@
