import type { Answer, Client } from '../client/index.js';
import type { Declared } from './documents.js';
import { UsageFault } from './faults.js';
import type { Alteration, Warning } from '../../crds/rule/index.js';
import type { DeploymentView } from './views.js';

/** What the server says that a write would come to. */
export interface TrialView {
  readonly change: 'create' | 'update' | 'delete' | 'none';
  readonly object: Readonly<Record<string, unknown>>;
  readonly alterations: readonly Alteration[];
  readonly warnings: readonly Warning[];
  readonly recreated?: readonly { readonly replica: number }[];
  readonly secrets?: readonly {
    readonly path: string;
    readonly resolves: boolean;
    readonly missing: readonly string[];
  }[];
  readonly placement?: { readonly able: number; readonly next: readonly string[]; readonly unplaced: number };
}

const COLLECTIONS: Readonly<Record<string, string>> = { Deployment: '/api/v1/deployments', Job: '/api/v1/jobs' };

/** Where objects of the declared kind are. A document without a kind is left to the server to judge. */
function collectionOf(declared: Declared): string {
  return COLLECTIONS[kindOf(declared)] ?? '';
}

function kindOf({ value }: Declared): string {
  const { kind = 'Deployment' } = value;
  return typeof kind === 'string' ? kind : '';
}

/** Refuses what cannot even be sent anywhere. */
export function checkDeclared(declared: Declared): void {
  const { kind, name } = declared.value;
  if (collectionOf(declared) === '') {
    const known = Object.keys(COLLECTIONS).join(' and ');
    throw new UsageFault(`${declared.place}: kind ${JSON.stringify(kind)} cannot be applied. Known are ${known}.`);
  }
  if (typeof name !== 'string' || name === '') throw new UsageFault(`${declared.place}: must have a name.`);
}

/** What a person calls the object: `deployment/web`. */
export function titleOf(declared: Declared): string {
  return `${kindOf(declared).toLowerCase()}/${String(declared.value['name'])}`;
}

/** The object as the server holds it now; undefined when there is none. */
export async function standing(client: Client, declared: Declared): Promise<Answer<DeploymentView | undefined>> {
  if (declared.value['kind'] === 'Job') return { ok: true, status: 200, value: undefined };
  const answer = await client.request<DeploymentView>('GET', pathOf(declared));
  return answer.ok || answer.status !== 404 ? answer : { ok: true, status: 200, value: undefined };
}

/** Sends a document: a change where there is an object already, a new one otherwise. */
export function send<T>(
  client: Client,
  declared: Declared,
  exists: boolean,
  options: { readonly dryRun?: boolean } = {},
): Promise<Answer<T>> {
  const query = options.dryRun ? { dryRun: true } : {};
  const request = { body: declared.value, query };
  return exists
    ? client.request<T>('PUT', pathOf(declared), request)
    : client.request<T>('POST', collectionOf(declared), request);
}

function pathOf(declared: Declared): string {
  return `${collectionOf(declared)}/${encodeURIComponent(String(declared.value['name']))}`;
}
