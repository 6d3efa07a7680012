import { exitCode } from '../exit-code.js';
import { UsageFault } from '../faults.js';
import { deployments, kindCalled } from '../kinds.js';
import { type Cell, table } from '../print/table.js';
import { plain } from '../print/plain.js';
import type { Command } from '../session.js';

/** What the server says about one node. */
interface Candidate {
  readonly node: string;
  readonly replicas: number;
  readonly rank: number | null;
  readonly reasons: readonly { readonly filter: string; readonly message: string }[];
  readonly whyHere?: string;
}

interface Explanation {
  readonly deployment: string;
  readonly filters: readonly string[];
  readonly summary: string;
  readonly candidates: readonly Candidate[];
}

/** Says why a deployment is where it is, and why not elsewhere: a table of nodes and filters, and every reason. */
export const explainPlacement: Command<{ readonly kind: string; readonly name: string }> = async (session, input) => {
  if (kindCalled(input.kind).path !== deployments.path) {
    throw new UsageFault(`only deployments are placed: "moor explain deployment ${input.name}".`);
  }
  const client = await session.connect();
  const path = `${deployments.path}/${encodeURIComponent(input.name)}/explain`;
  const answer = await client.request<Explanation>('GET', path);
  if (!answer.ok) return session.refused(answer);

  const { terminal, ink } = session;
  const { filters, summary, candidates } = answer.value;
  const refusing = filters.filter(filter => candidates.some(({ reasons }) => reasons.some(r => r.filter === filter)));
  terminal.out(`${plain(answer.value.deployment)}: ${plain(summary)}\n`);
  if (candidates.length === 0) return exitCode.ok;
  const titles = ['NODE', 'REPLICAS', 'RANK', ...refusing.map(filter => filter.toUpperCase())];
  const rows = candidates.map(candidate => [
    { text: candidate.node },
    { text: String(candidate.replicas) },
    { text: candidate.rank === null ? '-' : String(candidate.rank) },
    ...refusing.map((filter): Cell => {
      const refuses = candidate.reasons.some(reason => reason.filter === filter);
      return refuses ? { text: 'no', paint: ink.red } : { text: 'ok', paint: ink.green };
    }),
  ]);
  terminal.out(table(titles, rows));
  const words = candidates.flatMap(({ node, whyHere, reasons }) => {
    if (whyHere !== undefined) return [`${node}: ${whyHere}`];
    return reasons.map(({ filter, message }) => `${node}: ${filter}: ${message}`);
  });
  terminal.out(words.map(line => `${plain(line)}\n`).join(''));
  return exitCode.ok;
};
