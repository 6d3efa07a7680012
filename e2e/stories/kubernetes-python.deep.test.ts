import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

import { expect } from 'chai';

import { skip } from '../../dev/testing/index.js';
import { ApiLab } from '../../api/api-lab.testing.js';
import { Kubectl } from '../lab/kubectl.js';
import { startStandingIn } from '../lab/standing-in.js';

const PROGRAM = resolve('e2e/lab/python-client.py');
/** A Python that has the client: the one that is named, or the one that `hack/setup.sh` has made, where it could. */
const PYTHON = process.env['MOORING_PYTHON'] ?? resolve('.cache/python/bin/python3');
const MISSING =
  'the client of Kubernetes for Python could not be installed (apt-get install python3-venv, and reach its registry); MOORING_PYTHON names a Python that has it';

describe('the Python client of Kubernetes', function () {
  let lab: ApiLab | undefined;
  let stopNode: (() => void) | undefined;
  let program: Kubectl | undefined;
  let results: Readonly<Record<string, unknown>>;
  before(async function () {
    if (!existsSync(PYTHON)) {
      skip(this, MISSING);
    }
    const prepared = await Kubectl.prepare(PYTHON);
    program = prepared.kubectl;
    lab = await new ApiLab({ settings: prepared.settings }).start();
    const token = await lab.tenantToken(lab.a);
    const body = { kind: 'Deployment', name: 'api', image: 'registry.example.com/web:1', replicas: 1 };
    const made = await lab.ask('POST', '/api/v1/deployments', { token, body });
    const { uid } = made.body['metadata'] as { readonly uid: string };
    stopNode = await startStandingIn(lab, { name: 'api', uid, at: new Date().toISOString() }, ['one', 'two', 'three']);
    await program.configure('shop', `http://127.0.0.1:${lab.server.port}`, token);
    const { code, out, err } = await program.run('shop', [PROGRAM, lab.a]);
    expect(code, err).to.equal(0);
    results = JSON.parse(out) as typeof results;
  });
  after(async () => {
    stopNode?.();
    await lab?.stop();
    await program?.stop();
  });

  const web = (replicas: number) => ({ name: 'web', replicas });
  const cases: readonly (readonly [title: string, step: string, expected: unknown])[] = [
    ['lists objects', 'list', ['api']],
    ['creates an object', 'create', web(1)],
    ['is told that an object is there already', 'create again', { code: 409, reason: 'AlreadyExists' }],
    ['lists in pages', 'pages', [['api'], ['web']]],
    ['gets an object', 'get', web(1)],
    ['patches an object', 'patch', web(2)],
    ['is told every refusal of a patch', 'refused', { code: 422, causes: ['replicas_negative', 'field_unknown'] }],
    ['scales by the subresource', 'scale', 3],
    ['replaces an object', 'replace', web(4)],
    ['replaces no object that has changed since it was read', 'replace outdated', { code: 409, reason: 'Conflict' }],
    ['reads the events of an object', 'events', ['created', 'updated']],
    ['deletes an object', 'delete', 'web'],
    [
      'sees every change in order in a watch',
      'watch',
      [
        ['ADDED', 1],
        ['MODIFIED', 2],
        ['MODIFIED', 3],
        ['MODIFIED', 4],
        ['DELETED', 4],
      ],
    ],
    ['is told that an object is gone', 'get deleted', { code: 404, reason: 'NotFound' }],
    ['reads pods', 'pods', [['api-0', 'Running', 'machine-1']]],
    ['reads the log of a pod', 'log', 'two\nthree\n'],
    ['follows the log of a pod', 'log follow', ['one', 'two', 'three']],
  ];
  for (const [title, step, expected] of cases) {
    it(title, () => {
      const found = results[step];
      if (Array.isArray(expected) || typeof expected !== 'object') expect(found).to.deep.equal(expected);
      else expect(found).to.deep.include(expected);
    });
  }

  it('sees the namespace of its own tenant only', () => {
    expect(results['namespaces']).to.deep.equal([lab!.a]);
  });
});
