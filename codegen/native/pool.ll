; The thread pool that runs the programs of kernels (pool.py says how).
;
; Sizes of the opaque pthread types are upper bounds over the platforms. The pairs `store flag; load count` on one side
; and `add count; load flag` on the other decide who sees whom, so those accesses are sequentially consistent.

declare i32 @PyGILState_Ensure()
declare i32 @PyErr_CheckSignals()
declare void @PyGILState_Release(i32)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i64 @pthread_self()
declare i32 @getpid()
declare i32 @sched_yield()
declare i32 @sigfillset(ptr)
declare i32 @sigdelset(ptr, i32)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.fptosi.sat.i64.f64(double)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.ctpop.i64(i64)
declare i32 @sched_getcpu()
declare i32 @pthread_getaffinity_np(i64, i64, ptr)
declare i32 @pthread_setaffinity_np(i64, i64, ptr)

@threads = internal global i64 1, align 64     ; wanted, the caller included
@owner   = internal global i64 0, align 64     ; process id of whoever runs a job, 0: nobody
@runner  = internal global i64 0               ; that thread
@main    = internal global i64 0               ; the interpreter's main thread, which handles signals
@home    = internal global i64 0               ; process id that the helpers live in
@helpers = internal global i64 0               ; threads started there
@numbered = internal global i64 1              ; the next of them has this number; the caller of a job has 0

; the job, written while @open is 0 and @active is 0
@code  = internal global ptr null, align 64
@args  = internal global ptr null
@chunk = internal global i64 0
@gx    = internal global i32 0
@gy    = internal global i32 0
@gz    = internal global i32 0
@limit = internal global i64 0                 ; helpers that may join
@opened = internal global i64 0                ; when it was opened, until helpers have come or were moved; 0: then
@shares = internal global i64 1                ; the programs are in so many parts, one for each thread

; of each part the first program that nobody has taken, and where it ends
@parts  = internal global [@PARTS@ x [16 x i64]] zeroinitializer, align 128
@joined = internal global i64 0, align 128
@active = internal global i64 0, align 128     ; helpers that may be looking at the job
@open   = internal global i64 0, align 128     ; 1 while the job takes helpers
@epoch  = internal global i64 0                ; number of jobs so far

; of each helper its thread, and the last job that it came to
@known = internal global [@ALL@ x { i64, i64 }] zeroinitializer, align 64
@here = internal global [1024 x i64] zeroinitializer, align 64   ; the last job that a thread began to work on there

@mutex    = internal global [128 x i8] zeroinitializer, align 128
@wakeup   = internal global [128 x i8] zeroinitializer, align 128
@sleepers = internal global i64 0, align 64

define void @opweave_set_threads(i64 %count) {
  store atomic i64 %count, ptr @threads seq_cst, align 8
  ret void
}

; nanoseconds a program, of `count` programs since `start`
define internal double @rate(i64 %start, i64 %count) alwaysinline {
  %stop = call i64 @now()
  %spent = sub i64 %stop, %start
  %ns = sitofp i64 %spent to double
  %n = sitofp i64 %count to double
  %each = fdiv double %ns, %n
  %zero = fcmp ole double %each, 0.0
  %r = select i1 %zero, double 1.0e-3, double %each     ; 0 means unknown
  ret double %r
}

; whether the handler of a signal raised: asks in the main thread, CHECK_NS after `since`, which it sets
define internal i1 @stopped(ptr %since) noinline {
entry:
  %time = call i64 @now()
  %last = load i64, ptr %since
  %spent = sub i64 %time, %last
  %due = icmp sgt i64 %spent, @CHECK_NS@
  br i1 %due, label %where, label %no
where:
  %self = call i64 @pthread_self()
  %main = load atomic i64, ptr @main monotonic, align 8
  %handles = icmp eq i64 %self, %main
  br i1 %handles, label %ask, label %later
ask:
  %lock = call i32 @PyGILState_Ensure()
  %result = call i32 @PyErr_CheckSignals()
  call void @PyGILState_Release(i32 %lock)
  %error = icmp ne i32 %result, 0
  br label %later
later:
  %raised = phi i1 [ false, %where ], [ %error, %ask ]
  %after = call i64 @now()
  store i64 %after, ptr %since
  ret i1 %raised
no:
  ret i1 false
}

