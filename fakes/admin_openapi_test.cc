// docs/admin-api.openapi.json against a running admin API, and what it says of metrics against a
// strict reader of Prometheus' text format.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "fakes/admin_api.h"
#include "net/raw_client.h"

namespace onceproof::fakes {
namespace {

using net::RawClient;

Json openapi() {
  std::ifstream file(ONCEPROOF_SOURCE_DIR "/docs/admin-api.openapi.json");
  std::ostringstream text;
  text << file.rdbuf();
  return parse_json(text.str(), "admin-api.openapi.json").value();
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return c - 'a' + 'A'; });
  return text;
}

bool has_type(const Json& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  return type == "object" && value.is_object();
}

// What of `schema` (the words that the file uses) `value` breaks; empty: nothing.
std::string breaks(const Json& document, const Json& schema, const Json& value,
                   const std::string& at) {
  if (schema.contains("$ref")) {
    const auto pointer = schema["$ref"].get<std::string>().substr(1);
    return breaks(document, document.at(Json::json_pointer(pointer)), value, at);
  }
  if (schema.contains("oneOf")) {
    const auto fitting = std::ranges::count_if(
        schema["oneOf"], [&](const Json& one) { return breaks(document, one, value, at).empty(); });
    return fitting == 1 ? "" : fmt::format("{} fits {} of oneOf", at, fitting);
  }
  const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
  if (std::ranges::none_of(types, [&](const Json& type) { return has_type(value, type); })) {
    return fmt::format("{} is {}, not {}", at, value.dump(), types.dump());
  }
  if (schema.contains("enum") && std::ranges::find(schema["enum"], value) == schema["enum"].end()) {
    return fmt::format("{} is {}", at, value.dump());
  }
  for (const auto& member : schema.value("required", Json::array())) {
    if (!value.contains(member)) return fmt::format("{} has no {}", at, member.dump());
  }
  const Json properties = schema.value("properties", Json::object());
  const Json members = value.is_object() ? value : Json::object();
  for (const auto& [name, member] : members.items()) {
    if (properties.empty()) break;
    if (!properties.contains(name)) return fmt::format("{}.{} is not in the file", at, name);
    if (auto broken = breaks(document, properties[name], member, at + "." + name); !broken.empty())
      return broken;
  }
  if (value.is_array() && schema.contains("items")) {
    for (const auto& item : value) {
      if (auto broken = breaks(document, schema["items"], item, at + "[]"); !broken.empty())
        return broken;
    }
  }
  return "";
}

class AdminOpenApiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    HostOptions options;
    options.profile = find_profile("keyed").value();
    host_ = std::move(Host::start(std::move(options), clock_).value());
    api_ = std::move(AdminApi::start({}, *host_, clock_).value());
  }
  std::string send(const std::string& method, const std::string& target,
                   std::string_view body = "") {
    RawClient client(api_->port());
    auto request = net::post(target, body);
    request.replace(0, 4, method);
    EXPECT_TRUE(client.send(request));
    return client.hear_reply().value_or("");
  }
  void pay(const std::string& order, const std::string& key) {
    RawClient client(host_->port());
    ASSERT_TRUE(client.send(
        net::post("/w1/payments",
                  fmt::format(R"({{"order_id":"{}","amount_minor":1,"currency":"RUB"}})", order),
                  fmt::format("Idempotency-Key: {}\r\n", key))));
    client.hear_reply();
  }
  Json wire(const std::string& query) {
    return parse_json(net::body_of(send("GET", "/wire-log?" + query))).value();
  }
  // The reply has the status and the shape that the file says.
  void expect_told(const Json& operation, const std::string& reply, const std::string& what) {
    const auto status = std::to_string(net::status_of(reply));
    ASSERT_TRUE(operation["responses"].contains(status)) << what << "\n" << reply;
    for (const auto& [type, media] : operation["responses"][status]["content"].items()) {
      EXPECT_NE(reply.find("Content-Type: " + type), std::string::npos) << what << "\n" << reply;
      if (type != "application/json") continue;
      const auto body = parse_json(net::body_of(reply));
      ASSERT_TRUE(body.has_value()) << what << "\n" << reply;
      EXPECT_EQ(breaks(document_, media["schema"], *body, "body"), "") << what;
    }
  }

  const Json document_ = openapi();
  RealClock clock_;
  std::unique_ptr<Host> host_;
  std::unique_ptr<AdminApi> api_;
};

