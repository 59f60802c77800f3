; Loops over elements of @BITS@ bits (calls.py), called as NumPy calls its own: places of the operands, how many
; elements there are, bytes from one to the next.

; the first operand to the second
define void @"copied.@BITS@"(ptr %places, ptr %count, ptr %steps, ptr %data) {
entry:
  %n = load i64, ptr %count
  %from.start = load ptr, ptr %places
  %to.p = getelementptr ptr, ptr %places, i64 1
  %to.start = load ptr, ptr %to.p
  %from.step = load i64, ptr %steps
  %to.step.p = getelementptr i64, ptr %steps, i64 1
  %to.step = load i64, ptr %to.step.p
  %to.dense = icmp eq i64 %to.step, @BYTES@
  %some = icmp sgt i64 %n, 0
  %fast = and i1 %to.dense, %some
  br i1 %fast, label %dense, label %next
dense:
  %from.dense = icmp eq i64 %from.step, @BYTES@
  br i1 %from.dense, label %whole, label %one
whole:
  %bytes = mul i64 %n, @BYTES@
  call void @llvm.memmove.p0.p0.i64(ptr %to.start, ptr %from.start, i64 %bytes, i1 false)
  ret void
one:
  %from.one = icmp eq i64 %from.step, 0
  br i1 %from.one, label %fill, label %next
fill:                                                    ; one element, and then as many as there are, again and again
  %first = load i@BITS@, ptr %from.start, align 1
  store i@BITS@ %first, ptr %to.start, align 1
  br label %fill.next
fill.next:
  %filled = phi i64 [ 1, %fill ], [ %filled1, %fill.more ]
  %left = sub i64 %n, %filled
  %is.full = icmp eq i64 %left, 0
  br i1 %is.full, label %out, label %fill.more
fill.more:
  %few = icmp slt i64 %left, %filled
  %m = select i1 %few, i64 %left, i64 %filled
  %fill.far = mul i64 %filled, @BYTES@
  %fill.to = getelementptr i8, ptr %to.start, i64 %fill.far
  %fill.bytes = mul i64 %m, @BYTES@
  call void @llvm.memcpy.p0.p0.i64(ptr %fill.to, ptr %to.start, i64 %fill.bytes, i1 false)
  %filled1 = add i64 %filled, %m
  br label %fill.next
next:
  %i = phi i64 [ 0, %entry ], [ 0, %one ], [ %i1, %more ]
  %done = icmp eq i64 %i, %n
  br i1 %done, label %out, label %more
more:
  %from.far = mul i64 %i, %from.step
  %from = getelementptr i8, ptr %from.start, i64 %from.far
  %to.far = mul i64 %i, %to.step
  %to = getelementptr i8, ptr %to.start, i64 %to.far
  %value = load i@BITS@, ptr %from, align 1
  store i@BITS@ %value, ptr %to, align 1
  %i1 = add i64 %i, 1
  br label %next
out:
  ret void
}

; the second operand where the first is true, else the third, to the fourth
define void @"chosen.@BITS@"(ptr %places, ptr %count, ptr %steps, ptr %data) {
entry:
  %n = load i64, ptr %count
  %condition.start = load ptr, ptr %places
  %a.p = getelementptr ptr, ptr %places, i64 1
  %a.start = load ptr, ptr %a.p
  %b.p = getelementptr ptr, ptr %places, i64 2
  %b.start = load ptr, ptr %b.p
  %to.p = getelementptr ptr, ptr %places, i64 3
  %to.start = load ptr, ptr %to.p
  %condition.step = load i64, ptr %steps
  %a.step.p = getelementptr i64, ptr %steps, i64 1
  %a.step = load i64, ptr %a.step.p
  %b.step.p = getelementptr i64, ptr %steps, i64 2
  %b.step = load i64, ptr %b.step.p
  %to.step.p = getelementptr i64, ptr %steps, i64 3
  %to.step = load i64, ptr %to.step.p
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %more ]
  %done = icmp eq i64 %i, %n
  br i1 %done, label %out, label %more
more:
  %condition.far = mul i64 %i, %condition.step
  %condition.at = getelementptr i8, ptr %condition.start, i64 %condition.far
  %condition = load i8, ptr %condition.at
  %a.far = mul i64 %i, %a.step
  %a.at = getelementptr i8, ptr %a.start, i64 %a.far
  %b.far = mul i64 %i, %b.step
  %b.at = getelementptr i8, ptr %b.start, i64 %b.far
  %a = load i@BITS@, ptr %a.at, align 1
  %b = load i@BITS@, ptr %b.at, align 1
  %is = icmp ne i8 %condition, 0
  %value = select i1 %is, i@BITS@ %a, i@BITS@ %b
  %to.far = mul i64 %i, %to.step
  %to = getelementptr i8, ptr %to.start, i64 %to.far
  store i@BITS@ %value, ptr %to, align 1
  %i1 = add i64 %i, 1
  br label %next
out:
  ret void
}
