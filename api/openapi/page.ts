import type { RouteDescription } from '../../crds/schemas/index.js';
import { escaped, page } from '../docs/page.js';

/** The interface as a page: every endpoint, what it takes, who may call it, and every code that it refuses with. */
export function apiPage(routes: readonly RouteDescription[]): string {
  const intro = [
    '<h1>API</h1>',
    '<p>Every endpoint. The same for programs: <a href="/openapi.json">/openapi.json</a>. What each code means:',
    '<a href="/docs/codes">codes</a>.</p>',
  ].join('\n');
  return page('API', [intro, ...routes.map(sectionOf)].join('\n'));
}

function sectionOf({ method, path, summary, tokens, query, body, answer, codes }: RouteDescription): string {
  const rows: readonly (readonly [string, string])[] = [
    ['Who', tokens.length === 0 ? 'anybody' : escaped(tokens.join(', '))],
    ['Query', list(query)],
    ['Body', body === undefined ? '' : `<code>${escaped(body)}</code>`],
    ['Answer', `${answer.status} ${answer.component === undefined ? '' : `<code>${escaped(answer.component)}</code>`}`],
    ['Refuses', codes.map(code => `<a href="/docs/codes/${code}"><code>${code}</code></a>`).join(' ')],
  ];
  return [
    `<h2><code>${method} ${escaped(path)}</code></h2>`,
    `<p>${escaped(summary)}.</p>`,
    '<dl>',
    ...rows.filter(([, text]) => text !== '').map(([name, text]) => `<dt>${name}</dt><dd>${text}</dd>`),
    '</dl>',
  ].join('\n');
}

function list(names: readonly string[]): string {
  return names.map(name => `<code>${escaped(name)}</code>`).join(' ');
}
