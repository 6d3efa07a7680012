import { readdir, readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';

import { expect } from 'chai';

import { ApiLab } from '../../api/api-lab.testing.js';
import { skip, until } from '../../dev/testing/index.js';
import { findKubectl, Kubectl } from '../lab/kubectl.js';
import { commands, countReference, type KubectlAnswer, renderTable } from '../lab/kubectl-commands.js';
import { startStandingIn } from '../lab/standing-in.js';

const DOCUMENT = 'docs/KUBECTL.md';

describe('kubectl', function () {
  let lab: ApiLab;
  let kubectl: Kubectl;
  let token: string;
  let stopNode: (() => void) | undefined;
  before(async function () {
    const path = findKubectl();
    if (path === undefined) {
      skip(this, 'there is no kubectl here (install it, or name one with MOORING_KUBECTL)');
    }
    const prepared = await Kubectl.prepare(path);
    kubectl = prepared.kubectl;
    lab = await new ApiLab({ settings: prepared.settings }).start();
    const server = `http://127.0.0.1:${lab.server.port}`;
    token = await lab.tenantToken(lab.a);
    await kubectl.configure('shop', server, token);
    await kubectl.configure('viewer', server, await lab.tenantToken(lab.a, 'viewer'));
    const b = await lab.tenantToken(lab.b);
    const body = { kind: 'Deployment', name: 'theirs', image: 'registry.example.com/web:1', replicas: 1 };
    await lab.ask('POST', '/api/v1/deployments', { token: b, body });
    for (const name of ['api', 'web']) {
      const own = { ...body, name, labels: { app: name }, replicas: 2 };
      const made = await lab.ask('POST', '/api/v1/deployments', { token, body: own });
      const { uid } = made.body['metadata'] as { readonly uid: string };
      const at = new Date().toISOString();
      if (name === 'api') stopNode = await startStandingIn(lab, { name, uid, at }, ['one', 'two', 'three']);
    }
  });
  after(async () => {
    stopNode?.();
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

  /** After the command that waits has most likely begun; it succeeds too when it has not. */
  const runMeanwhile = async (words: string) => {
    await setTimeout(1_000);
    const { code, err } = await kubectl.run('shop', splitWords(words));
    expect(code, err).to.equal(0);
  };

  const answers: KubectlAnswer[] = [];
  for (const command of commands) {
    it(`${command.words} ${command.code === 0 ? 'works' : 'is refused'}`, async () => {
      if (command.file) await kubectl.write(command.file.name, command.file.text.replaceAll('<tenant>', lab.a));
      const words = command.words.replaceAll('<tenant>', lab.a).replaceAll('<another tenant>', lab.b);
      const running = kubectl.run(command.as ?? 'shop', splitWords(words), command.editor);
      if (command.meanwhile !== undefined) await runMeanwhile(command.meanwhile);
      const { code, out, err } = await running;
      const said = settle(out + err);
      expect(said, command.words).to.match(command.says);
      expect(code, said).to.equal(command.code);
      const line = said.split('\n').find(each => command.shows.test(each)) ?? '';
      answers.push({ command, code, line: line.trimEnd() });
    });
  }

  const watches = [
    { words: 'get deploy -w', replicas: 3, before: /^web +0\/2/m, after: /^web +0\/3/m },
    {
      words: 'get deploy web -w --output-watch-events',
      replicas: 4,
      before: /^ADDED +web +0\/3/m,
      after: /^MODIFIED +web +0\/4/m,
    },
  ];
  for (const { words, replicas, before, after: changed } of watches) {
    it(`${words} prints every change as it happens`, async () => {
      const watch = kubectl.start('shop', splitWords(words));
      try {
        await until('the list', () => before.test(watch.printed));
        await lab.ask('PUT', '/api/v1/deployments/web', { token, body: { replicas } });
        await until('the change', () => changed.test(watch.printed));
        const line = settle(watch.printed.split('\n').find(each => changed.test(each)) ?? '');
        answers.push({ command: { words, code: 0, says: changed, shows: changed }, code: '-', line: line.trimEnd() });
      } finally {
        watch.end();
      }
    });
  }

  it('applies every example as it stands', async () => {
    const files = await readdir('examples/kubernetes');
    const written = (await readdir('examples')).filter(file => file.endsWith('.yaml'));
    expect(files).to.have.members(written);
    for (const said of [/created|configured/, /unchanged/]) {
      const { code, out, err } = await kubectl.run('shop', ['apply', '-f', resolve('examples/kubernetes')]);
      expect(code, err).to.equal(0);
      const lines = out.trim().split('\n');
      expect(lines).to.have.length(files.length);
      for (const line of lines) expect(line).to.match(said);
    }
  });

  it('is documented by what it answered', async function () {
    const { out } = await kubectl.run('shop', ['version', '--client']);
    if (!out.includes('Client Version: v1.32.')) {
      const [version = ''] = out.split('\n');
      skip(this, `kubectl 1.32 is needed, since others may say it in other words (here is ${version})`);
    }
    if (answers.length < commands.length + watches.length) {
      skip(this, 'not every command was run, or has passed');
    }
    this.test!.title += `: ${countReference(answers)}`;
    const table = renderTable(answers);
    if (process.env['MOORING_WRITE_DOCS']) await writeFile(DOCUMENT, table);
    expect(await readFile(DOCUMENT, 'utf8')).to.equal(table);
  });

  it('get deploy -w ends with the server, so that nobody takes its silence for peace', async () => {
    const watch = kubectl.start('shop', ['get', 'deploy', '-w']);
    try {
      await until('the list', () => /^api /m.test(watch.printed));
      await lab.stop();
      await until('the end of the watch', () => watch.code !== undefined);
    } finally {
      watch.end();
    }
  });
});

/** Words as a shell splits them, with single quotation marks only. */
function splitWords(text: string): readonly string[] {
  return Array.from(text.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? '');
}
