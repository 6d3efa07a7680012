import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';

import { briefOptions } from '../../dev/processes/index.js';
import { programArguments } from '../../pkg/version/index.js';
import type { Outcome } from './scenario.js';

const MOST_BYTES = 64 << 20;

/** Plays the scenarios of many seeds, on every core. Rejects with what a broken promise says of itself. */
export async function playSeeds(first: number, count: number): Promise<readonly Outcome[]> {
  const cores = Math.min(availableParallelism(), count);
  const parts = Array.from({ length: cores }, (_, core) => playPart(first + core, first + count, cores));
  return (await Promise.all(parts)).flat();
}

async function playPart(first: number, end: number, step: number): Promise<readonly Outcome[]> {
  const program = [...briefOptions, ...programArguments('e2e/simulation/play-seeds.ts')];
  const argv = [...program, String(first), String(end), String(step)];
  const { stdout } = await promisify(execFile)(process.execPath, argv, { maxBuffer: MOST_BYTES });
  return JSON.parse(stdout) as readonly Outcome[];
}
