; A launch from Python: converts the arguments and runs the programs (launch.py).
;
; PyCFunction with METH_FASTCALL. `self` is a tuple whose first element is the address of a kernel's description. What
; runs a kernel is the pool; a segment and a product (execute.ll, product.ll) come here in its place. It returns 0, or
; 1: the handler of a signal raised, 2: ask Python, 3: there is no memory, 4: ask Python what went wrong.

declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyLong_AsVoidPtr(ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare i64 @PyLong_AsUnsignedLongLong(ptr)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyErr_Occurred()
declare void @PyErr_Clear()
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyErr_NoMemory()
declare i32 @PyType_IsSubtype(ptr, ptr)
declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)
@_Py_NoneStruct = external global i8
@opweave_tensor = external global i8
@opweave_data_ptr = external global i8

define ptr @opweave_launch(ptr %self, ptr %args, i64 %given) {
entry:
  %about = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %kernel = call ptr @PyLong_AsVoidPtr(ptr %about)
  %expected.p = getelementptr %Kernel, ptr %kernel, i64 0, i32 2
  %expected = load i64, ptr %expected.p
  %slots = alloca i64, i64 %expected, align 16
  %right = icmp eq i64 %given, %expected
  br i1 %right, label %next, label %fallback

next:                                                    ; the first three parameters are the grid
  %i = phi i64 [ 0, %entry ], [ %i1, %store ]
  %arg.p = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.p
  %par = getelementptr %Kernel, ptr %kernel, i64 0, i32 7, i64 %i
  %kind = load i64, ptr %par
  switch i64 %kind, label %fallback [ i64 0, label %pointer
                                      i64 1, label %integer
                                      i64 2, label %bool
                                      i64 3, label %float32
                                      i64 4, label %float64
                                      i64 5, label %tensor
                                      i64 6, label %object ]
object:                                                  ; itself: who calls has it as long
  %itself = ptrtoint ptr %arg to i64
  br label %store
pointer:
  %u = call i64 @PyLong_AsUnsignedLongLong(ptr %arg)
  %u.suspect = icmp eq i64 %u, -1
  br i1 %u.suspect, label %doubt, label %store
integer:
  %s = call i64 @PyLong_AsLongLong(ptr %arg)
  %low.p = getelementptr %Parameter, ptr %par, i64 0, i32 1
  %low = load i64, ptr %low.p
  %high.p = getelementptr %Parameter, ptr %par, i64 0, i32 2
  %high = load i64, ptr %high.p
  %above = icmp sge i64 %s, %low
  %below = icmp sle i64 %s, %high
  %fits = and i1 %above, %below
  br i1 %fits, label %integer.in, label %fallback
integer.in:
  %s.suspect = icmp eq i64 %s, -1
  br i1 %s.suspect, label %doubt, label %store
bool:
  %t = call i64 @PyLong_AsLongLong(ptr %arg)
  %t.set = icmp ne i64 %t, 0
  %b = zext i1 %t.set to i64
  %t.suspect = icmp eq i64 %t, -1
  br i1 %t.suspect, label %doubt, label %store
float32:
  %d32 = call double @PyFloat_AsDouble(ptr %arg)
  %f = fptrunc double %d32 to float
  %f.bits = bitcast float %f to i32
  %f.slot = zext i32 %f.bits to i64
  %f.suspect = fcmp oeq double %d32, -1.0
  br i1 %f.suspect, label %doubt, label %store
float64:
  %d64 = call double @PyFloat_AsDouble(ptr %arg)
  %d.slot = bitcast double %d64 to i64
  %d.suspect = fcmp oeq double %d64, -1.0
  br i1 %d.suspect, label %doubt, label %store
tensor:                                                  ; the address of its first element
  %type.p = getelementptr i8, ptr %arg, i64 @TYPE@
  %type = load ptr, ptr %type.p
  %exact = icmp eq ptr %type, @opweave_tensor
  br i1 %exact, label %opened, label %derived
derived:
  %subtype = call i32 @PyType_IsSubtype(ptr %type, ptr @opweave_tensor)
  %related = icmp ne i32 %subtype, 0
  br i1 %related, label %opened, label %fallback
opened:
  %storage.p = getelementptr i8, ptr %arg, i64 @STORAGE@
  %storage = load ptr, ptr %storage.p
  %start.p = getelementptr i8, ptr %storage, i64 @POINTER@
  %start = load ptr, ptr %start.p
  %shift.p = getelementptr i8, ptr %arg, i64 @OFFSET@
  %shift = load ptr, ptr %shift.p
  %base = call i64 @PyLong_AsUnsignedLongLong(ptr %start)
  %base.unknown = icmp eq i64 %base, -1
  br i1 %base.unknown, label %told, label %shifted
told:                                                    ; a storage that was not asked for its address so far
  call void @PyErr_Clear()
  %told.object = call ptr @PyObject_Vectorcall(ptr @opweave_data_ptr, ptr %arg.p, i64 1, ptr null)
  %told.none = icmp eq ptr %told.object, null
  br i1 %told.none, label %failed, label %told.value
told.value:
  %told.address = call i64 @PyLong_AsUnsignedLongLong(ptr %told.object)
  call void @Py_DecRef(ptr %told.object)
  %told.unknown = icmp eq i64 %told.address, -1
  br i1 %told.unknown, label %fallback, label %store
shifted:
  %elements = call i64 @PyLong_AsLongLong(ptr %shift)
  %elements.unknown = icmp eq i64 %elements, -1
  br i1 %elements.unknown, label %fallback, label %addressed
addressed:
  %size.p = getelementptr %Parameter, ptr %par, i64 0, i32 1
  %size = load i64, ptr %size.p
  %far = mul i64 %elements, %size
  %first = add i64 %base, %far
  br label %store
doubt:                                                   ; -1 is a value, or the sign of an error
  %v0 = phi i64 [ %u, %pointer ], [ %s, %integer.in ], [ %b, %bool ], [ %f.slot, %float32 ],
                [ %d.slot, %float64 ]
  %error = call ptr @PyErr_Occurred()
  %fine = icmp eq ptr %error, null
  br i1 %fine, label %store, label %fallback
store:
  %v = phi i64 [ %u, %pointer ], [ %s, %integer.in ], [ %b, %bool ], [ %f.slot, %float32 ], [ %d.slot, %float64 ],
               [ %first, %addressed ], [ %told.address, %told.value ], [ %v0, %doubt ], [ %itself, %object ]
  %slot = getelementptr i64, ptr %slots, i64 %i
  store i64 %v, ptr %slot
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %expected
  br i1 %more, label %next, label %launch

launch:
  %gridded.p = getelementptr %Kernel, ptr %kernel, i64 0, i32 6
  %gridded = load i64, ptr %gridded.p
  %alone = icmp eq i64 %gridded, 0
  br i1 %alone, label %run, label %grid
grid:
  %gx = load i64, ptr %slots
  %gy.p = getelementptr i64, ptr %slots, i64 1
  %gy = load i64, ptr %gy.p
  %gz.p = getelementptr i64, ptr %slots, i64 2
  %gz = load i64, ptr %gz.p
  %gxy = mul i64 %gx, %gy
  %product = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %gxy, i64 %gz)
  %n.grid = extractvalue { i64, i1 } %product, 0
  %huge = extractvalue { i64, i1 } %product, 1
  br i1 %huge, label %fallback, label %sized
