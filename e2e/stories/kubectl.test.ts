import { readFile, writeFile } from 'node:fs/promises';

import { expect } from 'chai';

import type { ApiLab } from '../../api/api-lab.testing.js';
import { until } from '../../dev/testing/index.js';
import { findKubectl, Kubectl } from '../lab/kubectl.js';
import { commands, type KubectlCommand, renderTable } from '../lab/kubectl-commands.js';

const DOCUMENT = 'docs/KUBECTL.md';

describe('kubectl', function () {
  let lab: ApiLab;
  let kubectl: Kubectl;
  let token: string;
  before(async function () {
    const path = findKubectl();
    if (path === undefined) {
      this.test!.title += ' skipped: there is no kubectl here (install it, or name one with MOORING_KUBECTL)';
      this.skip();
    }
    const prepared = await Kubectl.prepare(path);
    kubectl = prepared.kubectl;
    // The face is loaded by import(): loaded by require() here, its classes would exist twice.
    const { ApiLab: Lab } = await import('../../api/api-lab.testing.js');
    lab = await new Lab({ settings: prepared.settings }).start();
    const server = `http://127.0.0.1:${lab.server.port}`;
    token = await lab.tenantToken(lab.a);
    await kubectl.configure('shop', server, token);
    await kubectl.configure('viewer', server, await lab.tenantToken(lab.a, 'viewer'));
    const b = await lab.tenantToken(lab.b);
    const body = { kind: 'Deployment', name: 'theirs', image: 'registry.example.com/web:1', replicas: 1 };
    await lab.ask('POST', '/api/v1/deployments', { token: b, body });
    for (const name of ['api', 'web']) {
      const own = { ...body, name, labels: { app: name }, replicas: 2 };
      await lab.ask('POST', '/api/v1/deployments', { token, body: own });
    }
  });
  after(async () => {
    await lab?.stop();
    await kubectl?.stop();
  });

  /** What differs from run to run is replaced. */
  const settle = (text: string) =>
    text
      .replaceAll(lab.a, '<tenant>')
      .replaceAll(lab.b, '<another tenant>')
      .replaceAll(/token [\w-]{16}/g, 'token <id>')
      .replaceAll(`${lab.server.port}`, '<port>')
      .replaceAll(/\b\d+[dhms](?:\d+[hms])?\b/g, '1s')
      .replaceAll(/\b(?:dep|job|net|vol)_[0-9a-z]+/g, '<uid>');

  const answers: { readonly command: KubectlCommand; readonly code: number; readonly line: string }[] = [];
  for (const command of commands) {
    it(`${command.words} ${command.code === 0 ? 'works' : 'is refused'}`, async () => {
      if (command.file) await kubectl.write(command.file.name, command.file.text.replaceAll('<tenant>', lab.a));
      const words = command.words.replaceAll('<tenant>', lab.a).replaceAll('<another tenant>', lab.b);
      const { code, out, err } = await kubectl.run(command.as ?? 'shop', splitWords(words));
      const said = settle(out + err);
      expect(said, command.words).to.match(command.says);
      expect(code, said).to.equal(command.code);
      const line = said.split('\n').find(each => command.shows.test(each)) ?? '';
      answers.push({ command, code, line: line.trimEnd() });
    });
  }

  it('get -w prints every change as it happens', async () => {
    const watch = kubectl.start('shop', ['get', 'deploy', '-w']);
    try {
      await until('the list', () => /^web +0\/2/m.test(watch.printed));
      await lab.ask('PUT', '/api/v1/deployments/web', { token, body: { replicas: 3 } });
      await until('the change', () => /^web +0\/3/m.test(watch.printed));
    } finally {
      watch.end();
    }
  });

  it('is documented by what it answered', async function () {
    const { out } = await kubectl.run('shop', ['version', '--client']);
    // Another release may say it in other words.
    if (answers.length < commands.length || !out.includes('Client Version: v1.32.')) this.skip();
    const table = renderTable(answers);
    if (process.env['MOORING_WRITE_DOCS']) await writeFile(DOCUMENT, table);
    expect(await readFile(DOCUMENT, 'utf8')).to.equal(table);
  });
});

/** Words as a shell splits them, with single quotation marks only. */
function splitWords(text: string): readonly string[] {
  return Array.from(text.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? '');
}
