#include "reference/canonical_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/text.h"

namespace onceproof {
namespace {

constexpr std::int64_t kLargestInteger = 9'007'199'254'740'991;  // 2^53-1; RFC 8785, section 3.1
constexpr int kMaxDepth = 128;

// The bytes that a character after `lead` must have; 0: no character begins so. RFC 3629,
// section 4.
struct Utf8Form {
  int more = 0;
  unsigned char second_least = 0x80;
  unsigned char second_most = 0xbf;
};

Utf8Form utf8_form(unsigned char lead) {
  if (lead >= 0xc2 && lead <= 0xdf) return {1};
  if (lead == 0xe0) return {2, 0xa0, 0xbf};
  if (lead == 0xed) return {2, 0x80, 0x9f};  // U+D800..U+DFFF are no characters
  if (lead >= 0xe1 && lead <= 0xef) return {2};
  if (lead == 0xf0) return {3, 0x90, 0xbf};
  if (lead >= 0xf1 && lead <= 0xf3) return {3};
  if (lead == 0xf4) return {3, 0x80, 0x8f};
  return {};
}

// Length in bytes of the character at `text[at]`; 0: not UTF-8.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const Utf8Form form = utf8_form(byte(at));
  const auto length = static_cast<std::size_t>(form.more) + 1;
  if (form.more == 0 || text.size() - at < length) return 0;
  if (byte(at + 1) < form.second_least || byte(at + 1) > form.second_most) return 0;
  for (std::size_t i = at + 2; i < at + length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

// UTF-16 order of UTF-8 texts. Bytes agree with code units but for one thing: characters beyond
// U+FFFF (lead 0xf0..) are written with surrogates, 0xd800..0xdfff, and so stand before
// U+E000..U+FFFF (lead 0xee, 0xef). RFC 8785, section 3.2.3.
bool utf16_less(const std::string& a, const std::string& b) {
  const auto [at_a, at_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (at_a == a.end() || at_b == b.end()) return at_a == a.end() && at_b != b.end();
  const auto x = static_cast<unsigned char>(*at_a);
  const auto y = static_cast<unsigned char>(*at_b);
  if (x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0)) return x >= 0xf0;
  return x < y;
}

// ECMAScript, Number::toString: the shortest digits that read back as the same double, the nearest
// of them if there are several, laid out by the exponent. RFC 8785, section 3.2.2.3.
void append_double(std::string& out, double value) {
  if (value == 0) {  // also -0
    out += '0';
    return;
  }
  if (value < 0) out += '-';
  std::array<char, 32> text{};  // d.dddde[+-]xx
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), std::fabs(value),
                                          std::chars_format::scientific);
  CHECK(error == std::errc{});
  const char* const e = std::find(text.data(), end, 'e');
  std::string digits(1, text[0]);
  if (e - text.data() > 1) digits += std::string_view(text.data() + 2, e);
  int exponent = 0;
  std::from_chars(e[1] == '+' ? e + 2 : e + 1, end, exponent);
  const int count = static_cast<int>(digits.size());
  const int point =
      exponent + 1;  // the decimal point stands after this many digits: `n` of the ECMAScript text
  if (point > 21 || point <= -6) {
    out += digits[0];
    if (count > 1) out.append(1, '.').append(digits, 1);
    out += fmt::format("e{:+}", exponent);
  } else if (point >= count) {
    out.append(digits).append(static_cast<std::size_t>(point - count), '0');
  } else if (point > 0) {
    const auto whole = static_cast<std::size_t>(point);
    out.append(digits, 0, whole).append(1, '.').append(digits, whole);
  } else {
    out.append("0.").append(static_cast<std::size_t>(-point), '0').append(digits);
  }
}

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  // False: problem and path tell what and where. The path is made on the way back: a right value
  // costs nothing.
  bool write(const Json& value, int depth) {
    switch (value.type()) {
      case Json::value_t::null:
        out_ += "null";
        return true;
      case Json::value_t::boolean:
        out_ += value.get<bool>() ? "true" : "false";
        return true;
      case Json::value_t::number_integer:
      case Json::value_t::number_unsigned:
        return write_integer(value);
      case Json::value_t::number_float:
        return write_double(value.get<double>());
      case Json::value_t::string:
        return write_string(value.get_ref<const std::string&>());
      case Json::value_t::array:
        return write_array(value, depth);
      case Json::value_t::object:
        return write_object(value, depth);
      default:
        return refuse("a binary value; JSON has none");
    }
  }

  std::string problem;
  std::string path;

 private:
  bool refuse(std::string message) {
    problem = std::move(message);
    return false;
  }

