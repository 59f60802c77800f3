; What a call of compiled code that writes its arguments asks and notes (mutation.py).
;
; PyCFunctions with METH_FASTCALL; the arguments are tensors. No code of Python's runs while the spans are looked at, so
; no other thread comes between.

declare ptr @PyTuple_GetItem(ptr, i64)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyLong_AsVoidPtr(ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare i64 @PyLong_AsUnsignedLongLong(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyObject_VectorcallMethod(ptr, ptr, i64, ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare i64 @llvm.umax.i64(i64, i64)
@_Py_NoneStruct = external global i8
@_Py_TrueStruct = external global i8
@_Py_FalseStruct = external global i8
@PyLong_Type = external global i8
@PyTuple_Type = external global i8
@opweave_tensor = external global i8
@name.bump = external global i8

; of each tensor its dtype, bytes of an element, whether it is written; and which tensor was at this place when they were
; last sorted
%Part = type { ptr, i64, i64, i64 }
; how many tensors; what Python asks; the parts
%Apart = type { i64, ptr, [0 x %Part] }
; the first byte, the end, which tensor
%Span = type { i64, i64, i64 }

; what a slot of an object holds; null where that is of another type
define internal ptr @typed(ptr %of, i64 %place, ptr %type) alwaysinline {
entry:
  %at = getelementptr i8, ptr %of, i64 %place
  %value = load ptr, ptr %at
  %unset = icmp eq ptr %value, null
  br i1 %unset, label %no, label %some
some:
  %type.p = getelementptr i8, ptr %value, i64 @TYPE@
  %its = load ptr, ptr %type.p
  %fits = icmp eq ptr %its, %type
  br i1 %fits, label %yes, label %no
yes:
  ret ptr %value
no:
  ret ptr null
}

; a number in a tuple; false where it is no int
define internal i1 @item(ptr %tuple, i64 %i, ptr %into) alwaysinline {
entry:
  %item = call ptr @PyTuple_GetItem(ptr %tuple, i64 %i)
  %type.p = getelementptr i8, ptr %item, i64 @TYPE@
  %type = load ptr, ptr %type.p
  %whole = icmp eq ptr %type, @PyLong_Type
  br i1 %whole, label %yes, label %no
yes:
  %value = call i64 @PyLong_AsLongLong(ptr %item)
  store i64 %value, ptr %into
  ret i1 true
no:
  ret i1 false
}

; the memory that a tensor lies in, 0 to 0 where it has no elements; false where Python has to look
define internal i1 @span(ptr %t, ptr %part, ptr %first, ptr %end) {
entry:
  %size.p = alloca i64
  %stride.p = alloca i64
  %type.p = getelementptr i8, ptr %t, i64 @TYPE@
  %type = load ptr, ptr %type.p
  %plain = icmp eq ptr %type, @opweave_tensor
  br i1 %plain, label %dtyped, label %no
dtyped:
  %dtype.p = getelementptr i8, ptr %t, i64 @DTYPE@
  %dtype = load ptr, ptr %dtype.p
  %dtype.then = load ptr, ptr %part
  %same = icmp eq ptr %dtype, %dtype.then
  br i1 %same, label %memory, label %no
memory:
  %storage.p = getelementptr i8, ptr %t, i64 @STORAGE@
  %storage = load ptr, ptr %storage.p
  %nowhere = icmp eq ptr %storage, null
  br i1 %nowhere, label %no, label %slots
slots:
  %pointer = call ptr @typed(ptr %storage, i64 @POINTER@, ptr @PyLong_Type)
  %offset.o = call ptr @typed(ptr %t, i64 @OFFSET@, ptr @PyLong_Type)
  %sizes = call ptr @typed(ptr %t, i64 @SIZES@, ptr @PyTuple_Type)
  %strides = call ptr @typed(ptr %t, i64 @STRIDES@, ptr @PyTuple_Type)
  %no.pointer = icmp eq ptr %pointer, null
  %no.offset = icmp eq ptr %offset.o, null
  %no.sizes = icmp eq ptr %sizes, null
  %no.strides = icmp eq ptr %strides, null
  %a = or i1 %no.pointer, %no.offset
  %b = or i1 %no.sizes, %no.strides
  %lacks = or i1 %a, %b
  br i1 %lacks, label %no, label %dims
dims:
  %base = call i64 @PyLong_AsUnsignedLongLong(ptr %pointer)
  %offset = call i64 @PyLong_AsLongLong(ptr %offset.o)
  %count = call i64 @PyTuple_Size(ptr %sizes)
  %others = call i64 @PyTuple_Size(ptr %strides)
  %as.many = icmp eq i64 %count, %others
  br i1 %as.many, label %next, label %no
next:
  %d = phi i64 [ 0, %dims ], [ %d1, %on ]
  %reach = phi i64 [ 1, %dims ], [ %further, %on ]
  %left = icmp slt i64 %d, %count
  br i1 %left, label %one, label %done
one:
  %sized = call i1 @item(ptr %sizes, i64 %d, ptr %size.p)
  %strode = call i1 @item(ptr %strides, i64 %d, ptr %stride.p)
  %known = and i1 %sized, %strode
  br i1 %known, label %extent, label %no
extent:
  %size = load i64, ptr %size.p
  %stride = load i64, ptr %stride.p
  %empty = icmp eq i64 %size, 0
  br i1 %empty, label %nothing, label %on
on:
  %steps = sub i64 %size, 1
  %far = mul i64 %steps, %stride
  %further = add i64 %reach, %far
  %d1 = add i64 %d, 1
  br label %next
done:
  %bytes.p = getelementptr %Part, ptr %part, i64 0, i32 1
  %bytes = load i64, ptr %bytes.p
  %shift = mul i64 %offset, %bytes
  %start = add i64 %base, %shift
  %length = mul i64 %reach, %bytes
  %stop = add i64 %start, %length
  store i64 %start, ptr %first
  store i64 %stop, ptr %end
  ret i1 true
nothing:
  store i64 0, ptr %first
  store i64 0, ptr %end
  ret i1 true
no:
  ret i1 false
}

; whether no tensor that is written shares memory with another one
define ptr @opweave_apart(ptr %self, ptr %args, i64 %given) {
entry:
  %about = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %apart = call ptr @PyLong_AsVoidPtr(ptr %about)
  %count = load i64, ptr %apart
  %spans = alloca %Span, i64 %count, align 16
  %first.p = alloca i64
  %end.p = alloca i64
  %all = icmp eq i64 %given, %count
  br i1 %all, label %next, label %python

next:                                                    ; each in its place among those before, which are sorted
  %i = phi i64 [ 0, %entry ], [ %i1, %insert ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %look, label %sorted
look:
  %which.p = getelementptr %Apart, ptr %apart, i64 0, i32 2, i64 %i, i32 3
  %which = load i64, ptr %which.p
  %part = getelementptr %Apart, ptr %apart, i64 0, i32 2, i64 %which
  %arg.p = getelementptr ptr, ptr %args, i64 %which
  %arg = load ptr, ptr %arg.p
  %known = call i1 @span(ptr %arg, ptr %part, ptr %first.p, ptr %end.p)
  br i1 %known, label %place, label %python
place:
  %first = load i64, ptr %first.p
  %end = load i64, ptr %end.p
  br label %before
before:
  %j = phi i64 [ %i, %place ], [ %j1, %move ]
  %foremost = icmp eq i64 %j, 0
  br i1 %foremost, label %insert, label %compare
compare:
  %j1 = sub i64 %j, 1
  %there = getelementptr %Span, ptr %spans, i64 %j1
  %there.first = load i64, ptr %there
  %behind = icmp ugt i64 %there.first, %first
  br i1 %behind, label %move, label %insert
move:
  %moved = load %Span, ptr %there
  %to = getelementptr %Span, ptr %spans, i64 %j
  store %Span %moved, ptr %to
  br label %before
insert:
  %at = getelementptr %Span, ptr %spans, i64 %j
  %at.end = getelementptr %Span, ptr %at, i64 0, i32 1
  %at.which = getelementptr %Span, ptr %at, i64 0, i32 2
  store i64 %first, ptr %at
  store i64 %end, ptr %at.end
  store i64 %which, ptr %at.which
  %i1 = add i64 %i, 1
  br label %next

sorted:                                                  ; they come in this order again, as a rule
  %k = phi i64 [ 0, %next ], [ %k1, %note ]
  %noted = icmp eq i64 %k, %count
  br i1 %noted, label %scan, label %note
note:
  %k.which.p = getelementptr %Span, ptr %spans, i64 %k, i32 2
  %k.which = load i64, ptr %k.which.p
  %k.order = getelementptr %Apart, ptr %apart, i64 0, i32 2, i64 %k, i32 3
  store i64 %k.which, ptr %k.order
  %k1 = add i64 %k, 1
  br label %sorted

scan:                                                    ; where all that came ends, and what of it is written
  %s = phi i64 [ 0, %sorted ], [ %s1, %on ]
  %reached = phi i64 [ 0, %sorted ], [ %reached.new, %on ]
  %reached.written = phi i64 [ 0, %sorted ], [ %written.new, %on ]
  %left = icmp slt i64 %s, %count
  br i1 %left, label %one, label %yes
one:
  %span = getelementptr %Span, ptr %spans, i64 %s
  %span.end.p = getelementptr %Span, ptr %span, i64 0, i32 1
  %span.which.p = getelementptr %Span, ptr %span, i64 0, i32 2
  %span.first = load i64, ptr %span
  %span.end = load i64, ptr %span.end.p
  %span.which = load i64, ptr %span.which.p
  %writes.p = getelementptr %Apart, ptr %apart, i64 0, i32 2, i64 %span.which, i32 2
  %writes.i = load i64, ptr %writes.p
  %writes = icmp ne i64 %writes.i, 0
  %empty = icmp eq i64 %span.first, %span.end
  %limit = select i1 %writes, i64 %reached, i64 %reached.written
  %inside = icmp ult i64 %span.first, %limit
  %full = xor i1 %empty, true
  %meets = and i1 %inside, %full
  br i1 %meets, label %no, label %on
on:
  %reached.new = call i64 @llvm.umax.i64(i64 %reached, i64 %span.end)
  %written.end = select i1 %writes, i64 %span.end, i64 0
  %written.new = call i64 @llvm.umax.i64(i64 %reached.written, i64 %written.end)
  %s1 = add i64 %s, 1
  br label %scan
yes:
  call void @Py_IncRef(ptr @_Py_TrueStruct)
  ret ptr @_Py_TrueStruct
no:
  call void @Py_IncRef(ptr @_Py_FalseStruct)
  ret ptr @_Py_FalseStruct
python:
  %python.p = getelementptr %Apart, ptr %apart, i64 0, i32 1
  %function = load ptr, ptr %python.p
  %answer = call ptr @PyObject_Vectorcall(ptr %function, ptr %args, i64 %given, ptr null)
  ret ptr %answer
}

; count a mutation of each tensor's memory
define ptr @opweave_bump(ptr %self, ptr %args, i64 %given) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %counted ], [ %i1.slow, %told ]
  %more = icmp slt i64 %i, %given
  br i1 %more, label %one, label %done
one:
  %arg.p = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.p
  %type.p = getelementptr i8, ptr %arg, i64 @TYPE@
  %type = load ptr, ptr %type.p
  %plain = icmp eq ptr %type, @opweave_tensor
  br i1 %plain, label %memory, label %ask
memory:
  %storage.p = getelementptr i8, ptr %arg, i64 @STORAGE@
  %storage = load ptr, ptr %storage.p
  %nowhere = icmp eq ptr %storage, null
  br i1 %nowhere, label %ask, label %versioned
versioned:
  %version = call ptr @typed(ptr %storage, i64 @VERSION@, ptr @PyLong_Type)
  %unknown = icmp eq ptr %version, null
  br i1 %unknown, label %ask, label %count
count:
  %number = call i64 @PyLong_AsLongLong(ptr %version)
  %following = add i64 %number, 1
  %object = call ptr @PyLong_FromLongLong(i64 %following)
  %failed = icmp eq ptr %object, null
  br i1 %failed, label %error, label %counted
counted:
  %version.p = getelementptr i8, ptr %storage, i64 @VERSION@
  store ptr %object, ptr %version.p
  call void @Py_DecRef(ptr %version)
  %i1 = add i64 %i, 1
  br label %next
ask:                                                     ; its own method
  %answer = call ptr @PyObject_VectorcallMethod(ptr @name.bump, ptr %arg.p, i64 1, ptr null)
  %raised = icmp eq ptr %answer, null
  br i1 %raised, label %error, label %told
told:
  call void @Py_DecRef(ptr %answer)
  %i1.slow = add i64 %i, 1
  br label %next
done:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
error:
  ret ptr null
}
