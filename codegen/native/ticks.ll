; `@ticks()`: what tells a moment from a thousandth of a second. A counter of cycles may be forbidden to a program here.

define internal i64 @ticks() alwaysinline {
  %t = call i64 @now()
  ret i64 %t
}
