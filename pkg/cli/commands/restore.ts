import { loadSettings, readArguments } from '../../config/index.js';
import { declareRestore } from '../../link/index.js';
import { createLogger } from '../../log/index.js';
import { openEtcdStore, StoreUnavailableFault } from '../../store/index.js';
import { exitCode } from '../exit-code.js';
import type { Command } from '../session.js';

interface RestoreInput {
  /** `--<setting> <value>`, as the servers take them. */
  readonly settings: readonly string[];
}

const EXPLANATION = `Agents now take what etcd says even where they have seen newer generations. Containers that it does not know are removed;
replicas that it knows are started again. Watch it with: moor get deployments --watch
`;

/** Declares that etcd was restored from a backup. Servers, controllers and agents may run meanwhile. */
export const restore: Command<RestoreInput> = async ({ terminal, ink }, { settings: words }) => {
  const { flags, file } = readArguments(words);
  const { settings } = loadSettings({ environment: terminal.environment, flags, file });
  const log = createLogger({ level: 'error', format: 'pretty' });
  const store = openEtcdStore(settings, { ...terminal, log });
  try {
    const { at } = await declareRestore(store, terminal.clock);
    terminal.out(`${ink.green('done:')} the restore is declared as of ${at}\n${EXPLANATION}`);
    return exitCode.ok;
  } catch (thrown) {
    if (!(thrown instanceof StoreUnavailableFault)) throw thrown;
    terminal.err(`moor: etcd cannot be reached at ${settings.etcdEndpoints.join(', ')}; --etcd-endpoints names it.\n`);
    return exitCode.unreachable;
  } finally {
    await store.close();
  }
};
