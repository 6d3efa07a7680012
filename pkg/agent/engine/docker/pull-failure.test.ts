import { expect } from 'chai';

import type { PullFailure } from '../engine.js';
import { toPullFault } from './pull-failure.js';

describe('toPullFault', () => {
  const cases: ReadonlyArray<readonly [text: string, failure: PullFailure]> = [
    ['manifest for r.example/a:1 not found: manifest unknown: manifest unknown', 'not_found'],
    ['pull access denied for a, repository does not exist or may require docker login', 'denied'],
    ['Head "https://r.example/v2/": no basic auth credentials', 'denied'],
    ['Head "https://r.example/v2/": unauthorized: authentication required', 'denied'],
    ['Get "http://10.0.0.1/v2/": dial tcp 10.0.0.1:80: connect: connection refused', 'unreachable'],
    ['Get "https://r.example/v2/": dial tcp: lookup r.example: no such host', 'unreachable'],
    ['Get "https://r.example/v2/": net/http: TLS handshake timeout', 'timed_out'],
    ['Get "https://r.example/v2/": context deadline exceeded', 'timed_out'],
    ['tls: failed to verify certificate: x509: certificate signed by unknown authority', 'untrusted'],
    ['http: server gave HTTP response to HTTPS client', 'untrusted'],
    ['toomanyrequests: You have reached your pull rate limit', 'rate_limited'],
    ['failed to register layer: write /bin/a: no space left on device', 'disk_full'],
    ['no matching manifest for linux/amd64 in the manifest list entries', 'wrong_platform'],
    ['error parsing HTTP 200 response body: invalid character: "SECRET OF 169.254.169.254"', 'unusable'],
    ['something else entirely: SECRET', 'failed'],
  ];
  for (const [text, failure] of cases) {
    it(`calls ${JSON.stringify(text.slice(0, 60))} ${failure}, and repeats nothing of it`, () => {
      const fault = toPullFault(text);
      expect(fault.failure).to.equal(failure);
      for (const word of ['10.0.0.1', 'r.example', 'SECRET', '169.254']) expect(fault.message).not.to.contain(word);
    });
  }
});
