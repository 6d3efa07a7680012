/** Where an agent listens, or is reached. */
export interface PeerAddress {
  readonly host: string;
  readonly port: number;
}

/** Reads `10.0.0.7:7071`, `node-7:7071` or `[fd00::7]:7071`. */
export function parsePeerAddress(text: string): PeerAddress | undefined {
  const [, bracketed, plain, port] =
    /^(?:\[([0-9A-Fa-f:.]{2,45})\]|([0-9A-Za-z](?:[0-9A-Za-z.-]{0,251}[0-9A-Za-z])?)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  return host === undefined || Number(port) > 65_535 ? undefined : { host, port: Number(port) };
}

export function formatPeerAddress({ host, port }: PeerAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Whether an address stands for every one of the machine: others cannot dial it. */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || /^[0:]+$/.test(host);
}
