import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

import { expect } from 'chai';

import { clone } from '../../pkg/version/index.js';
import { readPages, renderSitePage, resolveLink, type SitePage } from './render.js';

const pages = readPages(join(clone, 'docs'));
const page = (file: string, markdown: string): SitePage => ({ file, name: 'x', title: 'x', markdown });

describe('the documentation as a site', () => {
  it('leads from page to page, and shows no link to what it does not have', () => {
    const from = page('how-to/a.md', '');
    for (const [href, target] of [
      ['../OPERATIONS.md#ports', '/docs/operations#ports'],
      ['../README.md', '/docs'],
      ['../codes.md', '/docs/codes'],
      ['../adr/README.md', '/docs/adr'],
      ['#here', '#here'],
      ['../../CONTRIBUTING.md', undefined],
    ] as const)
      expect(resolveLink(from, href, pages), href).to.equal(target);
  });

  it('is markup of ours only: no script, no image, nothing from elsewhere', () => {
    const hostile =
      '# a\n\n<script>alert(1)</script>\n\n![x](http://evil.example/x.png)\n\n`<b>` <img src=x onerror=y>\n';
    const html = renderSitePage(page('a.md', hostile), pages);
    expect(html).to.not.match(/<script|<img|evil\.example/);
    expect(html).to.contain('&lt;b&gt;');
    for (const each of pages)
      expect(renderSitePage(each, pages), each.file).to.not.match(/<script|<img|<link|\son\w+=/);
  });

  it('has no link to a file that is not there, and no anchor that no heading has', () => {
    const broken = pages.flatMap(from =>
      Array.from(from.markdown.replaceAll(/^```.*?^```/gms, '').matchAll(/\]\(([^)\s]+)\)/g), ([, href]) => href!)
        .filter(href => !/^(?:https?:|\/)/.test(href))
        .filter(href => {
          const [path = '', anchor] = href.split('#');
          const file = path === '' ? from.file : normalize(join(dirname(from.file), path));
          if (!existsSync(join(clone, 'docs', file))) return true;
          const target = pages.find(each => each.file === file);
          return target && anchor !== undefined && !renderSitePage(target, pages).includes(` id="${anchor}"`);
        })
        .map(href => `${from.file}: ${href}`),
    );
    expect(broken).to.deep.equal([]);
  });
});
