/**
 * Stored documents that are not what they should be: written by another release, by hand, or damaged.
 *
 * A record is checked once, when it is first read, against what its readers count on. Members that are not as expected are
 * replaced by what does least, so that no reader of any process meets a document that it cannot work with; what was wrong
 * is returned beside it, for callers that must not act on a substitute.
 *
 *     const { document, fault } = repairRecord('nodes/t1/one', JSON.parse(bytes));
 *
 * Sealed secrets have checks of their own in `pkg/secrets`.
 *
 * @module
 */
import type { RepairContext, Repairer } from './repair.js';
import { records } from './records.js';
import { anything } from './shapes.js';

/** A document that can be worked with. */
export interface RepairedRecord {
  readonly document: unknown;
  /** What was wrong with it, for people. Absent when nothing was. */
  readonly fault?: string;
}

const byRange: ReadonlyMap<string, Repairer> = new Map(records);

/** The faults that are named of one record. */
const FAULTS_NAMED = 3;

/** The document of a key, repaired where that is needed. `undefined` stands for bytes that are not JSON. */
export function repairRecord(key: string, document: unknown): RepairedRecord {
  const { isSound, repair } = byRange.get(key.slice(0, key.indexOf('/') + 1) || key) ?? anything;
  if (document !== undefined && isSound(document, key)) return { document };
  const context: RepairContext = { key, faults: [] };
  const repaired = repair(document, context, '');
  if (document === undefined) return { document: repaired, fault: 'it is not JSON' };
  const named = context.faults.slice(0, FAULTS_NAMED).join(', ');
  const more = context.faults.length - FAULTS_NAMED;
  return { document: repaired, fault: more > 0 ? `${named} and ${more} more` : named };
}
