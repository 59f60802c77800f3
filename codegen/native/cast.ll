
; elements of one type to another (calls.py), called as NumPy calls its loops
define void @"cast.@FROM@.@TO@"(ptr %places, ptr %count, ptr %steps, ptr %data) {
entry:
  %n = load i64, ptr %count
  %from.start = load ptr, ptr %places
  %to.p = getelementptr ptr, ptr %places, i64 1
  %to.start = load ptr, ptr %to.p
  %from.step = load i64, ptr %steps
  %to.step.p = getelementptr i64, ptr %steps, i64 1
  %to.step = load i64, ptr %to.step.p
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %more ]
  %done = icmp eq i64 %i, %n
  br i1 %done, label %out, label %more
more:
  %from.far = mul i64 %i, %from.step
  %from = getelementptr i8, ptr %from.start, i64 %from.far
  %to.far = mul i64 %i, %to.step
  %to = getelementptr i8, ptr %to.start, i64 %to.far
  %value = load @FROM_TYPE@, ptr %from, align 1
  @CONVERSION@
  store @TO_TYPE@ %result, ptr %to, align 1
  %i1 = add i64 %i, 1
  br label %next
out:
  ret void
}
