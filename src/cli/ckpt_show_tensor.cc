// headway ckpt show PATH TENSOR: one tensor's values and pieces.
#include <fmt/format.h>

#include "base/near_name.h"
#include "checkpoint/batches.h"
#include "checkpoint/diff.h"
#include "checkpoint/document.h"
#include "checkpoint/parts.h"
#include "checkpoint/values.h"
#include "cli/ckpt.h"
#include "cli/human.h"
#include "cli/progress.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;
using checkpoint::CheckpointReader;
using checkpoint::Statistics;
using checkpoint::TensorInfo;
using checkpoint::TensorPiece;

constexpr int kColumn = 12;
constexpr std::size_t pieces_shown_max = 64;

Status not_there(const CheckpointReader& reader, const std::string& name) {
  const TensorInfo* best = nullptr;
  std::size_t steps = SIZE_MAX;
  for (const TensorInfo& info : reader.tensors()) {
    const auto near = base::nearness(name, info.name);
    if (!near || *near >= steps) continue;
    best = &info;
    steps = *near;
  }
  const std::string hint =
      best != nullptr ? fmt::format("did you mean {}?", best->name)
                      : fmt::format("`headway ckpt show {} --all` lists them", reader.path());
  return Status::not_found(
      fmt::format("{}: no tensor is called {}; {}", reader.path(), name, hint));
}

Result<Statistics> statistics_of(const CheckpointReader& reader, const TensorInfo& info) {
  Statistics statistics;
  ProgressBar progress(info.name, info.bytes);
  const Status status = checkpoint::read_in_batches(
      {&reader}, {{&info, checkpoint::whole_box(info.shape)}},
      [&](std::size_t, std::uint64_t, const std::vector<std::span<const std::byte>>& data) {
        checkpoint::add_values(info.dtype, data[0], statistics);
        progress.add(data[0].size());
        return Status();
      });
  if (!status.ok()) return status;
  return statistics;
}

// A delta has only some rows of a table: the pieces are of its base.
void add_rows(Page& page, const std::vector<CheckpointReader::Rows>& all) {
  if (all.empty()) return;
  page.blank();
  page.add("  rows put over them", Ink::dim);
  const std::size_t first = all.size() - std::min(all.size(), pieces_shown_max);
  if (first > 0) page.add(fmt::format("    {} older; --json has all", first), Ink::dim);
  for (std::size_t i = first; i < all.size(); ++i) {
    page.add_whole(Line()
                       .add(fmt::format("    {} ", human_count(all[i].count)))
                       .to(kColumn)
                       .add(fmt::format("rank {}  ", all[i].file.rank))
                       .add(all[i].file.name, Ink::dim));
  }
}

std::string to_text(const CheckpointReader& reader, const TensorInfo& info, const Statistics& s) {
  const Style style = out_style();
  Page page(style);
  page.add_whole(Line()
                     .add(clean(info.name, style), Ink::strong)
                     .add(fmt::format(" {} {} {} {}", page.dot(), checkpoint::kind_text(info),
                                      page.dot(), human_bytes(info.bytes))));
  const auto row = [&](std::string_view label, const std::string& text, Ink ink = Ink::plain) {
    page.add_whole(Line().add("  ").add(label, Ink::dim).to(kColumn).add(text, ink));
  };
  row("path", clean(reader.path(), style));
  row("values", fmt::format("{}, {} of them zero", human_count(s.count), human_count(s.zero)));
  row("nan, inf", fmt::format("{}, {}", human_count(s.nan), human_count(s.inf)),
      s.nan + s.inf > 0 ? Ink::down : Ink::plain);
  if (s.finite() > 0) {
    row("min", fmt::format("{:.9g}", s.min));
    row("max", fmt::format("{:.9g}", s.max));
    row("mean", fmt::format("{:.9g}", s.mean()));
  }
  page.blank();
  page.add(fmt::format("  {} piece{}", human_count(info.pieces.size()),
                       info.pieces.size() == 1 ? "" : "s"),
           Ink::dim);
  int boxes = 0;
  const std::size_t shown = std::min(info.pieces.size(), pieces_shown_max);
  for (std::size_t i = 0; i < shown; ++i) {
    boxes = std::max(boxes, columns_of(info.pieces[i].box.text()));
  }
  for (std::size_t i = 0; i < shown; ++i) {
    const TensorPiece& piece = info.pieces[i];
    const auto& file = reader.file_of(piece);
    const auto bytes = checkpoint::bytes_of_shape(info.dtype, piece.box.shape).value_or(0);
    page.add_whole(Line()
                       .add("    ")
                       .add(piece.box.text())
                       .to(boxes + 6)
                       .add(fmt::format("rank {}", file.rank))
                       .right(human_bytes(bytes), boxes + 30)
                       .add("  ")
                       .add(file.name, Ink::dim));
  }
  if (shown < info.pieces.size()) {
    page.add(fmt::format("    and {} more; --json has all", info.pieces.size() - shown), Ink::dim);
  }
  add_rows(page, reader.rows_over(info.name));
  return page.text();
}

Json to_json(const CheckpointReader& reader, const TensorInfo& info, const Statistics& s) {
  Json json = {{"path", reader.path()}, {"step", reader.manifest().step},
               {"name", info.name},     {"dtype", checkpoint::name_of(info.dtype)},
               {"shape", info.shape},   {"bytes", info.bytes},
               {"count", s.count},      {"zero", s.zero},
               {"nan", s.nan},          {"inf", s.inf}};
  const bool known = s.finite() > 0;
  json["min"] = known ? Json(s.min) : Json();
  json["max"] = known ? Json(s.max) : Json();
  json["mean"] = known ? Json(s.mean()) : Json();
  json["pieces"] = Json::array();
  for (const TensorPiece& piece : info.pieces) {
    const auto& file = reader.file_of(piece);
    json["pieces"].push_back({{"offsets", piece.box.offsets},
                              {"shape", piece.box.shape},
                              {"rank", file.rank},
                              {"file", file.name},
                              {"begin", piece.begin}});
  }
  json["rows"] = Json::array();
  for (const CheckpointReader::Rows& rows : reader.rows_over(info.name)) {
    json["rows"].push_back(
        {{"count", rows.count}, {"rank", rows.file.rank}, {"file", rows.file.name}});
  }
  return json;
}

}  // namespace

Result<int> show_tensor(const CheckpointReader& reader, const std::string& name, bool json) {
  const TensorInfo* info = reader.find(name);
  if (info == nullptr) return not_there(reader, name);
  if (checkpoint::is_document(name)) {
    auto text = checkpoint::read_document(reader, *info);
    if (text.ok()) {
      text = json ? checkpoint::placed_document(*text, reader.path(), name)
                  : checkpoint::pretty_document(*text, reader.path(), name);
    }
    return text.ok() ? Result<int>(print_out(*text)) : Result<int>(text.status());
  }
  const auto statistics = statistics_of(reader, *info);
  if (!statistics.ok()) return statistics.status();
  return json ? print_json(to_json(reader, *info, statistics.value()))
              : print_out(to_text(reader, *info, statistics.value()));
}

}  // namespace headway::cli
