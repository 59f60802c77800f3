; A step of a segment that calls a function of the runtime for libraries (foreign.py), which takes and makes tensor objects.
;
; The function may keep what it is given beyond the call, as it may keep tensors that Python gives it. An object of which
; that can be told gets memory of its own then, or holds the tensor in whose memory it lies.

%Tensor = type { ptr, i64, i32, i32, ptr, ptr, i64 }      ; DLPack's: data, device, ndim, dtype, shape, strides, offset
%Memory = type { %Tensor, i64, ptr }                     ; bytes; the Python tensor that it belongs to, or null
%Any = type { i32, i32, i64 }                            ; TVMFFIAny: type, padding, value
%Step = type { ptr, i64, ptr, [0 x %Any] }               ; the function, how many arguments, what Python does; those
%Made = type { i64, [0 x %Memory] }                      ; how many results, -1 where it does not matter; those
; a tensor that is lent: version, context, deleter, flags, the tensor; what else goes with it: a Python object, memory
%Lent = type { i32, i32, ptr, ptr, i64, %Tensor, ptr, ptr }
%Object = type { i64, i32, i32, ptr, %Tensor }           ; TVMFFIObject of a tensor: references, type, padding, deleter

declare i32 @TVMFFIFunctionCall(ptr, ptr, i32, ptr)
declare i32 @TVMFFITensorFromDLPackVersioned(ptr, i32, i32, ptr)
declare i32 @TVMFFIObjectDecRef(ptr)
declare ptr @malloc(i64)
declare void @free(ptr)
declare ptr @aligned_alloc(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyLong_FromVoidPtr(ptr)
declare ptr @PyErr_NoMemory()
declare void @PyErr_Clear()
declare ptr @PyDict_GetItem(ptr, ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
@opweave_zero = external global i8
@opweave_epoch = external global i64
declare i32 @opweave_execute(ptr, ptr, i64, i32, i32, i32, ptr)
@name.include = external global i8

; what a tensor that was lent had goes
define internal void @give_back(ptr %lent) {
entry:
  %owner.p = getelementptr %Lent, ptr %lent, i64 0, i32 6
  %owner = load ptr, ptr %owner.p
  %copy.p = getelementptr %Lent, ptr %lent, i64 0, i32 7
  %copy = load ptr, ptr %copy.p
  %free = icmp eq ptr %owner, null
  br i1 %free, label %rest, label %held
held:
  %gil = call i32 @PyGILState_Ensure()
  call void @Py_DecRef(ptr %owner)
  call void @PyGILState_Release(i32 %gil)
  br label %rest
rest:
  call void @free(ptr %copy)
  call void @free(ptr %lent)
  ret void
}

; a tensor object on memory; what was lent is put at `%to`; null where there is no memory
define internal ptr @lent(ptr %memory, ptr %to) {
entry:
  %out = alloca ptr
  %ndim.p = getelementptr %Tensor, ptr %memory, i64 0, i32 2
  %ndim = load i32, ptr %ndim.p
  %n = zext i32 %ndim to i64
  %dims = mul i64 %n, 8
  %both = mul i64 %dims, 2
  %head = ptrtoint ptr getelementptr (%Lent, ptr null, i64 1) to i64
  %bytes = add i64 %head, %both
  %made = call ptr @malloc(i64 %bytes)
  %none = icmp eq ptr %made, null
  br i1 %none, label %failed, label %fill
fill:
  store ptr %made, ptr %to
  %minor.p = getelementptr %Lent, ptr %made, i64 0, i32 1
  %context.p = getelementptr %Lent, ptr %made, i64 0, i32 2
  %deleter.p = getelementptr %Lent, ptr %made, i64 0, i32 3
  %flags.p = getelementptr %Lent, ptr %made, i64 0, i32 4
  %tensor.p = getelementptr %Lent, ptr %made, i64 0, i32 5
  %owner.p = getelementptr %Lent, ptr %made, i64 0, i32 6
  %copy.p = getelementptr %Lent, ptr %made, i64 0, i32 7
  store i32 @MAJOR@, ptr %made
  store i32 @MINOR@, ptr %minor.p
  store ptr %made, ptr %context.p
  store ptr @give_back, ptr %deleter.p
  store i64 0, ptr %flags.p
  store ptr null, ptr %owner.p
  store ptr null, ptr %copy.p
  call void @llvm.memcpy.p0.p0.i64(ptr %tensor.p, ptr %memory, i64 48, i1 false)
  %sizes = getelementptr %Lent, ptr %made, i64 1
  %strides = getelementptr i8, ptr %sizes, i64 %dims
  %from.sizes.p = getelementptr %Tensor, ptr %memory, i64 0, i32 4
  %from.strides.p = getelementptr %Tensor, ptr %memory, i64 0, i32 5
  %from.sizes = load ptr, ptr %from.sizes.p
  %from.strides = load ptr, ptr %from.strides.p
  call void @llvm.memcpy.p0.p0.i64(ptr %sizes, ptr %from.sizes, i64 %dims, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %strides, ptr %from.strides, i64 %dims, i1 false)
  %sizes.p = getelementptr %Lent, ptr %made, i64 0, i32 5, i32 4
  %strides.p = getelementptr %Lent, ptr %made, i64 0, i32 5, i32 5
  store ptr %sizes, ptr %sizes.p
  store ptr %strides, ptr %strides.p
  %rc = call i32 @TVMFFITensorFromDLPackVersioned(ptr %made, i32 0, i32 0, ptr %out)
  %well = icmp eq i32 %rc, 0
  br i1 %well, label %done, label %undo
undo:
  call void @free(ptr %made)
  br label %failed
done:
  %object = load ptr, ptr %out
  ret ptr %object
failed:
  ret ptr null
}

; let a tensor object go that a function was given; where it was kept, it gets what it needs to live on
define internal void @let_go(ptr %object, ptr %lent, ptr %memory) {
entry:
  %references = load atomic i64, ptr %object acquire, align 8
  %alone = icmp eq i64 %references, 4294967297           ; one of each sort
  br i1 %alone, label %out, label %kept
kept:
  %owner.p = getelementptr %Memory, ptr %memory, i64 0, i32 2
  %owner = load ptr, ptr %owner.p
  %own = icmp eq ptr %owner, null
  br i1 %own, label %copied, label %held
held:
  %gil = call i32 @PyGILState_Ensure()
  call void @Py_IncRef(ptr %owner)
  call void @PyGILState_Release(i32 %gil)
  %holds.p = getelementptr %Lent, ptr %lent, i64 0, i32 6
  store ptr %owner, ptr %holds.p
  br label %out
copied:
  %nbytes.p = getelementptr %Memory, ptr %memory, i64 0, i32 1
  %nbytes = load i64, ptr %nbytes.p
  %up = add i64 %nbytes, 127
  %room = and i64 %up, -64
  %copy = call ptr @aligned_alloc(i64 64, i64 %room)
  %data.p = getelementptr %Object, ptr %object, i64 0, i32 4, i32 0
  %data = load ptr, ptr %data.p
  %nowhere = icmp eq ptr %copy, null
  br i1 %nowhere, label %put, label %fill
fill:
  call void @llvm.memcpy.p0.p0.i64(ptr %copy, ptr %data, i64 %nbytes, i1 false)
  br label %put
put:                                                     ; without memory, null: better to fail than to read another's
  store ptr %copy, ptr %data.p
  %copy.p = getelementptr %Lent, ptr %lent, i64 0, i32 7
  store ptr %copy, ptr %copy.p
  br label %out
out:
  %ignored = call i32 @TVMFFIObjectDecRef(ptr %object)
  ret void
}

define internal void @drop(ptr %any) {
entry:
  %type = load i32, ptr %any
  %is.object = icmp sge i32 %type, 64
  br i1 %is.object, label %object, label %out
object:
  %value.p = getelementptr %Any, ptr %any, i64 0, i32 2
  %value = load ptr, ptr %value.p
  %ignored = call i32 @TVMFFIObjectDecRef(ptr %value)
  br label %out
out:
  ret void
}

; whether a value is a tensor that lies as memory does
define internal i1 @fits(ptr %any, ptr %memory) {
entry:
  %type = load i32, ptr %any
  %is.tensor = icmp eq i32 %type, 70
  br i1 %is.tensor, label %look, label %no
look:
  %value.p = getelementptr %Any, ptr %any, i64 0, i32 2
  %object = load ptr, ptr %value.p
  %tensor = getelementptr %Object, ptr %object, i64 0, i32 4
  %ndim.p = getelementptr %Tensor, ptr %tensor, i64 0, i32 2
  %wanted.p = getelementptr %Tensor, ptr %memory, i64 0, i32 2
  %form = load i64, ptr %ndim.p, align 4                  ; dimensions and the dtype
  %wanted.form = load i64, ptr %wanted.p, align 4
  %same.form = icmp eq i64 %form, %wanted.form
  %device.p = getelementptr %Tensor, ptr %tensor, i64 0, i32 1
  %device = load i32, ptr %device.p
  %on.cpu = icmp eq i32 %device, 1
  %like = and i1 %same.form, %on.cpu
  br i1 %like, label %dims, label %no
dims:
  %ndim = load i32, ptr %ndim.p
  %n = zext i32 %ndim to i64
  %sizes.p = getelementptr %Tensor, ptr %tensor, i64 0, i32 4
  %sizes = load ptr, ptr %sizes.p
  %strides.p = getelementptr %Tensor, ptr %tensor, i64 0, i32 5
  %strides = load ptr, ptr %strides.p
  %own.sizes.p = getelementptr %Tensor, ptr %memory, i64 0, i32 4
  %own.sizes = load ptr, ptr %own.sizes.p
  %own.strides.p = getelementptr %Tensor, ptr %memory, i64 0, i32 5
  %own.strides = load ptr, ptr %own.strides.p
  %unknown = icmp eq ptr %strides, null
  %some = icmp ne i64 %n, 0
  %bad = and i1 %unknown, %some
  br i1 %bad, label %no, label %next
next:
  %i = phi i64 [ 0, %dims ], [ %i1, %on ]
  %done = icmp eq i64 %i, %n
  br i1 %done, label %yes, label %compare
compare:
  %size.p = getelementptr i64, ptr %sizes, i64 %i
  %size = load i64, ptr %size.p
  %own.size.p = getelementptr i64, ptr %own.sizes, i64 %i
  %own.size = load i64, ptr %own.size.p
  %same.size = icmp eq i64 %size, %own.size
  br i1 %same.size, label %step, label %no
step:
  %stride.p = getelementptr i64, ptr %strides, i64 %i
  %stride = load i64, ptr %stride.p
  %own.stride.p = getelementptr i64, ptr %own.strides, i64 %i
  %own.stride = load i64, ptr %own.stride.p
  %same.stride = icmp eq i64 %stride, %own.stride
  %short = icmp sle i64 %size, 1
  %fine = or i1 %same.stride, %short
  br i1 %fine, label %on, label %no
on:
  %i1 = add i64 %i, 1
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; put a tensor's elements where they are wanted
define internal void @put(ptr %any, ptr %memory) {
  %value.p = getelementptr %Any, ptr %any, i64 0, i32 2
  %object = load ptr, ptr %value.p
  %data.p = getelementptr %Object, ptr %object, i64 0, i32 4, i32 0
  %data = load ptr, ptr %data.p
  %offset.p = getelementptr %Object, ptr %object, i64 0, i32 4, i32 6
  %offset = load i64, ptr %offset.p
  %from = getelementptr i8, ptr %data, i64 %offset
  %to = load ptr, ptr %memory
  %nbytes.p = getelementptr %Memory, ptr %memory, i64 0, i32 1
  %nbytes = load i64, ptr %nbytes.p
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %nbytes, i1 false)
  ret void
}

; whether what was returned is what is expected; then it is where it is wanted
define internal i1 @taken(ptr %returned, ptr %made) {
entry:
  %count = load i64, ptr %made
  %first = getelementptr %Made, ptr %made, i64 0, i32 1
  %type = load i32, ptr %returned
  switch i64 %count, label %several [ i64 -1, label %yes
                                      i64 0, label %nothing
                                      i64 1, label %one ]
nothing:
  %is.none = icmp eq i32 %type, 0
  ret i1 %is.none
one:
  %fits = call i1 @fits(ptr %returned, ptr %first)
  br i1 %fits, label %take.one, label %no
take.one:
  call void @put(ptr %returned, ptr %first)
  br label %yes
several:
  %is.array = icmp eq i32 %type, 71
  br i1 %is.array, label %items, label %no
items:                                                   ; behind the head of the object: the items, how many
  %array.p = getelementptr %Any, ptr %returned, i64 0, i32 2
  %array = load ptr, ptr %array.p
  %items.p = getelementptr i8, ptr %array, i64 24
  %items.at = load ptr, ptr %items.p
  %size.p = getelementptr i8, ptr %array, i64 32
  %size = load i64, ptr %size.p
  %as.many = icmp eq i64 %size, %count
  br i1 %as.many, label %look, label %no
look:
  %i = phi i64 [ 0, %items ], [ %i1, %on ]
  %item = getelementptr %Any, ptr %items.at, i64 %i
  %memory = getelementptr %Memory, ptr %first, i64 %i
  %good = call i1 @fits(ptr %item, ptr %memory)
  br i1 %good, label %on, label %no
on:
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %count
  br i1 %more, label %look, label %take
take:
  %k = phi i64 [ 0, %on ], [ %k1, %take ]
  %item.k = getelementptr %Any, ptr %items.at, i64 %k
  %memory.k = getelementptr %Memory, ptr %first, i64 %k
  call void @put(ptr %item.k, ptr %memory.k)
  %k1 = add i64 %k, 1
  %left = icmp slt i64 %k1, %count
  br i1 %left, label %take, label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; have Python raise what a function left, or make of what it returned what is wanted; 0 where that was done
define internal i32 @asked(ptr %step, ptr %returned, ptr %made) {
entry:
  %given = alloca ptr, i64 2
  %python.p = getelementptr %Step, ptr %step, i64 0, i32 2
  %python = load ptr, ptr %python.p
  %gil = call i32 @PyGILState_Ensure()
  %at = call ptr @PyLong_FromVoidPtr(ptr %returned)
  %where = call ptr @PyLong_FromVoidPtr(ptr %made)
  %second = getelementptr ptr, ptr %given, i64 1
  store ptr %at, ptr %given
  store ptr %where, ptr %second
  %no.at = icmp eq ptr %at, null
  %no.where = icmp eq ptr %where, null
  %short = or i1 %no.at, %no.where
  br i1 %short, label %failed, label %ask
ask:
  %answer = call ptr @PyObject_Vectorcall(ptr %python, ptr %given, i64 2, ptr null)
  call void @Py_DecRef(ptr %at)
  call void @Py_DecRef(ptr %where)
  %raised = icmp eq ptr %answer, null
  br i1 %raised, label %failed, label %well
well:
  call void @Py_DecRef(ptr %answer)
  call void @PyGILState_Release(i32 %gil)
  ret i32 0
failed:
  call void @PyGILState_Release(i32 %gil)
  ret i32 1
}

; a step: 0, or 1 with an exception of Python's
define i32 @opweave_call_foreign(ptr %step, ptr %made, ptr %unused) {
entry:
  %function = load ptr, ptr %step
  %count.p = getelementptr %Step, ptr %step, i64 0, i32 1
  %count = load i64, ptr %count.p
  %args = alloca %Any, i64 %count, align 16
  %loans = alloca ptr, i64 %count
  %returned = alloca %Any, align 16
  store %Any zeroinitializer, ptr %returned
  %none = icmp eq i64 %count, 0
  br i1 %none, label %call, label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %on ]
  %from = getelementptr %Step, ptr %step, i64 0, i32 3, i64 %i
  %arg = getelementptr %Any, ptr %args, i64 %i
  %loan = getelementptr ptr, ptr %loans, i64 %i
  %given = load %Any, ptr %from
  store %Any %given, ptr %arg
  %type = extractvalue %Any %given, 0
  %is.tensor = icmp eq i32 %type, 7
  br i1 %is.tensor, label %lend, label %on
lend:
  %word = extractvalue %Any %given, 2
  %memory = inttoptr i64 %word to ptr
  %object = call ptr @lent(ptr %memory, ptr %loan)
  %nowhere = icmp eq ptr %object, null
  br i1 %nowhere, label %exhausted, label %object.put
object.put:
  %value.p = getelementptr %Any, ptr %arg, i64 0, i32 2
  store i32 70, ptr %arg
  store ptr %object, ptr %value.p
  br label %on
on:
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %count
  br i1 %more, label %next, label %call

call:
  %count.short = trunc i64 %count to i32
  %rc = call i32 @TVMFFIFunctionCall(ptr %function, ptr %args, i32 %count.short, ptr %returned)
  %well = icmp eq i32 %rc, 0
  br i1 %well, label %look, label %raised
look:
  %taken = call i1 @taken(ptr %returned, ptr %made)
  br i1 %taken, label %dropped, label %odd
dropped:
  call void @drop(ptr %returned)
  br label %end
odd:                                                     ; Python takes it over
  %answer = call i32 @asked(ptr %step, ptr %returned, ptr %made)
  br label %end
raised:
  %told = icmp eq i32 %rc, -2                            ; Python knows already
  br i1 %told, label %end, label %tell
tell:
  %raising = call i32 @asked(ptr %step, ptr null, ptr %made)
  br label %end

exhausted:
  %gil = call i32 @PyGILState_Ensure()
  %no.memory = call ptr @PyErr_NoMemory()
  call void @PyGILState_Release(i32 %gil)
  br label %end

end:                                                     ; what was lent goes: all of it, or what there is of it so far
  %result = phi i32 [ 0, %dropped ], [ %answer, %odd ], [ 1, %raised ], [ 1, %tell ], [ 1, %exhausted ]
  %until = phi i64 [ %count, %dropped ], [ %count, %odd ], [ %count, %raised ], [ %count, %tell ], [ %i, %exhausted ]
  br label %back
back:
  %k = phi i64 [ 0, %end ], [ %k1, %kept.on ]
  %over = icmp eq i64 %k, %until
  br i1 %over, label %out, label %look.back
look.back:
  %from.k = getelementptr %Step, ptr %step, i64 0, i32 3, i64 %k
  %from.type = load i32, ptr %from.k
  %was.tensor = icmp eq i32 %from.type, 7
  br i1 %was.tensor, label %give, label %kept.on
give:
  %memory.k.p = getelementptr %Any, ptr %from.k, i64 0, i32 2
  %memory.k = load ptr, ptr %memory.k.p
  %loan.k.p = getelementptr ptr, ptr %loans, i64 %k
  %loan.k = load ptr, ptr %loan.k.p
  %object.k.p = getelementptr %Any, ptr %args, i64 %k, i32 2
  %object.k = load ptr, ptr %object.k.p
  call void @let_go(ptr %object.k, ptr %loan.k, ptr %memory.k)
  br label %kept.on
kept.on:
  %k1 = add i64 %k, 1
  br label %back
out:
  ret i32 %result
}

; runs a segment with such steps (in the place of `opweave_execute`, which it calls), as long as what was found out about
; its ops holds and nobody looks at calls; the interpreter's lock is free meanwhile
define i32 @opweave_execute_foreign(ptr %program, ptr %given, i64 %n, i32 %gx, i32 %gy, i32 %gz, ptr %cost) {
entry:
  %epoch = load i64, ptr @opweave_epoch
  %noted.p = getelementptr i8, ptr %program, i64 @EPOCH@
  %noted = load i64, ptr %noted.p
  %same = icmp eq i64 %epoch, %noted
  br i1 %same, label %state, label %python
state:
  %known = call i1 @at_hand()
  br i1 %known, label %look, label %python
look:
  %dict = load ptr, ptr @thread.state
  %include = call ptr @PyDict_GetItem(ptr %dict, ptr @name.include)
  %plain = icmp eq ptr %include, @opweave_zero
  br i1 %plain, label %run, label %python
run:
  %thread.now = call ptr @PyEval_SaveThread()
  %status = call i32 @opweave_execute(ptr %program, ptr %given, i64 %n, i32 %gx, i32 %gy, i32 %gz, ptr %cost)
  call void @PyEval_RestoreThread(ptr %thread.now)
  %raised = icmp eq i32 %status, 6                       ; Python knows what
  %result = select i1 %raised, i32 1, i32 %status
  ret i32 %result
python:
  ret i32 2
}

; (address of a value, or 0): that value, or the error that the call before left
define i32 @opweave_answer(ptr %self, ptr %args, i32 %n, ptr %result) {
entry:
  %value.p = getelementptr %Any, ptr %args, i64 0, i32 2
  %value = load ptr, ptr %value.p
  %none = icmp eq ptr %value, null
  br i1 %none, label %raise, label %give
give:
  %any = load %Any, ptr %value
  store %Any %any, ptr %result
  ret i32 0
raise:
  ret i32 -1
}
