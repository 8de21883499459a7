#include "reference/normalise.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "reference/canonical_json.h"

namespace onceproof {
namespace {

using Problem = std::optional<std::string>;  // what would be right; nullopt: the value is right now

Problem check_minor_units(const Json& value) {
  static constexpr auto kRight =
      "an amount in minor units is a whole number (490000, not 4900.00, not a text)";
  if (!value.is_number_integer()) return kRight;
  if (!is_exact_integer(value)) return "an amount beyond 2^53-1 has no exact form";
  return std::nullopt;
}

Problem apply_currency(Json& value) {
  static constexpr auto kRight = "a currency is three letters of ISO 4217, such as RUB";
  if (!value.is_string()) return kRight;
  auto& text = value.get_ref<std::string&>();
  if (text.size() != 3) return kRight;
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (c < 'A' || c > 'Z') return kRight;
  }
  return std::nullopt;
}

// `count` digits at `at`; -1 if they are not there.
int digits(std::string_view text, std::size_t at, std::size_t count) {
  if (text.size() < at + count) return -1;
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

std::optional<std::chrono::year_month_day> parse_full_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const int year = digits(text, 0, 4);
  const int month = digits(text, 5, 2);
  const int day = digits(text, 8, 2);
  if (year < 0 || month < 0 || day < 0) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return std::nullopt;
  return date;
}

Problem check_date(const Json& value) {
  if (!value.is_string() || !parse_full_date(value.get_ref<const std::string&>())) {
    return "a date is YYYY-MM-DD and a day that exists (RFC 3339)";
  }
  return std::nullopt;
}

// "Z" or "+hh:mm": minutes east of UTC.
std::optional<int> parse_offset(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  const int hours = digits(text, 1, 2);
  const int minutes = digits(text, 4, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  const int east = hours * 60 + minutes;
  return text[0] == '-' ? -east : east;
}

// RFC 3339 date-time in UTC: no offset but Z, no zeros at the end of a fraction. Leap seconds stay,
// where they can be.
std::optional<std::string> utc_timestamp(std::string_view text) {
  if (text.size() < 20 || (text[10] != 'T' && text[10] != 't')) return std::nullopt;
  const auto date = parse_full_date(text.substr(0, 10));
  const int hour = digits(text, 11, 2);
  const int minute = digits(text, 14, 2);
  const int second = digits(text, 17, 2);
  const bool in_range =
      hour >= 0 && hour <= 23 && minute >= 0 && minute <= 59 && second >= 0 && second <= 60;
  if (!date || !in_range || text[13] != ':' || text[16] != ':') return std::nullopt;
  std::string_view rest = text.substr(19);
  std::string_view fraction;
  if (rest.starts_with('.')) {
    const auto end = std::min(rest.find_first_not_of("0123456789", 1), rest.size());
    if (end == 1) return std::nullopt;
    fraction = rest.substr(0, end);
    rest.remove_prefix(end);
    fraction = fraction.substr(0, fraction.find_last_not_of('0') + 1);
    if (fraction == ".") fraction = {};
  }
  const auto east = parse_offset(rest);
  if (!east) return std::nullopt;
  const auto utc = std::chrono::sys_days{*date} + std::chrono::hours{hour} +
                   std::chrono::minutes{minute} - std::chrono::minutes{*east};
  const auto day = std::chrono::floor<std::chrono::days>(utc);
  const std::chrono::year_month_day ymd{day};
  const std::chrono::hh_mm_ss<std::chrono::minutes> time{utc - day};
  const int year = static_cast<int>(ymd.year());
  const bool last_minute = time.hours().count() == 23 && time.minutes().count() == 59;
  if (year < 0 || year > 9999 || (second == 60 && !last_minute)) return std::nullopt;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}Z", year,
                     static_cast<unsigned>(ymd.month()), static_cast<unsigned>(ymd.day()),
                     time.hours().count(), time.minutes().count(), second, fraction);
}

Problem apply_timestamp(Json& value) {
  static constexpr auto kRight =
      "a timestamp is RFC 3339 with an offset, such as 2026-12-01T09:05:36+03:00";
  if (!value.is_string()) return kRight;
  auto utc = utc_timestamp(value.get_ref<const std::string&>());
  if (!utc) return kRight;
  value = std::move(*utc);
  return std::nullopt;
}

