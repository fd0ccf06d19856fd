"""A second implementation of docs/token-format.md, written from that page alone, with nothing but the standard library.

    python3 verify.py < vectors.json

prints one line of JSON for each vector: its name and what this program makes of it. It does not look at the
verdicts in the file; the tests compare. It is for checking the specification, not for serving: it is slow, and
Python's integers do not take constant time.
"""
import base64
import datetime
import hashlib
import hmac
import ipaddress
import json
import re
import struct
import sys

MAC_SIZE = 32
BODY_OFFSET = 34
HIDDEN, IPV6, ID, BACKEND, OWNER, NAMED = 1, 2, 4, 8, 16, 32
PARTS = (("id", ID, 8), ("backend", BACKEND, 4), ("owner", OWNER, 8))


# Primitives.

def mac(key, message):
    return hmac.new(key, message, hashlib.sha256).digest()


def rounds(state):
    """The twenty rounds of ChaCha20 (RFC 8439, section 2.3) without the final addition."""
    s = list(state)

    def quarter(a, b, c, d):
        for x, y, z, n in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            s[x] = (s[x] + s[y]) & 0xFFFFFFFF
            s[z] ^= s[x]
            s[z] = (s[z] << n | s[z] >> (32 - n)) & 0xFFFFFFFF

    for _ in range(10):
        for a, b, c, d in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                           (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            quarter(a, b, c, d)
    return s


def start(key, tail):
    return struct.unpack("<16I", b"expand 32-byte k" + key + tail)


def chacha20(key, nonce, counter, data):
    out = b""
    for i in range(0, len(data), 64):
        state = start(key, struct.pack("<I", counter + i // 64) + nonce)
        stream = struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(rounds(state), state)))
        out += bytes(a ^ b for a, b in zip(data[i:i + 64], stream))
    return out


def hchacha20(key, nonce):
    s = rounds(start(key, nonce))
    return struct.pack("<8I", *(s[0:4] + s[12:16]))


def poly1305(key, message):
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for i in range(0, len(message), 16):
        total = (total + int.from_bytes(message[i:i + 16] + b"\1", "little")) * r % (2**130 - 5)
    return ((total + int.from_bytes(key[16:], "little")) % 2**128).to_bytes(16, "little")


def open_xchacha(key, nonce, box, more):
    """The plain text of XChaCha20-Poly1305 with additional data, or None."""
    key, nonce = hchacha20(key, nonce[:16]), bytes(4) + nonce[16:]
    text, tag = box[:-16], box[-16:]
    one_time = chacha20(key, nonce, 0, bytes(32))
    padded = more + bytes(-len(more) % 16) + text + bytes(-len(text) % 16) + struct.pack("<QQ", len(more), len(text))
    if not hmac.compare_digest(poly1305(one_time, padded), tag):
        return None
    return chacha20(key, nonce, 1, text)


def unbase64(text):
    """The bytes of canonical URL-safe base64 without padding, or None."""
    if not re.fullmatch(r"[A-Za-z0-9_-]*", text) or len(text) % 4 == 1:
        return None
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return raw if base64.urlsafe_b64encode(raw).rstrip(b"=").decode() == text else None


# Tokens.

class Refused(Exception):
    """The verdict, and the reason if it is malformed."""


def tag(label, name):
    return hashlib.sha256(b"limpet.dev/v1 " + label + b"\0" + name.encode()).digest()[:4]


def derive(key, label, scope):
    return mac(unbase64(key["secret"]), b"limpet.dev/v1 " + label + b"\0" + scope.encode())


def seconds(key, field):
    return int(datetime.datetime.fromisoformat(key[field]).timestamp()) if field in key else None


def size(flags):
    """The bytes of a token with these flags."""
    return BODY_OFFSET + sum(n for _, flag, n in PARTS if flags & flag) + (18 if flags & IPV6 else 6) + MAC_SIZE


def flags_allowed(flags):
    return flags < 64 and (not flags & NAMED or bool(flags & OWNER))


LENGTHS = {-(-size(flags) * 4 // 3) for flags in range(64) if flags_allowed(flags)}


def decode(text):
    """Steps 1 to 6."""
    if len(text.encode()) not in LENGTHS:
        raise Refused("malformed", "length")
    raw = unbase64(text)
    if raw is None:
        raise Refused("malformed", "alphabet")
    version, flags = raw[0], raw[1]
    if version != 1:
        raise Refused("malformed", "version")
    if not flags_allowed(flags):
        raise Refused("malformed", "flags")
    if len(raw) != size(flags):
        raise Refused("malformed", "host-size")
    if raw[14:18] < raw[10:14]:
        raise Refused("malformed", "times")
    return raw


def authenticate(raw, ring, scope, now, signed=None):
    """Steps 7 to 9: raw has the tags at a token's places, and signed, the same bytes unless told otherwise, ends with the MAC."""
    signed = raw if signed is None else signed
    for key in ring["keys"]:
        end = seconds(key, "notAfter")
        if tag(b"key id", key["id"]) == raw[2:6] and (end is None or now < end):
            break
    else:
        raise Refused("unknown-key")
    if raw[6:10] != tag(b"scope", scope):
        raise Refused("wrong-scope")
    if not hmac.compare_digest(mac(derive(key, b"mac", scope), signed[:-MAC_SIZE]), signed[-MAC_SIZE:]):
        raise Refused("bad-signature")
    return key


def open_body(raw, key, scope):
    """Step 10: the parts, and the host."""
    body = raw[BODY_OFFSET:-MAC_SIZE]
    if raw[1] & HIDDEN:
        body = chacha20(derive(key, b"host", scope), raw[22:BODY_OFFSET], 0, body)
    parts = {}
    for name, flag, length in PARTS:
        if raw[1] & flag:
            parts[name], body = body[:length].hex(), body[length:]
    if any(not int(part, 16) for part in parts.values()):
        raise Refused("malformed", "parts")
    if raw[1] & NAMED:
        parts["named"] = True
    return parts, read_host(body)


def read_host(host):
    address, port = ipaddress.ip_address(host[:-2]), int.from_bytes(host[-2:], "big")
    number = int(address)
    embedded = address.version == 6 and (number >> 32 == 0xFFFF or 0xFFFF < number < 2**32)
    if port == 0 or embedded:
        raise Refused("malformed", "host")
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"


def judge(session, rules, now):
    """Steps 11 to 14."""
    if session["epoch"] != rules["epoch"] or session["issuedAt"] < rules["notBefore"]:
        raise Refused("revoked")
    if session["lastSeen"] > now + rules["skew"]:
        raise Refused("not-yet-valid")
    if 0 < rules["absoluteTimeout"] <= now - session["issuedAt"]:
        raise Refused("expired-absolute")
    if 0 < rules["idleTimeout"] <= now - session["lastSeen"]:
        raise Refused("expired-idle")


def verify(vector, rings):
    ring, scope, now = rings[vector["ring"]], vector["scope"], vector["now"]
    try:
        raw = decode(vector["token"])
        key = authenticate(raw, ring, scope, now)
        issued, seen, epoch = struct.unpack(">III", raw[10:22])
        parts, host = open_body(raw, key, scope)
        session = {"host": host, "issuedAt": issued, "lastSeen": seen, "epoch": epoch,
                   "key": key["id"], "hidden": bool(raw[1] & HIDDEN), **({"parts": parts} if parts else {})}
        judge(session, vector["rules"], now)
    except Refused as refused:
        verdict, *reason = refused.args
        return {"verdict": verdict, **({"reason": reason[0]} if reason else {})}
    return {"verdict": "valid", "session": session}


# Envelopes.

def b64(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def begins_as_token(text):
    """Whether the length and the first three characters are those of a token."""
    head = unbase64(text[:3] + "A")
    return head is not None and head[0] == 1 and flags_allowed(head[1]) and len(text) == -(-size(head[1]) * 4 // 3)


def cut_envelope(text):
    """The token, and the bytes of the body, or None for a text that is no envelope by its form."""
    token, dot, body = text.partition(".")
    raw = unbase64(body)
    if len(text) > 4096 or not dot or not begins_as_token(token) or raw is None or len(raw) < 2 + MAC_SIZE:
        return None
    return (token, raw) if 2 + int.from_bytes(raw[:2], "big") + MAC_SIZE <= len(raw) else None


def open_envelope(vector, rings):
    parts = cut_envelope(vector["envelope"])
    if parts is None:
        return {"form": False, "signed": False}
    token, raw = parts
    signed, value_at = raw[:-MAC_SIZE], 2 + int.from_bytes(raw[:2], "big")
    answer = {"form": True, "signed": False, "value": b64(signed[value_at:])}
    try:
        bytes_of_token = decode(token)
        key = authenticate(bytes_of_token, rings[vector["ring"]], vector["scope"], vector["now"])
        open_body(bytes_of_token, key, vector["scope"])
    except Refused:
        return drop_empty(answer)
    if hmac.compare_digest(mac(derive(key, b"mac", vector["scope"]), b"E" + token.encode() + signed), raw[-MAC_SIZE:]):
        verdict = verify({**vector, "token": token}, rings)["verdict"]
        answer.update(signed=True, attributes=b64(signed[2:value_at]), verdict=verdict)
    return drop_empty(answer)


def drop_empty(answer):
    return {name: value for name, value in answer.items() if value != ""}


# Tickets and digests.

def judge_ticket(vector, rings):
    raw, now, scope = unbase64(vector["ticket"]), vector["now"], vector["scope"]
    if raw is None or len(raw) != 45 or raw[:1] != b"T":
        return {"good": False}
    try:  # as of a token, whose tags stand at other places
        key = authenticate(bytes(2) + raw[1:9], rings[vector["ring"]], scope, now, raw)
    except Refused:
        return {"good": False}
    ends = int.from_bytes(raw[9:13], "big")
    return {"good": now < ends <= now + 600 + vector["skew"]}


def make_digest(vector, rings):
    for key in rings[vector["ring"]]["keys"]:
        begins, ends = seconds(key, "notBefore"), seconds(key, "notAfter")
        if (begins is None or begins <= vector["now"]) and (ends is None or vector["now"] < ends):
            return {"digest": mac(derive(key, b"mac", vector["scope"]), b"S" + bytes.fromhex(vector["id"]))[:8].hex()}


# Fingerprints.

def make_fingerprints(vector, rings):
    label = b"limpet.dev/v1 fingerprint\0"
    keys = [mac(unbase64(key["secret"]), label + key["id"].encode())[:6] for key in rings[vector["name"]]["keys"]]
    return {"keys": [key.hex() for key in keys], "whole": hashlib.sha256(label + b"".join(keys)).digest()[:6].hex()}


# Sealing.

def parse_roots(text):
    """The targets and secrets in LIMPET_ROOT, or None."""
    roots = []
    for part in text.removesuffix("\n").split(","):
        found = re.fullmatch(r"(?:([A-Za-z0-9._-]{1,64}):)?([A-Za-z0-9_-]+)", part)
        secret = found and unbase64(found[2])
        if secret is None or len(secret) < 32:
            return None
        roots.append((found[1] or "", secret))
    return roots if len(roots) <= 2 else None


def unseal_with(target, root, raw):
    sealed_for = b"limpet.dev/v1 sealed for\0" + target.encode()
    plain = open_xchacha(mac(root, b"limpet.dev/v1 seal key"), raw[:24], raw[24:], sealed_for)
    nonce_key = mac(root, b"limpet.dev/v1 seal nonce")
    if plain is None or mac(nonce_key, target.encode() + b"\0" + plain)[:24] != raw[:24]:
        return None
    return plain


def unseal(vector):
    roots, sealed = parse_roots(vector["root"]), vector["sealed"]
    raw = unbase64(sealed[2:]) if sealed.startswith("1.") else None
    if roots is not None and raw is not None and len(raw) >= 24 + 16:
        for target, root in roots:
            plain = unseal_with(target, root, raw)
            if plain is not None:
                return {"opens": True, "plain": plain.decode()}
    return {"opens": False}


def main():
    vectors = json.load(sys.stdin)
    for vector in vectors["tokens"]:
        print(json.dumps({"name": vector["name"], **verify(vector, vectors["rings"])}))
    for kind, answer in (("envelopes", open_envelope), ("tickets", judge_ticket), ("digests", make_digest),
                         ("fingerprints", make_fingerprints)):
        for vector in vectors[kind]:
            print(json.dumps({"name": vector["name"], **answer(vector, vectors["rings"])}))
    for vector in vectors["sealed"]:
        print(json.dumps({"name": vector["name"], **drop_empty(unseal(vector))}))


main()
