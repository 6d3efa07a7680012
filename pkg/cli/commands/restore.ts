import { declareRestore, listConfirmed, previewRestore, type RestorePreview } from '../../link/index.js';
import type { Store } from '../../store/index.js';
import { type ExitCode, exitCode, UsageFault } from '../../terminal/index.js';
import { readOperatorSettings, useStore } from '../operator-store.js';
import { describeSilent, hasNews, listSilent, renderPreview } from '../render-preview.js';
import type { Command, Session } from '../session.js';

interface RestoreInput {
  /** `--<setting> <value>`, as the servers take them. */
  readonly settings: readonly string[];
  /** What only goes with --from. */
  readonly member: object;
  /** Shows what the declaration would do, and declares nothing. */
  readonly preview?: boolean;
  /** The digest of what was shown. */
  readonly confirm?: string;
  /** Nodes that are left out. */
  readonly without?: readonly string[];
}

const EXPLANATION = `Agents now take what etcd says even where they have seen a newer state. Containers that it does not know are removed;
replicas that it knows are started again. Watch it with: moor get deployments --watch
A node where anything would go that was not shown goes on holding: moor admin restore --preview
`;
const QUESTION = 'Declare this? [y/N] ';

/** Declares that etcd was restored from a backup. Servers, controllers and agents may run meanwhile. */
export const restore: Command<RestoreInput> = async (session, input) => {
  const { terminal } = session;
  if (Object.keys(input.member).length > 0) throw new UsageFault('--data-dir and what describes a member need --from.');
  const settings = readOperatorSettings(session, input.settings);
  return useStore(session, settings, async store => {
    const preview = await previewRestore(store, settings);
    const { without = [] } = input;
    const unknown = without.filter(name => preview.nodes.every(node => node.name !== name));
    if (unknown.length > 0) throw new UsageFault(`there is no node ${unknown.join(', ')}, which --without names.`);
    if (input.preview) {
      terminal.out(renderPreview(preview, without));
      return exitCode.ok;
    }
    // Where nothing was set back agents compare, find nothing that would go, and go on.
    const isIntact = preview.setBack === undefined && !preview.nodes.some(hasNews);
    if (isIntact) return declare(session, store, preview);
    const silent = listSilent(preview).filter(name => !without.includes(name));
    if (silent.length > 0) return refuse(session, describeSilent(silent));
    return input.confirm === undefined
      ? askAndDeclare(session, store, input, preview)
      : declareShown(session, store, input, input.confirm);
  });
};

async function askAndDeclare(
  session: Session,
  store: Store,
  input: RestoreInput,
  preview: RestorePreview,
): Promise<ExitCode> {
  const { terminal } = session;
  if (preview.nodes.some(hasNews)) {
    terminal.out(renderPreview(preview, input.without));
    if (!(await terminal.confirm(QUESTION)))
      return refuse(session, 'Nothing was declared: look at what is shown, and declare it with --confirm.');
  }
  return declareShown(session, store, input, preview.digest);
}

/** Declares what was shown, and nothing else: agents compare it once more. */
async function declareShown(
  session: Session,
  store: Store,
  { settings, without = [] }: RestoreInput,
  shown: string,
): Promise<ExitCode> {
  const now = await previewRestore(store, readOperatorSettings(session, settings));
  if (now.digest !== shown)
    return refuse(
      session,
      'What the nodes report is not what was shown, or has changed since: nothing was declared. Look at it again with --preview.',
    );
  return declare(session, store, { ...now, nodes: now.nodes.filter(({ name }) => !without.includes(name)) });
}

async function declare({ terminal, ink }: Session, store: Store, preview: RestorePreview): Promise<ExitCode> {
  const { at } = await declareRestore(store, terminal.clock, listConfirmed(preview));
  terminal.out(`${ink.green('done:')} the restore is declared as of ${at}\n${EXPLANATION}`);
  return exitCode.ok;
}

function refuse({ terminal, ink }: Session, why: string): ExitCode {
  terminal.err(`${ink.red('not declared:')} ${why}\n`);
  return exitCode.refused;
}
