; A new tensor of a fixed layout: memory from the list of what is free, and objects with their slots set (allocation.py).
;
; PyCFunction with METH_NOARGS. `self` is a tuple whose first element is the address of a `%New`.

%Slot = type { i64, ptr }                                          ; bytes from an object's start, what is put there
; words of `%New`:
;    0 takes a free span, 1 makes the tensor where there is none, 2 `object.__new__`
;    3 the classes of leases, 4 of storages, 5 of tensors
;    6 where in a lease its finaliser is, 7 and its span
;    8 where in a span what releases it is, 9 and its address
;   10 where in a storage its owner is, 11 and its address
;   12 where in a tensor its storage is
;   13 how many slots of the storage follow, 14 and how many of the tensor
;   15 the slots

declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyLong_AsVoidPtr(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare void @PyErr_Clear()
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)

define internal ptr @field(ptr %new, i32 %number) alwaysinline {
  %at = getelementptr ptr, ptr %new, i32 %number
  %value = load ptr, ptr %at
  ret ptr %value
}

define internal i64 @number(ptr %new, i32 %number) alwaysinline {
  %at = getelementptr i64, ptr %new, i32 %number
  %value = load i64, ptr %at
  ret i64 %value
}

; an object of a class with nothing in its slots
define internal ptr @made(ptr %new, i32 %number) {
  %class.p = alloca ptr
  %class = call ptr @field(ptr %new, i32 %number)
  store ptr %class, ptr %class.p
  %make = call ptr @field(ptr %new, i32 2)
  %result = call ptr @PyObject_Vectorcall(ptr %make, ptr %class.p, i64 1, ptr null)
  ret ptr %result
}

; put an object that is the caller's into an empty slot
define internal void @give(ptr %object, i64 %place, ptr %value) alwaysinline {
  %at = getelementptr i8, ptr %object, i64 %place
  store ptr %value, ptr %at
  ret void
}

; put a copy of a reference into an empty slot
define internal void @share(ptr %object, i64 %place, ptr %value) alwaysinline {
  call void @Py_IncRef(ptr %value)
  call void @give(ptr %object, i64 %place, ptr %value)
  ret void
}

define internal void @fill(ptr %object, ptr %slots, i64 %count) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %more ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %out, label %more
more:
  %place.p = getelementptr %Slot, ptr %slots, i64 %i
  %value.p = getelementptr %Slot, ptr %slots, i64 %i, i32 1
  %place = load i64, ptr %place.p
  %value = load ptr, ptr %value.p
  call void @share(ptr %object, i64 %place, ptr %value)
  %i1 = add i64 %i, 1
  br label %next
out:
  ret void
}

define ptr @opweave_new(ptr %self, ptr %none) {
  %about = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %new = call ptr @PyLong_AsVoidPtr(ptr %about)
  %result = call ptr @new(ptr %new)
  ret ptr %result
}

define internal ptr @new(ptr %new) {
entry:
  %pop = call ptr @field(ptr %new, i32 0)
  %span = call ptr @PyObject_Vectorcall(ptr %pop, ptr null, i64 0, ptr null)
  %empty = icmp eq ptr %span, null
  br i1 %empty, label %python, label %leased
leased:
  %release.at = call i64 @number(ptr %new, i32 8)
  %release.p = getelementptr i8, ptr %span, i64 %release.at
  %release = load ptr, ptr %release.p
  %address.at = call i64 @number(ptr %new, i32 9)
  %address.p = getelementptr i8, ptr %span, i64 %address.at
  %address = load ptr, ptr %address.p
  %lease = call ptr @made(ptr %new, i32 3)
  %no.lease = icmp eq ptr %lease, null
  br i1 %no.lease, label %returned, label %kept
kept:                                                    ; from here on the lease gives the span back
  %finaliser.at = call i64 @number(ptr %new, i32 6)
  call void @share(ptr %lease, i64 %finaliser.at, ptr %release)
  %span.at = call i64 @number(ptr %new, i32 7)
  call void @give(ptr %lease, i64 %span.at, ptr %span)
  %storage = call ptr @made(ptr %new, i32 4)
  %no.storage = icmp eq ptr %storage, null
  br i1 %no.storage, label %without.storage, label %stored
stored:
  %slots = getelementptr i64, ptr %new, i32 15
  %storage.slots = call i64 @number(ptr %new, i32 13)
  call void @fill(ptr %storage, ptr %slots, i64 %storage.slots)
  %owner.at = call i64 @number(ptr %new, i32 10)
  call void @give(ptr %storage, i64 %owner.at, ptr %lease)
  %pointer.at = call i64 @number(ptr %new, i32 11)
  call void @share(ptr %storage, i64 %pointer.at, ptr %address)
  %tensor = call ptr @made(ptr %new, i32 5)
  %no.tensor = icmp eq ptr %tensor, null
  br i1 %no.tensor, label %without.tensor, label %whole
whole:
  %tensor.slots.p = getelementptr %Slot, ptr %slots, i64 %storage.slots
  %tensor.slots = call i64 @number(ptr %new, i32 14)
  call void @fill(ptr %tensor, ptr %tensor.slots.p, i64 %tensor.slots)
  %storage.at = call i64 @number(ptr %new, i32 12)
  call void @give(ptr %tensor, i64 %storage.at, ptr %storage)
  ret ptr %tensor

python:
  call void @PyErr_Clear()
  %otherwise = call ptr @field(ptr %new, i32 1)
  %result = call ptr @PyObject_Vectorcall(ptr %otherwise, ptr null, i64 0, ptr null)
  ret ptr %result
returned:
  %put = call ptr @PyObject_Vectorcall(ptr %release, ptr null, i64 0, ptr null)
  call void @Py_DecRef(ptr %span)
  ret ptr null
without.storage:
  call void @Py_DecRef(ptr %lease)
  ret ptr null
without.tensor:
  call void @Py_DecRef(ptr %storage)
  ret ptr null
}
