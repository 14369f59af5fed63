// The /stamp service's messages: {"c":n} is answered with {"c":n,"ts":<unix seconds>}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace support {

// The whole number of a JSON object {"c":n}; nothing for anything else.
std::optional<std::int64_t> parse_stamp(std::string_view message);

// The answer. The greeting on connecting is the answer to 0.
std::string make_stamp(std::int64_t count);

}  // namespace support
