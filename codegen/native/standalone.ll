; What the thread pool asks of Python, where there is none.

define i32 @PyGILState_Ensure() {
  ret i32 0
}
define i32 @PyErr_CheckSignals() {
  ret i32 0
}
define void @PyGILState_Release(i32 %state) {
  ret void
}
define ptr @PyEval_SaveThread() {
  ret ptr null
}
define void @PyEval_RestoreThread(ptr %state) {
  ret void
}
@opweave_profiling = global i32 0
