/** The results of all runs of a fault on clusters of one size. */
export interface FaultRow {
  readonly fault: string;
  readonly members: number;
  runs: number;
  operations: number;
  unknown: number;
  lost: number;
  doubled: number;
  /** Of the other promises: refused, linearizable, fenced, tails, leases. */
  others: number;
  /** The longest. */
  resumedAfterMs: number;
}

/** A fault that was not run, and so says nothing. */
export interface MissedFault {
  readonly fault: string;
  readonly members: number;
  readonly because: string;
}

export interface ChaosResult {
  readonly rows: readonly FaultRow[];
  readonly missed: readonly MissedFault[];
  /** Each broken promise, in words. */
  readonly failures: readonly string[];
  /** Whether it was stopped before all faults had their turn. */
  readonly isCutShort: boolean;
}

const HEAD = ['fault', 'members', 'runs', 'operations', 'unknown', 'lost', 'doubled', 'others', 'resumed after'];
const FAILURES_SHOWN = 50;

const count = (many: number, noun: string) => `${many} ${noun}${many === 1 ? '' : 's'}`;

export function describeRun(fault: string, members: number): string {
  return `${fault} on ${count(members, 'member')}`;
}

/** The table, what was broken, and the verdict in the last line. What was not run stands in the table too. */
export function formatChaosResult(result: ChaosResult): string {
  const ran = result.rows.map(row => [
    row.fault,
    ...[row.members, row.runs, row.operations, row.unknown, row.lost, row.doubled, row.others].map(String),
    `${(row.resumedAfterMs / 1_000).toFixed(1)} s`,
  ]);
  const missed = result.missed.map(({ fault, members }) => [
    fault,
    String(members),
    '0',
    ...HEAD.slice(3, -1).map(() => '-'),
    'not run',
  ]);
  const lines = [HEAD, ...ran, ...missed];
  const widths = HEAD.map((_, column) => Math.max(...lines.map(line => line[column]!.length)));
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!);
  return [
    ...lines.map(line => line.map(pad).join('  ')),
    '',
    ...result.missed.map(({ fault, members, because }) => `NOT RUN ${describeRun(fault, members)}: ${because}`),
    ...result.failures.slice(0, FAILURES_SHOWN).map(failure => `BROKEN ${failure}`),
    formatVerdict(result),
  ].join('\n');
}

/** Only a run in which every fault had its turn may say that every promise was kept. */
function formatVerdict({ missed, failures, isCutShort }: ChaosResult): string {
  const parts = [
    ...(failures.length > 0 ? [count(failures.length, 'broken promise')] : []),
    ...(missed.length > 0 ? [`${count(missed.length, 'fault')} ${missed.length === 1 ? 'was' : 'were'} not run`] : []),
    ...(isCutShort ? ['ended before it was finished'] : []),
  ];
  return parts.length === 0 ? 'every promise was kept' : parts.join(', ');
}
