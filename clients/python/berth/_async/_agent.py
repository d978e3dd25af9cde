from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Dict

from .._errors import BerthError
from .._results import AgentAnswer
from .._types import AgentMessage, AgentState, PromptOptions, QuestionAnswer
from .._wire import decode, decode_any, to_wire
from ._streams import AsyncStream, server_sent_events
from ._transport import AsyncTransport, Call

if TYPE_CHECKING:
    from typing_extensions import Unpack


class AsyncAgent:
    """The coding agent of a session."""

    def __init__(self, transport: AsyncTransport, sandbox_url: Callable[[], str]) -> None:
        self._transport = transport
        self._sandbox_url = sandbox_url

    async def state(self) -> AgentState:
        return await self._call("GET", "/agent")

    async def start(self) -> AgentState:
        return await self._call("POST", "/agent/start")

    async def stop(self) -> AgentState:
        return await self._call("POST", "/agent/stop")

    def prompt(self, text: str, **options: Unpack[PromptOptions]) -> AsyncStream[AgentMessage]:
        """Sends a prompt and yields everything that the agent does, until the end of the turn. Leaving the loop cancels the turn."""
        return AsyncStream(self._messages({"text": text, **to_wire(PromptOptions, options)}))

    async def ask(self, text: str, **options: Unpack[PromptOptions]) -> AgentAnswer:
        """Sends a prompt and returns the agent's text."""
        texts: Dict[str, str] = {}
        async with self.prompt(text, **options) as messages:
            async for message in messages:
                if message.type == "item" and message.item.kind == "assistant":
                    texts[message.item.id] = message.item.text
                elif message.type == "append" and message.item_id in texts:
                    texts[message.item_id] += message.text
                elif message.type == "turn":
                    if message.stop_reason == "error":
                        raise BerthError(message.message or "The agent failed", code=message.code or "agent_failed")
                    return AgentAnswer("\n\n".join(texts.values()), message.conversation_id, message.stop_reason)
        raise BerthError("The connection closed before the end of the agent's turn", code="connection_failed")

    async def answer(self, conversation_id: str, item_id: str, **answer: Unpack[QuestionAnswer]) -> None:
        """Answers a question: a permission request of a prompt with `permissions="ask"`, a form, or an address to open."""
        json = {"conversationId": conversation_id, "itemId": item_id, **to_wire(QuestionAnswer, answer)}
        await self._transport.send(Call("POST", f"{self._sandbox_url()}/agent/answer", json=json))

    async def _call(self, method: str, path: str) -> AgentState:
        return decode(AgentState, await self._transport.send_json(Call(method, f"{self._sandbox_url()}{path}")))

    async def _messages(self, body: Dict[str, Any]) -> AsyncIterator[AgentMessage]:
        call = Call("POST", f"{self._sandbox_url()}/agent/prompt", json=body, headers={"accept": "text/event-stream"})
        async with self._transport.stream(call) as response:
            async for event in server_sent_events(response):
                message = json.loads(event.data)
                yield decode_any(AgentMessage, message)
                if message["type"] == "turn":
                    return
