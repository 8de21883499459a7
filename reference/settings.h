// One way to read settings, whether a person wrote them as YAML or a program as JSON: both become
// the tree of base/yaml.h, so that each member has one reader, one default and one set of messages.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "base/yaml.h"

namespace onceproof {

// The same tree without lines: messages say "name: path: what is wrong".
std::unique_ptr<YamlDocument> document_from_json(const Json& json, std::string name);

// A member written as `name: 15m`, as `name_ms: 900000` or as `name_seconds: 900`; nullopt if it is
// absent. Notes an error if it is written twice or outside [least, most].
std::optional<Milliseconds> find_duration(YamlCursor& map, std::string_view name,
                                          Milliseconds least, Milliseconds most);

}  // namespace onceproof