; the same for a caller that runs one job after the other
define i32 @opweave_poll(ptr %since) {
  %raised = call i1 @stopped(ptr %since)
  %result = zext i1 %raised to i32
  ret i32 %result
}

; A helper may wait for its turn on this very processor, where the system woke it: those that have not come a while after
; the job was opened are moved to another, once a job.
define internal void @hurry() {
entry:
  %since = load i64, ptr @opened
  %told = icmp ne i64 %since, 0
  br i1 %told, label %look, label %out
look:
  %came = load atomic i64, ptr @joined monotonic, align 8
  %limit = load i64, ptr @limit
  %all = icmp sge i64 %came, %limit
  br i1 %all, label %forget, label %wait
wait:
  %time = call i64 @now()
  %waited = sub i64 %time, %since
  %late = icmp sgt i64 %waited, @LATE_NS@
  br i1 %late, label %search, label %out
search:
  %job = load i64, ptr @epoch
  %numbers = load atomic i64, ptr @numbered monotonic, align 8
  %most = call i64 @llvm.smin.i64(i64 %numbers, i64 @PARTS@)
  br label %each
each:
  %k = phi i64 [ 1, %search ], [ %k1, %next ]
  %moved = phi i64 [ 0, %search ], [ %moved.1, %next ]
  %few = icmp slt i64 %moved, 4
  %more = icmp slt i64 %k, %most
  %on = and i1 %few, %more
  br i1 %on, label %ask, label %forget
ask:
  %thread.p = getelementptr { i64, i64 }, ptr @known, i64 %k
  %thread = load atomic i64, ptr %thread.p monotonic, align 8
  %last.p = getelementptr { i64, i64 }, ptr %thread.p, i64 0, i32 1
  %last = load atomic i64, ptr %last.p monotonic, align 8
  %is = icmp ne i64 %thread, 0
  %away = icmp ne i64 %last, %job
  %absent = and i1 %is, %away
  br i1 %absent, label %move, label %next
move:
  call void @move(i64 %thread)
  br label %next
next:
  %one = phi i64 [ 0, %ask ], [ 1, %move ]
  %moved.1 = add i64 %moved, %one
  %k1 = add i64 %k, 1
  br label %each
forget:
  store i64 0, ptr @opened
  br label %out
out:
  ret void
}

; have a thread on another processor than this one, if it may run on enough of them
define internal void @move(i64 %thread) noinline {
entry:
  %all = alloca [16 x i64], align 16
  %others = alloca [16 x i64], align 16
  %cpu.i = call i32 @sched_getcpu()
  %known = icmp ult i32 %cpu.i, 1024
  br i1 %known, label %ask, label %out
ask:
  %cpu = zext i32 %cpu.i to i64
  call void @llvm.memset.p0.i64(ptr %all, i8 0, i64 128, i1 false)
  %failed = call i32 @pthread_getaffinity_np(i64 %thread, i64 128, ptr %all)
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %count, label %out
count:
  %i = phi i64 [ 0, %ask ], [ %i.1, %count ]
  %sum = phi i64 [ 0, %ask ], [ %sum.1, %count ]
  %word.p = getelementptr i64, ptr %all, i64 %i
  %word = load i64, ptr %word.p
  %other.p = getelementptr i64, ptr %others, i64 %i
  store i64 %word, ptr %other.p
  %bits = call i64 @llvm.ctpop.i64(i64 %word)
  %sum.1 = add i64 %sum, %bits
  %i.1 = add i64 %i, 1
  %more = icmp ult i64 %i.1, 16
  br i1 %more, label %count, label %judge
judge:
  %threads = load atomic i64, ptr @threads monotonic, align 8
  %room = icmp uge i64 %sum.1, %threads
  br i1 %room, label %go, label %out
go:
  %w = lshr i64 %cpu, 6
  %b = and i64 %cpu, 63
  %bit = shl i64 1, %b
  %mask = xor i64 %bit, -1
  %own.p = getelementptr i64, ptr %others, i64 %w
  %own = load i64, ptr %own.p
  %rest = and i64 %own, %mask
  store i64 %rest, ptr %own.p
  %away = call i32 @pthread_setaffinity_np(i64 %thread, i64 128, ptr %others)
  %anywhere = call i32 @pthread_setaffinity_np(i64 %thread, i64 128, ptr %all)
  br label %out
out:
  ret void
}

