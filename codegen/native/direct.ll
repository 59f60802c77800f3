; A call of an op of a C++ library (direct.py): where the arguments are what its schema says, tensors are plain and nobody
; looks at calls, the kernel is called at once; all else goes to Python.

; parameters, and how many must be given; the kernel, what Python does; the parameter that it writes or -1, and whether
; that is returned; of each parameter what it takes and its default
%Direct = type { i64, i64, ptr, ptr, i64, i64, [0 x { i64, ptr }] }

declare ptr @PyDict_GetItem(ptr, ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare i64 @PyList_Size(ptr)
declare ptr @PyList_GetItem(ptr, i64)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare void @PyErr_Clear()
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
@_Py_NoneStruct = external global i8
@PyLong_Type = external global i8
@PyFloat_Type = external global i8
@PyBool_Type = external global i8
@PyUnicode_Type = external global i8
@PyList_Type = external global i8
@PyTuple_Type = external global i8
@opweave_tensor = external global i8
@opweave_keys = external global i8                       ; what plain tensors of the CPU have
@opweave_zero = external global i8
@name.include = external global i8
@name.exclude = external global i8

; whether an argument is a list or a tuple of whole numbers
define internal i1 @numbers(ptr %arg, ptr %type) {
entry:
  %is.list = icmp eq ptr %type, @PyList_Type
  br i1 %is.list, label %list, label %maybe
maybe:
  %is.tuple = icmp eq ptr %type, @PyTuple_Type
  br i1 %is.tuple, label %tuple, label %no
list:
  %n.list = call i64 @PyList_Size(ptr %arg)
  br label %next
tuple:
  %n.tuple = call i64 @PyTuple_Size(ptr %arg)
  br label %next
next:
  %n = phi i64 [ %n.list, %list ], [ %n.tuple, %tuple ], [ %n, %on ]
  %i = phi i64 [ 0, %list ], [ 0, %tuple ], [ %i1, %on ]
  %done = icmp sge i64 %i, %n
  br i1 %done, label %yes, label %item
item:
  br i1 %is.list, label %of.list, label %of.tuple
of.list:
  %a = call ptr @PyList_GetItem(ptr %arg, i64 %i)
  br label %look
of.tuple:
  %b = call ptr @PyTuple_GetItem(ptr %arg, i64 %i)
  br label %look
look:
  %found = phi ptr [ %a, %of.list ], [ %b, %of.tuple ]
  %kind = call ptr @slot(ptr %found, i64 @TYPE@)
  %whole = icmp eq ptr %kind, @PyLong_Type
  br i1 %whole, label %on, label %no
on:
  %i1 = add i64 %i, 1
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; whether an argument is what a parameter takes
define internal i1 @takes(i64 %kind, ptr %arg) {
entry:
  %type = call ptr @slot(ptr %arg, i64 @TYPE@)
  %none = icmp eq ptr %arg, @_Py_NoneStruct
  %optional = and i64 %kind, @OPTIONAL@
  %may = icmp ne i64 %optional, 0
  %absent = and i1 %none, %may
  br i1 %absent, label %yes, label %there
there:
  %base = and i64 %kind, 7
  switch i64 %base, label %no [ i64 0, label %tensor
                                i64 1, label %int
                                i64 2, label %float
                                i64 3, label %bool
                                i64 4, label %str
                                i64 5, label %scalar
                                i64 6, label %list ]
tensor:
  %exact = icmp eq ptr %type, @opweave_tensor
  br i1 %exact, label %keyed, label %no
keyed:
  %keys = call ptr @slot(ptr %arg, i64 @KEYS@)
  %usual = icmp eq ptr %keys, @opweave_keys
  ret i1 %usual
int:
  %is.int = icmp eq ptr %type, @PyLong_Type
  ret i1 %is.int
float:
  %is.float = icmp eq ptr %type, @PyFloat_Type
  ret i1 %is.float
bool:
  %is.bool = icmp eq ptr %type, @PyBool_Type
  ret i1 %is.bool
str:
  %is.str = icmp eq ptr %type, @PyUnicode_Type
  ret i1 %is.str
scalar:
  %s.int = icmp eq ptr %type, @PyLong_Type
  %s.float = icmp eq ptr %type, @PyFloat_Type
  %is.scalar = or i1 %s.int, %s.float
  ret i1 %is.scalar
list:
  %is.numbers = call i1 @numbers(ptr %arg, ptr %type)
  ret i1 %is.numbers
yes:
  ret i1 true
no:
  ret i1 false
}

define ptr @opweave_direct(ptr %callable, ptr %args, i64 %flags, ptr %names) {
entry:
  %direct = call ptr @slot(ptr %callable, i64 @KNOWN@)
  %n = and i64 %flags, 9223372036854775807
  %count = load i64, ptr %direct
  %least.p = getelementptr %Direct, ptr %direct, i64 0, i32 1
  %least = load i64, ptr %least.p
  %slots = add i64 %count, 1
  %all = alloca ptr, i64 %slots
  %given = getelementptr ptr, ptr %all, i64 1
  %unnamed = icmp eq ptr %names, null
  %enough = icmp sge i64 %n, %least
  %few = icmp sle i64 %n, %count
  %bound.some = and i1 %unnamed, %enough
  %bound = and i1 %bound.some, %few
  br i1 %bound, label %state, label %python
state:
  %at.hand = call i1 @at_hand()
  br i1 %at.hand, label %included, label %python
included:
  %own = load ptr, ptr @thread.state
  %include = call ptr @PyDict_GetItem(ptr %own, ptr @name.include)
  %nothing = icmp eq ptr %include, @opweave_zero
  br i1 %nothing, label %excluded, label %python
excluded:
  %exclude.o = call ptr @PyDict_GetItem(ptr %own, ptr @name.exclude)
  %no.exclude = icmp eq ptr %exclude.o, null
  br i1 %no.exclude, label %python, label %excluding
excluding:
  %exclude = call i64 @PyLong_AsLongLong(ptr %exclude.o)
  %no.grad = icmp eq i64 %exclude, @GRAD@
  %plain = icmp eq i64 %exclude, 0
  %usual = or i1 %no.grad, %plain
  br i1 %usual, label %next, label %python
next:
  %i = phi i64 [ 0, %excluding ], [ %i1, %on ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %written, label %parameter
parameter:
  %kind.p = getelementptr %Direct, ptr %direct, i64 0, i32 6, i64 %i, i32 0
  %to = getelementptr ptr, ptr %given, i64 %i
  %is.given = icmp slt i64 %i, %n
  br i1 %is.given, label %argument, label %default
argument:
  %arg.p = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.p
  %kind = load i64, ptr %kind.p
  store ptr %arg, ptr %to
  %fits = call i1 @takes(i64 %kind, ptr %arg)
  br i1 %fits, label %on, label %python
default:
  %default.p = getelementptr %Direct, ptr %direct, i64 0, i32 6, i64 %i, i32 1
  %default.o = load ptr, ptr %default.p
  store ptr %default.o, ptr %to
  br label %on
on:
  %i1 = add i64 %i, 1
  br label %next

written:                                                 ; a view that autograd does not know of is Python's
  %which.p = getelementptr %Direct, ptr %direct, i64 0, i32 4
  %which = load i64, ptr %which.p
  %writes = icmp sge i64 %which, 0
  br i1 %writes, label %changed, label %call
changed:
  %first.p = getelementptr ptr, ptr %given, i64 %which
  %first = load ptr, ptr %first.p
  %base = call ptr @slot(ptr %first, i64 @VIEW_OF@)
  %unset = icmp eq ptr %base, null
  %is.none = icmp eq ptr %base, @_Py_NoneStruct
  %no.view.some = or i1 %unset, %is.none
  %no.view = or i1 %no.view.some, %no.grad
  br i1 %no.view, label %call, label %python
call:
  %kernel.p = getelementptr %Direct, ptr %direct, i64 0, i32 2
  %kernel = load ptr, ptr %kernel.p
  call void @Py_IncRef(ptr %kernel)                      ; it may be replaced meanwhile
  %returned.p = getelementptr %Direct, ptr %direct, i64 0, i32 5
  %returned = load i64, ptr %returned.p
  %count.flagged = or i64 %count, -9223372036854775808
  %result = call ptr @PyObject_Vectorcall(ptr %kernel, ptr %given, i64 %count.flagged, ptr null)
  call void @Py_DecRef(ptr %kernel)
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %none, label %made
made:
  br i1 %writes, label %count.up, label %give
give:
  ret ptr %result
count.up:
  call void @Py_DecRef(ptr %result)
  %first.again = getelementptr ptr, ptr %given, i64 %which
  %target = load ptr, ptr %first.again
  %storage = call ptr @slot(ptr %target, i64 @STORAGE@)
  %version.p = getelementptr i8, ptr %storage, i64 @VERSION@
  %version.o = load ptr, ptr %version.p
  %version = call i64 @PyLong_AsLongLong(ptr %version.o)
  %version.1 = add i64 %version, 1
  %version.new = call ptr @PyLong_FromLongLong(i64 %version.1)
  %no.version = icmp eq ptr %version.new, null
  br i1 %no.version, label %none, label %counted
counted:
  call void @keep(ptr %version.p, ptr %version.new)
  %back = icmp ne i64 %returned, 0
  %answer = select i1 %back, ptr %target, ptr @_Py_NoneStruct
  call void @Py_IncRef(ptr %answer)
  ret ptr %answer
none:
  ret ptr null

python:
  %otherwise.p = getelementptr %Direct, ptr %direct, i64 0, i32 3
  %otherwise = load ptr, ptr %otherwise.p
  %slow = call ptr @PyObject_Vectorcall(ptr %otherwise, ptr %args, i64 %n, ptr %names)
  ret ptr %slow
}
