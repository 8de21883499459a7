// CHECK(condition): a bug in this program, on in every build; prints where and aborts.
// Not for input: wrong input gets an Error.
#pragma once

namespace onceproof {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace onceproof

#define CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::onceproof::check_failed(#condition, __FILE__, __LINE__))
