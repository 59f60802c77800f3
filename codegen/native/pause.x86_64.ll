; `@pause()`: what a thread does between two polls.

declare void @llvm.x86.sse2.pause()

define internal void @pause() alwaysinline {
  call void @llvm.x86.sse2.pause()
  ret void
}
