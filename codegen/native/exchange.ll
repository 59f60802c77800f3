; `Tensor.__dlpack_c_exchange_api__` (exchange.py): DLPack's table of C functions between tensors and other libraries.
;
; What is usual is done here: plain tensors of the CPU, on memory that may be written, while nobody watches. `facts` and
; `adopt` (registry/exchange.py) do the rest, and raise the errors. All but `allocate` and `release`, which any thread
; may call, and `stream` are called by who holds the GIL.

%DLTensor = type { ptr, i32, i32, i32, i32, ptr, ptr, i64 } ; data, device, ndim, dtype, shape, strides, byte_offset
; version; context, deleter; flags; the tensor. Behind it what keeps the memory, and the sizes and strides
%Managed = type { i32, i32, ptr, ptr, i64, %DLTensor, ptr }
%Facts = type { i64, i64, i64, i64 }                     ; address of the first element, device and its number, flags

declare ptr @PyDict_GetItem(ptr, ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare i64 @PyLong_AsUnsignedLongLong(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyLong_FromUnsignedLongLong(i64)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyErr_Occurred()
declare ptr @PyErr_NoMemory()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)
declare ptr @PyObject_Str(ptr)
declare ptr @PyUnicode_AsUTF8AndSize(ptr, ptr)
declare ptr @PyBytes_FromStringAndSize(ptr, i64)
declare ptr @PyBytes_AsString(ptr)
declare i64 @PyBytes_Size(ptr)
declare ptr @PyCapsule_New(ptr, ptr, ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)
declare i32 @PyCapsule_SetDestructor(ptr, ptr)
declare ptr @PyType_GenericAlloc(ptr, i64)
declare ptr @PyMem_RawMalloc(i64)
declare void @PyMem_RawFree(ptr)
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @Py_IsInitialized()
declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)
declare { i64, i1 } @llvm.sadd.with.overflow.i64(i64, i64)

@_Py_NoneStruct = external global i8
@opweave_zero = external global i8
@opweave_false = external global i8
@opweave_cpu = external global i8                        ; the device
@opweave_keys = external global i8                       ; what plain tensors on it have
@opweave_dtypes = external global i8                     ; dtypes by their DLPack words
@opweave_tensor = external global i8                     ; classes
@opweave_storage = external global i8
@opweave_lease = external global i8
@opweave_foreign = external global i8
@opweave_ndarray = external global i8
@opweave_facts = external global i8                      ; functions of registry/exchange.py
@opweave_adopt = external global i8
@opweave_refuse = external global i8
@opweave_lend = external global i8
@opweave_work_stream = external global i8
@opweave_homes = external global i8                      ; lists of free memory by size: registry.memory
@name.include = external global i8
@name.exclude = external global i8
@name.ptr = external global i8
@name.name = external global i8
@name.pop = external global i8
@capsule.name = internal constant [16 x i8] c"opweave_foreign\00"
@unknown = internal constant [13 x i8] c"RuntimeError\00"

; ---- from tensors

; the number that the thread's state has under a name; -1 where Python cannot tell
define internal i64 @of_thread(ptr %name) {
entry:
  %dict = load ptr, ptr @thread.state
  %value = call ptr @PyDict_GetItem(ptr %dict, ptr %name)
  %none = icmp eq ptr %value, null
  br i1 %none, label %no, label %some
some:
  %zero = icmp eq ptr %value, @opweave_zero
  br i1 %zero, label %nothing, label %number
number:
  %result = call i64 @PyLong_AsLongLong(ptr %value)
  ret i64 %result
nothing:
  ret i64 0
no:
  ret i64 -1
}

