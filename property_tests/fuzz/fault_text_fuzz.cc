// Any bytes as a fault's text: an error with its column, or a fault that its own text and JSON give
// back exactly.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "faults/fault.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace onceproof;
  const auto fault =
      faults::fault_from_text(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!fault) {
    CHECK(fault.error().message.starts_with("fault: "));
    return 0;
  }
  const auto text = faults::to_text(*fault);
  for (const char c : text) CHECK(c >= 0x20 && c < 0x7f);
  const auto again = faults::fault_from_text(text);
  CHECK(again && *again == *fault);
  const auto from_json = faults::fault_from_json(faults::to_json(*fault));
  CHECK(from_json && *from_json == *fault);
  return 0;
}
