import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import type { EngineCondition } from '../engine.js';

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

  get conditions(): readonly EngineCondition[] {
    if (this.isBlocked === undefined) return [];
    return [this.isBlocked ? LINK_LOCAL_BLOCKED : LINK_LOCAL_OPEN];
  }

  /** Makes sure that the rules for a bridge stand. Never throws: where they cannot be written, `isBlocked` is false. */
  async block(bridge: string): Promise<void> {
    const form = bridge.startsWith(BRIDGE_PREFIX) ? `${BRIDGE_PREFIX}+` : bridge;
    this.#bridges.set(form, await this.#writeRules(form));
  }

  /** Whether its rules can be written at all, because the bridges are on this machine. */
  get isLocal(): boolean {
    return this.#isLocal;
  }

  async #writeRules(bridge: string): Promise<boolean> {
    if (!this.#isLocal) return false;
    const words = ['PREROUTING', '-i', bridge];
    return ensureRules(
      LINK_LOCAL.map(([program, network]) => ({ program, table: 'raw', words: [...words, '-d', network] })),
      this.#run,
    );
  }
}

/** What is dropped: the words say of which chain, and which packets. */
export interface DropRule {
  readonly program: string;
  readonly table: 'raw' | 'mangle';
  readonly words: readonly string[];
}

/** Makes sure that rules stand. False where they cannot be written. */
export async function ensureRules(rules: readonly DropRule[], run: RunProgram = runFirewall): Promise<boolean> {
  try {
    for (const { program, table, words } of rules) {
      const rule = [...words, '-j', 'DROP'];
      const call = (verb: string) => run(program, ['--wait', '--table', table, verb, ...rule]);
      const stands = await call('--check').then(
        () => true,
        () => false,
      );
      if (!stands) await call('--insert');
    }
    return true;
  } catch {
    return false;
  }
}

const LINK_LOCAL_BLOCKED: EngineCondition = {
  type: 'LinkLocalBlocked',
  status: 'True',
  reason: 'firewall_rule',
  message: 'containers cannot reach link-local addresses',
};

const LINK_LOCAL_OPEN: EngineCondition = {
  type: 'LinkLocalBlocked',
  status: 'False',
  reason: 'firewall_unavailable',
  message:
    'the agent cannot write iptables rules on the machine of the engine, so containers may reach link-local addresses, where clouds serve credentials: run the agent as root beside the engine, or block them otherwise',
};