; whether this is a plain tensor of the CPU whose data may be shown now
define internal i1 @plain(ptr %t) {
entry:
  %type = call ptr @slot(ptr %t, i64 @TYPE@)
  %exact = icmp eq ptr %type, @opweave_tensor
  br i1 %exact, label %whole, label %no
whole:                                                   ; `Tensor.__new__` alone leaves its slots empty
  %storage = call ptr @slot(ptr %t, i64 @STORAGE@)
  %sizes = call ptr @slot(ptr %t, i64 @T_SIZES@)
  %strides = call ptr @slot(ptr %t, i64 @T_STRIDES@)
  %offset = call ptr @slot(ptr %t, i64 @OFFSET@)
  %dtype = call ptr @slot(ptr %t, i64 @T_DTYPE@)
  %keys = call ptr @slot(ptr %t, i64 @T_KEYS@)
  %no.storage = icmp eq ptr %storage, null
  %no.sizes = icmp eq ptr %sizes, null
  %no.strides = icmp eq ptr %strides, null
  %no.offset = icmp eq ptr %offset, null
  %no.dtype = icmp eq ptr %dtype, null
  %no.keys = icmp eq ptr %keys, null
  %lacks.1 = or i1 %no.storage, %no.sizes
  %lacks.2 = or i1 %no.strides, %no.offset
  %lacks.3 = or i1 %no.dtype, %no.keys
  %lacks.4 = or i1 %lacks.1, %lacks.2
  %lacks = or i1 %lacks.3, %lacks.4
  br i1 %lacks, label %no, label %device
device:
  %device.now = call ptr @slot(ptr %t, i64 @T_DEVICE@)
  %host = icmp eq ptr %device.now, @opweave_cpu
  br i1 %host, label %ordinary, label %no
ordinary:
  %bits = call i64 @PyLong_AsLongLong(ptr %keys)
  %others = and i64 %bits, @EXTRAORDINARY@
  %usual = icmp eq i64 %others, 0
  br i1 %usual, label %watched, label %no
watched:
  %told = call i1 @at_hand()
  br i1 %told, label %included, label %no
included:
  %include = call i64 @of_thread(ptr @name.include)
  %alone = icmp eq i64 %include, 0
  br i1 %alone, label %history, label %no
history:
  %grad = and i64 %bits, @GRAD@
  %free = icmp eq i64 %grad, 0
  br i1 %free, label %yes, label %excluded
excluded:
  %exclude = call i64 @of_thread(ptr @name.exclude)
  %unread = icmp eq i64 %exclude, -1
  %off = and i64 %exclude, @GRAD@
  %recorded = icmp eq i64 %off, 0
  %refused = or i1 %unread, %recorded
  br i1 %refused, label %no, label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; whether the memory of a storage is known to be one that may be written
define internal i1 @writable(ptr %storage) {
entry:
  %owner = call ptr @slot(ptr %storage, i64 @OWNER@)
  %nobody = icmp eq ptr %owner, null
  br i1 %nobody, label %no, label %asked
asked:
  %type = call ptr @slot(ptr %owner, i64 @TYPE@)
  %lease = icmp eq ptr %type, @opweave_lease
  br i1 %lease, label %yes, label %not.lease
not.lease:
  %foreign = icmp eq ptr %type, @opweave_foreign
  br i1 %foreign, label %yes, label %not.foreign
not.foreign:
  %array = icmp eq ptr %type, @opweave_ndarray
  %readable = icmp ne i64 @ARRAY_FLAGS@, 0
  %look = and i1 %array, %readable
  br i1 %look, label %ask, label %no
ask:
  %flags.p = getelementptr i8, ptr %owner, i64 @ARRAY_FLAGS@
  %flags = load i32, ptr %flags.p
  %bit = and i32 %flags, 1024                            ; NPY_ARRAY_WRITEABLE
  %is = icmp ne i32 %bit, 0
  ret i1 %is
yes:
  ret i1 true
no:
  ret i1 false
}

; what there is to know of a tensor's memory; false with an exception
define internal i1 @ask(ptr %t, ptr %facts) {
entry:
  %arg = alloca ptr
  %is.plain = call i1 @plain(ptr %t)
  br i1 %is.plain, label %kept, label %python
kept:
  %storage = call ptr @slot(ptr %t, i64 @STORAGE@)
  %may = call i1 @writable(ptr %storage)
  br i1 %may, label %pointer, label %python
pointer:
  %pointer.now = call ptr @slot(ptr %storage, i64 @POINTER@)
  %no.slot = icmp eq ptr %pointer.now, null
  %none = icmp eq ptr %pointer.now, @_Py_NoneStruct
  %unknown = or i1 %no.slot, %none
  br i1 %unknown, label %get, label %told
get:                                                     ; a storage that was not asked for its address so far
  %got = call ptr @PyObject_GetAttr(ptr %storage, ptr @name.ptr)
  %failed = icmp eq ptr %got, null
  br i1 %failed, label %no, label %answered
answered:
  %asked.address = call i64 @PyLong_AsUnsignedLongLong(ptr %got)
  call void @Py_DecRef(ptr %got)
  br label %found
told:
  %told.address = call i64 @PyLong_AsUnsignedLongLong(ptr %pointer.now)
  br label %found
found:
  %base = phi i64 [ %asked.address, %answered ], [ %told.address, %told ]
  %offset.now = call ptr @slot(ptr %t, i64 @OFFSET@)
  %offset = call i64 @PyLong_AsLongLong(ptr %offset.now)
  %dtype = call ptr @slot(ptr %t, i64 @T_DTYPE@)
  %item.now = call ptr @slot(ptr %dtype, i64 @ITEMSIZE@)
  %item = call i64 @PyLong_AsLongLong(ptr %item.now)
  %bytes = mul i64 %offset, %item
  %first = add i64 %base, %bytes
  %device.p = getelementptr %Facts, ptr %facts, i64 0, i32 1
  %number.p = getelementptr %Facts, ptr %facts, i64 0, i32 2
  %flags.p = getelementptr %Facts, ptr %facts, i64 0, i32 3
  store i64 %first, ptr %facts
  store i64 1, ptr %device.p
  store i64 0, ptr %number.p
  store i64 0, ptr %flags.p
  ret i1 true

python:
  call void @PyErr_Clear()
  store ptr %t, ptr %arg
  %answer = call ptr @PyObject_Vectorcall(ptr @opweave_facts, ptr %arg, i64 1, ptr null)
  %raised = icmp eq ptr %answer, null
  br i1 %raised, label %no, label %next
next:
  %i = phi i64 [ 0, %python ], [ %i1, %next ]
  %part = call ptr @PyTuple_GetItem(ptr %answer, i64 %i)
  %value = call i64 @PyLong_AsUnsignedLongLong(ptr %part)
  %where = getelementptr i64, ptr %facts, i64 %i
  store i64 %value, ptr %where
  %i1 = add i64 %i, 1
  %done = icmp eq i64 %i1, 4
  br i1 %done, label %all, label %next
all:
  call void @Py_DecRef(ptr %answer)
  ret i1 true
no:
  ret i1 false
}

; write the numbers of a tuple; how many differ from what was there
define internal i64 @write(ptr %tuple, ptr %at, i64 %count) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %more ]
  %changed = phi i64 [ 0, %entry ], [ %changed1, %more ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %out, label %more
more:
  %item = call ptr @PyTuple_GetItem(ptr %tuple, i64 %i)
  %value = call i64 @PyLong_AsLongLong(ptr %item)
  %where = getelementptr i64, ptr %at, i64 %i
  %before = load i64, ptr %where
  store i64 %value, ptr %where
  %other = icmp ne i64 %before, %value
  %one = zext i1 %other to i64
  %changed1 = add i64 %changed, %one
  %i1 = add i64 %i, 1
  br label %next
out:
  ret i64 %changed
}

