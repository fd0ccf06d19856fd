//! A dynamic module of Envoy with limpet's token, as a Rust author would write it with care: the keyed HMAC states are made
//! once, nothing is read that is not needed, the host is named to Envoy and read back from it. It verifies the token on
//! every request. It knows none of limpet's options (renewal, revocation, logout, cache rules, strict hosts, sessions in
//! headers), so it does less than limpet for each request.

mod abi;
#[path = "../../rust/src/config.rs"]
mod config;
#[path = "../../rust/src/token.rs"]
mod token;

use abi::{Buffer, Filter};
use config::{Config, Policy};
use std::ffi::c_void;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use token::{Host, Session};

const MAX_CANDIDATES: usize = 4;

struct Stream {
    config: &'static Config,
    policy: Option<Arc<Policy>>,
    pinned: Option<String>,
    void: bool,
}

impl Stream {
    fn request(&mut self, filter: Filter) {
        let Some(policy) = filter.attribute(abi::XDS_ROUTE_NAME).and_then(|route| self.config.policy(route)) else {
            return;
        };
        if let Some(line) = filter.cookie() {
            self.cookies(filter, &policy, line);
        }
        self.policy = Some(policy);
    }

    /// Looks for the token among the cookies and pins its host.
    fn cookies(&mut self, filter: Filter, policy: &Policy, line: &[u8]) {
        let now = now();
        for value in cookies(line, policy.cookie.as_bytes()).take(MAX_CANDIDATES) {
            match policy.scope.verify(value, policy.absolute_timeout, now) {
                Ok(session) => {
                    let host = session.host.text();
                    filter.pin(host.as_bytes());
                    self.pinned = Some(host);
                    return;
                }
                Err(verdict) => {
                    if !self.void {
                        filter.increment(policy.refused[verdict as usize]);
                    }
                    self.void = true;
                }
            }
        }
    }

    fn response(&mut self, filter: Filter) {
        let Some(policy) = self.policy.take() else { return };
        let Some(host) = filter.attribute(abi::UPSTREAM_ADDRESS) else { return };
        if self.pinned.as_ref().is_some_and(|pinned| pinned.as_bytes() == host) {
            filter.increment(policy.pinned);
        } else if filter.attribute(abi::RESPONSE_CODE_DETAILS) == Some(b"via_upstream") {
            self.issue(filter, &policy, host);
        }
    }

    fn issue(&self, filter: Filter, policy: &Policy, host: &[u8]) {
        let Some(host) = Host::from_text(host) else { return };
        let now = now();
        let mut line = Vec::with_capacity(256);
        line.extend_from_slice(policy.cookie_head.as_bytes());
        policy.scope.append(&mut line, &Session { host, issued_at: now, last_seen: now, epoch: 0 });
        line.extend_from_slice(policy.cookie_tail.as_bytes());
        filter.set_cookie(&line);
        if !self.void {
            filter.increment(policy.fresh);
        }
    }
}

fn now() -> u32 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs() as u32)
}

/// The values of the cookies of one name.
fn cookies<'a>(line: &'a [u8], name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    line.split(|&b| b == b';').filter_map(move |pair| {
        let rest = pair.trim_ascii().strip_prefix(name)?;
        rest.strip_prefix(b"=")
    })
}

#[no_mangle]
extern "C" fn envoy_dynamic_module_on_program_init() -> *const u8 {
    c"v0.2.0".as_ptr().cast()
}

#[no_mangle]
extern "C" fn envoy_dynamic_module_on_http_filter_config_new(envoy: *mut c_void, _: Buffer, text: Buffer) -> *const Config {
    let text = unsafe { std::slice::from_raw_parts(text.data, text.size) };
    let keys = std::env::var("LIMPET_KEYS").unwrap_or_default();
    match Config::parse(text, &keys, |name| abi::define(envoy, name)) {
        Ok(config) => Box::into_raw(Box::new(config)),
        Err(why) => {
            abi::log(&why);
            std::ptr::null()
        }
    }
}

#[no_mangle]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_config_destroy(config: *mut Config) {
    drop(Box::from_raw(config));
}

#[no_mangle]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_new(config: *const Config, _: *mut c_void) -> *const Stream {
    Box::into_raw(Box::new(Stream { config: &*config, policy: None, pinned: None, void: false }))
}

#[no_mangle]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_destroy(stream: *mut Stream) {
    drop(Box::from_raw(stream));
}

#[no_mangle]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_request_headers(filter: *mut c_void, stream: *mut Stream, _: bool) -> i32 {
    (*stream).request(Filter(filter));
    0
}

#[no_mangle]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_response_headers(filter: *mut c_void, stream: *mut Stream, _: bool) -> i32 {
    (*stream).response(Filter(filter));
    0
}

/// The hooks that Envoy wants and that have nothing to do.
macro_rules! nothing {
    ($($name:ident)*) => { $(#[no_mangle] extern "C" fn $name() -> i32 { 0 })* };
}

nothing! {
    envoy_dynamic_module_on_http_filter_request_body
    envoy_dynamic_module_on_http_filter_request_trailers
    envoy_dynamic_module_on_http_filter_response_body
    envoy_dynamic_module_on_http_filter_response_trailers
    envoy_dynamic_module_on_http_filter_stream_complete
    envoy_dynamic_module_on_http_filter_http_callout_done
    envoy_dynamic_module_on_http_filter_http_stream_headers
    envoy_dynamic_module_on_http_filter_http_stream_data
    envoy_dynamic_module_on_http_filter_http_stream_trailers
    envoy_dynamic_module_on_http_filter_http_stream_complete
    envoy_dynamic_module_on_http_filter_http_stream_reset
    envoy_dynamic_module_on_http_filter_scheduled
    envoy_dynamic_module_on_http_filter_downstream_above_write_buffer_high_watermark
    envoy_dynamic_module_on_http_filter_downstream_below_write_buffer_low_watermark
}
