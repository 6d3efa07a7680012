import { setTimeout as pause } from 'node:timers/promises';

import type { ApiAnswer } from '../../pkg/client/index.js';

/** Asks again and again until the answer is something; after `withinMs` fails with what was being waited for. */
export async function until<T>(what: string, ask: () => Promise<T | undefined | false>, withinMs = 30_000): Promise<T> {
  const end = Date.now() + withinMs;
  let lastError: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    if (Date.now() > end) throw new Error(`gave up after ${withinMs} ms waiting for ${what}`, { cause: lastError });
    await pause(50);
  }
}

/** The value of an answer that must not be a refusal. */
export function taken<T>(answer: ApiAnswer<T>): T {
  if (answer.ok) return answer.value;
  throw new Error(
    `refused with ${answer.status}: ${answer.rejections.map(({ code, field }) => `${code} (${field})`).join(', ')}`,
  );
}
