import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

import type { BenchResult } from './report.js';
import { ratio } from './rounds.js';

const COUNT = 200;
/** What was changed before comes to its end in the first; in the second the disk is looked at ten times, and each copy is asked for once or twice. */
const [SETTLE_MS, WATCH_MS] = [60_000, 600_000];

function startNode(folder: string, name: string) {
  const words = ['--import', 'tsx', 'hack/bench/idle-node.ts', folder, name, String(COUNT)];
  const child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const read = async <T>() => JSON.parse((await lines.next()).value as string) as T;
  const say = (line: string) => void child.stdin.write(`${line}\n`);
  const ask = () => {
    say('how far');
    return read<{ readonly complete: number; readonly used: number }>();
  };
  const stop = async () => {
    child.stdin.end();
    await once(child, 'close');
  };
  return { read, say, ask, stop };
}

/** W23c: the processor time of the agent of a node that has 200 replicated volumes, of which nobody uses any. */
export async function keepIdleVolumes(): Promise<BenchResult[]> {
  const base = mkdtempSync(join(tmpdir(), 'mooring-bench-'));
  const [a, b] = ['a', 'b'].map(name => startNode(join(base, name), `node_${name}`)) as [Node, Node];
  try {
    const [of, at] = [await a.read<object>(), await b.read<object>()];
    b.say(`replica ${JSON.stringify(of)}`);
    a.say(`primary ${JSON.stringify(at)}`);
    while ((await a.ask()).complete < COUNT) await pause(2_000);
    await pause(SETTLE_MS);
    const [before, begun] = [await a.ask(), performance.now()];
    await pause(WATCH_MS);
    const [after, ended] = [await a.ask(), performance.now()];
    const usedMs = (after.used - before.used) / 1000;
    return [
      {
        workload: 'W23c',
        what: `processor time of the part of an agent that keeps ${COUNT} idle replicated volumes, over the time of one core`,
        ratio: ratio([usedMs], [ended - begun]),
        floor: 0.01,
        target: 0.005,
        larger: false,
        figures: `${usedMs.toFixed(0)} ms in ${((ended - begun) / 1000).toFixed(0)} s`,
      },
    ];
  } finally {
    await Promise.all([a.stop(), b.stop()]);
    rmSync(base, { recursive: true });
  }
}

type Node = ReturnType<typeof startNode>;
