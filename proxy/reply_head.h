// The head of an HTTP/1.1 reply: what a relay must know of it, which is where its body ends and
// whether the connection goes on. Strict as net/request_head.h: what could be read in two ways is
// an error. Pure; the text itself is passed on untouched. Source: RFC 9112, sections 4 and 6.3.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "proxy/body_tracker.h"

namespace onceproof::proxy {

struct ReplyHead {
  int status = 0;
  bool keep_alive = true;  // the server keeps the connection, if the body's end is known
  BodyTracker body;
  bool interim() const { return status < 200; }  // another reply follows; 101 is none of these
};

// `text` is all from the status line to the empty line, with it. `method` is the request's: a reply
// to HEAD has no body, whatever its head says. Errors: parse_failed.
Result<ReplyHead> parse_reply_head(std::string_view text, std::string_view method);

}  // namespace onceproof::proxy
