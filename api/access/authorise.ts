import { reject } from '../../crds/rejections/index.js';
import { Refused } from '../refusal.js';
import type { Access } from '../route.js';
import { type Caller, includesRole } from './caller.js';

/** Refuses a caller whose kind of token, or whose role, the route does not accept. */
export function authorise(caller: Caller, access: Access): Refused | undefined {
  if (access === 'open') return undefined;
  const granted = caller.kind === 'nobody' ? undefined : access[caller.kind];
  if (granted === true) return undefined;
  if (granted !== undefined && includesRole(caller.role, granted)) return undefined;
  return new Refused(reject('auth_forbidden', 'Authorization', caller.id, { needed: neededFor(access) }));
}

function neededFor(access: Exclude<Access, 'open'>): string {
  const accepted = [
    access.tenant && `a tenant token with the role ${access.tenant}`,
    access.admin && 'an administrator token',
    access.node && 'a node token',
    access.join && 'a join token',
  ];
  return accepted.filter(Boolean).join(', or ');
}
