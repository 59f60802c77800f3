; Calls that are replayed (calls.py, registry/replay.py): `vectorcall` of functions that may be.
;
; Behind its head an object has the address of `opweave_call` and that of a `%Known`: what was written down of calls of
; it, as a list of `%Call`s. A call that fits one of them is made here, any other in Python (`otherwise`), which is asked
; to write it down (`learn`) once `wait` such calls were made.

%Known = type { i64, ptr, ptr, ptr, i64 }                ; epoch, first call, otherwise, learn, wait
; next; positional arguments, keyword arguments and their names; the excluded keys and, in the upper half, those that
; are included and not excluded, the default dtype or null; a guard
; for each argument; loops; what becomes of the result, of which number of argument, with what; where a fresh result
; stands in the frame; what sees to it in the end, or null; how often it was made; what keeps all of it alive; how many
; tensors are made besides, whose places in the frame follow, and with what
%Call = type { ptr, i64, i64, ptr, i64, ptr, ptr, i64, ptr, i64, i64, ptr, i64, ptr, i64, ptr, i64, ptr }
; kind: 0 this object, 1 a tensor, 2 an equal value, 4 a list or tuple (the object: its type) of so many (keys) tensors,
; whose guards begin at a number (bytes of an element); 3 any float of at most @MOST_NUMBER@ but 0 and 1; the object or its keys; sizes, strides, dtype, device; keys; where
; its address goes in the frame, or -1; bytes of an element and of all; whether it lies as the tensor that is written
%Guard = type { i64, ptr, ptr, ptr, ptr, ptr, i64, i64, i64, i64, i64 }
%Operand = type { i64, i64, i64 }                        ; place in the frame or -1, bytes from there, and between calls
; function and its data; how often; dimensions and steps; operands and how many
%Loop = type { ptr, ptr, i64, ptr, ptr, i64, [8 x %Operand] }

declare ptr @PyDict_GetItem(ptr, ptr)
declare i32 @PyObject_RichCompareBool(ptr, ptr, i32)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare double @PyFloat_AsDouble(ptr)
declare i64 @PyTuple_Size(ptr)
declare i64 @PyList_Size(ptr)
declare ptr @PyList_GetItem(ptr, i64)
declare ptr @PyList_New(i64)
declare i32 @PyList_Append(ptr, ptr)
declare ptr @PyWeakref_NewRef(ptr, ptr)
declare ptr @PyErr_Occurred()
declare i64 @llvm.ctpop.i64(i64)
declare double @llvm.fabs.f64(double)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)

@_Py_NoneStruct = external global i8
@PyLong_Type = external global i8
@PyFloat_Type = external global i8
@PyTuple_Type = external global i8
@PyList_Type = external global i8
@PySlice_Type = external global i8
@PyUnicode_Type = external global i8
@opweave_tensor = external global i8
@opweave_size = external global i8
@opweave_zero = external global i8
@opweave_epoch = external global i64
@name.include = external global i8
@name.exclude = external global i8
@name.dtype = external global i8
@name.ptr = external global i8
@note_view = external global i8                          ; Storage.note_view

; whether a loop met what only Python can answer, as a number that names no place: the call is left to Python then
@opweave_unfit = internal global i8 0

; whether loops run: a call from the handler of a signal, which a long one on the pool looks for, is left to Python, since
; what lies between the loops of a call is in one place for all calls
@busy = internal global i8 0

; how far the place that a number names is, in bytes, or -1: see places.ll
define internal i64 @place(ptr %index, ptr %data) alwaysinline {
entry:
  %number = load i64, ptr %index, align 1
  %step = load i64, ptr %data
  %size = call i64 @number(ptr %data, i32 1)
  %wraps = call i64 @number(ptr %data, i32 2)
  %negative = icmp slt i64 %number, 0
  %from.end = icmp ne i64 %wraps, 0
  %turned = and i1 %negative, %from.end
  %shift = select i1 %turned, i64 %size, i64 0
  %at = add i64 %number, %shift
  %fits = icmp ult i64 %at, %size
  %far = mul i64 %at, %step
  %found = select i1 %fits, i64 %far, i64 -1
  ret i64 %found
}

; a loop that ends the call if a number names no place (places.ll)
define void @"within.64"(ptr %places, ptr %count, ptr %steps, ptr %data) {
entry:
  %n = load i64, ptr %count
  %start = load ptr, ptr %places
  %step = load i64, ptr %steps
  %size = call i64 @number(ptr %data, i32 1)
  %wraps = call i64 @number(ptr %data, i32 2)
  %from.end = icmp ne i64 %wraps, 0
  %below = select i1 %from.end, i64 %size, i64 0         ; how many numbers below 0 name a place
  %span = add i64 %size, %below
  %low.one = insertelement <8 x i64> poison, i64 %below, i64 0
  %low = shufflevector <8 x i64> %low.one, <8 x i64> poison, <8 x i32> zeroinitializer
  %span.one = insertelement <8 x i64> poison, i64 %span, i64 0
  %spans = shufflevector <8 x i64> %span.one, <8 x i64> poison, <8 x i32> zeroinitializer
  %dense = icmp eq i64 %step, 8
  %eights = and i64 %n, -8
  %whole = select i1 %dense, i64 %eights, i64 0
  br label %wide
wide:
  %w = phi i64 [ 0, %entry ], [ %w1, %wide.more ]
  %off = phi <8 x i1> [ zeroinitializer, %entry ], [ %off1, %wide.more ]
  %wide.left = icmp slt i64 %w, %whole
  br i1 %wide.left, label %wide.more, label %rest
wide.more:
  %wide.at = getelementptr i64, ptr %start, i64 %w
  %numbers = load <8 x i64>, ptr %wide.at, align 1
  %shifted = add <8 x i64> %numbers, %low
  %beyond = icmp uge <8 x i64> %shifted, %spans
  %off1 = or <8 x i1> %off, %beyond
  %w1 = add i64 %w, 8
  br label %wide
rest:
  %bits = bitcast <8 x i1> %off to i8
  %some.wide = icmp ne i8 %bits, 0
  br label %next
next:
  %i = phi i64 [ %whole, %rest ], [ %i1, %ask ]
  %some = phi i1 [ %some.wide, %rest ], [ %some1, %ask ]
  %done = icmp eq i64 %i, %n
  br i1 %done, label %told, label %ask
ask:
  %far = mul i64 %i, %step
  %at = getelementptr i8, ptr %start, i64 %far
  %number = load i64, ptr %at, align 1
  %from.low = add i64 %number, %below
  %outside = icmp uge i64 %from.low, %span
  %some1 = or i1 %some, %outside
  %i1 = add i64 %i, 1
  br label %next
told:
  br i1 %some, label %stop, label %out
stop:
  store i8 1, ptr @opweave_unfit
  ret void
out:
  ret void
}

