// One request on its way through the proxy, and its reply on the way back.
// Invariant: a request is put into one upstream connection once (twice if a rule says so). It is
// put into another one only if not one byte of it was handed to the kernel before: a connection
// that dies later ends in 502, for the upstream may have done its work. Faults strike as at a fake:
// request_received when the last byte of the request is here and nothing of it was sent on;
// after_commit when the upstream has answered and no byte of that was passed on; response_sent when
// the last byte is out.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "faults/http.h"
#include "net/request_reader.h"
#include "proxy/client_side.h"
#include "proxy/parts.h"
#include "proxy/reply_head.h"
#include "proxy/strike.h"

namespace onceproof::proxy {

class Exchange {
 public:
  Exchange(Session& session, net::HeadOnly request);
  // True: the client's connection goes on. Else it is closed, reset, or may be closed now.
  bool run();

 private:
  enum class Next { go_on, keep, end };

  Next play();
  void log_request();
  void log_body();
  // The first note of a kind that a request has; `fault`: what struck.
  void note(std::string_view text, std::string_view fault = "");

  // Faults.
  std::optional<Strike> visit(faults::Point point);
  Next strike(faults::Point point);
  Next carry_out(const Strike& strike);
  Next read_body_into(std::string& into, std::size_t limit);
  void deliver_once();

  // The upstream's side: exchange_relay.cc.
  Result<void> open();
  Next send();
  Next step();
  Next take_body();
  Next take_reply();
  Next upstream_ended();
  Next out_of_time(bool awaited_body);
  Result<std::size_t> find_head(bool dropping);
  Next begin_reply(std::size_t head_bytes);
  Next pass_on(std::string piece);
  std::optional<int> drop_reply(Milliseconds patience);
  net::Socket::Arrival pump(MonotonicTime deadline);

  // Ends.
  Next body_failed(ClientSide::Piece how);
  Next answer(const faults::HttpReply& reply);
  Next give_up(int status, std::string_view code, std::string_view message);
  void record_answer(int status, bool truth);
  void record_broken();
  Next conclude(bool keep);
  Next end(faults::Ending ending);

  Session& session_;
  const ProxyParts& parts_;
  const net::HeadOnly request_;
  const std::string path_;
  ClientSide client_;
  faults::RequestFacts facts_;

  std::string held_;          // of the body: read, and not yet put into the upstream connection
  bool upload_over_ = false;  // the upstream takes no more of the body
  bool client_ended_ = false;
  std::string arrived_;  // of the reply
  int interim_ = 0;
  std::optional<ReplyHead> reply_;
  std::optional<std::uint64_t> let_through_;       // then the reply is cut
  faults::Ending after_ = faults::Ending::answer;  // what follows the last byte
};

}  // namespace onceproof::proxy
