// `onceproof proxy` as its users call it.
#include <fmt/format.h>

#include <csignal>
#include <sstream>

#include "cli/cli_fixture.h"
#include "net/raw_client.h"

namespace onceproof::cli {
namespace {

class ProxyCliTest : public CliTest {
 protected:
  // The port in the first "http://127.0.0.1:PORT" behind `label`.
  static int port_after(const std::string& said, const std::string& label) {
    const auto at = said.find("http://127.0.0.1:", said.find(label));
    return at == std::string::npos ? 0 : std::stoi(said.substr(at + 17));
  }
  static std::string ask(int port, const std::string& request) {
    net::RawClient client(port);
    if (!client.connected() || !client.send(request)) return "no connection";
    return client.hear_reply().value_or("no reply");
  }
  static std::string payment(const std::string& key) {
    return net::post("/payments", R"({"order_id":"817","amount_minor":490000,"currency":"RUB"})",
                     "Content-Type: application/json\r\nIdempotency-Key: " + key + "\r\n");
  }
};

TEST_F(ProxyCliTest, AReplyIsLostInFrontOfARealServerAndTheRetryIsOneEffect) {
  const auto serve = start({"serve", "--profile", "keyed"});
  const auto served = read_until(*serve, "Ctrl-C");
  const int upstream = port_after(served, "payments");
  ASSERT_GT(upstream, 0) << served;
  const auto proxy = start({"proxy", "--upstream", fmt::format("http://127.0.0.1:{}", upstream),
                            "--fault", "{at: after_commit, on: {route: POST /pay*}, do: close}",
                            "--duplicate", "POST /payments nth=3", "--log"});
  const auto said = read_until(*proxy, "Ctrl-C stops it.\n");
  const int port = port_after(said, "proxy:");
  const int admin = port_after(said, "admin API");
  ASSERT_GT(port, 0) << said;
  EXPECT_EQ(ask(port, payment("k1")), "no reply");
  EXPECT_NE(ask(port, payment("k1")).find("Idempotent-Replayed: true"), std::string::npos);
  // Delivered twice: the second finds the effect of the first.
  EXPECT_NE(ask(port, payment("k2")).find("Idempotent-Replayed: true"), std::string::npos);
  const auto ledger = ask(port_after(served, "admin API"), net::get("/ledger"));
  EXPECT_NE(ledger.find("k1"), std::string::npos);
  EXPECT_EQ(ledger.find("k1", ledger.find("k1") + 1), std::string::npos) << ledger;
  EXPECT_NE(ask(admin, net::get("/faults")).find(R"("firings":[{)"), std::string::npos);
  const auto log = read_until(*proxy, "#3 ");
  EXPECT_NE(log.find("#1 POST /payments key=k1: no reply"), std::string::npos) << log;
  EXPECT_NE(log.find("(upstream 201; fault-1)"), std::string::npos) << log;
  ASSERT_EQ(::kill(proxy->pid(), SIGTERM), 0);
  const auto ended = finish(*proxy);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("3 requests, 1 faults fired"), std::string::npos) << ended.out;
  ASSERT_EQ(::kill(serve->pid(), SIGTERM), 0);
  EXPECT_EQ(finish(*serve).code, 0);
}

TEST_F(ProxyCliTest, EndsAtOnceWithOpenConnections) {
  const auto proxy = start({"proxy", "--upstream", "http://127.0.0.1:1", "--fault",
                            "{at: request_received, do: hang, times: 9}"});
  const int port = port_after(read_until(*proxy, "Ctrl-C"), "proxy:");
  ASSERT_GT(port, 0);
  net::RawClient idle(port);
  net::RawClient hanging(port);
  ASSERT_TRUE(hanging.send(net::get("/")));
  EXPECT_EQ(hanging.hear_all(Milliseconds{100}).bytes, "");
  const auto begin = clock_.monotonic();
  ASSERT_EQ(::kill(proxy->pid(), SIGINT), 0);
  EXPECT_EQ(finish(*proxy).code, 0);
  EXPECT_LT(clock_.monotonic() - begin, Milliseconds{100});
}

TEST_F(ProxyCliTest, AFileOfFaultsIsReadAndItsMistakesAreTold) {
  const std::string upstream = "http://127.0.0.1:1";
  ASSERT_TRUE(write_file(path("good.yaml"),
                         "- {at: after_commit, do: {delay: 80ms}}\n"
                         "- at: request_received\n  do: {status: {code: 503}}\n")
                  .has_value());
  const auto proxy = start({"proxy", "--upstream", upstream, "--faults", "good.yaml"});
  const auto said = read_until(*proxy, "Ctrl-C");
  EXPECT_EQ(net::status_of(ask(port_after(said, "proxy:"), net::get("/"))), 503) << said;
  ASSERT_EQ(::kill(proxy->pid(), SIGTERM), 0);
  EXPECT_EQ(finish(*proxy).code, 0);

  const auto refused = [&](std::vector<std::string> more, const std::string& what) {
    std::vector<std::string> args{"proxy", "--upstream", upstream};
    args.insert(args.end(), more.begin(), more.end());
    const auto ended = call(args);
    EXPECT_EQ(ended.code, 2) << what;
    EXPECT_NE(ended.err.find(what), std::string::npos) << ended.err;
  };
  ASSERT_TRUE(
      write_file(path("bad.yaml"), "- {at: after_commit, do: close}\n- {at: x, do: close}\n")
          .has_value());
  refused({"--faults", "bad.yaml"}, "bad.yaml: fault 2: fault: 'at' must be one of");
  ASSERT_TRUE(write_file(path("map.yaml"), "at: after_commit\n").has_value());
  refused({"--faults", "map.yaml"}, "must be a list of faults");
  refused({"--faults", "nowhere.yaml"}, "nowhere.yaml");
  refused({"--fault", "{at: after_commit, do: kill}"}, "the proxy cannot kill");
  refused({"--duplicate", "/payments"}, "--duplicate");
  refused({"--truncate", "GET /x"}, "at=BYTES");
  refused({"--route", "POST /x"}, "--route");
  refused({"--key-header", "a b"}, "no name of a header");
  refused({"--host", "mine"}, "--host");
  refused({"--bind", "0.0.0.0"}, "token");
  refused({"--ca", "/nowhere.pem"}, "https");
}

TEST_F(ProxyCliTest, TheUpstreamMustBeAUrlWithoutAPath) {
  const auto refused = [&](const std::string& url, const std::string& what) {
    const auto ended = call({"proxy", "--upstream", url});
    EXPECT_EQ(ended.code, 2) << url;
    EXPECT_NE(ended.err.find(what), std::string::npos) << ended.err;
  };
  refused("localhost:80", "no http or https URL");
  refused("http://localhost/api", "no path");
  refused("http://no-such-host.invalid", "no-such-host.invalid");
  EXPECT_EQ(call({"proxy"}).code, 2);
}

// Whether `text` is `pattern`, in which "..." stands for anything.
bool is_like(std::string_view text, std::string_view pattern) {
  const auto dots = pattern.find("...");
  if (dots == std::string_view::npos) return text == pattern;
  if (!text.starts_with(pattern.substr(0, dots))) return false;
  for (std::size_t i = dots; i <= text.size(); ++i) {
    if (is_like(text.substr(i), pattern.substr(dots + 3))) return true;
  }
  return false;
}

// The page's session, command by command, with ports that are free here.
TEST_F(ProxyCliTest, TheSessionInItsManualHappensAsItIsTold) {
  const auto page =
      read_file(std::filesystem::path(ONCEPROOF_SOURCE_DIR) / "docs/proxy.md").value();
  std::map<std::string, std::string> ports;  // the page's, and ours
  const auto localised = [&](std::string text) {
    for (const auto& [theirs, ours] : ports) {
      for (auto at = text.find(theirs); at != std::string::npos; at = text.find(theirs, at + 5)) {
        text.replace(at, theirs.size(), ours);
      }
    }
    return text;
  };
  std::vector<std::unique_ptr<Process>> running;
  std::vector<std::string> expected;  // of the last curl
  std::string heard;
  int curls = 0;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("    $ onceproof ")) {
      std::string command = line.substr(6);
      ASSERT_TRUE(command.ends_with(" &")) << line;
      command.resize(command.size() - 2);
      for (const char* port : {"8080", "8081", "8090", "8091"}) {
        if (command.find(std::string("port ") + port) != std::string::npos) {
          command.replace(command.find(std::string("port ") + port) + 5, 4, "0");
        }
      }
      command.replace(0, 9, ONCEPROOF_BINARY);
      running.push_back(start_any({"/bin/sh", "-c", "exec " + localised(command)}));
      const auto said = read_until(*running.back(), "Ctrl-C");
      const bool proxy = said.starts_with("proxy:");
      ports[proxy ? ":8090" : ":8080"] =
          fmt::format(":{}", port_after(said, proxy ? "proxy:" : "payments"));
      ports[proxy ? ":8091" : ":8081"] = fmt::format(":{}", port_after(said, "admin API"));
    } else if (line.starts_with("    $ curl ")) {
      ++curls;
      const auto ended = call_any({"/bin/sh", "-c", localised(line.substr(6))});
      heard = ended.out.empty() ? ended.err : ended.out;
      while (heard.ends_with('\n')) heard.pop_back();
    } else if (curls > 0 && line.starts_with("    ")) {
      EXPECT_TRUE(is_like(heard, line.substr(4))) << heard << "\nis not\n" << line;
      expected.push_back(line);
    }
  }
  EXPECT_EQ(curls, 3);
  EXPECT_EQ(expected.size(), 3U);
  for (const auto& process : running) {
    ASSERT_EQ(::kill(process->pid(), SIGTERM), 0);
    EXPECT_EQ(finish(*process).code, 0);
  }
}

}  // namespace
}  // namespace onceproof::cli
