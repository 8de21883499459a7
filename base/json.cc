#include "base/json.h"

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <vector>

#include "base/text.h"

namespace onceproof {
namespace {

// nlohmann's SAX events carry no position, so the text is read through an iterator that remembers
// how far it was read.
struct Reader {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at;
  const char** furthest;

  reference operator*() const { return *at; }
  Reader& operator++() {
    *furthest = ++at;
    return *this;
  }
  bool operator==(const Reader& other) const { return at == other.at; }
};

std::string line_and_column(std::string_view text, std::size_t byte) {
  std::size_t line = 1;
  std::size_t column = 1;
  for (std::size_t i = 0; i < byte && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
  return fmt::format("{}:{}", line, column);
}

// Builds the value and refuses what nlohmann's own parser lets pass: duplicate members, integers
// that would become floating-point numbers, excessive depth.
class StrictBuilder final : public Json::json_sax_t {
 public:
  StrictBuilder(std::string_view text, const JsonLimits& limits)
      : furthest(text.data()), text_(text), limits_(limits) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& token) override {
    if (token.find_first_of(".eE") != string_t::npos) return put(value);
    return refuse(start_of_number(token.size()),
                  at_member("an integer that does not fit into 64 bits"));
  }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (stack_.back()->contains(name)) {
      return refuse(start_of_string(),
                    fmt::format("duplicate member \"{}\"; a member may stand once",
                                joined(path_of_container(), shown(name))));
    }
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&,
                   const nlohmann::detail::exception& e) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..." -> what follows the
    // position
    std::string_view sentence = e.what();
    if (const auto end = sentence.find("] "); end != std::string_view::npos) {
      sentence.remove_prefix(end + 2);
    }
    if (sentence.starts_with("parse error at")) {
      sentence.remove_prefix(std::min(sentence.size(), sentence.find(": ") + 2));
    }
    // "...; last read: '\"4242424242424242'": what somebody sent has no place in a message.
    sentence = sentence.substr(0, sentence.find("; last read"));
    if (sentence.starts_with("number overflow")) sentence = "a number beyond what a double holds";
    const bool in_a_value = sentence.find("while parsing object") == std::string_view::npos &&
                            sentence.find("while parsing array") == std::string_view::npos;
    return refuse(byte == 0 ? 0 : byte - 1,
                  in_a_value ? at_member(sentence) : std::string(sentence));
  }

  const char* furthest;
  Json root;
  std::string problem;
  std::size_t problem_byte = 0;

 private:
  bool refuse(std::size_t byte, std::string sentence) {
    problem_byte = byte;
    problem = std::move(sentence);
    return false;
  }
  std::size_t read() const { return static_cast<std::size_t>(furthest - text_.data()); }

  // "lines[1]", "lines[1].n"; empty: the root. Members of an array stand in brackets.
  static std::string joined(std::string path, std::string_view name) {
    const bool bare = path.empty() || name.empty() || name.starts_with('[');
    return path.append(bare ? "" : ".").append(name);
  }
  std::string path_of_container() const {
    std::string path;
    for (const auto& name : names_) path = joined(std::move(path), name);
    return path;
  }
  static std::string shown(std::string_view name) { return escape_terminal(shorten(name, 80)); }
  // Where the next value will stand in the innermost container.
  std::string next_name() const {
    if (stack_.empty()) return "";
    if (stack_.back()->is_array()) return fmt::format("[{}]", stack_.back()->size());
    return shown(key_);
  }
  std::string at_member(std::string_view sentence) const {
    const auto path = joined(path_of_container(), next_name());
    return path.empty() ? std::string(sentence) : fmt::format("{}: {}", path, sentence);
  }

  // Of the string that was just read: back to the first quote that no odd number of backslashes
  // escapes.
  std::size_t start_of_string() const {
    std::size_t at = read() - 1;  // the closing quote
    while (at > 0) {
      --at;
      if (text_[at] != '"') continue;
      std::size_t slashes = 0;
      while (slashes < at && text_[at - slashes - 1] == '\\') ++slashes;
      if (slashes % 2 == 0) break;
    }
    return at;
  }
  std::size_t start_of_number(std::size_t length) const {
    const bool one_more =
        text_[read() - 1] < '0' || text_[read() - 1] > '9';  // read to see the end
    return read() - length - (one_more ? 1 : 0);
  }

  template <typename Value>
  bool put(Value&& value) {
    place(Json(std::forward<Value>(value)));
    return true;
  }
  Json* place(Json value) {
    if (stack_.empty()) {
      root = std::move(value);
      return &root;
    }
    Json& parent = *stack_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[key_] = std::move(value));
  }
  bool open(Json container) {
    if (stack_.size() >= limits_.max_depth) {
      return refuse(read() - 1, fmt::format("nested deeper than {} levels", limits_.max_depth));
    }
    names_.push_back(next_name());
    stack_.push_back(place(std::move(container)));
    return true;
  }
  bool close() {
    names_.pop_back();
    stack_.pop_back();
    return true;
  }

  std::string_view text_;
  JsonLimits limits_;
  std::vector<Json*> stack_;        // addresses stay valid: only the innermost container grows
  std::vector<std::string> names_;  // of the containers in stack_, within their own
  std::string key_;
};

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view name, JsonLimits limits) {
  if (text.size() > limits.max_bytes) {
    return fail(ErrorCode::limit_exceeded, fmt::format("{}: {} bytes; at most {} are read", name,
                                                       text.size(), limits.max_bytes));
  }
  if (text.starts_with("\xef\xbb\xbf")) {
    return fail(ErrorCode::parse_failed,
                fmt::format("{}:1:1: begins with a byte order mark; JSON has none", name));
  }
  StrictBuilder builder(text, limits);
  const Reader first{text.data(), &builder.furthest};
  const Reader last{text.data() + text.size(), &builder.furthest};
  try {
    if (Json::sax_parse(first, last, &builder)) return std::move(builder.root);
  } catch (const Json::exception& e) {
    builder.problem = e.what();
  }
  return fail(
      ErrorCode::parse_failed,
      fmt::format("{}:{}: {}", name, line_and_column(text, builder.problem_byte), builder.problem));
}

Json parse_own_json(std::string_view text) {
  return Json::parse(text, nullptr, false);
}

std::string to_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const Json* find_member(const Json& object, std::string_view member) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(member);
  return it == object.end() ? nullptr : &*it;
}

std::optional<std::string> find_string(const Json& object, std::string_view member) {
  const Json* found = find_member(object, member);
  if (found == nullptr || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

std::optional<std::int64_t> find_integer(const Json& object, std::string_view member) {
  const Json* found = find_member(object, member);
  if (found == nullptr || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned() &&
      found->get<std::uint64_t>() >
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  return found->get<std::int64_t>();
}

std::optional<bool> find_bool(const Json& object, std::string_view member) {
  const Json* found = find_member(object, member);
  if (found == nullptr || !found->is_boolean()) return std::nullopt;
  return found->get<bool>();
}

bool is_json_pointer(std::string_view text) {
  try {
    static_cast<void>(Json::json_pointer(std::string(text)));
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

const Json* find_pointer(const Json& value, std::string_view pointer) {
  try {
    const Json::json_pointer parsed{std::string(pointer)};
    return value.contains(parsed) ? &value.at(parsed) : nullptr;
  } catch (const Json::exception&) {
    return nullptr;
  }
}

}  // namespace onceproof
