/**
 * A recording client as a process of its own, so that it can be frozen. Its options come as one argument, its orders and
 * answers go over the channel to the process that started it.
 */
import { writeFileSync } from 'node:fs';

import { RecordingClient, type RecordingClientOptions } from './recording-client.js';

/** What the process that started us tells us to do. */
export type Order = { readonly do: 'quiesce' } | { readonly do: 'finish'; readonly revision: number };

const REPORT_EVERY_MS = 100;

const { file, ...options } = JSON.parse(process.argv[2]!) as RecordingClientOptions & { readonly file: string };
const client = new RecordingClient(options);
const report = setInterval(() => process.send?.({ progress: client.progress }, () => undefined), REPORT_EVERY_MS);

async function obey(order: Order): Promise<void> {
  if (order.do === 'quiesce') {
    await client.quiesce();
  } else {
    const { records, cached } = await client.finish(order.revision);
    writeFileSync(file, [{ cached }, ...records].map(line => JSON.stringify(line)).join('\n'));
    clearInterval(report);
  }
  process.send?.({ done: order.do });
}

process.on('message', (order: Order) => void obey(order));
process.on('disconnect', () => process.exit());
client.start();
