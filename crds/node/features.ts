/** What a node may lack, because its engine cannot do it, and what that is called for people. */
export const nodeFeatures = {
  volumes: 'volumes on disk',
  networks: 'networks of tenants',
  host_ports: 'host ports',
  named_users: 'users by name, and root',
  pid_limits: 'limits of processes',
  pre_stop: 'commands before a stop',
} as const;

export type NodeFeature = keyof typeof nodeFeatures;

/** Features in words: an agent of a later release may lack what this one has no word for. */
export function describeFeatures(features: readonly string[]): string {
  const words: Readonly<Record<string, string>> = nodeFeatures;
  return features.map(feature => words[feature] ?? feature).join(', ');
}
