import { type Amounts, type Candidate, kinds } from './candidate.js';

const MEBIBYTE = 1024 ** 2;
const GIBIBYTE = 1024 ** 3;

/** How a free and a whole amount of each kind read. */
const pairs: Readonly<Record<keyof Amounts, (free: number, whole: number) => string>> = {
  cpu: (free, whole) => `cpu ${tenths(free / 1000)} of ${tenths(whole / 1000)}`,
  memory: (free, whole) => {
    const [unit, name] = whole < GIBIBYTE ? [MEBIBYTE, 'MiB'] : [GIBIBYTE, 'GiB'];
    return `memory ${tenths(free / unit)} of ${tenths(whole / unit)} ${name}`;
  },
};

/** What a node has left of each kind that is requested: `cpu 1.8 of 2, memory 23 of 24 GiB`. Empty when none is. */
export function freeWords({ capacity, used }: Candidate, requests: Partial<Amounts>): string {
  return kinds
    .filter(kind => requests[kind])
    .map(kind => pairs[kind](Math.max(0, capacity[kind] - used[kind]), capacity[kind]))
    .join(', ');
}

/** Rounded down: nobody is told of more than there is. */
function tenths(amount: number): number {
  return Math.floor(amount * 10) / 10;
}
