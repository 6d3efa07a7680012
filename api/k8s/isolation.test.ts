import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import { create } from '../../pkg/store/index.js';
import { ApiLab, type LabResponse } from '../api-lab.testing.js';

/** Every resource of our group. */
const OWN = ['deployments', 'jobs', 'networks', 'volumes', 'nodes', 'backups'] as const;
const ABSENT = '11111111-1111-4111-8111-111111111111';

/** What an answer says, apart from what differs from request to request and the name that was asked for. */
function said({ status, text, headers }: LabResponse, name: string): string {
  const kept = [...headers].filter(([header]) => header !== 'x-request-id' && header !== 'date');
  return JSON.stringify([status, kept.map(([header, value]) => `${header}: ${value}`), text]).replaceAll(name, '*');
}

describe('isolation of tenants on the Kubernetes face', () => {
  let lab: ApiLab;
  let a: string;
  before(async () => {
    lab = await new ApiLab().start();
    a = await lab.tenantToken(lab.a);
    const body = { kind: 'Deployment', name: 'theirs', image: 'registry.example.com/web:1', replicas: 1 };
    const made = await lab.ask('POST', '/api/v1/deployments', { token: await lab.tenantToken(lab.b), body });
    const { uid } = made.body['metadata'] as { readonly uid: string };
    const placements = [
      { replica: 0, nodeId: null, state: 'unplaced', health: 'none', restarts: 0, containerId: null },
    ];
    await create(lab.store, keys.status(lab.b, 'theirs'), { uid, phase: 'Pending', message: '', placements });
    await lab.ask('POST', '/api/v1/deployments', { token: a, body: { ...body, name: 'ours' } });
  });
  after(() => lab.stop());

  const faceRoutes = () => lab.api.routes.filter(({ face }) => face === 'kubernetes');
  const fill = (path: string, namespace: string, core = 'events', part = 'log', own: string = OWN[0]) =>
    path
      .replace('{namespace}', namespace)
      .replace('{plural}', path.includes('/apis/') ? own : core)
      .replace('{name}', core === 'pods' ? 'theirs-0' : 'theirs')
      .replace('{subresource}', path.includes('/apis/') ? 'scale' : part);

  it('answers a namespace of another tenant exactly like one that does not exist, on every route', async () => {
    const named = faceRoutes().filter(({ path }) => path.includes('{namespace}'));
    expect(named.length).to.be.at.least(3);
    for (const { method, path } of named) {
      for (const query of method === 'GET' ? ['', '?watch=true'] : ['', '?dryRun=All']) {
        const own = OWN.map(plural => ['events', 'log', plural] as const);
        const core = [
          ['events', 'log'],
          ['pods', 'log'],
          ['pods', 'exec'],
        ] as const;
        for (const [place, part, plural] of path.includes('/apis/') ? own : core) {
          const ask = (namespace: string) =>
            lab.ask(method, fill(path, namespace, place, part, plural) + query, {
              token: a,
              ...(method !== 'GET' && { body: {} }),
            });
          const foreign = await ask(lab.b);
          const about = `${method} ${path}${query} ${plural ?? place} ${part}`;
          // No other resource has a scale, in whichever namespace.
          const isServed = plural === undefined || plural === 'deployments' || !path.endsWith('{subresource}');
          expect([foreign.status, foreign.body['kind']], about).to.deep.equal([isServed ? 403 : 404, 'Status']);
          expect(said(foreign, lab.b), about).to.equal(said(await ask(ABSENT), ABSENT));
        }
      }
    }
  });

  it('is tried with every resource of our group', async () => {
    const { body } = await lab.ask('GET', '/k8s/apis/mooring.io/v1', { token: a });
    const names = (body['resources'] as readonly { readonly name: string }[]).map(({ name }) => name);
    expect(names.filter(name => !name.includes('/'))).to.have.members(OWN);
  });

  it('answers every kind of patch of another tenant’s object exactly like one where there is nothing', async () => {
    const types = ['merge-patch+json', 'strategic-merge-patch+json', 'json-patch+json', 'apply-patch+yaml'];
    for (const type of types) {
      for (const part of ['', '/scale']) {
        const ask = (namespace: string) =>
          lab.ask(
            'PATCH',
            `/k8s/apis/mooring.io/v1/namespaces/${namespace}/deployments/theirs${part}?fieldManager=kubectl&force=true`,
            {
              token: a,
              raw: type === 'json-patch+json' ? '[]' : '{}',
              headers: { 'content-type': `application/${type}` },
            },
          );
        const foreign = await ask(lab.b);
        expect([foreign.status, foreign.body['kind']], type + part).to.deep.equal([403, 'Status']);
        expect(said(foreign, lab.b), type + part).to.equal(said(await ask(ABSENT), ABSENT));
      }
    }
  });

  it('shows nothing of another tenant where no namespace is named', async () => {
    for (const { method, path } of faceRoutes()) {
      if (method !== 'GET' || path.includes('{namespace}')) continue;
      const places = path.includes('{plural}') ? (path.includes('/apis/') ? OWN : ['events', 'pods']) : [''];
      for (const place of places) {
        const { status, text } = await lab.ask('GET', fill(path, '', place, 'log', place), { token: a });
        expect(status, path).to.equal(200);
        if (path.endsWith('/namespaces') || place === 'deployments') expect(text, path).to.include(lab.a);
        expect(text, path).to.not.include(lab.b);
        expect(text, path).to.not.include('"theirs');
      }
    }
  });

  it('needs a token on every route, and no other kind of token than a person’s', async () => {
    const node = (await lab.token({ kind: 'node', tenant: lab.a, node: `node_${'1'.repeat(26)}`, nodeName: 'm' })).text;
    const join = (await lab.token({ kind: 'join', tenant: lab.a })).text;
    for (const { method, path, access } of faceRoutes()) {
      expect(access, path).to.deep.equal({ tenant: 'viewer', admin: true });
      const url = fill(path, lab.a);
      // Guessing is slowed down after a while.
      expect((await lab.ask(method, url)).status, path).to.be.oneOf([401, 429]);
      for (const token of [node, join]) expect((await lab.ask(method, url, { token })).status, path).to.equal(403);
    }
  });
});
