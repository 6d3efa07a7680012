import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import axe from 'axe-core';
import { type Browser, type BrowserContext, type CDPSession, chromium, type Page } from 'playwright-core';

import { until } from '../../dev/testing/index.js';
import { clone } from '../../pkg/version/index.js';

/** Where the browser is; undefined on a machine that has none. */
export function findChromium(): string | undefined {
  const { status, stdout } = spawnSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

export function launchChromium(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

/** Pictures of pages: what a build leaves behind for people to look at. */
const PICTURES = join(clone, '.cache', 'dashboard');
const WIDTHS = { wide: 1280, narrow: 400 } as const;
const WAIT_MS = 120_000;
const PAGE_MS = 60_000;

/** A page of the dashboard in a real browser, and everything that it should not have done. */
export class DashboardPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Dialogs, errors of scripts and violations of the content policy. */
  readonly incidents: string[] = [];
  /** What was not loaded, which a test may have wanted. */
  readonly #unloaded: string[] = [];
  #devtools: CDPSession | undefined;

  private constructor(context: BrowserContext, page: Page) {
    this.context = context;
    this.page = page;
    page.on('dialog', dialog => {
      this.incidents.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('crash', () => this.incidents.push('crash'));
    page.on('requestfailed', request => this.#unloaded.push(`${request.url()}: ${request.failure()?.errorText}`));
    page.on('response', response => {
      if (!response.ok()) this.#unloaded.push(`${response.url()}: ${response.status()}`);
    });
    page.on('pageerror', error => this.incidents.push(`error: ${error.message}`));
    page.on('console', message => {
      if (/content security policy|trusted/i.test(message.text())) this.incidents.push(`console: ${message.text()}`);
    });
  }

  static async open(
    browser: Browser,
    { scheme = 'light' as 'light' | 'dark', bypassCSP = false } = {},
  ): Promise<DashboardPage> {
    const context = await browser.newContext({
      colorScheme: scheme,
      bypassCSP,
      viewport: { width: WIDTHS.wide, height: 900 },
    });
    context.setDefaultTimeout(WAIT_MS);
    const dashboard = new DashboardPage(context, await context.newPage());
    await dashboard.page.addInitScript(
      `globalThis.violations = []; addEventListener('securitypolicyviolation', e => violations.push(e.violatedDirective + ' ' + e.sample));`,
    );
    return dashboard;
  }

  async signIn(server: string, token: string): Promise<void> {
    await this.page.goto(server);
    await this.page
      .getByLabel('Token')
      .fill(token)
      .catch(async (thrown: unknown) => {
        const content = await this.page.content().catch(String); // a page that has crashed has none
        const seen = [content, ...this.incidents, ...this.#unloaded].join('\n');
        throw new Error(`the page does not ask for a token: ${seen}`, { cause: thrown });
      });
    await this.page.getByRole('button', { name: 'Sign in', exact: true }).click();
  }

  /** Goes to a page as a link does, without loading anything anew. */
  async go(hash: string): Promise<void> {
    await this.page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  }

  /** Has the page told of one object of a kind and of no other, instead of what the server has. */
  async hasOnly(kind: string, object: unknown): Promise<void> {
    const lines = [
      { type: 'added', cursor: '1:a', object },
      { type: 'bookmark', cursor: '1', object: null },
    ].map(line => `${JSON.stringify(line)}\n`);
    await this.page.route(new RegExp(`/api/v1/${kind}\\?watch=true`), route => {
      const body = lines.slice(route.request().url().includes('after=') ? 1 : 0).join('');
      return route.fulfill({ contentType: 'application/x-ndjson', body });
    });
  }

  /** Waits until the page says this. */
  async says(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).first().waitFor();
  }

  text(): Promise<string> {
    return this.page.locator('body').innerText();
  }

  /** Waits until the page says all of it, line breaks being spaces; gives what it does not say in the end, with the page. */
  async lacks(wanted: readonly RegExp[]): Promise<readonly string[]> {
    let [text, missing] = ['', wanted];
    await until(
      'the page to say all of it',
      async () => {
        text = (await this.page.locator('main').innerText()).replaceAll(/\s+/g, ' ');
        missing = wanted.filter(each => !each.test(text));
        return missing.length === 0;
      },
      PAGE_MS,
    ).catch(() => undefined);
    return missing.map(each => `does not say ${each}: ${text}`);
  }

  /** Everything that went wrong in the page, the violations that it has seen itself included. */
  async listIncidents(): Promise<readonly string[]> {
    const violations = (await this.page.evaluate('globalThis.violations')) as readonly string[];
    return [...this.incidents, ...violations];
  }

  /** Everything that the browser keeps of the page. */
  async readTraces(): Promise<string> {
    const kept = await this.page.evaluate(
      `JSON.stringify([document.documentElement.outerHTML, {...localStorage}, {...sessionStorage}, document.cookie, location.href])`,
    );
    return `${String(kept)} ${JSON.stringify(await this.context.storageState())}`;
  }

  /** What axe-core calls serious or critical, one line each. */
  async listAccessFaults(): Promise<readonly string[]> {
    if (!(await this.page.evaluate('"axe" in globalThis'))) await this.page.evaluate(axe.source);
    const found = (await this.page.evaluate(`axe.run(document, { resultTypes: ['violations'] })`)) as axe.AxeResults;
    return found.violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`);
  }

  /** Leaves pictures of the page at both widths, and gives how far it is wider than the narrow one. */
  async picture(name: string): Promise<number> {
    mkdirSync(PICTURES, { recursive: true });
    let overflow = 0;
    for (const [label, width] of Object.entries(WIDTHS)) {
      await this.page.setViewportSize({ width, height: 900 });
      await this.#leavePicture(`${name}-${label}`, { isWhole: true });
      overflow = Number(await this.page.evaluate('document.documentElement.scrollWidth - innerWidth'));
    }
    await this.page.setViewportSize({ width: WIDTHS.wide, height: 720 });
    await this.#leavePicture(name, { isWhole: false });
    return overflow;
  }

  /** What Playwright takes is the same picture in a smaller file; packing it costs the browser as much as all the rest. */
  async #leavePicture(name: string, { isWhole }: { isWhole: boolean }): Promise<void> {
    this.#devtools ??= await this.context.newCDPSession(this.page);
    const { cssContentSize } = await this.#devtools.send('Page.getLayoutMetrics');
    const { data } = await this.#devtools.send('Page.captureScreenshot', {
      optimizeForSpeed: true,
      ...(isWhole && { captureBeyondViewport: true, clip: { ...cssContentSize, scale: 1 } }),
    });
    writeFileSync(join(PICTURES, `${name}.png`), data, 'base64');
  }
}

const COLOURS: Readonly<Record<string, string>> = {
  '1': 'font-weight: bold',
  '2': 'color: #98a5b5',
  '31': 'color: #ff9d96',
  '32': 'color: #5fd39a',
  '33': 'color: #f5bf4f',
};

/** Leaves a picture of what a terminal shows, with its colours. */
export async function pictureTerminal(browser: Browser, name: string, text: string): Promise<void> {
  const escape = (part: string) => part.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const [first = '', ...rest] = text.split('\u001b[');
  const painted = rest.map(part => {
    const [, codes = '', words = ''] = /^([\d;]*)m([\s\S]*)$/.exec(part) ?? [];
    const style = codes.split(';').flatMap(code => COLOURS[code] ?? []);
    return style.length > 0 ? `<span style="${style.join(';')}">${escape(words)}</span>` : escape(words);
  });
  const page = await browser.newPage({ viewport: { width: 1100, height: 200 }, deviceScaleFactor: 1.5 });
  await page.setContent(
    `<pre style="margin:0;padding:18px;width:max-content;background:#10161e;color:#e7ecf3;font:14px/1.4 'DejaVu Sans Mono',monospace">${escape(first)}${painted.join('')}</pre>`,
  );
  mkdirSync(PICTURES, { recursive: true });
  await page.locator('pre').screenshot({ path: join(PICTURES, `${name}.png`) });
  await page.close();
}
