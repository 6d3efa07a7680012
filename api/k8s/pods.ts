import type { DeploymentStatus, ReplicaStatus } from '../../crds/deployment/index.js';
import { defineColumns } from '../../crds/kind/index.js';
import { isFields } from '../http/body.js';
import type { KindReader } from '../routes/kind-routes.js';
import type { Subresource } from './discovery.js';
import { GROUP, type OwnView, toTimestamp } from './objects.js';
import { COMMON_FIELDS } from './selectors.js';
import type { ServedResource } from './served.js';

/** The one container of a pod. */
export const CONTAINER = 'main';

/** What a pod is called after: a deployment and one of its replicas. */
export interface PodName {
  readonly deployment: string;
  readonly replica: number;
}

const NAME = /^([a-z0-9](?:[a-z0-9-]{0,252}))-(0|[1-9]\d{0,6})$/;

/** `web-0` → the first replica of `web`. Undefined when no pod can be called so. */
export function parsePodName(text: string): PodName | undefined {
  const [, deployment, replica] = NAME.exec(text) ?? [];
  return deployment === undefined ? undefined : { deployment, replica: Number(replica) };
}

/** What the pod of a replica is called. */
export function toPodName(deployment: string, replica: number): string {
  return `${deployment}-${replica}`;
}

/** Another one for each generation: a recreated replica is another pod. */
export function toPodUid(deploymentUid: string, replica: number, generation: number): string {
  return `${deploymentUid}-${replica}-${generation}`;
}

/** The log of a pod. */
export const logOfPods: Subresource = {
  plural: 'pods',
  name: 'log',
  group: '',
  version: 'v1',
  kind: 'Pod',
  verbs: ['get'],
};

interface DeploymentView {
  readonly name: string;
  readonly image: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly metadata: { readonly tenant: string; readonly uid: string; readonly createdAt: string };
  readonly status?: Partial<DeploymentStatus> | null;
}

/** What the row of a pod is made from. */
interface PodView {
  readonly name: string;
  readonly since: string;
  readonly seen: ReplicaStatus;
}

/** The replicas of deployments as pods, to be read only: they are what the status of their deployment says of them. */
export function createPodResource(reader: KindReader): ServedResource {
  return {
    group: '',
    kind: 'Pod',
    plural: 'pods',
    singular: 'pod',
    shortNames: ['po'],
    categories: ['all'],
    isNamespaced: true,
    verbs: ['get', 'list', 'watch'],
    fields: [...COMMON_FIELDS, 'spec.nodeName', 'status.phase'],
    columns: defineColumns<PodView>([
      { title: 'NAME', value: ({ name }) => name },
      { title: 'READY', value: ({ seen }) => (isReady(seen) ? '1/1' : '0/1') },
      { title: 'STATUS', value: ({ seen }) => toStatusWord(seen) },
      { title: 'RESTARTS', value: ({ seen }) => String(seen.restarts) },
      { title: 'AGE', value: ({ since }) => since, format: 'age' },
      { title: 'NODE', isWide: true, value: ({ seen }) => seen.nodeName ?? '<none>' },
      { title: 'IMAGE', isWide: true, value: ({ seen }) => seen.image ?? '' },
    ]),
    reader,
    toStoredName: name => parsePodName(name)?.deployment,
    project: ({ entry, joined }, resourceVersion) => {
      const deployment = JSON.parse(reader.resource.view(entry, joined).toString()) as OwnView & DeploymentView;
      return listPlacements(deployment).map(seen => {
        const name = toPodName(deployment.name, seen.replica);
        const since = seen.since ?? deployment.metadata.createdAt;
        return { object: toPod(deployment, seen, { name, since, resourceVersion }), view: { name, since, seen } };
      });
    },
  };
}

/** Records of other releases, and damaged ones, are shown as far as they can be. */
function listPlacements({ status }: DeploymentView): readonly ReplicaStatus[] {
  const placements: unknown = status?.placements;
  return Array.isArray(placements) ? placements.filter(isPlacement) : [];
}