  bool write_integer(const Json& value) {
    if (!is_exact_integer(value)) {
      return refuse(
          "an integer beyond 2^53-1 (9007199254740991) has no exact form in every JSON reader; "
          "send it as a text");
    }
    std::array<char, 24> text{};
    const auto done =
        std::to_chars(text.data(), text.data() + text.size(), value.get<std::int64_t>());
    out_.append(text.data(), done.ptr);
    return true;
  }

  bool write_double(double value) {
    if (!std::isfinite(value)) return refuse("a number that is not finite; JSON has none");
    append_double(out_, value);
    return true;
  }

  bool write_string(const std::string& text) {
    out_ += '"';
    std::size_t plain = 0;  // start of what is copied as it stands
    for (std::size_t i = 0; i < text.size();) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte >= 0x80) {
        const std::size_t length = utf8_length(text, i);
        if (length == 0) return refuse(fmt::format("a text that is not UTF-8 (at byte {})", i));
        i += length;
        continue;
      }
      if (byte >= 0x20 && byte != '"' && byte != '\\') {
        ++i;
        continue;
      }
      out_.append(text, plain, i - plain);
      write_escape(byte);
      plain = ++i;
    }
    out_.append(text, plain).append(1, '"');
    return true;
  }

  void write_escape(unsigned char byte) {
    static constexpr std::string_view kRaw = "\"\\\b\t\n\f\r";
    static constexpr std::string_view kShort = "\"\\btnfr";
    const auto at = kRaw.find(static_cast<char>(byte));
    if (at != std::string_view::npos) {
      out_.append(1, '\\').append(1, kShort[at]);
    } else {
      out_ += fmt::format("\\u{:04x}", byte);
    }
  }

  bool write_array(const Json& array, int depth) {
    if (depth >= kMaxDepth) return refuse(fmt::format("nested deeper than {} levels", kMaxDepth));
    out_ += '[';
    for (std::size_t i = 0; i < array.size(); ++i) {
      if (i > 0) out_ += ',';
      if (!write(array[i], depth + 1)) return found_at(fmt::format("[{}]", i));
    }
    out_ += ']';
    return true;
  }

  bool write_object(const Json& object, int depth) {
    if (depth >= kMaxDepth) return refuse(fmt::format("nested deeper than {} levels", kMaxDepth));
    const auto& members = object.get_ref<const Json::object_t&>();
    out_ += '{';
    bool first = true;
    // Json keeps its members in the order of bytes, which is the right one for nearly every object.
    const bool bytes_will_do = std::ranges::all_of(members, [](const auto& member) {
      return std::ranges::all_of(member.first,
                                 [](char c) { return static_cast<unsigned char>(c) < 0xee; });
    });
    if (bytes_will_do) {
      for (const auto& member : members) {
        if (!write_member(member, std::exchange(first, false), depth)) return false;
      }
    } else {
      std::vector<const Json::object_t::value_type*> sorted;
      for (const auto& member : members) sorted.push_back(&member);
      std::ranges::sort(sorted, [](auto* a, auto* b) { return utf16_less(a->first, b->first); });
      for (const auto* member : sorted) {
        if (!write_member(*member, std::exchange(first, false), depth)) return false;
      }
    }
    out_ += '}';
    return true;
  }

  bool write_member(const Json::object_t::value_type& member, bool first, int depth) {
    if (!first) out_ += ',';
    if (!write_string(member.first)) return found_at(member.first);
    out_ += ':';
    if (!write(member.second, depth + 1)) return found_at(member.first);
    return true;
  }

  // One step of the path outwards. Always false, for `return`.
  bool found_at(const std::string& step) {
    const bool joined = path.empty() || path.starts_with('[');
    path = fmt::format("{}{}{}", step, joined ? "" : ".", path);
    return false;
  }

  std::string& out_;
};

}  // namespace

bool is_exact_integer(const Json& value) {
  if (value.is_number_unsigned())
    return value.get<std::uint64_t>() <= std::uint64_t{kLargestInteger};
  if (!value.is_number_integer()) return false;
  const auto number = value.get<std::int64_t>();
  return number >= -kLargestInteger && number <= kLargestInteger;
}

Result<std::string> canonical_json(const Json& value) {
  std::string out;
  out.reserve(256);
  Writer writer(out);
  if (writer.write(value, 0)) return out;
  const std::string where =
      writer.path.empty() ? "the value" : shorten(escape_terminal(writer.path), 200);
  return fail(ErrorCode::invalid_argument, fmt::format("{}: {}", where, writer.problem));
}

}  // namespace onceproof
