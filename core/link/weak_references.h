// Weak references: a program asks by them whether it has an MPI, an HDF5 or a Caliper, or a call
// that older ones lack. Each of these names is exported by libiotune.so, so that the loader answers
// yes.
#pragma once

namespace iotune {

// What was loaded with the program gets the loader's answer without libiotune.so: a word that holds
// a function of ours, and that nothing else defines, becomes 0. Before the program begins. What is
// loaded later is not known of in time, and gets functions of ours.
void give_back_weak_references() noexcept;

}  // namespace iotune
