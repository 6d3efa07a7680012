import { rotationPhases } from '../../../crds/rotation/index.js';
import type { Client } from '../../client/index.js';
import { sleep } from '../../clock/index.js';
import { readManifests } from '../documents.js';
import {
  type ExitCode,
  exitCode,
  UsageFault,
  type Deadline,
  startDeadline,
  type WaitOptions,
} from '../../terminal/index.js';
import { deployments } from '../kinds.js';
import type { Command, Session } from '../session.js';

/** A rotation as the server shows it. */
interface RotationView {
  readonly secret: string;
  readonly phase: string;
  readonly holds: boolean;
  readonly next: string;
  readonly waitsFor: string | null;
  readonly secretsVersion: number;
}

interface RotateInput extends WaitOptions {
  readonly name: string;
  readonly phase?: string;
  readonly auto?: boolean;
  readonly secret?: string;
  /** File with a map of new values; `-` is standard input. Values are never given on the command line. */
  readonly values?: string;
  /** How long a walk waits while nothing changes, in milliseconds. */
  readonly patience?: number;
}

const LOOK_EVERY_MS = 500;
/** The walk stops after this time without any change: some phases wait for an action of the operator. */
const PATIENCE_MS = 60_000;
/** The states of a rotation, in order. */
const phases: readonly string[] = ['idle', ...rotationPhases];
/** The walk stops after this many checks in a row that find the deployment degraded. */
const DEGRADED_CHECKS_MAX = 6;

/** Shows the rotation of a secret, asks for one phase of it, or walks through all of them. */
export const rotateSecret: Command<RotateInput> = async (session, input) => {
  if (input.auto && input.phase !== undefined) throw new UsageFault('choose --phase or --auto, not both.');
  const client = await session.connect();
  const rotation = new RotationWalk(session, client, input);
  if (input.auto) return rotation.walk();
  return input.phase === undefined ? rotation.show() : rotation.request(input.phase);
};

class RotationWalk {
  readonly #session: Session;
  readonly #client: Client;
  readonly #input: RotateInput;
  readonly #path: string;
  #printed = '';
  /** The last phase that was seen or requested. */
  #reached = 'idle';

  constructor(session: Session, client: Client, input: RotateInput) {
    this.#session = session;
    this.#client = client;
    this.#input = input;
    this.#path = `${deployments.path}/${encodeURIComponent(input.name)}`;
  }

  async show(): Promise<ExitCode> {
    const view = await this.#fetch();
    if (typeof view === 'number') return view;
    this.#print(view);
    this.#session.terminal.out(`secretsVersion ${view.secretsVersion}; the next phase is ${view.next}\n`);
    return exitCode.ok;
  }

  async request(phase: string): Promise<ExitCode> {
    const { secret, values } = this.#input;
    const material = phase === 'stage' && values !== undefined ? await this.#readValues(values) : undefined;
    const body = { phase, secret, values: material };
    const answer = await this.#client.request<RotationView>('POST', `${this.#path}/secrets/rotate`, { body });
    if (!answer.ok) return this.#session.reportRejection(answer);
    this.#print(answer.value);
    return exitCode.ok;
  }

  /** Requests each remaining phase once the one before it holds. Stops at the first problem. */
  async walk(): Promise<ExitCode> {
    const deadline = startDeadline(this.#session.terminal, this.#input);
    try {
      for (;;) {
        const view = await this.#waitUntilItHolds(deadline);
        if (typeof view === 'number') return view;
        const code = await this.request(view.next);
        if (code !== exitCode.ok) return code;
        this.#reached = view.next;
      }
    } finally {
      deadline.end();
    }
  }

  /** Waits until the current phase holds. Returns an exit code when the walk is over. */
  async #waitUntilItHolds(deadline: Deadline): Promise<RotationView | ExitCode> {
    const { clock } = this.#session.terminal;
    const { name, patience = PATIENCE_MS } = this.#input;
    let [degradedChecks, last, changedAt] = [0, '', clock.monotonic()];
    for (;;) {
      const view = await this.#fetch();
      if (typeof view === 'number') return view;
      this.#print(view);
      const end = this.#endAt(view);
      if (end !== undefined || view.holds) return end ?? view;
      const text = JSON.stringify(view);
      if (text !== last) [last, changedAt] = [text, clock.monotonic()];
      degradedChecks = (await this.#isDegraded()) ? degradedChecks + 1 : 0;
      if (degradedChecks >= DEGRADED_CHECKS_MAX) return this.#halt(view, `${name} is degraded`);
      if (clock.monotonic() - changedAt > patience) return this.#halt(view, `nothing changed for ${patience / 1000} s`);
      await sleep(clock, LOOK_EVERY_MS, deadline.signal);
      if (deadline.passed) return exitCode.timedOut;
      if (deadline.signal.aborted) return exitCode.interrupted;
    }
  }

  /** The exit code when the rotation is over, or was aborted by another request. */
  #endAt({ secret, phase }: RotationView): ExitCode | undefined {
    const [reached, now] = [phases.indexOf(this.#reached), phases.indexOf(phase)];
    this.#reached = phase;
    if (now >= reached) return undefined;
    if (reached === phases.indexOf('retire')) return exitCode.ok;
    this.#session.terminal.err(
      `${secret} was not rotated: the rotation was aborted by another request in phase ${phases[reached]}.\n`,
    );
    return exitCode.refused;
  }

  #halt({ secret, phase, waitsFor }: RotationView, because: string): ExitCode {
    const { name } = this.#input;
    this.#session.terminal.err(
      `the rotation of ${secret} stopped in phase ${phase}: ${because}. It waits for ${waitsFor}.\n` +
        `"moor status ${name}" shows more; "moor rotate ${name} --phase abort" undoes it, --auto resumes it.\n`,
    );
    return exitCode.refused;
  }

  async #isDegraded(): Promise<boolean> {
    const answer = await this.#client.request<{ readonly status?: { readonly phase?: string } }>('GET', this.#path);
    return answer.ok && answer.value.status?.phase === 'Degraded';
  }

  async #fetch(): Promise<RotationView | ExitCode> {
    const query = { secret: this.#input.secret };
    const answer = await this.#client.request<RotationView>('GET', `${this.#path}/secrets/rotation`, { query });
    return answer.ok ? answer.value : this.#session.reportRejection(answer);
  }

  async #readValues(file: string): Promise<Readonly<Record<string, unknown>>> {
    const [first, ...more] = await readManifests(file, this.#session.terminal);
    if (!first || more.length > 0) throw new UsageFault(`${file}: must hold one map of values.`);
    return first.value;
  }

  #print({ secret, phase, holds, waitsFor }: RotationView): void {
    const line = `${secret}: ${phase}${holds ? '' : `, waiting for ${waitsFor}`}\n`;
    if (line !== this.#printed) this.#session.terminal.out(line);
    this.#printed = line;
  }
}
