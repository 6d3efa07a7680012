import { parse } from 'yaml';

import { rejectRequest, type RequestRejection } from '../http/reply.js';

/** Longer objects are sent as JSON, as every client does that is no person. */
const YAML_BYTES_MAX = 64 * 1024;

/** One document of YAML as JSON, without aliases: what it says is as long as what was sent. */
export function toJson(bytes: Buffer): Buffer | RequestRejection {
  const refuse = (problem: string) =>
    rejectRequest('request_malformed', 'body', '', { problem, form: 'one object, as JSON or as YAML' });
  if (bytes.length > YAML_BYTES_MAX) return refuse(`YAML may have ${YAML_BYTES_MAX} bytes, and JSON more`);
  try {
    const document: unknown = parse(bytes.toString('utf8'), { maxAliasCount: 0, logLevel: 'silent' });
    return Buffer.from(JSON.stringify(document ?? null));
  } catch {
    return refuse('the YAML cannot be read');
  }
}