; fill all of a DLTensor but where its sizes and strides are
define internal void @describe(ptr %t, ptr %facts, i64 %ndim, ptr %dims, ptr %out) {
  %dtype = call ptr @slot(ptr %t, i64 @T_DTYPE@)
  %word.now = call ptr @slot(ptr %dtype, i64 @DLPACK@)
  %word = call i64 @PyLong_AsLongLong(ptr %word.now)
  %word.4 = trunc i64 %word to i32
  %ndim.4 = trunc i64 %ndim to i32
  %device.from = getelementptr %Facts, ptr %facts, i64 0, i32 1
  %number.from = getelementptr %Facts, ptr %facts, i64 0, i32 2
  %data = load i64, ptr %facts
  %data.p = inttoptr i64 %data to ptr
  %device = load i64, ptr %device.from
  %device.4 = trunc i64 %device to i32
  %number = load i64, ptr %number.from
  %number.4 = trunc i64 %number to i32
  %strides = getelementptr i64, ptr %dims, i64 %ndim
  %device.to = getelementptr %DLTensor, ptr %out, i64 0, i32 1
  %number.to = getelementptr %DLTensor, ptr %out, i64 0, i32 2
  %ndim.to = getelementptr %DLTensor, ptr %out, i64 0, i32 3
  %dtype.to = getelementptr %DLTensor, ptr %out, i64 0, i32 4
  %shape.to = getelementptr %DLTensor, ptr %out, i64 0, i32 5
  %strides.to = getelementptr %DLTensor, ptr %out, i64 0, i32 6
  %offset.to = getelementptr %DLTensor, ptr %out, i64 0, i32 7
  store ptr %data.p, ptr %out
  store i32 %device.4, ptr %device.to
  store i32 %number.4, ptr %number.to
  store i32 %ndim.4, ptr %ndim.to
  store i32 %word.4, ptr %dtype.to
  store ptr %dims, ptr %shape.to
  store ptr %strides, ptr %strides.to
  store i64 0, ptr %offset.to
  ret void
}

; a tensor that keeps an object as long as it lives
define internal ptr @managed(ptr %keep, i64 %ndim, i64 %flags) {
entry:
  %numbers = mul i64 %ndim, 16
  %head = ptrtoint ptr getelementptr (%Managed, ptr null, i64 1) to i64
  %bytes = add i64 %head, %numbers
  %m = call ptr @PyMem_RawMalloc(i64 %bytes)
  %none = icmp eq ptr %m, null
  br i1 %none, label %out, label %fill
fill:
  %minor.p = getelementptr %Managed, ptr %m, i64 0, i32 1
  %context.p = getelementptr %Managed, ptr %m, i64 0, i32 2
  %deleter.p = getelementptr %Managed, ptr %m, i64 0, i32 3
  %flags.p = getelementptr %Managed, ptr %m, i64 0, i32 4
  %keep.p = getelementptr %Managed, ptr %m, i64 0, i32 6
  store i32 @MAJOR@, ptr %m
  store i32 @MINOR@, ptr %minor.p
  store ptr %m, ptr %context.p
  store ptr @opweave_release, ptr %deleter.p
  store i64 %flags, ptr %flags.p
  call void @Py_IncRef(ptr %keep)
  store ptr %keep, ptr %keep.p
  ret ptr %m
out:
  ret ptr null
}

; let go what a tensor keeps; after Python's end it stays as it is
define void @opweave_release(ptr %m) {
entry:
  %alive = call i32 @Py_IsInitialized()
  %dead = icmp eq i32 %alive, 0
  br i1 %dead, label %out, label %go
go:
  %gil = call i32 @PyGILState_Ensure()
  %keep.p = getelementptr %Managed, ptr %m, i64 0, i32 6
  %keep = load ptr, ptr %keep.p
  call void @Py_DecRef(ptr %keep)
  call void @PyGILState_Release(i32 %gil)
  call void @PyMem_RawFree(ptr %m)
  br label %out
out:
  ret void
}

define i32 @opweave_from_tensor(ptr %t, ptr %out) {
entry:
  %facts = alloca %Facts
  %known = call i1 @ask(ptr %t, ptr %facts)
  br i1 %known, label %make, label %no
make:
  %sizes = call ptr @slot(ptr %t, i64 @T_SIZES@)
  %strides = call ptr @slot(ptr %t, i64 @T_STRIDES@)
  %storage = call ptr @slot(ptr %t, i64 @STORAGE@)
  %ndim = call i64 @PyTuple_Size(ptr %sizes)
  %flags.p = getelementptr %Facts, ptr %facts, i64 0, i32 3
  %flags = load i64, ptr %flags.p
  %m = call ptr @managed(ptr %storage, i64 %ndim, i64 %flags)
  %none = icmp eq ptr %m, null
  br i1 %none, label %no.memory, label %fill
fill:
  %dims = getelementptr %Managed, ptr %m, i64 1
  %dims.strides = getelementptr i64, ptr %dims, i64 %ndim
  %written.1 = call i64 @write(ptr %sizes, ptr %dims, i64 %ndim)
  %written.2 = call i64 @write(ptr %strides, ptr %dims.strides, i64 %ndim)
  %shown = getelementptr %Managed, ptr %m, i64 0, i32 5
  call void @describe(ptr %t, ptr %facts, i64 %ndim, ptr %dims, ptr %shown)
  %raised = call ptr @PyErr_Occurred()
  %good = icmp eq ptr %raised, null
  br i1 %good, label %yes, label %undo
yes:
  store ptr %m, ptr %out
  ret i32 0
undo:
  call void @opweave_release(ptr %m)
  ret i32 -1
no.memory:
  %error = call ptr @PyErr_NoMemory()
  ret i32 -1
no:
  ret i32 -1
}

