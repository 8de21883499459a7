#include "net/listener.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "faults/server.h"
#include "net/raw_client.h"

namespace onceproof::faults {
namespace {

using net::get;
using net::RawClient;
using net::status_of;

using End = RawClient::End;

std::size_t count_in(const char* folder) {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++n;
  return n;
}

class ListenerTest : public ::testing::Test {
 protected:
  std::unique_ptr<HttpServer> start(std::size_t connections, Ending ending = Ending::answer) {
    HttpHandlers handlers;
    handlers.serve = [ending](const HttpRequest& request, std::stop_token) {
      Decision decision;
      if (request.path == "/hang") decision.ending = Ending::hang;
      if (ending != Ending::answer) decision.ending = ending;
      return decision;
    };
    ServerOptions options;
    options.limits.connections = connections;
    auto server = HttpServer::start(options, std::move(handlers), clock_);
    EXPECT_TRUE(server.has_value());
    return server ? std::move(*server) : nullptr;
  }
  static bool answers(RawClient& client) {
    return client.send(get("/")) && status_of(client.hear_reply().value_or("")) == 200;
  }
  RealClock clock_;
};

TEST_F(ListenerTest, IdleConnectionsNeverBlockAnother) {
  const auto server = start(256);
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 100; ++i) {
    idle.push_back(std::make_unique<RawClient>(server->port()));
    ASSERT_TRUE(idle.back()->connected());
    if (i % 2 == 0) {
      ASSERT_TRUE(answers(*idle.back()));
    }
  }
  RawClient another(server->port());
  EXPECT_TRUE(answers(another));
  for (auto& client : idle) EXPECT_TRUE(answers(*client));
}

TEST_F(ListenerTest, ThreeHundredConnectionsAreServedWithinTheLimit) {
  const auto server = start(256);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 300; ++i) {
    clients.push_back(std::make_unique<RawClient>(server->port()));
    ASSERT_TRUE(clients.back()->connected()) << i;
    ASSERT_TRUE(answers(*clients.back())) << i;
    ASSERT_LE(server->connections(), 256U);
  }
  // The longest idle ones made room, and saw a clean end; the latest are still served.
  EXPECT_EQ(clients.front()->hear_all().end, End::fin);
  EXPECT_TRUE(answers(*clients.back()));
}

TEST_F(ListenerTest, BusyConnectionsAreNotCutAndTheNextWaitsItsTurn) {
  const auto server = start(2);
  RawClient first(server->port()), second(server->port());
  ASSERT_TRUE(first.send(get("/hang")));
  ASSERT_TRUE(second.send(get("/hang")));
  EXPECT_EQ(first.hear_all(Milliseconds{50}).end, End::silence);
  EXPECT_EQ(second.hear_all(Milliseconds{50}).end, End::silence);
  RawClient third(server->port());
  ASSERT_TRUE(third.connected());
  ASSERT_TRUE(third.send(get("/")));
  EXPECT_EQ(third.hear_all(Milliseconds{100}).bytes, "");
  first.close();
  EXPECT_EQ(status_of(third.hear_reply().value_or("")), 200);
}

TEST_F(ListenerTest, StopIsPromptWithIdleHangingAndWaitingClients) {
  auto server = start(4);
  RawClient idle(server->port());
  ASSERT_TRUE(answers(idle));
  std::vector<std::unique_ptr<RawClient>> others;
  for (int i = 0; i < 8; ++i) {
    others.push_back(std::make_unique<RawClient>(server->port()));
    ASSERT_TRUE(others.back()->send(i % 2 == 0 ? get("/hang") : "GET /half"));
  }
  EXPECT_EQ(others[0]->hear_all(Milliseconds{50}).bytes, "");
  const auto before = clock_.monotonic();
  server.reset();
  EXPECT_LT(clock_.monotonic() - before, Milliseconds{5'000});
  for (auto& client : others) EXPECT_NE(client->hear_all().end, End::silence);
}

TEST_F(ListenerTest, NothingIsLeftBehind) {
  { const auto warm_up = start(4); }
  const std::size_t fds = count_in("/proc/self/fd");
  const std::size_t threads = count_in("/proc/self/task");
  for (const Ending ending : {Ending::answer, Ending::close, Ending::reset, Ending::hang}) {
    const auto server = start(8, ending);
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 16; ++i) {
      clients.push_back(std::make_unique<RawClient>(server->port()));
      ASSERT_TRUE(clients.back()->send(get("/")));
    }
    clients[0]->hear_all(Milliseconds{20});
  }
  EXPECT_EQ(count_in("/proc/self/fd"), fds);
  EXPECT_EQ(count_in("/proc/self/task"), threads);
}

TEST_F(ListenerTest, AFreedPortCanBeTakenAtOnceButNotABusyOne) {
  auto server = start(4);
  ServerOptions options;
  options.port = server->port();
  RawClient client(server->port());
  ASSERT_TRUE(answers(client));
  HttpHandlers handlers;
  handlers.serve = [](const HttpRequest&, std::stop_token) { return Decision{}; };
  const auto busy = HttpServer::start(options, handlers, clock_);
  ASSERT_FALSE(busy.has_value());
  EXPECT_EQ(busy.error().code, ErrorCode::port_busy);
  EXPECT_NE(busy.error().message.find("stop what listens there"), std::string::npos);
  server.reset();
  const auto again = HttpServer::start(options, handlers, clock_);
  EXPECT_TRUE(again.has_value()) << again.error().message;
}

TEST_F(ListenerTest, AddressesAreChecked) {
  const auto start_on = [&](std::string bind, int port) {
    return net::Listener::start(
        {std::move(bind), port, 4}, [](net::Connection&, std::stop_token) {}, clock_);
  };
  EXPECT_EQ(start_on("example.org", 0).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(start_on("", 0).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(start_on("192.0.2.1", 0).error().code, ErrorCode::invalid_argument);  // not ours
  EXPECT_EQ(start_on("127.0.0.1", 65'536).error().code, ErrorCode::invalid_argument);
  const auto listener = start_on("localhost", 0);
  ASSERT_TRUE(listener.has_value());
  EXPECT_EQ((*listener)->url(), fmt::format("http://127.0.0.1:{}", (*listener)->port()));
}

TEST_F(ListenerTest, KnowsLoopback) {
  for (const auto* bind : {"127.0.0.1", "127.9.9.9", "::1", "localhost"}) {
    EXPECT_TRUE(net::is_loopback(bind)) << bind;
  }
  for (const auto* bind : {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "example.org", ""}) {
    EXPECT_FALSE(net::is_loopback(bind)) << bind;
  }
}

}  // namespace
}  // namespace onceproof::faults
