import type { EtcdClient } from './etcd-client.js';
import type { EtcdConnection, MessageHandler } from './etcd-connection.js';
import { unframe } from './grpc.js';
import { ReverseWriter } from './protobuf.js';

export const CLUSTER = '7';

/** A `WatchResponse` of watch 0. */
export function encodeWatchResponse(
  revision: number,
  { created = false, events = [] as readonly number[], clusterId = CLUSTER } = {},
): Buffer {
  const writer = new ReverseWriter(64 * (events.length + 1));
  for (const at of events.toReversed()) {
    const end = writer.at;
    writer.number(0x18, at); // KeyValue.mod_revision
    writer.bytes(0x0a, `/mooring/key${at}`); // KeyValue.key
    writer.close(0x12, end); // Event.kv
    writer.close(0x5a, end); // WatchResponse.events
  }
  if (created) writer.number(0x18, 1);
  const end = writer.at;
  writer.number(0x18, revision); // ResponseHeader.revision
  writer.long(0x08, clusterId); // ResponseHeader.cluster_id
  writer.close(0x0a, end); // WatchResponse.header
  return unframe([writer.frame()])!;
}

/** The stream of a watch, seen from the server. */
export interface ScriptedStream {
  /** Gives the client a message. */
  readonly say: (message: Buffer) => void;
  /** Breaks the connection. */
  readonly end: () => void;
}

/** A client whose connections lead to a server of the test. `onSend` is told of every message of a watch, by its number. */
export function createScriptedClient(
  onSend: (stream: ScriptedStream, sent: number) => void,
  reach: () => Promise<void> = async () => undefined,
): EtcdClient {
  const connection: Pick<EtcdConnection, 'openStream' | 'close'> = {
    openStream: (_, handler: MessageHandler) => {
      let sent = 0;
      const stream = {
        say: (message: Buffer) => handler.onMessage(message),
        end: () => handler.onEnd(new Error('the connection broke')),
      };
      return { send: () => onSend(stream, sent++), close: () => undefined };
    },
    close: () => undefined,
  };
  const dial = async () => {
    await reach();
    return connection;
  };
  return { dial } as unknown as EtcdClient;
}
