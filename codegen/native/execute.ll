; Runs the steps of a segment (segments.py): a table of instructions over a frame of words.
;
; The frame begins with what the caller gave, behind it come the words of a template: constants, and places for what is
; computed and for the arguments of kernels. At its end is memory that only the kernels use. First all numbers and addresses are computed; where one does not fit,
; nothing has run yet and Python is asked (2). Then kernels and products run, in their order.

; words of the frame, words given, words of the template, instructions; template, table; which launch failed, and what
; it said; whether each call takes as long as the one before
%Program = type { i64, i64, i64, i64, ptr, ptr, i64, [4 x i64], i64 }
%Instruction = type { i32, i32, i32, i32 }                         ; what, and three places in the frame

declare { i64, i1 } @llvm.sadd.with.overflow.i64(i64, i64)
declare { i64, i1 } @llvm.ssub.with.overflow.i64(i64, i64)
declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i32 @opweave_product(ptr)
declare i32 @opweave_poll(ptr)

define i32 @opweave_execute(ptr %program, ptr %given, i64 %n, i32 %gx, i32 %gy, i32 %gz, ptr %cost) {
entry:
  %begin = call i64 @now()
  %words = load i64, ptr %program
  %bytes.some = mul i64 %words, 8
  %bytes.up = add i64 %bytes.some, 63
  %bytes = and i64 %bytes.up, -64
  %large = icmp ugt i64 %words, @STACK_WORDS@
  br i1 %large, label %heap, label %stack
stack:
  %frame.stack = alloca i64, i64 %words, align 64
  br label %start
heap:
  %frame.heap = call ptr @aligned_alloc(i64 64, i64 %bytes)
  %nowhere = icmp eq ptr %frame.heap, null
  br i1 %nowhere, label %python, label %start
start:
  %frame = phi ptr [ %frame.stack, %stack ], [ %frame.heap, %heap ]
  %result = call i32 @steps(ptr %program, ptr %given, ptr %frame, i64 %begin)
  br i1 %large, label %clear, label %finish
clear:
  call void @free(ptr %frame)
  br label %finish
finish:                                                  ; a time for all sizes would tell nothing of the next call's
  %steady.p = getelementptr %Program, ptr %program, i64 0, i32 8
  %steady = load i64, ptr %steady.p
  %varies = icmp eq i64 %steady, 0
  br i1 %varies, label %out, label %measure
measure:
  %end = call i64 @now()
  %spent = sub i64 %end, %begin
  %least = call i64 @llvm.smax.i64(i64 %spent, i64 1)
  %ns = sitofp i64 %least to double
  store atomic double %ns, ptr %cost monotonic, align 8
  br label %out
out:
  ret i32 %result
python:
  ret i32 2
}

define internal i32 @steps(ptr %program, ptr %given, ptr %frame, i64 %begin) {
entry:
  %since = alloca i64
  store i64 %begin, ptr %since
  %inputs.p = getelementptr %Program, ptr %program, i64 0, i32 1
  %inputs = load i64, ptr %inputs.p
  %all.p = getelementptr %Program, ptr %program, i64 0, i32 3
  %all = load i64, ptr %all.p
  %template.p = getelementptr %Program, ptr %program, i64 0, i32 4
  %template = load ptr, ptr %template.p
  %table.p = getelementptr %Program, ptr %program, i64 0, i32 5
  %table = load ptr, ptr %table.p
  %given.bytes = mul i64 %inputs, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %frame, ptr %given, i64 %given.bytes, i1 false)
  %own = getelementptr i64, ptr %frame, i64 %inputs
  %own.p = getelementptr %Program, ptr %program, i64 0, i32 2
  %own.words = load i64, ptr %own.p
  %own.bytes = mul i64 %own.words, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %own, ptr %template, i64 %own.bytes, i1 false)
  br label %next

next:
  %i = phi i64 [ 0, %entry ], [ %i1, %on ]
  %done = icmp eq i64 %i, %all
  br i1 %done, label %well, label %read
read:
  %at = getelementptr %Instruction, ptr %table, i64 %i
  %what = load i32, ptr %at
  %d.p = getelementptr %Instruction, ptr %at, i64 0, i32 1
  %a.p = getelementptr %Instruction, ptr %at, i64 0, i32 2
  %b.p = getelementptr %Instruction, ptr %at, i64 0, i32 3
  %d.i = load i32, ptr %d.p
  %a.i = load i32, ptr %a.p
  %b.i = load i32, ptr %b.p
  %d.w = zext i32 %d.i to i64
  %a.w = zext i32 %a.i to i64
  %b.w = zext i32 %b.i to i64
  %d = getelementptr i64, ptr %frame, i64 %d.w
  %a.at = getelementptr i64, ptr %frame, i64 %a.w
  %b.at = getelementptr i64, ptr %frame, i64 %b.w
  %a = load i64, ptr %a.at
  %b = load i64, ptr %b.at
  switch i32 %what, label %ask [ i32 @COPY@, label %copy
                                 i32 @ADD@, label %add
                                 i32 @SUB@, label %sub
                                 i32 @MUL@, label %mul
                                 i32 @FLOORDIV@, label %floordiv
                                 i32 @MOD@, label %mod
                                 i32 @MIN@, label %min
                                 i32 @MAX@, label %max
                                 i32 @PLACE@, label %place
                                 i32 @SINGLE@, label %single
                                 i32 @FITS@, label %fits
                                 i32 @LAUNCH@, label %launch
                                 i32 @PRODUCT@, label %product
                                 i32 @MOVE@, label %move
                                 i32 @ASSERTED@, label %asserted ]
