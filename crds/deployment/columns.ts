import { defineColumns } from '../kind/index.js';
import type { DeploymentStatus, StoredDeployment } from './deployment.js';
import { getStatedReplicas } from './stated-replicas.js';

interface DeploymentView extends StoredDeployment {
  /** None until the status roller has looked at it. */
  readonly status?: DeploymentStatus | null;
}

/** What lists show of a deployment. */
export const deploymentColumns = defineColumns<DeploymentView>([
  { title: 'NAME', value: ({ name }) => name },
  { title: 'READY', value: view => `${view.status?.readyReplicas ?? 0}/${getStatedReplicas(view)}` },
  { title: 'PHASE', value: ({ status }) => status?.phase ?? 'Pending', format: 'state' },
  { title: 'AGE', value: ({ metadata }) => metadata.createdAt, format: 'age' },
  { title: 'IMAGE', value: ({ image }) => image },
  { title: 'GENERATION', isWide: true, value: ({ metadata }) => String(metadata.generation) },
  { title: 'UID', isWide: true, value: ({ metadata }) => metadata.uid },
  {
    title: 'MESSAGE',
    isWide: true,
    value: ({ status }) => status?.message ?? '',
    isWarning: ({ status }) => status?.phase !== undefined && status.phase !== 'Running' && status.phase !== 'Stopped',
  },
]);