; The same without ownership: sizes and strides are in bytes that the tensor keeps, until it is laid out otherwise.
define i32 @opweave_show_tensor(ptr %t, ptr %out) {
entry:
  %facts = alloca %Facts
  %known = call i1 @ask(ptr %t, ptr %facts)
  br i1 %known, label %measure, label %no
measure:
  %sizes = call ptr @slot(ptr %t, i64 @T_SIZES@)
  %strides = call ptr @slot(ptr %t, i64 @T_STRIDES@)
  %ndim = call i64 @PyTuple_Size(ptr %sizes)
  %bytes = mul i64 %ndim, 16
  %room.p = getelementptr i8, ptr %t, i64 @T_DIMS@
  %room = load ptr, ptr %room.p
  %none = icmp eq ptr %room, null
  br i1 %none, label %fresh, label %used
used:
  %room.bytes = call i64 @PyBytes_Size(ptr %room)
  %fits = icmp eq i64 %room.bytes, %bytes
  br i1 %fits, label %compare, label %fresh
compare:
  %dims.used = call ptr @PyBytes_AsString(ptr %room)
  br label %fill
fresh:
  %made = call ptr @PyBytes_FromStringAndSize(ptr null, i64 %bytes)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %no, label %put
put:
  call void @keep(ptr %room.p, ptr %made)
  %dims.made = call ptr @PyBytes_AsString(ptr %made)
  br label %fill
fill:
  %dims = phi ptr [ %dims.used, %compare ], [ %dims.made, %put ]
  %dims.strides = getelementptr i64, ptr %dims, i64 %ndim
  %written.1 = call i64 @write(ptr %sizes, ptr %dims, i64 %ndim)
  %written.2 = call i64 @write(ptr %strides, ptr %dims.strides, i64 %ndim)
  call void @describe(ptr %t, ptr %facts, i64 %ndim, ptr %dims, ptr %out)
  %raised = call ptr @PyErr_Occurred()
  %good = icmp eq ptr %raised, null
  br i1 %good, label %yes, label %no
yes:
  ret i32 0
no:
  ret i32 -1
}

; ---- to tensors

; a tuple of numbers; null with an exception
define internal ptr @tuple(ptr %numbers, i64 %count) {
entry:
  %result = call ptr @PyTuple_New(i64 %count)
  %none = icmp eq ptr %result, null
  br i1 %none, label %no, label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %put ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %out, label %more
more:
  %where = getelementptr i64, ptr %numbers, i64 %i
  %value = load i64, ptr %where
  %item = call ptr @PyLong_FromLongLong(i64 %value)
  %failed = icmp eq ptr %item, null
  br i1 %failed, label %drop, label %put
put:
  %set = call i32 @PyTuple_SetItem(ptr %result, i64 %i, ptr %item)
  %i1 = add i64 %i, 1
  br label %next
out:
  ret ptr %result
drop:
  call void @Py_DecRef(ptr %result)
  ret ptr null
no:
  ret ptr null
}

; how many elements lie from the first to the last; -1 for what is no layout of a tensor
define internal i64 @spanned(ptr %sizes, ptr %strides, i64 %count) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %add ]
  %last = phi i64 [ 0, %entry ], [ %last1, %add ]
  %empty = phi i1 [ false, %entry ], [ %empty1, %add ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %out, label %more
more:
  %size.p = getelementptr i64, ptr %sizes, i64 %i
  %size = load i64, ptr %size.p
  %stride.p = getelementptr i64, ptr %strides, i64 %i
  %stride = load i64, ptr %stride.p
  %size.bad = icmp slt i64 %size, 0
  %stride.bad = icmp slt i64 %stride, 0
  %bad = or i1 %size.bad, %stride.bad
  br i1 %bad, label %no, label %multiply
multiply:
  %zero = icmp eq i64 %size, 0
  %empty1 = or i1 %empty, %zero
  %steps = sub i64 %size, 1
  %steps.0 = select i1 %zero, i64 0, i64 %steps
  %product = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %steps.0, i64 %stride)
  %product.value = extractvalue { i64, i1 } %product, 0
  %product.bad = extractvalue { i64, i1 } %product, 1
  br i1 %product.bad, label %no, label %sum
sum:
  %total = call { i64, i1 } @llvm.sadd.with.overflow.i64(i64 %last, i64 %product.value)
  %last1 = extractvalue { i64, i1 } %total, 0
  %total.bad = extractvalue { i64, i1 } %total, 1
  br i1 %total.bad, label %no, label %add
add:
  %i1 = add i64 %i, 1
  br label %next
out:
  %elements = add i64 %last, 1
  %result = select i1 %empty, i64 0, i64 %elements
  ret i64 %result
no:
  ret i64 -1
}

; what a capsule's end is to the tensor that it holds
define internal void @destroy(ptr %capsule) {
entry:
  %m = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr @capsule.name)
  %deleter.p = getelementptr %Managed, ptr %m, i64 0, i32 3
  %deleter = load ptr, ptr %deleter.p
  %none = icmp eq ptr %deleter, null
  br i1 %none, label %out, label %delete
delete:
  call void %deleter(ptr %m)
  br label %out
out:
  ret void
}

