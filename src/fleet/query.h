// All that can be asked of a fleet's table, in one include.
#pragma once

#include "fleet/bucket_words.h"
#include "fleet/catalogue.h"
#include "fleet/failures.h"
#include "fleet/hosts.h"
#include "fleet/losses.h"
#include "fleet/rollup.h"
#include "fleet/trend.h"
#include "fleet/waterfall.h"
