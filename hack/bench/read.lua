-- GETs one address. Argument: token.
function init(args)
  wrk.headers["Authorization"] = "Bearer " .. args[1]
end
