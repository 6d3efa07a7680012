/**
 * The one way to write, for every kind: read → judge → plan → commit → answer.
 *
 * A kind supplies two functions that wait for nothing and change nothing: `judge` (the document, what is stored and the facts → a
 * ruling, or why it is refused) and `plan` (what to put, delete and guard, the events, the remarks). The rest is the same for
 * all: reading under the conflict keys, If-Match, repeating what another write has overtaken, leases, the commit, waiting for the
 * cache, and the answer. A dry run is the same way, stopped before the commit.
 *
 *     export const creation: Writing<AdmissionEnv, Facts, Ruling> = { name: 'network', facts, judge, plan, show };
 *     defineRoute('deployer', 'POST', '/api/v1/networks', call => write(env, call, creation));
 *
 * @module
 */
import { keys } from '../../crds/keys/index.js';
import type { Warning } from '../../crds/rule/index.js';
import type { Random } from '../../pkg/clock/index.js';
import { failpoint, type FailpointName } from '../../pkg/failpoint/index.js';
import { type Cache, ConflictFault, Entry, StoreUnavailableFault, type Verdict } from '../../pkg/store/index.js';
import { inSpan, type Span } from '../../pkg/trace/index.js';
import { rejectRequest, RequestRejection } from '../http/reply.js';
import type { ApiCall, RouteResult, StorageEnv } from '../http/route.js';
import { replyDryRun, replyWritten, type DryRun } from './answer.js';
import { type Committer, type PlannedChange, readConflict, waitUntilCached } from './committer.js';
import { checkIfMatch } from './if-match.js';

/** What every write needs. */
export interface WriteEnv extends StorageEnv {
  readonly committer: Committer;
}

/** How fresh the cache was when the facts were read. */
export interface FactsInput {
  /** The entry that the call is about. */
  readonly stored: Entry | undefined;
  /** The cache shows everything that was stored when the request came. */
  readonly isFresh: boolean;
  readonly span: Span | undefined;
}

/** Everything that a write is judged and planned by, all of one moment. */
export interface WriteInput<Facts = unknown> {
  readonly call: ApiCall;
  readonly stored: Entry | undefined;
  readonly facts: Facts;
  /** As records name times. */
  readonly now: string;
  /** For ids. */
  readonly random: Random;
}

/** What is to be stored, and what is to be said of it. Without a put, a deletion and material nothing changes, and what is stored is answered. */
export interface Plan extends PlannedChange, DryRun {
  /** What is answered in the place of the record. */
  readonly shown?: Entry | undefined;
}

/** What of an environment a judgement may look at: all of it is there already, and of one moment. */
export type CachedEnv<Env> = Omit<Env, 'store' | 'committer' | 'clock' | 'random' | 'secrets' | 'images'>;

type OrRejection<Result> = Result | RequestRejection;

/** How one thing is written. */
export interface Writing<Env, Facts, Ruling> {
  /** What is written, for the log. */
  readonly name: string;
  /** Failpoints: it is judged, and nothing is stored; it is stored, and not answered. */
  readonly points?: readonly [storing: FailpointName, stored: FailpointName];
  /**
   * What of the cache must be as new as the request, the first time: everything (the default), the nodes, which a judgement can also do
   * without, or nothing, so that the commit is the first that asks the store.
   */
  readonly freshness?: (env: Env, call: ApiCall) => 'all' | 'nodes' | 'none';
  /** Finds the entry that the call is about. It is guarded, and `If-Match` speaks of it. Left out for what is only created. */
  readonly find?: (env: Env, call: ApiCall) => OrRejection<Entry | undefined>;
  /** The keys that serialise it with other writes whose judgement reads the same objects. */
  readonly conflictKeys?: (env: Env, call: ApiCall, stored: Entry | undefined) => readonly string[];
  /** Reads what it is judged by beside the document, the entry and the cache: what has to be waited for. */
  readonly facts?: (env: Env, call: ApiCall, seen: FactsInput) => OrRejection<Facts> | Promise<OrRejection<Facts>>;
  readonly judge: (given: WriteInput<Facts>, env: CachedEnv<Env>) => OrRejection<Ruling>;
  readonly plan: (given: WriteInput<Facts>, ruling: Ruling, env: CachedEnv<Env>) => Plan;
  /** Commits what is not one transaction of the store. */
  readonly commit?: (env: Env, given: WriteInput<Facts>, ruling: Ruling) => Promise<OrRejection<Verdict>>;
  /** What is done elsewhere, when it is stored or needs not be; gives further warnings. */
  readonly afterwards?: (
    env: Env,
    given: WriteInput<Facts>,
    ruling: Ruling,
  ) => Promise<OrRejection<readonly Warning[]>>;
  /** What answers show: JSON, or what becomes JSON; or why the request is refused in spite of what was stored. */
  readonly show: (
    env: Env,
    written: Entry,
    given: WriteInput<Facts>,
    ruling: Ruling,
    late: readonly Warning[],
  ) => object;
  /** What a dry run says beside the object. */
  readonly preview?: (env: Env, given: WriteInput<Facts>, ruling: Ruling) => object;
  /** Is answered from its own bytes: only a write with conflict keys waits until the cache shows it. */
  readonly isAnsweredAtOnce?: true;
}

const ATTEMPTS = 8;
const NO_KEYS: readonly string[] = [];
const NONE: readonly Warning[] = [];
const UNCHANGED: Verdict = { stored: true, revision: 0 };

