"""A slow line: passes bytes on after a delay, in both directions. LISTEN_PORT HOST PORT DELAY_S"""

import asyncio
import contextlib
import sys


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float) -> None:
    loop = asyncio.get_running_loop()
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            loop.call_later(delay_s, writer.write, data)  # in order: the delay is always the same
    loop.call_later(delay_s, writer.close)


async def main() -> None:
    listen_port, host, port, delay_s = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(host, int(port))
        except OSError:
            writer.close()
            return
        await asyncio.gather(carry(reader, far_writer, delay_s), carry(far_reader, writer, delay_s))

    server = await asyncio.start_server(on_connection, "0.0.0.0", int(listen_port))
    await server.serve_forever()


asyncio.run(main())
