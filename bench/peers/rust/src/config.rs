//! The plugin configuration: policies by route name, and the keys.

use crate::token::{Ring, Scope};
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::Engine;
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::Arc;

#[derive(Deserialize)]
struct PolicyText {
    name: String,
    scope: String,
    route: String,
    cookie: String,
    attributes: String,
    absolute_timeout: u32,
}

#[derive(Deserialize)]
struct KeyText {
    id: String,
    secret: String,
}

#[derive(Deserialize)]
struct RingText {
    keys: Vec<KeyText>,
}

/// One policy, ready to serve.
pub struct Policy {
    pub scope: Scope,
    pub cookie: String,
    pub cookie_head: String,
    pub cookie_tail: String,
    pub absolute_timeout: u32,
    pub pinned: u32,
    pub fresh: u32,
    /// Counters besides the numbers of `Verdict`.
    pub refused: [u32; 6],
}

pub struct Config {
    routes: HashMap<Vec<u8>, Arc<Policy>>,
}

const REFUSED: [&str; 6] =
    ["malformed", "unknown-key", "wrong-scope", "bad-signature", "not-yet-valid", "expired-absolute"];

impl Config {
    pub fn parse(text: &[u8], keys: &str, define: impl Fn(&str) -> u32) -> Result<Config, String> {
        let policies: Vec<PolicyText> = serde_json::from_slice(text).map_err(|e| format!("configuration: {e}"))?;
        let ring: RingText = serde_json::from_str(keys).map_err(|_| "LIMPET_KEYS: not a key ring".to_string())?;
        let mut secrets = Vec::new();
        for key in &ring.keys {
            let secret = URL_SAFE_NO_PAD.decode(&key.secret).map_err(|_| "LIMPET_KEYS: not base64url".to_string())?;
            secrets.push((key.id.as_str(), secret));
        }
        let ring = Ring::new(&secrets);
        let routes = policies.into_iter().map(|p| (p.route.clone().into_bytes(), Arc::new(policy(p, &ring, &define))));
        Ok(Config { routes: routes.collect() })
    }

    pub fn policy(&self, route: &[u8]) -> Option<Arc<Policy>> {
        self.routes.get(route).cloned()
    }
}

fn policy(text: PolicyText, ring: &Ring, define: &impl Fn(&str) -> u32) -> Policy {
    let counter = |outcome: &str| define(&format!("peer_sessions.policy.{}.outcome.{outcome}", text.name));
    Policy {
        scope: ring.scope(&text.scope),
        cookie_head: format!("{}=", text.cookie),
        cookie_tail: text.attributes,
        absolute_timeout: text.absolute_timeout,
        pinned: counter("pinned"),
        fresh: counter("new"),
        refused: REFUSED.map(counter),
        cookie: text.cookie,
    }
}
