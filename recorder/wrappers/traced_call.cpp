#include "recorder/wrappers/traced_call.h"

namespace iotune::recorder {

void record_traced_call(const CallScope& scope, CallNumber number, int fd, std::uint32_t file,
                        std::initializer_list<std::int64_t> numbers) noexcept {
  if (!buffer_exists()) {
    const OwnCode own;
    start_buffer_if_worth(0);
  }
  RecordWriter record(scope, number, Times::kControl);
  record.key(fd);
  record.key(file);
  for (const std::int64_t value : numbers) record.number(value);
  record.commit();
}

}  // namespace iotune::recorder