; whether a value is the same as another one that was noted: by what it is, in lists, tuples and slices part by part
define internal i1 @same(ptr %noted, ptr %value) {
entry:
  %is = icmp eq ptr %noted, %value
  br i1 %is, label %yes, label %types
types:
  %kind = call ptr @slot(ptr %noted, i64 @TYPE@)
  %other = call ptr @slot(ptr %value, i64 @TYPE@)
  %alike = icmp eq ptr %kind, %other
  br i1 %alike, label %is.int, label %no
is.int:
  %int = icmp eq ptr %kind, @PyLong_Type
  %str = icmp eq ptr %kind, @PyUnicode_Type
  %plain = or i1 %int, %str
  br i1 %plain, label %compare, label %is.float
compare:
  %equal = call i32 @PyObject_RichCompareBool(ptr %noted, ptr %value, i32 2)
  %surely = icmp eq i32 %equal, 1
  ret i1 %surely
is.float:
  %float = icmp eq ptr %kind, @PyFloat_Type
  br i1 %float, label %floats, label %is.tuple
floats:                                                  ; 0.0 and -0.0 differ
  %a = call double @PyFloat_AsDouble(ptr %noted)
  %b = call double @PyFloat_AsDouble(ptr %value)
  %a.bits = bitcast double %a to i64
  %b.bits = bitcast double %b to i64
  %bits = icmp eq i64 %a.bits, %b.bits
  ret i1 %bits
is.tuple:
  %plain.tuple = icmp eq ptr %kind, @PyTuple_Type
  %size.tuple = icmp eq ptr %kind, @opweave_size
  %tuple = or i1 %plain.tuple, %size.tuple
  br i1 %tuple, label %tuples, label %is.list
tuples:
  %size.noted = call i64 @PyTuple_Size(ptr %noted)
  %size.value = call i64 @PyTuple_Size(ptr %value)
  br label %sized
is.list:
  %list = icmp eq ptr %kind, @PyList_Type
  br i1 %list, label %lists, label %is.slice
lists:
  %length.noted = call i64 @PyList_Size(ptr %noted)
  %length.value = call i64 @PyList_Size(ptr %value)
  br label %sized
sized:
  %n = phi i64 [ %size.noted, %tuples ], [ %length.noted, %lists ]
  %m = phi i64 [ %size.value, %tuples ], [ %length.value, %lists ]
  %in.list = phi i1 [ false, %tuples ], [ true, %lists ]
  %as.long = icmp eq i64 %n, %m
  br i1 %as.long, label %item, label %no
item:
  %i = phi i64 [ 0, %sized ], [ %i1, %item.same ]
  %done = icmp eq i64 %i, %n
  br i1 %done, label %yes, label %item.get
item.get:
  br i1 %in.list, label %from.list, label %from.tuple
from.list:
  %l.noted = call ptr @PyList_GetItem(ptr %noted, i64 %i)
  %l.value = call ptr @PyList_GetItem(ptr %value, i64 %i)
  br label %item.compare
from.tuple:
  %t.noted = call ptr @PyTuple_GetItem(ptr %noted, i64 %i)
  %t.value = call ptr @PyTuple_GetItem(ptr %value, i64 %i)
  br label %item.compare
item.compare:
  %one = phi ptr [ %l.noted, %from.list ], [ %t.noted, %from.tuple ]
  %two = phi ptr [ %l.value, %from.list ], [ %t.value, %from.tuple ]
  %items = call i1 @same(ptr %one, ptr %two)
  br i1 %items, label %item.same, label %no
item.same:
  %i1 = add i64 %i, 1
  br label %item
is.slice:
  %slice = icmp eq ptr %kind, @PySlice_Type
  br i1 %slice, label %start, label %no
start:
  %start.noted = call ptr @slot(ptr %noted, i64 @SLICE@)
  %start.value = call ptr @slot(ptr %value, i64 @SLICE@)
  %starts = call i1 @same(ptr %start.noted, ptr %start.value)
  br i1 %starts, label %stop, label %no
stop:
  %stop.at = add i64 @SLICE@, 8
  %stop.noted = call ptr @slot(ptr %noted, i64 %stop.at)
  %stop.value = call ptr @slot(ptr %value, i64 %stop.at)
  %stops = call i1 @same(ptr %stop.noted, ptr %stop.value)
  br i1 %stops, label %step, label %no
step:
  %step.at = add i64 @SLICE@, 16
  %step.noted = call ptr @slot(ptr %noted, i64 %step.at)
  %step.value = call ptr @slot(ptr %value, i64 %step.at)
  %steps = call i1 @same(ptr %step.noted, ptr %step.value)
  ret i1 %steps
no:
  ret i1 false
yes:
  ret i1 true
}

; whether two tuples of whole numbers are equal
define internal i1 @equal(ptr %noted, ptr %value) alwaysinline {
  %is = icmp eq ptr %noted, %value
  br i1 %is, label %yes, label %ask
ask:
  %told = call i1 @same(ptr %noted, ptr %value)
  ret i1 %told
yes:
  ret i1 true
}

