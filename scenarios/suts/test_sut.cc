// A system under test for the runner's own tests: speaks the protocol as docs/sut-protocol.md says,
// and then behaves or misbehaves as its argument names. `right` is right at a provider with key
// dedup (it sends again with the same key); `naive` is the mistake that the project exists for.
// Shares nothing with the reference.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"

namespace onceproof {
namespace {

constexpr int kFloodBytes = 100 << 20;

[[noreturn]] void hang() {
  for (;;) ::pause();
}

void flood(int descriptor) {
  const std::string block(1 << 16, 'x');
  for (int written = 0; written < kFloodBytes; written += static_cast<int>(block.size())) {
    if (::write(descriptor, block.data(), block.size()) < 0) ::_exit(5);
  }
}

// One POST, one answer, one total deadline. Status 0: ambiguous.
struct Reply {
  int status = 0;
  Json body;
};

class Post {
 public:
  Post(const std::string& url, Milliseconds timeout, Clock& clock)
      : clock_(clock), deadline_(clock.monotonic() + timeout) {
    // "http://127.0.0.1:4711/w1"
    const auto host = url.find("//") + 2;
    const auto colon = url.find(':', host);
    const auto slash = url.find('/', host);
    port_ = static_cast<std::uint16_t>(std::stoi(url.substr(colon + 1)));
    path_ = slash == std::string::npos ? "" : url.substr(slash);
  }

  Reply send(const std::string& route, const std::string& key, const Json& params) {
    const std::string body = to_line(params);
    const std::string request = fmt::format(
        "POST {}{} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        "Idempotency-Key: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
        path_, route, key, body.size(), body);
    socket_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      return {};
    if (::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return {};
    return read_reply();
  }

 private:
  Reply read_reply() {
    std::string text;
    char bytes[4096];
    for (;;) {
      const auto left = std::chrono::ceil<Milliseconds>(deadline_ - clock_.monotonic()).count();
      pollfd entry{socket_.get(), POLLIN, 0};
      if (left <= 0 || ::poll(&entry, 1, static_cast<int>(left)) <= 0) return {};
      const ssize_t n = ::read(socket_.get(), bytes, sizeof bytes);
      if (n < 0) return {};
      if (n == 0) break;
      text.append(bytes, static_cast<std::size_t>(n));
    }
    const auto body = text.find("\r\n\r\n");
    if (body == std::string::npos || text.size() < 12) return {};
    auto json = parse_json(text.substr(body + 4));
    if (!json) return {};
    return {std::stoi(text.substr(9, 3)), std::move(*json)};
  }

  Clock& clock_;
  MonotonicTime deadline_;
  std::uint16_t port_ = 0;
  std::string path_;
  UniqueFd socket_;
};

class TestSut {
 public:
  explicit TestSut(std::string mode) : mode_(std::move(mode)) {}

  int run() {
    std::string line;
    while (std::getline(std::cin, line)) {
      const auto message = parse_json(line);
      if (!message) return 9;
      const auto type = find_string(*message, "type").value_or("");
      if (mode_ == "hang-at-" + type) hang();
      if (mode_ == "garbage-at-" + type) say("all is well \x1b[31m");
      if (mode_ == "exit-at-" + type) {
        std::cerr << "test_sut: out of coffee\n";
        std::cout << "{\"type\":\"ans" << std::flush;  // half an answer
        ::_exit(3);
      }
      if (type == "shutdown") {
        if (mode_ == "ignores-shutdown") hang();
        return 0;
      }
      if (type == "init") {
        init(*message);
      } else {
        answer(type, *message);
      }
    }
    return 0;
  }

 private:
  static void say(const std::string& line) { std::cout << line << '\n' << std::flush; }

  void init(const Json& message) {
    state_dir_ = *find_string(message, "state_dir");
    worker_ = *find_string(message, "worker");
    url_ = *find_string(message["services"]["payments"], "url");
    call_timeout_ = Milliseconds{*find_integer(message["times"], "call_timeout_ms")};
    if (mode_ == "flood-stdout") flood(STDOUT_FILENO);
    if (mode_ == "flood-stderr") flood(STDERR_FILENO);
    if (mode_ == "grandchild" || mode_ == "orphan") leave_someone_behind();
    Json capabilities = Json::array({"submit", "reconcile", "status"});
    if (mode_ == "naive" || mode_ == "submit-only") capabilities = Json::array({"submit"});
    Json ready{{"type", "ready"}, {"name", "test-sut"}, {"capabilities", std::move(capabilities)}};
    if (mode_ == "ready-without-capabilities") ready.erase("capabilities");
    say(to_line(ready));
    if (mode_ == "closes-stdin") {
      ::close(STDIN_FILENO);
      hang();
    }
    if (mode_ == "closes-stdout") {
      ::close(STDOUT_FILENO);
      hang();
    }
  }