; take chunks until none is left, first of one's own part, which is the same from job to job, so that what one made lies
; in the caches of who reads it; true if the job was stopped, which only its owner, who has a `since`, can do
define internal i1 @work(ptr %since, i64 %own) {
entry:
  %code = load ptr, ptr @code
  %args = load ptr, ptr @args
  %chunk = load i64, ptr @chunk
  %gx = load i32, ptr @gx
  %gy = load i32, ptr @gy
  %gz = load i32, ptr @gz
  %shares = load i64, ptr @shares
  %helps = icmp eq ptr %since, null
  br label %part
part:
  %k = phi i64 [ 0, %entry ], [ %k1, %empty ]
  %turn = add i64 %own, %k
  %number = urem i64 %turn, %shares
  %next.p = getelementptr [16 x i64], ptr @parts, i64 %number
  %end.p = getelementptr [16 x i64], ptr @parts, i64 %number, i64 1
  %end = load i64, ptr %end.p
  br label %take
take:
  %from = atomicrmw add ptr %next.p, i64 %chunk monotonic
  %some = icmp slt i64 %from, %end
  br i1 %some, label %run, label %empty
empty:
  %k1 = add i64 %k, 1
  %others = icmp slt i64 %k1, %shares
  br i1 %others, label %part, label %done
run:
  %beyond = add i64 %from, %chunk
  %to = call i64 @llvm.smin.i64(i64 %beyond, i64 %end)
  call void %code(ptr %args, i64 %from, i64 %to, i32 %gx, i32 %gy, i32 %gz)
  br i1 %helps, label %take, label %check
check:
  call void @hurry()
  %stop = call i1 @stopped(ptr %since)
  br i1 %stop, label %halt, label %take
halt:
  %h = phi i64 [ 0, %check ], [ %h1, %halt ]
  %halt.next = getelementptr [16 x i64], ptr @parts, i64 %h
  %halt.end.p = getelementptr [16 x i64], ptr @parts, i64 %h, i64 1
  %halt.end = load i64, ptr %halt.end.p
  store atomic i64 %halt.end, ptr %halt.next monotonic, align 8
  %h1 = add i64 %h, 1
  %halting = icmp slt i64 %h1, %shares
  br i1 %halting, label %halt, label %halted
halted:
  ret i1 true
done:
  ret i1 false
}

; run programs from..end-1 in pieces, first of `size`, then larger; returns the next one where a piece took long
define internal i64 @stretch(ptr %code, ptr %args, i64 %from, i64 %end, i32 %gx, i32 %gy, i32 %gz, i64 %size) {
entry:
  %begin = call i64 @ticks()
  br label %take
take:
  %at = phi i64 [ %from, %entry ], [ %to, %on ]
  %piece = phi i64 [ %size, %entry ], [ %twice, %on ]
  %since = phi i64 [ %begin, %entry ], [ %time, %on ]
  %beyond = add i64 %at, %piece
  %to = call i64 @llvm.smin.i64(i64 %beyond, i64 %end)
  call void %code(ptr %args, i64 %at, i64 %to, i32 %gx, i32 %gy, i32 %gz)
  %finished = icmp eq i64 %to, %end
  br i1 %finished, label %out, label %judge
judge:
  %time = call i64 @ticks()
  %took = sub i64 %time, %since
  %long = icmp sgt i64 %took, @PIECE_TICKS@
  br i1 %long, label %out, label %on
on:
  %twice = mul i64 %piece, 2
  br label %take
out:
  ret i64 %to
}

