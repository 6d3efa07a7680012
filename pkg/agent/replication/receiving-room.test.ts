import { expect } from 'chai';

import { until } from '../../../dev/testing/index.js';
import { arm, type FailpointName } from '../../failpoint/index.js';
import { MemoryDriver } from './memory-driver.testing.js';
import { type LabNode, LabNodes, listCopies, pairUp, untilCopied, V } from './replication-lab.testing.js';

const SIZE = 2 ** 20;
/** Two of them do not fit into the volume. */
const fill = (letter: string) => letter.repeat(0.7 * SIZE);

describe('room for a copy that does not fit beside the one before', () => {
  const nodes = new LabNodes();
  let disarm = () => undefined as void;
  let a: LabNode;
  let b: LabNode;
  let onA: MemoryDriver;
  let onB: MemoryDriver;

  beforeEach(async () => {
    [onA, onB] = [new MemoryDriver(), new MemoryDriver()];
    onB.sizeBytes = SIZE;
    [a, b] = [await nodes.start('node_a', onA), await nodes.start('node_b', onB)];
  });
  afterEach(async () => {
    disarm();
    await nodes.close();
  });

  it('is made by growing the volume, until the copy is here', async () => {
    const { onB: replica } = await pairUp(a, b);
    onA.write(V, fill('a'));
    await untilCopied(fill('a'), onB);
    onA.write(V, fill('b'));
    await until('more room', () => onB.sizeBytes === 2 * SIZE);
    expect((await b.replication.describe(replica)).syncedEpoch, 'the one before counts meanwhile').to.equal(1);
    await untilCopied(fill('b'), onB);
    await until('no more room', () => !b.replication.isGrown(V));
  });

  it('is made of the copy before where the node has none, as the primary has everything', async () => {
    onB.sizeMax = SIZE;
    await pairUp(a, b);
    onA.write(V, fill('a'));
    await untilCopied(fill('a'), onB);
    onA.write(V, fill('b'));
    await untilCopied(fill('b'), onB);
    expect(onB.steps.filter(step => step.startsWith('receive')).at(-1), 'everything was sent').not.to.contain('after');
  });

  it('is made also after a crash in the middle of that', async () => {
    onB.sizeMax = SIZE;
    const { onB: replica } = await pairUp(a, b);
    onA.write(V, fill('a'));
    await untilCopied(fill('a'), onB);
    const point: FailpointName = 'volume.copy_given_up';
    disarm = arm(`${point}=error`);
    onA.write(V, fill('b'));
    await until('it counts no more', async () => (await b.replication.describe(replica)).syncedAt === undefined);
    await untilCopied(fill('b'), onB);
  });

  it('is not made of a copy beside which something was set aside: everything may not fit either', async () => {
    onB.sizeMax = SIZE;
    await b.assign('primary', 1, []);
    onB.write(V, 'x'.repeat(0.1 * SIZE));
    const replica = await b.assign('replica', 1, [a.asPeer]);
    const primary = await a.assign('primary', 1, [b.asPeer]);
    onA.write(V, fill('a'));
    await until('a copy', () => listCopies(onB).includes(fill('a')));
    onA.write(V, fill('b'));
    const tell = async () => (await a.replication.describe(primary)).copies?.[0]?.message;
    await until('refused', async () => (await tell())?.includes('no space left') === true);
    expect(listCopies(onB)).to.include(fill('a'));
    expect(await b.replication.describe(replica)).to.include({ syncedEpoch: 1 });
  });
});
