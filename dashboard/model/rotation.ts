import type { Action } from './actions.js';
import type { ShownRotationPhase } from './views.js';

const PHASES = ['stage', 'promote', 'verify', 'retire'];

/** One phase, as far as the rotation is. */
export interface PhaseStep {
  readonly name: string;
  readonly state: 'done' | 'waiting' | 'pending';
}

/** The phases in order; all of them are ahead while nothing is rotated. */
export function listPhaseSteps({ phase, holds }: Pick<ShownRotationPhase, 'phase' | 'holds'>): readonly PhaseStep[] {
  const at = PHASES.indexOf(phase);
  return PHASES.map((name, position) => ({
    name,
    state: position < at || (position === at && holds) ? 'done' : position === at ? 'waiting' : 'pending',
  }));
}

const QUESTIONS: Readonly<Record<string, string>> = {
  stage: 'Begin a rotation? A new version is made beside the one in use; nothing uses it yet.',
  promote: 'Promote? Containers are replaced and get the new version; the old one stays valid.',
  retire: 'Retire? The old version is destroyed, and there is no way back to it.',
};

/** What can be asked for now: the next phase as soon as the present one holds, and the way back until the old version goes. */
export function listRotationActions(deployment: string, view: ShownRotationPhase): readonly Action[] {
  const ask = (label: string, phase: string): Action => ({
    label,
    method: 'POST',
    path: `/api/v1/deployments/${encodeURIComponent(deployment)}/secrets/rotate`,
    body: { phase, secret: view.secret },
    ...(QUESTIONS[phase] !== undefined && { question: QUESTIONS[phase] }),
  });
  const isOpen = view.phase !== 'idle' && view.phase !== 'retire';
  const next = view.holds ? [{ ...ask(`Next: ${view.next}`, view.next), isNext: view.phase !== 'idle' }] : [];
  return view.isAborting ? [] : [...next, ...(isOpen ? [ask('Abort', 'abort')] : [])];
}
