import type { Kind } from '../../crds/kind/index.js';
import type { KnownKind } from '../../crds/kinds/index.js';
import type { Client } from '../client/index.js';
import type { Describer } from './commands/describe-env.js';
import type { Command } from './session.js';

/**
 * What the command line does with objects of one kind beyond what follows from the descriptor of the kind. A kind without
 * an entry is listed, described, deleted, applied and completed by its descriptor.
 */
interface KindBehaviour {
  /** Describes an object in words of its own, and not by columns and schema. */
  readonly describe?: () => Promise<Describer<never>>;
  /** Answers the name by which the server knows an object, for another that people give it. */
  readonly resolveName?: () => Promise<(client: Client, given: string) => Promise<string>>;
  /** Deletes an object in steps of its own, and not by one request. */
  readonly remove?: () => Promise<Command<{ readonly name: string }>>;
  /** What `moor delete --force` gives up. Kinds without this refuse the option. */
  readonly gaveUpByForce?: string;
  /** What to do instead of changing an object that stays as it was created. */
  readonly recreation?: string;
  /** `moor get all` leaves it out: it is about others, or is not for everyone to see. */
  readonly isLeftOutOfAll?: true;
  /** Commands whose next word is the name of an object. */
  readonly commands?: readonly string[];
}

const STEERING = ['status', 'pause', 'resume', 'undo', 'history', 'restart'];

/** The one table of such behaviour, by the singular of the kind. Every entry is optional. */
const behaviours: { readonly [Singular in KnownKind['singular']]?: KindBehaviour } = {
  deployment: {
    describe: async () => (await import('./commands/describe-deployment.js')).describeDeployment,
    commands: [
      ...STEERING.map(word => `rollout ${word}`),
      'canary promote',
      'canary abort',
      'backup create',
      'status',
      'logs',
      'scale',
      'restart',
      'rotate',
      'history',
      'diff',
    ],
  },
  job: { describe: async () => (await import('./commands/describe-job.js')).describeJob },
  node: {
    describe: async () => (await import('./commands/describe-node.js')).describeNode,
    gaveUpByForce: 'the volumes that only they have',
    commands: ['nodes drain', 'nodes undrain', 'nodes fence'],
  },
  volume: {
    describe: async () => (await import('./commands/describe-volume.js')).describeVolume,
    recreation: 'delete it, with its bytes, when nothing mounts it any more, and apply again, or give it another name',
    commands: [
      ...['describe', 'grow', 'move', 'delete', 'replicas add', 'replicas remove'].map(word => `volumes ${word}`),
      ...['list', 'delete'].map(word => `volumes divergent ${word}`),
    ],
  },
  network: {
    describe: async () => (await import('./commands/describe-network.js')).describeNetwork,
    recreation: 'delete it when nothing joins it any more, and apply again, or give it another name',
    commands: ['networks delete'],
  },
  secret: {
    commands: ['secrets show', 'secrets write', 'secrets generate', 'secrets delete', 'secrets consumers'],
  },
  backup: { isLeftOutOfAll: true, commands: ['backup restore', 'backup export', 'backup delete'] },
  event: { isLeftOutOfAll: true },
  token: { isLeftOutOfAll: true, commands: ['tokens revoke'] },
  tenant: {
    resolveName: async () => (await import('./commands/tenants.js')).resolveTenantName,
    remove: async () => (await import('./commands/tenants.js')).deleteTenant,
    commands: ['tenants delete'],
  },
};

/** What is special about a kind on the command line; nothing for one that is not in the table. */
export function getBehaviour({ singular }: Kind): KindBehaviour {
  return (behaviours as Readonly<Record<string, KindBehaviour | undefined>>)[singular] ?? {};
}
