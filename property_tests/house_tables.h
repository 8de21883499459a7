// The tables of the house rules: layers, banned words, third-party headers, sizes. To change a rule
// is to change a row here.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace onceproof::property_tests {

using Names = std::vector<std::string_view>;

// The layers of ARCHITECTURE.md: each folder, and the folders that its sources may include. The
// longest folder wins, so scenarios/mutants is a layer of its own: the one below scenarios that is
// made of the reference.
struct Layer {
  std::string_view folder;
  Names may_include;
};
inline const std::array kLayers{
    Layer{"base", {"base"}},
    Layer{"net", {"net", "base"}},
    Layer{"reference", {"reference", "net", "base"}},
    Layer{"faults", {"faults", "net", "base"}},
    Layer{"fakes", {"fakes", "faults", "net", "base"}},
    // The proxy shares the fakes' wire log, and nothing of what they decide.
    Layer{"proxy", {"proxy", "fakes", "faults", "net", "base"}},
    Layer{"scenarios", {"scenarios", "fakes", "faults", "base"}},
    Layer{"scenarios/mutants", {"scenarios/mutants", "scenarios", "reference", "base"}},
    Layer{"reports", {"reports", "scenarios", "fakes", "faults", "base"}},
    Layer{"property_tests",
          {"property_tests", "scenarios/mutants", "scenarios", "reference", "fakes", "faults",
           "base"}},
    Layer{"bench",
          {"bench", "reports", "scenarios", "reference", "fakes", "faults", "net", "base"}},
    Layer{"examples", {"reference", "base"}},
    Layer{"cli",
          {"cli", "reports", "scenarios/mutants", "scenarios", "reference", "proxy", "fakes",
           "faults", "net", "base"}},
};

// Words that no code may have outside the folders named. A * stands for the rest of an identifier.
struct Ban {
  std::string_view word;
  Names allowed_under;
  std::string_view instead;
};
inline const std::array kBans{
    Ban{"sleep_for", {"base/"}, "wait with Clock"},
    Ban{"sleep_until", {"base/"}, "wait with Clock"},
    Ban{"*sleep(", {"base/"}, "wait with Clock"},
    Ban{"*_clock::now", {"base/"}, "take a Clock"},
    Ban{"clock_gettime(", {"base/"}, "take a Clock"},
    Ban{"gettimeofday(", {"base/"}, "take a Clock"},
    Ban{"time(nullptr)", {"base/"}, "take a Clock"},
    Ban{"random_device", {"base/"}, "take a Random"},
    Ban{"*_distribution", {"base/"}, "use Random: the standard's give other numbers elsewhere"},
    Ban{"mt19937", {}, "take a Random"},
    Ban{"mt19937_64", {}, "take a Random"},
    Ban{"rand(", {}, "take a Random"},
    Ban{"srand(", {}, "take a Random"},
    Ban{"*getenv", {"base/", "cli/"}, "only cli/ reads the environment"},
    Ban{"detach()", {}, "own a std::jthread and let it join"},
    Ban{"std::async", {}, "own a std::jthread"},
    Ban{"std::thread", {}, "use std::jthread, which joins"},
    Ban{"DISABLED_*", {}, "a test runs, or it goes"},
};

// Third-party headers, and the only files that may include them; a library that is not here may not
// be used. A header of ours in the list needs a reason.
struct ThirdParty {
  std::string_view header;  // the beginning of what stands in <>
  Names files;              // paths, or folders with a '/' at their end
  bool tests;               // any *_test.cc may include it too
};
inline const std::array kThirdParty{
    // faults/stream.h subclasses httplib's Server and Stream: that is what it is for.
    ThirdParty{"httplib.h",
               {"faults/stream.h", "faults/stream.cc", "fakes/host.cc", "fakes/service.cc",
                "fakes/payments.cc", "fakes/admin_api.cc", "reference/http_client.cc",
                "bench/fakes_bench.cc"},
               true},
    ThirdParty{"yaml-cpp/", {"base/yaml.cc"}, false},
    ThirdParty{"sqlite3.h", {"base/sqlite.cc", "reference/synced_vfs.cc"}, false},
    // proxy/tls_test.cc is the server at the other end.
    ThirdParty{
        "openssl/",
        {"base/cipher.cc", "base/digest.cc", "base/random.cc", "proxy/tls.cc", "proxy/tls_test.cc"},
        false},
    ThirdParty{"CLI/", {"cli/command_line.cc"}, false},
    // The fixtures of the suite that every journal passes, and of the tests of program and proxy.
    ThirdParty{"gtest/",
               {"property_tests/", "reference/journal_conformance.h", "cli/cli_fixture.h",
                "proxy/scripted_upstream.h"},
               true},
    ThirdParty{"gmock/", {}, true},
    ThirdParty{"rapidcheck", {"property_tests/"}, true},
    ThirdParty{"benchmark/", {"bench/"}, false},
    ThirdParty{"fmt/", {""}, true},  // everywhere
    // Public types of the house.
    ThirdParty{"nlohmann/", {"base/json.h"}, false},
    ThirdParty{"tl/", {"base/error.h", "net/request_head.h"}, false},
};

// Folders of the C library; a header with another folder belongs to a row above.
inline constexpr std::array<std::string_view, 4> kSystemFolders{"arpa/", "linux/", "netinet/",
                                                                "sys/"};

inline constexpr std::size_t kMaxLines = 600;
inline constexpr std::size_t kMaxTestLines = 800;
inline constexpr std::size_t kMaxColumns = 100;
inline constexpr std::size_t kMaxReadmeLines = 150;
inline constexpr std::size_t kMaxArchitectureLines = 250;

}  // namespace onceproof::property_tests
