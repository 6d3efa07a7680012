import { setTimeout as pause } from 'node:timers/promises';

const LOOK_EVERY_MS = 50;

/** Asks again and again until there is an answer; an error of `ask` ends the waiting. */
export async function pollUntil<T>(what: string, withinMs: number, ask: () => Promise<T | undefined>): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > deadline) throw new Error(`gave up after ${withinMs} ms waiting for ${what}`);
    await pause(LOOK_EVERY_MS);
  }
}
