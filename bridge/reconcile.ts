import type { Clock } from '../pkg/clock/index.js';
import { Fault } from '../pkg/fault/index.js';
import type { Logger } from '../pkg/log/index.js';
import type { MirrorSide, KubernetesAnswer } from './mirror-side.js';
import { SideUnreadableFault } from './mirror-side.js';
import {
  decideMirror,
  hold,
  type MirroredKind,
  type MirroredObject,
  type MirrorRecord,
  type MirrorStep,
  pin,
  prepare,
  release,
  type Side,
  toAdopted,
  toChanged,
  toCreated,
  toRecord,
} from './mirror.js';
import { composeStatus, type Findings, isSameStatus } from './status.js';

/** What objects are mirrored with. */
export interface MirrorEnv {
  readonly cluster: MirrorSide;
  /** The face of Mooring, which speaks the same protocol. */
  readonly mooring: MirrorSide;
  readonly clock: Clock;
  readonly log: Logger;
  /** Throws when another bridge may lead: asked before every write. */
  readonly checkLead: () => void;
}

/** One name on both sides. */
export interface MirrorTarget {
  readonly kind: MirroredKind;
  readonly namespace: string;
  readonly tenant: string;
  readonly name: string;
}

/** Kubernetes notes who has written which field. */
const MANAGER = '?fieldManager=mooring-bridge';
/** More steps than any way through the decisions has. */
const STEPS_MAX = 8;

/** The steps for one name do not come to an end: a bug, or a side that changes without pause. */
class RestlessFault extends Fault {
  readonly retriable = true;
}

/** Does what is to be done about one name, until nothing is. Answers what the cluster has, when that stands for what Mooring has. */
export async function reconcileObject(env: MirrorEnv, at: MirrorTarget): Promise<MirroredObject | undefined> {
  const path = `/apis/mooring.io/v1/namespaces/${at.namespace}/${at.kind.plural}`;
  const own = `/apis/mooring.io/v1/namespaces/${at.tenant}/${at.kind.plural}`;
  const paths = { cluster: path, mooring: own };
  for (let count = 0; count < STEPS_MAX; count++) {
    const cluster = (await env.cluster.find<MirroredObject>(path, at.name)) ?? 'absent';
    if (cluster === 'absent') return undefined;
    const mooring = await readSide(env.mooring, own, at.name);
    const step = decideMirror(at.kind, cluster, mooring);
    if (step.do === 'leave') return undefined;
    if (step.do === 'report') return report(env, paths, { kind: at.kind, step, cluster, mooring });
    env.log.info('bridge step', { key: formatKey(at), phase: step.do });
    const refused = await carryOut(env, at, paths, { step, cluster, mooring });
    if (refused) return undefined;
  }
  throw new RestlessFault(`${formatKey(at)} has taken ${STEPS_MAX} steps without coming to rest`);
}

async function readSide(api: MirrorSide, path: string, name: string): Promise<Side> {
  try {
    return (await api.find<MirroredObject>(path, name)) ?? 'absent';
  } catch (thrown) {
    if (thrown instanceof SideUnreadableFault) return 'unknown';
    throw thrown;
  }
}

interface Paths {
  readonly cluster: string;
  readonly mooring: string;
}

interface ReportInput {
  readonly kind: MirroredKind;
  readonly step: Extract<MirrorStep, { do: 'report' }>;
  readonly cluster: MirroredObject;
  readonly mooring: Side;
}

async function report(
  env: MirrorEnv,
  paths: Paths,
  { kind, step, cluster, mooring }: ReportInput,
): Promise<MirroredObject | undefined> {
  const isOwn = typeof mooring !== 'string' && !step.isConflict;
  // What has nothing to send any more was created as it is.
  const record = isOwn && step.synced === 'True' ? toRecord(kind, cluster, mooring) : undefined;
  await writeStatus(env, paths, cluster, { report: step, mooring: isOwn ? mooring : undefined, record });
  if (mooring === 'unknown') throw new SideUnreadableFault(`${paths.mooring} cannot be read`);
  return isOwn ? cluster : undefined;
}

interface PlannedStep {
  readonly step: Exclude<MirrorStep, { do: 'report' | 'leave' }>;
  readonly cluster: MirroredObject;
  readonly mooring: Side;
}