/** Writes one thing, or says what that would do. */
export function write<Env extends WriteEnv, Facts, Ruling>(
  env: Env,
  call: ApiCall,
  how: Writing<Env, Facts, Ruling>,
): Promise<RouteResult> {
  if (call.isDryRun) return attempt(env, call, how, true) as Promise<RouteResult>;
  return env.committer.inTurn(listConflictKeys(env, call, how), async () => {
    for (let count = 1; count <= ATTEMPTS; count++) {
      const outcome = await attempt(env, call, how, count === 1);
      if (outcome) return outcome;
    }
    throw new ConflictFault(how.name, ATTEMPTS);
  });
}

/** By what the cache shows now: which requests wait for each other need not be exact, as each attempt guards what it reads. */
function listConflictKeys<Env>(
  env: Env,
  call: ApiCall,
  how: Pick<Writing<Env, unknown, unknown>, 'find' | 'conflictKeys'>,
): readonly string[] {
  if (!how.conflictKeys) return NO_KEYS;
  const stored = how.find?.(env, call);
  return stored instanceof RequestRejection ? NO_KEYS : how.conflictKeys(env, call, stored);
}

/** Undefined when something that it was judged by has changed since. */
async function attempt<Env extends WriteEnv, Facts, Ruling>(
  env: Env,
  call: ApiCall,
  how: Writing<Env, Facts, Ruling>,
  isFirst: boolean,
): Promise<RouteResult | undefined> {
  const planned = await inSpan(call.span, 'admission', span => readJudgePlan(env, call, how, { isFirst, span }));
  if (planned instanceof RequestRejection) return planned;
  const { given, ruling, plan } = planned;
  if (call.isDryRun) return replyDryRun(plan, how.preview?.(env, given, ruling));

  const verdict = await carryOut(env, how, planned);
  if (verdict instanceof RequestRejection) return verdict;
  if (!verdict.stored) return undefined;
  const late = how.afterwards ? await how.afterwards(env, given, ruling) : NONE;
  if (late instanceof RequestRejection) return late;

  const { record, warnings } = plan;
  const made = record && new Entry(record.key, record.bytes, verdict.revision, given.stored?.created);
  const written = plan.shown ?? made ?? given.stored!;
  const shown = how.show(env, written, given, ruling, late);
  if (shown instanceof RequestRejection) return shown;
  return replyWritten(
    shown,
    written.revision,
    late.length > 0 ? { ...plan, warnings: [...(warnings ?? []), ...late] } : plan,
  );
}

/** Commits a plan, and waits for the cache where that has to be. */
async function carryOut<Env extends WriteEnv, Facts, Ruling>(
  env: Env,
  how: Writing<Env, Facts, Ruling>,
  { given, ruling, plan, conflict }: Planned<Facts, Ruling>,
): Promise<Verdict | RequestRejection> {
  const { record, puts, deletes, material } = plan;
  if (!record && !puts && !deletes && !material) return UNCHANGED;
  if (how.points) failpoint(how.points[0]);
  const verdict = how.commit
    ? await how.commit(env, given, ruling)
    : await env.committer.commit(given.call, given.stored, plan, conflict);
  if (verdict instanceof RequestRejection || !verdict.stored) return verdict;
  if (how.points) failpoint(how.points[1]);
  if (!how.isAnsweredAtOnce || conflict.keys.length > 0) await waitUntilCached(env.cache, verdict.revision);
  return verdict;
}

interface Planned<Facts, Ruling> {
  readonly given: WriteInput<Facts>;
  readonly ruling: Ruling;
  readonly plan: Plan;
  readonly conflict: ReturnType<typeof readConflict>;
}

async function readJudgePlan<Env extends WriteEnv, Facts, Ruling>(
  env: Env,
  call: ApiCall,
  how: Writing<Env, Facts, Ruling>,
  { isFirst, span }: { readonly isFirst: boolean; readonly span: Span | undefined },
): Promise<Planned<Facts, Ruling> | RequestRejection> {
  const { cache, clock, random } = env;
  const { tenant, request } = call;
  const least = isFirst && how.freshness ? how.freshness(env, call) : 'all';
  const freshness = least === 'none' && call.isDryRun ? 'all' : least;
  const isFresh = freshness !== 'none' && (await refresh(cache, freshness === 'all'));
  if (isFresh && tenant !== '' && !cache.get(keys.tenant(tenant))) {
    return rejectRequest('resource_not_found', 'X-Tenant-ID', tenant);
  }
  const stored = how.find?.(env, call);
  if (stored instanceof RequestRejection) return stored;
  const overtaken = how.find && checkIfMatch(request.headers['if-match'], undefined, stored);
  if (overtaken) return overtaken;
  // Conflict keys first: a change while the rest is read is then noticed at the commit.
  const conflict = readConflict(cache, how.conflictKeys?.(env, call, stored) ?? NO_KEYS);
  const facts = how.facts ? await how.facts(env, call, { stored, isFresh, span }) : (undefined as Facts);
  if (facts instanceof RequestRejection) return facts;

  const given = { call, stored, facts, now: new Date(clock.now()).toISOString(), random };
  const ruling = how.judge(given, env);
  if (ruling instanceof RequestRejection) return ruling;
  return { given, ruling, plan: how.plan(given, ruling, env), conflict };
}

/** Whether the cache shows everything stored by now. Without what is required nothing is judged. */
async function refresh(cache: Cache, isRequired: boolean): Promise<boolean> {
  try {
    await cache.barrier();
    return true;
  } catch (thrown) {
    if (isRequired || !(thrown instanceof StoreUnavailableFault)) throw thrown;
    return false;
  }
}
