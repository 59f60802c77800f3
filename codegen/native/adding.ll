
; the second operand added at a place of the third, which the first names (calls.py, places.ll)
define void @"added.@TYPE@"(ptr %places, ptr %count, ptr %steps, ptr %data) {
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
  %from = getelementptr i8, ptr %from.start, i64 %from.far
  %to.far = mul i64 %i, %to.step
  %to.all = add i64 %to.far, %far
  %to = getelementptr i8, ptr %to.start, i64 %to.all
  %value = load @LLVM@, ptr %from, align 1
  %before = load @LLVM@, ptr %to, align 1
  %total = @ADD@ @LLVM@ %before, %value
  store @LLVM@ %total, ptr %to, align 1
  %i1 = add i64 %i, 1
  br label %next
unfit:
  store i8 1, ptr @opweave_unfit
  ret void
out:
  ret void
}
