//! A proxy-wasm filter with limpet's token, as a Rust author would write it with care: the keyed HMAC states are made once,
//! headers stay bytes, nothing is read that is not needed. It verifies the token on every request, sets the pin
//! header for Envoy's `stateful_session`, and issues a token when Envoy chose a host. It knows none of limpet's
//! options (renewal, revocation, logout, cache rules, strict hosts), so it does less than limpet for each request.

mod config;
mod token;

use config::{Config, Policy};
use proxy_wasm::hostcalls;
use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{Action, ContextType, LogLevel, MetricType};
use std::rc::Rc;
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use token::{Host, Session, Verdict};

const PIN: &str = "x-limpet-pin";
const MAX_CANDIDATES: usize = 4;

proxy_wasm::main! {{
    proxy_wasm::set_log_level(LogLevel::Warn);
    proxy_wasm::set_root_context(|_| -> Box<dyn RootContext> { Box::new(Root { config: None }) });
}}

struct Root {
    config: Option<Rc<Config>>,
}

impl Context for Root {}

impl RootContext for Root {
    fn on_configure(&mut self, _: usize) -> bool {
        let text = self.get_plugin_configuration().unwrap_or_default();
        let keys = std::env::var("LIMPET_KEYS").unwrap_or_default();
        let define = |name: &str| hostcalls::define_metric(MetricType::Counter, name).unwrap_or(0);
        match Config::parse(&text, &keys, define) {
            Ok(config) => {
                self.config = Some(Rc::new(config));
                true
            }
            Err(why) => {
                let _ = hostcalls::log(LogLevel::Critical, &why);
                false
            }
        }
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }

    fn create_http_context(&self, _: u32) -> Option<Box<dyn HttpContext>> {
        let config = self.config.clone()?;
        Some(Box::new(Stream { config, policy: None, pinned: false, void: false }))
    }
}

struct Stream {
    config: Rc<Config>,
    policy: Option<Arc<Policy>>,
    pinned: bool,
    void: bool,
}

impl Context for Stream {}

impl HttpContext for Stream {
    fn on_http_request_headers(&mut self, _: usize, _: bool) -> Action {
        let Some(route) = self.get_property(vec!["xds", "route_name"]) else {
            return Action::Continue;
        };
        let Some(policy) = self.config.policy(&route) else {
            return Action::Continue;
        };
        if let Some(line) = self.get_http_request_header_bytes("cookie") {
            self.request(&policy, &line);
        }
        self.policy = Some(policy);
        Action::Continue
    }

    fn on_http_response_headers(&mut self, _: usize, _: bool) -> Action {
        let Some(policy) = self.policy.take() else {
            return Action::Continue;
        };
        match self.get_http_response_header_bytes(PIN) {
            Some(pin) => self.issue(&policy, &pin),
            None if self.pinned => increment(policy.pinned),
            None => {}
        }
        Action::Continue
    }
}

impl Stream {
    /// Looks for the token among the cookies and pins its host.
    fn request(&mut self, policy: &Policy, line: &[u8]) {
        let now = self.now();
        let candidates = cookies(line, policy.cookie.as_bytes()).take(MAX_CANDIDATES);
        for value in candidates {
            match policy.scope.verify(value, policy.absolute_timeout, now) {
                Ok(session) => {
                    self.set_http_request_header_bytes(PIN, Some(&session.host.pin()));
                    self.pinned = true;
                    return;
                }
                Err(verdict) => self.refuse(policy, verdict),
            }
        }
    }

    fn refuse(&mut self, policy: &Policy, verdict: Verdict) {
        if !self.void {
            increment(policy.refused[verdict as usize]);
        }
        self.void = true;
    }

    /// Turns the host that Envoy chose into a token. Envoy names one on its own replies too, and that host has not
    /// answered.
    fn issue(&mut self, policy: &Policy, pin: &[u8]) {
        self.set_http_response_header_bytes(PIN, None);
        let details = self.get_property(vec!["response", "code_details"]);
        if details.as_deref() != Some(b"via_upstream") {
            return;
        }
        let Some(host) = Host::from_pin(pin) else { return };
        let now = self.now();
        let session = Session { host, issued_at: now, last_seen: now, epoch: 0 };
        let mut line = Vec::with_capacity(256);
        line.extend_from_slice(policy.cookie_head.as_bytes());
        policy.scope.append(&mut line, &session);
        line.extend_from_slice(policy.cookie_tail.as_bytes());
        self.add_http_response_header_bytes("set-cookie", &line);
        if !self.void {
            increment(policy.fresh);
        }
    }

    fn now(&self) -> u32 {
        let since = self.get_current_time().duration_since(UNIX_EPOCH);
        since.map_or(0, |d| d.as_secs() as u32)
    }
}

fn increment(metric: u32) {
    let _ = hostcalls::increment_metric(metric, 1);
}

/// The values of the cookies of one name.
fn cookies<'a>(line: &'a [u8], name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    line.split(|&b| b == b';').filter_map(move |pair| {
        let rest = pair.trim_ascii().strip_prefix(name)?;
        rest.strip_prefix(b"=")
    })
}
