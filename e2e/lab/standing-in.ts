import type { ApiLab } from '../../api/api-lab.testing.js';
import type { StoredDeployment } from '../../crds/deployment/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { LogRequest } from '../../pkg/link/index.js';
import { create, value } from '../../pkg/store/index.js';

const NODE = `node_${'1'.repeat(26)}`;

/**
 * What agents and controllers do, for a lab that has none: one replica of a deployment runs and has these lines as its log,
 * and what is to be deleted is removed.
 */
export async function startStandingIn(
  lab: ApiLab,
  { name, uid, at }: { readonly name: string; readonly uid: string; readonly at: string },
  lines: readonly string[],
): Promise<() => void> {
  const nodeName = 'machine-1';
  const { text: token } = await lab.token({ kind: 'node', tenant: lab.a, node: NODE, nodeName });
  await create(lab.store, keys.alive(lab.a, nodeName), {});
  const image = 'registry.example.com/web:1';
  const replica: Replica = {
    uid: 'rep_0',
    tenant: lab.a,
    deployment: name,
    deploymentUid: uid,
    slot: 0,
    generation: 1,
    templateHash: 'h',
    template: { image, secretsVersion: 0 },
    nodeId: NODE,
    createdAt: at,
  };
  await create(lab.store, keys.replica(lab.a, name, 0), replica);
  const seen = { replica: 0, nodeId: NODE, nodeName, state: 'running', health: 'none', restarts: 0 };
  const placements = [{ ...seen, containerId: 'c1', image, generation: 1, since: at }];
  const condition = { type: 'Available', status: 'True', reason: 'running', message: '', lastTransitionTime: at };
  const conditions = [{ ...condition, observedGeneration: 1 }];
  const counts = {
    replicas: 1,
    readyReplicas: 1,
    updatedReplicas: 1,
    observedGeneration: 1,
    revision: 1,
    secretsVersion: 0,
  };
  const status = { uid, phase: 'Running', message: '', ...counts, placements, conditions };
  await create(lab.store, keys.status(lab.a, name), status);
  const event = {
    id: 'evt_placed',
    type: 'deployment.placed',
    at,
    lastSeenAt: at,
    count: 1,
    tenant: lab.a,
    subject: { kind: 'Deployment', name, id: uid },
    severity: 'info',
    reason: 'placed',
    message: `replica 0 on ${nodeName}`,
    data: { placements: [{ replica: 0, generation: 1, node: nodeName, nodeId: NODE }] },
  } as const satisfies StoredEvent;
  await create(lab.store, keys.event(lab.a, event.id), event);

  const answered = new Set<string>();
  const answer = async (request: LogRequest) => {
    const kept = request.tail === 0 ? [] : lines.slice(-request.tail);
    const printed = [...kept.map(text => ({ text: `${text}\n` })), { text: '', end: 'complete' }];
    const raw = printed.map(line => `${JSON.stringify({ stream: 'stdout', ...line })}\n`).join('');
    await lab.ask('POST', `/agent/v1/logs/${request.id}`, { token, raw });
  };
  const timer = setInterval(() => {
    for (const entry of lab.cache.list(ranges.logRequestsOf(lab.a, NODE))) {
      const request = value<LogRequest>(entry);
      if (answered.has(request.id)) continue;
      answered.add(request.id);
      void answer(request);
    }
    for (const entry of lab.cache.list(ranges.of(ranges.deployments, lab.a))) {
      const { metadata } = value<StoredDeployment>(entry);
      const isSeen = metadata.deletedAt === undefined || answered.has(metadata.uid);
      if (isSeen) continue;
      answered.add(metadata.uid);
      void lab.store.commit({ guards: [{ key: entry.key, at: entry.revision }], puts: [], deletes: [entry.key] });
    }
  }, 50);
  return () => clearInterval(timer);
}
