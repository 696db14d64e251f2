"""Requests to llama.cpp, at whose end a server of ours stands that closes connections as llama.cpp does."""

import asyncio
from asyncio import StreamReader, StreamWriter

from holocron_assets.derive.server.process.loopback import Llama

ANSWER = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{"tokens": [1]}'


def test_a_connection_that_llama_closes_after_an_answer_costs_no_later_request() -> None:
    async def answer_once(reader: StreamReader, writer: StreamWriter) -> None:
        await reader.readuntil(b"}")
        writer.write(ANSWER)
        await reader.read(1)  # until another request comes, or the other end closes
        writer.close()

    async def ask() -> list[list[int]]:
        async with await asyncio.start_server(answer_once, "127.0.0.1") as server:
            port = server.sockets[0].getsockname()[1]
            llama = Llama(f"http://127.0.0.1:{port}", "key")
            answers = [await llama.tokens_of("Say hi") for _ in range(3)]
            await llama.close()
        return answers

    assert asyncio.run(ask()) == [[1]] * 3