; Note that a thread of a job is on this processor; one that finds another there goes to where there may be none.
define internal void @spread_out(i64 %job) {
entry:
  %cpu.i = call i32 @sched_getcpu()
  %known = icmp ult i32 %cpu.i, 1024
  br i1 %known, label %note, label %out
note:
  %cpu = zext i32 %cpu.i to i64
  %mark = getelementptr [1024 x i64], ptr @here, i64 0, i64 %cpu
  %before = atomicrmw xchg ptr %mark, i64 %job monotonic
  %shared = icmp eq i64 %before, %job
  br i1 %shared, label %leave, label %out
leave:
  %self = call i64 @pthread_self()
  call void @move(i64 %self)
  br label %out
out:
  ret void
}

define internal ptr @helper(ptr %start) {
entry:
  %first = ptrtoint ptr %start to i64
  %own = atomicrmw add ptr @numbered, i64 1 monotonic
  %place = call i64 @llvm.smin.i64(i64 %own, i64 @PARTS@)   ; the last one is of those that are too many to be known
  %known.p = getelementptr { i64, i64 }, ptr @known, i64 %place
  %came.p = getelementptr { i64, i64 }, ptr %known.p, i64 0, i32 1
  %self = call i64 @pthread_self()
  store atomic i64 %self, ptr %known.p monotonic, align 8
  br label %idle
idle:
  %seen = phi i64 [ %first, %entry ], [ %new, %left ]
  br label %poll
poll:
  %polls = phi i64 [ 0, %idle ], [ %more, %again ]
  %e = load atomic i64, ptr @epoch seq_cst, align 8
  %same = icmp eq i64 %e, %seen
  br i1 %same, label %again, label %join
again:
  call void @pause()
  %more = add i64 %polls, 1
  %tired = icmp eq i64 %more, @SPINS@
  br i1 %tired, label %doze, label %poll
doze:
  %l = call i32 @pthread_mutex_lock(ptr @mutex)
  %was = atomicrmw add ptr @sleepers, i64 1 seq_cst
  br label %check
check:
  %ec = load atomic i64, ptr @epoch seq_cst, align 8
  %still = icmp eq i64 %ec, %seen
  br i1 %still, label %sleep, label %wake
sleep:
  %w = call i32 @pthread_cond_wait(ptr @wakeup, ptr @mutex)
  br label %check
wake:
  %now = atomicrmw sub ptr @sleepers, i64 1 seq_cst
  %u = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %join
join:
  %new = phi i64 [ %e, %poll ], [ %ec, %wake ]
  %a = atomicrmw add ptr @active, i64 1 seq_cst
  %o = load atomic i64, ptr @open seq_cst, align 8
  %closed = icmp eq i64 %o, 0
  br i1 %closed, label %left, label %ticket
ticket:
  %t = atomicrmw add ptr @joined, i64 1 monotonic
  %limit = load i64, ptr @limit
  %wanted = icmp slt i64 %t, %limit
  br i1 %wanted, label %help, label %left
help:
  store atomic i64 %new, ptr %came.p monotonic, align 8
  call void @spread_out(i64 %new)
  %stopped = call i1 @work(ptr null, i64 %own)
  br label %left
left:
  %d = atomicrmw sub ptr @active, i64 1 seq_cst
  br label %idle
}

