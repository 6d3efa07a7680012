/**
 * The programs that Mooring depends on, run by us: etcd, dockerd, a registry.
 *
 * Each is started on free loopback ports with data of its own, waited for until it serves, and ended by its own
 * id. Nothing here is needed where those programs are installed as services.
 *
 * @module
 */
export { buildDemoImage, type DemoImageOptions, readBusybox } from './demo-image.js';
export { DockerdProcess } from './dockerd.js';
export { releaseFolders } from './engine-sweep.js';
export { ensureEtcdCertificates, EtcdProcess } from './etcd.js';
export { findFreePort, isFreePort } from './free-port.js';
export { ownsPort } from './port-owner.js';
export { awaitServing, endProgram, runProgram } from './program.js';
export { pushImage } from './push-image.js';
export { RegistryProcess } from './registry.js';
