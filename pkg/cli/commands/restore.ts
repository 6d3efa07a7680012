import { declareRestore, previewRestore } from '../../link/index.js';
import { exitCode, UsageFault } from '../../terminal/index.js';
import { readOperatorSettings, useStore } from '../operator-store.js';
import { renderPreview } from '../render-preview.js';
import type { Command } from '../session.js';

interface RestoreInput {
  /** `--<setting> <value>`, as the servers take them. */
  readonly settings: readonly string[];
  /** What only goes with --from. */
  readonly member: object;
  /** Shows what the declaration would do, and declares nothing. */
  readonly preview?: boolean;
}

const EXPLANATION = `Agents now take what etcd says even where they have seen a newer state. Containers that it does not know are removed;
replicas that it knows are started again. Watch it with: moor get deployments --watch
`;

/** Declares that etcd was restored from a backup. Servers, controllers and agents may run meanwhile. */
export const restore: Command<RestoreInput> = async (session, { settings: words, member, preview }) => {
  const { terminal, ink } = session;
  if (Object.keys(member).length > 0) throw new UsageFault('--data-dir and what describes a member need --from.');
  return useStore(session, readOperatorSettings(session, words), async store => {
    if (preview) {
      terminal.out(renderPreview(await previewRestore(store)));
      return exitCode.ok;
    }
    const { at } = await declareRestore(store, terminal.clock);
    terminal.out(`${ink.green('done:')} the restore is declared as of ${at}\n${EXPLANATION}`);
    return exitCode.ok;
  });
};
