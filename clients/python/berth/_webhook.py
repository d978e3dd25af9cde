from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from typing import Mapping, Optional, Sequence, Union

from ._errors import WebhookVerificationError
from ._types import BerthEvent
from ._wire import decode


def verify_webhook(
    body: Union[str, bytes],
    headers: Mapping[str, Union[str, Sequence[str]]],
    secret: Union[str, Sequence[str]],
    *,
    tolerance_seconds: float = 300,
    now: Optional[float] = None,
) -> BerthEvent:
    """Verifies the signature according to Standard Webhooks and returns the event. Raises WebhookVerificationError if it is
    invalid. `body` must be the raw body: parsing and serializing it again breaks the signature. Pass both secrets while you
    rotate them. `tolerance_seconds` is the maximum difference between the message's timestamp and `now`."""
    message_id = _header(headers, "webhook-id")
    timestamp = _header(headers, "webhook-timestamp")
    signatures = _header(headers, "webhook-signature").split(" ")
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        raise _invalid("The header webhook-timestamp is not a number")
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance_seconds:
        raise _invalid("The timestamp is too far from the current time")
    raw = body.encode() if isinstance(body, str) else bytes(body)
    signed = f"{message_id}.{timestamp}.".encode() + raw
    for candidate in [secret] if isinstance(secret, str) else secret:
        if _is_signed_with(candidate, signed, signatures):
            return decode(BerthEvent, json.loads(raw))
    raise _invalid("No signature matches")


def _is_signed_with(secret: str, signed: bytes, signatures: Sequence[str]) -> bool:
    key = _decode(secret[len("whsec_") :] if secret.startswith("whsec_") else secret)
    if key is None:
        raise TypeError("The webhook secret is not base64")
    expected = hmac.new(key, signed, hashlib.sha256).digest()
    for signature in signatures:
        version, _, value = signature.partition(",")
        given = _decode(value) if version == "v1" else None
        if given is not None and hmac.compare_digest(given, expected):
            return True
    return False


def _decode(text: str) -> Optional[bytes]:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _header(headers: Mapping[str, Union[str, Sequence[str]]], name: str) -> str:
    for key, value in headers.items():
        if key.lower() == name:
            single = value if isinstance(value, str) else (value[0] if value else "")
            if single:
                return single
    raise _invalid(f"The header {name} is missing")


def _invalid(message: str) -> WebhookVerificationError:
    return WebhookVerificationError(message, code="webhook_unverified")
