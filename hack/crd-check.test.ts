import { execFile } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import type { Kind } from '../crds/kind/index.js';
import { kinds } from '../crds/kinds/index.js';
import { isBroken, type Relation } from '../crds/rule/index.js';
import { skip } from '../dev/testing/index.js';

const FOLDER = 'crds/manifests';
const BUILT = '.cache/crd-check';
const SOURCE = 'hack/crd-check/main.go';
/** What is compiled already is linked in much less. */
const BUILD_MS = 10_000;

interface ProgramOutcome {
  readonly isDone: boolean;
  readonly said: string;
}

function run(program: string, argv: readonly string[], timeout = 60_000): Promise<ProgramOutcome> {
  // Without modules of its own Go would fetch them.
  const env = { ...process.env, GOPROXY: 'off', GOFLAGS: '-mod=mod' };
  return new Promise(end => {
    execFile(program, argv, { timeout, env }, (error, out, err) => end({ isDone: !error, said: out + err }));
  });
}

type Fields = Readonly<Record<string, unknown>>;

/** Objects of one place of a spec: every combination of these values, undefined for a field that is left out. */
interface Variants {
  readonly kind: string;
  readonly spec: Fields;
  /** The fields that lead to the place; a list has one entry. */
  readonly at: readonly string[];
  readonly values: Readonly<Record<string, readonly unknown[]>>;
}

const image = 'registry.example.com/shop/web:1.4.2';
const placed = (kind: string): readonly Variants[] => [
  {
    kind,
    spec: { image },
    at: ['placement', 'constraints'],
    values: {
      key: ['disk'],
      operator: ['In', 'NotIn', 'Exists', 'DoesNotExist'],
      values: [undefined, [], ['ssd'], ['ssd', 'nvme']],
    },
  },
  {
    kind,
    spec: { image },
    at: ['placement', 'antiAffinity'],
    values: { self: [undefined, true, false], deployments: [undefined, [], ['db']] },
  },
];
const shares = [undefined, 0, 1, '0%', '10%'];
const variants: readonly Variants[] = [
  ...placed('Deployment'),
  ...placed('Job'),
  {
    kind: 'Deployment',
    spec: { image },
    at: ['rollout'],
    values: { maxSurge: shares, maxUnavailable: shares },
  },
  {
    kind: 'Job',
    spec: { image },
    at: [],
    values: {
      schedule: [undefined, '@daily'],
      timeZone: [undefined, 'UTC'],
      concurrencyPolicy: [undefined, 'Allow'],
      restartPolicy: [undefined, 'Never', 'OnFailure'],
      backoffLimit: [undefined, 0, 2],
    },
  },
  {
    kind: 'Volume',
    spec: { sizeBytes: 2 ** 20 },
    at: [],
    values: {
      class: ['ephemeral', 'replicated', 'object'],
      type: [undefined, 'volume', 'bind', 'tmpfs'],
      replicas: [undefined, 2],
    },
  },
];

/** Every combination of the values of the fields. */
function combine(values: Variants['values']): readonly Fields[] {
  return Object.entries(values).reduce<readonly Fields[]>(
    (known, [field, each]) =>
      known.flatMap(object => each.map(value => (value === undefined ? object : { ...object, [field]: value }))),
    [{}],
  );
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly 'x-relations'?: readonly Relation[];
}

const findBody = (kind: string) => (kinds as readonly Kind[]).find(each => each.kind === kind)!.body as Schema;

function findPlace(schema: Schema, [field, ...rest]: readonly string[]): Schema {
  if (field === undefined) return schema;
  const inner = schema.properties![field]!;
  return findPlace(inner.items ?? inner, rest);
}

/** The value with what leads to it around it. */
function wrap(schema: Schema, [field, ...rest]: readonly string[], value: Fields): Fields {
  if (field === undefined) return value;
  const inner = schema.properties![field]!;
  const wrapped = wrap(inner.items ?? inner, rest, value);
  return { [field]: inner.items ? [wrapped] : wrapped };
}

/** Every relation of a schema. */
function listRelations(schema: Schema): readonly Relation[] {
  const inner = [...Object.values(schema.properties ?? {}), ...(schema.items ? [schema.items] : [])];
  return [...(schema['x-relations'] ?? []), ...inner.flatMap(listRelations)];
}

describe('the custom resource definitions', () => {
  let folder: string;
  let program: string | undefined;
  let files: readonly string[];
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-crds-'));
    files = (await readdir(FOLDER)).filter(file => file.endsWith('.yaml')).map(file => join(FOLDER, file));
    if (existsSync(BUILT) && statSync(BUILT).mtimeMs > statSync(SOURCE).mtimeMs) {
      program = BUILT;
      return;
    }
    const fresh = join(folder, 'crd-check');
    const { isDone } = await run('go', ['build', '-C', 'hack/crd-check', '-o', fresh, '.'], BUILD_MS);
    if (isDone) program = fresh;
  });
  after(() => rm(folder, { recursive: true, force: true }));

  /** The program, or the end of a test that needs it. */
  const needProgram = (context: Mocha.Context): string => {
    if (program !== undefined) return program;
    return skip(context, 'Go, or what the check is made of, is not here or not compiled yet (make check-crds)');
  };

  it('are accepted by the validation of Kubernetes', async function () {
    const check = needProgram(this);
    expect(files).to.not.have.length(0);
    const { isDone, said } = await run(check, files);
    expect(isDone, said).to.equal(true);
  });

  it('refuse by CEL in Kubernetes what our own rules refuse of fields together, and nothing else', async function () {
    const check = needProgram(this);
    const cases = variants.flatMap(({ kind, spec, at, values }) => {
      const body = findBody(kind);
      const relations = findPlace(body, at)['x-relations'] ?? [];
      return combine(values).map(value => ({
        object: {
          apiVersion: 'mooring.io/v1',
          kind,
          metadata: { name: 'web' },
          spec: { ...spec, ...wrap(body, at, value) },
        },
        broken: relations.filter(relation => isBroken(relation, value)),
      }));
    });
    const path = join(folder, 'objects.json');
    await writeFile(path, JSON.stringify(cases.map(({ object }) => object)));
    const { isDone, said } = await run(check, ['-objects', path, ...files]);
    expect(isDone, said).to.equal(true);
    const verdicts = said.trim().split('\n');
    expect(verdicts).to.have.length(cases.length);
    for (const [at, { object, broken }] of cases.entries()) {
      const verdict = verdicts[at]!;
      const what = `${JSON.stringify(object.spec)}: ${verdict}`;
      if (broken.length === 0) expect(verdict, what).to.equal('accepted');
      for (const { wanted } of broken) expect(verdict, what).to.contain(`expected ${wanted}`);
    }
  });

  it('have no relation of fields that is not tried here', () => {
    const known = (kinds as readonly Kind[]).flatMap(({ kubernetes, body }) =>
      kubernetes && body ? listRelations(body as Schema) : [],
    );
    const tried = variants.flatMap(({ kind, at, values }) =>
      (findPlace(findBody(kind), at)['x-relations'] ?? []).filter(relation => {
        const verdicts = combine(values).map(value => isBroken(relation, value));
        return verdicts.includes(true) && verdicts.includes(false);
      }),
    );
    expect(known).to.not.have.length(0);
    expect([...new Set(tried)]).to.have.members([...new Set(known)]);
  });
});
