// A host's name as buffers, traces and run identities have it, for who writes and who reads them.
#pragma once

#include <initializer_list>

namespace iotune {

// Hands `push` the characters of `node_name` (uname's) up to the first dot, '-' for all but ASCII's
// letters and digits; "node" where nothing is left. python/iotune/locations.py has the same.
template <typename Push>
void make_host_label(const char* node_name, Push&& push) noexcept {
  const char* at = node_name;
  for (; *at != '\0' && *at != '.'; ++at) {
    const bool plain =
        (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9');
    push(plain ? *at : '-');
  }
  if (at != node_name) return;
  for (const char letter : {'n', 'o', 'd', 'e'}) push(letter);
}

}  // namespace iotune
