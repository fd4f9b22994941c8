// Rows of a newer step, put into the image of an older one: what the holder does with a slot that
// holds only what changed. New values are absolute, so it may be cut short anywhere and done again.
// Checksums follow from those of the rows, old and new; nothing else of the image is read.
#pragma once

#include "base/status.h"
#include "replica/slot.h"

namespace headway::replica {

// `base` is sealed, or was being applied to by a holder that died, at `rows.since` or, with the
// same rows, at their own sequence; where they are in it already nothing is done. After an error it
// is as it was: everything is looked at before anything is changed. The slot with the rows stays as
// it is.
base::Status apply(Slot& base, const Slot& rows);

// Whether these rows are the next ones for an image with those facts; `applying`: that a holder has
// begun to put them into, or others.
[[nodiscard]] bool come_next(const SlotFacts& base, bool applying, const SlotFacts& rows);
// They are in it already: a holder died before it had cleared their slot.
[[nodiscard]] bool are_in(const SlotFacts& base, bool applying, const SlotFacts& rows);

}  // namespace headway::replica
