import type { NodePreview, RestorePreview } from '../link/index.js';

const EFFECTS = [
  ['containers', 'containers that would be removed or replaced'],
  ['removed', 'volumes whose bytes would be removed'],
  ['demoted', 'volumes that become a copy there (what it holds of them would be set aside)'],
  ['discarded', 'volumes of which what was set aside earlier would be removed'],
  ['newer', 'volumes that are newer there than etcd knows (they stay, and nothing may use them)'],
  ['unknown', 'volumes that etcd does not have there (their bytes stay on the disk, and nothing uses them)'],
] as const;

const SECRETS = `Credentials that were written after the backup are lost in etcd: containers there still have them, and those that replace them get what
etcd has. Write the values that are valid now before you declare it: "moor secrets write", then "moor restart" what uses them.`;

/** What `moor admin restore --preview` prints: what a declaration would do, node by node, and how exactly that is declared. */
export function renderPreview(preview: RestorePreview, without: readonly string[] = []): string {
  const { setBack, nodes, hasOwnSecrets, digest } = preview;
  const found = setBack
    ? `etcd was set back: it is known to have been at revision ${setBack.revision}, and was found at ${setBack.found} (${setBack.at}).`
    : 'No newer state of etcd than this one is known, or it was declared already.';
  const lines = [found, ...nodes.flatMap(describeNode)];
  if (hasOwnSecrets) lines.push('Secrets are kept outside of etcd: none of them was set back.');
  if (nodes.some(({ secrets }) => secrets.length > 0)) lines.push(SECRETS);
  const silent = listSilent(preview);
  if (silent.length > 0) lines.push(describeSilent(silent));
  const names = [...new Set([...silent, ...without])].map(name => ` --without ${name}`).join('');
  return `${[...lines, `Nothing was declared. To declare just this: moor admin restore --confirm ${digest}${names}`].join('\n')}\n`;
}

/** The nodes of which it is not known what would go. */
export function listSilent({ nodes }: RestorePreview): readonly string[] {
  return nodes.flatMap(({ name, hasAnswered }) => (hasAnswered ? [] : [name]));
}

/** What to do about nodes that have not answered. */
export function describeSilent(names: readonly string[]): string {
  return `What would go on ${names.join(', ')} is not known: wait until every agent has answered. Or leave nodes out with --without: they go on holding when they are back, until it is declared again with what they have reported.`;
}

/** Whether anything is shown of a node that is to be looked at before the restore is declared. */
export function hasNews({ setBack, secrets }: NodePreview): boolean {
  return secrets.length > 0 || (setBack !== undefined && EFFECTS.some(([kind]) => setBack[kind].length > 0));
}

function describeNode(node: NodePreview): readonly string[] {
  const { volumes = [], more = 0 } = node.removedVolumes ?? {};
  const names = volumes.map(({ name, volume }) => (volume === undefined ? name : `${volume} (${name})`));
  const kept = [...names, ...(more > 0 ? [`and ${more} more`] : [])].join(', ');
  return [
    ...describeEffects(node),
    ...(kept === '' ? [] : [`  removed volumes that can be brought back there: ${kept}`]),
  ];
}

function describeEffects({ tenant, name, hasAnswered, setBack, secrets }: NodePreview): readonly string[] {
  const title = `node ${name} (tenant ${tenant})`;
  if (!hasAnswered) return [`${title}: has not answered`];
  if (!setBack) return [`${title}: does not hold, and does what etcd says`];
  const effects = EFFECTS.flatMap(([kind, words]) =>
    setBack[kind].length > 0 ? [`  ${words}: ${setBack[kind].join(', ')}`] : [],
  );
  const rotated = secrets.map(({ path, given, stored }) => {
    const known = stored === 0 ? 'etcd has none' : `etcd has ${stored}`;
    return `${path} (version ${given}, ${known})`;
  });
  if (rotated.length > 0)
    effects.push(`  credentials of which containers there have a later version: ${rotated.join(', ')}`);
  const more = setBack.more === undefined ? [] : [`  and ${setBack.more} more, which a declaration covers too`];
  return effects.length > 0 ? [`${title}:`, ...effects, ...more] : [`${title}: nothing would go`];
}
