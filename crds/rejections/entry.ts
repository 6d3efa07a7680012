/** A request as the reference page shows it: a body, or a line of HTTP where the body is not the point. */
export type ExampleRequest = string | Readonly<Record<string, unknown>>;

/** The section of the specification that names a code; `ours` where it names none, `failure` where the platform failed. */
export type SpecSection = `7.${1 | 2 | 3 | 4 | 5}` | 'ours' | 'failure';

const STATUSES = [
  400, 401, 403, 404, 405, 408, 409, 410, 412, 413, 415, 417, 421, 422, 429, 431, 500, 501, 503,
] as const;

/** HTTP statuses a code may be answered with. */
export type RejectionStatus = (typeof STATUSES)[number];

/** One row of the catalogue: everything about a rejection except the request that earned it. */
export interface CatalogueEntry<Params = never> {
  /** The section of its group, when it is left out. */
  readonly section?: SpecSection;
  /** HTTP status of the answer, 422 when it is left out; a function where one code has two causes. */
  readonly status?: RejectionStatus | ((params: Params) => RejectionStatus);
  /** The accepted form, as the client will read it. */
  readonly expected: string | ((params: Params) => string);
  /** Why the platform insists, in one sentence. */
  readonly why: string;
  /** What to do next, in the imperative. Printed on the reference page only. */
  readonly remedy: string;
  /** A request that earns the code. */
  readonly example: ExampleRequest;
  /** The same request, fixed. */
  readonly fixed: ExampleRequest;
  /** `never` when the received value may be a credential: it is then described, not quoted. */
  readonly echo?: 'never';
}

/** A row whose accepted form depends on named values must carry samples of them for its page. */
type Sampled<Row> = Row extends { readonly expected: (params: infer Params) => string }
  ? { readonly sample: Params }
  : { readonly sample?: never };

/** Declares a group of entries, keeping each code and each parameter type known to the compiler. */
export function defineEntries<const Group extends Record<string, CatalogueEntry<never>>>(
  section: SpecSection,
  group: Group & { readonly [Code in keyof Group]: Sampled<Group[Code]> },
): { readonly [Code in keyof Group]: Group[Code] & { readonly section: SpecSection } } {
  const rows = Object.entries(group).map(([code, row]) => [code, { section, status: 422, ...row }]);
  return Object.fromEntries(rows) as never;
}

/** A sound deployment with some fields changed, for examples; `undefined` leaves a field out. */
export function exampleDeployment(fields: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  return { kind: 'Deployment', name: 'web', image: 'registry.example.com/shop/web:1.4.2', ...fields };
}

/** A job that would be accepted, for examples. */
export function exampleJob(fields: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  return { kind: 'Job', name: 'migrate', image: 'registry.example.com/shop/migrate:1.4.2', ...fields };
}

/** Volumes of the examples, each named for what is special about it. */
export const exampleVolumes = {
  ready: 'vol_01jx4t9mk3v8q2zr5w7y6n0rdy',
  writtenByOther: 'vol_01jx4t9mk3v8q2zr5w7y6n0bsy',
  object: 'vol_01jx4t9mk3v8q2zr5w7y6n0bjc',
  degraded: 'vol_01jx4t9mk3v8q2zr5w7y6n0deg',
  absent: 'vol_01jx4t9mk3v8q2zr5w7y6n0abs',
  /** In memory. */
  scratch: 'vol_01jx4t9mk3v8q2zr5w7y6n0scr',
} as const;

/** A mount of a volume, for examples. */
export function exampleMount(fields: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  return { volumeId: exampleVolumes.ready, mountPath: '/data', ...fields };
}

/** A secret entry, for examples; `undefined` leaves a field out. */
export function exampleSecret(fields: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  return { name: 'DB', vault_path: 'deployments/web-db', anchor: 'process', ...fields };
}
