// The one-line text form of a fault.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "faults/fault.h"

namespace onceproof::faults {
namespace {

constexpr std::size_t kMaxLine = 512 << 10;  // the longest body with every byte escaped fits
constexpr std::string_view kBareBytes =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:/.-+*?";
constexpr std::string_view kNameBytes = "abcdefghijklmnopqrstuvwxyz_0123456789";
constexpr std::string_view kWords = "business_ref=, key=, worker=, tenant=, nth=, name=, optional";

std::string shown(std::string_view text) {
  return escape_terminal(shorten(text, 100));
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Reads one line from the left. The first mistake is kept with its column; what is read after it
// means nothing.
class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

  Result<Fault> read();

 private:
  void complain(std::size_t at, std::string message) {
    if (error_.empty()) error_ = fmt::format("fault: column {}: {}", at + 1, message);
    at_ = text_.size();
  }
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_spaces() {
    while (next() == ' ' || next() == '\t') ++at_;
  }
  std::string_view take_while(std::string_view bytes) {
    const auto begin = at_;
    at_ = std::min(text_.find_first_not_of(bytes, at_), text_.size());
    return text_.substr(begin, at_ - begin);
  }
  void expect(char wanted, std::string_view example) {
    if (next() == wanted && at_ < text_.size()) {
      ++at_;
    } else {
      complain(at_, fmt::format("expected '{}', as in {}", wanted, example));
    }
  }

  std::string read_quoted();
  std::string read_value(std::string_view what);
  std::optional<std::string> read_place(std::string_view what, std::string_view ends);
  std::uint32_t read_count(std::string_view what);
  void read_where(Fault& fault);
  void read_word(Fault& fault, std::size_t begin, std::string_view name);
  void read_action(Fault& fault, std::size_t begin, std::string_view name);
  void read_parameters(Action& action, const ActionSpec& spec,
                       std::vector<const Parameter*>& given);
  void read_parameter(Action& action, const ActionSpec& spec, std::vector<const Parameter*>& given);

  const std::string_view text_;
  std::size_t at_ = 0;
  std::string error_;
  std::vector<std::string_view> seen_;  // words
};

// JSON's own rules: what they refuse is refused here.
std::string TextReader::read_quoted() {
  const auto begin = at_++;
  while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
  if (at_ >= text_.size()) {
    complain(begin, "this quote is not closed");
    return {};
  }
  ++at_;
  const auto value = parse_json(text_.substr(begin, at_ - begin), "text", {.max_bytes = kMaxLine});
  if (value && value->is_string()) return value->get<std::string>();
  complain(begin, R"(this is no text as JSON writes it: \" \\ \n \u00e9 are its escapes)");
  return {};
}

std::string TextReader::read_value(std::string_view what) {
  if (next() == '"') return read_quoted();
  const auto begin = at_;
  std::string value(take_while(kBareBytes));
  if (value.empty())
    complain(begin, fmt::format("{} needs a value; write it in quotes unless it is made of "
                                "letters, digits and _:/.-+*?",
                                what));
  return value;
}

// A service or a route; nullopt: any.
std::optional<std::string> TextReader::read_place(std::string_view what, std::string_view ends) {
  if (next() == '"') return read_quoted();
  const auto begin = at_;
  const auto value = read_value(what);
  if (error_.empty() && !ends.empty()) {
    // A service ends at its point; a route may have points in it.
    const auto end = value.find(ends);
    at_ = begin + std::min(end, value.size());
    if (value.substr(0, end) == "*") return std::nullopt;
    return value.substr(0, end);
  }
  if (value == "*") return std::nullopt;
  return value;
}

std::uint32_t TextReader::read_count(std::string_view what) {
  const auto begin = at_;
  const auto digits = take_while("0123456789");
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc() || number < 1 || number > kMaxCount) {
    complain(begin, fmt::format("{} is a whole number from 1 to {}", what, kMaxCount));
    return 1;
  }
  return static_cast<std::uint32_t>(number);
}

void TextReader::read_where(Fault& fault) {
  constexpr std::string_view kExample = "payments.create@after_commit";
  fault.on.service = read_place("the service (* for any)", ".");
  expect('.', kExample);
  fault.on.route = read_place("the route (* for any)", "");
  expect('@', kExample);
  const auto begin = at_;
  const auto name = take_while(kNameBytes);
  if (const auto point = parse_point(name)) {
    fault.at = *point;
  } else {
    complain(begin, fmt::format("unknown point '{}'; there are: {}", shown(name),
                                fmt::join(point_names(), ", ")));
  }
}

void TextReader::read_word(Fault& fault, std::size_t begin, std::string_view name) {
  if (std::ranges::find(seen_, name) != seen_.end()) {
    return complain(begin, fmt::format("{} is said twice", name));
  }
  seen_.push_back(name);
  ++at_;  // '='
  if (name == "nth") {
    fault.on.nth = read_count(name);
    return;
  }
  if (name == "name") {
    fault.name = read_value(name);
    return;
  }
  for (const auto& [known, field] : match_fields()) {
    if (name != known || name == "service" || name == "route") continue;
    fault.on.*field = read_value(name);
    return;
  }
  complain(begin, fmt::format("unknown word '{}='; there are: {}", shown(name), kWords));
}

void TextReader::read_parameter(Action& action, const ActionSpec& spec,
                                std::vector<const Parameter*>& given) {
  const auto begin = at_;
  const auto name = take_while(kNameBytes);
  const Parameter* parameter = nullptr;
  if (!name.empty() && next() == '=') {
    ++at_;
    parameter = find_parameter(spec, name);
    if (parameter == nullptr) {
      return complain(begin, fmt::format("{} has no parameter '{}'; there are: {}", spec.name,
                                         shown(name), parameter_names(spec)));
    }
  } else {
    at_ = begin;
    if (!given.empty() || spec.parameters.empty()) {
      return complain(begin, fmt::format("write NAME=VALUE; parameters of {}: {}", spec.name,
                                         parameter_names(spec)));
    }
    parameter = &spec.parameters.front();
  }
  if (std::ranges::find(given, parameter) != given.end()) {
    return complain(begin, fmt::format("{} is said twice", parameter->name));
  }
  given.push_back(parameter);
  const auto place = at_;
  const bool quoted = next() == '"';
  const auto text = read_value(parameter->name);
  if (!error_.empty()) return;
  Json value = text;
  if (!quoted && text.size() < 19 && std::ranges::all_of(text, is_digit)) {
    value = std::stoll(text);
  }
  if (auto done = set_parameter(action, *parameter, value); !done) {
    complain(place, fmt::format("{}.{}: {}", spec.name, parameter->name, done.error().message));
  }
}

void TextReader::read_parameters(Action& action, const ActionSpec& spec,
                                 std::vector<const Parameter*>& given) {
  ++at_;  // '('
  skip_spaces();
  while (error_.empty() && next() != ')') {
    if (!given.empty()) {
      expect(',', "status(502, body=\"...\")");
      skip_spaces();
    }
    read_parameter(action, spec, given);
    skip_spaces();
  }
  if (error_.empty()) ++at_;
}

void TextReader::read_action(Fault& fault, std::size_t begin, std::string_view name) {
  const ActionSpec* spec = find_spec(name);
  if (spec == nullptr) {
    return complain(begin, fmt::format("unknown action or word '{}'; actions: {}; words: {}",
                                       shown(name), fmt::join(action_names(), ", "), kWords));
  }
  fault.action = spec->initial;
  std::vector<const Parameter*> given;
  if (next() == '(') read_parameters(fault.action, *spec, given);
  if (!error_.empty()) return;
  for (const auto& parameter : spec->parameters) {
    if (parameter.required && std::ranges::find(given, &parameter) == given.end()) {
      return complain(begin, fmt::format("{} needs its {}, as in {}({}=...)", spec->name,
                                         parameter.name, spec->name, parameter.name));
    }
  }
}

Result<Fault> TextReader::read() {
  Fault fault;
  if (text_.size() > kMaxLine) complain(0, fmt::format("longer than {} bytes", kMaxLine));
  skip_spaces();
  if (error_.empty()) read_where(fault);
  for (bool acted = false; error_.empty() && !acted;) {
    if (next() != ' ' && next() != '\t' && at_ < text_.size()) {
      complain(at_, "expected a space before the next word");
      break;
    }
    skip_spaces();
    auto begin = at_;
    const bool counted = is_digit(next());
    if (counted) {
      fault.times = read_count("the number of strikes before '*'");
      expect('*', "2*close");
      begin = at_;
    }
    if (!error_.empty()) break;
    const auto name = take_while(kNameBytes);
    if (name.empty()) {
      complain(begin,
               fmt::format("the action is missing; one of: {}", fmt::join(action_names(), ", ")));
    } else if (!counted && next() == '=') {
      read_word(fault, begin, name);
    } else if (!counted && name == "optional" && !fault.optional) {
      fault.optional = true;
    } else {
      read_action(fault, begin, name);
      acted = true;
    }
  }
  skip_spaces();
  if (error_.empty() && at_ < text_.size()) complain(at_, "nothing may follow the action");
  if (!error_.empty()) return fail(ErrorCode::parse_failed, error_);
  if (auto checked = check_fault(fault); !checked) {
    return fail(ErrorCode::parse_failed, checked.error().message);
  }
  return fault;
}

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string value_text(const std::string& text) {
  const bool bare = !text.empty() && text.find_first_not_of(kBareBytes) == std::string::npos;
  return bare ? text : quoted(text);
}

std::string place_text(const std::optional<std::string>& place, std::string_view ends) {
  if (!place) return "*";
  const bool ambiguous = *place == "*" || (!ends.empty() && place->find(ends) != std::string::npos);
  return ambiguous ? quoted(*place) : value_text(*place);
}

std::string action_text(const Action& action) {
  const ActionSpec& spec = spec_of(action.kind);
  std::string text(spec.name);
  std::vector<std::string> parts;
  for (const auto* parameter : told_parameters(action)) {
    const Json value = get_parameter(action, *parameter);
    const bool free_text =
        std::holds_alternative<std::string Action::*>(parameter->field) && parameter->words.empty();
    const std::string shown_value = !value.is_string() ? to_line(value)
                                    : free_text        ? quoted(value.get<std::string>())
                                                       : value.get<std::string>();
    const bool first = parameter == &spec.parameters.front();
    const auto name = parameter->name == "content_type" ? "type" : parameter->name;
    parts.push_back(first ? shown_value : fmt::format("{}={}", name, shown_value));
  }
  if (!parts.empty()) text += fmt::format("({})", fmt::join(parts, ", "));
  return text;
}

}  // namespace

Result<Fault> fault_from_text(std::string_view text) {
  return TextReader(text).read();
}

std::string to_text(const Fault& fault) {
  std::string text = fmt::format("{}.{}@{}", place_text(fault.on.service, "."),
                                 place_text(fault.on.route, ""), to_text(fault.at));
  for (const auto& [name, field] : match_fields()) {
    if (name == "service" || name == "route" || !(fault.on.*field)) continue;
    text += fmt::format(" {}={}", name, value_text(*(fault.on.*field)));
  }
  if (fault.on.nth != 1) text += fmt::format(" nth={}", fault.on.nth);
  if (!fault.name.empty()) text += " name=" + value_text(fault.name);
  if (fault.optional) text += " optional";
  return text + fmt::format(" {}*{}", fault.times, action_text(fault.action));
}

}  // namespace onceproof::faults
