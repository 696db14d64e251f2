"""Serves small files and one large file on loopback, with ranges, and counts what it sends of the large one.

Run in benchmarks/: python -m local_files.server LARGE_BYTES
It prints its port, and serves until it is terminated.
"""

import asyncio
import os
import sys
import tempfile
from asyncio import StreamReader, StreamWriter
from contextlib import suppress
from typing import BinaryIO

SMALL_PATH, LARGE_PATH, SENT_PATH = "/small/", "/large.bin", "/sent"
SMALL_BYTES = 50_000
_PIECE = 4 << 20
_PNG = b"\x89PNG\r\n\x1a\n"
_BLOCK = os.urandom(1 << 20)


class Server:
    """The files, and how many bytes of the large one were sent."""

    def __init__(self, large: BinaryIO, large_bytes: int) -> None:
        """Serve `large`, which has so many bytes."""
        self._large, self._large_bytes = large, large_bytes
        self.sent = 0

    async def speak(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Answer the requests of one connection."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                request = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                path = request.split(" ", 2)[1]
                if path == LARGE_PATH:
                    await self._send_large(writer, request)
                else:
                    status, body = self._small(path)
                    writer.write(_head(status, len(body), f'"{path}"') + body)
                    await writer.drain()
        writer.close()

    def _small(self, path: str) -> tuple[str, bytes]:
        if path == SENT_PATH:
            return "200 OK", str(self.sent).encode()
        if path.startswith(SMALL_PATH):
            return "200 OK", (_PNG + path.encode()).ljust(64) + _BLOCK[: SMALL_BYTES - 64]
        return "404 Not Found", b""

    async def _send_large(self, writer: StreamWriter, request: str) -> None:
        start, size = 0, self._large_bytes
        if "\r\nrange: bytes=" in request:
            start = int(request.partition("\r\nrange: bytes=")[2].partition("-")[0])
        extra = f"Content-Range: bytes {start}-{size - 1}/{size}\r\n" if start else ""
        status = "206 Partial Content" if start else "200 OK"
        writer.write(_head(status, size - start, '"large"', extra))
        await writer.drain()
        loop = asyncio.get_running_loop()
        for at in range(start, size, _PIECE):
            self.sent += await loop.sendfile(writer.transport, self._large, at, min(_PIECE, size - at))


def _head(status: str, length: int, etag: str, extra: str = "") -> bytes:
    said = f"HTTP/1.1 {status}\r\nContent-Length: {length}\r\nETag: {etag}\r\nAccept-Ranges: bytes\r\n"
    return f"{said}Content-Type: image/png\r\n{extra}\r\n".encode()


async def serve(large_bytes: int) -> None:
    """Serve until the process is terminated."""
    with tempfile.TemporaryFile() as large:
        for _ in range(0, large_bytes, len(_BLOCK)):
            large.write(_BLOCK)
        large.truncate(large_bytes)
        server = await asyncio.start_server(Server(large, large_bytes).speak, "127.0.0.1", 0, backlog=256)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
