import type { VolumeView } from '../../../crds/volume/index.js';
import type { Client } from '../../client/index.js';
import { type ExitCode, exitCode, startDeadline, type WaitOptions } from '../../terminal/index.js';
import { volumes } from '../kinds.js';
import { startProgress } from '../print/progress.js';
import type { Session } from '../session.js';

/** What a volume shows of what is waited for: its end, how far it is, or nothing yet. */
export type VolumeStep =
  | { readonly done: string }
  | { readonly refused: string }
  | { readonly progress: string }
  | undefined;

/** Follows a volume until `look` finds an end, and shows how far it is; one that is deleted meanwhile is refused. */
export async function followVolume(
  session: Session,
  client: Client,
  { id, name }: VolumeView,
  options: WaitOptions,
  look: (volume: VolumeView) => VolumeStep,
): Promise<ExitCode> {
  const { terminal } = session;
  const deadline = startDeadline(terminal, options);
  const progress = startProgress(terminal);
  const refuse = (words: string): ExitCode => {
    progress.end();
    terminal.err(`volume/${name} ${words}\n`);
    return exitCode.refused;
  };
  try {
    for await (const change of client.watch<VolumeView>(volumes.path, { signal: deadline.signal })) {
      if (change.type === 'refused') return session.reportRejection(change.refusal);
      if (change.type === 'bookmark' || change.object.id !== id) continue;
      if (change.type === 'deleted') return refuse('is gone');
      if (change.object.phase === 'Deleting') return refuse('is being deleted');
      const step = look(change.object);
      if (!step) continue;
      if ('refused' in step) return refuse(step.refused);
      if ('progress' in step) {
        progress.show(`  ${step.progress}`);
        continue;
      }
      progress.end();
      terminal.out(`volume/${name} ${step.done}\n`);
      return exitCode.ok;
    }
    return deadline.passed ? exitCode.timedOut : exitCode.interrupted;
  } finally {
    progress.end();
    deadline.end();
  }
}
