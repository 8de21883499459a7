// Every status and every way an exchange can end, against what each may prove.
#include "reference/outcome.h"

#include <gtest/gtest.h>

namespace onceproof {
namespace {

constexpr CivilTime kNow{
    std::chrono::milliseconds{1'767'225'600'000}};  // Thu, 01 Jan 2026 00:00:00 GMT
constexpr const char* kKey = "op_1";
const EffectShape kShape{"reference", "succeeded"};

// As docs/sut-protocol.md has them.
Guarantees usual() {
  Guarantees promised;
  promised.no_effect = {{400, ""}, {402, ""}, {404, ""}, {422, "validation_failed"}};
  return promised;
}

Exchange answer(int status, std::string body, std::string content_type = "application/json") {
  Exchange exchange;
  exchange.end = ExchangeEnd::complete;
  exchange.status = status;
  exchange.content_type = std::move(content_type);
  exchange.body = std::move(body);
  return exchange;
}
std::string payment(const char* status = "succeeded", const char* reference = kKey) {
  return std::string(R"({"id":"pay_1","status":")") + status + R"(","reference":")" + reference +
         R"("})";
}
std::string error(const std::string& code) {
  return R"({"error":{"code":")" + code + R"(","message":"card 4242424242424242 is bad"}})";
}
CallOutcome classify(const Exchange& exchange, const Guarantees& promised = usual()) {
  return classify_call(exchange, kKey, kShape, promised, kNow);
}
OutcomeKind kind(const Exchange& exchange, const Guarantees& promised = usual()) {
  return classify(exchange, promised).kind;
}

TEST(OutcomeTest, OnlyAWholePaymentOfOursWith200Or201IsConfirmed) {
  for (int status = 100; status <= 599; ++status) {
    const auto outcome = classify(answer(status, payment()));
    if (status == 200 || status == 201) {
      EXPECT_EQ(outcome.kind, OutcomeKind::confirmed) << status;
      EXPECT_EQ(outcome.external_id, "pay_1");
      EXPECT_EQ(outcome.result["status"], "succeeded");
      EXPECT_EQ(outcome.error_code, "");
    } else {
      EXPECT_EQ(outcome.kind, OutcomeKind::ambiguous) << status;
      EXPECT_EQ(outcome.external_id, "") << status;
      EXPECT_FALSE(outcome.error_code.empty()) << status;
    }
  }
}

TEST(OutcomeTest, EveryStatusWithAnErrorBodyIsAmbiguousUnlessItIsListed) {
  for (int status = 100; status <= 599; ++status) {
    const bool listed = status == 400 || status == 402 || status == 404;
    EXPECT_EQ(kind(answer(status, error("some_error"))),
              listed ? OutcomeKind::rejected : OutcomeKind::ambiguous)
        << status;
  }
}

TEST(OutcomeTest, NoStatusProvesAnythingIfNothingIsPromised) {
  for (int status = 100; status <= 599; ++status) {
    EXPECT_EQ(kind(answer(status, error("validation_failed")), Guarantees{}),
              OutcomeKind::ambiguous)
        << status;
  }
}

