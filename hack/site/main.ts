/** `node dist/hack/site/main.js FOLDER`: leaves the documentation as pages of HTML in a folder, anew. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { clone } from '../../pkg/version/index.js';
import { readPages, renderSitePage } from './render.js';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('name the folder that the pages go to');
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const pages = readPages(join(clone, 'docs'));
for (const page of pages) writeFileSync(join(folder, `${page.name}.html`), renderSitePage(page, pages));
