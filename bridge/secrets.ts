import { createHash } from 'node:crypto';

import type { Client } from '../pkg/client/index.js';
import type { Logger } from '../pkg/log/index.js';
import { Secret } from '../pkg/secrets/index.js';
import { type MirrorSide, OvertakenFault, SideUnreadableFault } from './mirror-side.js';

/** A secret of the cluster that is copied, because it was named, and the path in Mooring's secrets store. */
export interface SecretMapping {
  readonly namespace: string;
  readonly name: string;
  readonly tenant: string;
  /** `<namespace>/<label>` */
  readonly path: string;
}

interface ClusterSecret {
  readonly metadata: { readonly uid: string; readonly resourceVersion: string };
  readonly data?: Readonly<Record<string, string>>;
}

interface Marks {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string };
  readonly data?: Readonly<Record<string, string>>;
}

/** What secrets are copied with. */
export interface SecretEnv {
  readonly cluster: MirrorSide;
  readonly connect: (tenant: string) => Client;
  readonly log: Logger;
  readonly checkLead: () => void;
  /** Where it is noted which version of a secret was copied: never anything of its values. */
  readonly notes: { readonly namespace: string; readonly name: string };
}

/** Copies a secret into the secrets store, when it has changed since. One that is gone in the cluster stays in Mooring. */
export async function copySecret(env: SecretEnv, mapping: SecretMapping): Promise<void> {
  const { namespace, name, tenant, path } = mapping;
  const key = formatSecretKey(mapping);
  const found = await env.cluster.find<ClusterSecret>(`/api/v1/namespaces/${namespace}/secrets`, name);
  if (!found)
    return env.log.warn(
      'a secret that is to be copied does not exist: create it in the cluster, or leave out its --secret',
      { key },
    );
  const mark = `${found.metadata.uid}/${found.metadata.resourceVersion}/${path.replace('/', '.')}`;
  // Of the tenant as well: what another one, or a new installation of Mooring, does not have was not copied.
  const noted = createHash('sha256').update(`${namespace}/${name}=${tenant}/${path}`).digest('hex').slice(0, 32);
  const notes = await readMarks(env);
  if (notes?.data?.[noted] === mark) return;
  const values = decode(found.data ?? {});
  if (!values)
    return env.log.warn(
      'a secret is not copied: a value is not text in UTF-8; store it as text, for example in base64',
      { key },
    );
  env.checkLead();
  const revealed = Object.fromEntries([...values].map(([each, value]) => [each, value.reveal()]));
  const answer = await env.connect(tenant).request('PUT', `/api/v1/secrets/${path}`, { body: { values: revealed } });
  if (!answer.ok) {
    env.log.warn('Mooring refused a secret: "moor explain" with this code says what to change', {
      key,
      code: answer.rejections[0].code,
    });
    throw new SideUnreadableFault(`Mooring refused ${path}: ${answer.rejections[0].code}`);
  }
  env.log.info('a secret was copied', { key, count: values.size });
  await writeMark(env, noted, mark);
}

/** For logs and the work queue. */
export function formatSecretKey({ namespace, name }: SecretMapping): string {
  return `${namespace}/secrets/${name}`;
}

function readMarks({ cluster, notes }: SecretEnv): Promise<Marks | undefined> {
  return cluster.find<Marks>(toPath(notes.namespace), notes.name);
}

function toPath(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/configmaps`;
}

const ATTEMPTS = 5;

/** Another secret may be noted at the same time: that must not make this one be copied again. */
async function writeMark(env: SecretEnv, noted: string, mark: string): Promise<void> {
  const { namespace, name } = env.notes;
  for (let attempt = 1; ; attempt++) {
    const found = await readMarks(env);
    const data = { ...found?.data, [noted]: mark };
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: found?.metadata ?? { name }, data };
    env.checkLead();
    try {
      const answer = found
        ? await env.cluster.request('PUT', `${toPath(namespace)}/${name}`, body)
        : await env.cluster.request('POST', toPath(namespace), body);
      if (!answer.ok) throw new SideUnreadableFault(`the ConfigMap ${name} was refused: ${answer.message}`);
      return;
    } catch (thrown) {
      if (!(thrown instanceof OvertakenFault) || attempt === ATTEMPTS) throw thrown;
    }
  }
}

/** Undefined when a value is not text. */
function decode(data: Readonly<Record<string, string>>): ReadonlyMap<string, Secret> | undefined {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    return new Map(
      Object.entries(data).map(([key, text]) => [key, new Secret(decoder.decode(Buffer.from(text, 'base64')))]),
    );
  } catch {
    return undefined;
  }
}
