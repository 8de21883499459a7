// YAML for people's files: parsed strictly into a tree that knows its lines, and read through a
// cursor that names the place of the first mistake. Invariant: after a mistake every read gives a
// default and the first error stays. Not YAML whole: anchors, aliases, tags, several documents and
// duplicate keys are errors. yaml-cpp stands in yaml.cc alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"

namespace onceproof {

struct YamlMember;

struct YamlValue {
  enum class Kind { null, scalar, list, map };
  Kind kind = Kind::null;
  std::string text;     // scalar
  bool quoted = false;  // scalar: "1" is a text, 1 a number
  std::vector<YamlValue> items;
  std::vector<YamlMember> members;
  int line = 0, column = 0;  // from 1
};

struct YamlMember {
  YamlValue key;  // a scalar
  YamlValue value;
};

struct YamlDocument {
  std::string file;  // for messages
  YamlValue root;
  std::optional<Error> error;  // the first mistake found while reading
};

// Errors: parse_failed with file:line:column; limit_exceeded (1 MiB, 64 levels).
Result<std::unique_ptr<YamlDocument>> parse_yaml(std::string_view text, std::string file);

// A place in a document. Cheap to copy; the document outlives it.
class YamlCursor {
 public:
  explicit YamlCursor(YamlDocument& document);

  // Of a map. `require` notes an error if the member is missing.
  std::optional<YamlCursor> find(std::string_view member);
  YamlCursor require(std::string_view member);
  // After all members have been asked for: any other member is an error, with the nearest known
  // name.
  void refuse_others();

  std::vector<YamlCursor> items();                            // of a list
  std::vector<std::pair<std::string, YamlCursor>> members();  // of a map, in order
  std::string text();                                         // of a scalar
  std::int64_t integer(std::int64_t least, std::int64_t most);
  bool boolean();
  Milliseconds duration();
  std::string one_of(const std::vector<std::string>& allowed);
  std::vector<std::string> texts();  // a list of scalars, or one scalar
  Json json();                       // the subtree, scalars by YAML 1.2's core schema

  YamlValue::Kind kind() const;
  const std::string& path() const { return path_; }
  bool failed() const { return document_->error.has_value(); }
  // Notes "file:line:column: path: message" unless an error was noted before.
  void complain(const std::string& message) const;

 private:
  YamlCursor(YamlDocument* document, const YamlValue* value, std::string path);
  bool expect(YamlValue::Kind kind, std::string_view name) const;
  YamlCursor child(const YamlValue& value, std::string_view member) const;

  YamlDocument* document_;
  const YamlValue* value_;  // never null: a missing value stands for null
  std::string path_;
  std::vector<std::string> asked_;
};

// The allowed text nearest to `text` if it is near enough to be meant (two edits), else empty.
std::string nearest(std::string_view text, const std::vector<std::string>& allowed);

}  // namespace onceproof
