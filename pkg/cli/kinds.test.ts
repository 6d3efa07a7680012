import { expect } from 'chai';
import { Command } from 'commander';
import { Type } from 'typebox';

import { gadgetKind } from '../../crds/kind/gadget.testing.js';
import type { Kind } from '../../crds/kind/index.js';
import { kinds } from '../../crds/kinds/index.js';
import { annotate } from '../../crds/rule/index.js';
import { useCommandLab } from './command-lab.testing.js';
import { renderCompletion } from './commands/completion.js';
import { replyRefused } from './fake-api.testing.js';
import { findKind } from './kinds.js';
import { renderManual } from './manual.js';

const AT = '2030-01-01T00:00:00.000Z';
const text = Type.String();

/** The made-up kind with what a description has to show, and with places where a credential may be. */
const describedKind: Kind = {
  ...gadgetKind,
  operations: [...gadgetKind.operations, 'delete'],
  body: Type.Object({
    ...gadgetKind.body.properties,
    parts: Type.Array(Type.Object({ material: text })),
    tags: Type.Array(text),
    labels: Type.Unsafe({ type: 'object', additionalProperties: text }),
    environment: Type.Unsafe({ type: 'object', additionalProperties: Type.String(annotate({ 'x-redact': true })) }),
    values: Type.String(annotate({ 'x-transient': true })),
    access: Type.Object(
      { user: Type.String(annotate({ 'x-quoted': true })), pin: text },
      annotate({ 'x-redact': 'throughout' }),
    ),
    steps: Type.Array(text),
    key: Type.Union([Type.Integer(), Type.String(annotate({ 'x-redact': true }))]),
    draft: Type.Union([Type.Null(), Type.String(annotate({ 'x-transient': true }))]),
    lock: Type.Union([
      Type.Object({ code: text }),
      Type.Object({ code: Type.String(annotate({ 'x-redact': true })), hints: Type.Array(text) }),
      Type.Object({ hints: Type.Array(Type.String(annotate({ 'x-redact': true }))) }),
    ]),
  }),
  status: { GadgetStatus: Type.Object({ phase: text, polish: Type.Object({ shine: Type.Integer() }) }) },
};

const stored = {
  kind: 'Gadget',
  name: 'first',
  size: 3,
  parts: [{ material: 'brass', serial: 'SECRET-1' }, { material: 'steel' }],
  tags: ['a', 'b'],
  labels: { team: 'shop', constructor: 'plain' },
  environment: { PASSWORD: 'SECRET-2' },
  values: 'SECRET-3',
  access: { user: 'root', pin: 'SECRET-4' },
  steps: ['turn', 'push', 'turn'],
  key: 'SECRET-7',
  draft: 'SECRET-8',
  lock: { code: 'SECRET-9', hints: ['SECRET-10', 'SECRET-11'] },
  unknown: 'SECRET-5',
  metadata: { tenant: 't', uid: 'gad_1', generation: 2, createdAt: AT, updatedAt: AT },
  status: {
    phase: 'Polished',
    polish: { shine: 7 },
    hidden: 'SECRET-6',
    conditions: [{ type: 'Shiny', status: 'True', reason: 'ready', message: 'it shines', lastTransitionTime: AT }],
  },
};

describe('a kind that only has a descriptor, on the command line', () => {
  const known = [...kinds, gadgetKind];

  it('is listed under each of its names, with its columns', () => {
    const listed = findKind('gdg', known);
    expect(listed).to.include({ path: '/api/v1/gadgets', speaker: 'tenant' });
    expect(listed.columns.map(({ title }) => title)).to.deep.equal(['NAME', 'SIZE']);
    expect(listed.nameOf({ name: 'first' })).to.equal('first');
  });

  it('is offered by the completion, and for a deletion only when it can be deleted', () => {
    const offer = (command: string, kind: Kind) =>
      new RegExp(`^ +${command}\\) choices="([a-z ]*)"`, 'm')
        .exec(renderCompletion(new Command('moor'), [...kinds, kind]))?.[1]
        ?.split(' ') ?? [];
    expect(offer('get', gadgetKind)).to.include.members(['gadgets', 'all']);
    expect(offer('describe', gadgetKind)).to.include('gadgets');
    expect(offer('delete', gadgetKind)).to.include('backups').and.to.not.include.members(['gadgets']);
    expect(offer('delete', gadgetKind)).to.not.include('events');
    expect(offer('delete', describedKind)).to.include('gadgets');
  });

  it('stands in the manual page with the commands that take it', () => {
    const render = (kind: Kind) => renderManual(new Command('moor'), '1', [...kinds, kind]);
    expect(render(gadgetKind)).to.include('.B gadget, gadgets, gdg\nA made\\-up kind. Commands: get, describe.\n');
    expect(render(describedKind)).to.include('A made\\-up kind. Commands: get, describe, delete.\n');
  });
});

