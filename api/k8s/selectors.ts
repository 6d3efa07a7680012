import type { QueryParams } from '../http/query.js';
import { rejectParameter } from '../http/query.js';
import { RequestRejection } from '../http/reply.js';
import type { KubernetesObject } from './objects.js';

/** Whether an object is selected. */
export type Selector = (object: KubernetesObject) => boolean;

const MAX_LENGTH = 4_096;
const KEY = '[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,316})';
const VALUE = '[A-Za-z0-9._-]{0,63}';
const EQUALS = new RegExp(`^(${KEY})\\s*(==|=|!=)\\s*(${VALUE})$`);
const SET = new RegExp(`^(${KEY})\\s+(in|notin)\\s*\\(([^()]{0,2048})\\)$`);
const EXISTS = new RegExp(`^(!?)\\s*(${KEY})$`);
const WORD = new RegExp(`^${VALUE}$`);

type Labels = Readonly<Record<string, string>>;

/** Reads a label selector: `app=web,tier in (front,back),!old`. Undefined when it is none. */
export function parseLabelSelector(text: string): ((labels: Labels) => boolean) | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const tests: ((labels: Labels) => boolean)[] = [];
  for (const part of splitRequirements(text)) {
    const test = parseRequirement(part.trim());
    if (!test) return undefined;
    tests.push(test);
  }
  return labels => tests.every(test => test(labels));
}

/** At commas, except within parentheses. */
function splitRequirements(text: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '(') depth++;
    else if (text[at] === ')') depth--;
    else if (text[at] === ',' && depth === 0) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return text.trim() === '' ? [] : [...parts, text.slice(from)];
}

function parseRequirement(part: string): ((labels: Labels) => boolean) | undefined {
  const [, key, operator, value] = EQUALS.exec(part) ?? [];
  if (key !== undefined) {
    return operator === '!=' ? labels => read(labels, key) !== value : labels => read(labels, key) === value;
  }
  const [, among, word, list = ''] = SET.exec(part) ?? [];
  if (among !== undefined) {
    const values = list.split(',').map(each => each.trim());
    if (!values.every(each => WORD.test(each))) return undefined;
    const isIn = (labels: Labels) => values.includes(read(labels, among) ?? '\0');
    return word === 'in' ? isIn : labels => !isIn(labels);
  }
  const [, not, present] = EXISTS.exec(part) ?? [];
  if (present === undefined) return undefined;
  return labels => (read(labels, present) !== undefined) === (not === '');
}

function read(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

const FIELD = /^([A-Za-z][A-Za-z.]{0,63})(==|=|!=)(.{0,253})$/;

/** Reads a field selector: `metadata.name=web,status.phase!=Running`, by the fields that a kind can be selected by. */
export function parseFieldSelector(text: string, known: readonly string[]): Selector | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const tests: Selector[] = [];
  for (const part of text === '' ? [] : text.split(',')) {
    const [, path = '', operator, value] = FIELD.exec(part.trim()) ?? [];
    if (!known.includes(path)) return undefined;
    tests.push(object => (readField(object, path) === value) === (operator !== '!='));
  }
  return object => tests.every(test => test(object));
}

function readField(object: KubernetesObject, path: string): string {
  let at: unknown = object;
  for (const name of path.split('.')) at = (at as Readonly<Record<string, unknown>> | undefined)?.[name];
  return typeof at === 'string' ? at : '';
}

/** The fields that objects of every kind can be selected by. */
export const COMMON_FIELDS: readonly string[] = ['metadata.name', 'metadata.namespace'];

/** What a request selects. */
export function readSelectors(query: QueryParams, fields: readonly string[]): Selector | RequestRejection {
  const labelText = query.get('labelSelector') ?? '';
  const byLabel = parseLabelSelector(labelText);
  if (!byLabel) return rejectParameter('labelSelector', labelText, 'a label selector, such as app=web,tier in (a,b)');
  const fieldText = query.get('fieldSelector') ?? '';
  const byField = parseFieldSelector(fieldText, fields);
  if (!byField) return rejectParameter('fieldSelector', fieldText, `a selector by ${fields.join(', ')}`);
  return object => byLabel(object.metadata.labels ?? {}) && byField(object);
}