; have `wanted` helpers in process `pid`, or as many as the system grants
define internal void @staff(i64 %pid, i64 %wanted) {
entry:
  %set = alloca [128 x i8], align 16
  %old = alloca [128 x i8], align 16
  %attr = alloca [128 x i8], align 16
  %id = alloca ptr
  %home = load i64, ptr @home
  %here = icmp eq i64 %home, %pid
  br i1 %here, label %count, label %settle
settle:                                        ; first use, or a child that inherited a pool without its threads
  %m = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %c = call i32 @pthread_cond_init(ptr @wakeup, ptr null)
  store atomic i64 0, ptr @sleepers seq_cst, align 8
  store atomic i64 0, ptr @active seq_cst, align 8
  store atomic i64 0, ptr @open seq_cst, align 8
  store atomic i64 0, ptr @helpers monotonic, align 8
  store atomic i64 1, ptr @numbered monotonic, align 8
  call void @llvm.memset.p0.i64(ptr @known, i8 0, i64 @KNOWN_BYTES@, i1 false)
  store i64 %pid, ptr @home
  br label %count
count:
  %have = load i64, ptr @helpers
  %enough = icmp sge i64 %have, %wanted
  br i1 %enough, label %out, label %start
start:                                         ; signals are the interpreter's, except those that report a crash
  %s0 = call i32 @sigfillset(ptr %set)
  %s1 = call i32 @sigdelset(ptr %set, i32 @SIGSEGV@)
  %s2 = call i32 @sigdelset(ptr %set, i32 @SIGFPE@)
  %s3 = call i32 @sigdelset(ptr %set, i32 @SIGILL@)
  %s4 = call i32 @sigdelset(ptr %set, i32 @SIGBUS@)
  %s5 = call i32 @sigdelset(ptr %set, i32 @SIGABRT@)
  %s6 = call i32 @pthread_sigmask(i32 @SIG_SETMASK@, ptr %set, ptr %old)
  %a0 = call i32 @pthread_attr_init(ptr %attr)
  %a1 = call i32 @pthread_attr_setstacksize(ptr %attr, i64 @STACK_BYTES@)
  %e = load i64, ptr @epoch
  %seen = inttoptr i64 %e to ptr
  br label %each
each:
  %k = phi i64 [ %have, %start ], [ %k1, %made ]
  %short = icmp slt i64 %k, %wanted
  br i1 %short, label %make, label %stop
make:
  %failed = call i32 @pthread_create(ptr %id, ptr %attr, ptr @helper, ptr %seen)
  %ok = icmp eq i32 %failed, 0
  br i1 %ok, label %made, label %stop
made:
  %thread = load ptr, ptr %id
  %dt = call i32 @pthread_detach(ptr %thread)
  %k1 = add i64 %k, 1
  br label %each
stop:
  store atomic i64 %k, ptr @helpers monotonic, align 8
  %a2 = call i32 @pthread_attr_destroy(ptr %attr)
  %s7 = call i32 @pthread_sigmask(i32 @SIG_SETMASK@, ptr %old, ptr null)
  br label %out
out:
  ret void
}

; wake up to `wanted` sleeping helpers
define internal void @rouse(i64 %wanted) {
entry:
  %asleep = load atomic i64, ptr @sleepers seq_cst, align 8
  %none = icmp eq i64 %asleep, 0
  br i1 %none, label %out, label %some
some:                                          ; whoever counted itself is in the wait once this lock is ours
  %l = call i32 @pthread_mutex_lock(ptr @mutex)
  %u = call i32 @pthread_mutex_unlock(ptr @mutex)
  %all = icmp sge i64 %wanted, %asleep
  br i1 %all, label %everybody, label %each
everybody:
  %b = call i32 @pthread_cond_broadcast(ptr @wakeup)
  br label %out
each:
  %k = phi i64 [ 0, %some ], [ %k1, %one ]
  %more = icmp slt i64 %k, %wanted
  br i1 %more, label %one, label %out
one:
  %s = call i32 @pthread_cond_signal(ptr @wakeup)
  %k1 = add i64 %k, 1
  br label %each
out:
  ret void
}

; whether the pool is this thread's now
define internal i1 @claim(i64 %pid) {
entry:
  %free = cmpxchg ptr @owner, i64 0, i64 %pid seq_cst seq_cst
  %got = extractvalue { i64, i1 } %free, 1
  br i1 %got, label %yes, label %taken
taken:
  %who = extractvalue { i64, i1 } %free, 0
  %busy = icmp eq i64 %who, %pid
  br i1 %busy, label %no, label %stale
stale:                                         ; the process that had it forked us; its thread is not here
  %heir = cmpxchg ptr @owner, i64 %who, i64 %pid seq_cst seq_cst
  %inherited = extractvalue { i64, i1 } %heir, 1
  ret i1 %inherited
yes:
  ret i1 true
no:
  ret i1 false
}

