import { createHash } from 'node:crypto';

import { expect } from 'chai';

import { catalogue } from '../../crds/rejections/index.js';
import { codeIndexPage, codeIndexView, codePage, codeView, PAGE_POLICY } from './index.js';
import { escaped } from './html.js';

describe('reference pages', () => {
  for (const code of Object.keys(catalogue)) {
    it(`has a page and a view of ${code}`, () => {
      const page = codePage(code) ?? '';
      const view = codeView(code);

      expect(page).to.contain(`<h1>${code}</h1>`);
      expect(page).to.contain(escaped(view?.remedy ?? 'absent'));
      expect(page).not.to.match(/<script|undefined|\[object/);
      expect(view?.doc).to.equal(`/docs/codes/${code}`);
      expect(JSON.parse(JSON.stringify(view))).to.include({ code, why: view?.why });
    });
  }

  for (const text of ['', 'nonsense', 'toString', '__proto__', 'constructor']) {
    it(`has no page for ${JSON.stringify(text)}`, () => {
      expect(codePage(text)).to.equal(undefined);
      expect(codeView(text)).to.equal(undefined);
    });
  }

  it('links every code from the index, once', () => {
    const page = codeIndexPage();
    for (const code of Object.keys(catalogue)) expect(page.split(`"/docs/codes/${code}"`)).to.have.length(2);
    expect(codeIndexView().flatMap(({ codes }) => codes)).to.have.length(Object.keys(catalogue).length);
  });

  it('escapes markup in texts', () => {
    expect(escaped(`<a href="x" title='y'>&`)).to.equal('&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;');
  });

  it('allows exactly the style that stands in the page', () => {
    const style = /<style>([\s\S]*)<\/style>/.exec(codeIndexPage())?.[1] ?? '';
    const digest = createHash('sha256').update(style).digest('base64');
    expect(PAGE_POLICY).to.contain(`'sha256-${digest}'`);
  });
});