TEST(OutcomeTest, NoStatusProvesAnythingWithoutABodyOfTheProvidersShape) {
  const struct {
    const char* body;
    const char* content_type;
  } bodies[] = {
      {"", ""},
      {"", "application/json"},
      {"<html><body>502 Bad Gateway</body></html>", "text/html"},
      {"<html><body>502 Bad Gateway</body></html>", "application/json"},
      {R"({"id":"pay_1","status":"succeeded","reference":"op_1"})", "text/html"},
      {R"({"id":"pay_1","status":"succeeded","reference":"op_1"})",
       "text/plain; x=application/json"},
      {R"({"id":"pay_1","status":"succeeded","reference":"op_1"})", ""},
      {R"({"id":"pay_1","status":"succeeded","reference":"op_1")", "application/json"},
      {R"({"id":"pay_1","status":"succeeded"}{})", "application/json"},
      {R"({"id":"","status":"succeeded"})", "application/json"},
      {R"({"id":17,"status":"succeeded"})", "application/json"},
      {R"({"id":"two words","status":"succeeded"})", "application/json"},
      {R"({"id":"pay_1"})", "application/json"},
      {R"({"status":"succeeded"})", "application/json"},
      {R"(["pay_1"])", "application/json"},
      {R"("pay_1")", "application/json"},
      {"null", "application/json"},
      {R"({"error":"validation_failed"})", "application/json"},
      {R"({"error":{"message":"no code"}})", "application/json"},
      {R"({"error":{"code":""}})", "application/json"},
      {R"({"error":{"code":400}})", "application/json"},
      {R"({"message":"Not Found"})", "application/json"},
      {R"({"error":{"code":"validation_failed"}})", "text/html"},
  };
  for (const auto& body : bodies) {
    for (int status = 100; status <= 599; ++status) {
      const auto outcome = classify(answer(status, body.body, body.content_type));
      EXPECT_EQ(outcome.kind, OutcomeKind::ambiguous) << status << " " << body.body;
      EXPECT_TRUE(outcome.result.is_null()) << status << " " << body.body;
    }
  }
}

TEST(OutcomeTest, AnAnswerThatIsNotWholeProvesNothingWhateverCameOfIt) {
  const struct {
    ExchangeEnd end;
    const char* code;
  } ends[] = {
      {ExchangeEnd::send_broken, "send_broken"},    {ExchangeEnd::no_answer, "no_answer"},
      {ExchangeEnd::answer_cut, "answer_cut"},      {ExchangeEnd::timed_out, "timeout"},
      {ExchangeEnd::too_large, "answer_too_large"}, {ExchangeEnd::malformed, "answer_malformed"}};
  for (const auto& row : ends) {
    for (const int status : {0, 200, 201, 302, 400, 402, 422, 429, 502}) {
      for (const auto& body : {payment(), error("validation_failed")}) {
        Exchange exchange = answer(status, body);
        exchange.end = row.end;
        exchange.retry_after = "5";
        const auto outcome = classify(exchange);
        EXPECT_EQ(outcome.kind, OutcomeKind::ambiguous) << row.code << status;
        EXPECT_EQ(outcome.error_code, row.code);
        EXPECT_EQ(outcome.retry_after, std::nullopt);
      }
    }
  }
}

TEST(OutcomeTest, ARequestOfWhichNoByteWasSentIsNotStarted) {
  const auto outcome = classify(Exchange{});
  EXPECT_EQ(outcome.kind, OutcomeKind::not_started);
  EXPECT_EQ(outcome.error_code, "not_sent");
}

TEST(OutcomeTest, APaymentThatIsNotFinishedIsAmbiguous) {
  for (const char* status : {"pending", "processing", "failed", "SUCCEEDED", ""}) {
    EXPECT_EQ(kind(answer(201, payment(status))), OutcomeKind::ambiguous) << status;
  }
  EXPECT_EQ(classify(answer(201, payment("pending"))).error_code, "unfinished");
}

TEST(OutcomeTest, AnAnswerThatBelongsToAnotherRequestIsAmbiguous) {
  const auto outcome = classify(answer(201, payment("succeeded", "op_2")));
  EXPECT_EQ(outcome.kind, OutcomeKind::ambiguous);
  EXPECT_EQ(outcome.error_code, "answer_foreign");
  EXPECT_EQ(kind(answer(201, R"({"id":"pay_1","status":"succeeded","reference":null})")),
            OutcomeKind::ambiguous);
}

TEST(OutcomeTest, AProviderThatDoesNotEchoTheReferenceIsBelieved) {
  EXPECT_EQ(kind(answer(201, R"({"id":"pay_1","status":"succeeded"})")), OutcomeKind::confirmed);
}

TEST(OutcomeTest, AServiceWithoutStatusesConfirmsByItsId) {
  const EffectShape shape{"", ""};
  EXPECT_EQ(classify_call(answer(200, R"({"id":"msg_1"})"), kKey, shape, usual(), kNow).kind,
            OutcomeKind::confirmed);
}

