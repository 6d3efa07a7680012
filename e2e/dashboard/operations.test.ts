import { expect } from 'chai';

import { itDeep } from '../../dev/testing/index.js';
import { TenantClient, unwrap } from '../lab/tenant-client.js';
import { DashboardPage } from './browser.js';
import { DashboardLab, shell } from './dashboard-lab.js';

const HOSTILE = '<img src=x onerror=alert(1)>';
const SINGS = 'n=0; while :; do n=$((n+1)); echo "verse $n."; sleep 1; done';
const IDLE = shell('while :; do echo "I am $HOSTNAME"; sleep 1; done');

describe('what is done from the dashboard', () => {
  let lab: DashboardLab;
  before(async function () {
    lab = await DashboardLab.start(this);
    const { shop, image } = lab;
    await shop.apply({ name: 'db', image, ...IDLE });
    await shop.apply({ name: 'web', image, dependsOn: [{ name: 'db', condition: 'started' }], ...IDLE });
    await shop.reaches('web', 'Running');
  });
  after(() => lab?.stop());

  itDeep('shows the history with two revisions beside each other, and rolls back after a question', async () => {
    const { shop } = lab;
    await shop.change('db', { environment: { NOTE: '<b>second</b>' } });
    const dashboard = await lab.open();
    await dashboard.go('#/deployments/db');
    const sides = dashboard.page.locator('.sides');
    await sides.locator('.added', { hasText: 'NOTE: <b>second</b>' }).waitFor();
    expect(await sides.locator('.removed').count()).to.equal(0);
    await shop.change('db', { environment: { NOTE: 'third' } });
    await sides.locator('.removed', { hasText: '<b>second</b>' }).waitFor();
    await dashboard.page.getByRole('button', { name: 'Compare 1 with 3' }).click();
    await dashboard.page.getByRole('button', { name: 'Roll back to 1', exact: true }).click();
    expect((await shop.show('db')).environment).to.deep.equal({ NOTE: 'third' });
    await dashboard.page.getByRole('button', { name: 'Yes, roll back to 1' }).click();
    await dashboard.page.getByRole('row', { name: /^4 rollback to 1/ }).waitFor();
    expect((await shop.show('db')).environment ?? {}).to.deep.equal({});
    expect(await dashboard.listIncidents()).to.deep.equal([]);
    await dashboard.context.close();
  });

  itDeep('reads the history again when it could not be read', async () => {
    const { shop } = lab;
    await shop.change('db', { environment: { NOTE: 'again' } });
    const dashboard = await lab.open();
    await dashboard.page.route('**/api/v1/archives/**', route => route.abort(), { times: 1 });
    await dashboard.go('#/deployments/db');
    await dashboard.page.locator('.sides').locator('.added', { hasText: 'NOTE: again' }).waitFor();
    await dashboard.context.close();
  });

  itDeep(
    'shows how far a rollout is, what its canary is compared with and what scaling wants, with the next button',
    async () => {
      const dashboard = await DashboardPage.open(lab.browser);
      const shown = await lab.shop.show('web');
      const at = new Date(0).toISOString();
      const side = { replicas: 1, ready: 1, unhealthy: 0, restarts: 0, exitCodes: [] };
      const worse = { ...side, ready: 0, restarts: 7, exitCodes: [3] };
      const compared = { canary: worse, others: { ...side, replicas: 2, ready: 2 } };
      const canary = { state: 'failed', revision: 4, slots: [2], wanted: 1, since: at, compared, waitsFor: 'an order' };
      const failure = {
        revision: 2,
        at,
        reason: 'crash_loop',
        message: HOSTILE,
        replica: 0,
        containerId: 'c'.repeat(64),
      };
      const rollout = { state: 'canary', revision: 4, completedRevision: 3, waitsFor: 'an order', failure };
      const limits = { minReplicas: 1, maxReplicas: 4, targetCpuPercent: 60 };
      const scaling = { ...limits, replicas: 3, cpuPercent: 180, message: 'as much as it needs' };
      const status = {
        ...shown.status,
        rollout: { ...rollout, failure: { ...failure, output: HOSTILE } },
        canary,
        scaling,
      };
      await dashboard.hasOnly('deployments', { ...shown, status });
      const sent: unknown[] = [];
      await dashboard.page.route('**/api/v1/deployments/web/canary', route => {
        sent.push(route.request().postDataJSON());
        return route.fulfill({ json: {} });
      });
      await dashboard.signIn(lab.plane.server, lab.shop.token);
      await dashboard.says('What is wrong');
      await dashboard.go('#/deployments/web');
      await dashboard.page.getByRole('row', { name: 'new: the canary 1 0 0 7 3' }).waitFor();
      await dashboard.page.getByRole('row', { name: 'old: the others 2 2 0 0 -' }).waitFor();
      await dashboard.says(/^canary, revision 4 \(complete: 3\); it waits for an order/);
      await dashboard.says(/^failed since .* beside 2 of the old template .*; it waits for an order$/);
      await dashboard.says('3 wanted of 1 to 4: as much as it needs');
      await dashboard.says('180 % of what is requested; 60 % is aimed at');
      await dashboard.says('moor logs web --replica 0');
      await dashboard.page.getByRole('button', { name: 'Abort the canary' }).click();
      await dashboard.says('Abort the canary: accepted');
      expect(sent).to.deep.equal([{ action: 'abort' }]);
      expect(await dashboard.listIncidents()).to.deep.equal([]);
      await dashboard.context.close();
    },
  );

  itDeep('draws what a deployment needs and what needs it, and one is a link to the other', async () => {
    const dashboard = await lab.open();
    await dashboard.go('#/deployments/db');
    await dashboard.page.getByRole('group', { name: 'web needs db: started' }).waitFor();
    await dashboard.page.locator('.relations a', { hasText: 'web' }).click();
    await dashboard.page.getByRole('heading', { name: 'web', exact: true }).waitFor();
    await dashboard.page.locator('.relations a', { hasText: 'db' }).waitFor();
    await dashboard.context.close();
  });

  itDeep(
    'shows the logs of all replicas together as they grow, in the order of their times, and searches in them',
    async () => {
      await lab.shop.apply({ name: 'chorus', image: lab.image, replicas: 3, ...shell(SINGS) });
      await lab.shop.reaches('chorus', 'Running');
      const { status } = await lab.shop.show('chorus');
      const slots = (status?.placements ?? []).map(({ replica }) => replica);
      expect(slots).to.have.length(3);
      const dashboard = await lab.open();
      await dashboard.go('#/deployments/chorus');
      const lines = dashboard.page.locator('.log-line');
      const of = (slot: number) =>
        lines.filter({ has: dashboard.page.getByText(new RegExp(`^\\d\\d:\\d\\d:\\d\\d ${slot}$`)) });
      for (const slot of slots) await of(slot).nth(2).waitFor();
      const times = await dashboard.page.locator('.log-line').evaluateAll(all => all.map(each => each.title));
      expect(times.filter((time, at) => at > 0 && time < times[at - 1]!)).to.deep.equal([]);
      await dashboard.page.getByLabel('Search in the log').fill('verse 1.');
      await lines.filter({ hasText: 'verse 2.' }).first().waitFor({ state: 'detached' });
      expect(await lines.count()).to.equal(3);
      await dashboard.page.getByLabel('Replica', { exact: true }).selectOption(String(slots[1]));
      await lines.nth(1).waitFor({ state: 'detached' });
      await lines.filter({ hasText: 'verse 1.' }).waitFor();
      await lab.shop.remove('chorus');
      await dashboard.context.close();
    },
  );

  itDeep('restores a backup after saying what that changes, and deletes backups and networks', async () => {
    const { shop, image } = lab;
    await shop.apply({ name: 'kept', image, replicas: 0 });
    unwrap(await shop.client.request('POST', '/api/v1/backups', { body: { deploymentName: 'kept' } }));
    await shop.change('kept', { environment: { NOTE: 'later' } });
    unwrap(await shop.client.request('POST', '/api/v1/networks', { body: { name: 'spare' } }));
    const dashboard = await lab.open();
    await dashboard.go('#/backups');
    const row = dashboard.page.getByRole('row', { name: /kept/ });
    await row.getByRole('button', { name: 'Restore', exact: true }).click();
    await row.getByText(/Restore kept\? Changed: environment\. No container is recreated\./).waitFor();
    expect((await shop.show('kept')).environment).to.deep.equal({ NOTE: 'later' });
    await row.getByRole('button', { name: 'Yes, restore' }).click();
    await row.getByText('Restore: accepted').waitFor();
    expect((await shop.show('kept')).environment ?? {}).to.deep.equal({});
    await row.getByRole('button', { name: 'Delete', exact: true }).click();
    await row.getByRole('button', { name: 'Yes, delete' }).click();
    await row.waitFor({ state: 'detached' });
    await dashboard.go('#/networks');
    const network = dashboard.page.getByRole('row', { name: /spare/ });
    await network.getByRole('button', { name: 'Delete', exact: true }).click();
    await network.getByRole('button', { name: 'Yes, delete' }).click();
    await network.waitFor({ state: 'detached' });
    await dashboard.context.close();
    await shop.remove('kept');
  });

  itDeep('mints a token that is shown once, and revokes it', async () => {
    const dashboard = await lab.open();
    await dashboard.go('#/tokens');
    await dashboard.page.getByLabel('Description').fill('<i>for the build</i>');
    await dashboard.page.getByRole('button', { name: 'Mint' }).click();
    const token = await dashboard.page.locator('.notice code').innerText();
    const ask = async () =>
      (await fetch(`${lab.plane.server}/api/v1/tokens/self`, { headers: { authorization: `Bearer ${token}` } })).status;
    expect(await ask()).to.equal(200);
    const row = dashboard.page.getByRole('row', { name: '<i>for the build</i>' });
    await row.waitFor();
    await dashboard.go('#/quotas');
    await dashboard.page.getByRole('heading', { name: 'Quotas', exact: true }).waitFor();
    await dashboard.go('#/tokens');
    await row.getByRole('button', { name: 'Revoke', exact: true }).click();
    expect(await dashboard.readTraces()).to.not.include(token);
    expect(await ask()).to.equal(200);
    await row.getByRole('button', { name: 'Yes, revoke' }).click();
    await row.waitFor({ state: 'detached' });
    expect(await ask()).to.equal(401);
    expect(await dashboard.listIncidents()).to.deep.equal([]);
    await dashboard.context.close();
  });

  itDeep('shows what the tenant may have and how much of it is used', async () => {
    const { plane, shop } = lab;
    const admin = plane.client(plane.access.adminToken);
    unwrap(await admin.request('PUT', `/api/v1/tenants/${shop.id}/quotas`, { body: { deployments: 4 } }));
    const dashboard = await lab.open();
    await dashboard.go('#/quotas');
    await dashboard.page.getByRole('row', { name: /^deployments 2 4 .*50 % the platform, for this tenant/ }).waitFor();
    await dashboard.go('#/');
    await dashboard.says('that are half used');
    await dashboard.says('2 of 4');
    unwrap(await admin.request('PUT', `/api/v1/tenants/${shop.id}/quotas`, { body: {} }));
    await dashboard.context.close();
  });

  itDeep('gives the command that enrols a machine, and names what a fence would move before it is done', async () => {
    const dashboard = await lab.open();
    await dashboard.go('#/nodes');
    await dashboard.page.getByLabel('Name').fill('machine-9');
    await dashboard.page.getByRole('button', { name: 'Make its command' }).click();
    await dashboard.says(
      /^MOORING_JOIN_TOKEN=mjn_\S+ moor agent --server https?:\/\/127\.0\.0\.1:\d+ --name machine-9$/,
    );
    await dashboard.page.getByLabel('Name').fill('No Name');
    await dashboard.page.getByRole('button', { name: 'Make its command' }).click();
    await dashboard.says(/field_invalid/);

    await dashboard.go('#/nodes/shop-1');
    await dashboard.page.getByRole('button', { name: 'Fence', exact: true }).click();
    const question = dashboard.page.getByRole('alertdialog');
    const asked = await question.innerText();
    expect(asked)
      .to.match(/Only if the machine is off/)
      .and.match(/web replica 0/)
      .and.match(/db replica \d/);
    await question.getByRole('button', { name: 'No' }).click();
    await question.waitFor({ state: 'detached' });
    const node = unwrap(await lab.shop.client.request<{ status: string }>('GET', '/api/v1/nodes/shop-1'));
    expect(node.status).to.equal('ready');
    await dashboard.context.close();
  });

  itDeep('shows a job with its attempts and what each has printed', async () => {
    const line = 'echo "attempt says <u>no</u>"; exit 5';
    const body = { kind: 'Job', name: 'fails', image: lab.image, backoffLimit: 1, ...shell(line) };
    unwrap(await lab.shop.client.request('POST', '/api/v1/jobs', { body }));
    const dashboard = await lab.open();
    await dashboard.go('#/jobs');
    await dashboard.page.getByRole('link', { name: 'fails' }).click();
    await dashboard.page.getByRole('row', { name: /^2 Failed shop-1 5/ }).waitFor();
    await dashboard.page.locator('.log-line', { hasText: 'attempt says <u>no</u>' }).waitFor();
    await dashboard.page.getByRole('button', { name: 'Log of 1' }).click();
    await dashboard.says('Log of attempt 1');
    await dashboard.page.locator('.log-line', { hasText: 'attempt says <u>no</u>' }).waitFor();
    await dashboard.go('#/');
    const trouble = dashboard.page.locator('.trouble', { hasText: 'Job fails has failed' });
    await trouble.getByText('moor logs job/fails').waitFor();
    await trouble.getByRole('button', { name: 'Delete', exact: true }).click();
    await trouble.getByRole('button', { name: 'Yes, delete' }).click();
    await trouble.waitFor({ state: 'detached' });
    await dashboard.go('#/jobs/fails');
    await dashboard.says('There is no job of this name');
    expect(await dashboard.listIncidents()).to.deep.equal([]);
    await dashboard.context.close();
  });

  itDeep('shows the runs of a schedule and the promotions of volumes, whatever they are called', async () => {
    const dashboard = await DashboardPage.open(lab.browser);
    const at = new Date(0).toISOString();
    const runs = [{ name: HOSTILE, scheduledAt: at, phase: 'Failed', exitCode: 3, finishedAt: at }];
    const missed = { count: 2, lastAt: at, reason: 'missed' };
    const status = { phase: 'Scheduled', message: HOSTILE, attempts: 0, history: [], active: [], runs, missed };
    const job = { name: 'nightly', image: 'x', schedule: '0 3 * * *', timeZone: 'UTC', metadata: { uid: 'u' }, status };
    const promoted = {
      id: 'evt_1',
      type: 'volume.promoted',
      severity: 'warning',
      subject: { kind: 'Volume', name: 'data', id: 'vol_1' },
      message: `the copy on ${HOSTILE} has taken over in epoch 2`,
      count: 1,
      lastSeenAt: at,
    };
    await dashboard.hasOnly('jobs', job);
    await dashboard.page.route(/\/api\/v1\/events\?limit=500&type=volume.promoted/, route =>
      route.fulfill({ json: { items: [promoted] } }),
    );
    await dashboard.signIn(lab.plane.server, lab.shop.token);
    await dashboard.says('What is wrong');
    await dashboard.go('#/jobs/nightly');
    await dashboard.page.getByRole('row', { name: /Failed.* 3 / }).waitFor();
    await dashboard.says(/2 without a run/);
    await dashboard.go('#/volumes');
    await dashboard.says(promoted.message);
    expect(await dashboard.listIncidents()).to.deep.equal([]);
    await dashboard.context.close();
  });

  it('never shows one tenant anything of another, however often one switches', async () => {
    const { plane, shop, image } = lab;
    const bakery = await TenantClient.open(plane, 'bakery');
    for (const [client, mark] of [[shop, 'only-of-shop'] as const, [bakery, 'only-of-bakery'] as const]) {
      await client.apply({ name: mark, image, replicas: 0 });
      const ask = (method: 'POST' | 'PUT', path: string, body: object) => client.client.request(method, path, { body });
      unwrap(await ask('POST', '/api/v1/jobs', { kind: 'Job', name: `${mark}-job`, image, ...IDLE }));
      unwrap(await ask('PUT', `/api/v1/secrets/deployments/${mark}`, { values: { user: 'x' } }));
      unwrap(await ask('POST', '/api/v1/tokens', { description: `${mark}-token` }));
    }
    const dashboard = await DashboardPage.open(lab.browser);
    await dashboard.signIn(plane.server, plane.access.adminToken);
    const marks: Readonly<Record<string, string>> = {
      '#/deployments': '',
      '#/jobs': '-job',
      '#/secrets': '',
      '#/tokens': '-token',
      '#/events': '',
      '#/quotas': '',
    };
    const choose = (name: string) => dashboard.page.getByRole('button', { name: new RegExp(`^${name}`) }).click();
    for (const [name, own, foreign] of [
      ['shop', 'only-of-shop', 'only-of-bakery'],
      ['bakery', 'only-of-bakery', 'only-of-shop'],
      ['shop', 'only-of-shop', 'only-of-bakery'],
      ['bakery', 'only-of-bakery', 'only-of-shop'],
    ] as const) {
      // One that is left before its answers are there must not show them later.
      await choose(name === 'shop' ? 'bakery' : 'shop');
      await dashboard.page.getByRole('button', { name: 'Change tenant' }).click();
      await choose(name);
      for (const [hash, suffix] of Object.entries(marks)) {
        await dashboard.go(hash);
        if (hash !== '#/quotas') await dashboard.says(new RegExp(`${own}${suffix}`));
        const everything = `${await dashboard.page.title()} ${await dashboard.readTraces()}`;
        expect(everything, `${name} ${hash}`).to.not.include(foreign);
      }
      await dashboard.go(`#/deployments/${foreign}`);
      await dashboard.says('There is no deployment of this name');
      await dashboard.go('#/');
      await dashboard.page.getByRole('button', { name: 'Change tenant' }).click();
    }
    expect(await dashboard.listIncidents()).to.deep.equal([]);
    await dashboard.context.close();
  });
});
