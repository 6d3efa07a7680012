import { bodies } from './bodies.js';
import { type JsonSchema, toPublicSchema } from './json-schema.js';

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** Documents that people write in files and editors can help with. */
const WRITTEN = ['Deployment', 'Job', 'Network', 'Volume', 'SecretWrite'] as const;

/** A JSON Schema for each kind of document, by the name of its file. */
export function renderJsonSchemas(): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(
    WRITTEN.map(name => [
      `${name.replaceAll(/(?<=[a-z])([A-Z])/g, '-$1').toLowerCase()}.schema.json`,
      { $schema: DIALECT, title: name, ...toPublicSchema(bodies[name]) },
    ]),
  );
}
