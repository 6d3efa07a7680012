import type { EtcdProcess } from '../../dev/processes/index.js';
import { type Change, create, EtcdStore, type Store } from '../../pkg/store/index.js';
import { runEtcdLimit, isGoLimitAvailable, type LimitQuestion, type Transaction } from './etcd-limit.js';
import { type LoadResult, quantile } from './rounds.js';

/** Which client asked etcd for its limit: part of the result. */
export async function buildLimitClient(): Promise<string> {
  return (await isGoLimitAvailable()) ? 'Go clientv3' : 'our own client, one transaction a call (Go is not installed)';
}

/** etcd's own limit for one transaction a call: through its Go client where Go is present, else through our own client. */
export async function measureLimit(etcd: EtcdProcess, question: Omit<LimitQuestion, 'endpoint'>): Promise<LoadResult> {
  const asked = { ...question, endpoint: etcd.endpoint };
  return (await isGoLimitAvailable()) ? runEtcdLimit(asked) : wireLimit(asked);
}

/** Each client is a store of its own with one change under way, so that no two travel together. */
async function wireLimit({ endpoint, clients, seconds, transaction }: LimitQuestion): Promise<LoadResult> {
  const stores = Array.from({ length: clients }, () => new EtcdStore({ endpoints: [endpoint], prefix: '/limit/' }));
  const change = await changes(stores[0]!, transaction);
  const times: number[] = [];
  let failures = 0;
  const begun = performance.now();
  const end = begun + seconds * 1_000;
  await Promise.all(
    stores.map(async (store, client) => {
      for (let n = 0; performance.now() < end; n++) {
        const sentAt = performance.now();
        const { stored } = await store.commit(change(`${client}/${n}`));
        if (!stored) failures++;
        times.push(performance.now() - sentAt);
      }
    }),
  );
  const took = (performance.now() - begun) / 1_000;
  await Promise.all(stores.map(store => store.close()));
  return { perSecond: times.length / took, p50: quantile(times, 0.5), p99: quantile(times, 0.99), failures };
}

/** Makes the change of one operation, by its name. */
async function changes(
  store: Store,
  { puts, keys = [], parent, lease }: Transaction,
): Promise<(name: string) => Change> {
  const { id } = await store.grant(3_600);
  if (parent) await create(store, 'parent', {});
  return name => {
    const documents = puts.map((size, i) => ({
      key: `${i}/${name}`.padEnd(keys[i] ?? 0, 'k'),
      bytes: Buffer.alloc(size, 120),
      ...(lease && i === puts.length - 1 && { lease: id }),
    }));
    const guards = [{ key: documents[0]!.key, at: 0 }, ...(parent ? [{ key: 'parent', exists: true } as const] : [])];
    return { guards, puts: documents, deletes: [] };
  };
}
