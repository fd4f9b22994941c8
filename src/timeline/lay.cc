#include "timeline/lay.h"

namespace headway::timeline {

Bucket init_bucket(Kind kind) {
  const auto n = static_cast<std::size_t>(kind);
  if (n >= HW_PHASE_IMPORTS && n <= HW_PHASE_RESTORE) {
    return static_cast<Bucket>(index(Bucket::init_imports) + n - HW_PHASE_IMPORTS);
  }
  switch (kind) {
    case Kind::compile_cold:
      return Bucket::compile_cold;
    case Kind::compile_warm:
      return Bucket::compile_warm;
    case Kind::data_wait:
      return Bucket::init_first_batch;
    default:
      return Bucket::init_other;
  }
}

Bucket loop_bucket(Kind kind, bool first_step, Bucket train) {
  switch (kind) {
    case Kind::none:
    case Kind::join:
      return train;
    case Kind::compile_cold:
      return first_step ? Bucket::compile_cold : Bucket::wasted_recompile;
    case Kind::compile_warm:
      return first_step ? Bucket::compile_warm : Bucket::wasted_recompile;
    case Kind::checkpoint_blocked:
      return Bucket::wasted_checkpoint_blocked;
    case Kind::data_wait:
      return Bucket::wasted_data_wait;
    case Kind::eval:
      return Bucket::wasted_eval;
    default:
      break;
  }
  return static_cast<int>(kind) == HW_PHASE_GET_FIRST_BATCH_DATA ? Bucket::wasted_data_wait
                                                                 : Bucket::wasted_other;
}

Bucket shutdown_bucket(Kind kind) {
  switch (kind) {
    case Kind::checkpoint_blocked:
      return Bucket::shutdown_final_save;
    case Kind::publish:
      return Bucket::shutdown_publish;
    case Kind::eval:
      return Bucket::wasted_eval;
    default:
      return Bucket::shutdown_other;
  }
}

}  // namespace headway::timeline
