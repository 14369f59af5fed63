#include "stamp.hpp"

#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>

namespace support {

using nlohmann::json;

std::optional<std::int64_t> parse_stamp(std::string_view message) {
  const json request = json::parse(message, nullptr, /*allow_exceptions=*/false);
  if (!request.is_object()) return std::nullopt;
  const auto count = request.find("c");
  if (count == request.end() || !count->is_number_integer()) return std::nullopt;
  constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
  if (count->is_number_unsigned() && count->get<std::uint64_t>() > largest) return std::nullopt;
  return count->get<std::int64_t>();
}

std::string make_stamp(std::int64_t count) {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_epoch).count();
  return json{{"c", count}, {"ts", seconds}}.dump();
}

}  // namespace support
