import { reject, type Rejection } from '../rejections/index.js';
import type { Alteration } from '../rule/index.js';

/**
 * How large a deployment or a job may be as it is stored. One write may hold it twice, in its record and in its archive, beside the
 * alterations, which are limited likewise: together half of what etcd takes in one request with its default settings.
 */
export const WORKLOAD_BYTES_MAX = 256 * 1024;

/**
 * Refuses a document that is too large to be stored, at its largest field. One that was stored by an earlier version, and
 * does not grow, is accepted: it can be scaled and made smaller.
 */
export function rejectOversized(
  spec: object,
  alterations: readonly Alteration[],
  before?: object,
): Rejection | undefined {
  if (boundBytes(spec) + boundBytes(alterations) <= WORKLOAD_BYTES_MAX) return undefined;
  const bytes = measure(spec);
  if (bytes > WORKLOAD_BYTES_MAX && !(before && bytes <= measure(before))) {
    return refuse(findLargest(Object.entries(spec)), bytes);
  }
  const announced = measure(alterations);
  if (announced <= WORKLOAD_BYTES_MAX) return undefined;
  return refuse(findLargest(alterations.map(({ field, from, to }) => [field, [from, to]])), announced);
}

function refuse(field: string, bytes: number): Rejection {
  return reject('document_too_large', field, `${bytes} bytes`, { max: WORKLOAD_BYTES_MAX });
}

function measure(document: unknown): number {
  return Buffer.byteLength(JSON.stringify(document));
}

/** How many bytes a character of a string takes at most: as `\u0000`. */
const BYTES_PER_CHARACTER = 6;
/** The longest number, with what stands around a value: quotes, a colon, a comma. */
const BYTES_PER_VALUE = 32;

/** No document measures more than this. Nearly all are so small that this is known without writing them down. */
function boundBytes(value: unknown): number {
  if (typeof value === 'string') return BYTES_PER_VALUE + BYTES_PER_CHARACTER * value.length;
  let bytes = BYTES_PER_VALUE;
  if (Array.isArray(value)) for (const entry of value) bytes += boundBytes(entry);
  else if (typeof value === 'object' && value !== null) {
    const parts = value as Readonly<Record<string, unknown>>;
    for (const name in parts) bytes += BYTES_PER_CHARACTER * name.length + boundBytes(parts[name]);
  }
  return bytes;
}

function findLargest(parts: readonly (readonly [name: string, part: unknown])[]): string {
  const sizes = parts.map(([name, part]) => ({ name, bytes: part === undefined ? 0 : measure(part) }));
  return sizes.reduce((largest, each) => (each.bytes > largest.bytes ? each : largest)).name;
}
