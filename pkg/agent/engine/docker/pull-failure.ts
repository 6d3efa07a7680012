import { ImagePullFault, type PullFailure } from '../engine.js';

/** What engines write, and what it means. The first that matches counts: a full disk stands inside other messages. */
const forms: readonly (readonly [form: RegExp, failure: PullFailure])[] = [
  [/no space left on device|disk quota exceeded/i, 'disk_full'],
  [/toomanyrequests|too many requests|\b429\b|rate limit/i, 'rate_limited'],
  [/no matching manifest for|no match for platform/i, 'wrong_platform'],
  [/x509|tls: |http response to https client|certificate/i, 'untrusted'],
  [/timeout|timed out|deadline exceeded/i, 'timed_out'],
  [/denied|unauthorized|authentication required|no basic auth credentials|forbidden|\b40[13]\b/i, 'denied'],
  [/dial tcp|no such host|connection refused|connection reset|no route to host|unreachable|\bEOF\b/i, 'unreachable'],
  [/manifest unknown|name unknown|not found|does not exist|\b404\b/i, 'not_found'],
  [/media type|verification failed|unexpected|invalid|error parsing|unknown: |mismatch/i, 'unusable'],
];

/** Says in fixed words why the engine could not pull an image. */
export function toPullFault(text: string): ImagePullFault {
  const [, failure = 'failed'] = forms.find(([form]) => form.test(text)) ?? [];
  return new ImagePullFault(failure, { cause: new Error(text) });
}