; Run programs 0..n-1. `cost` is the kernel's measured nanoseconds a program, 0.0 at first; it is updated. The result
; is 1 if the handler of a signal raised an exception, which this thread has then, and programs were left out; else 0.
define i32 @opweave_run(ptr %code, ptr %args, i64 %n, i32 %gx, i32 %gy, i32 %gz, ptr %cost) {
entry:
  %since = alloca i64
  %threads = load atomic i64, ptr @threads monotonic, align 8
  %known = load atomic double, ptr %cost monotonic, align 8
  %one = icmp eq i64 %n, 1
  %measured = fcmp ogt double %known, 0.0
  %tiny = fcmp olt double %known, @TINY_NS@
  %figure = and i1 %measured, %tiny
  %untimed = and i1 %one, %figure
  br i1 %untimed, label %quick, label %timed

quick:                                         ; two looks at the clock would take as long; a counter tells if it is no
  %before = call i64 @ticks()                  ; longer so
  call void %code(ptr %args, i64 0, i64 1, i32 %gx, i32 %gy, i32 %gz)
  %after = call i64 @ticks()
  %counted.ticks = sub i64 %after, %before
  %still = icmp ult i64 %counted.ticks, @TINY_TICKS@
  br i1 %still, label %done, label %forget
forget:                                        ; the next one is timed
  store atomic double 0.0, ptr %cost monotonic, align 8
  br label %done
done:
  ret i32 0

timed:
  %begin = call i64 @now()
  store i64 %begin, ptr %since
  br i1 %one, label %single, label %more

single:
  call void %code(ptr %args, i64 0, i64 1, i32 %gx, i32 %gy, i32 %gz)
  br label %measure

more:                                          ; the figure may be of other sizes: not all at once, unless they are few
  %count = sitofp i64 %n to double
  %expected = fmul double %known, %count
  %unknown = fcmp ole double %known, 0.0
  %fit = fdiv double @PIECE_NS@, %known
  %fit.i = call i64 @llvm.fptosi.sat.i64.f64(double %fit)
  %quarter = sdiv i64 %n, 4
  %cautious = call i64 @llvm.smin.i64(i64 %quarter, i64 %fit.i)
  %some = call i64 @llvm.smax.i64(i64 %cautious, i64 1)
  %piece.0 = select i1 %unknown, i64 1, i64 %some
  %solo = icmp sle i64 %threads, 1
  %small = fcmp olt double %expected, @PROBE_NS@
  %told = xor i1 %unknown, true
  %brief = and i1 %told, %small
  %alone = or i1 %solo, %brief
  br i1 %alone, label %lone, label %several

lone:                                          ; on this thread
  %at.lone = phi i64 [ 0, %more ], [ %first, %remainder ], [ %reached, %delayed ], [ %from, %share ]
  %piece = phi i64 [ %piece.0, %more ], [ %piece.1, %remainder ], [ 1, %delayed ], [ 1, %share ]
  %reached = call i64 @stretch(ptr %code, ptr %args, i64 %at.lone, i64 %n, i32 %gx, i32 %gy, i32 %gz, i64 %piece)
  %complete = icmp eq i64 %reached, %n
  br i1 %complete, label %measure, label %asking
asking:
  %stop = call i1 @stopped(ptr %since)
  br i1 %stop, label %given.up, label %delayed
delayed:                                       ; it takes longer than was thought
  br i1 %solo, label %lone, label %share

several:
  %long = fcmp ogt double %expected, @PARALLEL_NS@
  br i1 %long, label %share, label %ready
ready:                                         ; a helper that looks for work costs less than a probe
  %all.helpers = load atomic i64, ptr @helpers monotonic, align 8
  %all.asleep = load atomic i64, ptr @sleepers monotonic, align 8
  %awake = icmp slt i64 %all.asleep, %all.helpers
  %ample = fcmp ogt double %expected, @READY_NS@
  %told.ample = and i1 %told, %ample
  %soon = and i1 %awake, %told.ample
  br i1 %soon, label %share, label %probe

probe:                                         ; as many as should take PROBE_NS; one, then twice as many, if unknown
  %fit.probe = fdiv double @PROBE_NS@, %known
  %few = select i1 %unknown, double 1.0, double %fit.probe
  %few.i = call i64 @llvm.fptosi.sat.i64.f64(double %few)
  %batch.0 = call i64 @llvm.smax.i64(i64 %few.i, i64 1)
  br label %try
try:
  %at = phi i64 [ 0, %probe ], [ %first, %warm ]
  %batch = phi i64 [ %batch.0, %probe ], [ %twice, %warm ]
  %sum = add i64 %at, %batch
  %first = call i64 @llvm.smin.i64(i64 %sum, i64 %n)
  %size = sub i64 %first, %at
  %started = call i64 @now()
  call void %code(ptr %args, i64 %at, i64 %first, i32 %gx, i32 %gy, i32 %gz)
  %left = sub i64 %n, %first
  %finished = icmp eq i64 %left, 0
  br i1 %finished, label %measure, label %judge
judge:
  %each = call double @rate(i64 %started, i64 %size)
  %left.f = sitofp i64 %left to double
  %rest = fmul double %each, %left.f
  %short = fcmp olt double %rest, @SERIAL_NS@
  br i1 %short, label %remainder, label %convinced
remainder:
  %half = sdiv i64 %left, 2
  %piece.1 = call i64 @llvm.smax.i64(i64 %half, i64 1)
  br label %lone
convinced:                                     ; the very first program pays for cold caches: one is not enough to tell
  %size.f = sitofp i64 %size to double
  %spent.here = fmul double %each, %size.f
  %plenty = fcmp oge double %spent.here, @PROBE_NS@
  br i1 %plenty, label %share, label %warm
warm:
  %twice = mul i64 %batch, 2
  br label %try

share:
  %from = phi i64 [ 0, %several ], [ 0, %ready ], [ %first, %convinced ], [ %reached, %delayed ]
  %pace = phi double [ %known, %several ], [ %known, %ready ], [ %each, %convinced ], [ @PIECE_NS@, %delayed ]
  %pid.i = call i32 @getpid()
  %pid = zext i32 %pid.i to i64
  %mine = call i1 @claim(i64 %pid)
  br i1 %mine, label %parallel, label %lone

parallel:
  %self = call i64 @pthread_self()
  store atomic i64 %self, ptr @runner monotonic, align 8
  %extra = sub i64 %threads, 1
  call void @staff(i64 %pid, i64 %extra)
  %todo = sub i64 %n, %from
  %pieces.wanted = mul i64 %threads, @CHUNKS_PER_THREAD@
  %share.size = sdiv i64 %todo, %pieces.wanted
  %prompt = fdiv double @CHUNK_NS@, %pace
  %prompt.i = call i64 @llvm.fptosi.sat.i64.f64(double %prompt)
  %chunk.size = call i64 @llvm.smin.i64(i64 %share.size, i64 %prompt.i)
  %chunk = call i64 @llvm.smax.i64(i64 %chunk.size, i64 1)
  %up = add i64 %todo, %chunk
  %up1 = sub i64 %up, 1
  %pieces = sdiv i64 %up1, %chunk
  %spare = sub i64 %pieces, 1
  %most.parts = sub i64 @PARTS@, 1
  %few.parts = call i64 @llvm.smin.i64(i64 %spare, i64 %most.parts)
  %limit = call i64 @llvm.smin.i64(i64 %extra, i64 %few.parts)
  %shares = add i64 %limit, 1
  store ptr %code, ptr @code
  store ptr %args, ptr @args
  store i64 %chunk, ptr @chunk
  store i64 %shares, ptr @shares
  store i32 %gx, ptr @gx
  store i32 %gy, ptr @gy
  store i32 %gz, ptr @gz
  store i64 %limit, ptr @limit
  store atomic i64 0, ptr @joined monotonic, align 8
  br label %parted
parted:                                        ; whole chunks to each part
  %p = phi i64 [ 0, %parallel ], [ %p1, %parted ]
  %p.begin = phi i64 [ %from, %parallel ], [ %p.end, %parted ]
  %p1 = add i64 %p, 1
  %p.pieces.all = mul i64 %pieces, %p1
  %p.pieces = sdiv i64 %p.pieces.all, %shares
  %p.programs = mul i64 %p.pieces, %chunk
  %p.beyond = add i64 %from, %p.programs
  %p.end = call i64 @llvm.smin.i64(i64 %p.beyond, i64 %n)
  %p.next.p = getelementptr [16 x i64], ptr @parts, i64 %p
  %p.end.p = getelementptr [16 x i64], ptr @parts, i64 %p, i64 1
  store atomic i64 %p.begin, ptr %p.next.p monotonic, align 8
  store i64 %p.end, ptr %p.end.p
  %p.more = icmp slt i64 %p1, %shares
  br i1 %p.more, label %parted, label %opened
opened:
  %last = load i64, ptr @epoch
  %job = add i64 %last, 1
  call void @spread_out(i64 %job)
  store atomic i64 1, ptr @open seq_cst, align 8
  %number = atomicrmw add ptr @epoch, i64 1 seq_cst
  call void @rouse(i64 %limit)
  %together = call i64 @now()
  store i64 %together, ptr @opened
  %halted = call i1 @work(ptr %since, i64 0)
  call void @close()
  %tickets = load atomic i64, ptr @joined monotonic, align 8
  store atomic i64 0, ptr @owner seq_cst, align 8
  br i1 %halted, label %given.up, label %counted
counted:
  %helped = call i64 @llvm.smin.i64(i64 %tickets, i64 %limit)
  %hands = add i64 %helped, 1
  %hands.f = sitofp i64 %hands to double
  %wall = call double @rate(i64 %together, i64 %todo)
  %spent = fmul double %wall, %hands.f
  store atomic double %spent, ptr %cost monotonic, align 8
  ret i32 0

measure:
  %took = call double @rate(i64 %begin, i64 %n)
  store atomic double %took, ptr %cost monotonic, align 8
  ret i32 0
given.up:
  ret i32 1
}

