// Any bytes as a YAML file: a tree or an error with its place, never a crash; and what is read from
// it is plain text.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace onceproof;
  const auto document =
      parse_yaml(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.yaml");
  if (!document) {
    CHECK(!document.error().message.empty());
    return 0;
  }
  YamlCursor root(**document);
  (void)root.json();
  for (auto& [name, member] : root.members()) {
    (void)member.text();
    (void)member.duration();
    (void)member.integer(0, 10);
  }
  root.refuse_others();
  return 0;
}
