import { Reader } from './protobuf.js';

/** Reads the server's version out of a `StatusResponse`. */
export function decodeVersion(message: Buffer): string {
  const reader = new Reader(message);
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === 0x12) return reader.text();
    reader.skip(tag);
  }
  return '';
}

/** Reads the size of the database out of a `StatusResponse`, and how much of it is in use. */
export function decodeDatabaseSize(message: Buffer): { readonly databaseBytes: number; readonly usedBytes: number } {
  const reader = new Reader(message);
  let databaseBytes = 0;
  let usedBytes = 0;
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === 0x18) databaseBytes = reader.number();
    else if (tag === 0x48) usedBytes = reader.number();
    else reader.skip(tag);
  }
  return { databaseBytes, usedBytes };
}

const ALARMS = ['NONE', 'NOSPACE', 'CORRUPT'];

/** Reads the alarms that an `AlarmResponse` names. */
export function decodeAlarms(message: Buffer): readonly string[] {
  const reader = new Reader(message);
  const alarms = new Set<string>();
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag !== 0x12) {
      reader.skip(tag);
      continue;
    }
    const alarm = reader.message();
    for (let field = alarm.next(); field !== 0; field = alarm.next()) {
      if (field === 0x10) alarms.add(ALARMS[alarm.number()] ?? 'UNKNOWN');
      else alarm.skip(field);
    }
  }
  return [...alarms];
}

/** One member of the cluster. A member that has never started has no name and no addresses. */
export interface ClusterMember {
  readonly name: string;
  readonly clientUrls: readonly string[];
}

/** Reads the members that a `MemberListResponse` names. */
export function decodeMembers(message: Buffer): readonly ClusterMember[] {
  const reader = new Reader(message);
  const members: ClusterMember[] = [];
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === 0x12) members.push(decodeMember(reader.message()));
    else reader.skip(tag);
  }
  return members;
}

function decodeMember(reader: Reader): ClusterMember {
  let name = '';
  const clientUrls: string[] = [];
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === 0x12) name = reader.text();
    else if (tag === 0x22) clientUrls.push(reader.text());
    else reader.skip(tag);
  }
  return { name, clientUrls };
}
