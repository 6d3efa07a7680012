import type { ApiLab, AskOptions, LabResponse } from '../api-lab.testing.js';

/** An object of an answer, as far as tests look at it. */
export interface TestObject {
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>> & { readonly name: string; readonly resourceVersion: string };
  readonly [part: string]: unknown;
}

/** One line of a watch. */
export interface TestEvent {
  readonly type: string;
  readonly object: TestObject;
}

/** Requests of one token to the face, in the namespace of its tenant. */
export class FaceClient {
  readonly lab: ApiLab;
  readonly token: string;
  readonly namespace: string;

  constructor(lab: ApiLab, token: string, namespace: string) {
    this.lab = lab;
    this.token = token;
    this.namespace = namespace;
  }

  /** The path of a resource of our group in the namespace. */
  own(rest: string): string {
    return `/k8s/apis/mooring.io/v1/namespaces/${this.namespace}/${rest}`;
  }

  core(rest: string): string {
    return `/k8s/api/v1/namespaces/${this.namespace}/${rest}`;
  }

  ask(method: string, path: string, options: Omit<AskOptions, 'token'> = {}): Promise<LabResponse> {
    return this.lab.ask(method, path, { token: this.token, ...options });
  }

  /** Reads a watch until it has so many events, or ends. */
  async watch(path: string, count: number, accept = 'application/json', act?: () => Promise<unknown>) {
    const abort = new AbortController();
    const headers = { authorization: `Bearer ${this.token}`, accept };
    const response = await fetch(`${this.lab.server.url}${path}`, { headers, signal: abort.signal });
    if (response.status !== 200) throw new Error(`the watch was answered ${response.status} ${await response.text()}`);
    const events: TestEvent[] = [];
    let text = '';
    const acting = act?.();
    for await (const chunk of response.body!) {
      text += Buffer.from(chunk).toString('utf8');
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      events.push(...lines.filter(line => line !== '').map(line => JSON.parse(line) as TestEvent));
      if (events.length >= count) break;
    }
    await acting;
    abort.abort();
    return events;
  }
}
