import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { useCommandLab } from './command-lab.testing.js';
import { replyRefused } from './fake-api.testing.js';
import { createTestTerminal, type TestTerminal } from '../terminal/terminal.testing.js';

const deployment = (name: string, more: Record<string, unknown> = {}) => ({
  kind: 'Deployment',
  name,
  image: 'registry.example.com/web:1.0.0',
  replicas: 2,
  secretsVersion: 0,
  metadata: { uid: `dep_${name}`, generation: 1, revision: '5', createdAt: '2026-01-01T00:00:00Z' },
  status: status('Running', 2),
  alterations: [],
  warnings: [],
  ...more,
});

const status = (phase: string, ready: number) => ({
  uid: 'dep_web',
  phase,
  message: `${ready} ready`,
  replicas: 2,
  readyReplicas: ready,
  updatedReplicas: 2,
  observedGeneration: 1,
  placements: [{ replica: 0, nodeId: 'node_1', state: 'running', health: 'healthy', restarts: 0, containerId: 'c0' }],
  conditions: [],
});

describe('moor', () => {
  const lab = useCommandLab();

  const moor = (words: readonly string[], more: Partial<TestTerminal> = {}) => lab.moor(words, more);

  const file = (text: string) => {
    const path = join(lab.folder, 'web.yaml');
    writeFileSync(path, text);
    return path;
  };

  const one = 'GET /api/v1/deployments/web';

  describe('apply', () => {
    const yaml = 'kind: Deployment\nname: web\nimage: registry.example.com/web:1.0.0\n';

    it('creates a missing object, and prints the alterations of the server', async () => {
      const alterations = [{ field: 'replicas', from: null, to: 1, why: 'the default' }];
      const warnings = [{ code: 'image_registry_unreachable', field: 'image', message: 'not checked' }];
      lab.api.replies.set('POST /api/v1/deployments', {
        status: 201,
        body: deployment('web', { alterations, warnings }),
      });

      const { code, out, err } = await moor(['apply', '-f', file(yaml)]);

      expect(code).to.equal(0);
      expect(out).to.contain('deployment/web created').and.contain('replicas set to 1: the default');
      expect(err).to.contain('image_registry_unreachable');
      expect(lab.api.got.map(({ method }) => method)).to.deep.equal(['GET', 'POST']);
      expect(lab.api.got[1]?.body).to.deep.equal({
        kind: 'Deployment',
        name: 'web',
        image: 'registry.example.com/web:1.0.0',
      });
      expect(lab.api.got[1]?.token).to.equal('mtk_t');
    });

    for (const [verb, generation] of [
      ['configured', 2],
      ['unchanged', 1],
    ] as const) {
      it(`prints ${verb} when the generation is ${generation}`, async () => {
        const metadata = { uid: 'dep_web', generation, createdAt: '' };
        lab.api.replies.set(one, { status: 200, body: deployment('web') });
        lab.api.replies.set('PUT /api/v1/deployments/web', { status: 200, body: deployment('web', { metadata }) });

        const { code, out } = await moor(['apply', '-f', file(yaml)]);

        expect([code, out]).to.deep.equal([0, `deployment/web ${verb}\n`]);
      });
    }

    it('names fields that stay although the file does not mention them', async () => {
      lab.api.replies.set(one, { status: 200, body: deployment('web') });
      lab.api.replies.set('PUT /api/v1/deployments/web', {
        status: 200,
        body: deployment('web', { environment: { A: 'b' } }),
      });

      const { err } = await moor(['apply', '-f', file(yaml)]);

      expect(err).to.contain('environment').and.not.contain('image');
    });

    it('prints every rejection with its place in the file, and applies the other objects', async () => {
      lab.api.replies.set('POST /api/v1/deployments', ({ body }) =>
        (body as { name: string }).name === 'web'
          ? replyRefused(422, 'image_required', 'replicas_negative')
          : { status: 201, body: deployment('other') },
      );

      const { code, out, err } = await moor([
        'apply',
        '-f',
        file('name: web\nimage: latest\nreplicas: -1\n---\nname: other\n'),
      ]);

      expect(code).to.equal(1);
      expect(out).to.contain('deployment/other created');
      for (const part of [
        'image_required',
        'web.yaml:2:8',
        'replicas_negative',
        'web.yaml:3:11',
        'docs/codes/image_required',
      ]) {
        expect(err).to.contain(part);
      }
    });

    it('reads JSON from standard input', async () => {
      lab.api.replies.set('POST /api/v1/deployments', { status: 201, body: deployment('web') });

      const { code } = await moor(['apply', '-f', '-'], { readInput: async () => '{"name": "web"}' });

      expect(code).to.equal(0);
      expect(lab.api.got[1]?.body).to.deep.equal({ name: 'web' });
    });

    for (const [what, text] of [
      ['a separator at its end', `${yaml}---\n`],
      ['a document of comments only', `# first\n---\n# nothing\n---\n${yaml}`],
    ] as const) {
      it(`skips ${what}`, async () => {
        lab.api.replies.set('POST /api/v1/deployments', { status: 201, body: deployment('web') });

        const { code, out } = await moor(['apply', '-f', file(text)]);

        expect([code, out]).to.deep.equal([0, 'deployment/web created\n']);
      });
    }

    for (const [what, text, place] of [
      ['broken syntax', 'name: web\nimage: [a\n', ':3:1'],
      ['a key twice', 'name: web\nname: other\n', ':2:1'],
      ['a list', '- a\n', ':1:1'],
      ['no name', 'kind: Deployment\n', ':1:1'],
      ['another kind', 'name: ok\n---\nkind: Pod\nname: x\n', ':3:1'],
      ['nothing at all', '# empty\n', 'web.yaml'],
      ['documents, all empty', '---\n---\n', 'web.yaml'],
      ['a null', 'name: ok\n---\nnull\n', ':3:1'],
    ] as const) {
      it(`sends nothing when a file contains ${what}, and names the place`, async () => {
        const { code, err } = await moor(['apply', '-f', file(text)]);

        expect(code).to.equal(2);
        expect(err).to.contain(place);
        expect(lab.api.got).to.deep.equal([]);
      });
    }
  });

  describe('get', () => {
    beforeEach(() => {
      const body = {
        items: [deployment('web'), deployment('a-longer-name', { status: null })],
        revision: '9',
        next: null,
      };
      lab.api.replies.set('GET /api/v1/deployments', { status: 200, body });
      lab.api.replies.set(one, { status: 200, body: deployment('web') });
    });

    it('prints a table with aligned columns', async () => {
      const { out } = await moor(['get', 'deployments'], {
        clock: { ...createTestTerminal({}).clock, now: () => Date.parse('2026-01-01T01:30:00Z') },
      });

      expect(out.split('\n')).to.deep.equal([
        'NAME            READY   PHASE     AGE     IMAGE',
        'web             2/2     Running   1h30m   registry.example.com/web:1.0.0',
        'a-longer-name   0/2     Pending   1h30m   registry.example.com/web:1.0.0',
        '',
      ]);
    });

    it('prints the message of those that are not as asked, and of no other', async () => {
      const ill = deployment('ill', { status: { ...status('Degraded', 1), message: 'exit code 1' } });
      lab.api.replies.set('GET /api/v1/deployments', { status: 200, body: { items: [deployment('web'), ill] } });
      const { out } = await moor(['get', 'deployments']);
      expect(out.split('\n')[0]).to.match(/ IMAGE +MESSAGE$/);
      expect(out)
        .to.match(/^ill .* exit code 1$/m)
        .and.match(/^web .*:1\.0\.0$/m);
    });

    it('prints every message with -o wide', async () => {
      expect((await moor(['get', 'deployments', '-o', 'wide'])).out).to.match(/^web .* 2 ready$/m);
    });

    describe('all', () => {
      const none = { status: 200, body: { items: [] } };
      beforeEach(() => {
        for (const kind of ['nodes', 'jobs', 'networks', 'dvm/volumes'])
          lab.api.replies.set(`GET /api/v1/${kind}`, none);
        lab.api.replies.set('GET /api/v1/secrets', {
          status: 200,
          body: { items: [{ path: 'deployments/db', version: 2, deployments: ['web'] }] },
        });
      });

      it('prints a table for each kind of which there is something', async () => {
        const { code, out } = await moor(['get', 'all']);
        expect(code).to.equal(0);
        expect(out).to.match(
          /^deployments:\nNAME .*\nweb .*\na-longer-name .*\n\nsecrets:\nPATH .*\ndeployments\/db +2 +- +web\n$/,
        );
      });

      it('prints names, and one document', async () => {
        const { out } = await moor(['get', 'all', '-o', 'name']);
        expect(out).to.equal('deployment/web\ndeployment/a-longer-name\nsecret/deployments/db\n');
        const document = JSON.parse((await moor(['get', 'all', '-o', 'json'])).out) as object;
        expect(Object.keys(document)).to.deep.equal(['deployments', 'volumes', 'nodes', 'jobs', 'networks', 'secrets']);
      });

      it('says so when there is nothing, takes no name, and fails with the first refusal', async () => {
        expect((await moor(['get', 'all', 'web'])).code).to.equal(2);
        lab.api.replies.set('GET /api/v1/nodes', replyRefused(403, 'auth_forbidden'));
        expect((await moor(['get', 'all'])).code).to.equal(6);
        for (const path of ['deployments', 'nodes', 'secrets']) lab.api.replies.set(`GET /api/v1/${path}`, none);
        expect((await moor(['get', 'all'])).err).to.equal(
          'no deployments, no volumes, no nodes, no jobs, no networks, no secrets\n',
        );
      });
    });

    it('cuts a table to the width of the terminal', async () => {
      const { out } = await moor(['get', 'deployments'], { width: 50 });

      expect(out.split('\n').every(line => line.length <= 50)).to.equal(true);
      expect(out).to.contain('…');
    });

    for (const [format, expected] of [
      ['name', 'deployment/web\ndeployment/a-longer-name\n'],
      ['json', '"revision": "9"'],
      ['yaml', 'name: a-longer-name'],
      ['wide', 'GENERATION'],
    ] as const) {
      it(`prints ${format}`, async () => {
        expect((await moor(['get', 'deploy', '-o', format])).out).to.contain(expected);
      });
    }

    it('shows one object', async () => {
      expect((await moor(['get', 'deployment', 'web', '-o', 'name'])).out).to.equal('deployment/web\n');
    });

    it('prints no control characters of the server', async () => {
      lab.api.replies.set(one, { status: 200, body: deployment('web', { image: '\u001b[2Jx' }) });

      expect((await moor(['get', 'deployment', 'web'])).out).to.not.contain('\u001b');
    });
  });

  describe('status', () => {
    const watch = 'GET /api/v1/deployments?watch=true';
    const line = (type: string, object: unknown) => ({ type, cursor: '1', object });

    beforeEach(() => {
      lab.api.replies.set(one, { status: 200, body: deployment('web') });
    });

    it('shows the placements', async () => {
      const { code, out } = await moor(['status', 'web']);

      expect(code).to.equal(0);
      expect(out).to.contain('Running').and.contain('node_1').and.contain('healthy');
    });

    it('prints the names of nodes, and the ids of unknown nodes', async () => {
      const placements = [
        ...status('Running', 2).placements,
        { replica: 1, nodeId: 'node_2', state: 'running', health: 'healthy', restarts: 0 },
      ];
      const object = deployment('web', { nodeId: 'node_1', status: { ...status('Running', 2), placements } });
      lab.api.replies.set(one, { status: 200, body: object });
      lab.api.replies.set('GET /api/v1/nodes', { status: 200, body: { items: [{ id: 'node_1', name: 'attic' }] } });

      expect((await moor(['describe', 'deployment', 'web'])).out)
        .to.match(/^Node: +attic$/m)
        .and.match(/^ +0 +attic +running/m)
        .and.match(/^ +1 +node_2 +running/m);
      expect((await moor(['status', 'web'])).out).to.contain('replica 0  attic');
    });

    it('does not let what tenants and nodes wrote add lines or control the terminal', async () => {
      const hostile = 'x\u001b[2Jy\nUid: forged\u009b1Az';
      const state = { ...status('Running', 2), message: hostile };
      const object = deployment('web', { labels: { a: hostile }, command: [hostile], status: state });
      lab.api.replies.set(one, { status: 200, body: object });

      const { out } = await moor(['describe', 'deployment', 'web']);

      expect(out)
        .to.match(/^Message: +x \[2Jy Uid: forged 1Az$/m)
        .and.match(/^Labels: +a=x \[2Jy Uid/m);
      expect(out)
        .to.not.match(/(?!\n)\p{Cc}/u)
        .and.not.match(/^Uid: forged/m);
    });

    it('follows until ready', async () => {
      lab.api.replies.set(watch, {
        lines: [
          line('added', deployment('web', { status: status('Progressing', 1) })),
          line('added', deployment('other')),
          { type: 'bookmark', cursor: '1' },
          line('modified', deployment('web')),
        ],
      });

      const { code, out } = await moor(['status', 'web', '--until-ready']);

      expect(code).to.equal(0);
      expect(out.match(/Progressing|Running/g)).to.deep.equal(['Progressing', 'Running']);
    });

    for (const [what, object, code] of [
      ['failed', deployment('web', { status: status('Failed', 0) }), 1],
      ['is of an earlier generation', deployment('web', { metadata: { uid: 'dep_web', generation: 2 } }), 5],
      ['has not enough ready', deployment('web', { status: status('Running', 1) }), 5],
    ] as const) {
      it(`exits with ${code} when it ${what}`, async () => {
        lab.api.replies.set(watch, { lines: [line('added', object)] });

        const timeout = code === 5 ? '100ms' : '10m';
        expect((await moor(['status', 'web', '--until-ready', '--timeout', timeout])).code).to.equal(code);
      });
    }

    it('exits with 3 when there is no such deployment', async () => {
      const { code, err } = await moor(['status', 'absent', '--watch']);

      expect(code).to.equal(3);
      expect(err).to.contain('deployment_not_found');
    });
  });

  describe('delete', () => {
    const remove = 'DELETE /api/v1/deployments/web';

    it('waits until the deployment is gone', async () => {
      lab.api.replies.set(remove, { status: 200, body: deployment('web') });
      lab.api.replies.set('GET /api/v1/deployments?watch=true', {
        lines: [
          { type: 'added', cursor: '1', object: deployment('web') },
          { type: 'bookmark', cursor: '1' },
          { type: 'deleted', cursor: '2', object: deployment('web') },
        ],
      });

      expect(await moor(['delete', 'deployment', 'web'])).to.deep.include({ code: 0, out: 'deployment/web deleted\n' });
    });

    it('says what is left of one that takes longer', async () => {
      const stop = new AbortController();
      const placements = [0, 1].map(replica => ({ replica, state: 'stopping', nodeId: 'node_1' }));
      const object = { ...deployment('web'), status: { placements, message: 'stopping' } };
      lab.api.replies.set(remove, { status: 200, body: deployment('web') });
      lab.api.replies.set('GET /api/v1/deployments?watch=true', { lines: [{ type: 'added', cursor: '1', object }] });
      const drawn: (readonly string[])[] = [];
      const draw = (lines: readonly string[]) => {
        drawn.push(lines);
        stop.abort();
      };
      const { code } = await lab.moor(['delete', 'deployment', 'web'], { live: { draw }, interrupted: stop.signal });

      expect(drawn).to.deep.equal([
        [
          'deployment/web is being deleted, 2 replicas left: stopping',
          '  replica 0  stopping',
          '  replica 1  stopping',
        ],
        [],
      ]);
      expect(code).to.equal(130);
    });

    it('ends when the list no longer shows the deployment', async () => {
      lab.api.replies.set(remove, { status: 200, body: deployment('web') });
      lab.api.replies.set('GET /api/v1/deployments?watch=true', { lines: [{ type: 'bookmark', cursor: '1' }] });

      expect((await moor(['delete', 'deployment', 'web'])).code).to.equal(0);
    });

    it('does not wait with --no-wait', async () => {
      lab.api.replies.set(remove, { status: 200, body: deployment('web') });

      expect((await moor(['delete', 'deployment', 'web', '--no-wait'])).out).to.equal('deployment/web deleting\n');
    });
  });

  it('scales by a PUT of one field', async () => {
    lab.api.replies.set('PUT /api/v1/deployments/web', { status: 200, body: deployment('web') });

    expect((await moor(['scale', 'web', '3'])).code).to.equal(0);
    expect(lab.api.got[0]?.body).to.deep.equal({ replicas: 3 });
  });

  for (const replicas of ['many', '1.5', '-1']) {
    it(`refuses to scale to ${replicas} replicas`, async () => {
      const { code, err } = await moor(['scale', 'web', replicas]);

      expect([code, lab.api.got]).to.deep.equal([2, []]);
      expect(err).to.contain(replicas);
    });
  }

  it('prints a join token, and nothing else, on standard output', async () => {
    lab.api.replies.set('POST /api/v1/nodes/join-tokens', { status: 201, body: { token: 'mjn_x', expiresAt: 'soon' } });

    const { out } = await moor(['nodes', 'join-token', '--name', 'n1']);

    expect(out).to.equal('mjn_x\n');
    expect(lab.api.got[0]?.body).to.deep.equal({ nodeName: 'n1' });
  });

  it('prints a join token with the fingerprint of the server, where it has one', async () => {
    const caFingerprint = `sha256:${'0'.repeat(64)}`;
    lab.api.replies.set('POST /api/v1/nodes/join-tokens', { status: 201, body: { token: 'mjn_x', caFingerprint } });

    const { out, err } = await moor(['nodes', 'join-token']);

    expect(out).to.equal(`mjn_x@${caFingerprint}\n`);
    expect(err).to.match(/--server https:\/\/127\.0\.0\.1:\d+/);
  });

  describe('exit codes', () => {
    for (const [what, words, code] of [
      ['an unknown command', ['gett'], 2],
      ['an unknown kind', ['get', 'pods'], 2],
      ['a missing argument', ['scale', 'web'], 2],
      ['a number that is none', ['scale', 'web', 'many'], 2],
      ['a timeout that is none', ['status', 'web', '--timeout', 'soon'], 2],
      ['a file that is missing', ['apply', '-f', '/nowhere.yaml'], 2],
      ['an absent object', ['get', 'deployment', 'absent'], 3],
      ['a server that is away', ['--server', 'http://127.0.0.1:1', 'get', 'nodes'], 4],
      ['help', ['--help'], 0],
      ['the version', ['version'], 0],
    ] as const) {
      it(`are ${code} for ${what}`, async () => {
        expect((await moor(words)).code).to.equal(code);
      });
    }

    for (const [status, code] of [
      [401, 6],
      [403, 6],
      [409, 1],
      [422, 1],
      [429, 4],
      [503, 4],
    ] as const) {
      it(`are ${code} for an answer of ${status}`, async () => {
        lab.api.replies.set('GET /api/v1/nodes', replyRefused(status, 'some_code'));

        expect((await moor(['get', 'nodes'])).code).to.equal(code);
      });
    }
  });
});
