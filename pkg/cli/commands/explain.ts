import { type ExampleRequest, getEntry, isRejectionCode } from '../../../crds/rejections/index.js';
import { exitCode, UsageFault } from '../exit-code.js';
import { deployments, findKind } from '../kinds.js';
import { type Cell, formatTable } from '../print/table.js';
import { formatDocument, stripControls } from '../print/text.js';
import type { Command } from '../session.js';
import type { CandidateView } from '../views.js';

/** Explains a rejection code, from the catalogue of this release, without a server. */
export const explain: Command<{ readonly code: string }> = async ({ terminal, ink }, { code }) => {
  if (!isRejectionCode(code))
    throw new UsageFault(`there is no code "${code}". A server lists all codes under /docs/codes.`);
  const { status, expected, why, remedy, example, fixed, sample } = getEntry(code);
  const rows: readonly (readonly [string, string])[] = [
    ['status', String(typeof status === 'function' ? status(sample) : status)],
    ['accepted', typeof expected === 'function' ? expected(sample) : expected],
    ['why', why],
    ['remedy', remedy],
  ];
  terminal.out(`${ink.bold(code)}\n`);
  for (const [name, text] of rows) terminal.out(`  ${ink.dim(name.padEnd(9))} ${text}\n`);
  terminal.out(
    `\n${ink.red('causes it:')}\n${await formatExample(example)}\n${ink.green('fixed:')}\n${await formatExample(fixed)}`,
  );
  return exitCode.ok;
};

async function formatExample(example: ExampleRequest): Promise<string> {
  const text = typeof example === 'string' ? `${example}\n` : await formatDocument(example, 'yaml');
  return text.replaceAll(/^(?=.)/gm, '  ');
}

interface Explanation {
  readonly deployment: string;
  readonly filters: readonly string[];
  readonly summary: string;
  readonly candidates: readonly CandidateView[];
}

/** Explains the placement of a deployment: a table of nodes and filters, and every reason. */
export const explainPlacement: Command<{ readonly kind: string; readonly name: string }> = async (session, input) => {
  if (findKind(input.kind).path !== deployments.path) {
    throw new UsageFault(`only deployments are placed: "moor explain deployment ${input.name}".`);
  }
  const client = await session.connect();
  const path = `${deployments.path}/${encodeURIComponent(input.name)}/explain`;
  const answer = await client.request<Explanation>('GET', path);
  if (!answer.ok) return session.reportRejection(answer);

  const { terminal, ink } = session;
  const { filters, summary, candidates } = answer.value;
  const refusing = filters.filter(filter => candidates.some(({ reasons }) => reasons.some(r => r.filter === filter)));
  terminal.out(`${stripControls(answer.value.deployment)}: ${stripControls(summary)}\n`);
  if (candidates.length === 0) return exitCode.ok;
  const titles = ['NODE', 'REPLICAS', 'RANK', ...refusing.map(filter => filter.toUpperCase())];
  const rows = candidates.map(candidate => [
    candidate.node,
    String(candidate.replicas),
    String(candidate.rank ?? '-'),
    ...refusing.map((filter): Cell => {
      const refuses = candidate.reasons.some(reason => reason.filter === filter);
      return refuses ? { text: 'no', paint: ink.red } : { text: 'ok', paint: ink.green };
    }),
  ]);
  terminal.out(formatTable(titles, rows));
  const lines = candidates.flatMap(({ node, whyHere, reasons }) => {
    if (whyHere !== undefined) return [`${node}: ${whyHere}`];
    return reasons.map(({ filter, message }) => `${node}: ${filter}: ${message}`);
  });
  terminal.out(lines.map(line => `${stripControls(line)}\n`).join(''));
  return exitCode.ok;
};
