/**
 * The definitions, published: JSON Schemas, the OpenAPI document, and custom resource definitions.
 *
 * All of them are derived from the descriptors in `crds/kinds`, whose schemas are those that documents are checked with.
 *
 *     renderOpenApi(routes, { version: '0.1.0', baseUrl: 'https://moor.example.com' })
 *     renderJsonSchemas()['deployment.schema.json']
 *     renderCrds()['deployments.mooring.io.yaml']
 *
 * The table of routes is the API's; writing files is for `make generate`.
 *
 * @module
 */
export { getAnswerName } from './answers.js';
export { listBodies } from './bodies.js';
export { renderCrds } from './crd.js';
export type { JsonSchema } from './json-schema.js';
export { renderJsonSchemas } from './json-schema.js';
export type { RouteDescription } from './open-api.js';
export { renderComponents, renderOpenApi } from './open-api.js';
