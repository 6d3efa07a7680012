/** `node stage-image.js FOLDER`: leaves the context of the image in a folder, anew. */
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { clone } from '../pkg/version/index.js';
import { stageInstallation } from './stage.js';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('name the folder that the context goes to');
rmSync(folder, { recursive: true, force: true });
stageInstallation(folder);
mkdirSync(join(folder, 'var/lib/mooring'), { recursive: true });
copyFileSync(join(clone, 'packaging/Dockerfile'), join(folder, 'Dockerfile'));
