import { expect } from 'chai';

import { keys, ranges } from '../../crds/keys/index.js';
import { systemClock } from '../../pkg/clock/index.js';
import {
  type Change,
  encode,
  type Entry,
  LeaseGoneFault,
  MemoryStore,
  OutcomeUnknownFault,
  type Verdict,
} from '../../pkg/store/index.js';
import { ApiLab, type LabResponse } from '../api-lab.testing.js';

/** A request of a row. The path may name what was created. */
export interface RowRequest {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string | ((created: Record<string, unknown>, lab: ApiLab) => string);
  readonly body?: unknown;
}

/** Why a part of the contract cannot hold for a kind, and what holds it there. */
export interface NotApplicable {
  readonly because: string;
}

/** One kind of write, as the contract looks at it. */
export interface WriteRow {
  readonly kind: string;
  readonly as?: 'tenant' | 'platform';
  readonly settings?: ConstructorParameters<typeof ApiLab>[0] & object;
  readonly prepare?: (lab: MeddledLab) => Promise<void>;
  /** Below which its record stands, or the key of the one that is there already. */
  readonly range: (lab: ApiLab) => string;
  readonly create: RowRequest | NotApplicable;
  /** Creates another one, beyond this quota of one. */
  readonly quota?: { readonly quota: string; readonly another: unknown } | NotApplicable;
  /** What answers a create whose name another server has taken meanwhile. */
  readonly taken: string | NotApplicable;
  readonly replace: RowRequest | NotApplicable;
  readonly remove: RowRequest | NotApplicable;
  readonly event: true | NotApplicable;
  /** The fields of a dry run that are not stored as they are. */
  readonly computed?: readonly string[];
}

/** A store in which the next commit of the server can be meddled with. */
class MeddledStore extends MemoryStore {
  meddle: ((commit: () => Promise<Verdict>, change: Change) => Promise<Verdict>) | undefined;

  override commit(change: Change): Promise<Verdict> {
    const { meddle } = this;
    if (!meddle) return super.commit(change);
    this.meddle = undefined;
    return meddle(() => super.commit(change), change);
  }
}

/** A server, and a client of the row's kind. */
export class MeddledLab extends ApiLab {
  readonly meddled: MeddledStore;
  readonly #row: WriteRow;
  #token = '';
  #there: ReadonlySet<string> = new Set();

  constructor(row: WriteRow, quota?: string) {
    const meddled = new MeddledStore({ clock: systemClock });
    super({
      store: meddled,
      ...row.settings,
      settings: { ...row.settings?.settings, ...(quota && { quotas: [quota] }) },
    });
    this.meddled = meddled;
    this.#row = row;
  }

  override async start(): Promise<this> {
    await super.start();
    const isPlatform = this.#row.as === 'platform';
    this.#token = isPlatform ? (await this.token({ kind: 'admin' })).text : await this.tenantToken(this.a);
    await this.#row.prepare?.(this);
    await this.cache.barrier();
    this.#there = new Set((await this.store.list('')).entries.map(({ key }) => key));
    return this;
  }

  async send(
    { method, path, body }: RowRequest,
    { created = {}, headers = {}, isDryRun = false }: SendOptions = {},
  ): Promise<LabResponse> {
    const at = typeof path === 'string' ? path : path(created, this);
    const sent = body === undefined ? {} : { body };
    const answer = await this.ask(method, `/api/v1/${at}${isDryRun ? '?dryRun=true' : ''}`, {
      token: this.#token,
      headers: this.#row.as === 'platform' ? headers : { 'x-tenant-id': this.a, ...headers },
      ...sent,
    });
    await this.cache.barrier();
    return answer;
  }

