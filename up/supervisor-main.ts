import { supervise } from './supervise.js';

const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
process.once('SIGINT', () => stop.abort());

const alive = setInterval(() => undefined, 2 ** 30);
await supervise(process.argv[2] ?? '', stop.signal);
clearInterval(alive);
// A part that is just being started is not waited for: it outlives this process anyway.
process.exit();
