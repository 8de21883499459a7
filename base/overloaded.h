// Lambdas as one visitor: `std::visit(Overloaded{[](A) {...}, [](B) {...}}, variant)`.
#pragma once

namespace onceproof {

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;  // clang 14 does not find this by itself

}  // namespace onceproof
