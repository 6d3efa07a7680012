import { Agent, request } from 'undici';

/** Whether an engine answers on the socket. */
export async function isEngineAnswering(socketPath: string): Promise<boolean> {
  return withEngine(socketPath, async ask => (await ask('GET', '/_ping')).status === 200).catch(() => false);
}

/** Removes all containers and all networks of an engine. For an engine of our own, before it goes for good. */
export async function clearEngine(socketPath: string): Promise<void> {
  await withEngine(socketPath, async ask => {
    const { body } = await ask('GET', '/containers/json?all=true');
    for (const { Id } of body as readonly { Id: string }[]) await ask('DELETE', `/containers/${Id}?force=true&v=true`);
    await ask('POST', '/networks/prune');
  });
}

type Ask = (method: 'GET' | 'POST' | 'DELETE', path: string) => Promise<{ status: number; body: unknown }>;

async function withEngine<T>(socketPath: string, work: (ask: Ask) => Promise<T>): Promise<T> {
  const dispatcher = new Agent({ connect: { socketPath, timeout: 2_000 } });
  try {
    return await work(async (method, path) => {
      const answer = await request(`http://engine${path}`, { method, dispatcher, headersTimeout: 30_000 });
      const text = await answer.body.text();
      const json = String(answer.headers['content-type']).startsWith('application/json');
      return { status: answer.statusCode, body: json && text !== '' ? JSON.parse(text) : undefined };
    });
  } finally {
    await dispatcher.destroy();
  }
}
