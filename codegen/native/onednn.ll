; Plans of oneDNN (codegen/onednn/plans.py): stages one after the other, the parts of a stage on the pool.
;
; A part is run by one thread, whose OpenMP is asked for no other; so oneDNN starts none.

%Argument = type { i64, ptr, i64, i64 }          ; which, its descriptor, the buffer it is in, where there
%Todo = type { ptr, i64, ptr }                   ; the primitive, how many arguments, those
%Part = type { i64, [0 x %Todo] }
%Stage = type { i64, ptr, double }               ; how many parts, pointers to them, nanoseconds of one
%Plan = type { i64, ptr, i64, i64, ptr, ptr }    ; how many stages, those, bytes for all and for a part, engine, stream
%Given = type { i32, ptr }                       ; dnnl_exec_arg_t
; the plan, the stage's parts, the buffers (the last is a part's), and whether a part failed
%Context = type { ptr, ptr, [6 x ptr], i32 }

declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @dnnl_memory_create(ptr, ptr, ptr, ptr)
declare i32 @dnnl_memory_destroy(ptr)
declare i32 @dnnl_primitive_execute(ptr, ptr, i32, ptr)
declare i32 @omp_get_max_threads()
declare void @omp_set_num_threads(i32)
declare i32 @opweave_run(ptr, ptr, i64, i32, i32, i32, ptr)