; whether an argument is a tensor like the one that was noted
define internal i1 @fits(ptr %guard, ptr %arg) {
entry:
  %type = call ptr @slot(ptr %arg, i64 @TYPE@)
  %exact = icmp eq ptr %type, @opweave_tensor
  br i1 %exact, label %dtype, label %no
dtype:
  %dtype.p = getelementptr %Guard, ptr %guard, i64 0, i32 4
  %dtype.noted = load ptr, ptr %dtype.p
  %dtype.now = call ptr @slot(ptr %arg, i64 @T_DTYPE@)
  %dtype.same = icmp eq ptr %dtype.noted, %dtype.now
  br i1 %dtype.same, label %device, label %no
device:
  %device.p = getelementptr %Guard, ptr %guard, i64 0, i32 5
  %device.noted = load ptr, ptr %device.p
  %device.now = call ptr @slot(ptr %arg, i64 @T_DEVICE@)
  %device.same = icmp eq ptr %device.noted, %device.now
  br i1 %device.same, label %keys, label %no
keys:
  %keys.now = call ptr @slot(ptr %arg, i64 @T_KEYS@)
  %keys.p = getelementptr %Guard, ptr %guard, i64 0, i32 1
  %keys.noted = load ptr, ptr %keys.p
  %keys.is = icmp eq ptr %keys.now, %keys.noted
  br i1 %keys.is, label %sizes, label %keys.compare
keys.compare:
  %bits.p = getelementptr %Guard, ptr %guard, i64 0, i32 6
  %bits = load i64, ptr %bits.p
  %bits.now = call i64 @PyLong_AsLongLong(ptr %keys.now)
  %bits.same = icmp eq i64 %bits, %bits.now
  br i1 %bits.same, label %sizes, label %no
sizes:
  %sizes.p = getelementptr %Guard, ptr %guard, i64 0, i32 2
  %sizes.noted = load ptr, ptr %sizes.p
  %sizes.now = call ptr @slot(ptr %arg, i64 @T_SIZES@)
  %sizes.same = call i1 @equal(ptr %sizes.noted, ptr %sizes.now)
  br i1 %sizes.same, label %strides, label %no
strides:
  %strides.p = getelementptr %Guard, ptr %guard, i64 0, i32 3
  %strides.noted = load ptr, ptr %strides.p
  %strides.now = call ptr @slot(ptr %arg, i64 @T_STRIDES@)
  %strides.same = call i1 @equal(ptr %strides.noted, ptr %strides.now)
  ret i1 %strides.same
no:
  ret i1 false
}

; an item of a list or tuple
define internal ptr @item(ptr %items, i64 %i) {
entry:
  %type = call ptr @slot(ptr %items, i64 @TYPE@)
  %is.list = icmp eq ptr %type, @PyList_Type
  br i1 %is.list, label %list, label %tuple
list:
  %of.list = call ptr @PyList_GetItem(ptr %items, i64 %i)
  ret ptr %of.list
tuple:
  %of.tuple = call ptr @PyTuple_GetItem(ptr %items, i64 %i)
  ret ptr %of.tuple
}

; whether an argument is a list or tuple of tensors like those that were noted
define internal i1 @fit(ptr %guard, ptr %guards, ptr %arg) {
entry:
  %type.p = getelementptr %Guard, ptr %guard, i64 0, i32 1
  %type.noted = load ptr, ptr %type.p
  %type = call ptr @slot(ptr %arg, i64 @TYPE@)
  %same = icmp eq ptr %type, %type.noted
  br i1 %same, label %count, label %no
count:
  %count.p = getelementptr %Guard, ptr %guard, i64 0, i32 6
  %count.noted = load i64, ptr %count.p
  %is.list = icmp eq ptr %type, @PyList_Type
  br i1 %is.list, label %list, label %tuple
list:
  %of.list = call i64 @PyList_Size(ptr %arg)
  br label %counted
tuple:
  %of.tuple = call i64 @PyTuple_Size(ptr %arg)
  br label %counted
counted:
  %n = phi i64 [ %of.list, %list ], [ %of.tuple, %tuple ]
  %as.many = icmp eq i64 %n, %count.noted
  %first.p = getelementptr %Guard, ptr %guard, i64 0, i32 8
  %first = load i64, ptr %first.p
  br i1 %as.many, label %next, label %no
next:
  %i = phi i64 [ 0, %counted ], [ %i1, %good ]
  %done = icmp eq i64 %i, %n
  br i1 %done, label %yes, label %one
one:
  %item = call ptr @item(ptr %arg, i64 %i)
  %at = add i64 %first, %i
  %item.guard = getelementptr %Guard, ptr %guards, i64 %at
  %like = call i1 @fits(ptr %item.guard, ptr %item)
  br i1 %like, label %good, label %no
good:
  %i1 = add i64 %i, 1
  br label %next
no:
  ret i1 false
yes:
  ret i1 true
}

; where the elements of a tensor are; false where Python cannot tell, or with what it raised meanwhile
define internal i1 @placed_one(ptr %guard, ptr %arg, ptr %frame) {
entry:
  %place.p = getelementptr %Guard, ptr %guard, i64 0, i32 7
  %place = load i64, ptr %place.p
  %unread = icmp eq i64 %place, -1
  br i1 %unread, label %yes, label %tensor
tensor:
  %storage = call ptr @slot(ptr %arg, i64 @STORAGE@)
  %pointer.now = call ptr @slot(ptr %storage, i64 @POINTER@)
  %unknown = icmp eq ptr %pointer.now, @_Py_NoneStruct
  br i1 %unknown, label %ask, label %told
ask:
  %owner = call ptr @slot(ptr %storage, i64 @OWNER@)
  %no.data = icmp eq ptr %owner, @_Py_NoneStruct
  br i1 %no.data, label %no, label %look
look:                                                    ; a storage that was not asked for its address so far
  %asked = call ptr @PyObject_GetAttr(ptr %storage, ptr @name.ptr)
  %failed = icmp eq ptr %asked, null
  br i1 %failed, label %no, label %answered
answered:
  %asked.address = call ptr @PyLong_AsVoidPtr(ptr %asked)
  call void @Py_DecRef(ptr %asked)
  br label %found
told:
  %told.address = call ptr @PyLong_AsVoidPtr(ptr %pointer.now)
  br label %found
found:
  %base.p = phi ptr [ %asked.address, %answered ], [ %told.address, %told ]
  %base = ptrtoint ptr %base.p to i64
  %nowhere = icmp eq i64 %base, 0
  br i1 %nowhere, label %no, label %shift
shift:
  %offset.now = call ptr @slot(ptr %arg, i64 @OFFSET@)
  %offset = call i64 @PyLong_AsLongLong(ptr %offset.now)
  %item.p = getelementptr %Guard, ptr %guard, i64 0, i32 8
  %item = load i64, ptr %item.p
  %bytes = mul i64 %offset, %item
  %first = add i64 %base, %bytes
  %mask = sub i64 %item, 1
  %rest = and i64 %first, %mask
  %aligned = icmp eq i64 %rest, 0
  br i1 %aligned, label %write, label %no
write:
  %at = getelementptr i64, ptr %frame, i64 %place
  store i64 %first, ptr %at
  br label %yes
no:
  ret i1 false
yes:
  ret i1 true
}

