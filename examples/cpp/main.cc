// Pays an order once, however often it is called: pay URL ORDER AMOUNT_MINOR
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>

#include "reference/executor.h"
#include "reference/http_provider.h"
#include "reference/policy_file.h"
#include "reference/sqlite_journal.h"

int complain(const onceproof::Error& error) {
  std::cerr << "pay: " << error.message << '\n';
  return 2;
}

int main(int argc, char** argv) {
  using namespace onceproof;
  if (argc != 4)
    return complain({ErrorCode::invalid_argument, "usage: pay URL ORDER AMOUNT_MINOR"});

  // policy.yaml lies beside the program, the journal in the current folder.
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  const auto file = read_policy_file(program.parent_path() / "policy.yaml");
  if (!file) return complain(file.error());
  const auto journal = SqliteJournal::open("journal.db");
  if (!journal) return complain(journal.error());
  RealClock clock;
  SystemRandom random;
  const Protocol protocol;
  const auto guarantees = file->guarantees_of("create_payment");
  const auto provider = HttpProvider::make(http_services().front(), argv[1], guarantees, clock);
  if (!provider) return complain(provider.error());
  std::map<std::string, Provider*> providers{{"create_payment", provider->get()}};
  Executor executor({clock, **journal, random, protocol, file->policy, providers, "pay"});

  const Json params{
      {"order_id", argv[2]}, {"amount_minor", std::atoll(argv[3])}, {"currency", "RUB"}};
  const auto answer = executor.submit({"shop", argv[2], "create_payment", params});
  if (!answer) return complain(answer.error());
  std::cout << to_text(answer->status) << ' ' << answer->external_id << '\n';
  return answer->status == AnswerStatus::succeeded ? 0 : 1;
}
