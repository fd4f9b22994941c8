// 128-bit integers, which both compilers have and the standard does not.
#pragma once

namespace headway::base {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;

}  // namespace headway::base
