import { getPhaseTone } from './troubles.js';
import type { DeploymentView, Tone } from './views.js';

/** A deployment or a credential in the drawing. */
export interface RelatedNode {
  readonly key: string;
  readonly label: string;
  readonly note: string;
  readonly tone: Tone;
  /** Where its page is; undefined for what has none. */
  readonly href: string | undefined;
  readonly x: number;
  readonly y: number;
}

/** An arrow from what is needed to what needs it. */
export interface RelatedEdge {
  readonly from: RelatedNode;
  readonly to: RelatedNode;
  readonly label: string;
}

/** What a deployment needs and what needs it, laid out from left to right. */
export interface Relations {
  readonly nodes: readonly RelatedNode[];
  readonly edges: readonly RelatedEdge[];
  readonly width: number;
  readonly height: number;
  /** What was left out, where there is no end of it. */
  readonly more: number;
}

/** A box and the room around it. */
export const BOX = { width: 190, height: 44, across: 250, down: 58 } as const;
const MOST = 40;
const FAR = 3;

type Needs = readonly { readonly name: string; readonly condition?: string }[];
interface PlacedBox {
  readonly depth: number;
  readonly label: string;
}

/** The relations of one deployment: dependencies to its left, as far as they go, those that depend on it to its right. */
export function drawRelations(
  name: string,
  deployments: ReadonlyMap<string, Pick<DeploymentView, 'name' | 'dependsOn' | 'secrets' | 'status'>>,
): Relations {
  const needsOf = (of: string): Needs => deployments.get(of)?.dependsOn ?? [];
  const neededBy = new Map<string, string[]>();
  for (const { name: consumer, dependsOn = [] } of deployments.values())
    for (const { name: needed } of dependsOn) neededBy.set(needed, [...(neededBy.get(needed) ?? []), consumer]);

  const placed = new Map<string, PlacedBox>([[`d ${name}`, { depth: 0, label: name }]]);
  const edges = new Map<string, readonly [string, string, string]>();
  let more = 0;
  const place = (key: string, depth: number, label: string): boolean => {
    if (placed.has(key)) return false;
    if (placed.size >= MOST) {
      more++;
      return false;
    }
    placed.set(key, { depth, label });
    return true;
  };
  const link = (from: string, to: string, label: string) => {
    if (placed.has(from) && placed.has(to)) edges.set(`${from} > ${to}`, [from, to, label]);
  };
  const walk = (direction: -1 | 1) => {
    let front = [name];
    for (let depth = 1; depth <= FAR && front.length > 0; depth++) {
      const next: string[] = [];
      for (const at of front) {
        const near = direction < 0 ? needsOf(at).map(each => each.name) : (neededBy.get(at) ?? []);
        for (const other of near) if (place(`d ${other}`, direction * depth, other)) next.push(other);
      }
      front = next;
    }
  };
  walk(-1);
  walk(1);
  for (const { vault_path: path } of deployments.get(name)?.secrets ?? []) {
    place(`s ${path}`, -1, path);
    link(`s ${path}`, `d ${name}`, 'reads');
  }
  for (const { label: consumer } of placed.values())
    for (const { name: needed, condition = 'healthy' } of needsOf(consumer))
      link(`d ${needed}`, `d ${consumer}`, condition);
  return { ...layOut(placed, edges, deployments, name), more };
}

function layOut(
  placed: ReadonlyMap<string, PlacedBox>,
  edges: ReadonlyMap<string, readonly [string, string, string]>,
  deployments: ReadonlyMap<string, Pick<DeploymentView, 'status'>>,
  self: string,
): Omit<Relations, 'more'> {
  const depths = [...new Set([...placed.values()].map(({ depth }) => depth))].sort((a, b) => a - b);
  const columns = new Map(depths.map((depth, at) => [depth, { x: at * BOX.across, count: 0 }]));
  const nodes = new Map<string, RelatedNode>();
  for (const [key, { depth, label }] of placed) {
    const column = columns.get(depth)!;
    const isSecret = key.startsWith('s ');
    const found = deployments.get(label);
    const phase = found?.status?.phase ?? 'Pending';
    const known = found ? { note: phase, tone: getPhaseTone(phase) } : { note: 'does not exist', tone: 'bad' as const };
    nodes.set(key, {
      key,
      label,
      ...(isSecret ? { note: 'credential', tone: 'quiet' as const } : known),
      href: isSecret ? '#/secrets' : found && label !== self ? `#/deployments/${encodeURIComponent(label)}` : undefined,
      x: column.x,
      y: column.count++ * BOX.down,
    });
  }
  const tallest = Math.max(...[...columns.values()].map(({ count }) => count));
  return {
    nodes: [...nodes.values()],
    edges: [...edges.values()].map(([from, to, label]) => ({ from: nodes.get(from)!, to: nodes.get(to)!, label })),
    width: (depths.length - 1) * BOX.across + BOX.width,
    height: (tallest - 1) * BOX.down + BOX.height,
  };
}