; where the elements of the tensors among the arguments are, for the loops; false as for one
define internal i1 @placed(ptr %call, ptr %args, i64 %total, ptr %frame) {
entry:
  %guards.p = getelementptr %Call, ptr %call, i64 0, i32 6
  %guards = load ptr, ptr %guards.p
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %good ]
  %done = icmp eq i64 %i, %total
  br i1 %done, label %yes, label %one
one:
  %guard = getelementptr %Guard, ptr %guards, i64 %i
  %arg.p = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.p
  %kind = load i64, ptr %guard
  switch i64 %kind, label %good [ i64 1, label %tensor
                                  i64 3, label %is.read
                                  i64 4, label %items ]
tensor:
  %is.placed = call i1 @placed_one(ptr %guard, ptr %arg, ptr %frame)
  br i1 %is.placed, label %good, label %no
items:
  %count.p = getelementptr %Guard, ptr %guard, i64 0, i32 6
  %count = load i64, ptr %count.p
  %first.p = getelementptr %Guard, ptr %guard, i64 0, i32 8
  %first = load i64, ptr %first.p
  br label %items.next
items.next:
  %j = phi i64 [ 0, %items ], [ %j1, %item.good ]
  %items.done = icmp eq i64 %j, %count
  br i1 %items.done, label %good, label %item.one
item.one:
  %item = call ptr @item(ptr %arg, i64 %j)
  %item.number = add i64 %first, %j
  %item.guard = getelementptr %Guard, ptr %guards, i64 %item.number
  %item.placed = call i1 @placed_one(ptr %item.guard, ptr %item, ptr %frame)
  br i1 %item.placed, label %item.good, label %no
item.good:
  %j1 = add i64 %j, 1
  br label %items.next
is.read:
  %place.p = getelementptr %Guard, ptr %guard, i64 0, i32 7
  %place = load i64, ptr %place.p
  %unread = icmp eq i64 %place, -1
  br i1 %unread, label %good, label %number
number:                                                  ; behind the places are the numbers, as elements
  %double = call double @PyFloat_AsDouble(ptr %arg)
  %value.place = add i64 %place, @NUMBERS@
  %value.p = getelementptr i64, ptr %frame, i64 %value.place
  %width.p = getelementptr %Guard, ptr %guard, i64 0, i32 8
  %width = load i64, ptr %width.p
  %is.single = icmp eq i64 %width, 4
  br i1 %is.single, label %single, label %whole
single:
  %rounded = fptrunc double %double to float
  store float %rounded, ptr %value.p
  br label %numbered
whole:
  store double %double, ptr %value.p
  br label %numbered
numbered:
  %number.at = getelementptr i64, ptr %frame, i64 %place
  %value.address = ptrtoint ptr %value.p to i64
  store i64 %value.address, ptr %number.at
  br label %good
good:
  %i1 = add i64 %i, 1
  br label %next
no:
  ret i1 false
yes:
  ret i1 true
}

define internal i1 @matches(ptr %call, ptr %args, i64 %n, i64 %k, ptr %names, i64 %exclude, ptr %default) {
entry:
  %n.p = getelementptr %Call, ptr %call, i64 0, i32 1
  %n.noted = load i64, ptr %n.p
  %n.same = icmp eq i64 %n, %n.noted
  br i1 %n.same, label %keywords, label %no
keywords:
  %k.p = getelementptr %Call, ptr %call, i64 0, i32 2
  %k.noted = load i64, ptr %k.p
  %k.same = icmp eq i64 %k, %k.noted
  br i1 %k.same, label %excluded, label %no
excluded:
  %exclude.p = getelementptr %Call, ptr %call, i64 0, i32 4
  %exclude.noted = load i64, ptr %exclude.p
  %exclude.same = icmp eq i64 %exclude, %exclude.noted
  br i1 %exclude.same, label %defaults, label %no
defaults:
  %default.p = getelementptr %Call, ptr %call, i64 0, i32 5
  %default.noted = load ptr, ptr %default.p
  %default.same = icmp eq ptr %default, %default.noted
  br i1 %default.same, label %names.any, label %no
names.any:
  %total = add i64 %n, %k
  %guards.p = getelementptr %Call, ptr %call, i64 0, i32 6
  %guards = load ptr, ptr %guards.p
  %named = icmp ne i64 %k, 0
  br i1 %named, label %names.begin, label %next
names.begin:
  %names.p = getelementptr %Call, ptr %call, i64 0, i32 3
  %names.noted = load ptr, ptr %names.p
  %names.same = call i1 @same(ptr %names.noted, ptr %names)
  br i1 %names.same, label %next, label %no
next:
  %i = phi i64 [ 0, %names.any ], [ 0, %names.begin ], [ %i1, %good ]
  %done = icmp eq i64 %i, %total
  br i1 %done, label %yes, label %one
one:
  %arg.p = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.p
  %guard = getelementptr %Guard, ptr %guards, i64 %i
  %kind = load i64, ptr %guard
  switch i64 %kind, label %identity [ i64 1, label %tensor
                                      i64 2, label %value
                                      i64 3, label %number
                                      i64 4, label %items ]
identity:
  %object.p = getelementptr %Guard, ptr %guard, i64 0, i32 1
  %object = load ptr, ptr %object.p
  %is = icmp eq ptr %object, %arg
  br i1 %is, label %good, label %no
tensor:
  %like = call i1 @fits(ptr %guard, ptr %arg)
  br i1 %like, label %good, label %no
items:
  %all.like = call i1 @fit(ptr %guard, ptr %guards, ptr %arg)
  br i1 %all.like, label %good, label %no
number:
  %type = call ptr @slot(ptr %arg, i64 @TYPE@)
  %is.float = icmp eq ptr %type, @PyFloat_Type
  br i1 %is.float, label %size, label %no
size:
  %double = call double @PyFloat_AsDouble(ptr %arg)
  %magnitude = call double @llvm.fabs.f64(double %double)
  %fits = fcmp ole double %magnitude, @MOST_NUMBER@
  br i1 %fits, label %zero, label %no
zero:
  %is.zero = fcmp oeq double %double, 0.0
  br i1 %is.zero, label %no, label %unit
unit:
  %is.unit = fcmp oeq double %double, 1.0
  br i1 %is.unit, label %no, label %good
value:
  %noted.p = getelementptr %Guard, ptr %guard, i64 0, i32 1
  %noted = load ptr, ptr %noted.p
  %equal = call i1 @same(ptr %noted, ptr %arg)
  br i1 %equal, label %good, label %no
good:
  %i1 = add i64 %i, 1
  br label %next
no:
  ret i1 false
yes:
  ret i1 true
}