TEST(OutcomeTest, AnErrorInA200IsNoSuccess) {
  EXPECT_EQ(
      kind(answer(200, R"({"id":"pay_1","status":"succeeded","error":{"code":"card_declined"}})")),
      OutcomeKind::ambiguous);
}

TEST(OutcomeTest, JsonIsKnownByItsMediaType) {
  for (const char* type :
       {"application/json", "Application/JSON", "application/json; charset=utf-8",
        "application/json ;charset=utf-8", "application/problem+json"}) {
    EXPECT_EQ(kind(answer(200, payment(), type)), OutcomeKind::confirmed) << type;
  }
}

// 409 means: in flight; already done; another payload; the original is dead. None of them says
// whether an effect exists.
TEST(OutcomeTest, A409IsAmbiguousInAllItsFourMeanings) {
  Guarantees promised = usual();
  promised.no_effect.push_back({409, ""});
  for (const char* code :
       {"idempotency_in_flight", "idempotency_mismatch", "idempotency_original_failed"}) {
    EXPECT_EQ(kind(answer(409, error(code))), OutcomeKind::ambiguous) << code;
    EXPECT_EQ(kind(answer(409, error(code)), promised), OutcomeKind::ambiguous) << code;
    EXPECT_EQ(classify(answer(409, error(code))).error_code, code);
  }
  EXPECT_EQ(kind(answer(409, payment())),
            OutcomeKind::ambiguous);  // already done, with the effect in the body
  EXPECT_EQ(kind(answer(409, error("already_exists"))), OutcomeKind::ambiguous);
}

TEST(OutcomeTest, A422AboutTheKeyProvesNothingAboutTheEffect) {
  Guarantees any422 = usual();
  any422.no_effect = {{422, ""}};
  EXPECT_EQ(kind(answer(422, error("idempotency_mismatch"))), OutcomeKind::ambiguous);
  EXPECT_EQ(kind(answer(422, error("idempotency_mismatch")), any422), OutcomeKind::ambiguous);
  EXPECT_EQ(kind(answer(422, error("IdempotentKeyReuse")), any422), OutcomeKind::ambiguous);
  EXPECT_EQ(kind(answer(422, error("amount_too_small")), any422), OutcomeKind::rejected);
  EXPECT_EQ(kind(answer(422, error("validation_failed"))), OutcomeKind::rejected);
  EXPECT_EQ(kind(answer(422, error("amount_too_small"))), OutcomeKind::ambiguous);  // not listed
}

TEST(OutcomeTest, AProviderMayPromiseByNameThatAKeyErrorPrecedesAnyEffect) {
  Guarantees promised;
  promised.no_effect = {{400, "idempotency_key_too_long"}};
  EXPECT_EQ(kind(answer(400, error("idempotency_key_too_long")), promised), OutcomeKind::rejected);
}

TEST(OutcomeTest, APromisedTryLaterIsNotStarted) {
  Guarantees promised;
  promised.no_effect = {{408, ""}, {425, ""}, {429, "rate_limited"}, {503, ""}};
  Exchange limited = answer(429, error("rate_limited"));
  limited.retry_after = "7";
  const auto outcome = classify(limited, promised);
  EXPECT_EQ(outcome.kind, OutcomeKind::not_started);
  EXPECT_EQ(outcome.error_code, "rate_limited");
  EXPECT_EQ(outcome.retry_after, std::chrono::seconds{7});
  for (const int status : {408, 425, 503}) {
    EXPECT_EQ(kind(answer(status, error("later")), promised), OutcomeKind::not_started) << status;
  }
  EXPECT_EQ(kind(answer(429, error("other")), promised), OutcomeKind::ambiguous);
}

TEST(OutcomeTest, A429WithoutAPromiseIsAmbiguousButItsRetryAfterIsKept) {
  Exchange limited = answer(429, error("rate_limited"));
  limited.retry_after = "7";
  EXPECT_EQ(kind(limited), OutcomeKind::ambiguous);
  EXPECT_EQ(classify(limited).retry_after, std::chrono::seconds{7});
}

