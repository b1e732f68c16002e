#include "recorder/wrappers/call_entry.h"

#if defined(__x86_64__)

#include <cstdint>

namespace iotune::recorder {
namespace {

// What stands behind an entry's code; all relative to the record itself.
struct EntryRecord {
  std::int32_t body, symbol, name;
};

template <typename T>
T* at(const EntryRecord& record, std::int32_t offset) noexcept {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(&record) +
                              static_cast<std::uintptr_t>(std::intptr_t{offset}));
}

}  // namespace

// The function to jump to; nullptr: the wrapper.
extern "C" __attribute__((used)) IOTUNE_HIDDEN void* iotune_function_to_enter(
    const EntryRecord& record, const void* caller) noexcept {
  const int error = errno;
  auto& symbol = *at<CallerSymbol>(record, record.symbol);
  void* const function = symbol.find_unknown(at<const char>(record, record.name), caller);
  errno = error;
  return function;
}

}  // namespace iotune::recorder

// iotune_enter_call: %r11 is the EntryRecord, the stack is the caller's. The table of places that
// called (CallerSymbol::sites_) is asked first; what is not there is looked up with every register
// kept that may carry an argument. xsave: the upper halves of vectors are arguments, too, and
// libc's string functions clear them. 0xe6: SSE, AVX and AVX-512, in the layout of at most 2,688
// bytes that all processors share. Byte iotune_vectors: 0 not known yet, 1 SSE alone, 2 xsave.
__asm__(R"(
    .pushsection .bss.iotune_vectors, "aw", @nobits
iotune_vectors: .zero 1
    .popsection
    .pushsection .text.hot.enter_call, "ax", @progbits
    .globl iotune_enter_call
    .hidden iotune_enter_call
    .type iotune_enter_call, @function
    .balign 16
iotune_enter_call:
    .cfi_startproc
    pushq %rax
    .cfi_adjust_cfa_offset 8
    pushq %rcx
    .cfi_adjust_cfa_offset 8
    pushq %rdx
    .cfi_adjust_cfa_offset 8
    movq 24(%rsp), %rdx
    movq %rdx, %rcx
    shrq $10, %rcx
    xorq %rdx, %rcx
    andl $1023, %ecx                # kSites - 1
    leaq iotune_call_sites(%rip), %r10
    movq (%r10,%rcx,8), %rax
    xorq %rax, %rdx
    shlq $17, %rdx                  # the address without the number and kUnknownSite
    je 1f
    xorl $1, %ecx
    movq (%r10,%rcx,8), %rax
    movq 24(%rsp), %rdx
    xorq %rax, %rdx
    shlq $17, %rdx
    jne 4f
1:  movq %rax, %rcx
    shrq $48, %rcx                  # the entry's number
    imull $56, %ecx, %edx           # sizeof(Entry)
    leaq iotune_call_entries(%rip), %r10
    movq 32(%r10,%rdx), %rdx        # its symbol
    movslq 4(%r11), %r10
    addq %r11, %r10
    cmpq %r10, %rdx
    jne 4f
    btq $47, %rax                   # kUnknownSite
    jnc 2f
    leaq iotune_call_functions(%rip), %r10
    movq (%r10,%rcx,8), %r10
    testq %r10, %r10
    jz 4f                           # suspended
    movq %r10, %r11
    jmp 3f
2:  movslq (%r11), %r10
    addq %r10, %r11
3:  popq %rdx
    .cfi_remember_state
    .cfi_adjust_cfa_offset -8
    popq %rcx
    .cfi_adjust_cfa_offset -8
    popq %rax
    .cfi_adjust_cfa_offset -8
    jmp *%r11
    .cfi_restore_state
4:  pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %r8
    .cfi_adjust_cfa_offset 8
    pushq %r9
    .cfi_adjust_cfa_offset 8
    pushq %r11
    .cfi_adjust_cfa_offset 8
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    movq %r11, %rdi
    movq 72(%rbp), %rsi             # the return address
    cmpb $0, iotune_vectors(%rip)
    jne 5f
    movq %rbx, %r8
    .cfi_register %rbx, %r8
    movl $1, %eax
    cpuid
    movq %r8, %rbx
    .cfi_same_value %rbx
    shrl $27, %ecx                  # OSXSAVE
    andl $1, %ecx
    incl %ecx
    movb %cl, iotune_vectors(%rip)
5:  subq $2752, %rsp
    andq $-64, %rsp
    cmpb $1, iotune_vectors(%rip)
    je 7f
    xorl %eax, %eax
    movl $8, %ecx
6:  movq %rax, 504(%rsp,%rcx,8)     # the area's header
    decl %ecx
    jnz 6b
    movl $0xe6, %eax
    xorl %edx, %edx
    xsave64 (%rsp)
    call iotune_function_to_enter
    movq %rax, %r10
    movl $0xe6, %eax
    xorl %edx, %edx
    xrstor64 (%rsp)
    jmp 8f
7:  movups %xmm0, (%rsp)
    movups %xmm1, 16(%rsp)
    movups %xmm2, 32(%rsp)
    movups %xmm3, 48(%rsp)
    movups %xmm4, 64(%rsp)
    movups %xmm5, 80(%rsp)
    movups %xmm6, 96(%rsp)
    movups %xmm7, 112(%rsp)
    call iotune_function_to_enter
    movq %rax, %r10
    movups (%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
8:  movq %rbp, %rsp
    .cfi_def_cfa_register %rsp
    popq %rbp
    .cfi_adjust_cfa_offset -8
    .cfi_same_value %rbp
    popq %r11
    .cfi_adjust_cfa_offset -8
    popq %r9
    .cfi_adjust_cfa_offset -8
    popq %r8
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    testq %r10, %r10
    jz 2b
    movq %r10, %r11
    jmp 3b
    .cfi_endproc
    .size iotune_enter_call, . - iotune_enter_call
    .popsection
)");
#endif
