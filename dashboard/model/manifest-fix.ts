import { type Document, isMap, isScalar, isSeq, parseDocument, stringify } from 'yaml';

import type { PatchStep } from '../../crds/rejections/index.js';
import { applyJsonPatch, parsePointer } from '../../crds/rejections/json-patch.js';
import { readManifestText } from './manifest.js';

/** No line is folded, and brackets have no spaces inside. */
const AS_TYPED = { lineWidth: 0, flowCollectionPadding: false } as const;

/**
 * The text with a fix that the server has proposed, with its comments and in its order; undefined when it does not fit what the text
 * says by now.
 */
export function toFixedText(text: string, fix: readonly PatchStep[]): string | undefined {
  const { value } = readManifestText(text);
  const fixed = value && applyJsonPatch(value, fix);
  return fixed === undefined ? undefined : (editText(text, fix, fixed) ?? stringify(fixed));
}

/** The text with the steps of a patch; undefined where that does not come to what is wanted: an anchor stands for several places. */
function editText(text: string, fix: readonly PatchStep[], wanted: unknown): string | undefined {
  const document = parseDocument(text, { logLevel: 'silent' });
  try {
    for (const step of fix) applyStep(document, step);
    const edited = document.toString(AS_TYPED);
    return isSame(readManifestText(edited).value, wanted) ? edited : undefined;
  } catch {
    return undefined;
  }
}

/** What an anchor names is compared in each of its places. */
function isSame(one: unknown, other: unknown): boolean {
  const options = { sortMapEntries: true, aliasDuplicateObjects: false };
  const [a, b] = [one, other].map(value => stringify(value, options));
  return a === b;
}

function applyStep(document: Document, step: PatchStep): void {
  const path = parsePointer(step.path);
  if (step.op === 'remove') document.deleteIn(path);
  else if (step.op === 'move') move(document, parsePointer(step.from), path);
  else {
    const parent = document.getIn(path.slice(0, -1), true);
    if (step.op === 'replace' || !isSeq(parent)) document.setIn(path, toSettable(document, step.value));
    else {
      const name = path.at(-1);
      parent.items.splice(name === '-' ? parent.items.length : Number(name), 0, document.createNode(step.value));
    }
  }
}

/** A later step may go into what is a node; a scalar as it is keeps the comment of the one that it replaces. */
function toSettable(document: Document, value: unknown): unknown {
  return typeof value === 'object' ? document.createNode(value) : value;
}

/** A name that changes within its map stays where it is, unless the map has the new name already: then that one takes the value. */
function move(document: Document, from: readonly string[], to: readonly string[]): void {
  const isBeside = from.slice(0, -1).join('/') === to.slice(0, -1).join('/');
  const map = document.getIn(from.slice(0, -1), true);
  const pair = isMap(map) ? map.items.find(({ key }) => isScalar(key) && key.value === from.at(-1)) : undefined;
  if (isBeside && isScalar(pair?.key) && !document.hasIn(to)) {
    pair.key.value = to.at(-1);
    return;
  }
  const moved = document.getIn(from, true);
  document.deleteIn(from);
  document.setIn(to, moved);
}
