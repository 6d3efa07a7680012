import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Bridges of our networks begin with this, so that one rule covers all of them. */
export const BRIDGE_PREFIX = 'moor-';

/** Where clouds serve the credentials of a machine, and where its neighbours are reached without a router. */
const LINK_LOCAL: readonly (readonly [program: string, network: string])[] = [
  ['iptables', '169.254.0.0/16'],
  ['ip6tables', 'fe80::/10'],
];

/** Runs a program to its end. Throws when it fails. */
export type RunProgram = (program: string, words: readonly string[]) => Promise<unknown>;

const runFirewall: RunProgram = (program, words) => promisify(execFile)(program, [...words], { timeout: 10_000 });

/**
 * Drops what containers send to link-local addresses.
 *
 * The rule is in `raw/PREROUTING`: there it meets what goes to the machine itself and what is forwarded. It names the
 * bridges of our networks, so it may stay when they are gone, and every agent of the machine writes the same.
 */
export class LinkLocalBarrier {
  readonly #run: RunProgram;
  readonly #isLocal: boolean;
  readonly #bridges = new Map<string, boolean>();

  /** `isLocal`: the engine runs on this machine, so its bridges are here. */
  constructor(isLocal: boolean, run: RunProgram = runFirewall) {
    this.#isLocal = isLocal;
    this.#run = run;
  }

  /** Whether the containers on all bridges seen so far are kept from link-local addresses; undefined before the first. */
  get isBlocked(): boolean | undefined {
    return this.#bridges.size === 0 ? undefined : [...this.#bridges.values()].every(Boolean);
  }

  /** Makes sure that the rules for a bridge stand. Never throws: where they cannot be written, `isBlocked` is false. */
  async block(bridge: string): Promise<void> {
    const form = bridge.startsWith(BRIDGE_PREFIX) ? `${BRIDGE_PREFIX}+` : bridge;
    this.#bridges.set(form, await this.#writeRules(form));
  }

  async #writeRules(bridge: string): Promise<boolean> {
    if (!this.#isLocal) return false;
    try {
      for (const [program, network] of LINK_LOCAL) {
        const rule = ['PREROUTING', '-i', bridge, '-d', network, '-j', 'DROP'];
        const table = ['--wait', '--table', 'raw'];
        const stands = await this.#run(program, [...table, '--check', ...rule]).then(
          () => true,
          () => false,
        );
        if (!stands) await this.#run(program, [...table, '--insert', ...rule]);
      }
      return true;
    } catch {
      return false;
    }
  }
}
