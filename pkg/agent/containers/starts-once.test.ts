import { expect } from 'chai';

import { keys } from '../../../crds/keys/index.js';
import type { StoredNode } from '../../../crds/node/index.js';
import { LAB_TENANT, replica } from '../../link/dispatcher-lab.testing.js';
import { readValue } from '../../store/index.js';
import { NodeLab } from '../node-lab.testing.js';

describe('an engine that starts each container once', () => {
  let lab: NodeLab;
  beforeEach(async () => {
    lab = new NodeLab({ startsOnce: true, lacks: ['host_ports', 'networks'] });
    await lab.start();
    await lab.startAgent();
  });
  afterEach(async () => {
    await lab.stopAgent();
    lab.stop();
  });

  it('gets a new container in the place of one that has ended, with the back-off of a restart', async () => {
    await lab.assign(replica());
    await lab.clock.pass(1_000);
    const ids = new Set<string>();
    for (let end = 1; end <= 3; end++) {
      const [container] = lab.engine.containers;
      ids.add(container!.id);
      lab.engine.crash(container!.id, end);
      expect(lab.running).to.deep.equal(['web exited']);
      await lab.clock.pass(10_000);
      expect(lab.running, `after end ${end}`).to.deep.equal(['web running']);
      expect(lab.report('rep_1')).to.include({ state: 'running', restarts: end });
    }
    ids.add(lab.engine.containers[0]!.id);
    expect(ids.size, 'each start is of another container').to.equal(4);
  });

  it('has its first container replaced at once', async () => {
    await lab.assign(replica());
    await lab.clock.pass(1_000);
    lab.engine.crash(lab.engine.containers[0]!.id, 1);
    await lab.clock.pass(100);
    expect(lab.running).to.deep.equal(['web running']);
  });

  it('is said to lack what it cannot do', async () => {
    await lab.clock.pass(10_000);
    const node = readValue<StoredNode>(lab.cache, keys.node(LAB_TENANT, 'n1'));
    expect(node?.lacks).to.deep.equal(['host_ports', 'networks']);
  });
});
