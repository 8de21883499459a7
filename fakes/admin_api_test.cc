#include "fakes/admin_api.h"

#include <gtest/gtest.h>

#include "net/raw_client.h"

namespace onceproof::fakes {
namespace {

using net::RawClient;

class AdminApiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    HostOptions options;
    options.profile = find_profile("searchable").value();
    host_ = std::move(Host::start(std::move(options), clock_).value());
  }
  void start(const std::string& token = "") {
    auto api = AdminApi::start({.token = token}, *host_, clock_);
    ASSERT_TRUE(api.has_value()) << api.error().message;
    api_ = std::move(*api);
  }
  std::string send(const std::string& method, const std::string& target, std::string_view body = "",
                   std::string_view headers = "") {
    RawClient client(api_->port());
    auto request = net::post(target, body, headers);
    request.replace(0, 4, method);
    EXPECT_TRUE(client.send(request));
    return client.hear_reply().value_or("");
  }
  static Json body(const std::string& reply) {
    return parse_json(net::body_of(reply)).value_or(Json());
  }
  void pay() {
    RawClient client(host_->port());
    ASSERT_TRUE(client.send(
        net::post("/w2/payments", R"({"order_id":"817","amount_minor":1,"currency":"RUB"})")));
    client.hear_all(Milliseconds{100});
  }

  RealClock clock_;
  std::unique_ptr<Host> host_;
  std::unique_ptr<AdminApi> api_;
};

TEST_F(AdminApiTest, ShowsLedgerAndWireLogAndForgetsThem) {
  start();
  pay();
  const auto ledger = body(send("GET", "/ledger"));
  ASSERT_EQ(ledger["effects"].size(), 1U);
  EXPECT_EQ(ledger["effects"][0]["business_ref"], "817");
  const auto wire = body(send("GET", "/wire-log?after=0&limit=5"));
  EXPECT_EQ(wire["total"], 1);
  EXPECT_EQ(wire["requests"][0]["worker"], "w2");
  EXPECT_EQ(net::status_of(send("GET", "/wire-log?after=x")), 400);
  EXPECT_EQ(net::status_of(send("POST", "/reset")), 200);
  EXPECT_TRUE(body(send("GET", "/ledger"))["effects"].empty());
  EXPECT_EQ(body(send("GET", "/wire-log"))["total"], 0);
}

TEST_F(AdminApiTest, ArmsListsAndHealsFaults) {
  start();
  const auto armed =
      send("POST", "/faults", R"({"at":"after_commit","on":{"route":"create"},"do":"close"})");
  EXPECT_EQ(net::status_of(armed), 201);
  EXPECT_EQ(body(armed)["name"], "fault-1");
  pay();
  const auto listed = body(send("GET", "/faults"))["faults"];
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0]["visits"], 1);
  EXPECT_EQ(listed[0]["firings"][0]["request"], 1);
  EXPECT_EQ(net::status_of(send("DELETE", "/faults")), 200);
  const auto wrong = send("POST", "/faults", R"({"at":"after_comit","do":"close"})");
  EXPECT_EQ(net::status_of(wrong), 400);
  EXPECT_NE(wrong.find("after_commit"), std::string::npos) << wrong;
  EXPECT_EQ(net::status_of(send("POST", "/faults", "{")), 400);
}

TEST_F(AdminApiTest, AFaultMayBeALineOfText) {
  start();
  const auto armed = send("POST", "/faults", R"({"text":"payments.create@after_commit 2*close"})");
  EXPECT_EQ(net::status_of(armed), 201) << armed;
  const auto records = host_->faults().records();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(faults::to_text(records[0].fault), "payments.create@after_commit name=fault-1 2*close");
  const auto wrong =
      send("POST", "/faults", R"([{"text":"*.*@after_commit close"},{"text":"*.*@x close"}])");
  EXPECT_EQ(net::status_of(wrong), 400);
  EXPECT_NE(wrong.find("column 5: unknown point 'x'"), std::string::npos) << wrong;
  EXPECT_EQ(host_->faults().records().size(), 1U);
}

TEST_F(AdminApiTest, RefusesWebPagesAndUnknownRoutes) {
  start();
  EXPECT_EQ(net::status_of(send("GET", "/health")), 200);
  EXPECT_EQ(net::status_of(send("POST", "/reset", "", "Origin: http://evil.example\r\n")), 403);
  EXPECT_EQ(net::status_of(send("GET", "/")), 404);
}

TEST_F(AdminApiTest, WithATokenNothingIsShownWithoutIt) {
  start("secret");
  EXPECT_EQ(net::status_of(send("GET", "/ledger")), 401);
  EXPECT_EQ(net::status_of(send("GET", "/ledger", "", "Authorization: Bearer secre\r\n")), 401);
  EXPECT_EQ(net::status_of(send("GET", "/ledger", "", "Authorization: Bearer secret\r\n")), 200);
}

TEST_F(AdminApiTest, BeyondLoopbackItDemandsAToken) {
  const auto api = AdminApi::start({.bind = "0.0.0.0"}, *host_, clock_);
  ASSERT_FALSE(api.has_value());
  EXPECT_NE(api.error().message.find("token"), std::string::npos);
}

}  // namespace
}  // namespace onceproof::fakes
