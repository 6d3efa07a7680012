import { createLogger } from '../pkg/log/index.js';
import { supervise } from './supervise.js';

const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
process.once('SIGINT', () => stop.abort());

const alive = setInterval(() => undefined, 2 ** 30);
const log = createLogger({ level: 'info', format: 'json', fields: { process: 'supervisor' } });
await supervise(process.argv[2] ?? '', log, stop.signal);
clearInterval(alive);
// A part that is just being started is not waited for: it outlives this process anyway.
process.exit();
