import { stringify } from 'yaml';

import { renderCrds, renderJsonSchemas } from '../crds/schemas/index.js';

const FOLDER = 'crds/manifests';
const HEADING = '# Generated from crds/ by `make generate`.\n';

/** `crds/manifests/`: custom resource definitions and JSON Schemas, by path. */
export function renderManifestFiles(): Readonly<Record<string, string>> {
  const yaml = Object.entries(renderCrds()).map(([name, manifest]) => [
    `${FOLDER}/${name}`,
    HEADING + stringify(manifest, { aliasDuplicateObjects: false, lineWidth: 0 }),
  ]);
  const json = Object.entries(renderJsonSchemas()).map(([name, schema]) => [
    `${FOLDER}/${name}`,
    `${JSON.stringify(schema, undefined, 2)}\n`,
  ]);
  return Object.fromEntries([...yaml, ...json]);
}
