"""One of the two aggregators: it takes shares, adds them up, and releases one sum per round.

It agrees once to the terms of a federation and signs what it agreed to: the terms, every manifest it opens, and
every head of the public log. It learns nothing from a share, and it checks by itself who was admitted, that a
round is in the log, and that a sum is of at least the minimum. The seed aggregator hears of a report first and
signs a receipt; the vector aggregator takes no vector without that receipt. Both release a sum only over a list
of reports that the other has signed: the vector aggregator cannot take a vector back out of its running sum, so
it names its reports; the seed aggregator expands exactly those seeds, and a seed without a twin is left out.

Shares live in memory only; the rounds are in `round_register`.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Literal

from murmura.channel.noise import NoiseSource, system_noise
from murmura.channel.proven_shares import parted
from murmura.core.contract import FederationInfo, Phase
from murmura.server.admissions import AcceptedReports, AdmissionDesk
from murmura.server.aggregator.collection import REPORTS, CollectedRound, check_released, evidence_bytes
from murmura.server.aggregator.commitments import Agreement, LogWitness
from murmura.server.aggregator.round_register import RoundRegister
from murmura.server.database import ServerDatabase, put_fact
from murmura.wire import wire
from murmura.wire.log import pack_entries, unpack_entries
from murmura.wire.manifest import Manifest, sum_content
from murmura.wire.proved_round import report_of
from murmura.wire.refusals import RefusedError, forged
from murmura.wire.signed_records import LARGEST, check_signature
from murmura.wire.terms import FederationTerms
from murmura.wire.wire import SEED, SIGNATURE_BYTES, VECTOR, ShareHead, SharePass

Clock = Callable[[], float]
Role = Literal["seed", "vector"]
SMALLEST_ARRAYS = 1024  # bytes of a message of arrays, apart from its values
CACHED_PASSES = 1024  # shares whose pass was checked and whose payload is still on its way


class Aggregator:
    """The state machine of one aggregator."""

    def __init__(
        self,
        role: Role,
        store: ServerDatabase,
        clock: Clock,
        minimum: int,
        coordinator: bytes | None,
        admitter: bytes | None = None,
        accept: bytes | None = None,
        noise: NoiseSource = system_noise,
    ) -> None:
        self.role, self.minimum, self._noise = role, minimum, noise
        self.key, self.sealing_key = store.signing_key(), store.sealing_key()
        self.proof_key = store.proof_key()
        self._store, self._clock, self._admitter = store, clock, admitter
        self.witness, self.desk, self._rounds = LogWitness(store), AdmissionDesk(store), RoundRegister(store)
        keys = self.key, self.sealing_key, self.proof_key
        self.agreement = Agreement(role, store, *keys, minimum, coordinator, admitter, accept, self.witness)
        self.accepted = self.refused = 0
        self._passes: OrderedDict[bytes, tuple[SharePass, bytes]] = OrderedDict()  # prelude -> pass, admission
        self._open: CollectedRound | None = None
        self._before: AcceptedReports | None = None  # in the last round that was released

    @property
    def terms(self) -> FederationTerms:
        """What was agreed; refuses to do anything before that."""
        return self.agreement.terms

    def identity(self) -> dict[str, str]:
        """Who this is, and who admits devices if its operator does."""
        admits = {} if self._admitter is None else {"admitter": self._admitter.hex()}
        sealed = {"sealing_key": self.sealing_key.public.hex(), "proof_key": self.proof_key.public.hex()}
        return {"key": self.key.public.hex(), **sealed, "role": self.role, **admits}

    def metrics(self) -> dict[str, float]:
        """How many shares were taken and refused since this process started."""
        return {"murmura_reports_accepted_total": self.accepted, "murmura_reports_refused_total": self.refused}

    def forget_ended(self) -> None:
        """Links go when their window has ended, for both clocks and for the round that is open."""
        if self.agreement.agreed is None:
            return
        window = self.terms.windows.before_drift(self._clock())
        self.desk.forget_before(window if self._open is None else min(window, self._open.manifest.window))

    def append_log(self, message: bytes) -> bytes:
        """New entries of the log: the signature of its head.

        The message is the coordinator's signature, the place of the first entry (8), entries.
        The answer is empty while the log has not come to the agreed terms: it is being taken over in pages.
        """
        signature, content = message[:SIGNATURE_BYTES], message[SIGNATURE_BYTES:]
        check_signature(self.terms.coordinator, "log", content, signature)
        start = int.from_bytes(content[:8], "little")
        self.witness.append(self.terms, start, unpack_entries(content[8:]))
        if self.witness.under(self.terms):
            return self.witness.sign(self.terms.federation, self.key)
        if len(content) > 8:
            return b""
        raise forged("the last terms of the log must be those agreed here, but are others.")

    def open_round(self, message: bytes) -> bytes:
        """A signed manifest: open it, and sign it.

        Behind the manifest are the counts it names, with the sum they are from.
        """
        signature, (content, more) = message[:SIGNATURE_BYTES], wire.unpack_pair(message[SIGNATURE_BYTES:])
        check_signature(self.terms.coordinator, "manifest", content, signature)
        manifest = Manifest.decode(content)
        self._check_terms(manifest)
        signed = self.key.sign("manifest", content)
        if self._open is not None and self._open.manifest.hash == manifest.hash:
            return signed
        if self._rounds.has(manifest, self.witness.serial):
            return signed
        if manifest.terms != self.terms.hash.hex():
            raise forged("a manifest must be made under the agreed terms, but is not.")
        if not self.witness.has(content):
            raise forged("a manifest must be in the public log before it is opened, but is not.")
        manifest.check_privacy(self.terms)
        counts, evidence = wire.unpack_pair(more) if more else (b"", b"")
        before, info = self.agreement.info, self.agreement.info_of(manifest, counts)
        check_released(self.terms, before, info, self._store, manifest, evidence)
        phase = self.terms.phase(manifest.phase, info)
        self._rounds.check_window(self.terms.windows, manifest, phase, self._clock())
        self._begin(manifest, phase, info)
        return signed

    def _begin(self, manifest: Manifest, phase: Phase, info: FederationInfo) -> None:
        chain = self.terms.chain(manifest.phase, info, manifest.largest)
        self._rounds.begin(manifest)
        duplicate = "another share was accepted under this report id before."
        accepted = AcceptedReports(manifest, wire.SHARE_HEADER, "share", duplicate)
        opened = CollectedRound(self._kind, manifest, phase, chain, accepted)
        accepted.largest += opened.payload_bytes
        self._open = opened

    @property
    def opening_bytes(self) -> int:
        """The longest request to open a round: a signed manifest, counts of items, the sum they are from."""
        smallest = SIGNATURE_BYTES + LARGEST + SMALLEST_ARRAYS
        if self.agreement.agreed is None:
            return smallest
        return smallest + 4 * self.agreement.info.items + evidence_bytes(self.terms, self.agreement.info)

    @property
    def share_bytes(self) -> int:
        """The length of a share of the open round, or of the one before it; nothing longer is read."""
        now = wire.SHARE_HEADER if self._open is None else self._open.accepted.largest
        return now if self._before is None else max(now, self._before.largest)

    @property
    def release_bytes(self) -> int:
        """The longest request for a sum: two signatures, and every report that was taken."""
        accepted = self._before if self._open is None else self._open.accepted
        count = 0 if accepted is None else len(accepted.reports)
        return 2 * wire.SIGNATURE_BYTES + (wire.ID_BYTES * count if count else self._rounds.longest_list)

    def report(self, message: bytes | bytearray) -> bytes:
        """One share of a report.

        The answer is a signed receipt, the same one when the same share comes again.
        """
        try:
            receipt = self._take(message)
        except RefusedError:
            self.refused += 1
            raise
        self.accepted += 1
        return receipt

    @property
    def _kind(self) -> int:
        return SEED if self.role == "seed" else VECTOR

    def admit(self, prelude: bytes) -> tuple[SharePass, bytes]:
        """Who a share counts for, from its first bytes: checked before its payload is read."""
        if prelude in self._passes:
            return self._passes[prelude]
        o, before = self._open, self._before
        if o is None and before is None:
            raise RefusedError("paused", "no round is open here.")
        head = ShareHead.decode(prelude, self._kind)
        names = {one for one in (o and o.manifest.hash, before and before.manifest) if one}
        if head.manifest not in names:
            code = "late" if o is None else "replay"
            raise RefusedError(code, "a share must be of the open round's manifest, but is of another.")
        shown = SharePass.decode(self.sealing_key.unseal(wire.sealed_pass(prelude), head.info("pass")))
        check_signature(self.terms.coordinator, "ticket", head.signed, shown.ticket)
        if self.role == "vector":
            self._check_seed_receipt(head, shown)
        admission = self.desk.check(self.terms, head, shown, self._clock())
        if o is not None and head.manifest == o.manifest.hash:
            self._check_first(o, head, admission)
        self._passes[prelude] = shown, admission
        if len(self._passes) > CACHED_PASSES:
            self._passes.popitem(last=False)
        return shown, admission

    def _check_seed_receipt(self, head: ShareHead, shown: SharePass) -> None:
        twin = self.terms.seed_aggregator
        assert twin is not None
        if shown.receipt == wire.NO_RECEIPT:
            raise RefusedError(
                "no-twin", "a vector share must carry the seed aggregator's receipt, but has none."
            )
        check_signature(twin.key, "receipt", head.signed + shown.mark + shown.proved, shown.receipt)

    def _check_first(self, o: CollectedRound, head: ShareHead, admission: bytes) -> int | None:
        """The link its proof is held against; refuses a second report, and who was not counted before."""
        if admission and o.admitted.get(admission, head.report) != head.report:
            raise RefusedError("duplicate", "another report was accepted for this invitation in this round.")
        if not admission or not o.phase.follows:
            return None
        return self.desk.check_counted(o.phase.follows, o.manifest.window, admission)

    def _take(self, message: bytes | bytearray) -> bytes:
        prelude = bytes(message[: wire.SHARE_PRELUDE])
        shown, admission = self.admit(prelude)
        self._passes.pop(prelude, None)
        head, o, before = ShareHead.decode(prelude, self._kind), self._open, self._before
        sealed = wire.sealed_payload(message)
        if (self.role == "seed" or not shown.proved) and wire.digest(sealed) != shown.payload:
            raise forged("the payload of a share must be the one its sender named, but is not.")
        now = o if o is not None and head.manifest == o.manifest.hash else None
        if now is not None:
            wire.check_length(message, now.accepted.largest, "share")
        payload = self.sealing_key.unseal(sealed, head.info("payload"))
        sent = head.report, payload
        if now is None:
            known = before is not None and head.manifest == before.manifest
            if before is None or not known or not before.repeats(*sent, shown.mark):
                raise RefusedError("late", "the round of this share is over; it was not counted.")
        elif not now.accepted.repeats(*sent, shown.mark):
            now.accepted.check_new(head.report, self._clock())
            link, key = self._check_first(now, head, admission), self.agreement.proof_secret
            one = report_of(now.manifest, head.report, admission)
            answer, refused = now.take(key, shown, one, payload, link)
            if refused is not None and admission:
                self.desk.note_invalid(admission, now.manifest.window)
            now.accepted.accept(*sent, left_out=refused, mark=shown.mark, answer=answer)
        kept = before if now is None else now.accepted
        assert kept is not None
        answer = kept.answer(head.report)
        proved = parted(payload)[1] + answer[: wire.CHALLENGE_BYTES] if answer else b""
        return self.key.sign("receipt", head.signed + shown.mark + proved) + answer

    def count(self, name: bytes) -> int:
        """How many reports have arrived."""
        return len(self._collecting(name).accepted.reports)

    def close_round(self, name: bytes, command: bytes) -> bytes:
        """Stop collecting.

        The answer is the signed list of reports.
        """
        self._check_command("close", name, command)
        released = self._rounds.released(name)
        if released is not None:
            return self._signed_ids(name, released[0])
        o = self._collecting(name)
        o.accepted.closed = True
        return self._signed_ids(name, wire.pack_ids(o.accepted.used))

    def release(self, name: bytes, message: bytes) -> bytes:
        """The sum over the agreed list.

        It is signed with the list; once it is out it is final.
        `message` is the coordinator's command (64 bytes), then the other aggregator's signed list.
        """
        command, signature, ids = message[:64], message[64:128], message[128:]
        self._check_command("release", name, command)
        released = self._rounds.released(name)
        if released is not None:
            if released[0] != ids:
                raise RefusedError(
                    "released", "a sum over another list of this round was released; it is final."
                )
            return self._signed_total(name, *released)
        o = self._collecting(name)
        twin = self.terms.vector_aggregator if self.role == "seed" else self.terms.seed_aggregator
        assert twin is not None
        check_signature(twin.key, "reports", name + ids, signature)
        half = o.sum(wire.unpack_ids(ids), max(self.minimum, self.terms.minimum))
        packed = o.with_noise(half, self._noise(self.role, o.phase.name, o.manifest.round))
        phases, listed = self.terms.algorithm().phases(self.agreement.info), set(wire.unpack_ids(ids))
        followed = any(phase.follows == o.phase.name for phase in phases)
        admitted = {
            one: o.links.get(one) for one, report in o.admitted.items() if followed and report in listed
        }
        counted = self.desk.counted(o.phase.name, o.manifest.window, admitted)
        reports = put_fact(REPORTS + o.phase.name, len(listed).to_bytes(8, "little"))
        self._rounds.release(name, ids, packed, [*counted, *([reports] if followed else [])])
        self._open, self._before = None, o.accepted
        return self._signed_total(name, ids, packed)

    def forget(self, name: bytes, command: bytes) -> bool:
        """The sum is committed: forget which reports it is of."""
        self._check_command("forget", name, command)
        self._rounds.forget(name)
        return True

    def revoke(self, message: bytes) -> int:
        """Admissions that the admitter takes back; how many."""
        revoked = self.desk.revoke(self.terms, message)
        self._passes.clear()  # what was checked before is checked again
        return len(revoked)

    def revocations(self, message: bytes) -> bytes:
        """What the admitter has taken back, for a coordinator that was restored from a copy."""
        check_signature(self.terms.coordinator, "revocations", bytes.fromhex(self.terms.federation), message)
        return pack_entries(self.desk.revocations(self.terms))

    def _signed_ids(self, name: bytes, ids: bytes) -> bytes:
        return self.key.sign("reports", name + ids) + ids

    def _signed_total(self, name: bytes, ids: bytes, total: bytes) -> bytes:
        """Signature of the list, signature of the sum over it, the sum."""
        listed = hashlib.sha256(ids).digest()
        signed = self.key.sign("sum", sum_content(name, listed, total))
        return self.key.sign("reports", name + ids) + signed + total

    def _collecting(self, name: bytes) -> CollectedRound:
        if self._open is None or self._open.manifest.hash != name:
            raise self._rounds.absent(name)
        self._check_terms(self._open.manifest)
        return self._open

    def _check_terms(self, manifest: Manifest) -> None:
        """Refuse a round of other terms than those that hold now: its devices may have agreed to no others."""
        if manifest.terms != self.terms.hash.hex():
            raise RefusedError("lost", f"round {manifest.round} was made under other terms; give it up.")

    def _check_command(self, what: str, name: bytes, signature: bytes) -> None:
        check_signature(self.terms.coordinator, what, name, signature)
