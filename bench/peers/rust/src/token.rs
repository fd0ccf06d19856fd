//! limpet's token with a session id, as limpet itself makes it (docs/token-format.md).

use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use base64::Engine;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use chacha20::ChaCha20;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use std::net::SocketAddr;

const LEN4: usize = 107;
const LEN6: usize = 123;
const RAW_MAX: usize = 92;
const MAC: usize = 32;
const NONCE: usize = 22;
const PARTS: usize = 34;
const HOST: usize = 42;
const HIDDEN: u8 = 1;
const IPV6: u8 = 2;
const ID: u8 = 4;
const SKEW: u32 = 60;

type HmacSha256 = Hmac<Sha256>;

/// Why a token is refused, in the order of the checks.
#[derive(Clone, Copy)]
pub enum Verdict {
    Malformed,
    UnknownKey,
    WrongScope,
    BadSignature,
    NotYetValid,
    ExpiredAbsolute,
}

#[derive(Clone, Copy)]
pub struct Host(SocketAddr);

pub struct Session {
    pub host: Host,
    pub issued_at: u32,
    pub last_seen: u32,
    pub epoch: u32,
}

/// The keys: the first signs, all verify.
pub struct Ring(Vec<(u32, HmacSha256)>);

/// One scope's own keys, with HMAC's padded key already hashed.
pub struct Scope {
    tag: u32,
    keys: Vec<Key>,
}

struct Key {
    tag: u32,
    mac: HmacSha256,
    host: [u8; 32],
}

fn tag(label: &str, name: &str) -> u32 {
    let sum = Sha256::new().chain_update(label).chain_update(name).finalize();
    u32::from_be_bytes(sum[..4].try_into().unwrap())
}

fn keyed(secret: &[u8]) -> HmacSha256 {
    HmacSha256::new_from_slice(secret).expect("HMAC takes keys of any length")
}

impl Ring {
    pub fn new(keys: &[(&str, Vec<u8>)]) -> Ring {
        Ring(keys.iter().map(|(id, secret)| (tag("limpet.dev/v1 key id\0", id), keyed(secret))).collect())
    }

    pub fn scope(&self, name: &str) -> Scope {
        let derive = |from: &HmacSha256, label: &str| -> [u8; 32] {
            from.clone().chain_update(label).chain_update(name).finalize().into_bytes().into()
        };
        let key = |(tag, secret): &(u32, HmacSha256)| Key {
            tag: *tag,
            mac: keyed(&derive(secret, "limpet.dev/v1 mac\0")),
            host: derive(secret, "limpet.dev/v1 host\0"),
        };
        Scope { tag: tag("limpet.dev/v1 scope\0", name), keys: self.0.iter().map(key).collect() }
    }
}

impl Scope {
    pub fn verify(&self, text: &[u8], absolute_timeout: u32, now: u32) -> Result<Session, Verdict> {
        let session = self.open(text)?;
        // Tokens without revocation have epoch 0; the peer knows no other.
        if session.issued_at > now + SKEW || session.last_seen > now + SKEW {
            return Err(Verdict::NotYetValid);
        }
        if now >= session.issued_at + absolute_timeout {
            return Err(Verdict::ExpiredAbsolute);
        }
        Ok(session)
    }

