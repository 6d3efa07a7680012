import { formatCount } from '../../../crds/grammar/index.js';
import { sortForDeletion } from '../../../crds/kinds/index.js';
import type { Client, RejectionAnswer } from '../../client/index.js';
import { sleep } from '../../clock/index.js';
import { type ExitCode, exitCode, UsageFault, startDeadline, type WaitOptions } from '../../terminal/index.js';
import { findKind, listKinds, nodes, tenants } from '../kinds.js';
import { stripControls } from '../print/text.js';
import type { Command, Session } from '../session.js';
import type { StoredTenant } from '../../../crds/tenant/index.js';

interface DeleteTenantInput extends WaitOptions {
  /** The id of the tenant, or its name where only one has it. */
  readonly name: string;
  readonly cascade?: boolean;
  readonly yes?: boolean;
}

/** The answer of the server: the names of what a tenant still has, by kind. */
interface TenantRemains {
  readonly remains: Readonly<Record<string, readonly string[]>>;
}

/** The claim to a machine of another tenant: no kind of its own, and deleted with the nodes. */
const CLAIM = 'claim';

function toPath(kind: string, name: string): string {
  if (kind === CLAIM) return `${nodes.pathOf(name)}/claim`;
  return findKind(kind).pathOf(name);
}

/** Whether objects of a kind stay for a while after their deletion was asked for. */
function isFinalized(kind: string): boolean {
  return kind !== CLAIM && findKind(kind).descriptor.isFinalized === true;
}

/** Before anything is deleted: a tenant would be left in part. */
function refuseUnknown(found: readonly string[]): void {
  const known = [CLAIM, ...listKinds().flatMap(({ names }) => names)];
  const unknown = found.filter(kind => !known.includes(kind));
  if (unknown.length === 0) return;
  const what = stripControls(unknown.join(', '));
  throw new UsageFault(
    `the tenant has objects of kinds that this release does not know (${what}): use "moor" of the release of the server.`,
  );
}

const LOOK_EVERY_MS = 1_000;

/** What the tenant has cannot be listed: nothing more may be deleted. */
class UnlistedError extends Error {
  readonly answer: RejectionAnswer;

  constructor(answer: RejectionAnswer) {
    super('what the tenant has cannot be listed');
    this.answer = answer;
  }
}

/** Deletes a tenant that has nothing left; with `cascade`, after everything that it has. A command that was interrupted can be repeated. */
export const deleteTenant: Command<DeleteTenantInput> = async (session, { name: wanted, cascade, yes, ...wait }) => {
  const { terminal, ink } = session;
  const client = await session.connect('platform');
  const tenant = await findTenant(session, client, wanted);
  if (typeof tenant === 'number') return tenant;
  if (cascade) {
    try {
      const code = await deleteRemains(session, client, tenant, { yes: yes ?? false, ...wait });
      if (code !== undefined) return code;
    } catch (thrown) {
      if (thrown instanceof UnlistedError) return session.reportRejection(thrown.answer);
      throw thrown;
    }
  }
  const answer = await client.request<StoredTenant>('DELETE', tenants.pathOf(tenant.id));
  if (!answer.ok) return session.reportRejection(answer);
  terminal.out(`tenant/${tenant.id} ${ink.green('deleted')}\n`);
  return exitCode.ok;
};

/** A tenant that is not listed may be one whose deletion was interrupted: the server knows. */
async function findTenant(session: Session, client: Client, wanted: string): Promise<StoredTenant | ExitCode> {
  const list = await client.all<StoredTenant>(tenants.path);
  if (!list.ok) return session.reportRejection(list);
  return pickTenant(list.value.items, wanted) ?? ({ id: wanted, name: wanted } as StoredTenant);
}

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** What has the form of an id is one, also when a tenant is called so: else the tenant with that id could not be named. */
function pickTenant(items: readonly StoredTenant[], wanted: string): StoredTenant | undefined {
  const isWanted = ({ id, name }: StoredTenant) => (ID.test(wanted) ? id === wanted.toLowerCase() : name === wanted);
  const found = items.filter(isWanted);
  if (found.length > 1) throw new UsageFault(`${found.length} tenants are called "${wanted}": name one by its id.`);
  return found[0];
}

/** The id of a tenant that is named by its id or its name. Whoever may not list them, names the own one by its id or as `self`. */
export async function resolveTenantName(client: Client, wanted: string): Promise<string> {
  const list = await client.all<StoredTenant>(tenants.path);
  return (list.ok ? pickTenant(list.value.items, wanted)?.id : undefined) ?? wanted;
}

async function deleteRemains(
  session: Session,
  client: Client,
  { id, name }: StoredTenant,
  { yes, ...wait }: WaitOptions & { readonly yes: boolean },
): Promise<ExitCode | undefined> {
  const { terminal } = session;
  const headers = { 'x-tenant-id': id };
  const load = async (): Promise<TenantRemains['remains']> => {
    const answer = await client.request<TenantRemains>('GET', `${tenants.pathOf(id)}/remains`);
    if (!answer.ok && answer.status !== 404) throw new UnlistedError(answer);
    return answer.ok ? answer.value.remains : {};
  };
  const remains = await load();
  const order = sortForDeletion().flatMap(kind => (kind === nodes.descriptor ? [kind.singular, CLAIM] : kind.singular));
  const kinds = Object.keys(remains).toSorted((a, b) => order.indexOf(a) - order.indexOf(b));
  const found = kinds.flatMap(kind => (remains[kind]?.length ? [{ kind, names: remains[kind] }] : []));
  refuseUnknown(found.map(({ kind }) => kind));
  for (const { kind, names } of found) {
    terminal.out(`${formatCount(names.length, kind)}: ${stripControls(names.join(', '))}\n`);
  }
  const question = `Delete all of this and the tenant ${stripControls(name)} for good? [y/N] `;
  if (found.length > 0 && !yes && !(await terminal.confirm(question))) {
    terminal.err('nothing was deleted; --yes answers the question\n');
    return exitCode.refused;
  }
  const deadline = startDeadline(terminal, wait);
  try {
    for (const { kind, names } of found) {
      for (const each of names) {
        const answer = await client.request('DELETE', toPath(kind, each), { headers });
        if (!answer.ok && answer.status !== 404) return session.reportRejection(answer);
      }
      if (!isFinalized(kind)) continue;
      // Volumes, networks and nodes are in use until the last container is gone, and bytes are removed by their node.
      while (((await load())[kind] ?? []).length > 0) {
        if (deadline.signal.aborted) {
          terminal.err(`its ${kind}s are still being deleted; repeat the command when they are gone\n`);
          return deadline.passed ? exitCode.timedOut : exitCode.interrupted;
        }
        await sleep(terminal.clock, LOOK_EVERY_MS, deadline.signal);
      }
    }
    return undefined;
  } finally {
    deadline.end();
  }
}
