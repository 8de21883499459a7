// The provider over HTTP: what travels, and what becomes of what comes back.
#include "reference/http_provider.h"

#include <gtest/gtest.h>

#include "reference/scripted_server.h"

namespace onceproof {
namespace {

using Peer = ScriptedServer::Peer;

constexpr Milliseconds kLong{20'000};

Guarantees keyed() {
  Guarantees promised;
  promised.key_dedup = KeyDedup{"X-Operation-Key", Milliseconds{60'000}};
  promised.lookup = LookupGuarantee{LookupBy::key, true, Milliseconds{0}};
  promised.no_effect = {{422, "validation_failed"}};
  return promised;
}

std::unique_ptr<HttpProvider> provider_at(const std::string& url, Guarantees promised = keyed()) {
  static RealClock clock;
  auto provider = HttpProvider::make(http_services()[0], url, std::move(promised), clock);
  EXPECT_TRUE(provider) << provider.error().message;
  return std::move(*provider);
}

CallRequest request(Milliseconds timeout = kLong) {
  return {"op_1", 1, "create_payment", Json{{"order_id", "817"}, {"amount_minor", 490000}},
          timeout};
}

ScriptedServer answering(std::string bytes) {
  return ScriptedServer([bytes = std::move(bytes)](Peer& peer) {
    while (peer.read_request()) peer.send(bytes);
  });
}

constexpr const char* kPayment =
    R"({"id":"pay_1","status":"succeeded","reference":"op_1","amount_minor":490000})";

TEST(HttpProviderTest, ACallCarriesTheKeyInTheHeaderAndInTheReferenceField) {
  auto server = answering(http_answer(201, kPayment));
  const auto outcome = provider_at(server.url() + "/w1")->call(request());
  EXPECT_EQ(outcome.kind, OutcomeKind::confirmed);
  EXPECT_EQ(outcome.external_id, "pay_1");
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_TRUE(requests[0].head.starts_with("POST /w1/payments HTTP/1.1\r\n"));
  EXPECT_NE(requests[0].head.find("X-Operation-Key: op_1\r\n"), std::string::npos);
  EXPECT_EQ(requests[0].body, R"({"amount_minor":490000,"order_id":"817","reference":"op_1"})");
}

TEST(HttpProviderTest, EveryAttemptHasTheSameBytes) {
  auto server = answering(http_answer(500, "{}"));
  const auto provider = provider_at(server.url());
  auto again = request();
  provider->call(again);
  again.attempt = 2;
  provider->call(again);
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].head, requests[1].head);
  EXPECT_EQ(requests[0].body, requests[1].body);
}

TEST(HttpProviderTest, WithoutKeyDedupAndReferenceNothingOfTheKeyTravels) {
  auto server = answering(http_answer(201, kPayment));
  Guarantees promised;
  promised.reference_field = "";
  provider_at(server.url(), promised)->call(request());
  const auto seen = server.requests().at(0);
  EXPECT_EQ(seen.head.find("op_1"), std::string::npos);
  EXPECT_EQ(seen.body.find("op_1"), std::string::npos);
}

TEST(HttpProviderTest, TheReferenceFieldIsNamedByTheGuarantees) {
  auto server =
      answering(http_answer(201, R"({"id":"pay_1","status":"succeeded","order_ref":"op_2"})"));
  Guarantees promised;
  promised.reference_field = "order_ref";
  const auto outcome = provider_at(server.url(), promised)->call(request());
  EXPECT_EQ(outcome.error_code, "answer_foreign");  // it echoes another operation
  EXPECT_NE(server.requests().at(0).body.find(R"("order_ref":"op_1")"), std::string::npos);
}

TEST(HttpProviderTest, ALookupGoesByKeyOrByReferenceAsPromised) {
  auto server = answering(http_answer(200, R"({"data":[],"has_more":false})"));
  const auto by_key = provider_at(server.url());
  EXPECT_EQ(by_key->find("create_payment", "op_1", kLong).kind, LookupKind::not_found);
  Guarantees searchable = keyed();
  searchable.lookup->by = LookupBy::reference;
  const auto by_reference = provider_at(server.url(), searchable);
  EXPECT_EQ(by_reference->find("create_payment", "a&b=#%+/\"", kLong).kind, LookupKind::not_found);
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_TRUE(requests[0].head.starts_with("GET /payments?idempotency_key=op_1 HTTP/1.1\r\n"));
  EXPECT_TRUE(
      requests[1].head.starts_with("GET /payments?reference=a%26b%3D%23%25%2B%2F%22 HTTP/1.1\r\n"))
      << requests[1].head;
}

TEST(HttpProviderTest, ALookupThatIsNotPromisedIsNotTried) {
  auto server = answering(http_answer(200, R"({"data":[],"has_more":false})"));
  const auto provider = provider_at(server.url(), Guarantees{});
  EXPECT_EQ(provider->find("create_payment", "op_1", kLong).kind, LookupKind::unsupported);
  EXPECT_TRUE(server.requests().empty());
}

TEST(HttpProviderTest, ALookupFindsThePayment) {
  auto server = answering(
      http_answer(200, std::string(R"({"data":[)") + kPayment + R"(],"has_more":false})"));
  const auto found = provider_at(server.url())->find("create_payment", "op_1", kLong);
  EXPECT_EQ(found.kind, LookupKind::found);
  EXPECT_EQ(found.external_id, "pay_1");
}

TEST(HttpProviderTest, ALookupThatDripsDoesNotOutliveItsDeadline) {
  ScriptedServer server([](Peer& peer) {
    if (peer.read_request())
      peer.drip(http_answer(200, R"({"data":[],"has_more":false})"), kLong / 10);
  });
  const auto lookup = provider_at(server.url())->find("create_payment", "op_1", Milliseconds{100});
  EXPECT_EQ(lookup.kind, LookupKind::failed);
  EXPECT_EQ(lookup.error_code, "timed_out");
}

struct End {
  const char* name;
  std::function<void(Peer&)> what;
  OutcomeKind kind;
  const char* error_code;
};

TEST(HttpProviderTest, EveryEndOfACallIsClassified) {
  const std::string refusal = R"({"error":{"code":"validation_failed","message":"secret 4242"}})";
  const std::string mismatch = R"({"error":{"code":"idempotency_mismatch"}})";
  const std::string html =
      "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>";
  const End ends[] = {
      {"created", [](Peer& p) { p.send(http_answer(201, kPayment)); }, OutcomeKind::confirmed, ""},
      {"replayed",
       [](Peer& p) { p.send(http_answer(200, kPayment, "Idempotent-Replayed: true\r\n")); },
       OutcomeKind::confirmed, ""},
      {"refused", [&](Peer& p) { p.send(http_answer(422, refusal)); }, OutcomeKind::rejected,
       "validation_failed"},
      {"mismatch", [&](Peer& p) { p.send(http_answer(422, mismatch)); }, OutcomeKind::ambiguous,
       "idempotency_mismatch"},
      {"proxy's html", [&](Peer& p) { p.send(html); }, OutcomeKind::ambiguous, "answer_unexpected"},
      {"bad gateway", [](Peer& p) { p.send(http_answer(502, "")); }, OutcomeKind::ambiguous,
       "http_502"},
      {"close", [](Peer&) {}, OutcomeKind::ambiguous, "no_answer"},
      {"reset", [](Peer& p) { p.reset(); }, OutcomeKind::ambiguous, "no_answer"},
      {"truncated", [](Peer& p) { p.send(http_answer(201, kPayment).substr(0, 100)); },
       OutcomeKind::ambiguous, "answer_cut"},
      {"truncated without a length",
       [](Peer& p) {
         p.send("HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n\r\n" +
                std::string(kPayment).substr(0, 40));
       },
       OutcomeKind::ambiguous, "answer_unexpected"},
      {"hang", [](Peer& p) { p.hang(); }, OutcomeKind::ambiguous, "timeout"},
      {"drip", [](Peer& p) { p.drip(http_answer(201, kPayment), Milliseconds{50}); },
       OutcomeKind::ambiguous, "timeout"},
      {"moved", [](Peer& p) { p.send(http_answer(307, "", "Location: /elsewhere\r\n")); },
       OutcomeKind::ambiguous, "http_307"},
  };
  for (const auto& end : ends) {
    ScriptedServer server([&](Peer& peer) {
      if (peer.read_request()) end.what(peer);
    });
    // A time-out for those that would take minutes; time enough for the others.
    const bool slow = std::string_view(end.error_code) == "timeout";
    const auto outcome = provider_at(server.url())->call(request(slow ? Milliseconds{100} : kLong));
    EXPECT_EQ(outcome.kind, end.kind) << end.name;
    EXPECT_EQ(outcome.error_code, end.error_code) << end.name;
    EXPECT_EQ(server.requests().size(), 1U) << end.name;
  }
}

TEST(HttpProviderTest, AWrongUrlNamesTheService) {
  RealClock clock;
  const auto made = HttpProvider::make(http_services()[0], "nonsense", Guarantees{}, clock);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("service payments: url 'nonsense'"), std::string::npos)
      << made.error().message;
}

}  // namespace
}  // namespace onceproof