function isPlacement(seen: unknown): seen is ReplicaStatus {
  if (!isFields(seen)) return false;
  const { replica, state, since, nodeName, reason, lastEnd } = seen;
  const isText = (text: unknown) => text === undefined || typeof text === 'string';
  const isEnd = lastEnd === undefined || (isFields(lastEnd) && typeof lastEnd['at'] === 'string');
  return Number.isInteger(replica) && typeof state === 'string' && [since, nodeName, reason].every(isText) && isEnd;
}

interface PodFacts {
  readonly name: string;
  readonly since: string;
  readonly resourceVersion: string;
}

function toPod(deployment: DeploymentView, seen: ReplicaStatus, { name, since, resourceVersion }: PodFacts) {
  const { tenant, uid } = deployment.metadata;
  const image = seen.image ?? deployment.image;
  const ready = isReady(seen);
  const startTime = toTimestamp(since);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: tenant,
      uid: toPodUid(uid, seen.replica, seen.generation ?? 0),
      resourceVersion,
      creationTimestamp: startTime,
      labels: {
        ...deployment.labels,
        [`${GROUP}/deployment`]: deployment.name,
        [`${GROUP}/replica`]: String(seen.replica),
      },
      ownerReferences: [
        { apiVersion: `${GROUP}/v1`, kind: 'Deployment', name: deployment.name, uid, controller: true },
      ],
    },
    spec: {
      containers: [{ name: CONTAINER, image, resources: {} }],
      restartPolicy: 'Always',
      ...(seen.nodeName !== undefined && { nodeName: seen.nodeName }),
    },
    status: {
      phase: toPhase(seen),
      startTime,
      ...(seen.reason !== undefined && { reason: seen.reason, message: seen.message }),
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: startTime }],
      containerStatuses: [
        {
          name: CONTAINER,
          image,
          imageID: '',
          ready,
          restartCount: seen.restarts,
          ...(seen.containerId !== null && { containerID: `container://${seen.containerId}` }),
          state: toContainerState(seen, startTime),
          lastState: seen.lastEnd ? { terminated: toTerminated(seen.lastEnd) } : {},
        },
      ],
    },
  };
}

function isReady({ state, health }: ReplicaStatus): boolean {
  return state === 'running' && (health === 'none' || health === 'healthy');
}

/** In the words that people know from Kubernetes; why something is wrong, in ours. */
const WORDS: Readonly<Record<string, string>> = {
  unplaced: 'Pending',
  assigned: 'Pending',
  pulling: 'Pulling',
  creating: 'ContainerCreating',
  running: 'Running',
  exited: 'Exited',
  failed: 'Failed',
  stopping: 'Terminating',
  removed: 'Terminating',
};

function toStatusWord({ state, reason }: ReplicaStatus): string {
  const word = WORDS[state] ?? 'Unknown';
  return state === 'stopping' ? word : (reason ?? word);
}

function toPhase({ state, containerId }: ReplicaStatus): string {
  if (WORDS[state] === undefined) return 'Unknown';
  return state === 'running' || containerId !== null ? 'Running' : 'Pending';
}

function toContainerState(seen: ReplicaStatus, startedAt: string) {
  if (seen.state === 'running') return { running: { startedAt } };
  if (seen.state === 'exited' && seen.lastEnd) return { terminated: toTerminated(seen.lastEnd) };
  return { waiting: { reason: toStatusWord(seen), ...(seen.message !== undefined && { message: seen.message }) } };
}

/** Without what it wrote: that is its log. */
function toTerminated({ exitCode, at, oomKilled }: NonNullable<ReplicaStatus['lastEnd']>) {
  const reason = oomKilled ? 'OOMKilled' : exitCode === 0 ? 'Completed' : 'Error';
  return { exitCode, reason, finishedAt: toTimestamp(at) };
}
