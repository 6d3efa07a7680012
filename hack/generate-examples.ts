import { readdirSync, readFileSync } from 'node:fs';

import { parse, stringify } from 'yaml';

const FOLDER = 'examples';

/** `examples/kubernetes/`: the examples as objects, which kubectl applies as they stand. */
export function renderExampleObjects(): Readonly<Record<string, string>> {
  const files = readdirSync(FOLDER).filter(name => name.endsWith('.yaml'));
  return Object.fromEntries(
    files.map(name => {
      const document = parse(readFileSync(`${FOLDER}/${name}`, 'utf8')) as Readonly<Record<string, unknown>>;
      const { kind, name: own, labels, ...spec } = document;
      const metadata = { name: own, ...(labels !== undefined && { labels }) };
      const heading = `# Generated from ${FOLDER}/${name} by \`make generate\`.\n`;
      return [
        `${FOLDER}/kubernetes/${name}`,
        heading + stringify({ apiVersion: 'mooring.io/v1', kind, metadata, spec }, { lineWidth: 0 }),
      ];
    }),
  );
}
