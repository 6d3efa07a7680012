import { isTypedId } from './typed-id.js';

/** What a credential lives as long as. */
export type Anchor =
  | { readonly to: 'process' }
  | { readonly to: 'external' }
  | { readonly to: 'volume'; readonly volumeId: string };

const VOLUME = /^volume\(([a-z0-9_]{1,64})\)$/;

/** Reads `process`, `external` or `volume(vol_…)`; undefined for anything else. */
export function parseAnchor(text: string): Anchor | undefined {
  if (text === 'process' || text === 'external') return { to: text };
  const volumeId = VOLUME.exec(text)?.[1];
  return volumeId !== undefined && isTypedId('vol', volumeId) ? { to: 'volume', volumeId } : undefined;
}
