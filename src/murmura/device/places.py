"""A device's place in a federation: taken under a token of its own, by whoever was admitted."""

from __future__ import annotations

import json
from dataclasses import dataclass

from murmura.wire.admission import OwnAdmission, join_proof
from murmura.wire.refusals import RefusedError
from murmura.wire.terms import FederationTerms
from murmura.wire.transport import Transport, ask

MOST_PLACES = 1 << 24


@dataclass(frozen=True)
class Place:
    """What stands for a device at the coordinator."""

    token: str
    slot: int


async def register(
    send: Transport,
    url: str,
    terms: FederationTerms,
    admission: OwnAdmission | None,
    token: str,
    slot: int | None = None,
) -> Place:
    """Take a place under this token, in the slot that is wanted; asked again, it is the same place."""
    wanted: dict[str, object] = {"token": token} if slot is None else {"token": token, "slot": slot}
    if terms.admission == "invited":
        if admission is None:
            raise RefusedError(
                "unauthorised", "this federation is for invited devices; join with an invitation (murmura://…)."
            )
        proof = join_proof(admission, terms.federation, token)
        wanted |= {"admission": admission.shown.encode().hex(), "proof": proof.hex()}
    reply = (await ask(send, "POST", f"{url}/devices", json.dumps(wanted).encode())).json()
    given = reply.get("slot")
    # under another token than its own it would be told apart, or from nobody; and its number is counted up to
    if reply.get("token") != token or type(given) is not int or not 0 <= given < MOST_PLACES:
        raise RefusedError("malformed", "a place must have this device's token and a number, but has not.")
    return Place(token, given)
