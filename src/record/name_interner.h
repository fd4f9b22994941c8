// Texts → the journal's ids, for one process. Not on the hot path: takes a lock and may allocate.
// Ids come from the journal's header, so that forked children never give one out twice. Any thread;
// a fork waits until no one is inside.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "event/record.h"

namespace headway::record {

class NameInterner {
 public:
  // 0 for an empty text. kOtherNameId when the table is full, or the journal has no room for the
  // text just now (then the next call tries again). May throw std::bad_alloc.
  std::uint16_t intern(event::JournalHeader* header, std::string_view text);
  void clear();

  // Around fork(), in the parent and in the child.
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::unordered_map<std::string, std::uint16_t> ids_;
};

}  // namespace headway::record
