import type { Action } from './actions.js';
import type { JobView, Tone } from './views.js';

const TONES: Readonly<Record<string, Tone>> = {
  Succeeded: 'good',
  Failed: 'bad',
  Scheduled: 'quiet',
  Deleted: 'quiet',
};

/** How a phase of a job, of a run or of an attempt is shown. */
export function getJobTone(phase: string): Tone {
  return TONES[phase] ?? 'busy';
}

/** What can be done with a job. */
export function listJobActions({ name, schedule, metadata }: JobView): readonly Action[] {
  if (metadata.deletedAt !== undefined) return [];
  const what = schedule === undefined ? 'If it runs, it is stopped first.' : 'Its runs go with it.';
  return [
    {
      label: 'Delete',
      method: 'DELETE',
      path: `/api/v1/jobs/${encodeURIComponent(name)}`,
      question: `Delete ${name}? ${what}`,
    },
  ];
}
