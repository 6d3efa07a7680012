import { loadSettings, readArguments, type Settings } from '../config/index.js';
import { createLogger } from '../log/index.js';
import { openEtcdStore, type Store, StoreUnavailableFault } from '../store/index.js';
import { type ExitCode, exitCode } from '../terminal/index.js';
import type { Session } from './session.js';

/** The settings of the servers, as `--<setting> <value>`, the environment and `--config` name them. */
export function readOperatorSettings({ terminal }: Session, words: readonly string[]): Settings {
  const { flags, file } = readArguments(words);
  return loadSettings({ environment: terminal.environment, flags, file }).settings;
}

/** Works on etcd itself, and says so when it cannot be reached. */
export async function useStore(
  { terminal }: Session,
  settings: Settings,
  work: (store: Store) => Promise<ExitCode>,
): Promise<ExitCode> {
  const log = createLogger({ level: 'error', format: 'pretty' });
  const store = openEtcdStore(settings, { ...terminal, log });
  try {
    return await work(store);
  } catch (thrown) {
    if (!(thrown instanceof StoreUnavailableFault)) throw thrown;
    terminal.err(`moor: etcd cannot be reached at ${settings.etcdEndpoints.join(', ')}; --etcd-endpoints names it.\n`);
    return exitCode.unreachable;
  } finally {
    await store.close();
  }
}
