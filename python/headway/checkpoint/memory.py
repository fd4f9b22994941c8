"""The way back from memory: each rank from its own replica, of which nothing is copied where a
tensor can take its memory over; and ranks whose own is gone with their machine, or damaged, from
what the others have of the same step (peers.py)."""

from __future__ import annotations

import glob
import os
import re
import threading
import time
import warnings
from typing import TYPE_CHECKING, Any

import torch

from headway import _replica
from headway.checkpoint import choose, live, peers, where
from headway.checkpoint.errors import (
    CheckpointDamagedError,
    CheckpointError,
    CheckpointMismatchError,
)
from headway.checkpoint.live import Restored
from headway.checkpoint.parts import ModelPart
from headway.checkpoint.peers import Image
from headway.checkpoint.tensors import place, view
from headway.checkpoint.where import Place

if TYPE_CHECKING:
    from headway.checkpoint.checkpointer import Checkpointer

ANSWER_S = 30.0  # for the holder
WITHOUT_MEMORY = "HEADWAY_CKPT_WITHOUT_MEMORY"
LET_GO_AFTER_S = 0.1


def has_checkpoints(folder: str) -> bool:
    try:
        return any(_replica.list_checkpoints(folder, 1))
    except CheckpointError:  # who cannot look into it will not save there either, and hears of it
        return False


def there_before(folder: str) -> frozenset[str] | None:
    """Where memory is given up, so is what a holder writes from it from now on."""
    if os.environ.get(WITHOUT_MEMORY) != "1":
        return None
    try:
        return frozenset(os.listdir(folder))
    except OSError:
        return frozenset()


def left_behind(keeper: Checkpointer) -> tuple[list[Image], list[str]]:
    """What this rank's predecessor left, and what nobody else on this machine will offer; and what
    is wrong with some of it."""
    found = list(keeper.trainer.left_behind(ANSWER_S))
    keeper.trainer.free_live()
    if os.environ.get(WITHOUT_MEMORY) == "1":
        keeper.trainer.forget()
        return [], []
    if keeper.place.local_rank == 0:
        found += _of_ranks_elsewhere(keeper.place)
    images, damaged = [], []
    for whole in found:
        try:
            images.append(Image(whole))
        except CheckpointError as error:
            damaged.append(str(error))
    return images, damaged


def _of_ranks_elsewhere(place: Place) -> list[Any]:
    """Ranks are numbered anew when a job goes on with more or fewer machines: those that were here
    are not here now, and what they left still is."""
    first = place.rank - place.local_rank
    here = range(first, first + place.local_world_size)
    found = []
    for path in sorted(glob.glob(os.path.join(glob.escape(place.folder), "rank-*.slot-*"))):
        named = re.fullmatch(r"rank-(\d+)\.slot-\d+", os.path.basename(path))
        if named is not None and int(named[1]) not in here:
            found.append(_replica.open_whole(path))
    return [whole for whole in found if whole is not None]


def from_memory(
    keeper: Checkpointer, candidate: choose.Candidate, images: list[Image], on_disk: bool
) -> Restored:
    """All ranks call it, and all raise where one cannot go on, before anything is changed."""
    mine = [image for image in images if image.key == choose.key_of(candidate)]
    good, problem = _sound(keeper, mine)
    own = next((image for image in good if _is_own(image, keeper.place)), None)
    said = keeper.group.gather(
        peers.Said(own is not None, {d for image in good for d in image.documents}, problem)
    )
    if all(one.has for one in said) and own is not None:
        return _from_own(keeper, own, on_disk, persist=not on_disk)
    problems = [one.problem for one in said if one.problem]
    try:
        served = peers.serve(keeper, candidate, good, said)
    except peers.Incomplete as error:
        raise CheckpointDamagedError(problems[0]) if problems else error from None
    for text in problems:
        warnings.warn(f"headway: other ranks serve for {text}", RuntimeWarning, stacklevel=6)
    if own is None:
        assert served is not None
        return peers.put(keeper, candidate, served)
    # Those that were served have it only as their tensors.
    return _from_own(keeper, own, False, persist=False)._replace(by_peers=True)


