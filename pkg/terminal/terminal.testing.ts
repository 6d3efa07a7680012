import { seededRandom, systemClock } from '../clock/index.js';
import type { Terminal } from './terminal.js';

/** A terminal for tests that records its output and answers no question. */
export interface TestTerminal extends Terminal {
  readonly printed: { out: string; err: string };
}

export function createTestTerminal(environment: Terminal['environment'], more: Partial<Terminal> = {}): TestTerminal {
  const printed = { out: '', err: '' };
  return {
    printed,
    out: text => {
      printed.out += text;
    },
    err: text => {
      printed.err += text;
    },
    readInput: () => Promise.resolve(''),
    confirm: () => Promise.resolve(false),
    ask: () => Promise.resolve(undefined),
    askSecret: () => Promise.resolve(undefined),
    width: undefined,
    colours: false,
    environment,
    interrupted: new AbortController().signal,
    clock: systemClock,
    random: seededRandom(1),
    ...more,
  };
}