; a tensor on memory of the CPU; sizes and strides become its own, and null with an exception where there is no memory
define internal ptr @adopted(ptr %capsule, ptr %dtype, ptr %sizes, ptr %strides, i64 %data, i64 %bytes) {
entry:
  %address = call ptr @PyLong_FromUnsignedLongLong(i64 %data)
  %no.address = icmp eq ptr %address, null
  br i1 %no.address, label %drop.layout, label %measured
measured:
  %nbytes = call ptr @PyLong_FromLongLong(i64 %bytes)
  %no.bytes = icmp eq ptr %nbytes, null
  br i1 %no.bytes, label %drop.address, label %owned
owned:
  %owner = call ptr @PyType_GenericAlloc(ptr @opweave_foreign, i64 0)
  %no.owner = icmp eq ptr %owner, null
  br i1 %no.owner, label %drop.bytes, label %stored
stored:
  call void @share(ptr %owner, i64 @F_CAPSULE@, ptr %capsule)
  call void @share(ptr %owner, i64 @F_ADDRESS@, ptr %address)
  call void @share(ptr %owner, i64 @F_NBYTES@, ptr %nbytes)
  %storage = call ptr @PyType_GenericAlloc(ptr @opweave_storage, i64 0)
  %no.storage = icmp eq ptr %storage, null
  br i1 %no.storage, label %drop.owner, label %filled
filled:
  call void @give(ptr %storage, i64 @OWNER@, ptr %owner)
  call void @give(ptr %storage, i64 @POINTER@, ptr %address)
  call void @give(ptr %storage, i64 @S_NBYTES@, ptr %nbytes)
  call void @share(ptr %storage, i64 @S_DEVICE@, ptr @opweave_cpu)
  call void @share(ptr %storage, i64 @S_VERSION@, ptr @opweave_zero)
  call void @share(ptr %storage, i64 @S_SAVED@, ptr @opweave_false)
  call void @share(ptr %storage, i64 @S_BYTES@, ptr @_Py_NoneStruct)
  call void @share(ptr %storage, i64 @S_VIEWS@, ptr @_Py_NoneStruct)
  %t = call ptr @PyType_GenericAlloc(ptr @opweave_tensor, i64 0)
  %no.tensor = icmp eq ptr %t, null
  br i1 %no.tensor, label %drop.storage, label %whole
whole:
  call void @give(ptr %t, i64 @STORAGE@, ptr %storage)
  call void @give(ptr %t, i64 @T_SIZES@, ptr %sizes)
  call void @give(ptr %t, i64 @T_STRIDES@, ptr %strides)
  call void @share(ptr %t, i64 @OFFSET@, ptr @opweave_zero)
  call void @share(ptr %t, i64 @T_DTYPE@, ptr %dtype)
  call void @share(ptr %t, i64 @T_DEVICE@, ptr @opweave_cpu)
  call void @share(ptr %t, i64 @T_KEYS@, ptr @opweave_keys)
  call void @share(ptr %t, i64 @T_CACHED@, ptr @_Py_NoneStruct)
  call void @share(ptr %t, i64 @T_VIEW_OF@, ptr @_Py_NoneStruct)
  call void @share(ptr %t, i64 @T_AUTOGRAD@, ptr @_Py_NoneStruct)
  ret ptr %t
drop.storage:
  call void @Py_DecRef(ptr %storage)
  br label %drop.layout
drop.owner:
  call void @Py_DecRef(ptr %owner)
  br label %drop.bytes
drop.bytes:
  call void @Py_DecRef(ptr %nbytes)
  br label %drop.address
drop.address:
  call void @Py_DecRef(ptr %address)
  br label %drop.layout
drop.layout:
  call void @Py_DecRef(ptr %sizes)
  call void @Py_DecRef(ptr %strides)
  ret ptr null
}

; Where it fails, the tensor stays the caller's, who deletes it.
define i32 @opweave_to_tensor(ptr %m, ptr %out) {
entry:
  %args = alloca [4 x ptr]
  %numbers = alloca [6 x i64]
  %major = load i32, ptr %m
  %known = icmp eq i32 %major, @MAJOR@
  br i1 %known, label %read, label %other
other:                                                   ; all that is known of it is its version
  %version = zext i32 %major to i64
  store i64 %version, ptr %numbers
  %told = call ptr @tuple(ptr %numbers, i64 1)
  %untold = icmp eq ptr %told, null
  br i1 %untold, label %no, label %refuse
refuse:
  store ptr %told, ptr %args
  %refused = call ptr @PyObject_Vectorcall(ptr @opweave_refuse, ptr %args, i64 1, ptr null)
  call void @Py_DecRef(ptr %told)
  ret i32 -1

read:
  %flags.p = getelementptr %Managed, ptr %m, i64 0, i32 4
  %dl = getelementptr %Managed, ptr %m, i64 0, i32 5
  %device.p = getelementptr %DLTensor, ptr %dl, i64 0, i32 1
  %number.p = getelementptr %DLTensor, ptr %dl, i64 0, i32 2
  %ndim.p = getelementptr %DLTensor, ptr %dl, i64 0, i32 3
  %dtype.p = getelementptr %DLTensor, ptr %dl, i64 0, i32 4
  %shape.p = getelementptr %DLTensor, ptr %dl, i64 0, i32 5
  %strides.p = getelementptr %DLTensor, ptr %dl, i64 0, i32 6
  %offset.p = getelementptr %DLTensor, ptr %dl, i64 0, i32 7
  %flags = load i64, ptr %flags.p
  %start = load i64, ptr %dl
  %device = load i32, ptr %device.p
  %number = load i32, ptr %number.p
  %ndim.4 = load i32, ptr %ndim.p
  %word = load i32, ptr %dtype.p
  %shape = load ptr, ptr %shape.p
  %strides.given = load ptr, ptr %strides.p
  %offset = load i64, ptr %offset.p
  %data = add i64 %start, %offset
  %negative = icmp slt i32 %ndim.4, 0
  %ndim.0 = select i1 %negative, i32 0, i32 %ndim.4
  %ndim = zext i32 %ndim.0 to i64
  %capsule = call ptr @PyCapsule_New(ptr %m, ptr @capsule.name, ptr null)
  %no.capsule = icmp eq ptr %capsule, null
  br i1 %no.capsule, label %no, label %layout
layout:
  %sizes = call ptr @tuple(ptr %shape, i64 %ndim)
  %no.sizes = icmp eq ptr %sizes, null
  br i1 %no.sizes, label %drop.capsule, label %steps
steps:
  %compact = icmp eq ptr %strides.given, null
  br i1 %compact, label %steps.made, label %steps.given
steps.made:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  br label %stepped
steps.given:
  %strides.2 = call ptr @tuple(ptr %strides.given, i64 %ndim)
  br label %stepped
stepped:
  %strides = phi ptr [ @_Py_NoneStruct, %steps.made ], [ %strides.2, %steps.given ]
  %no.strides = icmp eq ptr %strides, null
  br i1 %no.strides, label %drop.sizes, label %typed
typed:
  %word.8 = zext i32 %word to i64
  %word.object = call ptr @PyLong_FromLongLong(i64 %word.8)
  %no.word = icmp eq ptr %word.object, null
  br i1 %no.word, label %drop.strides, label %look
look:
  %dtype = call ptr @PyDict_GetItem(ptr @opweave_dtypes, ptr %word.object)
  %no.dtype = icmp eq ptr %dtype, null
  br i1 %no.dtype, label %python, label %usual
usual:
  %read.only = and i64 %flags, 1
  %writable = icmp eq i64 %read.only, 0
  %host = icmp eq i32 %device, 1
  %placed = and i1 %writable, %host
  %given = xor i1 %compact, true
  %here = and i1 %placed, %given
  br i1 %here, label %spans, label %python
spans:
  %elements = call i64 @spanned(ptr %shape, ptr %strides.given, i64 %ndim)
  %item.now = call ptr @slot(ptr %dtype, i64 @ITEMSIZE@)
  %item = call i64 @PyLong_AsLongLong(ptr %item.now)
  %bytes.all = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %elements, i64 %item)
  %bytes = extractvalue { i64, i1 } %bytes.all, 0
  %bytes.bad = extractvalue { i64, i1 } %bytes.all, 1
  %no.layout = icmp slt i64 %elements, 0
  %nowhere = icmp eq i64 %data, 0
  %some = icmp ne i64 %elements, 0
  %missing = and i1 %nowhere, %some
  %mask = sub i64 %item, 1
  %rest = and i64 %data, %mask
  %shifted = icmp ne i64 %rest, 0
  %bad.1 = or i1 %bytes.bad, %no.layout
  %bad.2 = or i1 %missing, %negative
  %bad.3 = or i1 %bad.1, %bad.2
  %bad = or i1 %bad.3, %shifted
  br i1 %bad, label %python, label %adopt
