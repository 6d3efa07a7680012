import { setTimeout as delay } from 'node:timers/promises';

import { expect } from 'chai';

import { type LogFields, type Logger, silentLogger } from '../../log/index.js';
import { storeContract } from '../store.contract.js';
import type { StoreUnderTest } from '../store.testing.js';
import { EtcdLab } from './etcd-lab.testing.js';
import { EtcdStore, checkEtcdVersion } from './etcd-store.js';

describe('EtcdStore', () => {
  let lab: EtcdLab;
  let subject: StoreUnderTest;

  before(async () => {
    lab = await EtcdLab.start();
    subject = {
      store: lab.direct(),
      pass: async ms => {
        await delay(ms);
      },
      compact: revision => lab.compact(revision),
    };
  });

  after(() => lab.stop());

  storeContract('etcd', () => subject);

  it('says which members there are, and with which version', async () => {
    const store = new EtcdStore({ endpoints: [lab.etcd.endpoint], prefix: '/inspect/' });
    const { version, members, alarms, databaseBytes } = await store.inspect();
    await store.close();
    expect(version).to.match(/^3\.\d+\.\d+/);
    expect(members.map(({ clientUrls }) => clientUrls)).to.deep.equal([[lab.etcd.endpoint]]);
    expect(alarms).to.deep.equal([]);
    expect(databaseBytes).to.be.above(0);
  });

  it('logs the version of etcd when it connects, and warns of a version with known defects', async () => {
    const lines: [level: string, fields: LogFields | undefined][] = [];
    const log: Logger = {
      ...silentLogger,
      info: (_message, fields) => lines.push(['info', fields]),
      warn: (_message, fields) => lines.push(['warn', fields]),
    };
    const store = new EtcdStore({ endpoints: [lab.etcd.endpoint], prefix: '/version/', log });
    await store.reportVersion();
    await store.close();

    const [[level, fields] = []] = lines;
    const version = fields?.version ?? '';
    expect(version).to.match(/^3\.\d+\.\d+/);
    expect([level, fields?.because]).to.deep.equal([
      checkEtcdVersion(version) ? 'warn' : 'info',
      checkEtcdVersion(version),
    ]);
  });
});
