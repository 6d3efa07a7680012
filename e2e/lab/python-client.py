"""Does with the Python client what its users do, and prints what came of each step as one JSON object.

Usage: KUBECONFIG=... python-client.py <namespace>
"""

import json
import sys

from kubernetes import client, config, watch
from kubernetes.client.rest import ApiException

namespace = sys.argv[1]
config.load_kube_config()
custom = client.CustomObjectsApi()
core = client.CoreV1Api()
plural = ("mooring.io", "v1", namespace, "deployments")

web = {
    "apiVersion": "mooring.io/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {"image": "registry.example.com/web:1", "replicas": 1},
}
results = {}


def step(name, act):
    try:
        results[name] = act()
    except ApiException as refused:
        status = json.loads(refused.body)
        causes = status.get("details", {}).get("causes", [])
        results[name] = {"code": refused.status, "reason": status["reason"], "causes": [c["reason"] for c in causes]}
    except Exception as broken:
        results[name] = {"broken": repr(broken)}


def show(found):
    return {"name": found["metadata"]["name"], "replicas": found["spec"]["replicas"]}


def list_names():
    listed = custom.list_namespaced_custom_object(*plural)
    results["version"] = listed["metadata"]["resourceVersion"]
    return [found["metadata"]["name"] for found in listed["items"]]


def list_in_pages():
    names, more = [], None
    while True:
        page = custom.list_namespaced_custom_object(*plural, limit=1, **({"_continue": more} if more else {}))
        names.append([found["metadata"]["name"] for found in page["items"]])
        more = page["metadata"].get("continue")
        if not more:
            return names


def replace():
    found = custom.get_namespaced_custom_object(*plural, "web")
    found["spec"]["replicas"] = 4
    return show(custom.replace_namespaced_custom_object(*plural, "web", found))


def replace_outdated():
    found = custom.get_namespaced_custom_object(*plural, "web")
    found["metadata"]["resourceVersion"] = results["created version"]
    return show(custom.replace_namespaced_custom_object(*plural, "web", found))


def create():
    made = custom.create_namespaced_custom_object(*plural, web)
    results["created version"] = made["metadata"]["resourceVersion"]
    return show(made)


def watch_until_deleted():
    seen = []
    watcher = watch.Watch()
    stream = watcher.stream(
        custom.list_namespaced_custom_object, *plural, resource_version=results["version"], timeout_seconds=60
    )
    for event in stream:
        found = event["object"]
        if found["metadata"]["name"] != "web":
            continue
        if event["type"] != "MODIFIED" or not found["metadata"].get("deletionTimestamp"):
            seen.append([event["type"], found["spec"]["replicas"]])
        if event["type"] == "DELETED":
            watcher.stop()
    return seen


def follow_log():
    return list(watch.Watch().stream(core.read_namespaced_pod_log, "api-0", namespace))


def describe_pods():
    pods = core.list_namespaced_pod(namespace, label_selector="mooring.io/deployment=api").items
    return [[pod.metadata.name, pod.status.phase, pod.spec.node_name] for pod in pods]


def list_event_reasons():
    events = core.list_namespaced_event(namespace, field_selector="involvedObject.name=web").items
    return sorted({event.reason for event in events})


step("list", list_names)
step("create", create)
step("create again", lambda: show(custom.create_namespaced_custom_object(*plural, web)))
step("pages", list_in_pages)
step("get", lambda: show(custom.get_namespaced_custom_object(*plural, "web")))
step("patch", lambda: show(custom.patch_namespaced_custom_object(*plural, "web", {"spec": {"replicas": 2}})))
step("refused", lambda: custom.patch_namespaced_custom_object(*plural, "web", {"spec": {"replicas": -1, "typo": 1}}))
step(
    "scale",
    lambda: custom.patch_namespaced_custom_object_scale(*plural, "web", {"spec": {"replicas": 3}})["spec"]["replicas"],
)
step("replace", replace)
step("replace outdated", replace_outdated)
step("events", list_event_reasons)
step("delete", lambda: custom.delete_namespaced_custom_object(*plural, "web")["metadata"]["name"])
step("watch", watch_until_deleted)
step("get deleted", lambda: custom.get_namespaced_custom_object(*plural, "web"))
step("namespaces", lambda: [found.metadata.name for found in core.list_namespace().items])
step("pods", describe_pods)
step("log", lambda: core.read_namespaced_pod_log("api-0", namespace, tail_lines=2))
step("log follow", follow_log)
print(json.dumps(results))