TEST(OutcomeTest, RedirectsAreAmbiguous) {
  for (const int status : {300, 301, 302, 303, 304, 307, 308}) {
    EXPECT_EQ(kind(answer(status, "")), OutcomeKind::ambiguous);
    EXPECT_EQ(classify(answer(status, "")).error_code, "http_" + std::to_string(status));
  }
}

TEST(OutcomeTest, ASuccessStatusInThePromisesIsIgnored) {
  Guarantees wrong;
  wrong.no_effect = {{200, ""}, {302, ""}};
  EXPECT_EQ(kind(answer(200, error("nothing_done")), wrong), OutcomeKind::ambiguous);
  EXPECT_EQ(kind(answer(302, error("moved")), wrong), OutcomeKind::ambiguous);
  EXPECT_EQ(kind(answer(200, payment()), wrong), OutcomeKind::confirmed);
}

TEST(OutcomeTest, OnlyACodeIsKeptOfAnErrorNeverAText) {
  EXPECT_EQ(classify(answer(402, error("card_declined"))).error_code, "card_declined");
  for (const char* text : {"card 4242", "4242424242424242", "card_4242424242424242", "мир",
                           "a@example.org", "x\\u0000y"}) {
    const auto outcome = classify(answer(402, error(text)));
    EXPECT_EQ(outcome.error_code, "http_402") << text;
    EXPECT_EQ(outcome.kind, OutcomeKind::rejected)
        << text;  // the proof does not depend on what is kept of it
  }
  EXPECT_EQ(classify(answer(402, error(std::string(65, 'a')))).error_code, "http_402");
}

TEST(OutcomeTest, AHugeExternalIdIsNoId) {
  const std::string body = R"({"status":"succeeded","id":")" + std::string(201, 'a') + R"("})";
  EXPECT_EQ(kind(answer(200, body)), OutcomeKind::ambiguous);
}

