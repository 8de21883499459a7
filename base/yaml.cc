#include "base/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

namespace onceproof {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20;
constexpr std::size_t kMaxDepth = 64;
const YamlValue kNothing{};

// A refusal of ours inside yaml-cpp's callbacks; caught in parse_yaml.
struct Refused {
  YAML::Mark mark;
  std::string message;
};

// Builds the tree from events. A frame is an open container; a map frame holds a key until its
// value comes.
class Builder final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    place(make(mark, YamlValue::Kind::null));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refused{mark, "aliases (*name) are not accepted; write the value out"};
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    refuse_anchor(mark, anchor);
    if (tag != "!") refuse_tag(mark, tag);  // "!" stands for quotes
    auto value = make(mark, YamlValue::Kind::scalar);
    value.text = text;
    value.quoted = tag == "!";
    const bool null = !value.quoted && (text.empty() || text == "~" || text == "null");
    if (null) value.kind = YamlValue::Kind::null;
    place(std::move(value));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    open(mark, anchor, YamlValue::Kind::list);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    open(mark, anchor, YamlValue::Kind::map);
  }
  void OnMapEnd() override { close(); }

  YamlValue root;

 private:
  struct Frame {
    YamlValue value;
    std::optional<YamlValue> key;
  };

  static YamlValue make(const YAML::Mark& mark, YamlValue::Kind kind) {
    YamlValue value;
    value.kind = kind;
    value.line = mark.line + 1;
    value.column = mark.column + 1;
    return value;
  }
  static void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) throw Refused{mark, "anchors (&name) are not accepted; write the value out"};
  }
  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?") return;
    throw Refused{mark, "tags (!name) are not accepted; leave it out"};
  }
  void open(const YAML::Mark& mark, YAML::anchor_t anchor, YamlValue::Kind kind) {
    refuse_anchor(mark, anchor);
    if (frames_.size() >= kMaxDepth) {
      throw Refused{mark, fmt::format("nested deeper than {} levels", kMaxDepth)};
    }
    frames_.push_back({make(mark, kind), std::nullopt});
  }
  void close() {
    YamlValue value = std::move(frames_.back().value);
    frames_.pop_back();
    place(std::move(value));
  }
  void place(YamlValue value) {
    if (frames_.empty()) {
      root = std::move(value);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.value.kind == YamlValue::Kind::list) {
      frame.value.items.push_back(std::move(value));
    } else if (frame.key) {
      frame.value.members.push_back({std::move(*frame.key), std::move(value)});
      frame.key.reset();
    } else {
      take_key(frame, std::move(value));
    }
  }
  static void take_key(Frame& frame, YamlValue key) {
    YAML::Mark mark;
    mark.line = key.line - 1;
    mark.column = key.column - 1;
    if (key.kind != YamlValue::Kind::scalar) throw Refused{mark, "a member's name must be a word"};
    for (const auto& [other, ignored] : frame.value.members) {
      if (other.text == key.text) {
        throw Refused{mark, fmt::format("duplicate member '{}'; it stands already in line {}",
                                        key.text, other.line)};
      }
    }
    frame.key = std::move(key);
  }

  std::vector<Frame> frames_;
};

