import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

import { type Clock, sleep } from '../../clock/index.js';
import { Fault } from '../../fault/index.js';
import { ARMED, type FencerDeadline, type Fencer } from './order.js';

const ANSWER_MS = 2_000;
/** How long one that was just started may take until it answers. */
const START_MS = 5_000;
const AGAIN_MS = 200;

/** No fencer keeps the deadlines of this agent. */
export class FencerGoneFault extends Fault {
  readonly retriable = true;
}

/** The fencer of this machine, by its socket; started where there is none. */
export class FencerLink implements Fencer {
  readonly #parts: { readonly clock: Clock; readonly socket: string; readonly start: () => void };
  #connection: FencerConnection | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(parts: { readonly clock: Clock; readonly socket: string; readonly start: () => void }) {
    this.#parts = parts;
  }

  /** In turn, so that what was ordered last is what is kept. */
  arm(deadlines: readonly FencerDeadline[]): Promise<void> {
    const armed = this.#turn.then(() => this.#arm(deadlines));
    this.#turn = armed.catch(() => undefined);
    return armed;
  }

  async #arm(deadlines: readonly FencerDeadline[]): Promise<void> {
    const connection = this.#connection?.isOpen ? this.#connection : await this.#find();
    this.#connection = connection;
    const answer = await connection.ask(JSON.stringify(deadlines), this.#parts.clock);
    if (answer === ARMED) return;
    connection.close();
    throw new FencerGoneFault(answer === undefined ? 'the fencer does not answer' : `the fencer says ${answer}`);
  }

  async #find(): Promise<FencerConnection> {
    const { clock, socket, start } = this.#parts;
    const found = await FencerConnection.open(socket);
    if (found) return found;
    start();
    for (let waited = 0; waited < START_MS; waited += AGAIN_MS) {
      await sleep(clock, AGAIN_MS);
      const started = await FencerConnection.open(socket);
      if (started) return started;
    }
    throw new FencerGoneFault('no fencer can be started');
  }
}

/** A line is answered by a line. */
class FencerConnection {
  readonly #socket: Socket;
  #onAnswer: (answer: string | undefined) => void = () => undefined;
  isOpen = true;

  private constructor(socket: Socket) {
    this.#socket = socket;
    const onEnd = () => {
      this.isOpen = false;
      this.#onAnswer(undefined);
    };
    socket.on('error', onEnd).on('close', onEnd).unref();
    createInterface({ input: socket }).on('line', line => this.#onAnswer(line));
  }

  static open(path: string): Promise<FencerConnection | undefined> {
    return new Promise(resolve => {
      const socket = connect(path);
      socket.once('connect', () => resolve(new FencerConnection(socket)));
      socket.once('error', () => resolve(undefined));
    });
  }

  ask(line: string, clock: Clock): Promise<string | undefined> {
    return new Promise(resolve => {
      const cancel = clock.after(ANSWER_MS, () => resolve(undefined));
      this.#onAnswer = answer => {
        cancel();
        resolve(answer);
      };
      if (!this.isOpen) return this.#onAnswer(undefined);
      this.#socket.write(`${line}\n`);
    });
  }

  close(): void {
    this.isOpen = false;
    this.#socket.destroy();
  }
}
