import type { Refusal, Rejection } from '../../client/index.js';
import type { Paint } from './paint.js';
import { plain } from './plain.js';

/** Where in a file a field stands, when the request was read from one. */
export type Locate = (field: string) => string | undefined;

/** Every reason why a request was refused, each with all that is needed to mend it. */
export function refusalText(refusal: Refusal, ink: Paint, locate: Locate = () => undefined): string {
  const { rejections } = refusal;
  const head = rejections.length === 1 ? 'refused' : `refused for ${rejections.length} reasons`;
  return `${ink.red(head)}\n${rejections.map(rejection => one(rejection, ink, locate)).join('')}`;
}

function one(rejection: Rejection, ink: Paint, locate: Locate): string {
  const place = locate(rejection.field);
  const field = rejection.field === '' ? '(the request)' : plain(rejection.field);
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['field', place === undefined ? field : `${field}  ${ink.dim(place)}`],
    ['received', plain(rejection.received)],
    ['expected', plain(rejection.expected)],
    ['why', plain(rejection.why)],
    ['fix', rejection.fix && JSON.stringify(rejection.fix)],
    ['see', plain(rejection.doc)],
  ];
  const body = rows
    .filter(([, text]) => text !== undefined && text !== '')
    .map(([name, text]) => `    ${ink.dim(name.padEnd(9))} ${text}\n`);
  return `  ${ink.bold(plain(rejection.code))}\n${body.join('')}`;
}
