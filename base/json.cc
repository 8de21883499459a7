#include "base/json.h"

#include <fmt/format.h>

#include <limits>
#include <set>
#include <vector>

namespace onceproof {
namespace {

std::string position(std::string_view text, std::size_t byte) {
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

// Builds the value and refuses what nlohmann's own parser lets pass: duplicate members and excessive depth.
class StrictBuilder final : public Json::json_sax_t {
 public:
  explicit StrictBuilder(const JsonLimits& limits) : limits_(limits) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (stack_.back()->contains(name)) {
      problem = fmt::format("duplicate member \"{}\"; a member may stand once", name);
      return false;
    }
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& e) override {
    error_byte = byte == 0 ? 0 : byte - 1;
    problem = e.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..." -> what follows the position
    if (const auto colon = problem.find(": "); colon != std::string::npos) problem.erase(0, colon + 2);
    if (problem.empty()) problem = "not valid JSON";
    return false;
  }

  Json root;
  std::string problem;
  std::optional<std::size_t> error_byte;

 private:
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
      problem = fmt::format("nested deeper than {} levels", limits_.max_depth);
      return false;
    }
    stack_.push_back(place(std::move(container)));
    return true;
  }
  bool close() {
    stack_.pop_back();
    return true;
  }

  JsonLimits limits_;
  std::vector<Json*> stack_;  // addresses stay valid: only the innermost container grows
  std::string key_;
};

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view name, JsonLimits limits) {
  if (text.size() > limits.max_bytes) {
    return fail(ErrorCode::limit_exceeded, fmt::format("{}: {} bytes; at most {} are read", name,
                                                       text.size(), limits.max_bytes));
  }
  StrictBuilder builder(limits);
  bool accepted = false;
  try {
    accepted = Json::sax_parse(text, &builder);
  } catch (const Json::exception& e) {
    builder.problem = e.what();
  }
  if (accepted) return std::move(builder.root);
  if (builder.error_byte) {
    return fail(ErrorCode::parse_failed, fmt::format("{}:{}: {}", name,
                                                     position(text, *builder.error_byte),
                                                     builder.problem));
  }
  return fail(ErrorCode::parse_failed, fmt::format("{}: {}", name, builder.problem));
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

}  // namespace onceproof
