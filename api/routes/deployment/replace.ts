import { admitUpdate, type StoredDeployment } from '../../../crds/deployment/index.js';
import { hashSpec } from '../../../crds/meta/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { type Change, type Entry, value } from '../../../pkg/store/index.js';
import { askedBy } from '../../admission/asked.js';
import { commitWith } from '../../admission/commit.js';
import { turnPuts, turnsOf } from '../../admission/conflict-keys.js';
import { type Admitted, tryDeployment } from '../../admission/deployment-dry-run.js';
import { type Gathered, gatherFacts, nodeGuards } from '../../admission/facts.js';
import { quotaWarnings } from '../../admission/quota.js';
import { nextMetadata, writeOf } from '../../admission/write.js';
import type { ApiEnv } from '../../env.js';
import type { Call } from '../../http/call.js';
import { attempts, refuseUnlessMatches, untilShown } from '../../http/concurrency.js';
import { flagIn } from '../../http/query.js';
import { Refused } from '../../http/rejection.js';
import { etag, writtenReply } from '../../http/reply.js';
import type { Outcome } from '../../http/route.js';
import { findDeployment, statusOf, writtenDeployment } from './view.js';

/** Changes a stored deployment. The same content again changes nothing, and says so with the same answer. */
export async function replaceDeployment(env: ApiEnv, call: Call): Promise<Outcome> {
  const isTrial = flagIn(call.query, 'dryRun');
  if (isTrial instanceof Refused) return isTrial;
  const entry = await find(env, call);
  if (entry instanceof Refused) return entry;
  if (isTrial) return tryReplace(env, call, entry);
  const turns = turnsOf(call.tenant, askedBy(call.document, value<StoredDeployment>(entry)));
  return env.turnstile.pass(turns, () => {
    let known: Entry | undefined = turns.length === 0 ? entry : undefined;
    return attempts(call.params['name']!, async () => {
      const current = known ?? (await find(env, call));
      known = undefined;
      return current instanceof Refused ? current : replaceOnce(env, call, current);
    });
  });
}

async function find({ cache }: ApiEnv, { tenant, params }: Call): Promise<Entry | Refused> {
  await cache.barrier();
  return findDeployment(cache, tenant, params['name']!);
}

/** Undefined when somebody else was first. */
async function replaceOnce(env: ApiEnv, call: Call, entry: Entry): Promise<Outcome | undefined> {
  const stored = value<StoredDeployment>(entry);
  const judged = await judge(env, call, entry, env.deploymentLimits);
  if (judged instanceof Refused) return judged;
  const { admission, gathered } = judged;
  const { spec, alterations, material } = admission;
  const warnings = [...admission.warnings, ...quotaWarnings(env, call.tenant, spec)];
  const answer = (written: Pick<Entry, 'bytes' | 'revision'>) => {
    const body = writtenDeployment(written, statusOf(env.cache, entry), alterations, warnings);
    return writtenReply(200, body, etag(written.revision), alterations);
  };
  const isSame = hashSpec(spec) === stored.metadata.specHash;
  if (isSame && material.length === 0) return answer(entry);

  const { change, bytes } = isSame
    ? { change: await materialAlone(env, call, gathered), bytes: entry.bytes }
    : await written(env, call, entry, judged);
  const { secretKeys: seen } = gathered.facts;
  const brought = { subject: spec.name, writes: material, seen, isAlone: isSame };
  const verdict = await commitWith(env, call, change, brought);
  if (verdict instanceof Refused) return verdict;
  if (!verdict.stored) return undefined;
  if (gathered.turns.length > 0) await untilShown(env.cache, verdict.revision);
  return answer(isSame ? entry : { bytes, revision: verdict.revision });
}

/** Material may come with a document that changes nothing else: it takes its turns all the same. */
async function materialAlone(env: ApiEnv, { requestId }: Call, { turns, guards }: Gathered): Promise<Change> {
  return { guards, puts: turnPuts(turns, requestId, await env.eventLeases.current()), deletes: [] };
}

interface Judged {
  readonly admission: Admitted;
  readonly gathered: Gathered;
}

async function judge(
  env: ApiEnv,
  { tenant, document, request }: Call,
  entry: Entry,
  limits: ApiEnv['deploymentLimits'],
): Promise<Judged | Refused> {
  const stored = value<StoredDeployment>(entry);
  const gathered = await gatherFacts(env, tenant, askedBy(document, stored));
  const admission = admitUpdate(stored, document, gathered.facts, limits);
  if (!admission.ok) return new Refused(admission.rejections);
  const mismatch = refuseUnlessMatches(request.headers['if-match'], admission.ifMatch, entry.revision);
  if (mismatch) return mismatch;
  if (stored.metadata.deletedAt !== undefined) {
    return new Refused(reject('deployment_being_deleted', 'name', stored.name));
  }
  return { admission, gathered };
}

function written(env: ApiEnv, { tenant, caller, requestId }: Call, entry: Entry, { admission, gathered }: Judged) {
  const { spec, alterations } = admission;
  return writeOf(env, {
    kind: 'update',
    metadata: hash => nextMetadata(env, value<StoredDeployment>(entry).metadata, hash),
    spec,
    alterations,
    by: caller.id,
    operation: requestId,
    guards: [{ key: entry.key, at: entry.revision }, ...nodeGuards(env.cache, tenant, spec.nodeId), ...gathered.guards],
    turns: gathered.turns,
  });
}

async function tryReplace(env: ApiEnv, call: Call, entry: Entry): Promise<Outcome> {
  const judged = await judge(env, call, entry, env.dryRunLimits);
  if (judged instanceof Refused) return judged;
  const { admission, gathered } = judged;
  return tryDeployment(env, call.tenant, { admission, facts: gathered.facts, entry });
}
