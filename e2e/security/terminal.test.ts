import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';

import { expect } from 'chai';

import { ApiLab, webDeployment } from '../../api/api-lab.testing.js';
import { createTestTerminal } from '../../pkg/terminal/terminal.testing.js';
import { run } from '../../pkg/cli/run.js';

/** Colours, the title, the screen, the cursor, C1 codes, line breaks of every kind, and letters in another order. */
const HOSTILE =
  '\u001b[31m\u001b]0;owned\u0007\u001b[2J\u009b1A\r\nForged: yes\n\u0085\u2028\u2029\u202e\u2066\b\u0000';
const HARMLESS = 'harmless';

/** The commands that print what somebody else wrote: tenants, nodes, containers, servers. */
const COMMANDS = [
  'get deployments',
  'get deployments -o wide',
  'get deployment web',
  'get nodes',
  'get nodes -o wide',
  'get events',
  'get tokens',
  'get all',
  'describe deployment web',
  'describe node machine-1',
  'status web',
  'explain deployment web',
  'quotas',
  'get deployment absent',
  'describe deployment absent',
  'logs absent',
  'delete deployment absent',
];

describe('a terminal on which moor prints what strangers wrote', () => {
  let lab: ApiLab;
  let proxy: Server;
  let token = '';
  let suffix = '';

  before(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a);
    await lab.token({ kind: 'node', tenant: lab.a, node: `node_${'1'.repeat(26)}`, nodeName: 'machine-1' });
    const body = webDeployment('web', { labels: { team: 'shop' } });
    expect((await lab.ask('POST', '/api/v1/deployments', { token, body })).status).to.equal(201);
    proxy = createServer((request, response) => {
      const headers = { authorization: String(request.headers.authorization) };
      void lab.ask(request.method ?? '', request.url ?? '', { headers }).then(answer => {
        response.writeHead(answer.status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(taint(answer.body, suffix)));
      });
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
  });
  after(async () => {
    proxy.closeAllConnections();
    proxy.close();
    await lab.stop();
  });

  const moor = async (command: string) => {
    const { port } = proxy.address() as AddressInfo;
    const home = tmpdir();
    const environment = {
      MOORING_SERVER: `http://127.0.0.1:${port}`,
      MOORING_TOKEN: token,
      HOME: home,
      MOORING_HOME: home,
    };
    const terminal = createTestTerminal(environment);
    await run(command.split(' '), terminal);
    return `${terminal.printed.out}${terminal.printed.err}`;
  };

  for (const command of COMMANDS) {
    it(`gets no control character and no line of theirs from moor ${command}`, async () => {
      suffix = HARMLESS;
      const harmless = await moor(command);
      suffix = HOSTILE;
      const hostile = await moor(command);
      expect(harmless, 'something of theirs is printed').to.include(HARMLESS);
      expect(hostile).to.not.match(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]|(?![\n\t])\p{Cc}/u);
      expect(hostile, 'a line of theirs').to.not.match(/^Forged/m);
      expect(hostile.split('\n').length, 'lines').to.equal(harmless.split('\n').length);
    });
  }

  for (const format of ['json', 'yaml']) {
    it(`gets documents as ${format} in which nothing controls it`, async () => {
      suffix = HOSTILE;
      expect(await moor(`get deployment web -o ${format}`)).to.not.match(/[\u202e\u2066\u2028\u2029]|(?!\n)\p{Cc}/u);
    });
  }
});

/** The same document with something behind every text, names of fields excepted. */
function taint(document: unknown, suffix: string): unknown {
  if (typeof document === 'string') return /^\d{4}-\d\d-\d\dT/.test(document) ? document : `${document}${suffix}`;
  if (Array.isArray(document)) return document.map(each => taint(each, suffix));
  if (typeof document !== 'object' || document === null) return document;
  return Object.fromEntries(Object.entries(document).map(([name, each]) => [name, taint(each, suffix)]));
}
