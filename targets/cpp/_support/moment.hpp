// When a message was handed over.
#pragma once

#include <time.h>

#include <cstdint>

namespace support {

struct Moment {
  std::uint64_t monotonic_ns;  // CLOCK_MONOTONIC, the same for all processes
  std::uint64_t unix_ms;
};

inline std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// Now, or after spinning for so long: the control, whose messages are late by a known time.
inline Moment moment_after(std::uint64_t delay_ns) {
  std::uint64_t monotonic_ns = clock_ns(CLOCK_MONOTONIC);
  for (const auto until_ns = monotonic_ns + delay_ns; monotonic_ns < until_ns;) {
    monotonic_ns = clock_ns(CLOCK_MONOTONIC);
  }
  return {monotonic_ns, clock_ns(CLOCK_REALTIME) / 1'000'000};
}

}  // namespace support