    fn open(&self, text: &[u8]) -> Result<Session, Verdict> {
        let mut buf = [0; RAW_MAX];
        if text.len() != LEN4 && text.len() != LEN6 {
            return Err(Verdict::Malformed);
        }
        let n = URL_SAFE_NO_PAD.decode_slice(text, &mut buf).map_err(|_| Verdict::Malformed)?;
        let raw = &mut buf[..n];
        let word = |raw: &[u8], at: usize| u32::from_be_bytes(raw[at..at + 4].try_into().unwrap());
        let (flags, issued_at, last_seen) = (raw[1], word(raw, 10), word(raw, 14));
        let v6 = flags & IPV6 != 0;
        if raw[0] != 1 || flags & !(HIDDEN | IPV6) != ID || v6 != (text.len() == LEN6) || last_seen < issued_at {
            return Err(Verdict::Malformed);
        }
        let key = self.keys.iter().find(|k| k.tag == word(raw, 2)).ok_or(Verdict::UnknownKey)?;
        if word(raw, 6) != self.tag {
            return Err(Verdict::WrongScope);
        }
        let epoch = word(raw, 18);
        let (signed, mac) = raw.split_at_mut(n - MAC);
        key.mac.clone().chain_update(&*signed).verify_slice(mac).map_err(|_| Verdict::BadSignature)?;
        if flags & HIDDEN != 0 {
            let (head, hidden) = signed.split_at_mut(PARTS);
            key.crypt(&head[NONCE..], hidden);
        }
        let host = Host::from_raw(&signed[HOST..]).ok_or(Verdict::Malformed)?;
        Ok(Session { host, issued_at, last_seen, epoch })
    }

    /// Appends a token of a new session, with a hidden host.
    pub fn append(&self, out: &mut Vec<u8>, session: &Session) {
        let key = &self.keys[0];
        let mut nonce_and_id = [0; HOST - NONCE];
        getrandom::getrandom(&mut nonce_and_id).expect("the host gives random bytes");
        let mut raw = Vec::with_capacity(RAW_MAX);
        raw.extend_from_slice(&[1, ID | HIDDEN | if session.host.0.is_ipv6() { IPV6 } else { 0 }]);
        for word in [key.tag, self.tag, session.issued_at, session.last_seen, session.epoch] {
            raw.extend_from_slice(&word.to_be_bytes());
        }
        raw.extend_from_slice(&nonce_and_id);
        session.host.append_raw(&mut raw);
        key.crypt(&nonce_and_id[..PARTS - NONCE], &mut raw[PARTS..]);
        let mac = key.mac.clone().chain_update(&raw).finalize().into_bytes();
        raw.extend_from_slice(&mac);
        let start = out.len();
        out.resize(start + (raw.len() * 4).div_ceil(3), 0);
        URL_SAFE_NO_PAD.encode_slice(&raw, &mut out[start..]).expect("the room is exact");
    }
}

impl Key {
    fn crypt(&self, nonce: &[u8], hidden: &mut [u8]) {
        ChaCha20::new(&self.host.into(), nonce.into()).apply_keystream(hidden);
    }
}

impl Host {
    /// Reads the pin header as Envoy writes it: base64 of "ip:port".
    pub fn from_pin(pin: &[u8]) -> Option<Host> {
        Host::from_text(&STANDARD.decode(pin).ok()?)
    }

    pub fn pin(&self) -> Vec<u8> {
        STANDARD.encode(self.text()).into_bytes()
    }

    /// Reads "ip:port".
    pub fn from_text(text: &[u8]) -> Option<Host> {
        std::str::from_utf8(text).ok()?.parse().ok().map(Host)
    }

    pub fn text(&self) -> String {
        self.0.to_string()
    }

    fn from_raw(raw: &[u8]) -> Option<Host> {
        let (address, port) = raw.split_at(raw.len() - 2);
        let port = u16::from_be_bytes(port.try_into().unwrap());
        let host = match address.len() {
            4 => SocketAddr::from((<[u8; 4]>::try_from(address).unwrap(), port)),
            _ => SocketAddr::from((<[u8; 16]>::try_from(address).unwrap(), port)),
        };
        (port != 0).then_some(Host(host))
    }

    fn append_raw(&self, raw: &mut Vec<u8>) {
        match self.0 {
            SocketAddr::V4(a) => raw.extend_from_slice(&a.ip().octets()),
            SocketAddr::V6(a) => raw.extend_from_slice(&a.ip().octets()),
        }
        raw.extend_from_slice(&self.0.port().to_be_bytes());
    }
}
