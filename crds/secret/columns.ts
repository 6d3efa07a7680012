import { defineColumns } from '../kind/index.js';

/** A credential as the API lists it. */
interface SecretView {
  readonly path: string;
  /** Null where the platform's own store does not hold it. */
  readonly version: number | null;
  readonly deployments: readonly string[];
  /** Those that have not ended; absent where there are none. */
  readonly jobs?: readonly string[];
  /** Absent while it is not being rotated. */
  readonly rotation?: { readonly phase: string; readonly holds: boolean };
}

/** What lists show of a secret. */
export const secretColumns = defineColumns<SecretView>([
  { title: 'PATH', value: ({ path }) => path },
  { title: 'VERSION', value: ({ version }) => (version === null ? '-' : String(version)) },
  {
    title: 'ROTATION',
    value: ({ rotation }) => (rotation ? `${rotation.phase}${rotation.holds ? '' : ' …'}` : '-'),
  },
  {
    title: 'USED BY',
    value: ({ deployments, jobs = [] }) => [...deployments, ...jobs.map(name => `job/${name}`)].join(', ') || '-',
  },
]);
