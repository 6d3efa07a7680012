import type { DeploymentStep } from '../../../crds/deployment/index.js';
import { type ExampleRequest, getEntry, isRejectionCode } from '../../../crds/rejections/index.js';
import { findReason, formatRemedy } from '../../../crds/reasons/index.js';
import { exitCode, UsageFault } from '../../terminal/index.js';
import { deployments, findKind, jobs } from '../kinds.js';
import { type Cell, formatTable } from '../print/table.js';
import { formatDocument, paintState, stripControls } from '../print/text.js';
import type { Command } from '../session.js';
import type { CandidateView } from '../../../crds/scheduling/index.js';
import { formatStepList, listNodeReasons } from './describe-steps.js';

/** Explains a rejection code, or a reason of a status or an event, from the tables of this release, without a server. */
export const explain: Command<{ readonly code: string }> = async ({ terminal, ink }, { code }) => {
  const reason = findReason(code);
  if (reason) {
    terminal.out(`${ink.bold(code)}\n  ${ink.dim('means'.padEnd(9))} ${reason.meaning}\n`);
    const remedy = formatRemedy(code, '<name>');
    if (remedy !== undefined) terminal.out(`  ${ink.dim('remedy'.padEnd(9))} ${remedy}\n`);
    if (!isRejectionCode(code)) return exitCode.ok;
    terminal.out('\n');
  }
  if (!isRejectionCode(code)) {
    throw new UsageFault(`there is no code and no reason "${code}". A server lists all codes under /docs/codes.`);
  }
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
  readonly phase: string;
  readonly message: string;
  readonly steps: readonly DeploymentStep[];
  readonly outlook: string;
  readonly filters: readonly string[];
  readonly candidates: readonly CandidateView[];
}

/** Explains why a deployment or a job is not as asked: its steps, a table of nodes and filters, and every reason. */
export const explainPlacement: Command<{ readonly kind: string; readonly name: string }> = async (session, input) => {
  const { path: collection, pathOf } = findKind(input.kind);
  if (collection !== deployments.path && collection !== jobs.path) {
    throw new UsageFault(`only deployments and jobs are placed: "moor explain deployment ${input.name}".`);
  }
  const client = await session.connect();
  const answer = await client.request<Explanation>('GET', `${pathOf(input.name)}/explain`);
  if (!answer.ok) return session.reportRejection(answer);

  const { terminal, ink } = session;
  const { filters, candidates, phase, message, steps, outlook } = answer.value;
  const refusing = filters.filter(filter => candidates.some(({ reasons }) => reasons.some(r => r.filter === filter)));
  terminal.out(`${stripControls(input.name)}: ${paintState(ink, phase)}: ${stripControls(message)}\n`);
  terminal.out(formatStepList(steps, { ink, now: terminal.clock.now() }));
  terminal.out(`${ink.bold('Nodes:')} ${stripControls(outlook)}\n`);
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
  const here = candidates.flatMap(({ node, whyHere }) =>
    whyHere === undefined ? [] : [`${node}: has it: ${whyHere}`],
  );
  const lines = [...here, ...listNodeReasons(candidates).map(words => words.join(': '))];
  terminal.out(lines.map(line => `${stripControls(line)}\n`).join(''));
  return exitCode.ok;
};
