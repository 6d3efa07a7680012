import { hash } from 'node:crypto';

import { type JsonSchema, renderCrds } from '../../crds/schemas/index.js';
import { GROUP } from './objects.js';
import { APPLY_TYPE } from './request.js';
import type { ServedResource } from './served.js';
import { FACE_PREFIX } from './status.js';

const GROUP_PATH = `apis/${GROUP}/v1`;

interface Definition {
  readonly spec: { readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: JsonSchema } }[] };
}

/** The OpenAPI document of our group, for `kubectl explain` and for the check before a write. */
export class OpenApiDocument {
  readonly #bytes: Buffer;
  readonly #hash: string;

  constructor(resources: readonly ServedResource[]) {
    this.#bytes = Buffer.from(JSON.stringify(render(resources.filter(({ group }) => group === GROUP))));
    this.#hash = hash('sha256', this.#bytes, 'hex').slice(0, 32);
  }

  get bytes(): Buffer {
    return this.#bytes;
  }

  /** Where the document is: an absolute path, which clients take as it is. */
  get index(): object {
    const serverRelativeURL = `${FACE_PREFIX}/openapi/v3/${GROUP_PATH}?hash=${this.#hash}`;
    return { paths: { [GROUP_PATH]: { serverRelativeURL } } };
  }
}

function render(resources: readonly ServedResource[]): JsonSchema {
  const definitions = renderCrds(resources.map(({ reader }) => reader.kind)) as unknown as Readonly<
    Record<string, Definition>
  >;
  return {
    openapi: '3.0.0',
    info: { title: 'Mooring', version: 'v1' },
    paths: Object.fromEntries(resources.flatMap(describePaths)),
    components: {
      schemas: Object.fromEntries(
        resources.map(served => {
          const definition = definitions[`${served.plural}.${GROUP}.yaml`];
          const schema = definition?.spec.versions[0]?.schema.openAPIV3Schema ?? ANYTHING;
          const { description } = served.reader.kind;
          return [toComponent(served), { ...schema, description, ...describeKind(served) }];
        }),
      ),
    },
  };
}

/** What cannot be written has no schema of its own. */
const ANYTHING = {
  type: 'object',
  properties: {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: { type: 'object' },
    spec: { type: 'object' },
    status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
};

function toComponent({ kind }: ServedResource): string {
  return `io.mooring.v1.${kind}`;
}

function describeKind({ kind }: ServedResource) {
  return { 'x-kubernetes-group-version-kind': [{ group: GROUP, version: 'v1', kind }] };
}

/** With `fieldValidation` kubectl knows that the server checks every field, so that it does not do so itself. */
const PARAMETERS = ['dryRun', 'fieldManager', 'fieldValidation', 'force'].map(name => ({
  name,
  in: 'query',
  schema: { type: 'string' },
}));

function describePaths(served: ServedResource): readonly (readonly [path: string, operations: JsonSchema])[] {
  const { kind, plural, verbs } = served;
  const about = { 'x-kubernetes-group-version-kind': { group: GROUP, version: 'v1', kind } };
  const schema = { $ref: `#/components/schemas/${toComponent(served)}` };
  const content = { 'application/json': { schema } };
  const responses = { 200: { description: 'OK', content } };
  const read = { ...about, responses };
  const write = { ...read, parameters: PARAMETERS, requestBody: { content } };
  const patches = ['application/merge-patch+json', 'application/json-patch+json', APPLY_TYPE];
  const patch = { ...write, requestBody: { content: Object.fromEntries(patches.map(type => [type, { schema }])) } };
  const all = `/${GROUP_PATH}/namespaces/{namespace}/${plural}`;
  const isWritten = verbs.includes('create');
  return [
    [all, { get: read, ...(isWritten && { post: write }) }],
    [`${all}/{name}`, { get: read, ...(isWritten && { put: write, patch, delete: write }) }],
  ];
}