def _sound(keeper: Checkpointer, images: list[Image]) -> tuple[list[Image], str]:
    """Those whose bytes are what was saved."""
    trusted = where.trusted_attempts(keeper.place)
    good, problem = [], ""
    for image in images:
        try:
            if image.key[0] not in trusted:
                keeper.trainer.verify(image.whole)
            good.append(image)
        except CheckpointError as error:
            problem = str(error)
    return good, problem


def _is_own(image: Image, place: Place) -> bool:
    return image.rank == place.rank and image.ranks == place.world_size


def _from_own(keeper: Checkpointer, image: Image, on_disk: bool, persist: bool) -> Restored:
    """The image's memory becomes the tensors', and where the step is not on disk a copy of it is
    made before they change (src/replica/backup.h): who comes after a second crash finds it, too.
    `persist`: of all ranks, and the copies get to the disk, whenever the next save is due."""
    whole = image.whole
    text = image.text_of(keeper.place.rank)
    if text is None:
        raise CheckpointMismatchError(f"{whole.slot.path}: without this rank's state")
    document = live.parse(text, whole.slot.path)
    targets = live.model_targets(keeper, document)
    for name, tensor in targets.items():
        _check_fits(name, tensor, image)
    slot = None
    if _may_adopt(keeper, targets):
        slot = keeper.trainer.adopt(whole, on_disk, persist)
    if slot is not None:
        keeper.settle_before_steps()
    elif persist:
        keeper.trainer.persist(whole)
    memory = slot if slot is not None else whole.slot

    def at(name: str) -> torch.Tensor:
        return view(memory, image.pieces[name], image.places[name][0])

    replaced: list[torch.Tensor] = []
    with torch.no_grad():
        for name, tensor in targets.items():
            taken = at(name)
            if slot is not None and _is_adoptable(tensor):
                replaced.append(tensor.data)
                tensor.data = taken
            else:
                place("", tensor).local.copy_(taken)
    adopted = len(replaced)
    threading.Thread(target=_let_go, args=(replaced,)).start()

    def fetch(name: str) -> torch.Tensor:
        taken = at(name)
        # The model has its own by now, and optimizers leave alone what is theirs until they step.
        stays = slot is not None and live.parameter_of(keeper, name) is not None
        if name not in targets and not stays:
            taken = taken.clone()
        return live.as_state_of(keeper, name, taken)

    live.load_rest(keeper, document, fetch, whole.world_size)
    tier = "replica" if adopted else "replica-copy"
    return Restored(whole.step, whole.data, tier, live.cadence_of(document))


def _let_go(tensors: list[torch.Tensor]) -> None:
    """The memory that a model was made with goes back beside the training that now has another: the
    system takes a tenth of a second a GiB for it, with the interpreter's lock held. No daemon: one
    that is stopped while it frees a tensor takes the whole process with it."""
    threading.main_thread().join(LET_GO_AFTER_S)  # for the restore to end, or at once at the exit
    while tensors:
        tensors.pop()
        time.sleep(0.001)


def _check_fits(name: str, tensor: torch.Tensor, image: Image) -> None:
    wanted = place(name, tensor).piece
    found = image.pieces.get(name)
    if found is None:
        raise CheckpointMismatchError(f"model: {name} is not in the replica")
    if found != wanted:
        raise CheckpointMismatchError(
            f"model: {name} is {wanted.dtype} {list(wanted.shape)}, saved was {found.dtype} "
            f"{list(found.shape)}"
        )


def _is_adoptable(tensor: torch.Tensor) -> bool:
    """Alone in its memory, on the processor: nobody else would go on using the old one. And changed
    by optimizers only: buffers change when a model is used."""
    return (
        type(tensor) is torch.nn.Parameter
        and tensor.device.type == "cpu"
        and tensor.is_contiguous()
        and tensor.grad is None
        and tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
    )


def _may_adopt(keeper: Checkpointer, targets: dict[str, torch.Tensor]) -> bool:
    part = keeper.parts.get("model")
    untouched = isinstance(part, ModelPart) and part.given is part.model
    return untouched and any(_is_adoptable(tensor) for tensor in targets.values())
