import { LineCounter, parseDocument, stringify } from 'yaml';

import type { PatchStep } from '../../crds/rejections/index.js';
import { findFieldOffset } from '../../crds/rejections/field-offset.js';
import type { DeploymentView, NodeView } from './views.js';

/** Something that is wrong with a text, beside the line that it is about. */
export interface LineProblem {
  readonly line: number;
  readonly text: string;
  readonly code?: string;
  readonly fix?: readonly PatchStep[] | undefined;
  /** Where to go on instead. */
  readonly instead?: { readonly href: string; readonly text: string } | undefined;
}

/** What the server has refused, as far as it is shown. */
interface ManifestRejection {
  readonly code: string;
  readonly field: string;
  readonly expected?: string;
  readonly why?: string;
  readonly fix?: readonly PatchStep[];
}

/** A text that declares a deployment: what it says, or why it cannot be read. */
export interface ManifestText {
  readonly value: Readonly<Record<string, unknown>> | undefined;
  readonly problems: readonly LineProblem[];
  /** The line of a field, or of what it would stand in. */
  readonly findLine: (field: string) => number;
}

/** Reads what was typed. A document that is being typed is often wrong: that is an answer, never an error. */
export function readManifestText(text: string): ManifestText {
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter, logLevel: 'silent' });
  const lineOf = (offset: number) => Math.max(1, counter.linePos(offset).line);
  const findLine = (field: string) => {
    const offset = findFieldOffset(path => document.getIn(path, true), field);
    return offset === undefined ? 1 : lineOf(offset);
  };
  const problems = document.errors.map(({ pos, message }) => ({
    line: lineOf(pos[0]),
    text: message.split('\n')[0] ?? '',
  }));
  if (problems.length > 0) return { value: undefined, problems, findLine };
  const value = toValue(document);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return { value: value as Readonly<Record<string, unknown>>, problems, findLine };
  }
  return { value: undefined, problems: [{ line: 1, text: 'must be a map with kind, name and image' }], findLine };
}

function toValue(document: { toJS(): unknown }): unknown {
  try {
    return document.toJS();
  } catch {
    return undefined;
  }
}

/** What is wrong with a text: why it cannot be read, and what the server has refused in it. */
export function listLineProblems(
  { problems, findLine, value }: ManifestText,
  rejections: readonly ManifestRejection[],
): readonly LineProblem[] {
  const name = typeof value?.['name'] === 'string' ? value['name'] : '';
  const refused = rejections.map(({ code, field, expected, why, fix }) => ({
    line: findLine(field),
    code,
    fix,
    instead: code === 'deployment_already_exists' ? toChange(name) : undefined,
    text: `${field}: ${expected ? `expected ${expected}. ` : ''}${why ?? ''}`,
  }));
  return [...problems, ...refused].toSorted((a, b) => a.line - b.line);
}

/** None for half a character, which may be typed while the refusal of another name is shown: no address can have it. */
function toChange(name: string): LineProblem['instead'] {
  if (/\p{Surrogate}/u.test(name)) return undefined;
  return { href: `#/deployments/${encodeURIComponent(name)}/edit`, text: `Change ${name} instead` };
}

/** A deployment as a text to change: what was asked for, without what the server has added. */
export function toManifestText(deployment: DeploymentView): string {
  const { status: _, metadata: __, secretsVersion: ___, kind, name, image, replicas, placement, ...spec } = deployment;
  const { labels: ____, ...asked } = placement ?? {};
  return stringify({
    kind,
    name,
    image,
    replicas,
    ...spec,
    ...(Object.keys(asked).length > 0 && { placement: asked }),
  });
}

/** What to send so that a deployment becomes what the text says: what was removed from the text is removed there. */
export function toReplacingBody(
  sent: Readonly<Record<string, unknown>>,
  stored: DeploymentView | undefined,
): Readonly<Record<string, unknown>> {
  if (!stored) return sent;
  const before = readManifestText(toManifestText(stored)).value ?? {};
  const removed = Object.keys(before).filter(field => !Object.hasOwn(sent, field));
  return { ...sent, ...Object.fromEntries(removed.map(field => [field, null])) };
}

const RECREATED_SHOWN = 20;

/** Which containers a change replaces, and where each of them is. */
export function describeRecreated(
  recreated: readonly { readonly replica: number; readonly nodeId: string | null }[],
  nodes: Iterable<Pick<NodeView, 'id' | 'name'>>,
): string {
  if (recreated.length === 0) return 'No container is recreated.';
  const names = new Map([...nodes].map(({ id, name }) => [id, name]));
  const parts = recreated.slice(0, RECREATED_SHOWN).map(({ replica, nodeId }) => {
    const where = nodeId === null ? ', which has no node yet' : ` on ${names.get(nodeId) ?? nodeId}`;
    return `replica ${replica}${where}`;
  });
  const more = recreated.length > parts.length ? [`and ${recreated.length - parts.length} more`] : [];
  return `Recreated: ${[...parts, ...more].join(', ')}.`;
}

type DeclaredImage = Pick<DeploymentView, 'image'> & {
  readonly metadata: Pick<DeploymentView['metadata'], 'createdAt'>;
};

/** What a new deployment begins with: a name that no other has, and the image of the one that was declared last. */
export function draftManifest(deployments: ReadonlyMap<string, DeclaredImage>): string {
  let name = 'web';
  for (let next = 2; deployments.has(name); next++) name = `web-${next}`;
  const last = [...deployments.values()].reduce<DeclaredImage | undefined>(
    (found, each) => (found && found.metadata.createdAt >= each.metadata.createdAt ? found : each),
    undefined,
  );
  const image = last?.image ?? '# where nodes pull it from, with its tag: registry.example/team/web:1.0.0';
  return `kind: Deployment
name: ${name}
image: ${image}
replicas: 1
resources:
  cpu: 50m
  memory: 16Mi
`;
}
