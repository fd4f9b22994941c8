"""A light stand-in for a training: lives for some ticks, keeps a diary of when it was alive, and
resumes. Ranks are held together as collectives would: by a connection to rank 0.
"""

import os
import socket
import sys
import threading
import time

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
attempt, node = os.environ["HEADWAY_ATTEMPT"], os.environ["GROUP_RANK"]
diary = os.open(os.environ["DIARY"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)


def write(what: str) -> None:
    line = f"{time.monotonic_ns()} {os.environ['HOST']} {attempt} {rank} {world} {node} {what}\n"
    os.write(diary, line.encode())


def heartbeat() -> None:
    while True:
        write("alive")
        time.sleep(0.02)


def receive(link: socket.socket) -> bytes:
    got = link.recv(1)
    if not got:
        sys.exit("a peer is gone")
    return got


def main() -> None:
    ticks = int(sys.argv[1])
    place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    links = []
    write("begin")
    threading.Thread(target=heartbeat, daemon=True).start()
    if rank == 0:
        server = socket.create_server(("", place[1]), reuse_port=False)
        links = [server.accept()[0] for _ in range(world - 1)]
    else:
        while not links:
            try:
                links = [socket.create_connection(place, timeout=60)]
            except ConnectionRefusedError:
                time.sleep(0.02)
    for link in links:
        link.settimeout(None)
    kept = os.environ.get("KEPT")  # where rank 0 remembers how far it got
    first = int(open(kept).read()) if kept and os.path.exists(kept) else 0  # noqa: SIM115
    for tick in range(first, ticks):
        for link in links:
            link.sendall(b"t")
        for link in links:
            receive(link)
        write(f"tick{tick}")
        time.sleep(0.05)
        if kept and rank == 0:
            with open(kept + ".new", "w") as file:
                file.write(str(tick + 1))
            os.replace(kept + ".new", kept)
    write("end")


main()
