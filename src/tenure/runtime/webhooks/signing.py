"""The headers of a message by the Standard Webhooks scheme."""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Sequence

_PREFIX = "whsec_"


def signed_headers(
    message: str, timestamp: int, body: bytes, secrets: Sequence[str]
) -> dict[str, str]:
    """Return the headers of a message, with a signature by each secret."""
    content = f"{message}.{timestamp}.".encode() + body
    keys = [b64decode(secret.removeprefix(_PREFIX)) for secret in secrets]
    signatures = [b64encode(hmac.digest(key, content, "sha256")).decode() for key in keys]
    return {
        "content-type": "application/json",
        "user-agent": "Tenure",
        "webhook-id": message,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