/** Takes one step. True when Mooring has refused it: nothing follows until something changes. */
async function carryOut(
  env: MirrorEnv,
  at: MirrorTarget,
  paths: Paths,
  { step, cluster, mooring }: PlannedStep,
): Promise<boolean> {
  env.checkLead();
  const { name } = at;
  const one = `${paths.mooring}/${name}`;
  switch (step.do) {
    case 'prepare':
      await replace(env, paths, prepare(cluster));
      return false;
    case 'hold':
      await replace(env, paths, hold(cluster));
      return false;
    case 'adopt': {
      // At the version that was read: of two clusters that claim it, one has it.
      const answer = await askMooring(env, paths, cluster, 'PUT', one, toAdopted(cluster, mooring as MirroredObject));
      return !answer.ok && answer.status !== 404 && settle(env, paths, cluster, answer);
    }
    case 'pin':
      await replace(env, paths, pin(cluster, step.uid));
      return false;
    case 'release':
      await replace(env, paths, release(cluster));
      return false;
    case 'delete': {
      const preconditions = { uid: step.uid };
      const answer = await askMooring(env, paths, cluster, 'DELETE', one, {
        kind: 'DeleteOptions',
        apiVersion: 'v1',
        preconditions,
      });
      return !answer.ok && answer.status !== 404 && settle(env, paths, cluster, answer);
    }
    case 'create': {
      const answer = await askMooring(env, paths, cluster, 'POST', paths.mooring, toCreated(at.kind, cluster));
      if (!answer.ok) return settle(env, paths, cluster, answer);
      env.checkLead();
      const pinned = await replace(env, paths, pin(cluster, answer.value.metadata.uid));
      if (pinned) await recordSent(env, paths, pinned, toRecord(at.kind, pinned, answer.value), answer.value);
      return false;
    }
    case 'update': {
      const wanted = toChanged(at.kind, cluster, mooring as MirroredObject);
      const answer = await askMooring(env, paths, cluster, 'PUT', one, wanted);
      if (!answer.ok) return settle(env, paths, cluster, answer);
      await recordSent(env, paths, cluster, toRecord(at.kind, cluster, answer.value), answer.value);
      return false;
    }
  }
}

/** Asks Mooring for a change. Where it may read and not write, or does not answer, the status says so. */
async function askMooring(
  env: MirrorEnv,
  paths: Paths,
  cluster: MirroredObject,
  ...[method, path, body]: readonly [method: string, path: string, body: object]
): Promise<KubernetesAnswer<MirroredObject>> {
  try {
    return await env.mooring.request<MirroredObject>(method, path, body);
  } catch (thrown) {
    if (!(thrown instanceof SideUnreadableFault)) throw thrown;
    const message =
      'Mooring did not answer a change, or does not allow it to the token of the bridge; it is tried again.';
    await writeStatus(env, paths, cluster, { report: { synced: 'Unknown', reason: 'MooringUnwritable', message } });
    throw thrown;
  }
}

async function recordSent(
  env: MirrorEnv,
  paths: Paths,
  cluster: MirroredObject,
  record: MirrorRecord,
  mooring: MirroredObject,
): Promise<void> {
  const syncReport = { synced: 'True', reason: 'Synced', message: 'Mooring has what is asked for here.' } as const;
  await writeStatus(env, paths, cluster, { report: syncReport, mooring, record });
}

/** Reports why Mooring refused. It is asked again when something changes, and with every resync. */
async function settle(
  env: MirrorEnv,
  paths: Paths,
  cluster: MirroredObject,
  refused: Extract<KubernetesAnswer<unknown>, { ok: false }>,
): Promise<true> {
  const { reason, message } = refused;
  env.log.warn('Mooring refused an object of the cluster: its condition Admitted says what to change', {
    key: `${paths.cluster}/${cluster.metadata.name}`,
    code: reason,
  });
  const syncReport = {
    synced: 'False',
    reason: 'Refused',
    message: 'Mooring does not accept it: see Admitted.',
  } as const;
  await writeStatus(env, paths, cluster, { report: syncReport, rejection: { reason, message } });
  return true;
}

/** Undefined when the object is gone. */
async function replace(env: MirrorEnv, paths: Paths, object: MirroredObject): Promise<MirroredObject | undefined> {
  const path = `${paths.cluster}/${object.metadata.name}${MANAGER}`;
  const answer = await env.cluster.request<MirroredObject>('PUT', path, object);
  if (answer.ok) return answer.value;
  if (answer.status === 404) return undefined;
  throw new SideUnreadableFault(`PUT ${path} was refused: ${answer.message}`);
}

async function writeStatus(env: MirrorEnv, paths: Paths, cluster: MirroredObject, findings: Findings): Promise<void> {
  const now = new Date(env.clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
  const status = composeStatus(cluster, findings, now);
  if (isSameStatus(status, cluster.status)) return;
  env.checkLead();
  const path = `${paths.cluster}/${cluster.metadata.name}/status${MANAGER}`;
  const answer = await env.cluster.request('PUT', path, { ...cluster, status });
  if (!answer.ok && answer.status !== 404) throw new SideUnreadableFault(`PUT ${path} was refused: ${answer.message}`);
}

/** For logs and the work queue. */
export function formatKey({ namespace, kind, name }: MirrorTarget): string {
  return `${namespace}/${kind.plural}/${name}`;
}
