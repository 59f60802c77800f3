; Products of matrices so small that BLAS would take longer to prepare than to multiply (codegen/blas.py). Blocks of four
; rows and @WIDTH@ columns stay in registers. Where fewer are left, a block lies over what was computed already, and
; writes the same there again: sums are formed in the order of what is summed over, whatever the block.

; four rows of the left operand and of the result, the beginning of @WIDTH@ columns
define internal void @"block.@REAL@.@WIDTH@"(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i64 %a.column, ptr %b, i64 %b.row, ptr %c0, ptr %c1, ptr %c2, ptr %c3, i64 %k) alwaysinline {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i1, %body ]
  %s0 = phi <@WIDTH@ x @REAL@> [ zeroinitializer, %entry ], [ %t0, %body ]
  %s1 = phi <@WIDTH@ x @REAL@> [ zeroinitializer, %entry ], [ %t1, %body ]
  %s2 = phi <@WIDTH@ x @REAL@> [ zeroinitializer, %entry ], [ %t2, %body ]
  %s3 = phi <@WIDTH@ x @REAL@> [ zeroinitializer, %entry ], [ %t3, %body ]
  %more = icmp slt i64 %i, %k
  br i1 %more, label %body, label %out
body:
  %b.far = mul i64 %i, %b.row
  %b.p = getelementptr @REAL@, ptr %b, i64 %b.far
  %row = load <@WIDTH@ x @REAL@>, ptr %b.p, align @BYTES@
  %a.far = mul i64 %i, %a.column
  %p0 = getelementptr @REAL@, ptr %a0, i64 %a.far
  %p1 = getelementptr @REAL@, ptr %a1, i64 %a.far
  %p2 = getelementptr @REAL@, ptr %a2, i64 %a.far
  %p3 = getelementptr @REAL@, ptr %a3, i64 %a.far
  %x0 = load @REAL@, ptr %p0, align @BYTES@
  %x1 = load @REAL@, ptr %p1, align @BYTES@
  %x2 = load @REAL@, ptr %p2, align @BYTES@
  %x3 = load @REAL@, ptr %p3, align @BYTES@
  %v0 = insertelement <@WIDTH@ x @REAL@> poison, @REAL@ %x0, i64 0
  %v1 = insertelement <@WIDTH@ x @REAL@> poison, @REAL@ %x1, i64 0
  %v2 = insertelement <@WIDTH@ x @REAL@> poison, @REAL@ %x2, i64 0
  %v3 = insertelement <@WIDTH@ x @REAL@> poison, @REAL@ %x3, i64 0
  %w0 = shufflevector <@WIDTH@ x @REAL@> %v0, <@WIDTH@ x @REAL@> poison, <@WIDTH@ x i32> zeroinitializer
  %w1 = shufflevector <@WIDTH@ x @REAL@> %v1, <@WIDTH@ x @REAL@> poison, <@WIDTH@ x i32> zeroinitializer
  %w2 = shufflevector <@WIDTH@ x @REAL@> %v2, <@WIDTH@ x @REAL@> poison, <@WIDTH@ x i32> zeroinitializer
  %w3 = shufflevector <@WIDTH@ x @REAL@> %v3, <@WIDTH@ x @REAL@> poison, <@WIDTH@ x i32> zeroinitializer
  %m0 = fmul contract <@WIDTH@ x @REAL@> %w0, %row
  %m1 = fmul contract <@WIDTH@ x @REAL@> %w1, %row
  %m2 = fmul contract <@WIDTH@ x @REAL@> %w2, %row
  %m3 = fmul contract <@WIDTH@ x @REAL@> %w3, %row
  %t0 = fadd contract <@WIDTH@ x @REAL@> %m0, %s0
  %t1 = fadd contract <@WIDTH@ x @REAL@> %m1, %s1
  %t2 = fadd contract <@WIDTH@ x @REAL@> %m2, %s2
  %t3 = fadd contract <@WIDTH@ x @REAL@> %m3, %s3
  %i1 = add i64 %i, 1
  br label %head, !llvm.loop !0
out:
  store <@WIDTH@ x @REAL@> %s0, ptr %c0, align @BYTES@
  store <@WIDTH@ x @REAL@> %s1, ptr %c1, align @BYTES@
  store <@WIDTH@ x @REAL@> %s2, ptr %c2, align @BYTES@
  store <@WIDTH@ x @REAL@> %s3, ptr %c3, align @BYTES@
  ret void
}

; all blocks of a product; it has rows, and at least @WIDTH@ columns
define internal void @"blocks.@REAL@.@WIDTH@"(i64 %m, i64 %n, i64 %k, ptr %a, i64 %a.row, i64 %a.column, ptr %b, i64 %b.row, ptr %c, i64 %c.row) {
entry:
  %last.row = sub i64 %m, 1
  %last.column = sub i64 %n, @WIDTH@
  br label %rows
rows:
  %r0 = phi i64 [ 0, %entry ], [ %r4, %below ]
  %r1.far = add i64 %r0, 1
  %r2.far = add i64 %r0, 2
  %r3.far = add i64 %r0, 3
  %r4 = add i64 %r0, 4
  %r1 = call i64 @llvm.smin.i64(i64 %r1.far, i64 %last.row)
  %r2 = call i64 @llvm.smin.i64(i64 %r2.far, i64 %last.row)
  %r3 = call i64 @llvm.smin.i64(i64 %r3.far, i64 %last.row)
  %a0.o = mul i64 %r0, %a.row
  %a1.o = mul i64 %r1, %a.row
  %a2.o = mul i64 %r2, %a.row
  %a3.o = mul i64 %r3, %a.row
  %a0 = getelementptr @REAL@, ptr %a, i64 %a0.o
  %a1 = getelementptr @REAL@, ptr %a, i64 %a1.o
  %a2 = getelementptr @REAL@, ptr %a, i64 %a2.o
  %a3 = getelementptr @REAL@, ptr %a, i64 %a3.o
  %c0.o = mul i64 %r0, %c.row
  %c1.o = mul i64 %r1, %c.row
  %c2.o = mul i64 %r2, %c.row
  %c3.o = mul i64 %r3, %c.row
  br label %columns
columns:
  %j.far = phi i64 [ 0, %rows ], [ %j.next, %columns ]
  %j = call i64 @llvm.smin.i64(i64 %j.far, i64 %last.column)
  %b.p = getelementptr @REAL@, ptr %b, i64 %j
  %c.p = getelementptr @REAL@, ptr %c, i64 %j
  %c0 = getelementptr @REAL@, ptr %c.p, i64 %c0.o
  %c1 = getelementptr @REAL@, ptr %c.p, i64 %c1.o
  %c2 = getelementptr @REAL@, ptr %c.p, i64 %c2.o
  %c3 = getelementptr @REAL@, ptr %c.p, i64 %c3.o
  call void @"block.@REAL@.@WIDTH@"(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i64 %a.column, ptr %b.p, i64 %b.row, ptr %c0, ptr %c1, ptr %c2, ptr %c3, i64 %k)
  %j.next = add i64 %j.far, @WIDTH@
  %wide = icmp slt i64 %j.next, %n
  br i1 %wide, label %columns, label %below, !llvm.loop !0
below:
  %high = icmp slt i64 %r4, %m
  br i1 %high, label %rows, label %out, !llvm.loop !0
out:
  ret void
}
