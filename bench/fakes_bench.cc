// What a fake costs beside the least that an HTTP server of cpp-httplib can do: equal clients,
// equal connections, each kept alive. And how quick a fake is there and gone.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <httplib.h>

#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "bench/ratios.h"
#include "fakes/host.h"
#include "net/raw_client.h"

namespace onceproof {
namespace {

constexpr int kConnections = 16;
constexpr int kRequests = 100;  // on each connection, an iteration

constexpr std::string_view kBody =
    R"({"order_id":"817","amount_minor":490000,"currency":"RUB","reference":"op-1"})";

bool pay(net::RawClient& client) {
  static std::atomic<std::uint64_t> keys{0};
  const auto key = fmt::format("Idempotency-Key: key-{}\r\n", ++keys);
  return client.send(net::post("/payments", kBody, key)) &&
         net::status_of(client.hear_reply().value_or("")) / 100 == 2;
}

// One after another, each with its first reply before the next: httplib's queue of clients that
// wait to be accepted has 5 places, and who finds it full tries again a second later.
std::vector<net::RawClient> connect(int port) {
  std::vector<net::RawClient> clients;
  while (clients.size() < kConnections) {
    clients.emplace_back(port);
    if (!pay(clients.back())) return {};
  }
  return clients;
}

// Every connection sends its requests one after another; all begin together.
void drive(benchmark::State& state, int port) {
  auto connected = connect(port);
  if (connected.empty()) return state.SkipWithError("a client could not connect");
  bool going = true;
  std::atomic<int> failed = 0;
  std::barrier round(kConnections + 1);
  std::vector<std::jthread> clients;
  for (auto& client : connected) {
    clients.emplace_back([&] {
      for (;;) {
        round.arrive_and_wait();
        if (!going) return;
        for (int n = 0; n < kRequests; ++n) failed += pay(client) ? 0 : 1;
        round.arrive_and_wait();
      }
    });
  }
  for (auto _ : state) {
    round.arrive_and_wait();
    round.arrive_and_wait();
  }
  going = false;
  round.arrive_and_wait();
  if (failed > 0) state.SkipWithError("a request was not answered as it should be");
  state.SetItemsProcessed(state.iterations() * kConnections * kRequests);
}

std::unique_ptr<fakes::Host> start_fake(Clock& clock) {
  fakes::HostOptions options;
  options.profile = fakes::find_profile("keyed").value();
  return std::move(fakes::Host::start(std::move(options), clock).value());
}

void keyed_payment(benchmark::State& state) {
  RealClock clock;
  const auto host = start_fake(clock);
  drive(state, host->port());
}
BENCHMARK(keyed_payment)->UseRealTime();

void trivial_handler(benchmark::State& state) {
  httplib::Server server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kConnections); };
  server.set_keep_alive_max_count(1'000'000'000);
  server.set_tcp_nodelay(true);
  server.Post("/payments", [](const httplib::Request&, httplib::Response& response) {
    response.set_content(R"({"id":"pay_000001","status":"succeeded"})", "application/json");
  });
  const int port = server.bind_to_any_port("127.0.0.1");
  std::jthread serving([&] { server.listen_after_bind(); });
  drive(state, port);
  server.stop();
}
BENCHMARK(trivial_handler)->UseRealTime();

// Until the first whole reply of a fake that did not exist before; until all of it is gone, with 64
// connections open.
void start_and_stop(benchmark::State& state) {
  RealClock clock;
  double start_ms = 0;
  double stop_ms = 0;
  const auto ms = [](auto time) { return std::chrono::duration<double, std::milli>(time).count(); };
  for (auto _ : state) {
    const auto begun = clock.monotonic();
    auto host = start_fake(clock);
    std::vector<net::RawClient> clients;
    clients.reserve(64);
    clients.emplace_back(host->port());
    const bool sent = clients[0].send(net::post("/payments", kBody));
    if (!sent || !clients[0].hear_reply()) return state.SkipWithError("no reply");
    start_ms += ms(clock.monotonic() - begun);
    while (clients.size() < 64) clients.emplace_back(host->port());
    const auto stopping = clock.monotonic();
    host.reset();
    stop_ms += ms(clock.monotonic() - stopping);
  }
  state.counters["start_ms"] = start_ms / static_cast<double>(state.iterations());
  state.counters["stop_ms"] = stop_ms / static_cast<double>(state.iterations());
}
BENCHMARK(start_and_stop)->UseRealTime();

const Ratio kBesideTrivial("keyed_payment", "trivial_handler", 0.8);
const Limit kStart("start_and_stop", "start_ms", 30);
const Limit kStop("start_and_stop", "stop_ms", 100);

}  // namespace
}  // namespace onceproof
