import { type ObjectName, splitKey } from '../../crds/keys/index.js';

/** What the queues of the loops carry for a deployment or a node: `<tenant>/<name>`. */
export function queueKey({ tenant, name }: ObjectName): string {
  return `${tenant}/${name}`;
}

/** The deployment or node that a queue key names. */
export function namedBy(key: string): ObjectName {
  const [tenant = '', name = ''] = key.split('/');
  return { tenant, name };
}

/** The queue key for what is stored at `<kind>/<tenant>/<name>` or below it. */
export function queueKeyOf(storeKey: string): string {
  const [tenant = '', name = ''] = splitKey(storeKey);
  return queueKey({ tenant, name });
}
