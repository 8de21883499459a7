#include "reference/sqlite_readers.h"

#include <fmt/format.h>

namespace onceproof {

Result<SqliteReaders::Connection> SqliteReaders::borrow() {
  std::unique_lock lock(mutex_);
  const bool free = returned_.wait_for(lock, busy_timeout_, [&] { return lent_ < max_readers_; });
  if (!free) {
    return fail(ErrorCode::journal_unavailable,
                fmt::format("{}: {} readers are busy, and none became free within {}",
                            path_.string(), max_readers_, to_text(busy_timeout_)));
  }
  ++lent_;
  if (!idle_.empty()) {
    auto connection = std::move(idle_.back());
    idle_.pop_back();
    return connection;
  }
  lock.unlock();
  auto opened = open();
  if (!opened) give_back(nullptr);
  return opened;
}

Result<SqliteReaders::Connection> SqliteReaders::open() const {
  auto database = Database::open(path_, durability_, busy_timeout_);
  if (!database) return tl::unexpected(database.error());
  if (auto done = database->execute("PRAGMA query_only=ON"); !done) {
    return tl::unexpected(done.error());
  }
  return std::make_unique<JournalConnection>(std::move(*database));
}

void SqliteReaders::give_back(Connection connection) {
  {
    std::scoped_lock lock(mutex_);
    --lent_;
    if (connection) idle_.push_back(std::move(connection));
  }
  returned_.notify_one();
}

}  // namespace onceproof
