//! What the peer uses of Envoy's dynamic module ABI, as Envoy 1.40 has it.

use std::ffi::c_void;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Buffer {
    pub data: *const u8,
    pub size: usize,
}

impl From<&[u8]> for Buffer {
    fn from(bytes: &[u8]) -> Buffer {
        Buffer { data: bytes.as_ptr(), size: bytes.len() }
    }
}

const REQUEST_HEADERS: i32 = 0;
const RESPONSE_HEADERS: i32 = 2;
pub const RESPONSE_CODE_DETAILS: i32 = 16;
pub const UPSTREAM_ADDRESS: i32 = 41;
pub const XDS_ROUTE_NAME: i32 = 61;

extern "C" {
    fn envoy_dynamic_module_callback_log(level: i32, message: Buffer);
    fn envoy_dynamic_module_callback_http_get_header(
        filter: *mut c_void, kind: i32, name: Buffer, result: *mut Buffer, index: usize, count: *mut usize,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_add_header(filter: *mut c_void, kind: i32, name: Buffer, value: Buffer) -> bool;
    fn envoy_dynamic_module_callback_http_filter_get_attribute_string(
        filter: *mut c_void, attribute: i32, result: *mut Buffer,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_set_upstream_override_host(filter: *mut c_void, host: Buffer, strict: bool) -> bool;
    fn envoy_dynamic_module_callback_http_filter_config_define_counter(
        config: *mut c_void, name: Buffer, labels: *const Buffer, count: usize, id: *mut usize,
    ) -> i32;
    fn envoy_dynamic_module_callback_http_filter_increment_counter(
        filter: *mut c_void, id: usize, values: *const Buffer, count: usize, by: u64,
    ) -> i32;
}

const CRITICAL: i32 = 5;

pub fn log(text: &str) {
    unsafe { envoy_dynamic_module_callback_log(CRITICAL, text.as_bytes().into()) }
}

pub fn define(config: *mut c_void, name: &str) -> u32 {
    let mut id = 0;
    unsafe {
        envoy_dynamic_module_callback_http_filter_config_define_counter(
            config, name.as_bytes().into(), std::ptr::null(), 0, &mut id,
        )
    };
    id as u32
}

/// Envoy's side of a stream. What it returns is good until a header is changed.
#[derive(Clone, Copy)]
pub struct Filter(pub *mut c_void);

impl Filter {
    pub fn cookie<'a>(self) -> Option<&'a [u8]> {
        let mut value = Buffer { data: std::ptr::null(), size: 0 };
        let name = b"cookie".as_slice().into();
        let found = unsafe {
            envoy_dynamic_module_callback_http_get_header(self.0, REQUEST_HEADERS, name, &mut value, 0, std::ptr::null_mut())
        };
        found.then(|| unsafe { std::slice::from_raw_parts(value.data, value.size) })
    }

    pub fn attribute<'a>(self, attribute: i32) -> Option<&'a [u8]> {
        let mut value = Buffer { data: std::ptr::null(), size: 0 };
        let found = unsafe { envoy_dynamic_module_callback_http_filter_get_attribute_string(self.0, attribute, &mut value) };
        found.then(|| unsafe { std::slice::from_raw_parts(value.data, value.size) })
    }

    pub fn set_cookie(self, line: &[u8]) {
        let name = b"set-cookie".as_slice().into();
        unsafe { envoy_dynamic_module_callback_http_add_header(self.0, RESPONSE_HEADERS, name, line.into()) };
    }

    pub fn pin(self, host: &[u8]) {
        unsafe { envoy_dynamic_module_callback_http_set_upstream_override_host(self.0, host.into(), false) };
    }

    pub fn increment(self, counter: u32) {
        unsafe {
            envoy_dynamic_module_callback_http_filter_increment_counter(self.0, counter as usize, std::ptr::null(), 0, 1)
        };
    }
}
