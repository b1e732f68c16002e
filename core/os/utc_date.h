// The day of a time in UTC. gmtime_r would read the time zone files.
#pragma once

#include <cstdint>

namespace iotune {

struct UtcDate {
  std::uint64_t year, month, day;  // month and day from 1 on
};

// `seconds` since 1 January 1970. Days are counted from 1 March 0000, so that the leap day is a
// year's last.
constexpr UtcDate utc_date(std::uint64_t seconds) noexcept {
  const std::uint64_t days = seconds / 86400 + 719468;
  const std::uint64_t era = days / 146097, day_of_era = days % 146097;
  const std::uint64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::uint64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::uint64_t shifted_month = (5 * day_of_year + 2) / 153;
  const std::uint64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month,
          day_of_year - (153 * shifted_month + 2) / 5 + 1};
}
static_assert(utc_date(951'782'400).month == 2 && utc_date(951'782'400).day == 29);

}  // namespace iotune
