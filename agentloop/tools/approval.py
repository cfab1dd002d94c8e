"""What an approval is bound to: one call of one run, down to its arguments."""

from __future__ import annotations

import json

from agentloop.arguments import read_arguments

__all__ = ["approval_digest", "canonical_arguments"]


def canonical_arguments(raw: str) -> str:
    """The arguments as JSON with sorted keys and no blanks, so that two strings which mean the same read the same.

    Non-ASCII is kept, control characters are escaped. Numbers stay as they were written: 1 and 1.0 are two values.
    Arguments that cannot be read are given as one JSON string, which is never an object.
    """
    value = read_arguments(raw).value
    plain = raw if value is None else value
    return json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def approval_digest(run_id: str, call_id: str, name: str, arguments: str, *, key: bytes | None = None) -> str:
    """The digest that an approval carries, over run, call, tool and canonical arguments.

    With a `key` it is an HMAC, which only who has the key can make. Without one it only shows that the call has not
    changed: who can write the file that a run is stored in can approve its calls. Compare digests with
    `hmac.compare_digest`.
    """
    import hashlib
    import hmac

    # JSON keeps the fields apart: no two different calls give the same text.
    text = json.dumps([run_id, call_id, name, canonical_arguments(arguments)]).encode()
    if key is None:
        return f"sha256:{hashlib.sha256(text).hexdigest()}"
    return f"hmac-sha256:{hmac.new(key, text, hashlib.sha256).hexdigest()}"
