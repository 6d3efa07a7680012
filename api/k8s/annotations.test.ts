import { expect } from 'chai';

import { ApiLab } from '../api-lab.testing.js';
import { ANNOTATIONS_BYTES_MAX, ANNOTATIONS_MAX, checkAnnotations } from './annotations.js';
import { FaceClient, type TestObject } from './face-lab.testing.js';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
const MERGE = { 'content-type': 'application/merge-patch+json' };
const IMAGE = 'registry.example.com/shop/web:1.4.2';

const applied = (spec: object) => ({ [LAST_APPLIED]: JSON.stringify({ kind: 'Deployment', spec }) });
const listed = (spec: object) => ({ [LAST_APPLIED]: JSON.stringify({ kind: 'List', items: [{ spec }] }) });
const ORIGINAL = 'kapp.k14s.io/original';
const REFUSED = 'annotation_holds_credential';
const secret = { name: 'DB', vault_path: 'deployments/web-db', anchor: 'process' };
const valued = { secrets: [{ ...secret, values: { a: 'b' } }] };

describe('annotations', () => {
  const many = Object.fromEntries(Array.from({ length: ANNOTATIONS_MAX + 1 }, (_, at) => [`a${at}`, '']));
  const cases: readonly [what: string, annotations: object, code?: string, field?: string][] = [
    ['a text', { note: 'hi', 'example.com/owner': 'Ada & Co.' }],
    ['a key that is none', { 'a b': 'x' }, 'field_invalid', 'metadata.annotations.a b'],
    ['a number', { note: 1 }, 'field_invalid', 'metadata.annotations.note'],
    ['more than are kept', many, 'field_invalid', 'metadata.annotations'],
    [
      'more bytes than are kept',
      { a: 'x'.repeat(ANNOTATIONS_BYTES_MAX) },
      'document_too_large',
      'metadata.annotations',
    ],
    ['an issued token', { ci: `ghp_${'a'.repeat(36)}` }, 'annotation_holds_credential', 'metadata.annotations.ci'],
    ['a file', applied({ image: IMAGE, secrets: [secret], environment: { MODE: 'x' } })],
    ['a file with values', applied({ secrets: [{ ...secret, values: { a: 'b' } }] }), 'annotation_holds_credential'],
    ['a file with an order', applied({ secrets: [{ ...secret, generate: {} }] }), 'annotation_holds_credential'],
    ['a file with a password', applied({ environment: { DB_PASSWORD: 'hunter2' } }), 'annotation_holds_credential'],
    ['a file of several', listed({ environment: { DB_PASSWORD: 'hunter2' } }), 'annotation_holds_credential'],
    ['a file of a template', applied({ template: { environment: { DB_PASSWORD: 'hunter2' } } }), REFUSED],
    ['a file under another key', { [ORIGINAL]: JSON.stringify({ spec: { image: IMAGE, secrets: [secret] } }) }],
    ['a file with values under another key', { [ORIGINAL]: JSON.stringify({ spec: valued }) }, REFUSED],
    ['a list of files with values', { [ORIGINAL]: ` ${JSON.stringify([{ spec: valued }])}` }, REFUSED],
    ['a text in braces', { note: '{{ of a template }}', more: '[draft] of a note' }],
    ['a password', { 'example.com/db-password': 'hunter2' }, REFUSED, 'metadata.annotations.example.com/db-password'],
    ['what is about a password', { 'example.com/db-password-file': '/run/db', 'secrets.example.com/note': 'hi' }],
    ['a file that is none', { [LAST_APPLIED]: '{' }, 'field_invalid'],
    ['a file that is nested', { [LAST_APPLIED]: `${'{"spec":'.repeat(7_000)}1${'}'.repeat(7_000)}` }, 'field_invalid'],
  ];
  for (const [what, annotations, code, field] of cases) {
    it(`${code === undefined ? 'may be' : 'may not be'} ${what}`, () => {
      const [rejection] = checkAnnotations(annotations as Readonly<Record<string, unknown>>);
      expect(rejection?.code).to.equal(code);
      if (field !== undefined) expect(rejection?.field).to.equal(field);
      expect(JSON.stringify(rejection) ?? '').to.not.match(/hunter2|ghp_/);
    });
  }

  it('that are kept already are not judged again', () => {
    const stored = { 'example.com/db-password': 'hunter2' };
    expect(checkAnnotations({ ...stored, note: 'x' }, stored)).to.deep.equal([]);
    const [rejection] = checkAnnotations({ 'example.com/db-password': 'hunter3' }, stored);
    expect(rejection?.code).to.equal(REFUSED);
  });

  describe('on the Kubernetes face', () => {
    let lab: ApiLab;
    let client: FaceClient;
    before(async () => {
      lab = await new ApiLab().start();
      client = new FaceClient(lab, await lab.tenantToken(lab.a), lab.a);
    });
    after(() => lab.stop());

    const objects: Readonly<Record<string, { readonly kind: string; readonly spec: object }>> = {
      deployments: { kind: 'Deployment', spec: { image: IMAGE, replicas: 2 } },
      jobs: { kind: 'Job', spec: { image: IMAGE } },
    };
    const toBody = (plural: string, name: string, annotations?: object) => {
      const { kind, spec } = objects[plural]!;
      return { apiVersion: 'mooring.io/v1', kind, metadata: { name, ...(annotations && { annotations }) }, spec };
    };
    const make = async (plural: string, name: string, annotations?: object) => {
      const made = await client.ask('POST', client.own(plural), { body: toBody(plural, name, annotations) });
      expect(made.status, made.text).to.equal(201);
      return made.body as unknown as TestObject;
    };
    const annotate = (plural: string, name: string, annotations: object, query = '') =>
      client.ask('PATCH', client.own(`${plural}/${name}${query}`), {
        body: { metadata: { annotations } },
        headers: MERGE,
      });
    const read = async (plural: string, name: string) =>
      (await client.ask('GET', client.own(`${plural}/${name}`))).body as unknown as TestObject;

    for (const plural of ['deployments', 'jobs']) {
      it(`of ${plural} are kept, changed and removed, and change nothing else`, async () => {
        const made = await make(plural, 'noted', { note: 'one' });
        expect(made.metadata['annotations']).to.deep.equal({ note: 'one' });
        const tried = await annotate(plural, 'noted', { note: 'tried' }, '?dryRun=All');
        expect((tried.body as unknown as TestObject).metadata['annotations']).to.deep.equal({ note: 'tried' });
        const changed = await annotate(plural, 'noted', { note: 'two', more: 'x' });
        expect(changed.status, changed.text).to.equal(200);
        const rendered = await read(plural, 'noted');
        expect(rendered.metadata['annotations']).to.deep.equal({ note: 'two', more: 'x' });
        expect(rendered.metadata.resourceVersion).to.not.equal(made.metadata.resourceVersion);
        expect(rendered['spec']).to.deep.equal(made['spec']);
        expect(rendered.metadata['generation']).to.equal(1);
        await annotate(plural, 'noted', { note: 'two' });
        expect((await read(plural, 'noted')).metadata.resourceVersion).to.equal(rendered.metadata.resourceVersion);
        await annotate(plural, 'noted', { note: null, more: null });
        expect((await read(plural, 'noted')).metadata).to.not.have.property('annotations');
      });
    }

    it('stay when our own API changes the object, which shows them, and are told to watches', async () => {
      const { metadata } = await make('deployments', 'kept', { note: 'one', long: 'x'.repeat(1_000) });
      await client.ask('PUT', '/api/v1/deployments/kept', { body: { replicas: 5 } });
      const own = await client.ask('GET', '/api/v1/deployments/kept');
      expect(own.body).to.have.nested.property('metadata.annotations').that.includes({ note: 'one' });
      const version = (await read('deployments', 'kept')).metadata.resourceVersion;
      expect(version).to.not.equal(metadata.resourceVersion);
      const path = client.own(`deployments?watch=true&resourceVersion=${version}`);
      const [event] = await client.watch(path, 1, undefined, () => annotate('deployments', 'kept', { note: 'two' }));
      expect(event).to.include({ type: 'MODIFIED' });
      expect(event!.object.metadata['annotations']).to.include({ note: 'two' });
      expect(event!.object.metadata['generation']).to.equal(2);
      await client.ask('DELETE', client.own('deployments/kept'));
      const deleting = await client.ask('GET', '/api/v1/deployments/kept');
      expect(deleting.body).to.have.nested.property('status.phase', 'Deleting');
    });

    it('come with a change of the spec in one write, or neither is stored', async () => {
      await make('deployments', 'both', { note: 'one' });
      const body = (replicas: number, note: string) => ({ metadata: { annotations: { note } }, spec: { replicas } });
      const send = (patch: object) =>
        client.ask('PATCH', client.own('deployments/both'), { body: patch, headers: MERGE });
      const changed = (await send(body(3, 'two'))).body as unknown as TestObject;
      expect([changed['spec'], changed.metadata['annotations']]).to.deep.equal([
        { ...(changed['spec'] as object), replicas: 3 },
        { note: 'two' },
      ]);
      for (const [patch, code] of [
        [body(-1, 'three'), 'replicas_negative'],
        [body(4, `ghp_${'a'.repeat(36)}`), 'annotation_holds_credential'],
        [body(-1, `ghp_${'a'.repeat(36)}`), 'replicas_negative'],
      ] as const) {
        const refused = await send(patch);
        const { causes } = refused.body['details'] as { readonly causes: readonly { readonly reason: string }[] };
        expect([refused.status, causes[0]?.reason]).to.deep.equal([422, code]);
      }
      const rendered = await read('deployments', 'both');
      expect([rendered.metadata.resourceVersion, rendered.metadata['annotations']]).to.deep.equal([
        changed.metadata.resourceVersion,
        { note: 'two' },
      ]);
    });
  });
});
