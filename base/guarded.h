// Shared state that can only be reached under its lock.
// `auto locked = guarded.lock(); locked->push_back(x);`  The lock ends with `locked`.
#pragma once

#include <condition_variable>
#include <mutex>
#include <utility>

namespace onceproof {

template <typename T>
class Guarded {
 public:
  class Locked {
   public:
    explicit Locked(Guarded& owner) : lock_(owner.mutex_), value_(owner.value_) {}
    T* operator->() { return &value_; }
    T& operator*() { return value_; }
    std::unique_lock<std::mutex>& mutex() { return lock_; }

   private:
    std::unique_lock<std::mutex> lock_;
    T& value_;
  };

  Guarded() = default;
  explicit Guarded(T value) : value_(std::move(value)) {}
  Locked lock() { return Locked(*this); }

 private:
  std::mutex mutex_;
  T value_;
};

}  // namespace onceproof
