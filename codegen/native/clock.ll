; `@now()`: nanoseconds of a clock that does not go back.

declare i32 @clock_gettime(i32, ptr)

define internal i64 @now() alwaysinline {
  %time = alloca { i64, i64 }
  %r = call i32 @clock_gettime(i32 @CLOCK@, ptr %time)
  %seconds = load i64, ptr %time
  %rest = getelementptr { i64, i64 }, ptr %time, i64 0, i32 1
  %ns = load i64, ptr %rest
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %ns
  ret i64 %sum
}
