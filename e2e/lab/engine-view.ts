import { Agent, request } from 'undici';

/** A container as the engine itself tells it, without any of our code in between. */
export interface EngineContainer {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly state: string;
  readonly status: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Asks the engine behind Mooring's back, so that a story believes no report. */
export class EngineView {
  readonly #dispatcher: Agent;

  constructor(host: string) {
    this.#dispatcher = new Agent({ connect: { socketPath: host.replace('unix://', '') } });
  }

  /** Every container there is, running or not. */
  async containers(): Promise<readonly EngineContainer[]> {
    const found =
      await this.#get<
        { Id: string; Names: string[]; Image: string; State: string; Status: string; Labels: Record<string, string> }[]
      >('/containers/json?all=true');
    return found.map(({ Id, Names, Image, State, Status, Labels }) => ({
      id: Id,
      name: (Names[0] ?? '').slice(1),
      image: Image,
      state: State,
      status: Status,
      labels: Labels,
    }));
  }

  async running(deployment: string): Promise<readonly EngineContainer[]> {
    const all = await this.containers();
    return all.filter(({ labels, state }) => labels['mooring.io/deployment'] === deployment && state === 'running');
  }

  async startedAt(id: string): Promise<string> {
    return (await this.#get<{ State: { StartedAt: string } }>(`/containers/${id}/json`)).State.StartedAt;
  }

  /** The first process of a container; 0 when it does not run. */
  async pid(id: string): Promise<number> {
    return (await this.#get<{ State: { Pid: number } }>(`/containers/${id}/json`)).State.Pid;
  }

  /** The variables that a container was made with. Only the engine tells them. */
  async environment(id: string): Promise<Readonly<Record<string, string>>> {
    const { Config } = await this.#get<{ Config: { Env: string[] } }>(`/containers/${id}/json`);
    return Object.fromEntries(
      Config.Env.map(line => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
  }

  /** Removes a container behind the agent's back, as a person logged in to the machine can. */
  remove(id: string): Promise<void> {
    return this.#order('DELETE', `/containers/${id}?force=true`);
  }

  /** Ends a container as a power cut does: it is left where it fell. */
  kill(id: string): Promise<void> {
    return this.#order('POST', `/containers/${id}/kill`);
  }

  /** Runs a command in a container, as a person logged in to the machine can, and does not wait for its end. */
  async run(id: string, command: readonly string[]): Promise<void> {
    const made = await this.#post<{ Id: string }>(`/containers/${id}/exec`, { Cmd: command }, 201);
    await this.#post(`/exec/${made.Id}/start`, { Detach: true }, 200);
  }

  /** What a container has printed, as the engine gives it: all of it, or the last lines. */
  log(id: string, lines: number | 'all' = 'all'): Promise<string> {
    return this.#readLog(`${id}/logs?stdout=true&stderr=true&tail=${lines}`);
  }

  /** All that a container prints until its end. */
  followLog(id: string): Promise<string> {
    return this.#readLog(`${id}/logs?stdout=true&stderr=true&follow=true`);
  }

  async #readLog(query: string): Promise<string> {
    const { body } = await request(`http://engine/containers/${query}`, {
      dispatcher: this.#dispatcher,
      bodyTimeout: 0,
    });
    const bytes = Buffer.from(await body.arrayBuffer());
    const texts: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += 8 + bytes.readUInt32BE(at + 4)) {
      texts.push(bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at + 4)));
    }
    return Buffer.concat(texts).toString('utf8');
  }

  /** Every network of ours that a tenant has asked for. */
  async networks(): Promise<readonly { readonly id: string; readonly name: string }[]> {
    const found = await this.#get<{ Id: string; Name: string; Labels: Record<string, string> }[]>('/networks');
    const ours = found.filter(({ Labels }) => Labels['mooring.io/network'] !== undefined);
    return ours.map(({ Id, Name }) => ({ id: Id, name: Name }));
  }

  /** Removes a network behind the agent's back, with containers on it or not. */
  async removeNetwork(name: string): Promise<void> {
    const { Containers } = await this.#get<{ Containers: Readonly<Record<string, unknown>> }>(`/networks/${name}`);
    for (const Container of Object.keys(Containers)) {
      await this.#order('POST', `/networks/${name}/disconnect`, { Container, Force: true });
    }
    await this.#order('DELETE', `/networks/${name}`);
  }

  /** The address of a container on a network. */
  async address(id: string, network: string): Promise<string> {
    const { NetworkSettings } = await this.#get<{
      NetworkSettings: { Networks: Readonly<Record<string, { IPAddress: string }>> };
    }>(`/containers/${id}/json`);
    return NetworkSettings.Networks[network]?.IPAddress ?? '';
  }

  /** Whether a shell line succeeds in a container. */
  async succeeds(id: string, line: string): Promise<boolean> {
    const Cmd = ['/bin/sh', '-c', line];
    const { Id } = await this.#order<{ Id: string }>('POST', `/containers/${id}/exec`, { Cmd });
    await this.#order('POST', `/exec/${Id}/start`, { Detach: true });
    for (;;) {
      const { Running, ExitCode } = await this.#get<{ Running: boolean; ExitCode: number | null }>(`/exec/${Id}/json`);
      if (!Running && ExitCode !== null) return ExitCode === 0;
      await new Promise(resolve => setTimeout(resolve, 50));
    }
  }

  /** Where containers of a network reach this machine. */
  async gateway(network: string): Promise<string> {
    const { IPAM } = await this.#get<{ IPAM: { Config: { Gateway: string }[] } }>(`/networks/${network}`);
    return IPAM.Config[0]?.Gateway ?? '';
  }

  async #order<T>(method: 'POST' | 'DELETE', path: string, document?: unknown): Promise<T> {
    const { statusCode, body } = await request(`http://engine${path}`, {
      dispatcher: this.#dispatcher,
      method,
      ...(document !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(document),
      }),
    });
    const text = await body.text();
    if (statusCode >= 300) throw new Error(`the engine answered ${statusCode} to ${method} ${path}`);
    return (text.startsWith('{') ? JSON.parse(text) : undefined) as T;
  }

  async #post<T>(path: string, document: unknown, expected: number): Promise<T> {
    const headers = { 'content-type': 'application/json' };
    const options = { dispatcher: this.#dispatcher, method: 'POST', headers, body: JSON.stringify(document) } as const;
    const { statusCode, body } = await request(`http://engine${path}`, options);
    const text = await body.text();
    if (statusCode !== expected) throw new Error(`the engine answered ${statusCode} to ${path}`);
    return (text === '' ? {} : JSON.parse(text)) as T;
  }

  async #get<T>(path: string): Promise<T> {
    const { statusCode, body } = await request(`http://engine${path}`, { dispatcher: this.#dispatcher });
    if (statusCode !== 200) throw new Error(`the engine answered ${statusCode} to ${path}`);
    return (await body.json()) as T;
  }
}
