; Whether tensors are laid out as those were that code was compiled for (alike.py).
;
; PyCFunction with METH_FASTCALL. `self` is a tuple whose first element is the address of an `%Alike`; the arguments are
; as many objects.

; sizes, strides, dtype and keys of a tensor, as objects
%Laid = type { ptr, ptr, ptr, ptr }
; how many objects; how many are compared; if it is asked whether two are one, places where those that were met are noted,
; a power of two, less one, else 0
%Alike = type { i64, i64, i64, [0 x %Laid] }

declare i32 @PyObject_RichCompareBool(ptr, ptr, i32)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
@_Py_TrueStruct = external global i8
@_Py_FalseStruct = external global i8

; 1 if a slot holds an object that equals another one, 0 if not, -1 with an exception
define internal i32 @holds(ptr %of, i64 %place, ptr %wanted) alwaysinline {
entry:
  %at = getelementptr i8, ptr %of, i64 %place
  %value = load ptr, ptr %at
  %is = icmp eq ptr %value, %wanted
  br i1 %is, label %yes, label %other
other:
  %none = icmp eq ptr %value, null
  br i1 %none, label %no, label %compare
compare:
  %equal = call i32 @PyObject_RichCompareBool(ptr %value, ptr %wanted, i32 2)
  ret i32 %equal
no:
  ret i32 0
yes:
  ret i32 1
}

define ptr @opweave_alike(ptr %self, ptr %args, i64 %given) {
entry:
  %about = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %alike = call ptr @PyLong_AsVoidPtr(ptr %about)
  %count = load i64, ptr %alike
  %compared.p = getelementptr %Alike, ptr %alike, i64 0, i32 1
  %compared = load i64, ptr %compared.p
  %last.p = getelementptr %Alike, ptr %alike, i64 0, i32 2
  %last = load i64, ptr %last.p
  %all = icmp eq i64 %given, %count
  br i1 %all, label %head, label %no

head:
  %i = phi i64 [ 0, %entry ], [ %i1, %fits ]
  %more = icmp slt i64 %i, %compared
  br i1 %more, label %next, label %laid
next:
  %arg.p = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.p
  %type.p = getelementptr i8, ptr %arg, i64 @TYPE@
  %type = load ptr, ptr %type.p
  %tensor = icmp eq ptr %type, @opweave_tensor
  br i1 %tensor, label %dtype, label %no
dtype:
  %wanted = getelementptr %Alike, ptr %alike, i64 0, i32 3, i64 %i
  %dtype.p = getelementptr i8, ptr %arg, i64 @DTYPE@
  %dtype.now = load ptr, ptr %dtype.p
  %dtype.at = getelementptr %Laid, ptr %wanted, i64 0, i32 2
  %dtype.then = load ptr, ptr %dtype.at
  %typed = icmp eq ptr %dtype.now, %dtype.then
  br i1 %typed, label %keys, label %no
keys:
  %keys.at = getelementptr %Laid, ptr %wanted, i64 0, i32 3
  %keys.then = load ptr, ptr %keys.at
  %keyed = call i32 @holds(ptr %arg, i64 @KEYS@, ptr %keys.then)
  %keyed.well = icmp eq i32 %keyed, 1
  br i1 %keyed.well, label %sizes, label %differs
sizes:
  %sizes.then = load ptr, ptr %wanted
  %sized = call i32 @holds(ptr %arg, i64 @SIZES@, ptr %sizes.then)
  %sized.well = icmp eq i32 %sized, 1
  br i1 %sized.well, label %strides, label %differs
strides:
  %strides.at = getelementptr %Laid, ptr %wanted, i64 0, i32 1
  %strides.then = load ptr, ptr %strides.at
  %strided = call i32 @holds(ptr %arg, i64 @STRIDES@, ptr %strides.then)
  %strided.well = icmp eq i32 %strided, 1
  br i1 %strided.well, label %fits, label %differs
differs:
  %how = phi i32 [ %keyed, %keys ], [ %sized, %sizes ], [ %strided, %strides ]
  %raised = icmp slt i32 %how, 0
  br i1 %raised, label %error, label %no
fits:
  %i1 = add i64 %i, 1
  br label %head

laid:                                                    ; whether two are one: each is noted at a place of its own
  %any = icmp eq i64 %last, 0
  br i1 %any, label %yes, label %clear
clear:
  %places = add i64 %last, 1
  %bytes = mul i64 %places, 8
  %noted = alloca ptr, i64 %places, align 16
  call void @llvm.memset.p0.i64(ptr %noted, i8 0, i64 %bytes, i1 false)
  br label %each
each:
  %j = phi i64 [ 0, %clear ], [ %j1, %note ]
  %left = icmp slt i64 %j, %count
  br i1 %left, label %find, label %yes
find:
  %one.p = getelementptr ptr, ptr %args, i64 %j
  %one = load ptr, ptr %one.p
  %bits = ptrtoint ptr %one to i64
  %spread = mul i64 %bits, -7046029254386353131
  %high = lshr i64 %spread, 40
  br label %try
try:
  %h = phi i64 [ %high, %find ], [ %h1, %taken ]
  %slot.i = and i64 %h, %last
  %slot = getelementptr ptr, ptr %noted, i64 %slot.i
  %there = load ptr, ptr %slot
  %free = icmp eq ptr %there, null
  br i1 %free, label %note, label %taken
taken:
  %h1 = add i64 %h, 1
  %twice = icmp eq ptr %there, %one
  br i1 %twice, label %no, label %try
note:
  store ptr %one, ptr %slot
  %j1 = add i64 %j, 1
  br label %each

yes:
  call void @Py_IncRef(ptr @_Py_TrueStruct)
  ret ptr @_Py_TrueStruct
no:
  call void @Py_IncRef(ptr @_Py_FalseStruct)
  ret ptr @_Py_FalseStruct
error:
  ret ptr null
}
