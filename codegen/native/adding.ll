
; the second operand combined with what is at a place of the third, which the first names (calls.py, places.ll)
define internal @LLVM@ @"@NAME@.two.@TYPE@"(@LLVM@ %before, @LLVM@ %value) alwaysinline {
entry:
  @COMBINE@
  ret @LLVM@ %total
}

define void @"@NAME@.@TYPE@"(ptr %places, ptr %count, ptr %steps, ptr %data) {
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
  %some = icmp sgt i64 %n, 0
  %is.row = and i1 %one.place, %some
  br i1 %is.row, label %row, label %next
row:                                                     ; all at one place of each
  %row.far = call i64 @place(ptr %index.start, ptr %data)
  %row.fits = icmp sge i64 %row.far, 0
  br i1 %row.fits, label %row.begin, label %unfit
row.begin:
  %row.to = getelementptr i8, ptr %to.start, i64 %row.far
  br label %row.next
row.next:
  %r = phi i64 [ 0, %row.begin ], [ %r1, %row.next ]
  %r.from.far = mul i64 %r, %from.step
  %r.from = getelementptr i8, ptr %from.start, i64 %r.from.far
  %r.to.far = mul i64 %r, %to.step
  %r.to = getelementptr i8, ptr %row.to, i64 %r.to.far
  %r.value = load @LLVM@, ptr %r.from, align 1
  %r.before = load @LLVM@, ptr %r.to, align 1
  %r.total = call @LLVM@ @"@NAME@.two.@TYPE@"(@LLVM@ %r.before, @LLVM@ %r.value)
  store @LLVM@ %r.total, ptr %r.to, align 1
  %r1 = add i64 %r, 1
  %r.done = icmp eq i64 %r1, %n
  br i1 %r.done, label %out, label %row.next
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
  %value = load @LLVM@, ptr %from, align 1
  %before = load @LLVM@, ptr %to, align 1
  %total = call @LLVM@ @"@NAME@.two.@TYPE@"(@LLVM@ %before, @LLVM@ %value)
  store @LLVM@ %total, ptr %to, align 1
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
