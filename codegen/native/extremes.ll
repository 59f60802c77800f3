
; where among the elements of the first operand the first @NAME@ is, to the second; NaN is beyond all numbers (calls.py)
define void @"@NAME@.@TYPE@"(ptr %places, ptr %count, ptr %steps, ptr %data) {
entry:
  %n = load i64, ptr %count
  %from = load ptr, ptr %places
  %to.p = getelementptr ptr, ptr %places, i64 1
  %to = load ptr, ptr %to.p
  %step = load i64, ptr %steps
  %first = load @LLVM@, ptr %from, align 1
  br label %next
next:
  %i = phi i64 [ 1, %entry ], [ %i1, %more ]
  %best = phi @LLVM@ [ %first, %entry ], [ %best1, %more ]
  %where = phi i64 [ 0, %entry ], [ %where1, %more ]
  %left = icmp slt i64 %i, %n
  br i1 %left, label %more, label %out
more:
  %far = mul i64 %i, %step
  %at = getelementptr i8, ptr %from, i64 %far
  %value = load @LLVM@, ptr %at, align 1
  %beyond = @COMPARE@ @LLVM@ %value, %best
  %value.nan = @IS_NAN@ @LLVM@ %value, %value
  %best.nan = @IS_NAN@ @LLVM@ %best, %best
  %best.number = xor i1 %best.nan, true
  %first.nan = and i1 %value.nan, %best.number
  %better = or i1 %beyond, %first.nan
  %best1 = select i1 %better, @LLVM@ %value, @LLVM@ %best
  %where1 = select i1 %better, i64 %i, i64 %where
  %i1 = add i64 %i, 1
  br label %next
out:
  store i64 %where, ptr %to, align 1
  ret void
}
