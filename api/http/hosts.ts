import { reject } from '../../crds/rejections/index.js';
import { InvalidSettingFault, type Settings } from '../../pkg/config/index.js';
import { RequestRejection } from './reply.js';
import { rejectMalformed } from './malformed.js';

/** `127.0.0.1:7070`, `[::1]:0`. */
export function parseListen(text: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, port] = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(port) > 65_535) {
    throw new InvalidSettingFault('setting "listen": must be an address and a port, such as 127.0.0.1:7070');
  }
  return { host, port: Number(port) };
}

/** The names to answer to, for a server on loopback; elsewhere the certificate is what says who a server is. */
export function createHostFilter({ listen, baseUrl, advertise }: Settings): HostFilter {
  return new HostFilter(isLoopback(parseListen(listen).host) ? [baseUrl, advertise] : undefined);
}

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];

/** Whether an address can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/**
 * Which names a server on loopback answers to. A page of a stranger can make a browser call this port under a name of
 * its own; the `Host` header gives it away.
 */
export class HostFilter {
  readonly #names: ReadonlySet<string> | undefined;

  /** `urls` are the addresses that the operator has given to the server. Without them any name will do. */
  constructor(urls: readonly string[] | undefined) {
    const configured = urls?.filter(Boolean).map(url => new URL(url).hostname.toLowerCase());
    this.#names = configured && new Set([...LOOPBACK_NAMES, ...configured]);
  }

  check(header: string | undefined): RequestRejection | undefined {
    if (header === undefined) return rejectMalformed('Host', undefined, 'the Host header is missing');
    const host = header.toLowerCase().replace(/:\d{1,5}$/, '');
    if (!this.#names || this.#names.has(host) || isLoopback(host)) return undefined;
    return new RequestRejection(reject('host_unknown', 'Host', header), { connection: 'close' });
  }
}
