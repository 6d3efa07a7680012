/**
 * Programs that Mooring stands on, run by us: for development, for tests, for measurements.
 *
 * Each is started on free loopback ports with data of its own, waited for until it serves, and ended by its own
 * id. Nothing here is needed where those programs are installed as services.
 *
 * @module
 */
export { type DemoImageOptions, demoImage } from './demo-image.js';
export { DockerdProcess, type DockerdOptions } from './dockerd.js';
export type { EtcdOptions } from './etcd.js';
export { EtcdProcess } from './etcd.js';
export { ImageUploadFault, ProcessStartFault } from './faults.js';
export { dropsForwarded } from './firewall.js';
export { freePort, isFreePort } from './free-port.js';
export { ownsPort } from './port-owner.js';
export { RegistryProcess, type RegistryOptions } from './registry.js';
export type { ProxyMode } from './tcp-proxy.js';
export { TcpProxy } from './tcp-proxy.js';
