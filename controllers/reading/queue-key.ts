import { type ObjectName, splitKey } from '../../crds/keys/index.js';

/** The queue key of a deployment, a node or a rotation: `<tenant>/<name>`. */
export function formatQueueKey({ tenant, name }: ObjectName): string {
  return `${tenant}/${name}`;
}

/** The object that a queue key names. */
export function parseQueueKey(key: string): ObjectName {
  const [tenant = '', name = ''] = key.split('/');
  return { tenant, name };
}

/** The queue key for what is stored at `<kind>/<tenant>/<name>` or below it. */
export function deriveQueueKey(storeKey: string): string {
  const [tenant = '', name = ''] = splitKey(storeKey);
  return formatQueueKey({ tenant, name });
}
