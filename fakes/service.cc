#include "fakes/service.h"

#include <fmt/format.h>

#include "fakes/payments.h"

namespace onceproof::fakes {

Result<std::unique_ptr<Service>> make_service(std::string_view name) {
  if (name == "payments") return std::unique_ptr<Service>(std::make_unique<Payments>());
  return fail(ErrorCode::invalid_argument,
              fmt::format("no service '{}'; there is: payments", name));
}

}  // namespace onceproof::fakes