; run the loops; false where one of them cannot be
define internal i1 @loops(ptr %call, ptr %frame) {
entry:
  %places = alloca [8 x ptr]
  store i8 1, ptr @busy
  %count.p = getelementptr %Call, ptr %call, i64 0, i32 7
  %count = load i64, ptr %count.p
  %table.p = getelementptr %Call, ptr %call, i64 0, i32 8
  %table = load ptr, ptr %table.p
  br label %loop
loop:
  %l = phi i64 [ 0, %entry ], [ %l1, %loop.done ]
  %all = icmp eq i64 %l, %count
  br i1 %all, label %out, label %outer.begin
outer.begin:
  %this = getelementptr %Loop, ptr %table, i64 %l
  %function = load ptr, ptr %this
  %data.p = getelementptr %Loop, ptr %this, i64 0, i32 1
  %data = load ptr, ptr %data.p
  %times.p = getelementptr %Loop, ptr %this, i64 0, i32 2
  %times = load i64, ptr %times.p
  %dims.p = getelementptr %Loop, ptr %this, i64 0, i32 3
  %dims = load ptr, ptr %dims.p
  %steps.p = getelementptr %Loop, ptr %this, i64 0, i32 4
  %steps = load ptr, ptr %steps.p
  %operands.p = getelementptr %Loop, ptr %this, i64 0, i32 5
  %operands = load i64, ptr %operands.p
  br label %outer
outer:
  %o = phi i64 [ 0, %outer.begin ], [ %o1, %run ]
  %loop.end = icmp eq i64 %o, %times
  br i1 %loop.end, label %loop.done, label %operand
operand:
  %j = phi i64 [ 0, %outer ], [ %j1, %placed ]
  %placed.all = icmp eq i64 %j, %operands
  br i1 %placed.all, label %run, label %place
place:
  %operand.p = getelementptr %Loop, ptr %this, i64 0, i32 6, i64 %j
  %where = load i64, ptr %operand.p
  %offset.p = getelementptr %Operand, ptr %operand.p, i64 0, i32 1
  %offset = load i64, ptr %offset.p
  %step.p = getelementptr %Operand, ptr %operand.p, i64 0, i32 2
  %step = load i64, ptr %step.p
  %far = mul i64 %step, %o
  %from = add i64 %offset, %far
  %fixed = icmp eq i64 %where, -1
  br i1 %fixed, label %placed, label %based
based:
  %base.p = getelementptr i64, ptr %frame, i64 %where
  %base = load i64, ptr %base.p
  br label %placed
placed:
  %start = phi i64 [ 0, %place ], [ %base, %based ]
  %address = add i64 %start, %from
  %pointer = inttoptr i64 %address to ptr
  %slot = getelementptr ptr, ptr %places, i64 %j
  store ptr %pointer, ptr %slot
  %j1 = add i64 %j, 1
  br label %operand
run:
  call void %function(ptr %places, ptr %dims, ptr %steps, ptr %data)
  %o1 = add i64 %o, 1
  br label %outer
loop.done:
  %l1 = add i64 %l, 1
  %unfit = load i8, ptr @opweave_unfit
  %fits = icmp eq i8 %unfit, 0
  br i1 %fits, label %loop, label %stop
stop:
  store i8 0, ptr @opweave_unfit
  store i8 0, ptr @busy
  ret i1 false
out:
  store i8 0, ptr @busy
  ret i1 true
}

; remember a view in its storage, as `Storage.note_view` does
define internal i1 @noted(ptr %storage, ptr %view) {
entry:
  %pair = alloca [2 x ptr]
  %views = call ptr @slot(ptr %storage, i64 @VIEWS@)
  %first = icmp eq ptr %views, @_Py_NoneStruct
  br i1 %first, label %begin, label %count
begin:
  %fresh = call ptr @PyList_New(i64 0)
  %no.fresh = icmp eq ptr %fresh, null
  br i1 %no.fresh, label %failed, label %set
set:
  %views.p = getelementptr i8, ptr %storage, i64 @VIEWS@
  store ptr %fresh, ptr %views.p
  call void @Py_DecRef(ptr @_Py_NoneStruct)
  br label %append
count:
  %length = call i64 @PyList_Size(ptr %views)
  %many = icmp uge i64 %length, 16
  %ones = call i64 @llvm.ctpop.i64(i64 %length)
  %power = icmp eq i64 %ones, 1
  %clean = and i1 %many, %power
  br i1 %clean, label %python, label %append
append:
  %list = phi ptr [ %fresh, %set ], [ %views, %count ]
  %ref = call ptr @PyWeakref_NewRef(ptr %view, ptr null)
  %no.ref = icmp eq ptr %ref, null
  br i1 %no.ref, label %failed, label %add
add:
  %added = call i32 @PyList_Append(ptr %list, ptr %ref)
  call void @Py_DecRef(ptr %ref)
  %good = icmp eq i32 %added, 0
  ret i1 %good
python:                                                  ; which drops those that are gone
  %second = getelementptr ptr, ptr %pair, i64 1
  store ptr %storage, ptr %pair
  store ptr %view, ptr %second
  %answer = call ptr @PyObject_Vectorcall(ptr @note_view, ptr %pair, i64 2, ptr null)
  %no.answer = icmp eq ptr %answer, null
  br i1 %no.answer, label %failed, label %drop
drop:
  call void @Py_DecRef(ptr %answer)
  ret i1 true
failed:
  ret i1 false
}

