#include "compile/fold_sizes.h"

namespace headway::compile {

bool is_about_sizes(std::string_view type) {
  return type == kSpecialisedRecord || type == kSizeGuardRecord || type == kSymbolRecord ||
         type == kUnbackedRecord;
}

SizeSymbol read_symbol(const dom::element& metadata) {
  SizeSymbol out;
  out.symbol = dom::text(metadata, "symbol", kNameBytesMax);
  out.source = dom::text(metadata, "source", kNameBytesMax);
  out.value = dom::text(metadata, "val", kNameBytesMax);
  out.range = dom::text(metadata, "vr", kNameBytesMax);
  return out;
}

Specialised read_specialised(const dom::element& metadata) {
  Specialised out;
  out.symbol = dom::text(metadata, "symbol", kNameBytesMax);
  out.value = dom::text(metadata, "value", kNameBytesMax);
  out.reason = dom::text(metadata, "reason", kNameBytesMax);
  if (dom::array sources; !metadata.at_key("sources").get_array().get(sources)) {
    for (const dom::element one : sources) {
      std::string_view source;
      if (one.get_string().get(source)) continue;
      if (!out.sources.empty()) out.sources += ", ";
      out.sources += source;
      if (out.sources.size() > kNameBytesMax) break;
    }
    out.sources = base::cut_text(out.sources, kNameBytesMax);
  }
  return out;
}

SizeGuard read_size_guard(const dom::element& metadata) {
  SizeGuard out;
  out.expression = dom::text(metadata, "expr", kTextBytesMax);
  return out;
}

}  // namespace headway::compile
