import { createHash } from 'node:crypto';

const STYLE = `
:root{color-scheme:light dark;--ink:#1d2430;--soft:#5b6675;--ground:#fff;--panel:#f3f5f8;--line:#dbe0e7;--link:#0b5cad}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#9aa5b4;--ground:#14181f;--panel:#1d232d;--line:#323b48;--link:#7bb8ff}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:46rem;padding:2rem 1.25rem 4rem;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
a{color:var(--link)}
h1{font:600 1.5rem/1.3 ui-monospace,monospace;overflow-wrap:anywhere;margin:.5rem 0}
h2{font-size:1rem;margin:2rem 0 .5rem}
p{margin:.5rem 0}
pre{background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:.8rem 1rem;overflow:auto;font:13px/1.5 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
code{font-family:ui-monospace,monospace;font-size:.92em}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.35rem 1.25rem;margin:1rem 0}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
table{width:100%;border-collapse:collapse}td,th{text-align:left;vertical-align:top;padding:.4rem .6rem .4rem 0;border-bottom:1px solid var(--line)}
.soft{color:var(--soft)}
`;

/** Value of `Content-Security-Policy` for these pages: their own style, and nothing else. */
export const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** A whole document. `body` is markup; everything in it that came from elsewhere has been through `escapeHtml`. */
export function renderPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Mooring</title>
<style>${STYLE}</style>
</head>
<body>
${body}
</body>
</html>
`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text that can stand anywhere in a page without becoming markup. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, character => ENTITIES[character] as string);
}
