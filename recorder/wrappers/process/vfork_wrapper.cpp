// vfork returns twice on one stack: no function of C can stand between. The wrapper keeps the
// program's return address in a register that the kernel keeps, as libc's own does, and counts
// `ours` of this thread up before the call and down in the parent alone. So the child, which has
// the parent's memory, makes all of its calls unseen until it calls exec or ends; the parent sleeps
// until then. Without it the child's transfers would be recorded as its parent's. It counts the
// copies of descriptors as well (descriptor_place.h).
#include <cerrno>

#include "core/process/thread_state.h"

#if defined(__x86_64__)

extern "C" __attribute__((used)) int iotune_vfork_failed(int error) {
  errno = error;
  return -1;
}

__asm__(R"(
    .pushsection .text.vfork, "ax", @progbits
    .globl vfork
    .type vfork, @function
vfork:
    .cfi_startproc
    endbr64
    movq _ZN6iotune8t_threadE@gottpoff(%rip), %rdx
    incb %fs:1(%rdx)
    lock incl _ZN6iotune8recorder8g_copiesE(%rip)
    popq %rdi
    .cfi_adjust_cfa_offset -8
    .cfi_register %rip, %rdi
    movl $58, %eax                  # SYS_vfork
    syscall
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rip, 0
    testq %rax, %rax
    jz 1f
    decb %fs:1(%rdx)
    cmpq $-4095, %rax
    jae 2f
1:  ret
2:  negl %eax
    movl %eax, %edi
    jmp iotune_vfork_failed
    .cfi_endproc
    .size vfork, . - vfork
    .popsection
)");

#endif
