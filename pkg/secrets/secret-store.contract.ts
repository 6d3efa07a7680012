import { expect } from 'chai';

import { type CredentialPath, toCredentialPath } from './credential-path.js';
import { toSecretDocument, readKeyNames, revealDocument } from './document.js';
import { destroyVersion } from './destroy-version.testing.js';
import type { Reading, SecretState, SecretStore, SecretWriteResult } from './secret-store.js';

/** A secrets store to be examined, with a tenant of its own and one namespace that its policy does not grant. */
export interface SecretStoreUnderTest {
  readonly store: SecretStore;
  readonly tenant: string;
  readonly otherTenant: string;
  /** A path that the policy forbids. */
  readonly forbidden: CredentialPath;
}

const written = (outcome: SecretWriteResult) => (outcome.kind === 'written' ? outcome.version : outcome.kind);
const shown = (reading: Reading) =>
  reading.kind === 'found' ? { version: reading.version, ...revealDocument(reading.document) } : reading.kind;

/** What every secrets store promises. Each test keeps to a label of its own. */
export function secretStoreContract(name: string, subject: () => SecretStoreUnderTest): void {
  const store = () => subject().store;
  const at = (label: string) => toCredentialPath(subject().tenant, `deployments/${label}`);
  const put = async (path: CredentialPath, after: number, password: string, as: 'current' | 'pending' = 'current') =>
    written(await store().write(path, { document: toSecretDocument({ user: 'app', password }), after, as }));
  const state = async (path: CredentialPath): Promise<SecretState | string> => {
    const reading = await store().state(path);
    return reading.kind === 'found' ? reading.state : reading.kind;
  };
  const uidOf = async (path: CredentialPath): Promise<string> => {
    const reading = await store().state(path);
    return reading.kind === 'found' ? reading.uid : reading.kind;
  };
  const destroy = (path: CredentialPath, version: number) => destroyVersion(store(), path, version);

  describe(`${name} versions`, () => {
    it('are missing before the first write', async () => {
      expect(await store().read(at('nothing'))).to.deep.equal({ kind: 'missing' });
      expect(await store().read(at('nothing'), 1)).to.deep.equal({ kind: 'missing' });
      expect(await store().state(at('nothing'))).to.deep.equal({ kind: 'missing' });
      expect(await store().promote(at('nothing'), 1)).to.deep.equal({ kind: 'missing' });
    });

    it('rise by one, stay readable, and the highest is current', async () => {
      expect(await put(at('rise'), 0, 'first')).to.equal(1);
      expect(await put(at('rise'), 1, 'second')).to.equal(2);

      expect(shown(await store().read(at('rise')))).to.deep.equal({ version: 2, user: 'app', password: 'second' });
      expect(shown(await store().read(at('rise'), 1))).to.deep.equal({ version: 1, user: 'app', password: 'first' });
      expect(await store().read(at('rise'), 3)).to.deep.equal({ kind: 'missing' });
      expect(await state(at('rise'))).to.deep.equal({ last: 2, current: 2, previous: 1 });
    });

    it('return every character of a value unchanged', async () => {
      const value = '\u0001 "quoted" \\ \n\t – ✓ 🗝 {{secret.a.b}} %2e%2e ='.repeat(20);
      await store().write(at('text'), { document: toSecretDocument({ value }), after: 0, as: 'current' });
      expect(shown(await store().read(at('text')))).to.deep.equal({ version: 1, value });
    });

    it('can be listed by the names of their keys, without values', async () => {
      await put(at('names'), 0, 'x');
      expect(await readKeyNames(store(), at('names'))).to.deep.equal({
        kind: 'found',
        version: 1,
        keys: ['password', 'user'],
      });
    });

    it('are separate for each tenant, namespace and label', async () => {
      await put(at('mine'), 0, 'x');
      expect(await store().read(toCredentialPath(subject().otherTenant, 'deployments/mine'))).to.have.property(
        'kind',
        'missing',
      );
      expect(await store().read(toCredentialPath(subject().tenant, 'resources/mine'))).to.have.property(
        'kind',
        'missing',
      );
      expect(await store().read(at('min'))).to.have.property('kind', 'missing');
    });
  });

  describe(`${name} compare-and-set`, () => {
    it('refuses a write based on an older version', async () => {
      expect(await put(at('cas'), 1, 'x')).to.equal('conflict');
      expect(await put(at('cas'), 0, 'x')).to.equal(1);
      expect(
        await store().write(at('cas'), { document: toSecretDocument({ a: 'y' }), after: 0, as: 'current' }),
      ).to.deep.equal({ kind: 'conflict', last: 1 });
      expect(await state(at('cas'))).to.deep.equal({ last: 1, current: 1 });
    });

    it('accepts a repeated write and stores it once', async () => {
      expect(await put(at('again'), 0, 'x')).to.equal(1);
      expect(await put(at('again'), 0, 'x')).to.equal(1);
      expect(await state(at('again'))).to.deep.equal({ last: 1, current: 1 });
    });

    it('accepts exactly one of many concurrent writers', async () => {
      const outcomes = await Promise.all(Array.from({ length: 8 }, (_, n) => put(at('race'), 0, `writer ${n}`)));
      expect(outcomes.filter(outcome => outcome === 1)).to.have.length(1);
      expect(outcomes.filter(outcome => outcome === 'conflict')).to.have.length(7);
    });
  });

  describe(`${name} rotation`, () => {
    it('stages, promotes and retires a version', async () => {
      const path = at('rotate');
      await put(path, 0, 'old');
      expect(await put(path, 1, 'new', 'pending')).to.equal(2);
      expect(await state(path)).to.deep.equal({ last: 2, current: 1, pending: 2 });
      expect(shown(await store().read(path))).to.deep.include({ version: 1, password: 'old' });
      expect(shown(await store().read(path, 2))).to.deep.include({ version: 2, password: 'new' });

      expect(await store().promote(path, 2)).to.deep.equal({
        kind: 'promoted',
        state: { last: 2, current: 2, previous: 1 },
      });
      expect(shown(await store().read(path))).to.deep.include({ version: 2, password: 'new' });
      expect(shown(await store().read(path, 1))).to.deep.include({ version: 1, password: 'old' });

      expect(await destroy(path, 1)).to.deep.equal({ kind: 'destroyed' });
      expect(await state(path)).to.deep.equal({ last: 2, current: 2 });
      expect(await store().read(path, 1)).to.deep.equal({ kind: 'missing' });
      expect(await store().promote(path, 1)).to.deep.equal({ kind: 'missing' });
    });

    it('does each step once when it is repeated', async () => {
      const path = at('twice');
      await put(path, 0, 'old');
      for (let n = 0; n < 2; n++) expect(await put(path, 1, 'new', 'pending')).to.equal(2);
      expect(await state(path)).to.deep.equal({ last: 2, current: 1, pending: 2 });
      for (let n = 0; n < 2; n++) expect(await store().promote(path, 2)).to.have.property('kind', 'promoted');
      for (let n = 0; n < 2; n++) expect(await destroy(path, 1)).to.have.property('kind', 'destroyed');
      expect(await state(path)).to.deep.equal({ last: 2, current: 2 });
    });

    it('can be aborted before and after promotion', async () => {
      const path = at('abort');
      await put(path, 0, 'old');
      await put(path, 1, 'staged', 'pending');
      await destroy(path, 2);
      expect(await state(path)).to.deep.equal({ last: 2, current: 1 });

      expect(await put(path, 2, 'second try', 'pending')).to.equal(3);
      await store().promote(path, 3);
      await store().promote(path, 1);
      expect(await state(path)).to.deep.equal({ last: 3, current: 1, pending: 3 });
      await destroy(path, 3);
      expect(await state(path)).to.deep.equal({ last: 3, current: 1 });
      expect(shown(await store().read(path))).to.deep.include({ version: 1, password: 'old' });
    });

    it('stages the first version without making it current', async () => {
      const path = at('first');
      await put(path, 0, 'new', 'pending');
      expect(await state(path)).to.deep.equal({ last: 1, pending: 1 });
      expect(await store().read(path)).to.deep.equal({ kind: 'missing' });
      await store().promote(path, 1);
      expect(await state(path)).to.deep.equal({ last: 1, current: 1 });
    });
  });

  describe(`${name} destroy and delete`, () => {
    it('makes the previous version current again and never reuses a number', async () => {
      const path = at('undo');
      await put(path, 0, 'first');
      await put(path, 1, 'second');
      await destroy(path, 2);
      expect(shown(await store().read(path))).to.deep.include({ version: 1, password: 'first' });
      expect(await put(path, 1, 'second')).to.equal('conflict');
      expect(await put(path, 2, 'third')).to.equal(3);
    });

    it('leaves nothing to read after the only version is destroyed', async () => {
      const path = at('only');
      await put(path, 0, 'first');
      await destroy(path, 1);
      expect(await store().read(path)).to.deep.equal({ kind: 'missing' });
      expect(await state(path)).to.deep.equal({ last: 1 });
      expect(await put(path, 1, 'second')).to.equal(2);
    });

    it('succeeds for a missing version', async () => {
      expect(await destroy(at('absent'), 1)).to.deep.equal({ kind: 'destroyed' });
      expect(await store().delete(at('absent'))).to.deep.equal({ kind: 'destroyed' });
    });

    it('spares a credential that was made anew, whatever its versions are', async () => {
      const path = at('anew');
      await put(path, 0, 'first');
      const uid = await uidOf(path);
      await store().delete(path);
      await put(path, 0, 'again');
      await put(path, 1, 'staged', 'pending');
      expect(await uidOf(path)).not.to.equal(uid);
      expect(await store().destroy(path, 1, { uid })).to.deep.equal({ kind: 'destroyed' });
      expect(await store().promote(path, 2, { uid })).to.deep.equal({ kind: 'missing' });
      const document = toSecretDocument({ password: 'late' });
      expect(written(await store().write(path, { document, after: 2, as: 'pending', uid }))).to.equal('conflict');
      expect(await state(path)).to.deep.equal({ last: 2, current: 1, pending: 2 });
    });

    it('lists the credentials of a namespace, and those that are left after one was deleted', async () => {
      const [one, two] = [at('listed-one'), at('listed-two')];
      for (const path of [one, two]) await put(path, 0, 'first');
      const list = async () => {
        const listing = await store().list(one);
        return listing.kind === 'found' ? listing.labels.filter(label => label.startsWith('listed-')).toSorted() : [];
      };
      expect(await list()).to.deep.equal(['listed-one', 'listed-two']);
      await store().delete(two);
      expect(await list()).to.deep.equal(['listed-one']);
    });

    it('lets the next write start at version 1 after the credential is deleted', async () => {
      const path = at('delete');
      await put(path, 0, 'first');
      await put(path, 1, 'second');
      expect(await store().delete(path)).to.deep.equal({ kind: 'destroyed' });
      expect(await store().state(path)).to.deep.equal({ kind: 'missing' });
      expect(await store().read(path, 1)).to.deep.equal({ kind: 'missing' });
      expect(await put(path, 0, 'again')).to.equal(1);
      expect(await state(path)).to.deep.equal({ last: 1, current: 1 });
    });
  });

  describe(`${name} policy`, () => {
    it('forbids every operation on a path that is not granted', async () => {
      const { forbidden } = subject();
      expect(await store().read(forbidden)).to.deep.equal({ kind: 'forbidden' });
      expect(await store().state(forbidden)).to.deep.equal({ kind: 'forbidden' });
      expect(await put(forbidden, 0, 'x')).to.equal('forbidden');
      expect(await put(forbidden, 0, 'x', 'pending')).to.equal('forbidden');
      expect(await store().promote(forbidden, 1)).to.deep.equal({ kind: 'forbidden' });
      expect(await destroy(forbidden, 1)).to.deep.equal({ kind: 'forbidden' });
      expect(await store().delete(forbidden)).to.deep.equal({ kind: 'forbidden' });
      expect(await store().list(forbidden)).to.deep.equal({ kind: 'forbidden' });
    });
  });
}
