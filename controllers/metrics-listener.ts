import { createServer, type Server } from 'node:http';

import type { Metrics } from '../pkg/metrics/index.js';

/** Serves `GET /metrics` at `address`, as `host:port`. Resolves when it listens. */
export function listenForMetrics(address: string, metrics: Metrics): Promise<Server> {
  const split = address.lastIndexOf(':');
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') return void response.writeHead(404).end();
    metrics.text().then(
      text => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(Number(address.slice(split + 1)), address.slice(0, split), () => resolve(server));
  });
}
