import { formatCount } from '../../crds/grammar/index.js';
import type { RestorePreview } from '../link/index.js';

type NodePreview = RestorePreview['nodes'][number];

const EFFECTS = [
  ['containers', 'containers that would be removed or replaced'],
  ['removed', 'volumes whose bytes would be removed'],
  ['newer', 'volumes that are newer there than etcd knows (they stay, and nothing may use them)'],
  ['unknown', 'volumes that etcd does not have there (their bytes stay on the disk, and nothing uses them)'],
] as const;

/** What `moor admin restore --preview` prints: what a declaration would do, node by node. */
export function renderPreview({ setBack, nodes }: RestorePreview): string {
  const found = setBack
    ? `etcd was set back: it is known to have been at revision ${setBack.revision}, and was found at ${setBack.found} (${setBack.at}).`
    : 'Nobody has seen a newer state of etcd than this one, or that was declared already.';
  const lines = [found, ...nodes.flatMap(describeNode)];
  const silent = nodes.filter(({ isPresent }) => !isPresent).length;
  if (silent > 0)
    lines.push(`What ${formatCount(silent, 'node')} would remove is not known: wait until its agent is heard.`);
  return `${[...lines, 'Nothing was declared. To declare it: moor admin restore'].join('\n')}\n`;
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

function describeEffects({ tenant, name, isPresent, setBack }: NodePreview): readonly string[] {
  const title = `node ${name} (tenant ${tenant})`;
  if (!isPresent) return [`${title}: sends no heartbeats`];
  if (!setBack) return [`${title}: does not hold, and does what etcd says`];
  const effects = EFFECTS.flatMap(([kind, words]) =>
    setBack[kind].length > 0 ? [`  ${words}: ${setBack[kind].join(', ')}`] : [],
  );
  const more = setBack.more === undefined ? [] : [`  and ${setBack.more} more`];
  return effects.length > 0 ? [`${title}:`, ...effects, ...more] : [`${title}: nothing would go`];
}