  // grandchild: leaves the group and the session. orphan: has lost its parent too.
  void leave_someone_behind() {
    const pid_t child = ::fork();
    if (child != 0) {
      if (mode_ == "orphan") RealClock().wait_for(Milliseconds{20});
      return;
    }
    ::setsid();
    if (mode_ == "orphan" && ::fork() != 0) ::_exit(0);
    const auto note = state_dir_ / "stray.pid";
    static_cast<void>(write_file(note, std::to_string(::getpid())));
    hang();
  }

  void answer(const std::string& type, const Json& message) {
    const auto id = *find_integer(message, "id");
    Json reply;
    if (mode_ == "error") {
      reply = {{"type", "error"}, {"message", "the database is away"}};
    } else if (type == "reconcile") {
      reply = reconcile();
    } else if (type == "status") {
      reply = status(message);
    } else {
      reply = mode_ == "naive" ? submit_naively(message) : submit(message);
    }
    if (mode_ == "unknown-status" && type != "reconcile") reply["status"] = "done";
    reply["id"] = mode_ == "wrong-id" ? id + 1 : id;
    say(to_line(reply));
    if (mode_ == "answers-twice") say(to_line(reply));
  }

  static Json answer_with(const Json& record) {
    Json reply{{"type", "answer"}, {"status", record["status"]}};
    if (record["status"] == "unknown") reply["status"] = "verification_required";
    for (const char* member : {"external_id", "result", "error_code"}) {
      if (record.contains(member)) reply[member] = record[member];
    }
    return reply;
  }

  Json submit_naively(const Json& message) {
    const auto reply =
        Post(url_, call_timeout_, clock_)
            .send("/payments", fmt::format("{}-{}", ::getpid(), ++attempts_), message["params"]);
    if (reply.status != 201) {
      return {{"type", "answer"}, {"status", "failed_final"}, {"error_code", "timeout"}};
    }
    return {{"type", "answer"}, {"status", "succeeded"}, {"external_id", reply.body["id"]}};
  }

  Json submit(const Json& message) {
    const auto lock = lock_journal();
    Json journal = load_journal();
    Json& record = journal[name_of(message)];
    if (!record.is_null() && record["params"] != message["params"]) {
      return {{"type", "answer"}, {"status", "conflict"}};
    }
    if (record.is_null()) {
      record = {{"params", message["params"]},
                {"key", find_string(message, "operation_key").value_or("key-" + name_of(message))}};
    }
    if (record["status"] != "succeeded" && record["status"] != "failed_final")
      call(journal, record);
    return answer_with(record);
  }

  Json status(const Json& message) {
    const auto lock = lock_journal();
    const Json journal = load_journal();
    const Json* record = find_member(journal, name_of(message));
    if (record == nullptr) return {{"type", "answer"}, {"status", "pending"}};
    return answer_with(*record);
  }

  Json reconcile() {
    const auto lock = lock_journal();
    Json journal = load_journal();
    int checked = 0, settled = 0;
    for (auto& record : journal) {
      if (record["status"] == "succeeded" || record["status"] == "failed_final") continue;
      ++checked;
      call(journal, record);
      if (record["status"] != "unknown") ++settled;
    }
    return {{"type", "done"}, {"checked", checked}, {"settled", settled}};
  }

  // The journal before the network, and after it.
  void call(Json& journal, Json& record) {
    record["status"] = "unknown";
    store_journal(journal);
    const auto reply = Post(url_, call_timeout_, clock_)
                           .send("/payments", record["key"].get<std::string>(), record["params"]);
    const auto id = find_string(reply.body, "id");
    if (reply.status == 201 && id) {
      record["status"] = "succeeded";
      record["external_id"] = *id;
    } else if (reply.status == 402) {
      record["status"] = "failed_final";
      record["error_code"] = "declined";
    }
    store_journal(journal);
  }

  static std::string name_of(const Json& message) {
    return fmt::format("{}/{}/{}", message["tenant"].get<std::string>(),
                       message["action"].get<std::string>(), message["intent"].get<std::string>());
  }

  UniqueFd lock_journal() const {
    UniqueFd file(::open((state_dir_ / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (::flock(file.get(), LOCK_EX) != 0) ::_exit(6);
    return file;
  }
  Json load_journal() const {
    const auto text = read_file(state_dir_ / "journal.json");
    return text ? *parse_json(*text) : Json::object();
  }
  void store_journal(const Json& journal) const {
    if (!write_file(state_dir_ / "journal.json", journal.dump())) ::_exit(7);
  }

  std::string mode_;
  RealClock clock_;
  std::filesystem::path state_dir_;
  std::string worker_;
  std::string url_;
  Milliseconds call_timeout_{0};
  int attempts_ = 0;
};

}  // namespace
}  // namespace onceproof

int main(int argc, char** argv) {
  return onceproof::TestSut(argc > 1 ? argv[1] : "right").run();
}