adopt:
  call void @Py_DecRef(ptr %word.object)
  %adopted = call ptr @adopted(ptr %capsule, ptr %dtype, ptr %sizes, ptr %strides, i64 %data, i64 %bytes)
  %failed = icmp eq ptr %adopted, null
  br i1 %failed, label %drop.capsule, label %yes

python:
  call void @PyErr_Clear()
  call void @Py_DecRef(ptr %word.object)
  %ndim.8 = sext i32 %ndim.4 to i64
  %device.8 = sext i32 %device to i64
  %number.8 = sext i32 %number to i64
  %n.1 = getelementptr i64, ptr %numbers, i64 1
  %n.2 = getelementptr i64, ptr %numbers, i64 2
  %n.3 = getelementptr i64, ptr %numbers, i64 3
  %n.4 = getelementptr i64, ptr %numbers, i64 4
  %n.5 = getelementptr i64, ptr %numbers, i64 5
  store i64 %ndim.8, ptr %numbers
  store i64 %word.8, ptr %n.1
  store i64 %data, ptr %n.2
  store i64 %device.8, ptr %n.3
  store i64 %number.8, ptr %n.4
  store i64 %flags, ptr %n.5
  %about = call ptr @tuple(ptr %numbers, i64 6)
  %no.about = icmp eq ptr %about, null
  br i1 %no.about, label %drop.strides, label %ask
ask:
  %arg.1 = getelementptr ptr, ptr %args, i64 1
  %arg.2 = getelementptr ptr, ptr %args, i64 2
  %arg.3 = getelementptr ptr, ptr %args, i64 3
  store ptr %capsule, ptr %args
  store ptr %about, ptr %arg.1
  store ptr %sizes, ptr %arg.2
  store ptr %strides, ptr %arg.3
  %asked = call ptr @PyObject_Vectorcall(ptr @opweave_adopt, ptr %args, i64 4, ptr null)
  call void @Py_DecRef(ptr %about)
  call void @Py_DecRef(ptr %sizes)
  call void @Py_DecRef(ptr %strides)
  %raised = icmp eq ptr %asked, null
  br i1 %raised, label %drop.capsule, label %yes

yes:                                                     ; from here on the capsule deletes it
  %result = phi ptr [ %adopted, %adopt ], [ %asked, %ask ]
  %set = call i32 @PyCapsule_SetDestructor(ptr %capsule, ptr @destroy)
  call void @Py_DecRef(ptr %capsule)
  store ptr %result, ptr %out
  ret i32 0
drop.strides:
  call void @Py_DecRef(ptr %strides)
  br label %drop.sizes
drop.sizes:
  call void @Py_DecRef(ptr %sizes)
  br label %drop.capsule
drop.capsule:
  call void @Py_DecRef(ptr %capsule)
  br label %no
no:
  ret i32 -1
}

; ---- memory and streams

; hand an exception on as text, and clear it
define internal void @report(ptr %context, ptr %set) {
entry:
  %type.p = alloca ptr
  %value.p = alloca ptr
  %trace.p = alloca ptr
  call void @PyErr_Fetch(ptr %type.p, ptr %value.p, ptr %trace.p)
  call void @PyErr_NormalizeException(ptr %type.p, ptr %value.p, ptr %trace.p)
  %type = load ptr, ptr %type.p
  %value = load ptr, ptr %value.p
  %trace = load ptr, ptr %trace.p
  %name = call ptr @PyObject_GetAttr(ptr %type, ptr @name.name)
  %kind = call ptr @utf8(ptr %name)
  %text = call ptr @PyObject_Str(ptr %value)
  %message = call ptr @utf8(ptr %text)
  call void @PyErr_Clear()
  call void %set(ptr %context, ptr %kind, ptr %message)
  call void @Py_DecRef(ptr %name)
  call void @Py_DecRef(ptr %text)
  call void @Py_DecRef(ptr %type)
  call void @Py_DecRef(ptr %value)
  call void @Py_DecRef(ptr %trace)
  ret void
}