TEST(OutcomeTest, RetryAfterIsSecondsOrADate) {
  using std::chrono::milliseconds;
  EXPECT_EQ(parse_retry_after("0", kNow), milliseconds{0});
  EXPECT_EQ(parse_retry_after("120", kNow), milliseconds{120'000});
  EXPECT_EQ(parse_retry_after("86401", kNow), milliseconds{86'400'000});
  EXPECT_EQ(parse_retry_after("99999999999999999999999", kNow), milliseconds{86'400'000});
  EXPECT_EQ(parse_retry_after("Thu, 01 Jan 2026 00:00:30 GMT", kNow), milliseconds{30'000});
  EXPECT_EQ(parse_retry_after("Wed, 31 Dec 2025 23:59:59 GMT", kNow), milliseconds{0});
  EXPECT_EQ(parse_retry_after("Fri, 01 Jan 2027 00:00:00 GMT", kNow), milliseconds{86'400'000});
  for (const char* wrong :
       {"", "-1", "1.5", "soon", "1 s", "Thu, 01 Jan 2026", "Thu, 01 Jan 2026 00:00:30 GMT x"}) {
    EXPECT_EQ(parse_retry_after(wrong, kNow), std::nullopt) << wrong;
  }
}

LookupResult look(const Exchange& exchange) {
  return classify_lookup(exchange, kKey, kShape);
}
std::string listing(const std::string& entries, const char* has_more = "false") {
  return R"({"data":[)" + entries + R"(],"has_more":)" + has_more + "}";
}

TEST(OutcomeTest, ALookupFindsOurFinishedEffect) {
  const auto found = look(answer(200, listing(payment())));
  EXPECT_EQ(found.kind, LookupKind::found);
  EXPECT_EQ(found.external_id, "pay_1");
  EXPECT_EQ(found.result["status"], "succeeded");
  EXPECT_EQ(look(answer(200, listing(payment(), "true"))).kind, LookupKind::found);
}

TEST(OutcomeTest, ALookupThatListsNothingWholeIsNotFound) {
  EXPECT_EQ(look(answer(200, listing(""))).kind, LookupKind::not_found);
}

TEST(OutcomeTest, ALookupThatIsCutOrStrangeShowsNothing) {
  EXPECT_EQ(look(answer(200, listing("", "true"))).kind, LookupKind::failed);
  EXPECT_EQ(look(answer(200, R"({"data":[]})")).kind, LookupKind::failed);
  EXPECT_EQ(look(answer(200, R"({"has_more":false})")).kind, LookupKind::failed);
  EXPECT_EQ(look(answer(200, R"({"data":{},"has_more":false})")).kind, LookupKind::failed);
  EXPECT_EQ(look(answer(200, "[]")).kind, LookupKind::failed);
  EXPECT_EQ(look(answer(200, listing(""), "text/html")).kind, LookupKind::failed);
  EXPECT_EQ(look(answer(200, "")).kind, LookupKind::failed);
  // What another operation's effect does in our listing is not known; it may stand where ours
  // should.
  EXPECT_EQ(look(answer(200, listing(payment("succeeded", "op_2")))).kind, LookupKind::failed);
  EXPECT_EQ(look(answer(200, listing(payment() + "," + payment("succeeded", "op_2")))).kind,
            LookupKind::failed);
  EXPECT_EQ(look(answer(200, listing("17"))).kind, LookupKind::failed);
  EXPECT_EQ(look(answer(200, listing(R"({"status":"succeeded"})"))).kind, LookupKind::failed);
}

TEST(OutcomeTest, AnUnfinishedEffectExistsButIsNotFound) {
  EXPECT_EQ(look(answer(200, listing(payment("processing")))).kind, LookupKind::found_incomplete);
}

TEST(OutcomeTest, TwoEffectsOfOneOperationAreForAPerson) {
  const std::string other =
      R"({"id":"pay_2","reference":"op_1","status":"succeeded","amount_minor":1})";
  const auto two = look(answer(200, listing(payment() + "," + other)));
  EXPECT_EQ(two.kind, LookupKind::found_several);
  EXPECT_EQ(two.error_code, "several_effects");
  const auto twice = look(answer(200, listing(payment() + "," + payment())));
  EXPECT_EQ(twice.kind, LookupKind::found) << "one effect, listed twice";
}

TEST(OutcomeTest, NoOtherStatusOfALookupShowsAnything) {
  for (int status = 100; status <= 599; ++status) {
    if (status == 200) continue;
    const auto result = look(answer(status, listing("")));
    EXPECT_EQ(result.kind, status == 501 ? LookupKind::unsupported : LookupKind::failed) << status;
  }
}

TEST(OutcomeTest, NoOtherEndOfALookupShowsAnything) {
  for (const auto end : {ExchangeEnd::not_sent, ExchangeEnd::send_broken, ExchangeEnd::no_answer,
                         ExchangeEnd::answer_cut, ExchangeEnd::timed_out, ExchangeEnd::too_large,
                         ExchangeEnd::malformed}) {
    Exchange exchange = answer(200, listing(payment()));
    exchange.end = end;
    EXPECT_EQ(look(exchange).kind, LookupKind::failed);
    EXPECT_EQ(look(exchange).error_code, to_text(end));
  }
}

TEST(OutcomeTest, AListingWithoutOurReferenceShowsNothing) {
  const auto foreign = look(answer(200, listing(R"({"id":"pay_9","status":"succeeded"})")));
  EXPECT_EQ(foreign.kind, LookupKind::failed);
  EXPECT_EQ(foreign.error_code, "listing_unnamed");
}

TEST(OutcomeTest, AnUnnamedProofDoesNotCoverWhatIsThereAlready) {
  Guarantees any;
  any.no_effect = {{409, ""}, {422, ""}};
  for (const char* code : {"IDEMPOTENCY_KEY_REUSED", "idempotency_error", "already_exists",
                           "Duplicate_Payment", "order_exists"}) {
    for (const int status : {409, 422}) {
      EXPECT_EQ(classify_call(answer(status, error(code)), kKey, kShape, any, kNow).kind,
                OutcomeKind::ambiguous)
          << status << " " << code;
    }
  }
  EXPECT_EQ(classify_call(answer(422, error("bad_iban")), kKey, kShape, any, kNow).kind,
            OutcomeKind::rejected);
}

}  // namespace
}  // namespace onceproof
