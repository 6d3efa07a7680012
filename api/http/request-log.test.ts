import { expect } from 'chai';

import type { LogFields, Logger } from '../../pkg/log/index.js';
import { ApiLab } from '../api-lab.testing.js';

/** Keeps the lines that an operator should look at. */
function keeping(lines: [message: string, fields: LogFields][], bound: LogFields = {}): Logger {
  return {
    error: (message, fields) => lines.push([message, { ...bound, ...fields }]),
    warn: (message, fields) => lines.push([message, { ...bound, ...fields }]),
    info: () => undefined,
    debug: () => undefined,
    with: fields => keeping(lines, { ...bound, ...fields }),
  };
}

describe('the log of a request', () => {
  const lines: [message: string, fields: LogFields][] = [];
  const lab = new ApiLab({ log: keeping(lines) });
  let node: string;
  before(async () => {
    await lab.start();
    node = (await lab.token({ kind: 'node', tenant: lab.a, node: 'node_1', nodeName: 'machine-1' })).text;
  });
  after(() => lab.stop());

  const report = {
    replica: 'rep_1',
    deployment: 'web',
    slot: 0,
    nodeId: 'node_2',
    templateHash: 'h',
    state: 'running',
    health: 'none',
    restarts: 0,
    at: new Date(0).toISOString(),
  };
  const cases: readonly [path: string, body: object, message: string][] = [
    ['/agent/v1/reports', { reports: [report] }, 'report batch refused: a report names another node or another slot'],
    [
      '/agent/v1/environment',
      { replica: 'rep_1', generation: 1, ticket: 'x' },
      'secrets refused: the replica is not assigned to this node',
    ],
  ];
  for (const [path, body, message] of cases) {
    it(`names the request id wherever it was written: ${path}`, async () => {
      const { status, headers } = await lab.ask('POST', path, { token: node, body });

      expect(status).to.equal(403);
      expect(lines.map(([said, { requestId }]) => [said, requestId])).to.deep.include([
        message,
        headers.get('x-request-id'),
      ]);
    });
  }
});