; the characters of a text that may be missing
define internal ptr @utf8(ptr %text) {
entry:
  %none = icmp eq ptr %text, null
  br i1 %none, label %no, label %some
some:
  %chars = call ptr @PyUnicode_AsUTF8AndSize(ptr %text, ptr null)
  %failed = icmp eq ptr %chars, null
  br i1 %failed, label %no, label %out
out:
  ret ptr %chars
no:
  call void @PyErr_Clear()
  ret ptr @unknown
}

; the use of memory that waits for a request of this size; null where there is none, with no exception
define internal ptr @lease(i32 %word, i64 %ndim, ptr %shape, ptr %where) {
entry:
  %word.8 = zext i32 %word to i64
  %word.object = call ptr @PyLong_FromLongLong(i64 %word.8)
  %no.word = icmp eq ptr %word.object, null
  br i1 %no.word, label %no, label %typed
typed:
  %dtype = call ptr @PyDict_GetItem(ptr @opweave_dtypes, ptr %word.object)
  call void @Py_DecRef(ptr %word.object)
  %no.dtype = icmp eq ptr %dtype, null
  br i1 %no.dtype, label %no, label %begin
begin:
  %item.now = call ptr @slot(ptr %dtype, i64 @ITEMSIZE@)
  %item = call i64 @PyLong_AsLongLong(ptr %item.now)
  br label %next
next:
  %i = phi i64 [ 0, %begin ], [ %i1, %add ]
  %bytes = phi i64 [ %item, %begin ], [ %product, %add ]
  %done = icmp eq i64 %i, %ndim
  br i1 %done, label %measured, label %more
more:
  %size.p = getelementptr i64, ptr %shape, i64 %i
  %size = load i64, ptr %size.p
  %times = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %bytes, i64 %size)
  %product = extractvalue { i64, i1 } %times, 0
  %over = extractvalue { i64, i1 } %times, 1
  %negative = icmp slt i64 %size, 0
  %bad = or i1 %over, %negative
  br i1 %bad, label %no, label %add
add:
  %i1 = add i64 %i, 1
  br label %next
measured:
  %nbytes = call ptr @PyLong_FromLongLong(i64 %bytes)
  %no.bytes = icmp eq ptr %nbytes, null
  br i1 %no.bytes, label %no, label %look
look:
  %home = call ptr @PyDict_GetItem(ptr @opweave_homes, ptr %nbytes)
  call void @Py_DecRef(ptr %nbytes)
  %unknown.size = icmp eq ptr %home, null
  br i1 %unknown.size, label %no, label %take
take:
  %waiting = call ptr @PyTuple_GetItem(ptr %home, i64 1)
  %pop = call ptr @PyObject_GetAttr(ptr %waiting, ptr @name.pop)
  %no.pop = icmp eq ptr %pop, null
  br i1 %no.pop, label %no, label %popped
popped:
  %span = call ptr @PyObject_Vectorcall(ptr %pop, ptr null, i64 0, ptr null)
  call void @Py_DecRef(ptr %pop)
  %empty = icmp eq ptr %span, null
  br i1 %empty, label %no, label %leased
leased:
  %release = call ptr @slot(ptr %span, i64 @RELEASE@)
  %lease = call ptr @PyType_GenericAlloc(ptr @opweave_lease, i64 0)
  %no.lease = icmp eq ptr %lease, null
  br i1 %no.lease, label %returned, label %kept
kept:                                                    ; from here on the lease gives the span back
  call void @share(ptr %lease, i64 @FINALISER@, ptr %release)
  call void @give(ptr %lease, i64 @SPAN@, ptr %span)
  %address.now = call ptr @slot(ptr %span, i64 @ADDRESS@)
  %address = call i64 @PyLong_AsUnsignedLongLong(ptr %address.now)
  store i64 %address, ptr %where
  ret ptr %lease
returned:
  %put = call ptr @PyObject_Vectorcall(ptr %release, ptr null, i64 0, ptr null)
  call void @Py_DecRef(ptr %put)
  call void @Py_DecRef(ptr %span)
  br label %no
no:
  call void @PyErr_Clear()
  ret ptr null
}

