import { type CellContext, formatPairs } from '../kinds.js';
import { type Fact, formatEvents, formatFacts, formatSection } from '../print/sections.js';
import { choosePaint, formatAge } from '../print/text.js';
import type { EventView, JobView } from '../views.js';

/** A job: what is asked for, how far it is, its attempts and its events. */
export function describeJob(view: JobView, events: readonly EventView[], look: CellContext): string {
  const { metadata, status, environment = {}, resources = {}, secrets = [] } = view;
  const { limits, ...requests } = resources;
  const { ink, now } = look;
  const facts: readonly Fact[] = [
    ['Name', view.name],
    ['Uid', metadata.uid],
    ['Phase', status.phase, choosePaint(ink, status.phase)],
    ['Message', status.message],
    ['Exit code', status.exitCode === undefined ? undefined : String(status.exitCode)],
    ['Attempts', `${status.attempts} of ${view.backoffLimit + 1}`],
    ['Next attempt', status.retryAt],
    ['Created', `${metadata.createdAt} (${formatAge(metadata.createdAt, now)} ago)`],
    ['Started', status.startedAt],
    ['Finished', status.finishedAt],
    ['Image', view.image],
    ['Entrypoint', view.entrypoint?.join(' ')],
    ['Command', view.command?.join(' ')],
    ['Node', view.nodeId],
    ['Time limit', view.timeoutSeconds === undefined ? undefined : `${view.timeoutSeconds}s an attempt`],
    ['Kept', view.ttlSecondsAfterFinished === undefined ? undefined : `${view.ttlSecondsAfterFinished}s after its end`],
    ['Requests', formatPairs(requests as Record<string, string>)],
    ['Limits', limits && formatPairs(limits as Record<string, string>)],
    ['Environment', formatPairs(environment)],
    ['Secrets', secrets.map(({ name, vault_path: path }) => `${name} from ${path}`).join(', ')],
  ];
  const rows = status.history.map(({ attempt, state, exitCode, nodeName, nodeId, startedAt, reason, message }) => [
    String(attempt),
    state,
    String(exitCode ?? ''),
    nodeName ?? nodeId ?? '',
    formatAge(startedAt, now),
    [reason, message].filter(Boolean).join(': '),
  ]);
  return [
    formatFacts(facts, look),
    formatSection('Attempts', ['ATTEMPT', 'STATE', 'EXIT', 'NODE', 'STARTED', 'WHY'], rows, ink.bold),
    formatEvents(events, look),
  ].join('');
}
