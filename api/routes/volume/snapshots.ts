import { rejectSnapshot, rejectSnapshotLookup } from '../../../crds/snapshot/index.js';
import { readRestoreEpoch } from '../../../pkg/link/index.js';
import { listPage, PAGE_QUERY } from '../../http/listing.js';
import { RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, type Route, type RouteResult, type StorageEnv } from '../../http/route.js';
import { findNamedVolume } from './view.js';

const SNAPSHOTS = '/api/v1/tenants/{tenant}/volumes/{id}/snapshots';

type SnapshotEnv = Pick<StorageEnv, 'cache'>;

/** Snapshots: there are none, and none can be made. */
export function createSnapshotRoutes(env: SnapshotEnv): readonly Route[] {
  const chosen = { tenant: 'chosen' } as const;
  return [
    defineRoute('viewer', 'GET', SNAPSHOTS, call => listSnapshots(env, call), { ...chosen, query: PAGE_QUERY }),
    defineRoute('viewer', 'GET', `${SNAPSHOTS}/{snap}`, call => showSnapshot(env, call), chosen),
    // No body can succeed, so none is looked at.
    defineRoute('deployer', 'POST', SNAPSHOTS, ({ params }) => new RequestRejection([rejectSnapshot(params['id']!)]), {
      ...chosen,
      body: 'none',
      grows: false,
    }),
  ];
}

async function listSnapshots(env: SnapshotEnv, call: ApiCall): Promise<RouteResult> {
  await env.cache.barrier();
  const volume = findNamedVolume(env.cache, call);
  if (volume instanceof RequestRejection) return volume;
  const source = { entries: [], revision: env.cache.revision, prefix: '', view: () => Buffer.alloc(0) };
  return listPage(call, { ...source, epoch: readRestoreEpoch(env.cache) });
}

async function showSnapshot(env: SnapshotEnv, call: ApiCall): Promise<RouteResult> {
  await env.cache.barrier();
  const volume = findNamedVolume(env.cache, call);
  return volume instanceof RequestRejection
    ? volume
    : new RequestRejection([rejectSnapshotLookup(call.params['snap']!)]);
}
