import type { Kind } from '../kind/index.js';
import { kinds } from '../kinds/index.js';
import { listBodies } from './bodies.js';

/** A JSON Schema (draft 2020-12), or a part of one. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Our own words and the library's: neither is part of what is published. */
const INNER = /^(?:x-(?!kubernetes-)|~)/;

/** Makes one kind of schema from another, part by part. Undefined leaves a field out. */
export type SchemaRenderer = (schema: JsonSchema) => JsonSchema | undefined;

/** The schema as the world reads it: our annotations gone, the accepted form in words as its description. */
export function toPublicSchema(schema: object): JsonSchema {
  return renderSchema(schema as JsonSchema, plain) ?? {};
}

function plain(schema: JsonSchema): JsonSchema {
  const words = Object.entries(schema).filter(([keyword]) => !INNER.test(keyword));
  const { 'x-expected': expected, 'x-transient': transient } = schema;
  const notes = [expected, transient === true ? 'never stored' : undefined].filter(note => typeof note === 'string');
  return {
    ...Object.fromEntries(words),
    ...(notes.length > 0 && { description: notes.join('; ') }),
    ...(transient === true && { writeOnly: true }),
  };
}

/** Renders a schema and everything inside it, from the inside out. */
export function renderSchema(schema: JsonSchema, render: SchemaRenderer): JsonSchema | undefined {
  const { properties, items, additionalProperties, required, anyOf } = schema as {
    readonly properties?: Readonly<Record<string, JsonSchema>>;
    readonly items?: JsonSchema;
    readonly additionalProperties?: JsonSchema | boolean;
    readonly required?: readonly string[];
    readonly anyOf?: readonly JsonSchema[];
  };
  const inner = Object.entries(properties ?? {}).flatMap(([name, part]) => {
    const rendered = renderSchema(part, render);
    return rendered ? [[name, rendered] as const] : [];
  });
  const names = new Set(inner.map(([name]) => name));
  return render({
    ...schema,
    ...(properties && { properties: Object.fromEntries(inner) }),
    ...(required && { required: required.filter(name => names.has(name)) }),
    ...(anyOf && { anyOf: anyOf.flatMap(part => renderSchema(part, render) ?? []) }),
    ...(items && { items: renderSchema(items, render) }),
    ...(typeof additionalProperties === 'object' && {
      additionalProperties: renderSchema(additionalProperties, render),
    }),
  });
}

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** A JSON Schema for each document that people write in files, by the name of its file. */
export function renderJsonSchemas(known: readonly Kind[] = kinds): Readonly<Record<string, JsonSchema>> {
  const bodies = listBodies(known);
  const written = known.flatMap(({ kind, body, published = [] }) => [...(body ? [kind] : []), ...published]);
  return Object.fromEntries(
    written.map(name => [
      `${name.replaceAll(/(?<=[a-z])([A-Z])/g, '-$1').toLowerCase()}.schema.json`,
      { $schema: DIALECT, title: name, ...toPublicSchema(bodies[name]!) },
    ]),
  );
}
