; Whether the processor lacks something that the code uses: nothing that can be asked here.

define internal i32 @lacking() {
  ret i32 0
}