tl::unexpected<Error> parse_failure(const std::string& file, const YAML::Mark& mark,
                                    const std::string& message) {
  return fail(ErrorCode::parse_failed,
              fmt::format("{}:{}:{}: {}", file, mark.line + 1, mark.column + 1, message));
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string join(const std::vector<std::string>& texts) {
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::optional<std::int64_t> to_integer(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Json scalar_json(const YamlValue& value) {
  if (value.quoted) return value.text;
  if (value.text == "true") return true;
  if (value.text == "false") return false;
  if (const auto integer = to_integer(value.text)) return *integer;
  double number = 0;
  const char* last = value.text.data() + value.text.size();
  const auto [end, error] = std::from_chars(value.text.data(), last, number);
  const bool looks_like_one = value.text.find_first_not_of("0123456789.eE+-") == std::string::npos;
  if (error == std::errc{} && end == last && looks_like_one) return number;
  return value.text;
}

Json to_json(const YamlValue& value) {
  switch (value.kind) {
    case YamlValue::Kind::null:
      return nullptr;
    case YamlValue::Kind::scalar:
      return scalar_json(value);
    case YamlValue::Kind::list: {
      Json list = Json::array();
      for (const auto& item : value.items) list.push_back(to_json(item));
      return list;
    }
    case YamlValue::Kind::map: {
      Json object = Json::object();
      for (const auto& [key, member] : value.members) object[key.text] = to_json(member);
      return object;
    }
  }
  return nullptr;
}

}  // namespace

Result<std::unique_ptr<YamlDocument>> parse_yaml(std::string_view text, std::string file) {
  if (text.size() > kMaxBytes) {
    return fail(ErrorCode::limit_exceeded,
                fmt::format("{}: {} bytes; at most {} are read", file, text.size(), kMaxBytes));
  }
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Builder builder;
    if (!parser.HandleNextDocument(builder)) {
      return parse_failure(file, YAML::Mark(), "the file is empty");
    }
    auto document = std::make_unique<YamlDocument>();
    document->file = std::move(file);
    document->root = std::move(builder.root);
    Builder second;
    if (parser.HandleNextDocument(second)) {
      return fail(
          ErrorCode::parse_failed,
          fmt::format("{}: more than one document (---); write one file each", document->file));
    }
    return document;
  } catch (const Refused& refused) {
    return parse_failure(file, refused.mark, refused.message);
  } catch (const YAML::Exception& e) {
    return parse_failure(file, e.mark, e.msg);
  }
}

std::string nearest(std::string_view text, const std::vector<std::string>& allowed) {
  std::string best;
  std::size_t distance = 3;
  for (const auto& candidate : allowed) {
    const auto d = edit_distance(text, candidate);
    if (d < distance && d < candidate.size()) {
      distance = d;
      best = candidate;
    }
  }
  return best;
}

YamlCursor::YamlCursor(YamlDocument& document) : YamlCursor(&document, &document.root, "") {}

YamlCursor::YamlCursor(YamlDocument* document, const YamlValue* value, std::string path)
    : document_(document), value_(value), path_(std::move(path)) {}

void YamlCursor::complain(const std::string& message) const {
  if (document_->error) return;
  const std::string where =
      value_->line > 0 ? fmt::format("{}:{}:{}", document_->file, value_->line, value_->column)
                       : document_->file;
  document_->error = Error{ErrorCode::parse_failed,
                           path_.empty() ? fmt::format("{}: {}", where, message)
                                         : fmt::format("{}: {}: {}", where, path_, message)};
}

YamlValue::Kind YamlCursor::kind() const {
  return value_->kind;
}

bool YamlCursor::expect(YamlValue::Kind kind, std::string_view name) const {
  if (value_->kind == kind) return true;
  complain(fmt::format("expected {}", name));
  return false;
}

YamlCursor YamlCursor::child(const YamlValue& value, std::string_view member) const {
  return {document_, &value,
          path_.empty() ? std::string(member) : fmt::format("{}.{}", path_, member)};
}

std::optional<YamlCursor> YamlCursor::find(std::string_view member) {
  asked_.emplace_back(member);
  if (!expect(YamlValue::Kind::map, "members (name: value)")) return std::nullopt;
  for (const auto& [key, value] : value_->members) {
    if (key.text == member) return child(value, member);
  }
  return std::nullopt;
}

YamlCursor YamlCursor::require(std::string_view member) {
  if (auto found = find(member)) return *found;
  complain(fmt::format("the member '{}' is missing", member));
  return {document_, &kNothing, path_};
}

void YamlCursor::refuse_others() {
  for (const auto& [key, value] : value_->members) {
    if (std::ranges::find(asked_, key.text) != asked_.end()) continue;
    const auto meant = nearest(key.text, asked_);
    YamlCursor at(document_, &key, path_);
    at.complain(meant.empty()
                    ? fmt::format("unknown member '{}'; there are: {}", key.text, join(asked_))
                    : fmt::format("unknown member '{}'; did you mean '{}'?", key.text, meant));
  }
}

std::vector<YamlCursor> YamlCursor::items() {
  std::vector<YamlCursor> result;
  if (!expect(YamlValue::Kind::list, "a list")) return result;
  for (std::size_t i = 0; i < value_->items.size(); ++i) {
    result.push_back({document_, &value_->items[i], fmt::format("{}[{}]", path_, i)});
  }
  return result;
}

std::vector<std::pair<std::string, YamlCursor>> YamlCursor::members() {
  std::vector<std::pair<std::string, YamlCursor>> result;
  if (!expect(YamlValue::Kind::map, "members (name: value)")) return result;
  for (const auto& [key, value] : value_->members) {
    result.emplace_back(key.text, child(value, key.text));
  }
  return result;
}

std::string YamlCursor::text() {
  if (!expect(YamlValue::Kind::scalar, "a text")) return {};
  return value_->text;
}

std::int64_t YamlCursor::integer(std::int64_t least, std::int64_t most) {
  const auto value = value_->kind == YamlValue::Kind::scalar && !value_->quoted
                         ? to_integer(value_->text)
                         : std::nullopt;
  if (value && *value >= least && *value <= most) return *value;
  complain(fmt::format("expected a whole number from {} to {}", least, most));
  return least;
}

bool YamlCursor::boolean() {
  const bool plain = value_->kind == YamlValue::Kind::scalar && !value_->quoted;
  if (plain && value_->text == "true") return true;
  if (!plain || value_->text != "false") complain("expected true or false");
  return false;
}

Milliseconds YamlCursor::duration() {
  const auto parsed = parse_duration(value_->kind == YamlValue::Kind::scalar ? value_->text : "");
  if (parsed) return *parsed;
  complain(parsed.error().message);
  return Milliseconds{0};
}

std::string YamlCursor::one_of(const std::vector<std::string>& allowed) {
  const std::string value = text();
  if (failed() || std::ranges::find(allowed, value) != allowed.end()) return value;
  const auto meant = nearest(value, allowed);
  complain(meant.empty() ? fmt::format("'{}' is none of: {}", value, join(allowed))
                         : fmt::format("'{}' is unknown; did you mean '{}'? There are: {}", value,
                                       meant, join(allowed)));
  return value;
}

std::vector<std::string> YamlCursor::texts() {
  if (value_->kind == YamlValue::Kind::scalar) return {value_->text};
  std::vector<std::string> result;
  for (auto& item : items()) result.push_back(item.text());
  return result;
}

Json YamlCursor::json() {
  return to_json(*value_);
}

}  // namespace onceproof
