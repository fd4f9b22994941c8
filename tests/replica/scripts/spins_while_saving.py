"""Saves a large state while another thread of Python counts: it counts on during the copy, in which
nobody makes the training thread give up the interpreter's lock."""

import os
import sys
import threading
import time

import torch

import headway as hw

SWITCH_S = 3600.0  # never: who holds the interpreter's lock is not asked to give it up
count, ends = 0, False


def counts() -> None:
    global count
    while not ends:
        count += 1
        if count % 1000 == 0:
            time.sleep(0)  # gives the lock up


def main() -> None:
    global ends
    model = torch.nn.Linear(4096, 4096)
    keeper = hw.checkpointer(os.environ["FOLDER"], model=model, staging="full")
    keeper.save(1)  # memory is there from now on
    keeper.wait()
    fill = keeper.trainer.fill
    meanwhile: list[int] = []

    def watched(*arguments: object) -> None:
        before = count
        fill(*arguments)
        meanwhile.append(count - before)

    begin = keeper.staging.begin

    def begins(*arguments: object) -> object:
        begun = begin(*arguments)
        return begun._replace(fill=watched)

    keeper.staging.begin = begins
    # Nothing but the lock's own release lets the other thread in.
    sys.setswitchinterval(SWITCH_S)
    thread = threading.Thread(target=counts)
    thread.start()
    for step in range(2, 7):
        keeper.save(step)
    ends = True
    sys.setswitchinterval(0.005)
    thread.join()
    keeper.close()
    assert len(meanwhile) == 5 and max(meanwhile) > 0, meanwhile
    print("ran meanwhile", meanwhile)


main()
