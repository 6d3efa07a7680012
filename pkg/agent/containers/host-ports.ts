import { networkInterfaces } from 'node:os';

import { formatPortRange, isPortWithin, type PortRange } from '../../../crds/grammar/index.js';
import type { Replica } from '../../../crds/replica/index.js';
import { Fault } from '../../fault/index.js';

/** A replica asks for a host port that something of the platform listens on. */
export class HostPortReservedFault extends Fault {
  readonly retriable = false;
}

/**
 * Throws when a replica asks for a reserved port of this machine. The control plane refuses such a deployment, but it may
 * not know what this machine listens on, and a container there would be given the tokens of the agents.
 */
export function checkHostPorts({ template }: Pick<Replica, 'template'>, reserved: readonly PortRange[]): void {
  for (const { hostPort } of template.ports ?? []) {
    if (hostPort === undefined || !isPortWithin(hostPort, reserved)) continue;
    const all = reserved.map(formatPortRange).join(', ');
    throw new HostPortReservedFault(
      `host port ${hostPort} is reserved on this node, as are all of ${all}; choose another one`,
    );
  }
}

/** The ports of these addresses that this machine itself listens on: `https://127.0.0.1:7070`, `tcp://127.0.0.1:2375`. */
export function findLocalPorts(urls: readonly string[], local = listLocalAddresses()): readonly PortRange[] {
  return urls.flatMap(text => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const host = url?.hostname.replace(/^\[|\]$/g, '') ?? '';
    const port = Number(url?.port || { 'http:': 80, 'https:': 443 }[url?.protocol ?? ''] || 0);
    const isLocal = host === 'localhost' || /^127(?:\.\d{1,3}){3}$/.test(host) || local.includes(host);
    return isLocal && port > 0 ? [{ first: port, last: port }] : [];
  });
}

function listLocalAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap(each => (each ?? []).map(({ address }) => address));
}
