import type { Action } from './actions.js';
import type { SignedIn } from './views.js';

/** A token as the list shows it: everything but its secret. */
export interface TokenView {
  readonly id: string;
  readonly kind: string;
  readonly role?: string;
  readonly description: string;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly expiresAt: string;
  readonly nodeName?: string;
  readonly used?: boolean;
}

/** Whom a token speaks for. */
export function describeHolder({ kind, role, nodeName, used }: TokenView): string {
  if (kind === 'node') return `the agent of ${nodeName ?? 'a node'}`;
  if (kind === 'join') return `enrols ${nodeName ?? 'one machine'}${used ? ', used' : ''}`;
  return kind === 'admin' ? 'the platform' : (role ?? kind);
}

/** Those of people first, the newest first. */
export function sortTokens(tokens: readonly TokenView[]): readonly TokenView[] {
  const rank = ({ kind }: TokenView) => (kind === 'tenant' || kind === 'admin' ? 0 : 1);
  return tokens.toSorted((a, b) => rank(a) - rank(b) || (a.createdAt < b.createdAt ? 1 : -1));
}

/** Ends a token at once; that of a node is ended with its node. */
export function listTokenActions({ id, kind, description }: TokenView, who: Pick<SignedIn, 'id'>): readonly Action[] {
  if (kind === 'node') return [];
  const named = description === '' ? id : `${id} (${description})`;
  const self = id === who.id ? ' You are signed in with it, and will be signed out.' : '';
  return [
    {
      label: 'Revoke',
      method: 'DELETE',
      path: `/api/v1/tokens/${encodeURIComponent(id)}`,
      question: `Revoke ${named}? Requests with it are refused from then on.${self}`,
    },
  ];
}
