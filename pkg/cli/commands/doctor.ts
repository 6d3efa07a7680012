import { formatCount } from '../../../crds/grammar/index.js';
import { judge } from '../doctor/judge.js';
import { collectObservations, type ObservationOptions } from '../doctor/observe.js';
import type { Finding } from '../doctor/observations.js';
import { exitCode, type Paint } from '../../terminal/index.js';
import { formatDocument, stripControls } from '../print/text.js';
import type { Command } from '../session.js';

interface DoctorInput extends ObservationOptions {
  readonly output: 'table' | 'json' | 'yaml';
  readonly json?: true;
}

/** Looks at the installation, and says of each part that it is well or what to do. Changes nothing. */
export const doctor: Command<DoctorInput> = async (session, { output, json, ...options }) => {
  const { terminal, ink } = session;
  const findings = judge(await collectObservations(session, options), terminal.clock.now());
  const problems = findings.filter(({ state }) => state === 'problem').length;
  const warnings = findings.filter(({ state }) => state === 'warning').length;
  const format = json ? 'json' : output;
  if (format === 'table') {
    for (const finding of findings) terminal.out(formatFinding(finding, ink));
    const rest = warnings > 0 ? `, ${formatCount(warnings, 'warning')}` : '';
    terminal.err(problems > 0 ? `${ink.red(formatCount(problems, 'problem'))}${rest}\n` : `no problem found${rest}\n`);
  } else terminal.out(await formatDocument({ ok: problems === 0, problems, warnings, findings }, format));
  return problems > 0 ? exitCode.refused : exitCode.ok;
};

const AREA_WIDTH = 14;

/** `ok       etcd          https://127.0.0.1:2379: etcd 3.5.21, 1.2MiB` */
function formatFinding({ state, area, message, remedy }: Finding, ink: Paint): string {
  const colours = { ok: ink.green, warning: ink.yellow, problem: ink.red, skipped: ink.dim };
  const head = `${colours[state](state.padEnd(9))}${area.padEnd(AREA_WIDTH)}${stripControls(message)}\n`;
  return remedy === undefined ? head : `${head}${' '.repeat(9 + AREA_WIDTH)}${ink.dim('→')} ${stripControls(remedy)}\n`;
}
