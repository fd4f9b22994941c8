#include "replica/slot_pieces.h"

namespace headway::replica {

using base::Result;
using base::Status;
using checkpoint::StoredPiece;

namespace {

Status add_part(const Slot& slot, const Range& part, std::vector<StoredPiece>& pieces) {
  if (part.bytes() == 0) return {};
  const auto* begin = reinterpret_cast<const char*>(slot.image().data()) + part.begin;
  auto bytes = checkpoint::safetensors_head_bytes({begin, 8}, part.bytes(), slot.path());
  if (!bytes.ok()) return bytes.status();
  auto header = checkpoint::parse_safetensors({begin, *bytes}, part.bytes(), slot.path());
  if (!header.ok()) return header.status();
  for (StoredPiece& stored : header->pieces) {
    stored.begin += part.begin;
    stored.end += part.begin;
    pieces.push_back(std::move(stored));
  }
  return {};
}

}  // namespace

Result<std::vector<StoredPiece>> pieces_of(const Slot& slot, const SlotFacts& facts) {
  std::vector<StoredPiece> pieces;
  for (const Range& part : {facts.own, facts.rest}) {
    if (Status status = add_part(slot, part, pieces); !status.ok()) return status;
  }
  return pieces;
}

}  // namespace headway::replica
