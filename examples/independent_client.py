"""A device of a federation in one file, without murmura: it does what docs/wire.md says, and no more.

    python independent_client.py 'murmura://…' likes.txt me.json [MINIMUM]

likes.txt has one item id per line. It checks terms and log, joins by its invitation, trains FCF until the
federation is finished, seals and sends both shares, checks the receipts and prints what it sent. It takes no
part in sums of fewer than MINIMUM (100) devices; an upload that a crash interrupts is not sent again.
"""

import base64, hashlib, http.client, json, secrets, struct, sys, time, zlib  # noqa: E401, I001
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric import ed25519, x25519
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

LOW, ROUNDING, LOOPBACK = 2**32 - 1, 10, {"localhost", "127.0.0.1", "::1"}
SUITE = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM)


def need(holds, sentence):
    if not holds:
        raise SystemExit(f"{sentence}; take no part.")


def ask(method, url, body=None, token="", largest=1 << 20, until=0.0):
    """The body of a reply, none if `not-called`; asked again on silence, `rate`, `full`, `paused`."""
    place, headers = urlsplit(url), {"Murmura-Protocol": "3", "Accept-Encoding": "identity"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    near = place.scheme == "http" and place.hostname in LOOPBACK
    need(near or place.scheme == "https", f"{url} must be an https address, but is not")
    while True:
        line = (http.client.HTTPConnection if near else http.client.HTTPSConnection)(place.netloc, timeout=30)
        try:
            line.request(method, place.path, body, headers)
            reply = line.getresponse()
            content = reply.read(largest + 1)
            plain = reply.headers.get("Content-Encoding", "identity") == "identity"
            need(plain and len(content) <= largest, f"{url} must answer with at most {largest} plain bytes")
            if reply.status == 200:
                return content
            told = json.loads(content)
            if told["error"] == "not-called":
                return b""
            if told["error"] not in ("rate", "full", "paused") or time.time() > until:
                raise SystemExit(None if told["error"] == "finished" else f"{told['error']}: {told['message']}")
        except (OSError, http.client.HTTPException):
            if time.time() > until:
                raise
        time.sleep(0.5)


def digest(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def purposed(purpose, *content):
    return b"murmura " + purpose.encode() + b"\0" + b"".join(content)


def verify(by, purpose, content, signed):
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(by)).verify(signed, purposed(purpose, content))
    except InvalidSignature:
        need(False, f"the {purpose} must be signed by the right machine, but is not")


def proves(proof, place, last, root, leaf=None, old=None):
    """Whether hashes lead from a leaf, or from an old root, to this one: RFC 9162, 2.1.3.2 and 2.1.4.2."""
    path = [proof[at : at + 32] for at in range(0, len(proof), 32)]
    while old is not None and place & 1:
        place, last = place >> 1, last >> 1
    path = [leaf or old, *path] if leaf or place == 0 else path or [b""]
    before = now = path[0]
    for step in path[1:]:
        if place & 1 or place == last:
            before, now = digest(b"\1", step, before), digest(b"\1", step, now)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            now = digest(b"\1", now, step)
        place, last = place >> 1, last >> 1 if last else -1
    return last == 0 and now == root and old in (None, before)


def words(secret, round, purpose, places):
    """The words at these places of a stream: Philox4x32-10."""
    c0, (k0, k1) = places.astype(np.uint64) // 4, secret
    c1, c2, c3 = (np.full(len(places), value, np.uint64) for value in (round, purpose, 0))
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (b >> 32) ^ c1 ^ np.uint64(k0), b & LOW, (a >> 32) ^ c3 ^ np.uint64(k1), a & LOW
        k0, k1 = (k0 + 0x9E3779B9) & LOW, (k1 + 0xBB67AE85) & LOW
    return np.stack([c0, c1, c2, c3])[places % 4, np.arange(len(places))]


def train(Y, reg):
    """FCF on the rows of the own items: p, solved in double precision, stays; the rows that leave."""
    wide = Y.astype(np.float64)
    p = np.linalg.solve(wide.T @ wide + reg * np.eye(Y.shape[1]), wide.sum(axis=0)).astype(Y.dtype)
    return 2 * (1 - Y @ p)[:, None] * p


def ring_vector(channel, x, secret, round):
    """Clip, bound, stochastic rounding, modulo 2**32; word 0 counts this device."""
    clip, at = channel["clip"], np.flatnonzero(x)
    norm = np.sqrt(np.cumsum(x[at] * x[at])[-1]) if len(at) else 0.0
    values, bound = x[at] if norm <= clip else x[at] * (clip / norm), min(clip, channel["coordinate"] or clip)
    u, vector = words(secret, round, ROUNDING, at) * 2.0**-32, np.zeros(len(x), np.int64)
    vector[at] = np.floor(np.clip(values, -bound, bound) / (bound / 2.0 ** (channel["bits"] - 1)) + u)
    vector[0] = 1
    return vector.astype(np.uint32)


class Client:
    def __init__(self, link, state):
        place, _, pinned = link.removeprefix("murmura://").partition("#2.")
        need(pinned.count(".") == 1, "an invitation must be a link murmura://…#2.…, but is not")
        self.terms_hash, own = (base64.urlsafe_b64decode(part + "==") for part in pinned.split("."))
        self.url = f"{'http' if urlsplit('//' + place).hostname in LOOPBACK else 'https'}://{place}".rstrip("/")
        self.key = ed25519.Ed25519PrivateKey.from_private_bytes(own[:32])
        self.shown, self.path = self.key.public_key().public_bytes_raw() + own[32:], state
        fresh = {"token": secrets.token_hex(32), "secret": [secrets.randbits(32), secrets.randbits(32)]}
        fresh |= {"head": [0, ""], "last": [-1, ""], "answered": [], "receipts": []}
        self.memory = fresh | (json.loads(state.read_text()) if state.exists() else {})

    def keep(self, **news):
        self.memory |= news
        self.path.write_text(json.dumps(self.memory))

    def pin(self):
        """The terms: those of the invitation, signed by three machines with three keys."""
        message = ask("GET", f"{self.url}/terms", largest=192 + 65536, until=time.time() + 60)
        content = message[192:]
        need(digest(content) == self.terms_hash, "the terms must be those of the invitation, but are others")
        self.terms = t = json.loads(content)
        need(t["channel"]["channel"] == "secure-sum", "updates must be summed in secret, but are not")
        self.pair = one, two = t["seed_aggregator"], t["vector_aggregator"]
        self.keys = t["coordinator"], one["key"], two["key"]
        hosts = {urlsplit(one["url"]).hostname, urlsplit(two["url"]).hostname}
        apart = len({t["coordinator"], *(v for x in self.pair for n, v in x.items() if n != "url")}) == 7
        need(apart and (len(hosts) == 2 or hosts <= LOOPBACK), "the three machines must be three, but are not")
        need(t["admitter"] not in ("", t["coordinator"]), "another than the coordinator must admit devices")
        for place, key in enumerate(self.keys):
            verify(key, "terms", content, message[64 * place : 64 * place + 64])
        known = {"block": "dense", "download": "exact", "ring": 32}.items() <= t["channel"].items()
        need(t["method"] == "fcf" and known, "this client trains fcf alone, in a dense block and a ring of 32")

    def fetch(self, name, length):
        content = ask("GET", f"{self.url}/m/{name}", largest=length)
        need(digest(content).hex() == name, "what is published under a hash must have it, but has another")
        return content

    def join(self, likes):
        """The catalogue, and a place under this device's own token."""
        catalogue, token, federation = self.terms["catalogue"], self.memory["token"], self.terms["federation"]
        items = json.loads(self.fetch(catalogue["description"], catalogue["bytes"]))
        self.items, self.listed = len(items["items"]), len(items["listed"])
        self.own = np.flatnonzero([str(items["items"][n]) in likes for n in items["listed"]])
        proof = self.key.sign(purposed("join", bytes.fromhex(federation), token.encode()))
        wanted = {"token": token, "admission": self.shown.hex(), "proof": proof.hex()}
        self.keep()
        ask("POST", f"{self.url}/devices", json.dumps(wanted).encode(), until=time.time() + 60)

    def manifest(self, message):
        """(manifest, its hash) of a signed one, checked; None for the one that was dealt with last."""
        end = 196 + struct.unpack_from("<I", message, 192)[0]
        content, proof, name = message[196:end], message[end:], digest(message[196:end])
        m, of, (size, root) = json.loads(content), self.terms["federation"], struct.unpack_from("<Q32s", proof)
        need(m["terms"] == self.terms_hash.hex(), "the terms must stay as they were joined, but changed")
        head = json.dumps({"federation": of, "root": root.hex(), "size": size}, separators=(",", ":"))
        for place, key in enumerate(self.keys):
            verify(key, "manifest", content, message[64 * place : 64 * place + 64])
            verify(key, "head", head.encode(), proof[40 + 64 * place : 104 + 64 * place])
        index, before, a, b = struct.unpack_from("<QQBB", proof, 232)
        fits = len(proof) == 250 + 32 * (a + b) and index < size
        leaf, path = digest(b"\0manifest\0", content), proof[250 : 250 + 32 * a]
        need(fits and proves(path, index, size - 1, root, leaf), "a manifest must be in the log, but is not")
        (known, seen), path = self.memory["head"], proof[250 + 32 * a :]
        if known not in (0, before) and known < size:
            path = ask("GET", f"{self.url}/log/consistency/{known}/{size}")
        grown = 0 < known < size and proves(path, known - 1, size - 1, root, old=bytes.fromhex(seen))
        grown = grown or known == 0 or [known, seen] == [size, root.hex()]
        need(grown, "the log must extend the one seen before, but does not")
        serial, last = self.memory["last"]
        if [m["serial"], name.hex()] == [serial, last]:
            return None
        new = m["serial"] > serial + (m["previous"] != last) and m["round"] not in self.memory["answered"]
        need(new, "a manifest must be new and follow the last one, but does not")
        need((m["federation"], m["phase"], m["part"]) == (of, "train", 1), "a round must be of FCF, but is not")
        since, seconds = time.time() - self.terms["windows"]["start"], self.terms["windows"]["seconds"]
        first, final = ((since + way * min(600, seconds / 4)) // (seconds or 1e300) for way in (-1, 1))
        need(max(0, first) <= m["window"] <= max(0, final), "a window must be that of the time, but is not")
        self.keep(head=[size, root.hex()])
        return m, name

    def model(self, m):
        """Q of the items on offer."""
        width, kind = self.terms["settings"]["factors"], self.terms["settings"]["precision"]
        spelt = f"name='Q', space='item', rows={self.items}, width={width}, dtype='{kind}', bound=None"
        head = b"mu\2\1" + struct.pack("<II", zlib.crc32(f"((Table({spelt}),), ())".encode()), self.listed)
        content = self.fetch(m["model"]["hash"], m["model"]["bytes"])
        need(content[:12] == head, "the model must be what the terms declare, but is not")
        return np.frombuffer(content, np.dtype(kind).newbyteorder("<"), -1, 12).reshape(self.listed, width)

    def take_part(self, m, name, minimum):
        """Ticket, training, two sealed shares, two receipts."""
        until, token = time.time() + m["deadline"] - m["opened"], self.memory["token"]
        least, Q = min(self.terms["channel"]["minimum_cohort"], m["called"]), self.model(m)
        need(least >= minimum, f"a sum of {least} devices may be released, but this one wants {minimum}")
        report = digest(b"murmura report\0", token.encode(), name)[:16]
        ticket = ask("POST", f"{self.url}/tickets", name + report, token, until=until)
        self.keep(last=[m["serial"], name.hex()], answered=[*self.memory["answered"], m["round"]][-64:])
        if not ticket:
            return
        send_at = time.time() + m["hold"] + m["spread"] * secrets.randbits(32) / 2**32
        x = np.zeros(1 + Q.size)  # word 0, then the rows on offer
        x[1:].reshape(Q.shape)[self.own] = train(Q[self.own], self.terms["settings"]["reg"])
        vector = ring_vector(self.terms["channel"], x, self.memory["secret"], m["round"])
        seed, salt, zeros = secrets.token_bytes(32), secrets.token_bytes(32), bytes(4 * len(vector))
        stream = Cipher(algorithms.AES256(seed), modes.CTR(bytes(16))).encryptor().update(zeros)
        other = (vector - np.frombuffer(stream, "<u4")).astype("<u4").tobytes()
        time.sleep(max(0.0, send_at - time.time()))
        mark, receipts = digest(b"murmura journal\0", salt, bytes(32)), [bytes(64)]  # of an empty journal
        for kind, to, payload in ((b"\0", self.pair[0], seed), (b"\1", self.pair[1], other)):
            key = x25519.X25519PublicKey.from_public_bytes(bytes.fromhex(to["sealing_key"]))
            sealed = SUITE.encrypt(payload, key, info=purposed("payload", name, kind, report))
            signature = self.key.sign(purposed("report", name, report, kind, digest(sealed)))
            shown = ticket + receipts[-1] + mark + self.shown + digest(sealed) + bytes(32) + signature
            shown = SUITE.encrypt(shown, key, info=purposed("pass", name, kind, report))
            body = b"ms\3" + kind + name + report + shown + sealed
            receipts.append(ask("POST", f"{to['url']}/reports", body, until=until))
            verify(to["key"], "receipt", name + report + mark, receipts[-1])
            print(f"round {m['round']}: sent {len(body)} bytes to {to['url']}, the receipt is good", flush=True)
        self.keep(receipts=[*self.memory["receipts"], [b.hex() for b in (name, report, salt, *receipts[1:])]])


if __name__ == "__main__":
    link, likes, state, minimum = [*sys.argv[1:], "100"][:4]
    client = Client(link, Path(state))
    client.pin()
    client.join(Path(likes).read_text().split())
    while True:
        shown = ask("GET", f"{client.url}/round", largest=73728, until=time.time() + 3600)
        if (found := client.manifest(shown)) is not None:
            client.take_part(*found, int(minimum))
        time.sleep(0.5)
