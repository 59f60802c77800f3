; A compiled kernel, and a launch of it inside native code.

%Parameter = type { i64, i64, i64 }                                ; kind, lowest, highest
; code, fallback, arguments, cost; launches, programs and nanoseconds while profiled; what runs it, whether a grid is
; given; parameters
%Kernel = type { ptr, ptr, i64, double, [3 x i64], ptr, i64, [0 x %Parameter] }

declare i32 @opweave_run(ptr, ptr, i64, i32, i32, i32, ptr)
@opweave_profiling = external global i32

; count a launch that began at a time
define internal void @count(ptr %kernel, i64 %programs, i64 %begin) {
  %end = call i64 @now()
  %spent = sub i64 %end, %begin
  %launches.p = getelementptr %Kernel, ptr %kernel, i64 0, i32 4, i64 0
  %programs.p = getelementptr %Kernel, ptr %kernel, i64 0, i32 4, i64 1
  %spent.p = getelementptr %Kernel, ptr %kernel, i64 0, i32 4, i64 2
  %a = atomicrmw add ptr %launches.p, i64 1 monotonic
  %b = atomicrmw add ptr %programs.p, i64 %programs monotonic
  %c = atomicrmw add ptr %spent.p, i64 %spent monotonic
  ret void
}

; run a kernel with packed arguments; not 0 if the handler of a signal raised
define internal i32 @launched(ptr %kernel, ptr %packed, i64 %gx, i64 %gy, i64 %gz) {
entry:
  %gxy = mul i64 %gx, %gy
  %n = mul i64 %gxy, %gz
  %none = icmp eq i64 %n, 0
  br i1 %none, label %nothing, label %run
run:
  %code = load ptr, ptr %kernel
  %cost.p = getelementptr %Kernel, ptr %kernel, i64 0, i32 3
  %gx32 = trunc i64 %gx to i32
  %gy32 = trunc i64 %gy to i32
  %gz32 = trunc i64 %gz to i32
  %profiling = load atomic i32, ptr @opweave_profiling monotonic, align 4
  %profiled = icmp ne i32 %profiling, 0
  br i1 %profiled, label %timed, label %plain
plain:
  %stopped = call i32 @opweave_run(ptr %code, ptr %packed, i64 %n, i32 %gx32, i32 %gy32, i32 %gz32, ptr %cost.p)
  ret i32 %stopped
timed:
  %begin = call i64 @now()
  %halted = call i32 @opweave_run(ptr %code, ptr %packed, i64 %n, i32 %gx32, i32 %gy32, i32 %gz32, ptr %cost.p)
  call void @count(ptr %kernel, i64 %n, i64 %begin)
  ret i32 %halted
nothing:
  ret i32 0
}
