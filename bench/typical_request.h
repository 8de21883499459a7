// The request that the benchmarks read, write and hash.
#pragma once

#include <string>

#include "base/json.h"

namespace onceproof {

// About 300 bytes, the size of a usual intent.
inline std::string typical_request() {
  return to_line(Json{{"action", "create_payment"},
                      {"amount_minor", 490000},
                      {"currency", "RUB"},
                      {"order_id", "817"},
                      {"customer", {{"id", "c-1048576"}, {"segment", "retail"}, {"vip", false}}},
                      {"lines", {{{"sku", "A-1"}, {"n", 2}}, {{"sku", "B-7"}, {"n", 1}}}},
                      {"comment", "Оплата заказа 817, доставка до двери"},
                      {"tags", {"web", "first-order", "promo-2026"}}});
}

}  // namespace onceproof
