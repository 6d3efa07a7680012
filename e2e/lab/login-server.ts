import { createServer, type Server, type Socket } from 'node:net';

/** How often somebody tried to log in, by how it ended. */
export interface Logins {
  readonly welcome: number;
  readonly denied: number;
}

/**
 * A server that asks for a password, as a database would, and accepts any of a set: a line with one is answered
 * `welcome` or `denied`.
 */
export class LoginServer {
  readonly accepted = new Set<string>();
  readonly #server: Server;
  #welcome = 0;
  #denied = 0;

  constructor() {
    this.#server = createServer(socket => this.#greet(socket));
  }

  get logins(): Logins {
    return { welcome: this.#welcome, denied: this.#denied };
  }

  /** Answers the port it listens on. */
  listen(host: string): Promise<number> {
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