  /** The record that is there already, or those that were made. */
  async records(): Promise<readonly Entry[]> {
    const range = this.#row.range(this);
    if (!range.endsWith('/')) return [(await this.store.get(range))!];
    return (await this.store.list(range)).entries.filter(({ key }) => !this.#there.has(key));
  }

  /** What is stored, but for what vanishes by itself or only counts. */
  async state(): Promise<readonly string[]> {
    return (await this.store.list('')).entries.map(({ key, revision }) => `${key}@${revision}`);
  }

  /** Writes a record again as it is, as another server would. */
  async touch({ key, bytes, revision: at }: Entry): Promise<void> {
    await this.store.commit({ guards: [{ key, at }], puts: [{ key, bytes }], deletes: [] });
  }
}

interface SendOptions {
  readonly created?: Record<string, unknown>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly isDryRun?: boolean;
}

function isReason(part: object | string | boolean): part is NotApplicable {
  return typeof part === 'object' && 'because' in part;
}

function isApplicable<T extends object | string | true>(part: T | NotApplicable | undefined): part is T {
  return part !== undefined && !isReason(part);
}

/** A test of a part that a row has; otherwise the reason stands in the title. */
function itFor<T extends object | string | true>(
  title: string,
  part: T | NotApplicable | undefined,
  run: (part: T) => Promise<void>,
): void {
  if (isApplicable(part)) it(title, () => run(part));
  else if (part && isReason(part)) it(`${title}: not applicable, because ${part.because}`, () => undefined);
}

const HOSTILE: readonly unknown[] = [
  null,
  [],
  'text',
  7,
  { name: {} },
  { name: 'a/b', kind: 'Deployment' },
  { name: 'x'.repeat(5_000) },
  JSON.parse('{"__proto__":{"name":"web"},"constructor":{"prototype":{}}}'),
];

/** What holds for every write, whatever its kind. */
export function describeWrites(rows: readonly WriteRow[]): void {
  for (const row of rows) {
    describe(`writes: ${row.kind}`, () => {
      let lab: MeddledLab;
      beforeEach(async () => {
        lab = await new MeddledLab(row).start();
      });
      afterEach(() => lab.stop());
      describeCreation(row, () => lab);
      describeChange(row, () => lab);
    });
  }
}

function describeCreation(row: WriteRow, at: () => MeddledLab): void {
  const refused = async (answer: LabResponse, before: readonly string[]) => {
    expect(answer.status, answer.text).to.be.within(400, 499);
    expect(await at().state()).to.deep.equal(before);
  };

  itFor('a dry run says what the write does, and stores nothing', row.create, async create => {
    const lab = at();
    const before = await lab.state();
    const tried = await lab.send(create, { isDryRun: true });
    expect(tried.body, tried.text).to.include({ dryRun: true, change: 'create' });
    expect(await lab.state()).to.deep.equal(before);

    const made = await lab.send(create);
    expect(made.status, made.text).to.equal(201);
    const [record] = await lab.records();
    const stored = record!.document as Record<string, unknown>;
    for (const [field, said] of Object.entries(tried.body['object'] as object)) {
      if (!row.computed?.includes(field)) expect(stored[field], field).to.deep.equal(said);
    }
  });

  itFor('answers its own revision, and where it is', row.create, async create => {
    const made = await at().send(create);
    const [record] = await at().records();
    expect(made.headers.get('etag')).to.equal(`"${record!.revision}"`);
    expect(made.headers.get('location')).to.match(/^\/api\/v1\//);
  });

  itFor('is announced in the same transaction', row.event, async () => {
    if (!isApplicable(row.create)) return;
    const lab = at();
    await lab.send(row.create);
    const [record] = await lab.records();
    const events = await lab.store.list(ranges.of(ranges.events, lab.a));
    expect(events.entries.map(({ revision }) => revision)).to.include(record!.revision);
  });

  itFor('is judged again when another server has taken the name', row.taken, async code => {
    if (!isApplicable(row.create)) return;
    const lab = at();
    lab.meddled.meddle = async commit => {
      await commit();
      return commit();
    };
    const answer = await lab.send(row.create);
    expect(answer.body['code'], answer.text).to.equal(code);
    expect(await lab.records()).to.have.length(1);
  });

  itFor('says that the outcome is unknown when the answer was lost', row.create, async create => {
    const lab = at();
    lab.meddled.meddle = async commit => {
      await commit();
      throw new OutcomeUnknownFault();
    };
    const answer = await lab.send(create);
    expect(answer.status, answer.text).to.equal(503);
    expect(answer.body['code']).to.equal('outcome_unknown');
    expect(await lab.records()).to.have.length(1);
  });

  itFor('is repeated when a lease has ended', row.create, async create => {
    at().meddled.meddle = () => Promise.reject(new LeaseGoneFault());
    const answer = await at().send(create);
    expect(answer.status, answer.text).to.equal(201);
  });

  itFor('is refused beyond the quota', row.quota, async ({ quota, another }) => {
    const { create } = row;
    if (!isApplicable(create)) return;
    const limited = await new MeddledLab(row, quota).start();
    try {
      expect((await limited.send(create)).status).to.equal(201);
      const answer = await limited.send({ ...create, body: another });
      expect(answer.body['code'], answer.text).to.equal('quota_reached');
      const tried = await limited.send({ ...create, body: another }, { isDryRun: true });
      expect(tried.body['code'], tried.text).to.equal('quota_reached');
    } finally {
      await limited.stop();
    }
  });

  if (row.as !== 'platform') {
    itFor('finds no tenant when it was deleted meanwhile', row.create, async create => {
      const lab = at();
      const before = await lab.records();
      lab.meddled.meddle = async commit => {
        const tenant = (await lab.store.get(keys.tenant(lab.a)))!;
        const guards = [{ key: tenant.key, at: tenant.revision }];
        await lab.store.commit({ guards, puts: [], deletes: [tenant.key] });
        return commit();
      };
      const answer = await lab.send(create);
      expect(answer.status, answer.text).to.equal(404);
      expect(answer.body).to.include({ code: 'resource_not_found', field: 'X-Tenant-ID' });
      expect(await lab.records()).to.have.length(before.length);
    });
  }

  itFor('refuses hostile documents, and stores nothing', row.create, async create => {
    const before = await at().state();
    for (const body of HOSTILE) await refused(await at().send({ ...create, body }), before);
  });
}

function describeChange(row: WriteRow, at: () => MeddledLab): void {
  const make = async () => (isApplicable(row.create) ? (await at().send(row.create)).body : {});
  const changes = [row.replace, row.remove].filter(part => isApplicable(part)) as readonly RowRequest[];

  itFor('changes nothing when the same is sent again', row.replace, async replace => {
    const created = await make();
    const first = await at().send(replace, { created });
    expect(first.status, first.text).to.be.within(200, 201);
    const before = await at().state();
    const tried = await at().send(replace, { created, isDryRun: true });
    expect(tried.body, tried.text).to.include({ dryRun: true, change: 'none' });
    const again = await at().send(replace, { created });
    expect(again.status, again.text).to.equal(200);
    expect(again.headers.get('etag')).to.equal(first.headers.get('etag'));
    expect(await at().state()).to.deep.equal(before);
  });

  itFor('is removed, or marked, and a dry run says so before', row.remove, async remove => {
    const created = await make();
    const before = await at().state();
    const tried = await at().send(remove, { created, isDryRun: true });
    expect(tried.body, tried.text).to.include({ dryRun: true, change: 'delete' });
    expect(await at().state()).to.deep.equal(before);
    const removed = await at().send(remove, { created });
    expect(removed.status, removed.text).to.equal(200);
    const again = await at().send(remove, { created, isDryRun: true });
    if ((await at().records()).length === 0) expect(again.status, again.text).to.equal(404);
    else expect(again.body, again.text).to.include({ dryRun: true, change: 'none' });
  });

  for (const change of changes) {
    const name = change === row.replace ? 'a change' : 'a removal';

    it(`${name} keeps to If-Match`, async () => {
      const created = await make();
      const before = await at().state();
      const stale = await at().send(change, { created, headers: { 'if-match': '"1"' } });
      expect(stale.body['code'], stale.text).to.equal('revision_mismatch');
      expect(await at().state()).to.deep.equal(before);
      const any = await at().send(change, { created, headers: { 'if-match': '*' } });
      expect(any.status, any.text).to.be.within(200, 201);
    });

    it(`${name} is judged again when another server was first`, async () => {
      const created = await make();
      const [record] = await at().records();
      at().meddled.meddle = async commit => {
        await at().touch(record!);
        return commit();
      };
      const answer = await at().send(change, { created });
      expect(answer.status, answer.text).to.be.within(200, 201);
    });
  }
}

/** The put of a record that a row needs, as a loop or an agent would write it. */
export async function seed(lab: ApiLab, key: string, document: object): Promise<void> {
  await lab.store.commit({ guards: [{ key, at: 0 }], puts: [{ key, bytes: encode(document) }], deletes: [] });
}
