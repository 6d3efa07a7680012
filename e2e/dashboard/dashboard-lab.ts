import { join } from 'node:path';

import type { Context } from 'mocha';
import type { Browser } from 'playwright-core';

import { skip } from '../../dev/testing/index.js';
import { bundleDashboard } from '../../dashboard/bundle/bundle.js';
import { clone } from '../../pkg/version/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { Fleet } from '../lab/fleet.js';
import { TenantClient } from '../lab/tenant-client.js';
import { DashboardPage, findChromium, launchChromium } from './browser.js';

/** A real stack with one tenant and one node, and a browser to look at it with. */
export class DashboardLab {
  readonly plane: ControlPlane;
  readonly fleet: Fleet;
  readonly shop: TenantClient;
  readonly browser: Browser;
  readonly image: string;

  private constructor(plane: ControlPlane, fleet: Fleet, shop: TenantClient, browser: Browser, image: string) {
    [this.plane, this.fleet, this.shop, this.browser, this.image] = [plane, fleet, shop, browser, image];
  }

  /** To be called in `before`: skips the suite, and says so in each title, where there is no browser. */
  static async start(suite: Context): Promise<DashboardLab> {
    const executable = findChromium();
    if (executable === undefined) {
      return skip(suite, 'there is no browser here (apt-get install chromium)');
    }
    await bundleDashboard(join(clone, 'dist', 'dashboard', 'assets'));
    const plane = await ControlPlane.start();
    const fleet = await Fleet.start(plane);
    const shop = await TenantClient.open(plane, 'shop');
    await fleet.enrol(shop.client, 'shop-1', { 'mooring.io/country': 'DE' });
    const image = await fleet.image('1');
    return new DashboardLab(plane, fleet, shop, await launchChromium(executable), image);
  }

  /** A page of the tenant's administrator, at the overview. */
  async open(options?: Parameters<typeof DashboardPage.open>[1]): Promise<DashboardPage> {
    const dashboard = await DashboardPage.open(this.browser, options);
    await dashboard.signIn(this.plane.server, this.shop.token);
    await dashboard.says('What is wrong');
    return dashboard;
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await this.fleet.stop();
    await this.plane.stop();
  }
}

/** A container that runs a line of shell. */
export const shell = (line: string) => ({ entrypoint: ['/bin/sh', '-c'], command: [line] });