; a view of an argument. Words of what it is made with: 0 the class, 1 `object.__new__`, as for a new tensor at 5 and 2;
; 2 whether autograd knows it as one, 3 elements from where the argument begins, 4 how many slots follow, 5 the slots
define internal ptr @view(ptr %made, ptr %arg) {
entry:
  %class.p = alloca ptr
  %class = call ptr @field(ptr %made, i32 0)
  store ptr %class, ptr %class.p
  %make = call ptr @field(ptr %made, i32 1)
  %result = call ptr @PyObject_Vectorcall(ptr %make, ptr %class.p, i64 1, ptr null)
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %out, label %fill
fill:
  %slots = getelementptr i64, ptr %made, i32 5
  %count = call i64 @number(ptr %made, i32 4)
  call void @fill(ptr %result, ptr %slots, i64 %count)
  %storage = call ptr @slot(ptr %arg, i64 @STORAGE@)
  call void @share(ptr %result, i64 @STORAGE@, ptr %storage)
  %offset.now = call ptr @slot(ptr %arg, i64 @OFFSET@)
  %far = call i64 @number(ptr %made, i32 3)
  %stays = icmp eq i64 %far, 0
  br i1 %stays, label %as.it.is, label %moved
as.it.is:
  call void @share(ptr %result, i64 @OFFSET@, ptr %offset.now)
  br label %of
moved:
  %offset = call i64 @PyLong_AsLongLong(ptr %offset.now)
  %place = add i64 %offset, %far
  %place.object = call ptr @PyLong_FromLongLong(i64 %place)
  %no.place = icmp eq ptr %place.object, null
  br i1 %no.place, label %drop, label %give
give:
  call void @give(ptr %result, i64 @OFFSET@, ptr %place.object)
  br label %of
of:
  %tracked = call i64 @number(ptr %made, i32 2)
  %untracked = icmp eq i64 %tracked, 0
  br i1 %untracked, label %alias, label %base
alias:
  call void @share(ptr %result, i64 @T_VIEW_OF@, ptr @_Py_NoneStruct)
  br label %note
base:
  %view.of = call ptr @slot(ptr %arg, i64 @T_VIEW_OF@)
  %is.base = icmp eq ptr %view.of, @_Py_NoneStruct
  %whose = select i1 %is.base, ptr %arg, ptr %view.of
  call void @share(ptr %result, i64 @T_VIEW_OF@, ptr %whose)
  br label %note
note:
  %good = call i1 @noted(ptr %storage, ptr %result)
  br i1 %good, label %out, label %drop
drop:
  call void @Py_DecRef(ptr %result)
  ret ptr null
out:
  ret ptr %result
}

; whether what is read of a tensor is apart from the one that is written, or lies as it does
define internal i1 @apart_one(ptr %guard, ptr %frame, i64 %target, i64 %target.end) {
entry:
  %place.p = getelementptr %Guard, ptr %guard, i64 0, i32 7
  %place = load i64, ptr %place.p
  %unread = icmp eq i64 %place, -1
  br i1 %unread, label %yes, label %compare
compare:
  %at = getelementptr i64, ptr %frame, i64 %place
  %first = load i64, ptr %at
  %bytes.p = getelementptr %Guard, ptr %guard, i64 0, i32 9
  %bytes = load i64, ptr %bytes.p
  %end = add i64 %first, %bytes
  %alike.p = getelementptr %Guard, ptr %guard, i64 0, i32 10
  %alike = load i64, ptr %alike.p
  %lies.as = icmp ne i64 %alike, 0
  %same = icmp eq i64 %first, %target
  %itself = and i1 %lies.as, %same
  %before = icmp ule i64 %end, %target
  %behind = icmp ule i64 %target.end, %first
  %apart = or i1 %before, %behind
  %fine = or i1 %itself, %apart
  ret i1 %fine
yes:
  ret i1 true
}

; the same of all tensors among the arguments, and in lists of them
define internal i1 @apart(ptr %call, i64 %total, ptr %frame, ptr %target.guard, i64 %target) {
entry:
  %guards.p = getelementptr %Call, ptr %call, i64 0, i32 6
  %guards = load ptr, ptr %guards.p
  %target.bytes.p = getelementptr %Guard, ptr %target.guard, i64 0, i32 9
  %target.bytes = load i64, ptr %target.bytes.p
  %target.end = add i64 %target, %target.bytes
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %good ]
  %done = icmp eq i64 %i, %total
  br i1 %done, label %yes, label %one
one:
  %guard = getelementptr %Guard, ptr %guards, i64 %i
  %kind = load i64, ptr %guard
  %is.list = icmp eq i64 %kind, 4
  br i1 %is.list, label %items, label %single
single:
  %single.apart = call i1 @apart_one(ptr %guard, ptr %frame, i64 %target, i64 %target.end)
  br i1 %single.apart, label %good, label %no
items:
  %count.p = getelementptr %Guard, ptr %guard, i64 0, i32 6
  %count = load i64, ptr %count.p
  %first.p = getelementptr %Guard, ptr %guard, i64 0, i32 8
  %first = load i64, ptr %first.p
  br label %items.next
items.next:
  %j = phi i64 [ 0, %items ], [ %j1, %item.good ]
  %items.done = icmp eq i64 %j, %count
  br i1 %items.done, label %good, label %item
item:
  %item.number = add i64 %first, %j
  %item.guard = getelementptr %Guard, ptr %guards, i64 %item.number
  %item.apart = call i1 @apart_one(ptr %item.guard, ptr %frame, i64 %target, i64 %target.end)
  br i1 %item.apart, label %item.good, label %no
item.good:
  %j1 = add i64 %j, 1
  br label %items.next
good:
  %i1 = add i64 %i, 1
  br label %next
no:
  ret i1 false
yes:
  ret i1 true
}

; whether a call that writes to an argument can be made
define internal i1 @writable(ptr %call, ptr %args, i64 %total, ptr %frame) {
entry:
  %kind.p = getelementptr %Call, ptr %call, i64 0, i32 9
  %kind = load i64, ptr %kind.p
  %writes = icmp eq i64 %kind, 3
  br i1 %writes, label %which.one, label %yes
which.one:
  %which.p = getelementptr %Call, ptr %call, i64 0, i32 10
  %which = load i64, ptr %which.p
  %made.p = getelementptr %Call, ptr %call, i64 0, i32 11
  %made = load ptr, ptr %made.p
  %arg.p = getelementptr ptr, ptr %args, i64 %which
  %arg = load ptr, ptr %arg.p
  %recorded = call i64 @number(ptr %made, i32 0)
  %any.view = icmp eq i64 %recorded, 0
  %view.of = call ptr @slot(ptr %arg, i64 @T_VIEW_OF@)
  %is.base = icmp eq ptr %view.of, @_Py_NoneStruct
  %allowed = or i1 %any.view, %is.base
  br i1 %allowed, label %places, label %based
based:                                                   ; a view of what has no history
  %base.type.p = getelementptr i8, ptr %view.of, i64 @TYPE@
  %base.type = load ptr, ptr %base.type.p
  %base.plain = icmp eq ptr %base.type, @opweave_tensor
  br i1 %base.plain, label %base.keys, label %no
base.keys:
  %keys = call ptr @slot(ptr %view.of, i64 @T_KEYS@)
  %keys.bits = call i64 @PyLong_AsLongLong(ptr %keys)
  %grad = and i64 %keys.bits, @GRAD@
  %no.grad = icmp eq i64 %grad, 0
  br i1 %no.grad, label %places, label %no
places:
  %guards.p = getelementptr %Call, ptr %call, i64 0, i32 6
  %guards = load ptr, ptr %guards.p
  %guard = getelementptr %Guard, ptr %guards, i64 %which
  %place = call i64 @number(ptr %made, i32 1)
  %at = getelementptr i64, ptr %frame, i64 %place
  %target = load i64, ptr %at
  %apart = call i1 @apart(ptr %call, i64 %total, ptr %frame, ptr %guard, i64 %target)
  ret i1 %apart
no:
  ret i1 false
yes:
  ret i1 true
}

