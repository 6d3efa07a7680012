import { Duplex } from 'node:stream';

import { untilAborted } from '../../pkg/clock/index.js';
import { type PeerConnection, PeerFault, type Peers } from '../../pkg/agent/replication/peers.js';
import type { SimProcess } from './sim-process.js';

interface Listener {
  readonly life: SimProcess;
  readonly publicKey: string;
  readonly handle: (connection: PeerConnection) => Promise<void>;
}

/** How one run of an agent presents itself. */
interface PeerSelf {
  readonly address: string;
  /** Its key, which it has by the time that it is asked for. */
  readonly publicKey: () => Promise<string>;
}

const broken = () => new PeerFault('no agent answers at the address of the other node');

/** What lies between agents that send each other copies. Both ends of a connection have proved their keys. */
export class PeerNetwork {
  readonly #listeners = new Map<string, Listener>();
  /** Until when nothing passes between two of them, by their names. */
  readonly #cuts = new Map<string, number>();

  /** The other agents as one run of an agent reaches them. */
  reachedBy(life: SimProcess, { address, publicKey }: PeerSelf): Peers {
    return {
      address,
      listen: async (handle, signal) => {
        const listener = { life, publicKey: await publicKey(), handle };
        this.#listeners.set(address, listener);
        await untilAborted(signal);
        if (this.#listeners.get(address) === listener) this.#listeners.delete(address);
      },
      connect: async peer => {
        const own = await publicKey();
        const dial = () => Promise.resolve().then(() => this.#dial(life, own, peer.address, peer.publicKey));
        return life.call('dials a peer', dial, { wire: 'peers', unreachable: broken, unknown: broken });
      },
    };
  }

  /** Cuts the path between two agents, whatever lives they have meanwhile. */
  cut(one: string, other: string, until: number): void {
    for (const pair of [`${one} ${other}`, `${other} ${one}`]) this.#cuts.set(pair, until);
  }

  #isCut(one: SimProcess, other: SimProcess): boolean {
    if (one.cutOff('peers') || other.cutOff('peers')) return true;
    return one.world.time < (this.#cuts.get(`${one.name} ${other.name}`) ?? 0);
  }

  #dial(life: SimProcess, own: string, address: string, named: string): Duplex {
    const found = this.#listeners.get(address);
    if (!found?.life.alive || this.#isCut(life, found.life) || found.publicKey !== named) throw broken();
    life.world.awaitStreams();
    const isCut = () => this.#isCut(life, found.life);
    const [here, there] = [new PeerSocket(life, isCut), new PeerSocket(found.life, isCut)];
    here.join(there);
    there.join(here);
    const connection = { publicKey: own, stream: there, admit: () => undefined };
    found.life.later(0, 'is dialled', () => void found.handle(connection));
    return here;
  }
}

/** One end of a connection. What is sent arrives in order and late, until the wire is cut or an end is gone. */
class PeerSocket extends Duplex {
  readonly #life: SimProcess;
  #other: PeerSocket | undefined;
  #inbox: (Buffer | null)[] = [];
  #isPumping = false;
  #forget: () => void = () => undefined;
  readonly #isCut: () => boolean;

  constructor(life: SimProcess, isCut: () => boolean) {
    super();
    this.#life = life;
    this.#isCut = isCut;
    this.on('error', () => undefined); // whoever reads next learns of it
  }

  join(other: PeerSocket): void {
    this.#other = other;
    // The machine closes what a process leaves behind.
    this.#forget = this.#life.onEnd(() => other.receive(null));
  }

  /** Takes what the other end has sent; null: nothing more. */
  receive(chunk: Buffer | null): void {
    this.#inbox.push(chunk);
    if (this.#isPumping) return;
    this.#isPumping = true;
    const { world, faults } = this.#life;
    const lagMs = world.chance(faults.feedLag) ? faults.feedLagMs : faults.delayMs;
    this.#life.later(world.between(0, lagMs), 'hears a peer', () => this.#deliver());
  }

  /** Neither end is told that a wire is cut: each finds out by the silence. */
  #deliver(): void {
    const { world, faults } = this.#life;
    if (this.#isCut()) return;
    this.#isPumping = false;
    const chunks = this.#inbox;
    this.#inbox = [];
    if (this.destroyed) return;
    if (world.chance(faults.feedCut)) return void this.destroy(broken());
    for (const chunk of chunks) this.push(chunk);
  }

  override _read(): void {
    // what arrives is pushed
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#life.alive) this.#other?.receive(chunk);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#forget();
    if (this.#life.alive) this.#other?.receive(null);
    done(error);
  }
}
