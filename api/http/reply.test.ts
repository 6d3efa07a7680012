import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';

import { expect } from 'chai';

import { systemClock } from '../../pkg/clock/index.js';
import { MemoryStore, OutcomeUnknownFault, type Store, StoreUnavailableFault } from '../../pkg/store/index.js';
import { ApiLab, webDeployment } from '../api-lab.testing.js';
import { readBytes } from './body.js';
import { RequestRejection } from './reply.js';

/** A store whose commits of deployments come to what `become` says. */
function failingStore(become: () => never): Store {
  const store = new MemoryStore({ clock: systemClock });
  return {
    get: key => store.get(key),
    list: (prefix, at) => store.list(prefix, at),
    page: (prefix, options) => store.page(prefix, options),
    revision: () => store.revision(),
    follow: (feed, options, signal) => store.follow(feed, options, signal),
    grant: seconds => store.grant(seconds),
    keepAlive: lease => store.keepAlive(lease),
    revoke: lease => store.revoke(lease),
    close: () => store.close(),
    commit: async change => {
      if (change.puts.some(({ key }) => key.startsWith('deployments/'))) become();
      return store.commit(change);
    },
  };
}

describe('failures of the platform', () => {
  const cases: readonly { name: string; thrown: Error; status: number; code: string; retry: string | null }[] = [
    {
      name: 'a store that is away',
      thrown: new StoreUnavailableFault('away'),
      status: 503,
      code: 'store_unavailable',
      retry: '1',
    },
    { name: 'an unsettled write', thrown: new OutcomeUnknownFault(), status: 503, code: 'outcome_unknown', retry: '1' },
    { name: 'a bug', thrown: new TypeError('secret detail'), status: 500, code: 'internal_failure', retry: null },
  ];
  for (const { name, thrown, status, code, retry } of cases) {
    it(`answer ${status} ${code} for ${name}, and say nothing of its cause`, async () => {
      const store = failingStore(() => {
        throw thrown;
      });
      const lab = await new ApiLab({ store }).start();
      const token = await lab.tenantToken(lab.a);
      const answer = await lab.ask('POST', '/api/v1/deployments', { token, body: webDeployment() });
      await lab.stop();

      expect([answer.status, answer.body['code'], answer.body['field']]).to.deep.equal([status, code, 'request']);
      expect(answer.headers.get('retry-after')).to.equal(retry);
      expect(answer.text).to.not.include('detail');
    });
  }

  it('do not include a client that stops in the middle of its body', async () => {
    const request = new IncomingMessage(new Socket());
    const impatient = { ...systemClock, after: (_ms: number, fire: () => void) => systemClock.after(5, fire) };
    const limits = { maxBytes: 1000, maxDepth: 32, maxSeconds: 30 };
    request.push('{"half":');
    const outcome = await readBytes(request, limits, impatient);

    expect(outcome instanceof RequestRejection && outcome.rejections[0].code).to.equal('request_stalled');
  });
});
