// Prints the bytes that prefetching keeps of a stream: its predictor, all the rest.
#include <cstdio>

#include "patterns/predict/predictors.h"
#include "prefetch/preload/stream_slots.h"

int main() {
  std::printf("%zu %zu\n", iotune::patterns::predictor_kind("nest")->bytes({}),
              sizeof(iotune::prefetch::StreamSlot));
}
