-- Reads the session's cookie, which is the pin itself, and hands it to Envoy's stateful_session; on the way back it turns
-- a newly chosen host into a cookie. Nothing is signed or verified.
local pin = "x-limpet-pin"

function envoy_on_request(handle)
  local headers = handle:headers()
  local cookies = headers:get("cookie")
  if cookies then
    local value = string.match(cookies, "cart=([^;]+)")
    if value then
      headers:replace(pin, value)
    end
  end
end

function envoy_on_response(handle)
  local headers = handle:headers()
  local value = headers:get(pin)
  if value then
    headers:remove(pin)
    headers:add("set-cookie", "cart=" .. value .. "; Path=/cart; Secure; HttpOnly; SameSite=Strict")
  end
end