TEST_F(AdminOpenApiTest, TheFileHasEveryRouteAndNoOther) {
  std::set<std::string> written;
  for (const auto& [path, methods] : document_["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      written.insert(upper(method) + " " + path);
    }
  }
  const auto routes = AdminApi::routes();
  EXPECT_EQ(written, std::set<std::string>(routes.begin(), routes.end()));
}

TEST_F(AdminOpenApiTest, EveryRouteAnswersAsTheFileSays) {
  pay("817", "k1");
  for (const auto& [path, methods] : document_["paths"].items()) {
    const std::string target =
        path.ends_with("{name}") ? path.substr(0, path.find('{')) + "lost%20reply" : path;
    for (const auto& [method, operation] : methods.items()) {
      if (method == "delete" || path == "/reset") continue;  // below, when there is what they need
      const std::string what = upper(method) + " " + path;
      if (!operation.contains("requestBody")) {
        const auto reply = send(upper(method), target);
        EXPECT_EQ(net::status_of(reply), 200) << what;
        expect_told(operation, reply, what);
        continue;
      }
      const auto& media = operation["requestBody"]["content"]["application/json"];
      for (const auto& [name, example] : media["examples"].items()) {
        EXPECT_EQ(breaks(document_, media["schema"], example["value"], name), "");
        const auto reply = send(upper(method), target, to_line(example["value"]));
        EXPECT_EQ(net::status_of(reply), 201) << what << " " << name << reply;
        expect_told(operation, reply, what);
      }
      expect_told(operation, send(upper(method), target, "{}"), what);
    }
  }
  pay("818", "k1");  // struck, so that a firing is in the list
  const auto& paths = document_["paths"];
  const auto listed = send("GET", "/faults");
  EXPECT_NE(listed.find("\"at_ms\""), std::string::npos);
  expect_told(paths["/faults"]["get"], listed, "GET /faults");
  for (const int status : {200, 404}) {
    const auto reply = send("DELETE", "/faults/lost%20reply");
    EXPECT_EQ(net::status_of(reply), status);
    expect_told(paths["/faults/{name}"]["delete"], reply, "DELETE /faults/{name}");
  }
  expect_told(paths["/faults"]["delete"], send("DELETE", "/faults"), "DELETE /faults");
  expect_told(paths["/reset"]["post"], send("POST", "/reset"), "POST /reset");
}

TEST_F(AdminOpenApiTest, AnotherMethodIsToldWhatIsAllowed) {
  const auto reply = send("PUT", "/faults", "{}");
  EXPECT_EQ(net::status_of(reply), 405);
  EXPECT_NE(reply.find("Allow: GET, POST, DELETE\r\n"), std::string::npos) << reply;
}

TEST_F(AdminOpenApiTest, EveryRouteRefusesAQueryItDoesNotKnow) {
  for (const auto& route : AdminApi::routes()) {
    const auto space = route.find(' ');
    const auto reply = send(route.substr(0, space), route.substr(space + 1) + "?afer=1");
    EXPECT_EQ(net::status_of(reply), 400) << route;
    EXPECT_NE(reply.find("afer"), std::string::npos) << reply;
  }
  EXPECT_EQ(net::status_of(send("GET", "/wire-log?after=1&after=2")), 400);
}