; one primitive; not 0 if it fails
define internal i32 @todo(ptr %plan, ptr %buffers, ptr %own, ptr %todo) noinline {
entry:
  %primitive = load ptr, ptr %todo
  %count.p = getelementptr %Todo, ptr %todo, i64 0, i32 1
  %count = load i64, ptr %count.p
  %arguments.p = getelementptr %Todo, ptr %todo, i64 0, i32 2
  %arguments = load ptr, ptr %arguments.p
  %engine.p = getelementptr %Plan, ptr %plan, i64 0, i32 4
  %engine = load ptr, ptr %engine.p
  %stream.p = getelementptr %Plan, ptr %plan, i64 0, i32 5
  %stream = load ptr, ptr %stream.p
  %given = alloca %Given, i64 %count
  br label %each
each:
  %i = phi i64 [ 0, %entry ], [ %i.1, %made ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %make, label %run
make:
  %argument = getelementptr %Argument, ptr %arguments, i64 %i
  %which = load i64, ptr %argument
  %about.p = getelementptr %Argument, ptr %argument, i64 0, i32 1
  %about = load ptr, ptr %about.p
  %buffer.p = getelementptr %Argument, ptr %argument, i64 0, i32 2
  %buffer = load i64, ptr %buffer.p
  %offset.p = getelementptr %Argument, ptr %argument, i64 0, i32 3
  %offset = load i64, ptr %offset.p
  %base.p = getelementptr [6 x ptr], ptr %buffers, i64 0, i64 %buffer
  %shared = load ptr, ptr %base.p
  %is.own = icmp eq i64 %buffer, 5
  %base = select i1 %is.own, ptr %own, ptr %shared
  %data = getelementptr i8, ptr %base, i64 %offset
  %to = getelementptr %Given, ptr %given, i64 %i
  %which.32 = trunc i64 %which to i32
  store i32 %which.32, ptr %to
  %memory.p = getelementptr %Given, ptr %to, i64 0, i32 1
  %status = call i32 @dnnl_memory_create(ptr %memory.p, ptr %about, ptr %engine, ptr %data)
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %made, label %drop
made:
  %i.1 = add i64 %i, 1
  br label %each
run:
  %count.32 = trunc i64 %count to i32
  %result = call i32 @dnnl_primitive_execute(ptr %primitive, ptr %stream, i32 %count.32, ptr %given)
  br label %drop
drop:
  %found = phi i32 [ %result, %run ], [ %status, %make ]
  br label %next
next:
  %left = phi i64 [ %i, %drop ], [ %left.1, %gone ]
  %some = icmp ugt i64 %left, 0
  br i1 %some, label %gone, label %out
gone:
  %left.1 = sub i64 %left, 1
  %old.p = getelementptr %Given, ptr %given, i64 %left.1, i32 1
  %old = load ptr, ptr %old.p
  %d = call i32 @dnnl_memory_destroy(ptr %old)
  br label %next
out:
  ret i32 %found
}

; the programs of a stage
define internal void @parts(ptr %context, i64 %from, i64 %end, i32 %gx, i32 %gy, i32 %gz) noinline {
entry:
  %plan = load ptr, ptr %context
  %parts.p = getelementptr %Context, ptr %context, i64 0, i32 1
  %parts = load ptr, ptr %parts.p
  %buffers = getelementptr %Context, ptr %context, i64 0, i32 2
  %failed = getelementptr %Context, ptr %context, i64 0, i32 3
  %own.p = getelementptr %Plan, ptr %plan, i64 0, i32 3
  %nbytes = load i64, ptr %own.p
  %needs = icmp ne i64 %nbytes, 0
  br i1 %needs, label %room, label %begin
room:
  %fresh = call ptr @aligned_alloc(i64 64, i64 %nbytes)
  %none = icmp eq ptr %fresh, null
  br i1 %none, label %lacking, label %begin
lacking:
  store atomic i32 1, ptr %failed monotonic, align 4
  ret void
begin:
  %own = phi ptr [ null, %entry ], [ %fresh, %room ]
  %threads = call i32 @omp_get_max_threads()
  call void @omp_set_num_threads(i32 1)
  br label %each
each:
  %i = phi i64 [ %from, %begin ], [ %i.1, %done ]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %part, label %out
part:
  %part.p = getelementptr ptr, ptr %parts, i64 %i
  %here = load ptr, ptr %part.p
  %count = load i64, ptr %here
  br label %step
step:
  %s = phi i64 [ 0, %part ], [ %s.1, %on ]
  %unfinished = icmp ult i64 %s, %count
  br i1 %unfinished, label %do, label %done
do:
  %todo = getelementptr %Part, ptr %here, i64 0, i32 1, i64 %s
  %status = call i32 @todo(ptr %plan, ptr %buffers, ptr %own, ptr %todo)
  %s.1 = add i64 %s, 1
  %bad = icmp ne i32 %status, 0
  br i1 %bad, label %fail, label %on
fail:
  store atomic i32 1, ptr %failed monotonic, align 4
  br label %on
on:
  br label %step
done:
  %i.1 = add i64 %i, 1
  br label %each
out:
  call void @omp_set_num_threads(i32 %threads)
  call void @free(ptr %own)
  ret void
}

; words: the plan, the two operands, the result, the bias; 0 done, 1 the handler of a signal raised, 3 no memory
define i32 @opweave_onednn(ptr %words) {
entry:
  %context = alloca %Context
  %plan = load ptr, ptr %words
  store ptr %plan, ptr %context
  %operands = getelementptr ptr, ptr %words, i64 1
  %buffers = getelementptr %Context, ptr %context, i64 0, i32 2
  call void @llvm.memcpy.p0.p0.i64(ptr %buffers, ptr %operands, i64 32, i1 false)
  %failed = getelementptr %Context, ptr %context, i64 0, i32 3
  store i32 0, ptr %failed
  %count = load i64, ptr %plan
  %stages.p = getelementptr %Plan, ptr %plan, i64 0, i32 1
  %stages = load ptr, ptr %stages.p
  %shared.p = getelementptr %Plan, ptr %plan, i64 0, i32 2
  %nbytes = load i64, ptr %shared.p
  %needs = icmp ne i64 %nbytes, 0
  br i1 %needs, label %room, label %begin
room:
  %fresh = call ptr @aligned_alloc(i64 64, i64 %nbytes)
  %none = icmp eq ptr %fresh, null
  br i1 %none, label %lacking, label %begin
lacking:
  ret i32 3
begin:
  %shared = phi ptr [ null, %entry ], [ %fresh, %room ]
  %shared.to = getelementptr [6 x ptr], ptr %buffers, i64 0, i64 4
  store ptr %shared, ptr %shared.to
  br label %each
each:
  %i = phi i64 [ 0, %begin ], [ %i.1, %on ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %stage, label %out
stage:
  %here = getelementptr %Stage, ptr %stages, i64 %i
  %parts = load i64, ptr %here
  %list.p = getelementptr %Stage, ptr %here, i64 0, i32 1
  %list = load ptr, ptr %list.p
  %context.parts = getelementptr %Context, ptr %context, i64 0, i32 1
  store ptr %list, ptr %context.parts
  %cost = getelementptr %Stage, ptr %here, i64 0, i32 2
  %stopped = call i32 @opweave_run(ptr @parts, ptr %context, i64 %parts, i32 1, i32 1, i32 1, ptr %cost)
  %fine = icmp eq i32 %stopped, 0
  br i1 %fine, label %look, label %out
look:
  %bad = load atomic i32, ptr %failed monotonic, align 4
  %whole = icmp eq i32 %bad, 0
  br i1 %whole, label %on, label %out
on:
  %i.1 = add i64 %i, 1
  br label %each
out:
  %result = phi i32 [ 0, %each ], [ 1, %stage ], [ 3, %look ]
  call void @free(ptr %shared)
  ret i32 %result
}

; as a launch from Python runs it
define i32 @opweave_onednn_run(ptr %code, ptr %words, i64 %n, i32 %gx, i32 %gy, i32 %gz, ptr %cost) {
  %result = call i32 @opweave_onednn(ptr %words)
  ret i32 %result
}