copy:
  br label %computed
add:
  %add.r = call { i64, i1 } @llvm.sadd.with.overflow.i64(i64 %a, i64 %b)
  br label %sure
sub:
  %sub.r = call { i64, i1 } @llvm.ssub.with.overflow.i64(i64 %a, i64 %b)
  br label %sure
mul:
  %mul.r = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %a, i64 %b)
  br label %sure
sure:
  %pair = phi { i64, i1 } [ %add.r, %add ], [ %sub.r, %sub ], [ %mul.r, %mul ]
  %sum = extractvalue { i64, i1 } %pair, 0
  %over = extractvalue { i64, i1 } %pair, 1
  br i1 %over, label %ask, label %computed
floordiv:                                                ; as Python: rounded down
  %fd.sound = icmp sgt i64 %b, 0
  br i1 %fd.sound, label %divide, label %ask
divide:
  %q = sdiv i64 %a, %b
  %q.back = mul i64 %q, %b
  %q.above = icmp sgt i64 %q.back, %a
  %q.one = zext i1 %q.above to i64
  %q.floor = sub i64 %q, %q.one
  br label %computed
mod:                                                     ; as Python: with the sign of the divisor
  %m.sound = icmp sgt i64 %b, 0
  br i1 %m.sound, label %remain, label %ask
remain:
  %m = srem i64 %a, %b
  %m.neg = icmp slt i64 %m, 0
  %m.up = select i1 %m.neg, i64 %b, i64 0
  %m.r = add i64 %m, %m.up
  br label %computed
min:
  %min.r = call i64 @llvm.smin.i64(i64 %a, i64 %b)
  br label %computed
max:
  %max.r = call i64 @llvm.smax.i64(i64 %a, i64 %b)
  br label %computed
place:                                                   ; the address of a place in the frame
  %place.r = ptrtoint ptr %a.at to i64
  br label %computed
single:                                                  ; the bits of a float32
  %wide = bitcast i64 %a to double
  %narrow = fptrunc double %wide to float
  %bits = bitcast float %narrow to i32
  %single.r = zext i32 %bits to i64
  br label %computed
fits:                                                    ; from `a` to `b`
  %x = load i64, ptr %d
  %low = icmp sge i64 %x, %a
  %high = icmp sle i64 %x, %b
  %inside = and i1 %low, %high
  br i1 %inside, label %on, label %ask
computed:
  %r = phi i64 [ %a, %copy ], [ %sum, %sure ], [ %q.floor, %divide ], [ %m.r, %remain ], [ %min.r, %min ],
               [ %max.r, %max ], [ %place.r, %place ], [ %single.r, %single ]
  store i64 %r, ptr %d
  br label %on

launch:                                                  ; the kernel `a` with the grid at `d` and arguments at `b`
  %kernel = inttoptr i64 %a to ptr
  %gy.p = getelementptr i64, ptr %d, i64 1
  %gz.p = getelementptr i64, ptr %d, i64 2
  %gx = load i64, ptr %d
  %gy = load i64, ptr %gy.p
  %gz = load i64, ptr %gz.p
  %launch.r = call i32 @launched(ptr %kernel, ptr %b.at, i64 %gx, i64 %gy, i64 %gz)
  br label %ran
product:
  %product.r = call i32 @opweave_product(ptr %a.at)
  br label %ran
move:                                                    ; the bytes from `a` to `d`
  %to.i = load i64, ptr %d
  %to = inttoptr i64 %to.i to ptr
  %from = inttoptr i64 %a to ptr
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %b, i1 false)
  br label %on
asserted:                                                ; the cell at `d` of launch `a`
  %said = load i64, ptr %d
  %silent = icmp eq i64 %said, 0
  br i1 %silent, label %on, label %refused
refused:
  %which.p = getelementptr %Program, ptr %program, i64 0, i32 6
  %words.p = getelementptr %Program, ptr %program, i64 0, i32 7
  store i64 %a, ptr %which.p
  call void @llvm.memcpy.p0.p0.i64(ptr %words.p, ptr %d, i64 32, i1 false)
  ret i32 4
ran:
  %status = phi i32 [ %launch.r, %launch ], [ %product.r, %product ]
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %often, label %stopped
often:                                                   ; each launch asks for signals, but only if it takes long
  %rest = and i64 %i, 7
  %skip = icmp ne i64 %rest, 0
  br i1 %skip, label %on, label %poll
poll:
  %raised = call i32 @opweave_poll(ptr %since)
  %well.so.far = icmp eq i32 %raised, 0
  br i1 %well.so.far, label %on, label %halted
halted:
  ret i32 1
stopped:
  ret i32 %status
on:
  %i1 = add i64 %i, 1
  br label %next
ask:
  ret i32 2
well:
  ret i32 0
}
