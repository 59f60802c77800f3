; Whether the processor lacks something that the code uses: 0 if it has all. It runs on any x86-64.

; registers of leaf, and what must be set in ebx, ecx, edx
define internal i32 @leaf(i32 %number, i32 %b, i32 %c, i32 %d) #0 {
  %r = call { i32, i32, i32, i32 } asm sideeffect "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}"(i32 %number, i32 0)
  %ebx = extractvalue { i32, i32, i32, i32 } %r, 1
  %ecx = extractvalue { i32, i32, i32, i32 } %r, 2
  %edx = extractvalue { i32, i32, i32, i32 } %r, 3
  %b.not = xor i32 %ebx, -1
  %c.not = xor i32 %ecx, -1
  %d.not = xor i32 %edx, -1
  %b.lacks = and i32 %b, %b.not
  %c.lacks = and i32 %c, %c.not
  %d.lacks = and i32 %d, %d.not
  %two = or i32 %b.lacks, %c.lacks
  %all = or i32 %two, %d.lacks
  ret i32 %all
}

define internal i32 @lacking() #0 {
entry:
  %most = call { i32, i32, i32, i32 } asm sideeffect "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}"(i32 0, i32 0)
  %leaves = extractvalue { i32, i32, i32, i32 } %most, 0
  %one = call i32 @leaf(i32 1, i32 0, i32 @LEAF1_C@, i32 @LEAF1_D@)
  %fine = icmp eq i32 %one, 0
  br i1 %fine, label %next, label %lacks
next:
  %unasked = icmp eq i32 @LEAF7_B@, 0
  %has = icmp uge i32 %leaves, 7
  br i1 %has, label %seven, label %old
old:
  br i1 %unasked, label %more, label %lacks
seven:
  %s = call i32 @leaf(i32 7, i32 @LEAF7_B@, i32 @LEAF7_C@, i32 @LEAF7_D@)
  %s.fine = icmp eq i32 %s, 0
  br i1 %s.fine, label %further, label %lacks
further:                                                 ; the second part of leaf 7
  %f = call { i32, i32, i32, i32 } asm sideeffect "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}"(i32 7, i32 1)
  %f.eax = extractvalue { i32, i32, i32, i32 } %f, 0
  %f.not = xor i32 %f.eax, -1
  %f.lacks = and i32 @LEAF7_1_A@, %f.not
  %f.fine = icmp eq i32 %f.lacks, 0
  br i1 %f.fine, label %more, label %lacks
more:
  %e = call i32 @leaf(i32 -2147483647, i32 0, i32 @EXTENDED_C@, i32 0)
  %e.fine = icmp eq i32 %e, 0
  br i1 %e.fine, label %system, label %lacks
system:                                                  ; registers that the system keeps
  %needs = icmp ne i32 @XCR@, 0
  br i1 %needs, label %ask, label %good
ask:
  %x = call { i32, i32 } asm sideeffect "xgetbv", "={ax},={dx},{cx}"(i32 0)
  %kept = extractvalue { i32, i32 } %x, 0
  %both = and i32 %kept, @XCR@
  %enough = icmp eq i32 %both, @XCR@
  br i1 %enough, label %tiles, label %lacks
tiles:                                                   ; Linux keeps tiles for processes that ask: arch_prctl
  %tiled = icmp ne i32 @TILES@, 0
  br i1 %tiled, label %permission, label %good
permission:
  %refused = call i64 asm sideeffect "syscall", "={ax},{ax},{di},{si},~{rcx},~{r11},~{memory}"(i64 158, i64 4131, i64 18)
  %granted = icmp eq i64 %refused, 0
  br i1 %granted, label %good, label %lacks
good:
  ret i32 0
lacks:
  ret i32 1
}