Problem apply_trim(Json& value) {
  static constexpr std::string_view kSpace = " \t\n\r\f\v";
  if (!value.is_string()) return "only a text can be trimmed";
  value = std::string(trim(value.get_ref<const std::string&>(), kSpace));
  return std::nullopt;
}

Problem apply(FieldRule rule, Json& value) {
  switch (rule) {
    case FieldRule::minor_units:
      return check_minor_units(value);
    case FieldRule::currency:
      return apply_currency(value);
    case FieldRule::date:
      return check_date(value);
    case FieldRule::timestamp:
      return apply_timestamp(value);
    case FieldRule::trim:
      return apply_trim(value);
    case FieldRule::absent_if_null:  // both are done before: they remove the member
    case FieldRule::ignore:
      break;
  }
  return std::nullopt;
}

// One field's rules, applied wherever its path leads.
class Field {
 public:
  explicit Field(const std::vector<FieldRule>& rules) : rules_(rules) {}

  // False: problem and place tell what and where.
  bool visit(Json& parent, std::string_view path, const std::string& so_far) {
    if (parent.is_array() && path.starts_with("[]")) return visit_items(parent, path, so_far);
    if (!parent.is_object()) return true;
    if (auto whole = parent.find(path); whole != parent.end()) {  // also a name that has dots
      return settle(parent, whole, so_far + std::string(path));
    }
    const auto end = path.find_first_of(".[");
    if (end == std::string_view::npos) return true;
    const auto member = parent.find(path.substr(0, end));
    if (member == parent.end()) return true;
    const auto rest = path.substr(path[end] == '.' ? end + 1 : end);
    const std::string dot = path[end] == '.' ? "." : "";
    return visit(*member, rest, so_far + std::string(path.substr(0, end)) + dot);
  }

  std::string problem;
  std::string place;

 private:
  bool visit_items(Json& array, std::string_view path, const std::string& so_far) {
    const auto rest = path.substr(path.starts_with("[].") ? 3 : 2);
    for (std::size_t i = 0; i < array.size(); ++i) {
      const auto here = fmt::format("{}[{}]", so_far, i);
      if (rest.empty()) {
        if (!apply_all(array[i], here)) return false;  // an item cannot be absent
      } else if (!visit(array[i], rest, here + (rest.starts_with("[]") ? "" : "."))) {
        return false;
      }
    }
    return true;
  }

  bool settle(Json& parent, Json::iterator member, const std::string& here) {
    if (has(FieldRule::ignore) || (has(FieldRule::absent_if_null) && member->is_null())) {
      parent.erase(member);
      return true;
    }
    return apply_all(*member, here);
  }

  bool apply_all(Json& value, const std::string& here) {
    // White space goes first: " rub" is a currency where `trim` stands beside.
    if (has(FieldRule::trim) && !apply_one(FieldRule::trim, value, here)) return false;
    return std::ranges::all_of(rules_, [&](FieldRule rule) {
      return rule == FieldRule::trim || apply_one(rule, value, here);
    });
  }

  bool apply_one(FieldRule rule, Json& value, const std::string& here) {
    const Problem wrong = apply(rule, value);
    if (!wrong) return true;
    problem = *wrong;
    if (value.is_null()) problem += "; add absent_if_null to its rules if it may be null";
    place = here;
    return false;
  }

  bool has(FieldRule rule) const { return std::ranges::count(rules_, rule) > 0; }

  const std::vector<FieldRule>& rules_;
};

}  // namespace

Result<Json> normalise(const Json& params, const FieldRules& fields) {
  if (!params.is_object()) {
    return fail(ErrorCode::invalid_argument, "params: it must be an object of named parameters");
  }
  Json normal = params;
  for (const auto& [path, rules] : fields) {
    Field field(rules);
    if (field.visit(normal, path, "")) continue;
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: {}", escape_terminal(shorten(field.place, 200)), field.problem));
  }
  return normal;
}

}  // namespace onceproof
