import type { Duplex } from 'node:stream';

import { type Clock, sleep } from '../../clock/index.js';
import { failpoint } from '../../failpoint/index.js';
import { asError } from '../../fault/index.js';
import type { VolumeDriver } from '../volumes/index.js';
import type { Bandwidth } from './bandwidth.js';
import { isSyncName, parsePeerMessage, type PeerMessages, toRefusalFault } from './messages.js';
import { PeerFault } from './peers.js';
import { PeerWire } from './wire.js';

/** A snapshot for copies, and the moment that it shows. */
export interface SyncSnapshot {
  readonly name: string;
  readonly at: string;
}

export interface SendOrder {
  readonly volume: string;
  readonly epoch: number;
  /** The copy that this node became, when it was promoted. */
  readonly origin?: string | undefined;
  /** Which snapshot is to be sent, when the receiver has said what it has. */
  readonly choose: (held: PeerMessages['held']) => Promise<SyncSnapshot & { readonly shared?: readonly string[] }>;
  /** A difference was refused: everything is sent. */
  readonly isWhole?: boolean | undefined;
  /** Called with what is about to be read, before it is: it must stay until the end. */
  readonly hold: (names: readonly string[]) => void;
  /** How much a whole snapshot, or the difference to a parent, may come to. */
  readonly estimate: (parent: string | undefined) => Promise<number | undefined>;
  readonly onProgress: (sentBytes: number, totalBytes: number | undefined) => void;
}

export interface SendTools {
  readonly clock: Clock;
  readonly driver: VolumeDriver;
  readonly bandwidth: Bandwidth;
  readonly stallMs: number;
  readonly signal: AbortSignal;
}

/** Brings the receiver at the other end to a snapshot, by the difference to the newest that both have; answers which. */
export async function sendSnapshot(stream: Duplex, order: SendOrder, tools: SendTools): Promise<SyncSnapshot> {
  const { volume, epoch, origin } = order;
  const wire = new PeerWire(stream, tools);
  const onAbort = () => wire.close();
  tools.signal.addEventListener('abort', onAbort, { once: true });
  try {
    await wire.writeLine({ volume, epoch });
    const held = parsePeerMessage(await wire.readLine(), 'held', 'refused');
    if (held.kind === 'refused') throw toRefusalFault(held.refused);
    const { shared = held.snapshots, ...chosen } = await order.choose(held);
    const { name: snapshot, at } = chosen;
    if (shared.includes(snapshot)) {
      await wire.writeLine({ snapshot, at, origin, isHeld: true });
      await readOutcome(wire, snapshot);
    } else {
      const parent = order.isWhole ? undefined : await findParent(tools.driver, volume, snapshot, shared);
      order.hold(parent === undefined ? [snapshot] : [snapshot, parent]);
      const bytes = await order.estimate(parent);
      await wire.writeLine({ snapshot, at, parent, bytes, origin });
      await transfer(wire, order, tools, { snapshot, parent, bytes });
    }
    return chosen;
  } finally {
    tools.signal.removeEventListener('abort', onAbort);
    wire.close();
  }
}

/** The newest snapshot that both ends have, other than the one that is sent. */
async function findParent(driver: VolumeDriver, volume: string, snapshot: string, held: readonly string[]) {
  const own = (await driver.listSnapshots(volume)).filter(isSyncName);
  return own.findLast(name => name !== snapshot && held.includes(name));
}

interface Transfer {
  readonly snapshot: string;
  readonly parent: string | undefined;
  readonly bytes: number | undefined;
}

async function transfer(wire: PeerWire, order: SendOrder, tools: SendTools, what: Transfer): Promise<void> {
  const { driver, clock } = tools;
  const { snapshot, parent, bytes } = what;
  const { stream, digest } = await driver.send(order.volume, snapshot, parent);
  const ended = new AbortController();
  let cause: Error | undefined;
  const fail = (thrown: unknown) => {
    cause ??= asError(thrown);
    stream.destroy();
    wire.close();
    ended.abort();
  };
  const send = async () => {
    let sent = 0;
    for await (const chunk of stream) {
      for (const piece of tools.bandwidth.split(chunk as Buffer)) {
        await tools.bandwidth.take(piece.length, ended.signal);
        await wire.writeFrame(piece);
        sent += piece.length;
        failpoint('volume.sending');
        order.onProgress(sent, bytes === undefined ? undefined : Math.max(bytes, sent));
      }
    }
    ended.abort();
    await wire.writeEnd(await digest);
  };
  const keepAlive = async () => {
    while (!ended.signal.aborted) {
      await sleep(clock, wire.aliveMs, ended.signal);
      if (!ended.signal.aborted) await wire.writeAlive();
    }
  };
  await Promise.all([send().catch(fail), keepAlive().catch(fail), readOutcome(wire, snapshot).catch(fail)]);
  if (cause) throw cause;
}

/** Reads how the receiver comes along, to the end. */
async function readOutcome(wire: PeerWire, snapshot: string): Promise<void> {
  for (;;) {
    const said = parsePeerMessage(await wire.readLine(), 'arrived', 'done', 'refused');
    if (said.kind === 'refused') throw toRefusalFault(said.refused);
    if (said.kind === 'arrived') continue;
    if (said.done === snapshot) return;
    throw new PeerFault('the other node has stored another snapshot than the one that was sent to it; see its agent');
  }
}
