#include "core/os/own_stack.h"

#include <signal.h>

#include <cstddef>
#include <cstdint>

#include "core/os/private_memory.h"
#include "core/os/raw_syscall.h"
#include "core/process/privilege_drop.h"

// void iotune_call_on_stack(void (*run)(void*), void* context, void* end_of_stack)
extern "C" __attribute__((visibility("hidden"))) void iotune_call_on_stack(void (*run)(void*),
                                                                           void* context,
                                                                           void* end) noexcept;
#if defined(__x86_64__)
__asm__(R"(
    .pushsection .text.call_on_stack, "ax", @progbits
    .globl iotune_call_on_stack
    .hidden iotune_call_on_stack
    .type iotune_call_on_stack, @function
iotune_call_on_stack:
    .cfi_startproc
    endbr64
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    movq %rdx, %rsp
    movq %rdi, %rax
    movq %rsi, %rdi
    callq *%rax
    movq %rbp, %rsp
    popq %rbp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size iotune_call_on_stack, . - iotune_call_on_stack
    .popsection
)");
#elif defined(__aarch64__)
__asm__(R"(
    .pushsection .text.call_on_stack, "ax", %progbits
    .globl iotune_call_on_stack
    .hidden iotune_call_on_stack
    .type iotune_call_on_stack, %function
iotune_call_on_stack:
    .cfi_startproc
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset 29, -16
    .cfi_offset 30, -8
    mov x29, sp
    .cfi_def_cfa_register 29
    mov sp, x2
    mov x9, x0
    mov x0, x1
    blr x9
    mov sp, x29
    ldp x29, x30, [sp], #16
    .cfi_def_cfa 31, 0
    ret
    .cfi_endproc
    .size iotune_call_on_stack, . - iotune_call_on_stack
    .popsection
)");
#endif

namespace iotune {
namespace {

// More than our deepest path. Zeros take no room in the library.
constexpr std::size_t kStackBytes = 64u << 10;
constexpr std::size_t kPageBytes = 4096;
alignas(kPageBytes) constinit std::byte g_stack[kStackBytes] = {};

}  // namespace

void protect_own_stack(bool protects) noexcept {
  protect_pages(g_stack, kStackBytes, protects);
}

bool on_small_alternate_stack() noexcept {
  stack_t stack{};
  return raw::call(SYS_sigaltstack, 0, raw::word(&stack)) == 0 &&
         (stack.ss_flags & SS_ONSTACK) != 0 && stack.ss_size < kStackBytes;
}

void run_with_room(void (*run)(void*), void* context) noexcept {
  // A sanitizer knows of no other stacks. After a privilege drop nobody can be asked.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (!has_dropped_privileges() && on_small_alternate_stack()) {
    constexpr long kSetBytes = 8;  // of the kernel's signal set
    const std::uint64_t all = ~std::uint64_t{0};
    std::uint64_t before = 0;
    raw::call(SYS_rt_sigprocmask, SIG_SETMASK, raw::word(&all), raw::word(&before), kSetBytes);
    iotune_call_on_stack(run, context, g_stack + kStackBytes);
    raw::call(SYS_rt_sigprocmask, SIG_SETMASK, raw::word(&before), 0, kSetBytes);
    return;
  }
#endif
  run(context);
}

}  // namespace iotune
