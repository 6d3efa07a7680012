import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect } from 'chai';
import type { Response } from 'playwright-core';

import { itDeep, until } from '../../dev/testing/index.js';
import { createTestTerminal } from '../../pkg/terminal/terminal.testing.js';
import { run } from '../../pkg/cli/run.js';
import { TenantClient, unwrap } from '../lab/tenant-client.js';
import { createSignInLink } from '../../up/sign-in-link.js';
import { DashboardPage, pictureTerminal } from './browser.js';
import { DashboardLab, shell } from './dashboard-lab.js';

const SECRET = 'canary-of-a-password';
const HOSTILE = '<img src=x onerror=alert(1)><script>alert(2)</script>';
const PAGES = {
  overview: '#/',
  deployments: '#/deployments',
  broken: '#/deployments/broken',
  nowhere: '#/deployments/nowhere',
  web: '#/deployments/web',
  edit: '#/deployments/web/edit',
  nodes: '#/nodes',
  node: '#/nodes/shop-1',
  jobs: '#/jobs',
  secrets: '#/secrets',
  volumes: '#/volumes',
  networks: '#/networks',
  backups: '#/backups',
  quotas: '#/quotas',
  tokens: '#/tokens',
  job: '#/jobs/once',
  events: '#/events',
};

describe('the dashboard in a browser', function () {
  let lab: DashboardLab;
  let { plane, shop, browser, image } = {} as DashboardLab;

  before(async function () {
    lab = await DashboardLab.start(this);
    ({ plane, shop, browser, image } = lab);
    unwrap(await shop.client.request('PUT', '/api/v1/secrets/deployments/db', { body: { values: { user: SECRET } } }));
    const secrets = [{ name: 'DB', vault_path: 'deployments/db', anchor: 'external' }];
    await shop.apply({
      name: 'web',
      image,
      replicas: 2,
      secrets,
      resources: { cpu: '50m', memory: '16Mi' },
      ...shell('while :; do echo "hello from web"; sleep 1; done'),
    });
    await shop.apply({ name: 'broken', image, ...shell(`echo '${HOSTILE}' >&2; exit 3`) });
    await shop.apply({
      name: 'nowhere',
      image,
      placement: { constraints: [{ key: 'disk', operator: 'In', values: ['ssd'] }] },
    });
    const job = { kind: 'Job', name: 'once', image, backoffLimit: 0, ...shell(`echo '${HOSTILE}'`) };
    unwrap(await shop.client.request('POST', '/api/v1/jobs', { body: job }));
    await shop.reaches('web', 'Running');
  });
  after(() => lab?.stop());

  const open = (options?: Parameters<typeof DashboardPage.open>[1]) => lab.open(options);

  it('refuses a token that is none, and says why', async () => {
    const dashboard = await DashboardPage.open(browser);
    await dashboard.signIn(plane.server, 'mooring_nonsense');
    await dashboard.says(/auth_invalid/);
    expect(await dashboard.text()).to.not.include('What is wrong');
    await dashboard.context.close();
  });

  it('is signed in by a link once: the code is in no address, no history and no log, and the second time is refused', async () => {
    const tokens = { tenant: shop.token, platform: '' };
    const link = (await createSignInLink({ server: plane.server, tokens }))!;
    const code = link.split('/').at(-1)!;
    const dashboard = await DashboardPage.open(browser);
    await dashboard.page.goto(link);
    await dashboard.page.getByRole('button', { name: 'Sign in with this link' }).waitFor();
    expect(await dashboard.readTraces()).to.not.include(code);
    await dashboard.page.getByRole('button', { name: 'Sign in with this link' }).click();
    await dashboard.says('What is wrong');
    expect(await dashboard.text()).to.include(shop.id);
    expect(await dashboard.readTraces()).to.not.include(code);
    await dashboard.go('#/deployments');
    await dashboard.page.goBack();
    await dashboard.page.goBack();
    expect(dashboard.page.url()).to.not.include(code);
    expect(await readFile(join(plane.folder, 'api.log'), 'utf8')).to.not.include(code);
    await dashboard.context.close();

    const second = await DashboardPage.open(browser);
    await second.page.goto(link);
    await second.page.getByRole('button', { name: 'Sign in with this link' }).click();
    await second.says(/The link was used before.*sign_in_code_invalid/);
    await second.says('moor up');
    expect(await second.page.getByRole('button', { name: 'Sign in with this link' }).count()).to.equal(0);
    await second.page.getByLabel('Token').fill(shop.token);
    await second.page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await second.says('What is wrong');
    expect(await second.listIncidents()).to.deep.equal([]);
    await second.context.close();
  });

  it('shows what is wrong first, each with its cause and what helps', async () => {
    const dashboard = await open();
    await dashboard.says(/exit code 3/);
    await dashboard.says('moor logs broken');
    await dashboard.says(/^nowhere is/);
    const text = await dashboard.text();
    expect(text.indexOf('broken is')).to.be.within(0, text.indexOf('Recent events'));
    expect(text).to.include(shop.id);
    await dashboard.context.close();
  });

  itDeep('shows changes as they happen, and sorts and filters', async () => {
    const dashboard = await open();
    await dashboard.go('#/deployments');
    await dashboard.page.evaluate('globalThis.isSamePage = true');
    await dashboard.page.getByRole('link', { name: 'broken' }).waitFor();
    await shop.apply({ name: 'late', image, ...shell('sleep 1000') });
    await dashboard.page.getByRole('row', { name: /late.*Running/ }).waitFor();
    await shop.remove('late');
    await dashboard.page.getByRole('link', { name: 'late', exact: true }).waitFor({ state: 'detached' });
    expect(await dashboard.page.evaluate('globalThis.isSamePage')).to.equal(true);

    await dashboard.page.keyboard.press('/');
    await dashboard.page.keyboard.type('running');
    await dashboard.page.getByRole('link', { name: 'broken' }).waitFor({ state: 'detached' });
    await dashboard.page.getByRole('link', { name: 'web' }).waitFor();
    await dashboard.context.close();
  });

  it('has a page of a deployment: the step that waits, replicas, where it may run, events and a log that grows', async () => {
    const dashboard = await open();
    await dashboard.go('#/deployments/nowhere');
    await dashboard.says(/Waiting at “placed”/);
    await dashboard.page.locator('.grid .refused').first().waitFor();
    expect(await dashboard.page.locator('.grid').innerText()).to.match(/shop-1[\s\S]*disk/);

    await dashboard.go('#/deployments/web');
    await dashboard.page.locator('.log-line', { hasText: 'hello from web' }).nth(1).waitFor();
    expect(await dashboard.page.locator('.step.done').count()).to.be.at.least(5);
    await dashboard.says('shop-1');
    await dashboard.context.close();
  });

  it('runs nothing of what others have written, and breaks no rule of its content policy', async () => {
    const dashboard = await open();
    await dashboard.go('#/deployments/broken');
    await dashboard.says(HOSTILE);
    await dashboard.page.locator('.log-line, .log .soft').first().waitFor();
    expect(await dashboard.listIncidents()).to.deep.equal([]);
    await dashboard.context.close();
  });

  itDeep('holds with names that no rule has seen, and with thousands of deployments', async () => {
    const dashboard = await DashboardPage.open(browser);
    const shown = await shop.show('web');
    const names = [HOSTILE, '"\'><b>', '\u202egnp.exe', ...Array.from({ length: 5000 }, (_, at) => `many-${at}`)];
    const lines = names.map((name, at) =>
      JSON.stringify({ type: 'added', cursor: `1:a${at}`, object: { ...shown, name } }),
    );
    const bookmark = `${JSON.stringify({ type: 'bookmark', cursor: '1', object: null })}\n`;
    const body = [...lines, bookmark].join('\n');
    // Nor does the server have a word in it when the page goes on after the end of this answer.
    await dashboard.page.route(/\/api\/v1\/deployments\?watch=true/, route =>
      route.fulfill({
        contentType: 'application/x-ndjson',
        body: route.request().url().includes('after=') ? bookmark : body,
      }),
    );
    await dashboard.signIn(plane.server, shop.token);
    await dashboard.says('What is wrong');
    await dashboard.go('#/deployments');
    await dashboard.says(`${names.length} in all`);
    await dashboard.says(HOSTILE);
    expect(await dashboard.page.locator('tbody tr').count()).to.equal(100);
    await dashboard.go(`#/deployments/${encodeURIComponent(HOSTILE)}`);
    await dashboard.page.getByRole('heading', { name: HOSTILE }).waitFor();
    expect(await dashboard.listIncidents()).to.deep.equal([]);
    await dashboard.context.close();
  });

  itDeep('goes on by itself after the server was away, and misses nothing', async () => {
    const dashboard = await open();
    await dashboard.go('#/deployments');
    await dashboard.page.getByRole('link', { name: 'web' }).waitFor();
    await plane.api.kill('SIGKILL');
    await dashboard.says('The server does not answer');
    plane.api.start();
    await plane.serving();
    await shop.apply({ name: 'after', image, ...shell('sleep 1000') });
    await dashboard.page.getByRole('row', { name: /after.*Running/ }).waitFor();
    await dashboard.page.getByText('The server does not answer').waitFor({ state: 'detached' });
    await shop.remove('after');
    await dashboard.context.close();
  });

  it('[5.4] lets an administrator of the platform choose a tenant, and shows nothing of another', async () => {
    const other = await TenantClient.open(plane, 'bakery');
    const dashboard = await DashboardPage.open(browser);
    await dashboard.signIn(plane.server, plane.access.adminToken);
    await dashboard.page.getByRole('button', { name: /^bakery/ }).click();
    await dashboard.says('Nothing is deployed yet');
    expect(await dashboard.text())
      .to.include(other.id)
      .and.not.include('broken');
    await dashboard.page.getByRole('button', { name: 'Change tenant' }).click();
    await dashboard.page.getByRole('button', { name: /^shop/ }).click();
    await dashboard.says(/^broken is/);
    await dashboard.page.getByRole('button', { name: 'Change tenant' }).click();
    await dashboard.page.getByRole('button', { name: /^bakery/ }).click();
    await dashboard.says('Nothing is deployed yet');
    expect(await dashboard.text()).to.not.include('broken');
    await dashboard.context.close();
  });

  it('keeps neither the token nor the value of a secret anywhere', async () => {
    const dashboard = await open();
    let traces = '';
    for (const hash of Object.values(PAGES)) {
      await dashboard.go(hash);
      await dashboard.page.waitForTimeout(300);
      traces += await dashboard.readTraces();
    }
    expect(traces).to.include('shop-1').and.not.include(SECRET).and.not.include(shop.token);
    expect(await readFile(join(plane.folder, 'api.log'), 'utf8')).to.not.include(shop.token);
    await dashboard.page.reload();
    await dashboard.page.getByLabel('Token').waitFor();
    await dashboard.context.close();
  });

  it('shows each role what it may do: a viewer changes nothing, a deployer scales, and a deletion is asked twice', async () => {
    const body = { role: 'viewer', description: 'looks' };
    const { token } = unwrap(await shop.client.request<{ token: string }>('POST', '/api/v1/tokens', { body }));
    const viewer = await DashboardPage.open(browser);
    await viewer.signIn(plane.server, token);
    await viewer.says('What is wrong');
    await viewer.go('#/deployments/web');
    await viewer.says('How far it is');
    expect(await viewer.page.getByRole('button', { name: /Scale|Restart|Delete/ }).count()).to.equal(0);
    await viewer.context.close();

    await shop.apply({ name: 'scaled', image, ...shell('sleep 1000') });
    const dashboard = await open();
    await dashboard.go('#/deployments/scaled');
    await dashboard.page.getByLabel('Replicas', { exact: true }).fill('2');
    await dashboard.page.getByRole('button', { name: 'Scale', exact: true }).click();
    await dashboard.says('2 of 2 replicas ready');
    await dashboard.page.getByRole('button', { name: 'Delete', exact: true }).click();
    expect((await shop.show('scaled')).metadata.deletedAt).to.equal(undefined);
    await dashboard.page.getByRole('button', { name: 'Yes, delete' }).click();
    await dashboard.says('There is no deployment of this name');
    await dashboard.context.close();
  });

  it('refuses beside the line as one types, shows what would change, and applies', async () => {
    const dashboard = await open();
    await dashboard.go('#/new');
    const text = dashboard.page.getByLabel('The deployment as YAML');
    const declare = (name: string, replicas: number) =>
      text.fill(
        `kind: Deployment\nname: ${name}\nimage: ${image}\nreplicas: ${replicas}\nentrypoint: [/bin/sh, -c, sleep 1000]\n`,
      );
    await declare('Typed_1', -1);
    await dashboard.page.locator('.problems li', { hasText: /line 2.*deployment_name_invalid/ }).waitFor();
    await dashboard.page.locator('.problems li', { hasText: /line 4.*replicas_negative/ }).waitFor();
    expect(await dashboard.page.getByRole('button', { name: 'Apply' }).isDisabled()).to.equal(true);
    await declare('web', 1);
    await dashboard.page.locator('.problems').getByRole('link', { name: 'Change web instead' }).waitFor();
    await text.fill(`kind: Deployment\nname: typed\nimage: ${image}\ndependsOn: [{ name: typed }]\n`);
    await dashboard.page.getByRole('button', { name: 'Fix' }).click();
    await dashboard.says('What "Apply" would do: create');
    await declare('typed', 1);
    await dashboard.says('What "Apply" would do: create');
    await dashboard.page.getByRole('button', { name: 'Apply' }).click();
    await dashboard.page.getByRole('heading', { name: 'typed', exact: true }).waitFor();

    await dashboard.says('1 of 1 replicas ready');
    await dashboard.go('#/deployments/typed/edit');
    await text.fill(
      `kind: Deployment\nname: typed\nimage: ${image}\nreplicas: 1\nentrypoint: [/bin/sh, -c, sleep 2000]\n`,
    );
    await dashboard.says('Recreated: replica 0 on shop-1.');
    await declare('typed', 0);
    await dashboard.says('/replicas');
    await dashboard.page.getByRole('button', { name: 'Apply' }).click();
    await dashboard.says('It is stopped: it asks for 0 replicas');
    await shop.remove('typed');
    expect(await dashboard.listIncidents()).to.deep.equal([]);
    await dashboard.context.close();
  });

  itDeep('is typed in as in an editor: keys indent, fields are proposed, and a fix is taken back', async () => {
    const dashboard = await open();
    const { keyboard } = dashboard.page;
    await dashboard.go('#/new');
    const text = dashboard.page.getByLabel('The deployment as YAML');
    const proposed = dashboard.page.getByRole('option');
    const findFocus = () => dashboard.page.evaluate('document.activeElement.tagName');
    await text.press('ControlOrMeta+a');
    await keyboard.type(`kind: Deployment\nname: drafted\nimage: ${image}\npo`);
    await proposed.filter({ hasText: 'ports' }).waitFor();
    for (const key of ['Enter', 'Enter']) await keyboard.press(key); // ports, and the first field of one
    await keyboard.type('8080\npro');
    await proposed.filter({ hasText: 'tcp or udp' }).waitFor();
    for (const key of ['Tab', 'ArrowDown', 'Enter', 'Enter', 'Shift+Tab', 'Shift+Tab']) await keyboard.press(key);
    await keyboard.type('depends');
    await proposed.filter({ hasText: 'dependsOn' }).click();
    await keyboard.press('Enter'); // name
    await keyboard.type('drafted # not itself');
    const typed = `kind: Deployment\nname: drafted\nimage: ${image}\nports:\n  - containerPort: 8080\n    protocol: udp\ndependsOn:\n  - name: drafted # not itself`;
    expect(await text.inputValue()).to.equal(typed);
    await dashboard.page.getByRole('button', { name: 'Fix' }).click();
    await dashboard.says('What "Apply" would do: create');
    expect(await text.inputValue())
      .to.include('dependsOn: []')
      .and.not.include('itself');
    await keyboard.press('ControlOrMeta+z');
    await dashboard.page.locator('.problems li', { hasText: /line 8/ }).waitFor();
    expect(await text.inputValue()).to.equal(typed);
    // The text is left as it was entered: by a key.
    await keyboard.press('ControlOrMeta+End');
    await keyboard.press('Enter');
    await keyboard.press('Control+Space');
    await proposed.filter({ hasText: 'condition' }).waitFor();
    await keyboard.press('Escape');
    expect([await proposed.count(), await findFocus()]).to.deep.equal([0, 'TEXTAREA']);
    await keyboard.press('Escape');
    await keyboard.press('Tab');
    expect(await findFocus()).to.not.equal('TEXTAREA');
    expect(await dashboard.listIncidents()).to.deep.equal([]);
    await dashboard.context.close();
  });

  it('writes a credential, and never shows its value again', async () => {
    const dashboard = await open();
    await dashboard.go('#/secrets');
    const typed = 'typed-into-the-dashboard';
    const answers: string[] = [];
    const keep = async (answer: Response) => void answers.push(`${answer.url()} ${await answer.text()}`);
    // The body of a stream comes when the page is left.
    dashboard.page.on('response', answer => void keep(answer).catch(() => undefined));
    await dashboard.page.getByRole('textbox', { name: 'Path' }).fill('deployments/typed');
    await dashboard.page.getByRole('textbox', { name: 'Key' }).fill('password');
    await dashboard.page.getByLabel('Value', { exact: true }).fill(typed);
    await dashboard.page.getByRole('button', { name: 'Add a key' }).click();
    await dashboard.page.getByRole('textbox', { name: 'Key 2' }).fill('made');
    await dashboard.page.getByLabel('generate key 2 instead').check();
    expect(await dashboard.page.getByLabel('Value 2').isDisabled()).to.equal(true);
    await dashboard.page.getByRole('button', { name: 'Write' }).click();
    await dashboard.says('deployments/typed: the next version is written');
    await dashboard.page.getByRole('row', { name: /deployments\/typed/ }).waitFor();
    expect(await dashboard.page.getByLabel('Value', { exact: true }).inputValue()).to.equal('');
    const written = await shop.client.request<{ keys: string[] }>('GET', '/api/v1/secrets/deployments/typed');
    expect(unwrap(written).keys.toSorted()).to.deep.equal(['made', 'password']);
    let traces = await dashboard.readTraces();
    for (const hash of ['#/events', '#/', '#/secrets']) {
      await dashboard.go(hash);
      await dashboard.page.waitForTimeout(300);
      traces += await dashboard.readTraces();
    }
    expect(traces).to.include('deployments/typed').and.not.include(typed);
    await until('the answers to be read', async () => answers.some(text => text.includes('deployments/typed')));
    expect(answers.join('\n')).to.not.include(typed);
    for (const log of ['api.log', 'controllers.log'])
      expect(await readFile(join(plane.folder, log), 'utf8'), log).to.not.include(typed);
    await dashboard.context.close();
  });

  itDeep('walks through a rotation: the phase, what it waits for, the next button and the way back', async () => {
    const secrets = [
      { name: 'API', vault_path: 'deployments/rotated', anchor: 'process', generate: { keys: ['key'] } },
    ];
    await shop.apply({ name: 'rotated', image, secrets, ...shell('sleep 1000') });
    await shop.reaches('rotated', 'Running');
    const dashboard = await open();
    await dashboard.go('#/deployments/rotated');
    await dashboard.says('rotated is not being rotated.');
    await dashboard.page.getByRole('button', { name: 'Next: stage' }).click();
    await dashboard.page.getByRole('button', { name: 'Yes, next: stage' }).click();
    await dashboard.says('rotated is at stage, which is complete.');
    await dashboard.page.getByRole('button', { name: 'Next: promote' }).waitFor();
    await dashboard.go('#/');
    const trouble = dashboard.page.locator('.trouble', { hasText: 'The rotation of deployments/rotated is at stage' });
    await trouble.getByText('moor rotate rotated --secret rotated --phase promote').waitFor();
    await trouble.getByRole('button', { name: 'Abort', exact: true }).click();
    await trouble.waitFor({ state: 'detached' });
    await dashboard.go('#/deployments/rotated');
    await dashboard.says('rotated is not being rotated.');
    await dashboard.context.close();
  });

  itDeep('applies a recommendation to what was measured, after a question', async () => {
    const dashboard = await DashboardPage.open(browser);
    const advice = {
      id: 'rec_vol_1_full',
      applicable: true,
      priority: 'high',
      volume_name: 'data',
      message: `${HOSTILE} is nearly full`,
      parameters: { action: 'resize', target_size_bytes: 2048 },
      revision: '7',
    };
    const sent: unknown[] = [];
    await dashboard.page.route('**/api/v1/dvm/recommendations', route => route.fulfill({ json: { items: [advice] } }));
    const preview = {
      nodes: [{ nodeId: 'node_1', name: 'shop-1', change: 'its size changes while it is in use' }],
      seconds: 3,
      because: 'the last growth took as long',
    };
    await dashboard.page.route(/\/recommendations\/[^/]+\/apply/, route => {
      if (route.request().url().endsWith('?dryRun=true')) return route.fulfill({ json: { preview } });
      sent.push(
        route.request().url().split('/').at(-2),
        route.request().headers()['if-match'],
        route.request().postDataJSON(),
      );
      return route.fulfill({ json: {} });
    });
    await dashboard.signIn(plane.server, shop.token);
    await dashboard.says('What is wrong');
    await dashboard.go('#/volumes');
    await dashboard.page.getByRole('button', { name: 'Apply', exact: true }).click();
    await dashboard.says(/shop-1: its size changes while it is in use\. It may take 3 s: the last growth/);
    expect(sent).to.deep.equal([]);
    await dashboard.page.getByRole('button', { name: 'Yes, apply' }).click();
    await dashboard.says('Apply: accepted');
    expect(sent).to.deep.equal([advice.id, '"7"', { parameters: advice.parameters }]);
    expect(await dashboard.listIncidents()).to.deep.equal([]);
    await dashboard.context.close();
  });

  for (const scheme of ['light', 'dark'] as const) {
    itDeep(
      `is usable by everyone: axe-core finds nothing serious on any ${scheme} page, and 400 pixels are enough`,
      async () => {
        const faults: string[] = [];
        const dashboard = await DashboardPage.open(browser, { scheme, bypassCSP: true });
        await dashboard.page.goto(plane.server);
        await dashboard.page.getByLabel('Token').waitFor();
        const look = async (name: string) => {
          const found = await dashboard.listAccessFaults();
          const overflow = await dashboard.picture(`${name}-${scheme}`);
          faults.push(...found.map(fault => `${name}: ${fault}`));
          if (overflow > 0) faults.push(`${name}: ${overflow} pixels wider than 400`);
        };
        await look('sign-in');
        await dashboard.signIn(plane.server, shop.token);
        await dashboard.says('What is wrong');
        for (const [name, hash] of Object.entries(PAGES)) {
          await dashboard.go(hash);
          await dashboard.page.waitForTimeout(700); // what is asked for by the page itself
          await look(name);
        }
        await dashboard.go('#/new');
        const text = dashboard.page.getByLabel('The deployment as YAML');
        await text.press('ControlOrMeta+End');
        await text.press('Control+Space');
        await dashboard.page.getByRole('option').first().waitFor();
        await look('proposals');
        await dashboard.context.close();
        expect(faults.join('\n')).to.equal('');
      },
    );
  }

  itDeep('leaves a picture of a terminal beside those of its pages, for the documentation', async () => {
    let shown = '';
    for (const words of [
      ['get', 'deployments'],
      ['describe', 'deployment', 'nowhere'],
    ]) {
      const environment = { MOORING_SERVER: plane.server, MOORING_TOKEN: shop.token };
      const terminal = createTestTerminal(environment, { colours: true, width: 120 });
      await run(words, terminal);
      shown += `$ moor ${words.join(' ')}\n${terminal.printed.out}\n`;
    }
    expect(shown).to.match(/nowhere[\s\S]*Unschedulable[\s\S]*disk/);
    await pictureTerminal(browser, 'terminal', shown.trimEnd());
  });

  it('is small: all of it in less than 100 kB on the wire', async () => {
    let bytes = 0;
    for (const path of ['/', '/assets/main.js', '/assets/style.css', '/assets/icon.svg']) {
      const answer = await until(path, async () => {
        const response = await fetch(plane.server + path, { headers: { 'accept-encoding': 'gzip' } });
        return response.ok && response;
      });
      bytes += Number(answer.headers.get('content-length'));
      await answer.body?.cancel();
    }
    expect(bytes).to.be.within(10_000, 100_000);
  });
});
