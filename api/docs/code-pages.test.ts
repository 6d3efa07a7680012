import { createHash } from 'node:crypto';

import { expect } from 'chai';

import { catalogue } from '../../crds/rejections/index.js';
import { renderCodeIndexPage, listCodeViews, renderCodePage, readCodeView, PAGE_POLICY } from './index.js';
import { escapeHtml } from './html.js';

describe('reference pages', () => {
  for (const code of Object.keys(catalogue)) {
    it(`has a page and a view of ${code}`, () => {
      const page = renderCodePage(code) ?? '';
      const view = readCodeView(code);

      expect(page).to.contain(`<h1>${code}</h1>`);
      expect(page).to.contain(escapeHtml(view?.remedy ?? 'absent'));
      expect(page).not.to.match(/<script|undefined|\[object/);
      expect(view?.doc).to.equal(`/docs/codes/${code}`);
      expect(JSON.parse(JSON.stringify(view))).to.include({ code, why: view?.why });
    });
  }

  for (const text of ['', 'nonsense', 'toString', '__proto__', 'constructor']) {
    it(`has no page for ${JSON.stringify(text)}`, () => {
      expect(renderCodePage(text)).to.equal(undefined);
      expect(readCodeView(text)).to.equal(undefined);
    });
  }

  it('links every code from the index, once', () => {
    const page = renderCodeIndexPage();
    for (const code of Object.keys(catalogue)) expect(page.split(`"/docs/codes/${code}"`)).to.have.length(2);
    expect(listCodeViews().flatMap(({ codes }) => codes)).to.have.length(Object.keys(catalogue).length);
  });

  it('escapes markup in texts', () => {
    expect(escapeHtml(`<a href="x" title='y'>&`)).to.equal('&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;');
  });

  it('allows exactly the style that stands in the page', () => {
    const style = /<style>([\s\S]*)<\/style>/.exec(renderCodeIndexPage())?.[1] ?? '';
    const digest = createHash('sha256').update(style).digest('base64');
    expect(PAGE_POLICY).to.contain(`'sha256-${digest}'`);
  });
});
