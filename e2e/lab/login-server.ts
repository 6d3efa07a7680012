import { createServer, type Server, type Socket } from 'node:net';

import type { Fleet } from './fleet.js';
import type { TenantClient } from './tenant-client.js';

/**
 * Logs in again and again, and is healthy while it is let in. Told to end, it logs in another `LINGER` times, as one that
 * finishes its work does. The password is a variable, never an argument.
 */
const CLIENT = `trap 'leaving=yes' TERM
while true; do
  answer=$(printf '%s\\n' "$DB_password" | nc -w 5 "$BACKEND_HOST" "$BACKEND_PORT")
  echo "$answer" > /tmp/answer
  if [ -n "$leaving" ]; then
    [ "$LINGER" -gt 0 ] || exit 0
    LINGER=$((LINGER - 1))
  fi
  sleep 0.2
done`;

/** Number of log-in attempts, by outcome. */
export interface Logins {
  readonly welcome: number;
  readonly denied: number;
}

/**
 * A server that asks for a password, as a database would, and accepts any of a set: a line with one is answered
 * `welcome` or `denied`.
 *
 * It is a socket of the test and not a container. What a rotation is judged by is the same: containers reach it over
 * their tenant's network and know only an address, a port and their password. In the test it cannot be restarted or
 * moved by what is tested, so a failed log-in has no other cause than a wrong password; and which passwords are valid
 * changes between two statements of a story, with no moment at which the server itself is in doubt.
 */
export class LoginServer {
  readonly accepted = new Set<string>();
  readonly #server: Server;
  #host = '';
  #port = 0;
  #welcome = 0;
  #denied = 0;

  constructor() {
    this.#server = createServer(socket => this.#greet(socket));
  }

  get logins(): Logins {
    return { welcome: this.#welcome, denied: this.#denied };
  }

  /** Listens where the containers of a tenant can reach it. */
  async open(fleet: Fleet, shop: TenantClient, image: string): Promise<void> {
    // The tenant's network comes into being with its first container: its gateway is this machine.
    await shop.apply({ name: 'first', image, replicas: 1 });
    await shop.reaches('first', 'Running');
    this.#host = await fleet.view.gateway(`mooring-${shop.id}`);
    this.#port = await this.#listen(this.#host);
    await shop.remove('first');
  }

  /** A deployment whose containers log in, with the password of the credential at this path. */
  clients(image: string, path: string, linger = 0) {
    return {
      image,
      command: ['sh', '-c', CLIENT],
      environment: { BACKEND_HOST: this.#host, BACKEND_PORT: String(this.#port), LINGER: String(linger) },
      healthCheck: { type: 'exec', command: ['test "$(cat /tmp/answer)" = welcome'], interval: '1s' },
      secrets: [{ name: 'DB', vault_path: path, anchor: 'process' }],
    };
  }

  #listen(host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(0, host, () => {
        const address = this.#server.address();
        resolve(typeof address === 'object' && address ? address.port : 0);
      });
    });
  }

  close(): void {
    this.#server.close();
  }

  #greet(socket: Socket): void {
    let text = '';
    socket.setEncoding('utf8');
    socket.on('error', () => socket.destroy());
    socket.on('data', chunk => {
      text += String(chunk);
      const end = text.indexOf('\n');
      if (end < 0) return;
      const isKnown = this.accepted.has(text.slice(0, end));
      if (isKnown) this.#welcome++;
      else this.#denied++;
      socket.end(isKnown ? 'welcome\n' : 'denied\n');
    });
  }
}
