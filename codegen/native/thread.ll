; What a thread has of its own: the dict of its dispatch state (registry/keys.py), and that of its default dtype.

declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyThreadState_Get()
declare i64 @PyThreadState_GetID(ptr)

@opweave_state = external global i8                      ; what each thread has of its own: registry.keys.state
@opweave_default = external global i8                    ; and registry.dtypes._default
@name.dict = external global i8

; the dicts of the thread that called last
@thread = internal global i64 -1
@thread.state = internal global ptr null
@thread.default = internal global ptr null

define internal ptr @slot(ptr %object, i64 %place) alwaysinline {
  %at = getelementptr i8, ptr %object, i64 %place
  %value = load ptr, ptr %at
  ret ptr %value
}

define internal void @keep(ptr %where, ptr %value) {
  %before = load ptr, ptr %where
  store ptr %value, ptr %where
  %none = icmp eq ptr %before, null
  br i1 %none, label %out, label %drop
drop:
  call void @Py_DecRef(ptr %before)
  br label %out
out:
  ret void
}

; have the dicts of this thread at hand; false where Python cannot tell
define internal i1 @at_hand() {
entry:
  %state.now = call ptr @PyThreadState_Get()
  %id = call i64 @PyThreadState_GetID(ptr %state.now)
  %known = load i64, ptr @thread
  %same = icmp eq i64 %id, %known
  br i1 %same, label %yes, label %ask
ask:
  %state = call ptr @PyObject_GetAttr(ptr @opweave_state, ptr @name.dict)
  %no.state = icmp eq ptr %state, null
  br i1 %no.state, label %no, label %ask.default
ask.default:
  %default = call ptr @PyObject_GetAttr(ptr @opweave_default, ptr @name.dict)
  %no.default = icmp eq ptr %default, null
  br i1 %no.default, label %half, label %set
set:
  store i64 -1, ptr @thread
  call void @keep(ptr @thread.state, ptr %state)
  call void @keep(ptr @thread.default, ptr %default)
  store i64 %id, ptr @thread
  br label %yes
half:
  call void @Py_DecRef(ptr %state)
  br label %no
no:
  call void @PyErr_Clear()
  ret i1 false
yes:
  ret i1 true
}
