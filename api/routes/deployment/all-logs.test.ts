import { expect } from 'chai';

import { ApiLab, webDeployment } from '../../api-lab.testing.js';
import { formatLogCursor, parseLogCursors } from './log-stream.js';

const cursor = { nodeId: 'node_1', position: `${'a'.repeat(12)}:stdout:1763239738.000000042:1` };
const text = formatLogCursor(cursor);

describe('the logs of all replicas in one answer', () => {
  let lab: ApiLab;
  before(async () => {
    lab = await new ApiLab().start();
    await lab.ask('POST', '/api/v1/deployments', {
      token: await lab.tenantToken(lab.a),
      body: webDeployment('web', { replicas: 0 }),
    });
  });
  after(() => lab.stop());

  it('are resumed each where it was', () => {
    expect(parseLogCursors(`0:${text},12:${text}`)).to.deep.equal(
      new Map([
        [0, cursor],
        [12, cursor],
      ]),
    );
    for (const wrong of ['', text, `0:${text},`, `x:${text}`, '0:', `-1:${text}`, `0:${text},`.repeat(80)])
      expect(parseLogCursors(wrong), wrong.slice(0, 20)).to.equal(undefined);
  });

  const cases: readonly { asked: string; accept?: string; found: readonly [number, string, string] }[] = [
    { asked: 'replica=all', accept: 'text/plain', found: [400, 'query_parameter_invalid', 'replica'] },
    { asked: 'replica=all', accept: 'text/event-stream', found: [400, 'query_parameter_invalid', 'replica'] },
    { asked: 'replica=all&previous=true', found: [400, 'query_parameter_invalid', 'previous'] },
    { asked: `replica=all&after=${text}`, found: [400, 'query_parameter_invalid', 'after'] },
    { asked: `replica=0&after=0:${text}`, found: [400, 'query_parameter_invalid', 'after'] },
    { asked: 'replica=every', found: [400, 'query_parameter_invalid', 'replica'] },
    { asked: 'replica=all', found: [404, 'logs_not_kept', 'replica'] },
  ];
  for (const { asked, accept = 'application/x-ndjson', found } of cases) {
    it(`${asked.slice(0, 40)} as ${accept} is refused with ${found[1]} of ${found[2]}`, async () => {
      const token = await lab.tenantToken(lab.a);
      const answer = await lab.ask('GET', `/api/v1/deployments/web/logs?${asked}`, { token, headers: { accept } });
      expect([answer.status, answer.body['code'], answer.body['field']]).to.deep.equal(found);
    });
  }
});
