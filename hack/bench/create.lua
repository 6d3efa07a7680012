-- POSTs deployments with names of their own. Arguments: token, prefix of the names.
local count = 0
local prefix
function init(args)
  wrk.headers["Authorization"] = "Bearer " .. args[1]
  wrk.headers["Content-Type"] = "application/json"
  prefix = args[2]
end
local tail = [[","image":"registry.example.com/shop/web:1.4.2","replicas":0,"command":["--port","8080"],]]
  .. [["ports":[{"containerPort":8080,"protocol":"tcp"}],"environment":{"MODE":"production","REGION":"eu-central","WORKERS":"8",]]
  .. [["LOG_FORMAT":"json","FEATURES":"search,cart,checkout,reviews"},"healthCheck":{"type":"exec","command":["/bin/check"],]]
  .. [["retries":3,"timeout":"10s","interval":"5s"},"resources":{"cpu":"500m","memory":"256Mi"},"labels":{"team":"shop","tier":"front"}}]]
function request()
  count = count + 1
  return wrk.format("POST", nil, nil, '{"kind":"Deployment","name":"' .. prefix .. count .. tail)
end
