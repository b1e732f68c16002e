// Which files of a long series are recorded whole: drawn by name.
#include "recorder/ring/file_sample.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "core/os/fnv1a.h"

namespace iotune::recorder {
namespace {

std::uint64_t hash_of_step(const char* form, unsigned step) {
  char name[64];
  std::snprintf(name, sizeof name, form, step);
  Fnv1a hash;
  for (const char* at = name; *at != '\0'; ++at) hash.add(*at);
  return hash.value();
}

TEST(FileSample, DrawsOneNameInSoMany) {
  constexpr unsigned kNames = 100'000;
  constexpr double kExpected = 1.0 * kNames / kSampledOne;
  for (const char* form :
       {"/scratch/plt%05u.h5", "/a/%u/data.h5", "/project/run7/step%06u_chk.h5"}) {
    unsigned drawn = 0;
    for (unsigned i = 0; i < kNames; ++i) drawn += is_drawn(hash_of_step(form, i));
    // Some five standard deviations of a binomial of 390.
    EXPECT_NEAR(drawn, kExpected, 100) << form;
  }
}

TEST(FileSample, NoLongStretchOfNamesIsLeftOut) {
  unsigned longest = 0, since = 0;
  for (unsigned i = 0; i < 100'000; ++i) {
    since = is_drawn(hash_of_step("/scratch/plt%05u.h5", i)) ? 0 : since + 1;
    longest = since > longest ? since : longest;
  }
  EXPECT_LT(longest, 16 * kSampledOne);
}

}  // namespace
}  // namespace iotune::recorder