describe('moor delete and moor describe of a kind that only has a descriptor', () => {
  const lab = useCommandLab({ kinds: [...kinds, describedKind] });
  const ONE = '/api/v1/gadgets/first';

  it('delete it by any of its names, and pass on what the server refuses', async () => {
    lab.api.replies.set(`DELETE ${ONE}`, { status: 200, body: stored });
    expect(await lab.moor(['delete', 'gdg', 'first'])).to.deep.include({ code: 0, out: 'gadget/first deleted\n' });
    lab.api.replies.set(`DELETE ${ONE}`, replyRefused(409, 'network_in_use'));
    const refused = await lab.moor(['delete', 'gadget', 'first']);
    expect([refused.code, refused.out]).to.deep.equal([1, '']);
    expect(refused.err).to.include('network_in_use');
  });

  it('show columns, metadata, spec, status, conditions and events, and no credential', async () => {
    const event = { id: 'e', type: 'gadget.broken', at: AT, lastSeenAt: AT, count: 1, message: 'it broke' };
    lab.api.replies.set(`GET ${ONE}`, { status: 200, body: stored });
    lab.api.replies.set('GET /api/v1/events&subject=gad_1', { status: 200, body: { items: [event], next: null } });
    const { code, out } = await lab.moor(['describe', 'gadgets', 'first']);
    expect(code).to.equal(0);
    for (const line of [
      /^Name: +first$/m,
      /^Size: +3$/m,
      /^Uid: +gad_1$/m,
      /^Generation: +2$/m,
      /^Created: +2030-01-01T00:00:00.000Z \(\S+ ago\)$/m,
      /^Spec:\n +FIELD +VALUE\n/m,
      /^ +parts\[0\]\.material +brass$/m,
      /^ +parts\[1\]\.material +steel$/m,
      /^ +tags +a, b$/m,
      /^ +labels\.team +shop$/m,
      /^ +labels\.constructor +plain$/m,
      /^ +environment\.PASSWORD +\(not shown: it may hold a credential\)$/m,
      /^ +access\.user +root$/m,
      /^ +access\.pin +\(not shown/m,
      /^ +steps +turn, push, turn$/m,
      /^ +key +\(not shown/m,
      /^ +lock\.code +\(not shown/m,
      /^ +lock\.hints +\(not shown: it may hold a credential\)$/m,
      /^Status:\n +FIELD +VALUE\n +phase +Polished\n +polish\.shine +7$/m,
      /^Conditions:\n.*\n +Shiny +True +ready +\S+ +it shines$/m,
      /^Events:\n.*\n.*gadget\.broken +1 +it broke$/m,
    ]) {
      expect(out).to.match(line);
    }
    expect(out).to.not.include('SECRET');
  });

  it('say that there is none of the name', async () => {
    lab.api.replies.set(`GET ${ONE}`, replyRefused(404, 'resource_not_found'));
    expect((await lab.moor(['describe', 'gadget', 'first'])).code).to.equal(3);
  });
});

describe('moor delete and moor describe of the kinds of this release', () => {
  const lab = useCommandLab();
  const list = (...items: readonly object[]) => ({ status: 200, body: { items, revision: '1', next: null } });

  it('delete every kind whose descriptor says that it can be deleted, and refuse the others', async () => {
    const deletable = (kinds as readonly Kind[]).filter(({ operations }) => operations.includes('delete'));
    for (const { singular, path, item = '{name}', isFinalized } of deletable) {
      const name = item.replaceAll(/\{\w+\}/g, 'x');
      lab.api.replies.set(`DELETE ${path}/${name}`, { status: 200, body: { metadata: { uid: 'u' } } });
      lab.api.replies.set('GET /api/v1/tenants', list());
      const { code, out, err } = await lab.moor(['delete', singular, name, '--no-wait']);
      expect([code, out], err).to.deep.equal([0, `${singular}/${name} ${isFinalized ? 'deleting' : 'deleted'}\n`]);
    }
    const { code, err } = await lab.moor(['delete', 'event', 'x']);
    expect(code).to.equal(2);
    expect(err).to.match(/events cannot be deleted\. The kinds that can be are deployments, .*tokens\.$/m);
  });

  it('refuse force for all but nodes, and a secret that is not named by its path', async () => {
    const forced = await lab.moor(['delete', 'deployment', 'web', '--force']);
    expect([forced.code, forced.err]).to.deep.equal([
      2,
      'moor: --force is for nodes: it gives up the volumes that only they have.\n',
    ]);
    for (const name of ['web-db', '../nodes', 'deployments/..', 'deployments/.', 'deployments/']) {
      const unnamed = await lab.moor(['delete', 'secret', name]);
      expect([unnamed.code, unnamed.err]).to.deep.equal([
        2,
        `moor: "${name}" does not name a secret. Write it as <namespace>/<resource>.\n`,
      ]);
    }
    expect(lab.api.got).to.deep.equal([]);
  });

  it('find one in the list where a kind shows none alone, and show no more than its columns', async () => {
    const secret = { path: 'deployments/web-db', version: 3, deployments: ['web'], values: { user: 'SECRET' } };
    lab.api.replies.set('GET /api/v1/secrets', list(secret));
    const found = await lab.moor(['describe', 'secret', 'deployments/web-db']);
    expect([found.code, found.out]).to.deep.equal([
      0,
      'Path:           deployments/web-db\nVersion:        3\nRotation:       -\nUsed by:        web\n',
    ]);
    lab.api.replies.set('GET /api/v1/tokens', list({ id: 'k1' }, { id: 'k2' }));
    const token = await lab.moor(['get', 'token', 'k2', '-o', 'name']);
    expect([token.code, token.out], token.err).to.deep.equal([0, 'token/k2\n']);
    const missing = await lab.moor(['describe', 'secret', 'deployments/none']);
    expect([missing.code, missing.err]).to.deep.equal([
      3,
      'there is no secret "deployments/none": "moor get secrets" lists those that there are\n',
    ]);
  });
});
