#include "faults/http.h"

#include "base/json.h"

namespace onceproof::faults {

std::string HttpRequest::header(std::string_view name) const {
  const auto it = headers.find(std::string(name));
  return it == headers.end() ? std::string{} : it->second;
}

HttpReply error_reply(int status, std::string_view code, std::string_view message) {
  HttpReply reply;
  reply.status = status;
  reply.body = to_line(Json{{"error", {{"code", code}, {"message", message}}}});
  return reply;
}

}  // namespace onceproof::faults
