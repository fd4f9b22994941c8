/* Compiled, never run: the public header has to be complete and plain C on its own. */
#include "headway/headway.h"

_Static_assert(sizeof(hw_options) % 8 == 0, "options end on a word");
_Static_assert(HW_PHASE_JOIN < HW_PHASE_USER_FIRST, "built-in phases leave room for more");

int headway_header_is_c(const hw_options* options);
int headway_header_is_c(const hw_options* options) {
  int error = hw_init(options);
  hw_step_end(1, HW_NO_DATA);
  hw_shutdown();
  return error;
}
