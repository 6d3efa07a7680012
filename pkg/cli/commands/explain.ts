import { exitCode } from '../exit-code.js';
import { plain } from '../print/plain.js';
import type { Command } from '../session.js';

/** Says what a rejection code means, in the words of the server's own catalogue. */
export const explain: Command<{ readonly code: string }> = async (session, { code }) => {
  const client = await session.connect();
  const answer = await client.request<Readonly<Record<string, unknown>>>(
    'GET',
    `/docs/codes/${encodeURIComponent(code)}`,
  );
  if (!answer.ok) return session.refused(answer);
  const { terminal, ink } = session;
  for (const [name, value] of Object.entries(answer.value)) {
    const text = typeof value === 'string' ? plain(value) : JSON.stringify(value);
    terminal.out(`${ink.bold(`${name}:`.padEnd(10))} ${text}\n`);
  }
  return exitCode.ok;
};
