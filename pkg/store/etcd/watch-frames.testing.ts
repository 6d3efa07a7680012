import { Reader } from './protobuf.js';

const DATA_FRAME = 0;
const FRAME_HEADER = 9;
const GRPC_HEADER = 5;

/** Whether these bytes of a server carry the answer that a watch was created, and nothing of what it watched. */
export function tellsCreated(bytes: Buffer): boolean {
  return messagesIn(bytes).some(message => {
    try {
      const fields = fieldsOf(message);
      return fields.get(0x18) === 1 && !fields.has(0x12) && !fields.has(0x20);
    } catch {
      return false; // part of something larger
    }
  });
}

function messagesIn(bytes: Buffer): Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at + FRAME_HEADER <= bytes.length; ) {
    const length = bytes.readUIntBE(at, 3);
    const payload = bytes.subarray(at + FRAME_HEADER, at + FRAME_HEADER + length);
    if (bytes[at + 3] === DATA_FRAME && payload.length > GRPC_HEADER) messages.push(payload.subarray(GRPC_HEADER));
    at += FRAME_HEADER + length;
  }
  return messages;
}

/** The numbers of a message, by tag; other fields count as 0. */
function fieldsOf(message: Buffer): Map<number, number> {
  const reader = new Reader(message);
  const fields = new Map<number, number>();
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    const isNumber = (tag & 7) === 0;
    if (!isNumber) reader.skip(tag);
    fields.set(tag, isNumber ? reader.number() : 0);
  }
  return fields;
}
