import { type ConversionNote, convertService } from './service.js';
import { type ComposeMap, isMap, show } from './values.js';

/** What a compose file becomes: deployments, and all that is not carried over. */
export interface Conversion {
  readonly documents: readonly ComposeMap[];
  readonly notes: readonly ConversionNote[];
}

/** Parts of a file that need no note: those that say nothing, and those that services have notes for. */
const SILENT = new Set(['version', 'name', 'services', 'volumes', 'networks', 'secrets', 'configs']);

/** Converts the services of a compose file, as it was read. Undefined where it has none. */
export function convertCompose(file: ComposeMap): Conversion | undefined {
  const { services } = file;
  if (!isMap(services)) return undefined;
  const others = Object.keys(file).filter(part => !SILENT.has(part) && !part.startsWith('x-'));
  const notes: ConversionNote[] = others.map(field => ({ field, message: 'is not read: what it brings is missing' }));
  const documents = Object.entries(services).flatMap(([service, given]): readonly ComposeMap[] => {
    const converted = convertService(service, isMap(given) ? given : {});
    notes.push(...converted.notes.map(({ field, message }) => ({ field: join('services', service, field), message })));
    return converted.document ? [converted.document] : [];
  });
  const known = new Set(documents.map(({ name }) => name));
  return { documents: documents.map(document => dropUnknown(document, known, notes)), notes };
}

/** A dependency on what was not converted would be waited for for ever. */
function dropUnknown(document: ComposeMap, known: ReadonlySet<unknown>, notes: ConversionNote[]): ComposeMap {
  const { dependsOn, ...rest } = document;
  if (!Array.isArray(dependsOn)) return document;
  const isKnown = ({ name }: ComposeMap) => known.has(name);
  for (const { name } of (dependsOn as readonly ComposeMap[]).filter(each => !isKnown(each))) {
    const message = `${show(name)} is left out, since it was not converted`;
    notes.push({ field: join('services', show(rest['name']), 'depends_on'), message });
  }
  const kept = dependsOn.filter(isKnown);
  return kept.length > 0 ? { ...rest, dependsOn: kept } : rest;
}

function join(...parts: readonly string[]): string {
  return parts.filter(part => part !== '').join('.');
}
