; Loops that read or write elements of @BITS@ bits at places that index tensors name (calls.py), called as NumPy calls its
; own. What they take besides: bytes from one place to the next, how many there are, and whether negative numbers count
; from the end. A number that names no place ends the call (`opweave_unfit`): Python says what is wrong.

; the element at a place of the second operand, which the first names, to the third
define void @"taken.@BITS@"(ptr %places, ptr %count, ptr %steps, ptr %data) {
entry:
  %n = load i64, ptr %count
  %index.start = load ptr, ptr %places
  %from.p = getelementptr ptr, ptr %places, i64 1
  %from.start = load ptr, ptr %from.p
  %to.p = getelementptr ptr, ptr %places, i64 2
  %to.start = load ptr, ptr %to.p
  %index.step = load i64, ptr %steps
  %from.step.p = getelementptr i64, ptr %steps, i64 1
  %from.step = load i64, ptr %from.step.p
  %to.step.p = getelementptr i64, ptr %steps, i64 2
  %to.step = load i64, ptr %to.step.p
  %one.place = icmp eq i64 %index.step, 0
  %from.dense = icmp eq i64 %from.step, @BYTES@
  %to.dense = icmp eq i64 %to.step, @BYTES@
  %dense = and i1 %from.dense, %to.dense
  %row = and i1 %one.place, %dense
  %some = icmp sgt i64 %n, 0
  %is.row = and i1 %row, %some
  br i1 %is.row, label %whole, label %next
whole:                                                   ; a row that lies in one piece
  %row.far = call i64 @place(ptr %index.start, ptr %data)
  %row.fits = icmp sge i64 %row.far, 0
  br i1 %row.fits, label %copy, label %unfit
copy:
  %row.from = getelementptr i8, ptr %from.start, i64 %row.far
  %bytes = mul i64 %n, @BYTES@
  call void @llvm.memcpy.p0.p0.i64(ptr %to.start, ptr %row.from, i64 %bytes, i1 false)
  ret void
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %more ]
  %done = icmp eq i64 %i, %n
  br i1 %done, label %out, label %ask
ask:
  %index.far = mul i64 %i, %index.step
  %index.at = getelementptr i8, ptr %index.start, i64 %index.far
  %far = call i64 @place(ptr %index.at, ptr %data)
  %fits = icmp sge i64 %far, 0
  br i1 %fits, label %more, label %unfit
more:
  %from.far = mul i64 %i, %from.step
  %from.all = add i64 %from.far, %far
  %from = getelementptr i8, ptr %from.start, i64 %from.all
  %to.far = mul i64 %i, %to.step
  %to = getelementptr i8, ptr %to.start, i64 %to.far
  %value = load i@BITS@, ptr %from, align 1
  store i@BITS@ %value, ptr %to, align 1
  %i1 = add i64 %i, 1
  br label %next
unfit:
  store i8 1, ptr @opweave_unfit
  ret void
out:
  ret void
}

; the second operand to a place of the third, which the first names
define void @"scattered.@BITS@"(ptr %places, ptr %count, ptr %steps, ptr %data) {
entry:
  %n = load i64, ptr %count
  %index.start = load ptr, ptr %places
  %from.p = getelementptr ptr, ptr %places, i64 1
  %from.start = load ptr, ptr %from.p
  %to.p = getelementptr ptr, ptr %places, i64 2
  %to.start = load ptr, ptr %to.p
  %index.step = load i64, ptr %steps
  %from.step.p = getelementptr i64, ptr %steps, i64 1
  %from.step = load i64, ptr %from.step.p
  %to.step.p = getelementptr i64, ptr %steps, i64 2
  %to.step = load i64, ptr %to.step.p
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %more ]
  %index.at = phi ptr [ %index.start, %entry ], [ %index.next, %more ]
  %from = phi ptr [ %from.start, %entry ], [ %from.next, %more ]
  %to.at = phi ptr [ %to.start, %entry ], [ %to.next, %more ]
  %done = icmp eq i64 %i, %n
  br i1 %done, label %out, label %ask
ask:
  %far = call i64 @place(ptr %index.at, ptr %data)
  %fits = icmp sge i64 %far, 0
  br i1 %fits, label %more, label %unfit
more:
  %to = getelementptr i8, ptr %to.at, i64 %far
  %value = load i@BITS@, ptr %from, align 1
  store i@BITS@ %value, ptr %to, align 1
  %i1 = add i64 %i, 1
  %index.next = getelementptr i8, ptr %index.at, i64 %index.step
  %from.next = getelementptr i8, ptr %from, i64 %from.step
  %to.next = getelementptr i8, ptr %to.at, i64 %to.step
  br label %next
unfit:
  store i8 1, ptr @opweave_unfit
  ret void
out:
  ret void
}
