import { expect } from 'chai';

import { ManualClock } from '../clock/manual-clock.testing.js';
import { SecretMaterialFault } from './faults.js';
import { MemoryStore } from './memory-store.js';
import { encode } from './documents.js';

const clean = { name: 'DB', vault_path: 'deployments/web-db', anchor: 'process', rotation: 'restart' };
const given = { ...clean, values: { password: 'hunter2-hunter2' } };
const minted = { ...clean, generate: { keys: ['password'] } };

describe('the persist guard', () => {
  const refused: readonly [name: string, key: string, record: unknown, code: string, field: string][] = [
    ['values', 'deployments/t/web', { secrets: [given] }, 'secret_material_would_persist', 'secrets[0].values'],
    ['generate', 'deployments/t/web', { secrets: [minted] }, 'secret_generate_would_persist', 'secrets[0].generate'],
    [
      'empty values',
      'deployments/t/web',
      { secrets: [{ values: {} }] },
      'secret_material_would_persist',
      'secrets[0].values',
    ],
    [
      'values in an archive',
      'archives/t/u/1',
      { spec: { secrets: [clean, given] } },
      'secret_material_would_persist',
      'secrets[1].values',
    ],
    [
      'generate in a template',
      'replicas/t/web/0',
      { template: { secrets: [minted] } },
      'secret_generate_would_persist',
      'secrets[0].generate',
    ],
    ['values in a job', 'jobs/t/once', { secrets: [given] }, 'secret_material_would_persist', 'secrets[0].values'],
  ];
  for (const [name, key, record, code, field] of refused) {
    it(`refuses ${name}, names the place, and stores nothing`, async () => {
      const store = new MemoryStore({ clock: new ManualClock() });
      const change = { guards: [{ key, at: 0 }], puts: [{ key, bytes: encode(record) }], deletes: [] };

      const thrown: unknown = await store.commit(change).catch((error: unknown) => error);
      expect(thrown).to.be.instanceOf(SecretMaterialFault);
      const { rejection, message } = thrown as SecretMaterialFault;
      expect(rejection).to.include({ code, field });
      expect(JSON.stringify(rejection) + message).not.to.contain('hunter2');
      expect(await store.get(key)).to.equal(undefined);
    });
  }

  const passed: readonly [name: string, record: unknown][] = [
    ['references', { secrets: [clean] }],
    ['values of a constraint', { secrets: [clean], placement: { constraints: [{ values: ['ssd'] }] } }],
    ['a variable of that name', { environment: { values: 'x', generate: 'y' } }],
  ];
  for (const [name, record] of passed) {
    it(`lets ${name} through`, async () => {
      const store = new MemoryStore({ clock: new ManualClock() });
      const key = 'deployments/t/web';
      const change = { guards: [{ key, at: 0 }], puts: [{ key, bytes: encode(record) }], deletes: [] };
      expect((await store.commit(change)).stored).to.equal(true);
    });
  }
});
