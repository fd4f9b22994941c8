"""A real Chromium, without a window, told what to do through its debugging protocol."""

from __future__ import annotations

import asyncio
import base64
import itertools
import shutil
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
START_S = 60


class Page:
    """One page, and every request and message of its console."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.requests: list[str] = []
        self.messages: list[str] = []

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            told = await asyncio.wait_for(self._socket.receive_json(), START_S)
            self._note(told)
            if told.get("id") == number:
                assert "error" not in told, told
                return told["result"]

    def _note(self, told: dict[str, Any]) -> None:
        about = told.get("params", {})
        if told.get("method") == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif told.get("method") == "Log.entryAdded":
            self.messages.append(about["entry"]["text"])
        elif told.get("method") == "Runtime.exceptionThrown":
            self.messages.append(str(about["exceptionDetails"]))

    async def open(self, path: Path) -> None:
        for domain in ("Page", "Network", "Log", "Runtime"):
            await self.call(f"{domain}.enable")
        await self.call("Page.navigate", url=path.resolve().as_uri())
        await self.until("document.readyState === 'complete'")

    async def ask(self, expression: str) -> Any:
        told = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    async def until(self, expression: str) -> None:
        end = time.monotonic() + START_S
        while not await self.ask(expression):
            assert time.monotonic() < end, expression
            await asyncio.sleep(0.05)

    async def press(self, key: str, text: str = "") -> None:
        codes = {"Enter": 13, "Tab": 9, "Escape": 27}
        kind = "keyDown" if text else "rawKeyDown"
        about: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": codes.get(key, 0)}
        if text:
            about["text"] = text
        await self.call("Input.dispatchKeyEvent", type=kind, **about)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    async def picture(self, path: Path, dark: bool) -> None:
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[feature])
        told = await self.call("Page.captureScreenshot")
        path.write_bytes(base64.b64decode(told["data"]))


def in_browser(work: Callable[[Page], Awaitable[None]]) -> None:
    aiohttp = pytest.importorskip("aiohttp")
    if CHROMIUM is None:
        pytest.skip("no chromium")

    async def talk(profile: Path) -> None:
        port_file = profile / "DevToolsActivePort"
        end = time.monotonic() + START_S
        while not port_file.exists() or "\n" not in port_file.read_text():
            assert time.monotonic() < end, "chromium did not start"
            await asyncio.sleep(0.05)
        port = port_file.read_text().split("\n")[0]
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                targets = await answer.json()
            (target,) = [one for one in targets if one["type"] == "page"]
            address = target["webSocketDebuggerUrl"]
            async with session.ws_connect(address, max_msg_size=0) as socket:
                await work(Page(socket))

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu"]
        command += ["--remote-debugging-port=0", "--window-size=1400,1000"]
        command += [f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            asyncio.run(talk(Path(profile)))
        finally:
            process.kill()
            process.wait()
