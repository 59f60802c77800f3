; A call of a segment (segments.py): a frame of words, and the instructions that are run over it (steps.ll).
;
; The frame begins with what the caller gave, behind it come the words of a template: constants, and places for what is
; computed and for the arguments of kernels. At its end is memory that only the kernels use.

; words of the frame, words given, words of the template, instructions; template, table; which launch failed, and what
; it said; whether each call takes as long as the one before
%Program = type { i64, i64, i64, i64, ptr, ptr, i64, [4 x i64], i64 }

declare ptr @aligned_alloc(i64, i64)
@opweave_product_at = external global ptr                ; there where a program has a product

define internal i32 @opweave_product(ptr %about) {
entry:
  %product = load ptr, ptr @opweave_product_at
  %result = call i32 %product(ptr %about)
  ret i32 %result
}
declare void @free(ptr)

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
  %ended = call i64 @steps(ptr %table, i64 0, i64 %all, ptr %frame, i64 %begin)
  %result = trunc i64 %ended to i32
  %wrong = icmp eq i32 %result, 4
  br i1 %wrong, label %tell, label %end.steps
tell:                                                    ; which launch, and what its cell says
  %where = lshr i64 %ended, 32
  %at = getelementptr %Instruction, ptr %table, i64 %where
  %cell.p = getelementptr %Instruction, ptr %at, i64 0, i32 1
  %number.p = getelementptr %Instruction, ptr %at, i64 0, i32 3
  %cell.i = load i32, ptr %cell.p
  %number.i = load i32, ptr %number.p
  %cell.w = zext i32 %cell.i to i64
  %number = zext i32 %number.i to i64
  %cell = getelementptr i64, ptr %frame, i64 %cell.w
  %which.p = getelementptr %Program, ptr %program, i64 0, i32 6
  %words.p = getelementptr %Program, ptr %program, i64 0, i32 7
  store i64 %number, ptr %which.p
  call void @llvm.memcpy.p0.p0.i64(ptr %words.p, ptr %cell, i64 32, i1 false)
  br label %end.steps
end.steps:
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

