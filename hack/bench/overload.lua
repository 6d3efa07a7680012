-- Asks in turn for a page of deployments and for the verdict on a new one, and every fourth time changes one of `d0` to `d63`. Argument: token.
local count = 0
local headers = {}
local document = [[{"kind":"Deployment","name":"overload","image":"registry.example.com/shop/web:1.4.2","replicas":2,]]
  .. [["ports":[{"containerPort":8080,"protocol":"tcp"}],"environment":{"MODE":"production","WORKERS":"8"},]]
  .. [["resources":{"cpu":"500m","memory":"256Mi"},"labels":{"team":"shop","tier":"front"}}]]
function init(args)
  headers["Authorization"] = "Bearer " .. args[1]
  headers["Content-Type"] = "application/json"
end
function request()
  count = count + 1
  if count % 4 == 0 then
    local change = string.format([[{"environment":{"COUNT":"%d"}}]], count)
    return wrk.format("PUT", string.format("/api/v1/deployments/d%d", count / 4 % 64), headers, change)
  end
  if count % 2 == 0 then return wrk.format("GET", "/api/v1/deployments?limit=10", headers) end
  return wrk.format("POST", "/api/v1/deployments?dryRun=true", headers, document)
end
