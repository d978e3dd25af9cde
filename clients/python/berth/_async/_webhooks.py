from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional
from urllib.parse import quote

from .._page import Page, page_of
from .._types import Delivery, RotatedSecret, Webhook, WebhookChanges, WebhookOptions, WebhookWithSecret
from .._wire import decode, to_wire
from ._paging import AsyncPaged
from ._transport import AsyncTransport, Call

if TYPE_CHECKING:
    from typing_extensions import Literal, Unpack

PATH = "/api/b2b/webhooks"


def _at(*parts: str) -> str:
    return "/".join([PATH, *(quote(part, safe="") for part in parts)])


class AsyncWebhooks:
    """Manages webhooks. Use `verify_webhook` in the receiver."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(self, **options: Unpack[WebhookOptions]) -> WebhookWithSecret:
        """This is the only response with the secret."""
        return decode(WebhookWithSecret, await self._post(PATH, to_wire(WebhookOptions, options)))

    async def list(self) -> List[Webhook]:
        body = await self._transport.send_json(Call("GET", PATH))
        return [decode(Webhook, webhook) for webhook in body["data"]]

    async def get(self, webhook_id: str) -> Webhook:
        return decode(Webhook, await self._transport.send_json(Call("GET", _at(webhook_id))))

    async def update(self, webhook_id: str, **changes: Unpack[WebhookChanges]) -> Webhook:
        return decode(Webhook, await self._transport.send_json(Call("PATCH", _at(webhook_id), json=to_wire(WebhookChanges, changes))))

    async def remove(self, webhook_id: str) -> None:
        await self._transport.send(Call("DELETE", _at(webhook_id)))

    async def rotate_secret(self, webhook_id: str) -> RotatedSecret:
        """For 24 hours, requests are signed with both secrets, so that you can switch."""
        return decode(RotatedSecret, await self._post(_at(webhook_id, "rotate-secret")))

    async def test(self, webhook_id: str) -> Delivery:
        """Sends an event of the type `webhook.test`."""
        return decode(Delivery, await self._post(_at(webhook_id, "test")))

    def deliveries(
        self,
        webhook_id: str,
        *,
        state: Optional[Literal["pending", "delivered", "failed"]] = None,
        page_size: Optional[int] = None,
    ) -> AsyncPaged[Delivery]:
        async def load(cursor: Optional[str]) -> Page[Delivery]:
            query = {"state": state, "limit": page_size, "cursor": cursor}
            body = await self._transport.send_json(Call("GET", _at(webhook_id, "deliveries"), query=query))
            return page_of(body, lambda item: decode(Delivery, item))

        return AsyncPaged(load)

    async def redeliver(self, webhook_id: str, delivery_id: str) -> Delivery:
        return decode(Delivery, await self._post(_at(webhook_id, "deliveries", delivery_id, "redeliver")))

    async def _post(self, url: str, json: Optional[Dict[str, Any]] = None) -> Any:
        return await self._transport.send_json(Call("POST", url, json=json, idempotency_key=True, repeatable=True))