; a fresh tensor, whose address goes to the frame
define internal ptr @made_at(ptr %made, ptr %at) {
entry:
  %result = call ptr @new(ptr %made)
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %out, label %address
address:
  %storage = call ptr @slot(ptr %result, i64 @STORAGE@)
  %pointer = call ptr @slot(ptr %storage, i64 @POINTER@)
  %place.p = call ptr @PyLong_AsVoidPtr(ptr %pointer)
  %place = ptrtoint ptr %place.p to i64
  store i64 %place, ptr %at
  ret ptr %result
out:
  ret ptr null
}

; let go of the first tensors of an array
define internal void @dropped(ptr %tensors, i64 %count) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %one ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %out, label %one
one:
  %tensor.p = getelementptr ptr, ptr %tensors, i64 %i
  %tensor = load ptr, ptr %tensor.p
  call void @Py_DecRef(ptr %tensor)
  %i1 = add i64 %i, 1
  br label %next
out:
  ret void
}

; make a call that was noted, and what is kept besides its result
define internal ptr @again(ptr %call, ptr %args, ptr %frame, ptr %kept) {
entry:
  %kind.p = getelementptr %Call, ptr %call, i64 0, i32 9
  %kind = load i64, ptr %kind.p
  %which.p = getelementptr %Call, ptr %call, i64 0, i32 10
  %which = load i64, ptr %which.p
  %made.p = getelementptr %Call, ptr %call, i64 0, i32 11
  %made = load ptr, ptr %made.p
  %arg.p = getelementptr ptr, ptr %args, i64 %which
  switch i64 %kind, label %fresh [ i64 1, label %of.argument
                                   i64 2, label %argument
                                   i64 3, label %write ]
of.argument:
  %base = load ptr, ptr %arg.p
  %view = call ptr @view(ptr %made, ptr %base)
  ret ptr %view
argument:
  %arg = load ptr, ptr %arg.p
  call void @Py_IncRef(ptr %arg)
  ret ptr %arg
write:                                                   ; and count that the memory was written
  %written = load ptr, ptr %arg.p
  %written.all = call i1 @loops(ptr %call, ptr %frame)
  %wrong = call ptr @PyErr_Occurred()
  %written.right = icmp eq ptr %wrong, null
  %written.well = and i1 %written.all, %written.right
  br i1 %written.well, label %version, label %none
version:
  %written.storage = call ptr @slot(ptr %written, i64 @STORAGE@)
  %version.p = getelementptr i8, ptr %written.storage, i64 @VERSION@
  %version.now = load ptr, ptr %version.p
  %version.number = call i64 @PyLong_AsLongLong(ptr %version.now)
  %version.next = add i64 %version.number, 1
  %version.object = call ptr @PyLong_FromLongLong(i64 %version.next)
  %no.version = icmp eq ptr %version.object, null
  br i1 %no.version, label %none, label %counted
counted:
  call void @keep(ptr %version.p, ptr %version.object)
  call void @Py_IncRef(ptr %written)
  ret ptr %written
fresh:
  %slot.p = getelementptr %Call, ptr %call, i64 0, i32 12
  %slot = load i64, ptr %slot.p
  %at = getelementptr i64, ptr %frame, i64 %slot
  %result = call ptr @made_at(ptr %made, ptr %at)
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %none, label %more
more:
  %count.p = getelementptr %Call, ptr %call, i64 0, i32 16
  %count = load i64, ptr %count.p
  %makers.p = getelementptr %Call, ptr %call, i64 0, i32 17
  %makers = load ptr, ptr %makers.p
  br label %keep.next
keep.next:
  %j = phi i64 [ 0, %more ], [ %j1, %keep.made ]
  %all.kept = icmp eq i64 %j, %count
  br i1 %all.kept, label %run, label %keep.one
keep.one:
  %maker.p = getelementptr ptr, ptr %makers, i64 %j
  %maker = load ptr, ptr %maker.p
  %j1 = add i64 %j, 1
  %keep.at = getelementptr i64, ptr %at, i64 %j1
  %one = call ptr @made_at(ptr %maker, ptr %keep.at)
  %no.one = icmp eq ptr %one, null
  br i1 %no.one, label %drop, label %keep.made
keep.made:
  %kept.p = getelementptr ptr, ptr %kept, i64 %j
  store ptr %one, ptr %kept.p
  br label %keep.next
run:
  %run.all = call i1 @loops(ptr %call, ptr %frame)
  %error = call ptr @PyErr_Occurred()
  %no.error = icmp eq ptr %error, null
  %right = and i1 %run.all, %no.error
  br i1 %right, label %good, label %drop
good:
  ret ptr %result
drop:
  %there = phi i64 [ %j, %keep.one ], [ %count, %run ]
  call void @dropped(ptr %kept, i64 %there)
  call void @Py_DecRef(ptr %result)
  ret ptr null
none:
  ret ptr null
}

