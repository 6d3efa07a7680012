import { join } from 'node:path';

import { expect } from 'chai';
import type { Browser } from 'playwright-core';

import { bundleDashboard } from '../../dashboard/bundle/bundle.js';
import { skip, until } from '../../dev/testing/index.js';
import { clone } from '../../pkg/version/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { TenantClient, unwrap } from '../lab/tenant-client.js';
import { DashboardPage, findChromium, launchChromium } from './browser.js';
import { changePhases, seedDeployments } from './crowd.js';

const DEPLOYMENTS = 5_000;
const PAGE = 100;
/** A tenth of what is called good: a row that is pushed down by another is more. */
const STEADY = 0.01;

describe('the dashboard with thousands of deployments', () => {
  let plane: ControlPlane;
  let browser: Browser;
  let shop: TenantClient;
  before(async function () {
    const executable = findChromium();
    if (executable === undefined) {
      return skip(this, 'there is no browser here (apt-get install chromium)');
    }
    await bundleDashboard(join(clone, 'dist', 'dashboard', 'assets'));
    plane = await ControlPlane.start();
    await plane.controllers.kill('SIGTERM'); // they would look for the containers of what is seeded
    shop = await TenantClient.open(plane, 'shop');
    await seedDeployments(plane, shop.id, DEPLOYMENTS);
    browser = await launchChromium(executable);
  });
  after(async () => {
    await browser?.close();
    await plane?.stop();
  });

  /** A page that knows how far its pieces have moved without being asked to. */
  async function openMeasured() {
    const dashboard = await DashboardPage.open(browser);
    const { page } = dashboard;
    await page.addInitScript(
      `globalThis.shifts = []; new PerformanceObserver(list => {
        for (const { value, sources } of list.getEntries())
          shifts.push({ value, of: sources.map(({ node }) => (node?.outerHTML ?? node?.textContent ?? '').slice(0, 120)).join(' | ') });
      }).observe({ type: 'layout-shift', buffered: true });`,
    );
    const measureShifts = async () => {
      await page.evaluate('new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
      const shifts = (await page.evaluate('shifts')) as readonly { readonly value: number; readonly of: string }[];
      const score = shifts.reduce((sum, { value }) => sum + value, 0);
      return { score, told: shifts.map(({ value, of }) => `${value.toFixed(4)} ${of}`).join('\n') };
    };
    const expectSteady = async () => {
      const { score, told } = await measureShifts();
      expect(score, told).to.be.below(STEADY);
    };
    const expectJumpSeen = async () => {
      const { score: before } = await measureShifts();
      await page.evaluate(
        `document.getElementById('main').prepend(Object.assign(document.createElement('p'), { textContent: 'pushed' }))`,
      );
      await until('a jump to be seen', async () => (await measureShifts()).score > before + STEADY);
    };
    return { dashboard, page, expectSteady, expectJumpSeen };
  }

  it('draws a page of them at a time, and nothing jumps from the sign-in on while their statuses change', async () => {
    const { dashboard, page, expectSteady, expectJumpSeen } = await openMeasured();
    await page.goto(`${plane.server}/#/deployments`);
    await page.getByLabel('Token').fill(shop.token);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await dashboard.says(`${DEPLOYMENTS} in all`);
    const rows = page.locator('tbody tr');
    expect(await rows.count()).to.equal(PAGE);
    await expectSteady();

    // Of those that are drawn, and of others, which would be first by their phase.
    const changed = [3, 10, 40, 2_000, 4_000].map(at => `app-${String(at).padStart(5, '0')}`);
    await changePhases(plane, shop.id, changed, 'Degraded');
    await page.getByRole('row', { name: /app-00003.*Degraded/ }).waitFor();
    await page.getByRole('row', { name: /app-00040.*Degraded/ }).waitFor();
    // Beside them, that no machine is enrolled.
    await page.locator('.count', { hasText: String(changed.length + 1) }).waitFor();
    expect(await rows.count()).to.equal(PAGE);
    expect(await rows.nth(3).innerText()).to.include('app-00003');
    await expectSteady();

    await page.getByRole('button', { name: '2 that are not running are not shown: sort again', exact: true }).click();
    await until('the worst to be first', async () => /app-04000/.test(await rows.nth(4).innerText()));
    await page.getByRole('button', { name: /^Show 100 more/ }).click();
    await rows.nth(2 * PAGE - 1).waitFor();
    expect(await rows.count()).to.equal(2 * PAGE);
    expect(await dashboard.listIncidents()).to.deep.equal([]);

    // What is measured sees a jump; further down the browser would keep in place what is looked at.
    await page.evaluate('scrollTo(0, 0)');
    await expectJumpSeen();
    await dashboard.context.close();
  });

  it('draws a page of the replicas of one deployment, and tells of a few first what is wrong with all', async () => {
    const { dashboard, page } = await openMeasured();
    const replicas = 1_000;
    await changePhases(plane, shop.id, ['app-00007'], 'Degraded', replicas);
    await page.goto(`${plane.server}/#/deployments/app-00007`);
    await page.getByLabel('Token').fill(shop.token);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    const panel = page.locator('.panel', { has: page.getByRole('heading', { name: 'Replicas' }) });
    const [rows, troubles] = [panel.locator('tbody tr'), panel.locator('.waits')];
    await rows.first().waitFor();
    expect([await rows.count(), await troubles.count()]).to.deep.equal([PAGE, 10]);
    await panel.getByRole('button', { name: 'Show 100 more of 900', exact: true }).click();
    await rows.nth(2 * PAGE - 1).waitFor();
    await panel.getByRole('button', { name: 'Show 100 more of 990', exact: true }).click();
    await troubles.nth(109).waitFor();
    expect([await rows.count(), await troubles.count()]).to.deep.equal([2 * PAGE, 110]);
    expect(await troubles.nth(109).innerText()).to.include('replica 109 waits');
    await changePhases(plane, shop.id, ['app-00007'], 'Running');
    await dashboard.context.close();
  });

  it('keeps the overview still while things break and are right again, events arrive and quotas fill up', async () => {
    const { dashboard, page, expectSteady, expectJumpSeen } = await openMeasured();
    const toNames = (all: readonly number[]) => all.map(at => `app-${String(at).padStart(5, '0')}`);
    await changePhases(plane, shop.id, toNames([100, 101, 102]), 'Degraded');
    await dashboard.signIn(plane.server, shop.token);
    const troubles = page.locator('.trouble');
    await troubles.filter({ hasText: 'app-00102' }).waitFor();
    await expectSteady();
    const stood = await troubles.allInnerTexts();

    await changePhases(plane, shop.id, toNames([5]), 'Degraded');
    await troubles.filter({ hasText: 'app-00005' }).waitFor();
    await changePhases(plane, shop.id, toNames([101]), 'Running');
    await page.locator('.settled', { hasText: 'app-00101' }).waitFor();
    const admin = plane.client(plane.access.adminToken);
    unwrap(await admin.request('PUT', `/api/v1/tenants/${shop.id}/quotas`, { body: { deployments: 6_000 } }));
    for (const name of ['one', 'two']) {
      const path = `/api/v1/secrets/deployments/${name}`;
      unwrap(await shop.client.request('PUT', path, { body: { values: { user: 'x' } } }));
      await page
        .locator('.steady-events li', { hasText: `deployments/${name}` })
        .first()
        .waitFor();
    }
    await dashboard.says('Quotas that are half used');
    await expectSteady();
    expect((await troubles.allInnerTexts()).at(-1)).to.include('app-00005');

    // What one points at is not exchanged under the hand.
    const newest = page.locator('.steady-events li').first();
    await newest.hover();
    const pointedAt = await newest.innerText();
    unwrap(await shop.client.request('PUT', '/api/v1/secrets/deployments/three', { body: { values: { user: 'x' } } }));
    await dashboard.says(/^\d+ newer: shown when you point elsewhere$/);
    expect(toStill(await newest.innerText())).to.equal(toStill(pointedAt));
    await page.getByRole('heading', { name: 'Overview' }).hover();
    await newest.filter({ hasText: 'deployments/three' }).waitFor();
    await expectSteady();

    await page.getByRole('button', { name: 'Put in order' }).click();
    await page.locator('.settled').waitFor({ state: 'detached' });
    expect(await troubles.count()).to.equal(stood.length);

    await dashboard.go('#/events');
    const first = page.locator('.events li').first();
    await first.hover();
    unwrap(await shop.client.request('PUT', '/api/v1/secrets/deployments/four', { body: { values: { user: 'x' } } }));
    await dashboard.says(/\d+ newer, shown when you point elsewhere$/);
    expect(await first.innerText()).to.include('deployments/three');
    await page.getByRole('heading', { name: 'Events' }).hover();
    await first.filter({ hasText: 'deployments/four' }).waitFor();
    expect(await dashboard.listIncidents()).to.deep.equal([]);
    await expectJumpSeen();
    await dashboard.context.close();
  });
});

/** Without how long ago it was. */
const toStill = (text: string) => text.replaceAll(/\d+\w+ ago|just now|now/g, '');
