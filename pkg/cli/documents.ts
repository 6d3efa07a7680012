import { readFileSync } from 'node:fs';

import { type ErrorCode, isScalar, LineCounter, parseAllDocuments } from 'yaml';

import type { Alteration, Warning } from '../../crds/rule/index.js';
import type { ApiAnswer, Client } from '../client/index.js';
import { UsageFault, type Terminal } from '../terminal/index.js';
import { findFieldOffset } from '../../crds/rejections/field-offset.js';
import { type CliKind, listKinds } from './kinds.js';
import type { Locate } from './session.js';
import type { DeploymentView } from '../../crds/deployment/index.js';

/** One object of a file, and the places of its fields. */
export interface ManifestDocument {
  readonly value: Readonly<Record<string, unknown>>;
  /** `web.yaml:12:3`, for a problem without a field. */
  readonly place: string;
  readonly locate: Locate;
}

/** Reads every object of a file; `-` is standard input. JSON is a subset of YAML and is read as such. */
export async function readManifests(file: string, terminal: Terminal): Promise<readonly ManifestDocument[]> {
  const text = file === '-' ? await terminal.readInput() : readText(file);
  const manifests = parseManifests(text, file === '-' ? 'standard input' : file);
  if (manifests.length === 0)
    throw new UsageFault(
      `${file}: contains no object. Write one with kind and name; "moor init" makes a file for an image.`,
    );
  return manifests;
}

/** Reads every object of several files. Each can be sent: it has a name and a kind that can be applied. */
export async function readAppliedManifests(
  files: readonly string[],
  terminal: Terminal,
): Promise<readonly ManifestDocument[]> {
  const manifests: ManifestDocument[] = [];
  for (const file of files) manifests.push(...(await readManifests(file, terminal)));
  for (const manifest of manifests) checkManifest(manifest);
  return manifests;
}

/** Parses the objects of a text. All syntax errors are reported at once, each with its line and column. */
function parseManifests(text: string, source: string): readonly ManifestDocument[] {
  const counter = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: counter, logLevel: 'error' });
  if (!Array.isArray(documents)) return [];

  const at = (offset: number): string => {
    const { line, col } = counter.linePos(offset);
    return `${source}:${line}:${col}`;
  };
  const errors = documents.flatMap(document =>
    document.errors.map(({ pos, code, message }) => `${at(pos[0])}: ${UNQUOTED[code] ?? firstLine(message)}`),
  );
  if (errors.length > 0) throw new UsageFault(errors.join('\n'));

  return documents
    .filter(({ contents }) => !isEmpty(contents))
    .map(document => {
      const place = at(document.contents?.range?.[0] ?? 0);
      const value = toPlainValue(document, place);
      if (!isMap(value)) throw new UsageFault(`${place}: must be a map with kind and name.`);
      const locate: Locate = field => {
        const offset = findFieldOffset(path => document.getIn(path, true), field);
        return offset === undefined ? undefined : at(offset);
      };
      return { value, place, locate };
    });
}

/** Whether a document consists of comments only. An explicit null is not empty. */
function isEmpty(contents: unknown): boolean {
  return contents === null || (isScalar(contents) && contents.value === null && contents.source === '');
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new UsageFault(`${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** Errors whose own message quotes the file: it may hold a credential, so only the place is printed. */
const UNQUOTED: Readonly<Partial<Record<ErrorCode, string>>> = {
  UNEXPECTED_TOKEN: 'Unexpected token',
  TAG_RESOLVE_FAILED: 'Unknown tag; a value that begins with ! needs quotes',
  BAD_DIRECTIVE: 'Unknown directive',
  BAD_DQ_ESCAPE: 'Invalid escape sequence',
};

function toPlainValue(document: { toJS(): unknown }, place: string): unknown {
  try {
    return document.toJS();
  } catch {
    throw new UsageFault(`${place}: An alias cannot be followed; a value that begins with * needs quotes`);
  }
}

// The library repeats the offending lines below its message.
function firstLine(message: string): string {
  return (message.split('\n')[0] ?? message).replace(/ at line \d+, column \d+:?$/, '');
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The server's answer to a dry run. */
export interface DryRunView {
  readonly change: 'create' | 'update' | 'delete' | 'none';
  readonly object: Readonly<Record<string, unknown>>;
  readonly alterations: readonly Alteration[];
  readonly warnings: readonly Warning[];
  readonly recreated?: readonly { readonly replica: number }[];
  readonly secrets?: readonly {
    readonly path: string;
    readonly resolves: boolean;
    readonly missing: readonly string[];
  }[];
  readonly placement?: { readonly able: number; readonly next: readonly string[]; readonly unplaced: number };
}

/** The kinds that can be applied: those whose document a client writes. */
const appliedKinds = listKinds()
  .filter(({ descriptor: { body, operations } }) => body && operations.includes('create'))
  .toSorted((a, b) => a.kind.localeCompare(b.kind));

/** The kind of a manifest. One that names none is sent as a deployment, for the server to judge. */
export function findAppliedKind(manifest: ManifestDocument): CliKind | undefined {
  return appliedKinds.find(({ kind }) => kind === getKind(manifest));
}

function demandAppliedKind(manifest: ManifestDocument): CliKind {
  const found = findAppliedKind(manifest);
  if (found) return found;
  const known = appliedKinds.map(({ kind }) => kind).join(' or ');
  const given = JSON.stringify(manifest.value['kind']);
  throw new UsageFault(`${manifest.place}: kind ${given} cannot be applied. It must be ${known}.`);
}

function getKind({ value: { kind = 'Deployment' } }: ManifestDocument): string {
  return typeof kind === 'string' ? kind : '';
}

function checkManifest(manifest: ManifestDocument): void {
  const { name } = manifest.value;
  demandAppliedKind(manifest);
  if (typeof name !== 'string' || name === '') throw new UsageFault(`${manifest.place}: must have a name.`);
}

/** The object as it is printed: `deployment/web`. */
export function formatTitle(manifest: ManifestDocument): string {
  return `${getKind(manifest).toLowerCase()}/${String(manifest.value['name'])}`;
}

/** The object as it is stored now. Undefined when it does not exist. */
export async function fetchCurrent(
  client: Client,
  manifest: ManifestDocument,
): Promise<ApiAnswer<DeploymentView | undefined>> {
  const answer = await client.request<DeploymentView>('GET', objectPath(manifest));
  return answer.ok || answer.status !== 404 ? answer : { ok: true, status: 200, value: undefined };
}

/** Sends a manifest: PUT when the object `exists`, POST otherwise. */
export function sendManifest<T>(
  client: Client,
  manifest: ManifestDocument,
  exists: boolean,
  { dryRun }: { readonly dryRun?: boolean },
): Promise<ApiAnswer<T>> {
  const { descriptor, path } = demandAppliedKind(manifest);
  const { kind: _, ...rest } = manifest.value;
  // The documents of some kinds do not say of which kind they are.
  const body = descriptor.body?.properties['kind'] ? manifest.value : rest;
  const request = { body, query: { dryRun: dryRun || undefined } };
  return exists ? client.request<T>('PUT', objectPath(manifest), request) : client.request<T>('POST', path, request);
}

function objectPath(manifest: ManifestDocument): string {
  return demandAppliedKind(manifest).pathOf(String(manifest.value['name']));
}
