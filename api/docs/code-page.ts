import { type CodeView, codeIndexView, codeView, exampleText, sectionTitle } from './code-view.js';
import { escaped, page } from './page.js';

/** The page of a code; undefined when there is no such code. */
export function codePage(text: string): string | undefined {
  const view = codeView(text);
  return view && page(view.code, bodyOf(view));
}

function bodyOf(view: CodeView): string {
  return [
    `<p><a href="/docs/codes">All codes</a> <span class="soft">· ${escaped(sectionTitle(view.section))}</span></p>`,
    `<h1>${view.code}</h1>`,
    `<p>${escaped(view.why)}</p>`,
    '<dl>',
    `<dt>HTTP status</dt><dd>${view.status}</dd>`,
    `<dt>Accepted</dt><dd>${escaped(view.expected)}</dd>`,
    `<dt>What to do</dt><dd>${escaped(view.remedy)}</dd>`,
    '</dl>',
    '<h2>A request that earns it</h2>',
    `<pre>${escaped(exampleText(view.example))}</pre>`,
    '<h2>The same request, mended</h2>',
    `<pre>${escaped(exampleText(view.mended))}</pre>`,
  ].join('\n');
}

/** The list of all codes. */
export function codeIndexPage(): string {
  const sections = codeIndexView().map(({ title, codes }) =>
    [
      `<h2>${escaped(title)}</h2>`,
      '<table>',
      '<tr><th>Code</th><th>Status</th><th>Accepted</th></tr>',
      ...codes.map(rowOf),
      '</table>',
    ].join('\n'),
  );
  const intro =
    '<h1>Codes</h1>\n<p>Branch on the code, never on the wording. A rejection means that nothing was stored.</p>';
  return page('Codes', [intro, ...sections].join('\n'));
}

function rowOf({ code, status, expected, doc }: CodeView): string {
  return `<tr><td><a href="${doc}"><code>${code}</code></a></td><td>${status}</td><td>${escaped(expected)}</td></tr>`;
}
