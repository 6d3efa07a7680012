import { reject } from '../../crds/rejections/index.js';
import { InvalidSettingFault, type Settings } from '../../pkg/config/index.js';
import { RequestRejection } from './reply.js';
import { countHeader, rejectMalformed } from './malformed.js';

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

/** What requests of one client are counted under: its address, of IPv6 the network of 64 bits, which is one site's. */
export function toAddressKey(address = ''): string {
  if (!address.includes(':')) return address;
  if (address.startsWith('::ffff:')) return address.slice('::ffff:'.length);
  const [head = '', tail] = address.split('::', 2);
  const before = head === '' ? [] : head.split(':');
  const after = tail ? tail.split(':') : [];
  const zeros = Array<string>(tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length)).fill('0');
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`;
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

  /** `rawHeaders` are names and values in turn, as they came: of two `Host` headers Node would show the first only. */
  check(header: string | undefined, rawHeaders: readonly string[] = []): RequestRejection | undefined {
    if (header === undefined) return rejectMalformed('Host', undefined, 'the Host header is missing');
    if (countHeader(rawHeaders, 'host') > 1) return rejectMalformed('Host', header, 'the Host header was sent twice');
    const host = header.toLowerCase().replace(/:\d{1,5}$/, '');
    if (!this.#names || this.#names.has(host) || isLoopback(host)) return undefined;
    return new RequestRejection(reject('host_unknown', 'Host', header), { connection: 'close' });
  }
}
