#include "base/guarded.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace onceproof {
namespace {

TEST(GuardedTest, ManyThreadsLoseNoIncrement) {
  Guarded<int> counter(0);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&counter] {
        for (int i = 0; i < 1000; ++i) ++*counter.lock();
      });
    }
  }
  EXPECT_EQ(*counter.lock(), 4000);
}

TEST(GuardedTest, TheLockEndsWithTheLockedObject) {
  Guarded<std::vector<int>> list;
  list.lock()->push_back(1);
  EXPECT_EQ(list.lock()->size(), 1U);  // would never return if the lock above were still held
}

TEST(GuardedTest, AWaiterSeesWhatANotifierWrote) {
  Guarded<bool> ready(false);
  std::condition_variable changed;
  std::jthread writer([&] {
    *ready.lock() = true;
    changed.notify_one();
  });
  auto locked = ready.lock();
  EXPECT_TRUE(changed.wait_for(locked.mutex(), std::chrono::seconds(30), [&] { return *locked; }));
}

}  // namespace
}  // namespace onceproof
