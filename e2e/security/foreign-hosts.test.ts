import { request } from 'node:http';

import { expect } from 'chai';

import { ControlPlane } from '../lab/control-plane.js';

/** Sends a request whose `Host` header is chosen, as a browser does for a name that resolves to loopback. */
function requestAs(host: string, server: string, path: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, server), { headers: { host } }, answer => {
      const parts: Buffer[] = [];
      answer.on('data', (part: Buffer) => parts.push(part));
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(parts).toString() }));
    });
    sent.once('error', reject);
    sent.end();
  });
}

describe('a page of a stranger whose name resolves to loopback', () => {
  let plane: ControlPlane;

  before(async () => {
    plane = await ControlPlane.start();
  });
  after(() => plane.stop());

  for (const path of ['/readyz', '/api/v1/deployments', '/docs/codes', '/openapi.json', '/metrics']) {
    it(`reads nothing of the API server: ${path}`, async () => {
      const { status, body } = await requestAs('attacker.example:7070', plane.server, path);

      expect(status).to.equal(421);
      expect(JSON.parse(body)).to.have.nested.property('rejections[0].code', 'host_unknown');
    });
  }

  for (const host of ['localhost', '127.0.0.1', '[::1]:7070', '127.1.2.3:80']) {
    it(`is told from this machine itself: ${host}`, async () => {
      expect(await requestAs(host, plane.server, '/readyz')).to.include({ status: 200 });
    });
  }
});
