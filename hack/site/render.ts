import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

import { Marked } from 'marked';

import { escapeHtml, renderPage } from '../../api/docs/html.js';

/** A page of the documentation: its file below `docs/`, where it is served below `/docs`, and what it says. */
export interface SitePage {
  readonly file: string;
  readonly name: string;
  readonly title: string;
  readonly markdown: string;
}

const FRONT = 'README.md';

/** Every page below a folder. The front page has the name `index`. */
export function readPages(folder: string): readonly SitePage[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.md'));
  const pages = files.sort().map(file => {
    const markdown = readFileSync(join(folder, file), 'utf8');
    const title = /^# (.+)$/m.exec(markdown)?.[1] ?? file;
    return { file, name: nameOf(file), title, markdown };
  });
  const names = new Set(pages.map(({ name }) => name));
  if (names.size < pages.length) throw new Error('two pages of docs/ have the same name');
  return pages;
}

/** `how-to/enrol-a-node.md` is `enrol-a-node`: links stay when a page moves to another part of the documentation. */
function nameOf(file: string): string {
  if (file === FRONT) return 'index';
  const path = file.replace(/\/README\.md$/, '.md');
  return path.slice(path.lastIndexOf('/') + 1, -'.md'.length).toLowerCase();
}

/** The whole page. Links between pages lead to where they are served; those to other files of the clone are plain text. */
export function renderSitePage(page: SitePage, pages: readonly SitePage[]): string {
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${toAnchor(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const target = resolveLink(page, href, pages);
        return target === undefined ? text : `<a href="${escapeHtml(target)}">${text}</a>`;
      },
      image: ({ text }) => `<em>${escapeHtml(text)}</em>`,
      code: ({ text }) => `<pre><code>${escapeHtml(text)}</code></pre>\n`,
      html: ({ text }) => (text.startsWith('<!--') ? '' : escapeHtml(text)),
    },
  });
  const home = page.name === 'index' ? '' : '<p class="soft"><a href="/docs">Documentation</a></p>\n';
  return renderPage(page.title.replaceAll('`', ''), home + marked.parse(page.markdown, { async: false }));
}

/** Undefined where the site has no such page. */
export function resolveLink(page: SitePage, href: string, pages: readonly SitePage[]): string | undefined {
  if (/^https?:/.test(href) || href.startsWith('#') || href.startsWith('/')) return href;
  const [path = '', anchor] = href.split('#');
  const file = normalize(join(dirname(page.file), path));
  const found = pages.find(each => each.file === file || each.file === join(file, FRONT));
  if (!found) return undefined;
  const target = found.file === FRONT ? '/docs' : found.file === 'codes.md' ? '/docs/codes' : `/docs/${found.name}`;
  return anchor === undefined ? target : `${target}#${anchor}`;
}

/** As GitHub makes them. */
function toAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}
