/** The offset of a field in a document, or of its nearest ancestor: a missing field is reported where it belongs. */
export function findFieldOffset(
  nodeAt: (path: readonly (string | number)[]) => unknown,
  field: string,
): number | undefined {
  const path = parseFieldPath(field);
  for (let length = path.length; length > 0; length--) {
    const node = nodeAt(path.slice(0, length)) as { readonly range?: readonly number[] | null } | undefined;
    if (node?.range) return node.range[0];
  }
  return undefined;
}

/** `ports[0].containerPort` → `['ports', 0, 'containerPort']` */
function parseFieldPath(field: string): readonly (string | number)[] {
  return [...field.matchAll(/\[(\d+)\]|\["([^"]*)"\]|([^.[\]]+)/g)].map(([, index, quoted, name]) =>
    index === undefined ? (quoted ?? name ?? '') : Number(index),
  );
}
