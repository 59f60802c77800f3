; `@pause()`: what a thread does between two polls.

define internal void @pause() alwaysinline {
  ret void
}
