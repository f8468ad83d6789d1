"""What a server refuses, and how long to wait before asking again."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import httpx

_FIRST_WAIT = 0.5
# Codes of a 503 that the server gives before it does anything. `store_unavailable` may have written.
_UNDONE = frozenset(["overloaded", "storage_reserved"])


def _is_fault(each: Any) -> bool:
    return isinstance(each, dict) and isinstance(each.get("loc"), list) and "msg" in each


class FusegateError(Exception):
    """A refusal, or (status 0) no answer."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        faults: Optional[List[Dict[str, Any]]] = None,
        retry_after: Optional[float] = None,
        request_id: Optional[str] = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.faults = faults or []
        self.retry_after = retry_after
        self.request_id = request_id

    def __reduce__(self) -> Any:
        # Without it a copy is made of the message alone, which fails: a pool of processes would break.
        members = (self.status, self.code, str(self), self.faults, self.retry_after, self.request_id)
        return type(self), members

    @classmethod
    def redirected(cls, answer: httpx.Response) -> FusegateError:
        """The failure of an answer that names another address, which the client does not ask."""
        place = answer.headers.get("location", "another address")
        advice = "give the client the address where the server itself answers"
        message = f"{answer.request.url} redirects to {place}: {advice}."
        return cls(answer.status_code, "redirected", message)

    @classmethod
    def of(cls, answer: httpx.Response) -> FusegateError:
        try:
            body = answer.json()
        except ValueError:
            body = {}  # A proxy's page: its status says enough.
        detail = body.get("detail") if isinstance(body, dict) else None
        # A proxy may answer with JSON of its own.
        faults = [each for each in detail if _is_fault(each)] if isinstance(detail, list) else []
        told = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in faults)
        message = detail if isinstance(detail, str) else told or f"Status {answer.status_code}"
        code = (body.get("code") if isinstance(body, dict) else None) or ("unprocessable" if faults else "error")
        after = answer.headers.get("retry-after", "")
        seconds = float(after) if after.isdecimal() else None
        return cls(answer.status_code, code, message, faults, seconds, answer.headers.get("x-request-id"))

    def wait(self, tried: int, again: bool = True) -> Optional[float]:
        """Seconds before a further try; None where there is none.

        `again`: the request may be sent again though it was perhaps carried out.
        """
        if not self._may_try(again):
            return None
        if self.retry_after is not None:
            return self.retry_after
        # Without it a 429 is a limit that waiting does not lift.
        return None if self.status == 429 else _FIRST_WAIT * 2**tried

    def _may_try(self, again: bool) -> bool:
        if self.status == 429:
            return True
        if not again:
            return self.status == 503 and self.code in _UNDONE
        return self.code == "unreachable" or self.status in (502, 503, 504)
