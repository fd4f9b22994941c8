#include "replica/image.h"

#include <algorithm>
#include <map>

#include "base/crc32c.h"

namespace headway::replica {
namespace {

using base::Result;
using base::Status;
using checkpoint::Piece;

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + image_alignment - 1) / image_alignment * image_alignment;
}

Result<ImagePart> plan_part(const std::vector<ImagePiece>& pieces, bool own, std::uint64_t begin) {
  std::vector<Piece> chosen;
  for (const ImagePiece& candidate : pieces) {
    if (candidate.own == own) chosen.push_back(candidate.piece);
  }
  ImagePart part;
  part.range = {begin, begin};
  if (!own && chosen.empty()) return part;
  auto plan = checkpoint::plan_safetensors(chosen, image_alignment);
  if (!plan.ok()) return plan.status();
  part.plan = std::move(*plan);
  part.range.end = begin + part.plan.header.file_bytes;
  return part;
}

void take_places(const ImagePart& part, std::map<std::string_view, Range>& places) {
  for (const checkpoint::StoredPiece& stored : part.plan.header.pieces) {
    places[stored.piece.name] = {part.range.begin + stored.begin, part.range.begin + stored.end};
  }
}

// Two CRCs, the second of the text backwards: a collision would have to fool both.
std::uint64_t hash_of(const std::string& own, const std::string& rest) {
  std::string text = own + '\n' + rest;
  const std::uint64_t front = base::crc32c(text.data(), text.size());
  std::reverse(text.begin(), text.end());
  return front << 32 | base::crc32c(text.data(), text.size());
}

void cut(const Range& part, std::vector<Range>& chunks) {
  for (std::uint64_t at = part.begin; at < part.end; at += chunk_bytes) {
    chunks.push_back({at, std::min(part.end, at + chunk_bytes)});
  }
}

}  // namespace

Result<ImagePlan> plan_image(const std::vector<ImagePiece>& pieces) {
  auto own = plan_part(pieces, true, 0);
  if (!own.ok()) return own.status();
  auto rest = plan_part(pieces, false, aligned(own->range.end));
  if (!rest.ok()) return rest.status();
  ImagePlan plan;
  plan.own = std::move(*own);
  plan.rest = std::move(*rest);
  plan.bytes = plan.rest.range.end;
  std::map<std::string_view, Range> places;
  take_places(plan.own, places);
  take_places(plan.rest, places);
  if (places.size() != pieces.size()) {
    for (const ImagePiece& a : pieces) {
      const auto same = [&](const ImagePiece& b) { return a.piece.name == b.piece.name; };
      if (std::count_if(pieces.begin(), pieces.end(), same) > 1) {
        return Status::invalid("two tensors are called " + a.piece.name);
      }
    }
  }
  for (const ImagePiece& piece : pieces) plan.places.push_back(places.at(piece.piece.name));
  plan.layout_hash = hash_of(plan.own.plan.head, plan.rest.plan.head);
  return plan;
}

std::vector<Range> chunks_of(const Range& own, const Range& rest) {
  std::vector<Range> chunks;
  cut(own, chunks);
  cut(rest, chunks);
  return chunks;
}

}  // namespace headway::replica
