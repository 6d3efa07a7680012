import { type Rejection, type Rejections, toRejectionAnswer } from '../crds/rejections/index.js';
import { type Headers, json, type WholeReply } from './reply.js';

/** A request that is not carried out, with every reason. A value: whoever meets one hands it back. */
export class Refused {
  readonly rejections: Rejections;
  readonly headers: Headers;

  constructor(rejections: Rejection | Rejections, headers: Headers = {}) {
    this.rejections = 'code' in rejections ? [rejections] : rejections;
    this.headers = headers;
  }
}

/** With every answer that a later one may replace. */
const SOON: Headers = { 'retry-after': '1' };

/** The answer to a refused request: the first rejection, and the list of all. */
export function refusalReply({ rejections, headers }: Refused, baseUrl: string): WholeReply {
  const { status, body } = toRejectionAnswer(rejections, baseUrl);
  return json(status, body, status === 503 ? { ...SOON, ...headers } : headers);
}
