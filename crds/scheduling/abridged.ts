import type { RefusedGroup } from './groups.js';

/** What an event has no room for. All of it is in the live explanation. */
export interface LeftOut {
  /** What each node reported. */
  readonly reported: true;
  /** How many nodes are not named. */
  readonly nodes: number;
}

/** Groups of which so much is kept as may be stored. */
export interface Abridged {
  readonly groups: readonly RefusedGroup[];
  /** Only where something is. */
  readonly leftOut?: LeftOut;
}

/**
 * The groups in at most so many bytes of JSON. What nodes reported goes first, and only when their names alone are too
 * much are the last of them merely counted.
 */
export function abridged(groups: readonly RefusedGroup[], bytes: number): Abridged {
  if (sizeOf(groups) <= bytes) return { groups };

  const kept: RefusedGroup[] = [];
  let left = bytes - sizeOf([]);
  let unnamed = 0;
  for (const { refusals, nodes } of groups) {
    left -= sizeOf({ refusals, nodes: [] }) + COMMA;
    const named: string[][] = [];
    for (const [name = ''] of nodes) {
      left -= sizeOf([name]) + COMMA;
      if (left >= 0) named.push([name]);
    }
    if (named.length > 0) kept.push({ refusals, nodes: named });
    unnamed += nodes.length - named.length;
  }
  return { groups: kept, leftOut: { reported: true, nodes: unnamed } };
}

const COMMA = 1;

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
