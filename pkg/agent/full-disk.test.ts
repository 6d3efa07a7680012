import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import { LAB_NODE, LAB_TENANT, replica } from '../link/dispatcher-lab.testing.js';
import { silentLogger } from '../log/index.js';
import { value } from '../store/index.js';
import { createMemoryDisk } from './disk.js';
import { NodeLab } from './node-lab.testing.js';
import { StateFolder } from './state-folder.js';

const MINUTE = 60_000;

describe('an agent whose state folder is full', () => {
  let lab: NodeLab;
  let isFull: boolean;
  let refused: number;
  beforeEach(async () => {
    lab = new NodeLab();
    isFull = false;
    refused = 0;
    const write = lab.disk.write.bind(lab.disk);
    lab.disk.write = async (name, text) => {
      if (!isFull || text === '') return write(name, text); // most full disks take a file of nothing
      refused++;
      const message = `ENOSPC: no space left on device, write '/var/lib/mooring/.${name}'`;
      throw Object.assign(new Error(message), { code: 'ENOSPC' });
    };
    await lab.start();
    await lab.startAgent();
  });
  afterEach(async () => {
    await lab.stopAgent();
    lab.stop();
  });

  const run = async () => {
    await lab.assign(replica());
    await lab.clock.pass(2_000);
    expect(lab.running).to.deep.equal(['web running']);
  };
  const findCondition = () =>
    value<StoredNode>(lab.cache.get(keys.node(LAB_TENANT, LAB_NODE.name))!).conditions?.find(
      ({ type }) => type === 'StateFolderWritable',
    );

  it('starts a container again that has ended, and counts it', async () => {
    await run();
    isFull = true;
    lab.engine.crash(lab.engine.containers[0]!.id, 1);
    await lab.clock.pass(2 * MINUTE);
    expect(refused).to.be.greaterThan(0);
    expect(lab.running).to.deep.equal(['web running']);
    expect(lab.report('rep_1')).to.include({ state: 'running', restarts: 1 });
  });

  it('removes what is to go, and says so: that may be what makes room', async () => {
    await run();
    lab.engine.crash(lab.engine.containers[0]!.id, 1);
    await lab.clock.pass(MINUTE);
    isFull = true;
    await lab.assign(replica({ retiringSince: 'now' }));
    await lab.clock.pass(2 * MINUTE);
    expect(lab.running).to.deep.equal([]);
    expect(lab.report('rep_1')?.state).to.equal('removed');
  });

  it('is a node also after a restart, though what it knew of its engine is gone', async () => {
    await run();
    await lab.stopAgent();
    isFull = true;
    lab.files.delete('engine.json');
    await lab.startAgent();
    await lab.clock.pass(MINUTE);
    lab.engine.crash(lab.engine.containers[0]!.id, 1);
    await lab.clock.pass(MINUTE);
    expect(lab.report('rep_1')).to.include({ state: 'running', restarts: 1 });
  });

  it('renews its token once, not again and again', async () => {
    const renew = lab.wire.renew.bind(lab.wire);
    let renewals = 0;
    lab.wire.renew = request => {
      renewals++;
      return renew(request);
    };
    isFull = true;
    await lab.clock.pass(23 * 60 * MINUTE);
    expect(renewals).to.equal(1);
  });

  it('starts no attempt of a job of which it could not remember that, and says why', async () => {
    isFull = true;
    await lab.assign(replica({ deployment: 'job.migrate', deploymentUid: 'job_1', once: {} }));
    await lab.clock.pass(MINUTE);
    expect(lab.running).to.deep.equal(['job.migrate.0 created']);
    const { reason, message } = lab.report('rep_1')!;
    expect(reason).to.equal('state_folder_unwritable');
    expect(message)
      .to.match(/ENOSPC.*free some disk space/)
      .and.not.include('/var/lib');

    isFull = false;
    await lab.clock.pass(2 * MINUTE);
    expect(lab.running).to.deep.equal(['job.migrate.0 running']);
  });

  it('is told of by a condition of the node, and everything is on disk once there is room', async () => {
    await run();
    expect(findCondition()).to.equal(undefined);
    isFull = true;
    lab.engine.crash(lab.engine.containers[0]!.id, 1);
    await lab.clock.pass(MINUTE);
    expect(findCondition()).to.include({ status: 'False', reason: 'state_folder_unwritable' });
    expect(lab.files.get('restarts.json') ?? '').not.to.include('"rep_1":1');

    isFull = false;
    await lab.clock.pass(2 * MINUTE);
    expect(findCondition()).to.equal(undefined);
    expect(lab.files.get('restarts.json')).to.include('"rep_1":1');
  });

  it('is told of also when the agent has nothing to write, and for as long as it is full', async () => {
    isFull = true;
    for (let round = 0; round < 3; round++) {
      await lab.clock.pass(2 * MINUTE);
      expect(findCondition()).to.include({ status: 'False', reason: 'state_folder_unwritable' });
    }
    isFull = false;
    await lab.clock.pass(2 * MINUTE);
    expect(findCondition()).to.equal(undefined);
    expect([...lab.files.keys()]).not.to.include('probe');
  });
});

describe('a state folder', () => {
  it('ends with the newest text of a file, though an earlier write takes longer', async () => {
    const files = new Map<string, string>();
    const disk = createMemoryDisk(files);
    let isFirst = true;
    const write = async (name: string, text: string) => {
      const waits = isFirst;
      isFirst = false;
      if (waits) await new Promise(resolve => setImmediate(resolve));
      files.set(name, text);
    };
    const state = new StateFolder({ ...disk, write }, silentLogger);
    await Promise.all(['one', 'two', 'three'].map(text => state.keep('file', text)));
    expect(files.get('file')).to.equal('three');
  });
});