; `opweave_run` for a caller that holds the interpreter's lock, and that looks for an exception afterwards
define void @opweave_run_released(ptr %code, ptr %args, i64 %n, i32 %gx, i32 %gy, i32 %gz, ptr %cost) {
  %thread = call ptr @PyEval_SaveThread()
  %stopped = call i32 @opweave_run(ptr %code, ptr %args, i64 %n, i32 %gx, i32 %gy, i32 %gz, ptr %cost)
  call void @PyEval_RestoreThread(ptr %thread)
  ret void
}

; let nobody else join the job, and wait for those that did
define internal void @close() {
entry:
  store atomic i64 0, ptr @open seq_cst, align 8
  br label %wait
wait:
  %polls = phi i64 [ 0, %entry ], [ %polls.1, %pause ], [ 0, %yield ]
  %active = load atomic i64, ptr @active seq_cst, align 8
  %quiet = icmp eq i64 %active, 0
  br i1 %quiet, label %out, label %pause
pause:
  call void @pause()
  %polls.1 = add i64 %polls, 1
  %patient = icmp slt i64 %polls.1, 500
  br i1 %patient, label %wait, label %yield
yield:
  %y = call i32 @sched_yield()
  br label %wait
out:
  ret void
}

; whether this thread runs a job: it forks in the handler of a signal
define internal i1 @is_runner() {
  %who = load atomic i64, ptr @owner seq_cst, align 8
  %busy = icmp ne i64 %who, 0
  %runner = load atomic i64, ptr @runner monotonic, align 8
  %self = call i64 @pthread_self()
  %same = icmp eq i64 %runner, %self
  %yes = and i1 %busy, %same
  ret i1 %yes
}

; before a fork: what helpers are on would be lost to the child
define void @opweave_before_fork() {
  %inside = call i1 @is_runner()
  br i1 %inside, label %finish, label %out
finish:
  call void @close()
  br label %out
out:
  ret void
}

; in the child: there are no helpers here, and this is the interpreter's main thread
define void @opweave_after_fork() {
  %inside = call i1 @is_runner()
  %pid.i = call i32 @getpid()
  %pid = zext i32 %pid.i to i64
  %owner = select i1 %inside, i64 %pid, i64 0
  store atomic i64 0, ptr @active seq_cst, align 8
  store atomic i64 0, ptr @open seq_cst, align 8
  store i64 0, ptr @home
  store atomic i64 %owner, ptr @owner seq_cst, align 8
  %self = call i64 @pthread_self()
  store atomic i64 %self, ptr @main monotonic, align 8
  ret void
}

define void @opweave_set_main(i64 %thread) {
  store atomic i64 %thread, ptr @main monotonic, align 8
  ret void
}
