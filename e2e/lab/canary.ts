import { randomBytes } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

import type { ControlPlane } from './control-plane.js';

/** A value that must not be found, under a name that may be. */
export interface SecretCanary {
  readonly name: string;
  readonly value: string;
}

/** Bytes to search, with the name that a match is reported under. */
export interface Place {
  readonly name: string;
  readonly bytes: Buffer;
}

/** A canary that was found, in one of its forms. */
export interface Find {
  readonly canary: string;
  readonly form: string;
  readonly place: string;
}

/** A new value, different from every other, that looks different in every way of writing it down. */
export function createCanary(name: string): SecretCanary {
  return { name, value: `${randomBytes(24).toString('base64url')}/+"&é${randomBytes(6).toString('hex')}` };
}

/**
 * The ways in which a value may have been written down: as it is, in base64 at any of the three places it may have among
 * other bytes, in hex, and escaped for URLs and for JSON.
 */
export function encodeForms(value: string): ReadonlyMap<string, Buffer> {
  const bytes = Buffer.from(value);
  const percent = [...bytes].map(byte => `%${byte.toString(16).padStart(2, '0')}`).join('');
  const json = JSON.stringify(value).slice(1, -1);
  const texts: readonly (readonly [form: string, text: string])[] = [
    ['raw', value],
    ['hex', bytes.toString('hex')],
    ['HEX', bytes.toString('hex').toUpperCase()],
    ['url', encodeURIComponent(value)],
    ['url form', new URLSearchParams({ v: value }).toString().slice('v='.length)],
    ['url bytes', percent],
    ['URL bytes', percent.toUpperCase()],
    ['json', json],
    ['json ascii', json.replace(/[^ -~]/g, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)],
    ...[0, 1, 2].flatMap(shift => [
      [`base64 at ${shift}`, base64At(bytes, shift)] as const,
      [`base64url at ${shift}`, base64At(bytes, shift).replaceAll('+', '-').replaceAll('/', '_')] as const,
    ]),
  ];
  return new Map(texts.map(([form, text]) => [form, Buffer.from(text)]));
}

/** The characters of base64 that depend on these bytes alone, when they begin `shift` bytes into a group of three. */
function base64At(bytes: Buffer, shift: number): string {
  const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
  return text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6));
}

/** Every canary in every form in every place. */
export function findCanaries(canaries: readonly SecretCanary[], places: Iterable<Place>): readonly Find[] {
  const forms = canaries.flatMap(({ name, value }) =>
    [...encodeForms(value)].map(([form, bytes]) => ({ name, form, bytes })),
  );
  const found: Find[] = [];
  for (const place of places) {
    for (const { name, form, bytes } of forms) {
      if (place.bytes.includes(bytes)) found.push({ canary: name, form, place: place.name });
    }
  }
  return found;
}

/** Every file below a folder: logs, states, and the database with its whole history, byte by byte. */
export async function listFilesBelow(folder: string, leaveOut: readonly string[] = []): Promise<readonly Place[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const wanted = entries.filter(({ name }) => !leaveOut.includes(name));
  const found = await Promise.all(wanted.map(entry => listPlaces(entry, folder)));
  return found.flat().map(({ name, bytes }) => ({ name: relative(folder, name), bytes }));
}

async function listPlaces(entry: Dirent, folder: string): Promise<readonly Place[]> {
  const path = join(folder, entry.name);
  if (entry.isDirectory()) {
    return (await listFilesBelow(path)).map(({ name, bytes }) => ({ name: join(path, name), bytes }));
  }
  return entry.isFile() ? [{ name: path, bytes: await readFile(path) }] : [];
}

/** The command lines of all processes, those in containers included. */
export async function readCommandLines(): Promise<readonly Place[]> {
  const processes = (await readdir('/proc')).filter(name => /^\d+$/.test(name));
  const lines = await Promise.all(
    processes.map(async pid => ({
      name: `/proc/${pid}/cmdline`,
      bytes: await readFile(`/proc/${pid}/cmdline`).catch(() => Buffer.alloc(0)), // it has ended
    })),
  );
  return lines;
}

/**
 * Where values are found that only the secrets store and the engine may have: in the files of a plane, its logs, states
 * and database with its history among them, on command lines, and in what else a story has kept.
 */
export async function findLeaks(
  plane: ControlPlane,
  canaries: readonly SecretCanary[],
  more: readonly Place[] = [],
): Promise<readonly Find[]> {
  const files = await listFilesBelow(plane.folder, ['engine']);
  for (const must of [/^etcd\//, /\.log$/]) {
    if (!files.some(({ name }) => must.test(name))) throw new Error(`there is no file ${must} to search`);
  }
  return findCanaries(canaries, [...files, ...(await readCommandLines()), ...more]);
}
