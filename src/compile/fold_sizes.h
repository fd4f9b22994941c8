// What torch says of sizes while it traces: the symbols that it makes of them, the guards that the
// code puts on these, and those that became one value. They are records without a text. For .cc
// files only: simdjson's header is heavy. Pure; one thread.
#pragma once

#include <string_view>

#include "compile/compile_log.h"
#include "compile/dom.h"

namespace headway::compile {

// Whether a record of this type says such a thing.
[[nodiscard]] bool is_about_sizes(std::string_view type);

// `metadata` of such a record, taken apart.
[[nodiscard]] SizeSymbol read_symbol(const dom::element& metadata);
// Without the stack of the user's code, which is in its "user_stack".
[[nodiscard]] Specialised read_specialised(const dom::element& metadata);
[[nodiscard]] SizeGuard read_size_guard(const dom::element& metadata);

inline constexpr std::string_view kSpecialisedRecord = "symbolic_shape_specialization";
inline constexpr std::string_view kSizeGuardRecord = "guard_added_fast";
inline constexpr std::string_view kSymbolRecord = "create_symbol";
inline constexpr std::string_view kUnbackedRecord = "create_unbacked_symbol";

}  // namespace headway::compile
