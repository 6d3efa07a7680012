/** `node dist/dashboard/bundle/main.js FOLDER`: leaves the page of the dashboard and its assets in a folder. */
import { bundleDashboard } from './bundle.js';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('name the folder that the bundle goes to');
await bundleDashboard(folder);