sized:
  %none = icmp eq i64 %n.grid, 0
  br i1 %none, label %done, label %run
run:
  %n = phi i64 [ 1, %launch ], [ %n.grid, %sized ]
  %gx.some = phi i64 [ 1, %launch ], [ %gx, %sized ]
  %gy.some = phi i64 [ 1, %launch ], [ %gy, %sized ]
  %gz.some = phi i64 [ 1, %launch ], [ %gz, %sized ]
  %skipped = phi i64 [ 0, %launch ], [ 3, %sized ]
  %code = load ptr, ptr %kernel
  %packed = getelementptr i64, ptr %slots, i64 %skipped
  %gx32 = trunc i64 %gx.some to i32
  %gy32 = trunc i64 %gy.some to i32
  %gz32 = trunc i64 %gz.some to i32
  %runner.p = getelementptr %Kernel, ptr %kernel, i64 0, i32 5
  %runner = load ptr, ptr %runner.p
  %cost.p = getelementptr %Kernel, ptr %kernel, i64 0, i32 3
  %cost = load atomic double, ptr %cost.p monotonic, align 8
  %programs = sitofp i64 %n to double
  %expect = fmul double %cost, %programs
  %known = fcmp ogt double %cost, 0.0
  %brief = fcmp olt double %expect, @HOLD_NS@
  %hold = and i1 %known, %brief
  %profiling = load atomic i32, ptr @opweave_profiling monotonic, align 4
  %profiled = icmp ne i32 %profiling, 0
  br i1 %profiled, label %starting, label %started
starting:
  %begun = call i64 @now()
  br label %started
started:
  %begin = phi i64 [ 0, %run ], [ %begun, %starting ]
  br i1 %hold, label %held, label %released
held:
  %status.kept = call i32 %runner(ptr %code, ptr %packed, i64 %n, i32 %gx32, i32 %gy32, i32 %gz32, ptr %cost.p)
  br label %ran
released:
  %thread = call ptr @PyEval_SaveThread()
  %status.free = call i32 %runner(ptr %code, ptr %packed, i64 %n, i32 %gx32, i32 %gy32, i32 %gz32, ptr %cost.p)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %ran
ran:
  %status = phi i32 [ %status.kept, %held ], [ %status.free, %released ]
  switch i32 %status, label %failed [ i32 0, label %well
                                      i32 2, label %fallback
                                      i32 3, label %exhausted
                                      i32 4, label %explain ]
failed:                                                  ; with what the handler of a signal raised
  ret ptr null
exhausted:
  %raised = call ptr @PyErr_NoMemory()
  ret ptr null
well:
  br i1 %profiled, label %counted, label %done
counted:
  call void @count(ptr %kernel, i64 %n, i64 %begin)
  br label %done
done:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct

fallback:
  call void @PyErr_Clear()
  %python.p = getelementptr %Kernel, ptr %kernel, i64 0, i32 1
  %python = load ptr, ptr %python.p
  %result = call ptr @PyObject_Vectorcall(ptr %python, ptr %args, i64 %given, ptr null)
  ret ptr %result
explain:                                                 ; it is called with nothing
  %explaining.p = getelementptr %Kernel, ptr %kernel, i64 0, i32 1
  %explaining = load ptr, ptr %explaining.p
  %answer = call ptr @PyObject_Vectorcall(ptr %explaining, ptr null, i64 0, ptr null)
  ret ptr %answer
}
