import { keys } from '../../../crds/keys/index.js';
import { checkSignInRequest, type StoredToken } from '../../../crds/tenant/index.js';
import { encodeBase62 } from '../../../pkg/auth/index.js';
import type { RateLimiter } from '../../access/rate-limiter.js';
import { toAddressKey } from '../../http/hosts.js';
import { rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { anonymous, type ApiCall, defineRoute, type Route, type RouteResult } from '../../http/route.js';
import { write } from '../../write/write.js';
import { defineTokenCreation, type TokenEnv } from './routes.js';

const CODE_BYTES = 32;
const CODE_DIGITS = 43;
const CODE_LIFE_MS = 10 * 60_000;
/** Of one token; an older one is forgotten for a newer one. */
const MOST_CODES = 5;
const SESSION_SECONDS = 12 * 3600;

/** A code that was given out: whom it stands for, until when. */
interface OpenCode {
  readonly issuer: StoredToken;
  readonly expiresAt: number;
}

/** What signing in needs beside what tokens need. */
export interface SignInEnv extends TokenEnv {
  readonly rateLimiter: RateLimiter;
}

/**
 * Links that sign a browser in once. Administrators ask for a code, which is exchanged for a token of the same rights for a
 * working day. Codes are in the memory of this server only, as digests: a restart ends them.
 */
export function createSignInRoutes(env: SignInEnv): readonly Route[] {
  const codes = new Map<string, OpenCode>();
  return [
    defineRoute('admin', 'POST', '/api/v1/tokens/sign-in-codes', call => giveCode(env, codes, call), {
      tenant: 'chosen',
      query: [],
      body: 'none',
      grows: false,
    }),
    defineRoute('open', 'POST', '/api/v1/tokens/sign-in', call => signIn(env, codes, call), {
      tenant: 'none',
      query: [],
    }),
  ];
}

function giveCode({ keyring, clock, random }: SignInEnv, codes: Map<string, OpenCode>, call: ApiCall): RouteResult {
  const { id, token: issuer } = call.caller;
  if (!issuer) return rejectRequest('resource_not_found', 'id', id);
  const now = clock.now();
  for (const [digest, { expiresAt }] of codes) if (expiresAt <= now) codes.delete(digest);
  const own = [...codes].filter(([, open]) => open.issuer.id === id);
  for (const [digest] of own.slice(0, Math.max(0, own.length - MOST_CODES + 1))) codes.delete(digest);
  const code = encodeBase62(random.bytes(CODE_BYTES), CODE_DIGITS);
  const expiresAt = now + CODE_LIFE_MS;
  codes.set(keyring.digest(code), { issuer, expiresAt });
  return replyJson(201, { code, expiresAt: new Date(expiresAt).toISOString(), alterations: [], warnings: [] });
}

async function signIn(env: SignInEnv, codes: Map<string, OpenCode>, call: ApiCall): Promise<RouteResult> {
  const refuse = (refusal: RequestRejection) =>
    env.rateLimiter.check(anonymous, toAddressKey(call.request.socket.remoteAddress)) ?? refusal;
  const checked = checkSignInRequest(call.document);
  if (!checked.ok) return refuse(new RequestRejection(checked.rejections));
  const digest = env.keyring.digest(checked.value.code);
  const open = codes.get(digest);
  const now = env.clock.now();
  const invalid = rejectRequest('sign_in_code_invalid', 'code', '');
  if (!open || open.expiresAt <= now) return refuse(invalid);
  codes.delete(digest); // before anything can fail: it is good for one attempt

  const { id, kind, role, tenant, expiresAt } = open.issuer;
  const lifeSeconds = Math.min(SESSION_SECONDS, Math.floor((Date.parse(expiresAt) - now) / 1000));
  if (lifeSeconds <= 0) return refuse(invalid);
  const owner = { ...(role !== undefined && { role }), ...(tenant !== undefined && { tenant }) };
  const draft = { kind, description: 'signed in with a link', createdBy: id, lifeSeconds, ...owner };
  // Not for a token that was revoked since.
  const session = defineTokenCreation<SignInEnv>(
    () => (env.cache.get(keys.token(id)) ? draft : invalid),
    undefined,
    id,
  );
  const answer = await write(env, call, session);
  return answer instanceof RequestRejection ? refuse(answer) : answer;
}
