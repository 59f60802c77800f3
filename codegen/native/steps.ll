; Runs a table of instructions over a frame of words. First all numbers and addresses are computed; where one does not
; fit, nothing has run yet. Then kernels and products run, in their order.

%Instruction = type { i32, i32, i32, i32 }                         ; what, and three places in the frame, or numbers

declare { i64, i1 } @llvm.sadd.with.overflow.i64(i64, i64)
declare { i64, i1 } @llvm.ssub.with.overflow.i64(i64, i64)
declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @opweave_poll(ptr)

; run the instructions `first` to `all` - 1 over a frame. The low half of the result: 0: done, 1: the handler of a signal
; raised, 2: a number does not fit, 3: there is no memory, 4: a check failed, 5: a number is not the expected one, 6: a
; function that was called says so, 7: it is not there; the high half: at which instruction
define internal i64 @steps(ptr %table, i64 %first, i64 %all, ptr %frame, i64 %begin) {
entry:
  %since = alloca i64
  store i64 %begin, ptr %since
  br label %next

next:
  %i = phi i64 [ %first, %entry ], [ %i1, %on ], [ %i2, %beyond ]
  %done = icmp sge i64 %i, %all
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
                                 i32 @ASSERTED@, label %asserted
                                 i32 @EXPECT@, label %expect
                                 i32 @LEAST@, label %least
                                 i32 @MOST@, label %most
                                 i32 @SKIP@, label %skip
                                 i32 @CALL@, label %call
                                 i32 @LOAD@, label %load
                                 i32 @CONVOLVE@, label %convolve ]
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
load:                                                    ; the word `b` of those at `a`
  %l.table = inttoptr i64 %a to ptr
  %l.p = getelementptr i64, ptr %l.table, i64 %b.w
  %l.r = load i64, ptr %l.p
  br label %computed
computed:
  %r = phi i64 [ %a, %copy ], [ %sum, %sure ], [ %q.floor, %divide ], [ %m.r, %remain ], [ %min.r, %min ],
               [ %max.r, %max ], [ %place.r, %place ], [ %single.r, %single ], [ %l.r, %load ]
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
convolve:                                                ; the function `b` of the words at `a`
  %convolution = inttoptr i64 %b to ptr
  %convolve.r = call i32 %convolution(ptr %a.at)
  br label %ran
move:                                                    ; the bytes from `a` to `d`
  %to.i = load i64, ptr %d
  %to = inttoptr i64 %to.i to ptr
  %from = inttoptr i64 %a to ptr
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %b, i1 false)
  br label %on
asserted:                                                ; the cell at `d` must hold 0
  %said = load i64, ptr %d
  %silent = icmp eq i64 %said, 0
  br i1 %silent, label %on, label %refused
refused:
  br label %failed
expect:                                                  ; `d` and `a` must be equal
  %e.x = load i64, ptr %d
  %e.same = icmp eq i64 %e.x, %a
  br i1 %e.same, label %on, label %unlike
least:                                                   ; `d` must be `a` at least
  %l.x = load i64, ptr %d
  %l.enough = icmp sge i64 %l.x, %a
  br i1 %l.enough, label %on, label %unlike
most:                                                    ; `d` must be `a` at most
  %m.x = load i64, ptr %d
  %m.fits = icmp sle i64 %m.x, %a
  br i1 %m.fits, label %on, label %unlike
unlike:
  br label %failed
skip:                                                    ; the next one counts only where `d` is more than one
  %s.x = load i64, ptr %d
  %s.one = icmp sle i64 %s.x, 1
  br i1 %s.one, label %beyond, label %on
beyond:
  %i2 = add i64 %i, 2
  br label %next
call:                                                    ; the function `a` of tensors, of results and of numbers at `d`
  %f = inttoptr i64 %a to ptr
  %lost = icmp eq i64 %a, 0
  br i1 %lost, label %missing, label %called
missing:
  br label %failed
called:
  %c.results.p = getelementptr i64, ptr %d, i64 1
  %c.numbers.p = getelementptr i64, ptr %d, i64 2
  %c.tensors = load ptr, ptr %d
  %c.results = load ptr, ptr %c.results.p
  %c.numbers = load ptr, ptr %c.numbers.p
  %c.r = call i32 %f(ptr %c.tensors, ptr %c.results, ptr %c.numbers)
  %c.fine = icmp eq i32 %c.r, 0
  br i1 %c.fine, label %on, label %unwell
unwell:
  br label %failed
ran:
  %status = phi i32 [ %launch.r, %launch ], [ %product.r, %product ], [ %convolve.r, %convolve ]
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %often, label %stopped
often:                                                   ; each launch asks for signals, but only if it takes long
  %rest = and i64 %i, 7
  %seldom = icmp ne i64 %rest, 0
  br i1 %seldom, label %on, label %poll
poll:
  %raised = call i32 @opweave_poll(ptr %since)
  %well.so.far = icmp eq i32 %raised, 0
  br i1 %well.so.far, label %on, label %halted
halted:
  ret i64 1
on:
  %i1 = add i64 %i, 1
  br label %next
stopped:
  br label %failed
ask:
  br label %failed
failed:
  %what.failed = phi i32 [ 2, %ask ], [ 4, %refused ], [ 5, %unlike ], [ 6, %unwell ], [ 7, %missing ], [ %status, %stopped ]
  %code = zext i32 %what.failed to i64
  %high.half = shl i64 %i, 32
  %both = or i64 %code, %high.half
  ret i64 %both
well:
  ret i64 0
}
