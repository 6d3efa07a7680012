import { ReverseWriter, Reader } from './protobuf.js';

/** What a member says of itself. Numbers of members are decimal: a double cannot hold them. */
export interface StatusResponse {
  readonly id: string;
  readonly version: string;
  /** The size of its file, and how much of that is in use. */
  readonly databaseBytes: number;
  readonly usedBytes: number;
  /** `0` while it knows of no leader. */
  readonly leaderId: string;
  /** What the cluster has agreed on, as far as it knows, and how much of that it has carried out. */
  readonly raftIndex: number;
  readonly appliedIndex: number;
}

/** Reads a `StatusResponse`. */
export function decodeStatus(message: Buffer): StatusResponse {
  const reader = new Reader(message);
  let [id, version, leaderId] = ['0', '', '0'];
  let [databaseBytes, usedBytes, raftIndex, appliedIndex] = [0, 0, 0, 0];
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === 0x0a) id = decodeMemberId(reader.message());
    else if (tag === 0x12) version = reader.text();
    else if (tag === 0x18) databaseBytes = reader.number();
    else if (tag === 0x20) leaderId = reader.long();
    else if (tag === 0x28) raftIndex = reader.number();
    else if (tag === 0x38) appliedIndex = reader.number();
    else if (tag === 0x48) usedBytes = reader.number();
    else reader.skip(tag);
  }
  return { id, version, databaseBytes, usedBytes, leaderId, raftIndex, appliedIndex };
}

/** Reads who answers out of a `ResponseHeader`. */
function decodeMemberId(header: Reader): string {
  let id = '0';
  for (let tag = header.next(); tag !== 0; tag = header.next()) {
    if (tag === 0x10) id = header.long();
    else header.skip(tag);
  }
  return id;
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

const DEACTIVATE = 2;
const NOSPACE = 1;

/** An `AlarmRequest` that takes back the alarm NOSPACE of one member. */
export function encodeDisarm(memberId: string): Buffer {
  const writer = new ReverseWriter(32);
  writer.number(0x18, NOSPACE);
  writer.long(0x10, memberId);
  writer.number(0x08, DEACTIVATE);
  return writer.frame();
}

/** One member of the cluster. A member that has never started has no name and no addresses. */
export interface ClusterMember {
  readonly id: string;
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
  let [id, name] = ['0', ''];
  const clientUrls: string[] = [];
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === 0x08) id = reader.long();
    else if (tag === 0x12) name = reader.text();
    else if (tag === 0x22) clientUrls.push(reader.text());
    else reader.skip(tag);
  }
  return { id, name, clientUrls };
}