TEST_F(AdminOpenApiTest, TheWireLogIsFiltered) {
  pay("817", "k1");
  pay("817", "k1");
  pay("818", "k1");
  pay("819", "k2");
  EXPECT_EQ(wire("key=k1")["requests"].size(), 3U);
  EXPECT_EQ(wire("key=k1&limit=2")["requests"].size(), 2U);
  EXPECT_EQ(wire("key=k1&after=2")["requests"][0]["number"], 3);
  EXPECT_EQ(wire("business_ref=819")["requests"][0]["number"], 4);
  EXPECT_EQ(wire("disposition=replayed")["requests"][0]["number"], 2);
  EXPECT_EQ(wire("status=422")["requests"][0]["number"], 3);
  EXPECT_EQ(wire("worker=w1&service=payments&route=create")["requests"].size(), 4U);
  EXPECT_TRUE(wire("worker=w2")["requests"].empty());
  EXPECT_TRUE(wire("route=lookup")["requests"].empty());
  EXPECT_EQ(net::status_of(send("GET", "/wire-log?disposition=done")), 400);
  EXPECT_EQ(net::status_of(send("GET", "/wire-log?status=-1")), 400);
}

TEST_F(AdminOpenApiTest, AListOfFaultsIsArmedWholeOrNotAtAll) {
  const auto reply = send("POST", "/faults",
                          R"([{"at":"after_commit","do":"close","name":"a"},)"
                          R"({"at":"after_commit","do":"close","name":"a"}])");
  EXPECT_EQ(net::status_of(reply), 409);
  EXPECT_TRUE(host_->faults().records().empty());
}

// Name, labels as written, value: of each sample. Fails on what is no text format.
std::map<std::string, double> read_metrics(const std::string& text) {
  static const std::regex kMeta("# (HELP|TYPE) ([a-z_]+) (.+)");
  static const std::string label = R"re([a-z]+="(?:[^"\\]|\\["\\n])*")re";
  static const std::regex kSample("([a-z_]+)(\\{" + label + "(?:," + label +
                                  ")*\\})? ([-+.e0-9]+)");
  EXPECT_TRUE(text.ends_with('\n'));
  std::map<std::string, double> samples;
  std::set<std::string> typed;
  std::string family;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, kMeta)) {
      if (match[1] == "TYPE") {
        EXPECT_EQ(match[2], family) << line;
        EXPECT_TRUE(typed.insert(match[2]).second) << line;
      }
      family = match[2];
      continue;
    }
    EXPECT_TRUE(std::regex_match(line, match, kSample)) << line;
    EXPECT_TRUE(match[1].str().starts_with(family)) << line;
    EXPECT_TRUE(samples.emplace(line.substr(0, line.rfind(' ')), std::stod(match[3])).second)
        << line;
  }
  return samples;
}

TEST_F(AdminOpenApiTest, MetricsCountWhatHappened) {
  ASSERT_EQ(net::status_of(send("POST", "/faults",
                                R"({"at":"after_commit","on":{"key":"k2"},"do":"close",)"
                                R"("name":"a\"b\\c\nd"})")),
            201);
  pay("817", "k1");
  pay("817", "k1");
  pay("818", "k2");
  const auto metrics = read_metrics(net::body_of(send("GET", "/metrics")));
  const std::string requests =
      R"(onceproof_requests_total{service="payments",route="create",disposition=)";
  EXPECT_EQ(metrics.at(requests + R"("created"})"), 2);
  EXPECT_EQ(metrics.at(requests + R"("replayed"})"), 1);
  EXPECT_EQ(metrics.at(R"(onceproof_faults_fired_total{fault="a\"b\\c\nd",point="after_commit",)"
                       R"(action="close"})"),
            1);
  EXPECT_EQ(metrics.at("onceproof_ledger_effects"), 2);
  const std::string duration = "onceproof_request_duration_seconds";
  double before = 0;
  int buckets = 0;
  for (const char* bound : {"0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1",
                            "0.25", "0.5", "1", "2.5", "10", "+Inf"}) {
    const auto bucket = metrics.at(fmt::format("{}_bucket{{le=\"{}\"}}", duration, bound));
    EXPECT_GE(bucket, before) << bound;
    before = bucket;
    ++buckets;
  }
  EXPECT_EQ(buckets, 14);
  EXPECT_EQ(before, metrics.at(duration + "_count"));
  EXPECT_EQ(before, 2);  // the third reply was never written
  EXPECT_GT(metrics.at(duration + "_sum"), 0);
}

}  // namespace
}  // namespace onceproof::fakes
