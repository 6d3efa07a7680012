/**
 * A stand-in of the Kubernetes API for tests, in the same process, over HTTP.
 *
 * One idea to hold: it has the rules that all resources share (resource versions and conflicts, generations, the status
 * subresource, finalizers, graceful deletion, owners, watches with 410) and none that a kind has. Any group, version and plural is
 * served, so that leases, events, secrets, pods and custom resources need no entry; `intercept` adds subresources and faults.
 * kubectl is told of the kinds that the guides use, and of those that were defined.
 * `KubeApiserver` runs the real one where there is one, so that the same tests show where the two differ.
 *
 * @module
 */
export { askCluster, type ClusterAccess } from './ask.js';
export { KubeApiserver, kubeApiserverProgram } from './kube-apiserver.js';
export { FakeKubelet, type FakeProgram } from './kubelet.js';
export { StatusError, type StoredObject } from './objects.js';
export { FakeKubernetes } from './server.js';
