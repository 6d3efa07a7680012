import { join } from 'node:path';

import { expect } from 'chai';
import type { Browser } from 'playwright-core';

import { bundleDashboard } from '../../dashboard/bundle/bundle.js';
import { until } from '../../dev/testing/index.js';
import { clone } from '../../pkg/version/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { TenantClient } from '../lab/tenant-client.js';
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
      for (const test of this.test!.parent!.tests)
        test.title += ' skipped: there is no browser here (apt-get install chromium)';
      return this.skip();
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

  it('draws a page of them at a time, and nothing jumps from the sign-in on while their statuses change', async () => {
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
    const { score: before } = await measureShifts();
    await page.evaluate(
      `document.getElementById('main').prepend(Object.assign(document.createElement('p'), { textContent: 'pushed' }))`,
    );
    await until('a jump to be seen', async () => (await measureShifts()).score > before + STEADY);
    await dashboard.context.close();
  });
});