define ptr @opweave_call(ptr %callable, ptr %args, i64 %flags, ptr %names) {
entry:
  %frame = alloca [@FRAME@ x i64]
  %given = alloca [@GIVEN@ x ptr]
  %kept = alloca [@KEPT@ x ptr]
  %known = call ptr @slot(ptr %callable, i64 @KNOWN@)
  %n = and i64 %flags, 9223372036854775807
  %unnamed = icmp eq ptr %names, null
  br i1 %unnamed, label %state, label %named
named:
  %k.some = call i64 @PyTuple_Size(ptr %names)
  br label %state
state:
  %k = phi i64 [ 0, %entry ], [ %k.some, %named ]
  %at.hand = call i1 @at_hand()
  br i1 %at.hand, label %inside, label %python
inside:
  %is.busy = load i8, ptr @busy
  %is.free = icmp eq i8 %is.busy, 0
  br i1 %is.free, label %included, label %python
included:
  %own = load ptr, ptr @thread.state
  %include.o = call ptr @PyDict_GetItem(ptr %own, ptr @name.include)
  %no.include = icmp eq ptr %include.o, null
  br i1 %no.include, label %python, label %excluded
excluded:
  %exclude.o = call ptr @PyDict_GetItem(ptr %own, ptr @name.exclude)
  %no.exclude = icmp eq ptr %exclude.o, null
  br i1 %no.exclude, label %python, label %effective
effective:                                               ; what is included and not excluded: nothing, or autocast
  %exclude.bits = call i64 @PyLong_AsLongLong(ptr %exclude.o)
  %nothing = icmp eq ptr %include.o, @opweave_zero
  br i1 %nothing, label %default, label %some
some:
  %include.bits = call i64 @PyLong_AsLongLong(ptr %include.o)
  %not.excluded = xor i64 %exclude.bits, -1
  %included.some = and i64 %include.bits, %not.excluded
  %others = and i64 %included.some, @NO_AUTOCAST@
  %only = icmp eq i64 %others, 0
  br i1 %only, label %default, label %python
default:
  %included.bits = phi i64 [ 0, %effective ], [ %included.some, %some ]
  %above = shl i64 %included.bits, 32
  %exclude = or i64 %exclude.bits, %above
  %defaults = load ptr, ptr @thread.default
  %default.o = call ptr @PyDict_GetItem(ptr %defaults, ptr @name.dtype)
  %epoch.noted = load i64, ptr %known
  %epoch = load i64, ptr @opweave_epoch
  %holds = icmp eq i64 %epoch, %epoch.noted
  br i1 %holds, label %calls, label %miss
calls:
  %head = getelementptr %Known, ptr %known, i64 0, i32 1
  br label %next
next:
  %link = phi ptr [ %head, %calls ], [ %call, %other ]
  %call = load ptr, ptr %link
  %end = icmp eq ptr %call, null
  br i1 %end, label %miss, label %try
try:
  %fits = call i1 @matches(ptr %call, ptr %args, i64 %n, i64 %k, ptr %names, i64 %exclude, ptr %default.o)
  br i1 %fits, label %hit, label %other
other:                                                   ; the link to the next is a call's first word
  br label %next
hit:
  %owner.p = getelementptr %Call, ptr %call, i64 0, i32 15
  %owner = load ptr, ptr %owner.p
  call void @Py_IncRef(ptr %owner)
  %hits.p = getelementptr %Call, ptr %call, i64 0, i32 14
  %hits = load i64, ptr %hits.p
  %hits.1 = add i64 %hits, 1
  store i64 %hits.1, ptr %hits.p
  %total = add i64 %n, %k
  %of.kind.p = getelementptr %Call, ptr %call, i64 0, i32 9
  %of.kind = load i64, ptr %of.kind.p
  %refused = icmp eq i64 %of.kind, 4                     ; a call that was found to be none for native code
  br i1 %refused, label %leave, label %where
where:
  %placed = call i1 @placed(ptr %call, ptr %args, i64 %total, ptr %frame)
  br i1 %placed, label %allowed, label %wrong
allowed:
  %may = call i1 @writable(ptr %call, ptr %args, i64 %total, ptr %frame)
  br i1 %may, label %make, label %leave
leave:
  call void @Py_DecRef(ptr %owner)
  br label %python
make:
  %result = call ptr @again(ptr %call, ptr %args, ptr %frame, ptr %kept)
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %wrong, label %last
wrong:                                                   ; without an error it is only not for native code
  %error = call ptr @PyErr_Occurred()
  %unfit = icmp eq ptr %error, null
  br i1 %unfit, label %leave, label %done
last:
  %finish.p = getelementptr %Call, ptr %call, i64 0, i32 13
  %finish = load ptr, ptr %finish.p
  %finished = icmp eq ptr %finish, null
  br i1 %finished, label %done, label %finishing
finishing:                                               ; finish(result, *arguments, *kept)
  store ptr %result, ptr %given
  %rest = getelementptr ptr, ptr %given, i64 1
  %bytes = mul i64 %total, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %args, i64 %bytes, i1 false)
  %all = add i64 %total, 1
  %kept.count.p = getelementptr %Call, ptr %call, i64 0, i32 16
  %kept.count = load i64, ptr %kept.count.p
  %kept.at = getelementptr ptr, ptr %given, i64 %all
  %kept.bytes = mul i64 %kept.count, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %kept.at, ptr %kept, i64 %kept.bytes, i1 false)
  %all.given = add i64 %all, %kept.count
  %ended = call ptr @PyObject_Vectorcall(ptr %finish, ptr %given, i64 %all.given, ptr null)
  call void @dropped(ptr %kept, i64 %kept.count)
  call void @Py_DecRef(ptr %result)
  br label %done
done:
  %answer = phi ptr [ null, %wrong ], [ %result, %last ], [ %ended, %finishing ]
  call void @Py_DecRef(ptr %owner)
  ret ptr %answer

miss:
  %wait.p = getelementptr %Known, ptr %known, i64 0, i32 4
  %wait = load i64, ptr %wait.p
  %less = sub i64 %wait, 1
  store i64 %less, ptr %wait.p
  %now = icmp sle i64 %wait, 0
  br i1 %now, label %learn, label %python
learn:
  %learn.p = getelementptr %Known, ptr %known, i64 0, i32 3
  %learn.f = load ptr, ptr %learn.p
  %learned = call ptr @PyObject_Vectorcall(ptr %learn.f, ptr %args, i64 %n, ptr %names)
  ret ptr %learned
python:
  %otherwise.p = getelementptr %Known, ptr %known, i64 0, i32 2
  %otherwise = load ptr, ptr %otherwise.p
  %told = call ptr @PyObject_Vectorcall(ptr %otherwise, ptr %args, i64 %flags, ptr %names)
  ret ptr %told
}