; Memory for a tensor of which the prototype tells dtype, device and sizes.
define i32 @opweave_allocate(ptr %prototype, ptr %out, ptr %context, ptr %set) {
entry:
  %args = alloca [2 x ptr]
  %numbers = alloca [4 x i64]
  %gil = call i32 @PyGILState_Ensure()
  %device.p = getelementptr %DLTensor, ptr %prototype, i64 0, i32 1
  %number.p = getelementptr %DLTensor, ptr %prototype, i64 0, i32 2
  %ndim.p = getelementptr %DLTensor, ptr %prototype, i64 0, i32 3
  %word.p = getelementptr %DLTensor, ptr %prototype, i64 0, i32 4
  %shape.p = getelementptr %DLTensor, ptr %prototype, i64 0, i32 5
  %device = load i32, ptr %device.p
  %number = load i32, ptr %number.p
  %ndim.4 = load i32, ptr %ndim.p
  %word = load i32, ptr %word.p
  %shape = load ptr, ptr %shape.p
  %negative = icmp slt i32 %ndim.4, 0
  %ndim.0 = select i1 %negative, i32 0, i32 %ndim.4
  %ndim = zext i32 %ndim.0 to i64
  %host = icmp eq i32 %device, 1
  %counted = icmp sge i32 %ndim.4, 0
  %usual = and i1 %host, %counted
  br i1 %usual, label %at.once, label %python
at.once:
  %lease = call ptr @lease(i32 %word, i64 %ndim, ptr %shape, ptr %numbers)
  %address.lease = load i64, ptr %numbers
  %none.free = icmp eq ptr %lease, null
  br i1 %none.free, label %python, label %make
python:
  %ndim.8 = sext i32 %ndim.4 to i64
  %device.8 = sext i32 %device to i64
  %number.8 = sext i32 %number to i64
  %word.8 = zext i32 %word to i64
  %n.1 = getelementptr i64, ptr %numbers, i64 1
  %n.2 = getelementptr i64, ptr %numbers, i64 2
  %n.3 = getelementptr i64, ptr %numbers, i64 3
  store i64 %ndim.8, ptr %numbers
  store i64 %word.8, ptr %n.1
  store i64 %device.8, ptr %n.2
  store i64 %number.8, ptr %n.3
  %about = call ptr @tuple(ptr %numbers, i64 4)
  %no.about = icmp eq ptr %about, null
  br i1 %no.about, label %no, label %layout
layout:
  %sizes = call ptr @tuple(ptr %shape, i64 %ndim)
  %no.sizes = icmp eq ptr %sizes, null
  br i1 %no.sizes, label %drop.about, label %ask
ask:
  %arg.1 = getelementptr ptr, ptr %args, i64 1
  store ptr %about, ptr %args
  store ptr %sizes, ptr %arg.1
  %lent = call ptr @PyObject_Vectorcall(ptr @opweave_lend, ptr %args, i64 2, ptr null)
  call void @Py_DecRef(ptr %about)
  call void @Py_DecRef(ptr %sizes)
  %raised = icmp eq ptr %lent, null
  br i1 %raised, label %no, label %told                  ; a tuple: what keeps the memory, and its address
told:
  %keep.lent = call ptr @PyTuple_GetItem(ptr %lent, i64 0)
  call void @Py_IncRef(ptr %keep.lent)
  %address.object = call ptr @PyTuple_GetItem(ptr %lent, i64 1)
  %address.lent = call i64 @PyLong_AsUnsignedLongLong(ptr %address.object)
  call void @Py_DecRef(ptr %lent)
  br label %make
make:
  %keep = phi ptr [ %lease, %at.once ], [ %keep.lent, %told ]
  %address = phi i64 [ %address.lease, %at.once ], [ %address.lent, %told ]
  %m = call ptr @managed(ptr %keep, i64 %ndim, i64 0)
  call void @Py_DecRef(ptr %keep)
  %none = icmp eq ptr %m, null
  br i1 %none, label %no.memory, label %fill
fill:
  %dims = getelementptr %Managed, ptr %m, i64 1
  %strides = getelementptr i64, ptr %dims, i64 %ndim
  %made = getelementptr %Managed, ptr %m, i64 0, i32 5
  %data.p = inttoptr i64 %address to ptr
  %device.to = getelementptr %DLTensor, ptr %made, i64 0, i32 1
  %number.to = getelementptr %DLTensor, ptr %made, i64 0, i32 2
  %ndim.to = getelementptr %DLTensor, ptr %made, i64 0, i32 3
  %dtype.to = getelementptr %DLTensor, ptr %made, i64 0, i32 4
  %shape.to = getelementptr %DLTensor, ptr %made, i64 0, i32 5
  %strides.to = getelementptr %DLTensor, ptr %made, i64 0, i32 6
  %offset.to = getelementptr %DLTensor, ptr %made, i64 0, i32 7
  store ptr %data.p, ptr %made
  store i32 %device, ptr %device.to
  store i32 %number, ptr %number.to
  store i32 %ndim.4, ptr %ndim.to
  store i32 %word, ptr %dtype.to
  store ptr %dims, ptr %shape.to
  store ptr %strides, ptr %strides.to
  store i64 0, ptr %offset.to
  br label %next
next:
  %left = phi i64 [ %ndim, %fill ], [ %i, %more ]
  %step = phi i64 [ 1, %fill ], [ %step1, %more ]
  %done = icmp eq i64 %left, 0
  br i1 %done, label %yes, label %more
more:
  %i = sub i64 %left, 1
  %size.p = getelementptr i64, ptr %shape, i64 %i
  %size = load i64, ptr %size.p
  %size.to = getelementptr i64, ptr %dims, i64 %i
  %stride.to = getelementptr i64, ptr %strides, i64 %i
  store i64 %size, ptr %size.to
  store i64 %step, ptr %stride.to
  %empty = icmp slt i64 %size, 1
  %times = select i1 %empty, i64 1, i64 %size
  %step1 = mul i64 %step, %times
  br label %next
yes:
  store ptr %m, ptr %out
  call void @PyGILState_Release(i32 %gil)
  ret i32 0
no.memory:
  %error = call ptr @PyErr_NoMemory()
  br label %no
drop.about:
  call void @Py_DecRef(ptr %about)
  br label %no
no:
  call void @report(ptr %context, ptr %set)
  call void @PyGILState_Release(i32 %gil)
  ret i32 -1
}

; The stream that a device's work goes to; the CPU has none.
define i32 @opweave_stream(i32 %device, i32 %number, ptr %out) {
entry:
  %args = alloca [2 x ptr]
  %numbers = alloca [2 x i64]
  store ptr null, ptr %out
  %host = icmp eq i32 %device, 1
  br i1 %host, label %yes, label %ask
ask:
  %gil = call i32 @PyGILState_Ensure()
  %device.8 = sext i32 %device to i64
  %number.8 = sext i32 %number to i64
  %n.1 = getelementptr i64, ptr %numbers, i64 1
  store i64 %device.8, ptr %numbers
  store i64 %number.8, ptr %n.1
  %about = call ptr @tuple(ptr %numbers, i64 2)
  %no.about = icmp eq ptr %about, null
  br i1 %no.about, label %no, label %call
call:
  store ptr %about, ptr %args
  %stream = call ptr @PyObject_Vectorcall(ptr @opweave_work_stream, ptr %args, i64 1, ptr null)
  call void @Py_DecRef(ptr %about)
  %raised = icmp eq ptr %stream, null
  br i1 %raised, label %no, label %told
told:
  %address = call ptr @PyLong_AsVoidPtr(ptr %stream)
  call void @Py_DecRef(ptr %stream)
  store ptr %address, ptr %out
  call void @PyGILState_Release(i32 %gil)
  br label %yes
yes:
  ret i32 0
no:
  call void @PyGILState_Release(i32 %gil)
  ret i32 -1
}
