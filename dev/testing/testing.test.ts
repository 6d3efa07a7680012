import { expect } from 'chai';
import Mocha, { type Context } from 'mocha';

import { assertLinearCost, type CostedWork, skip, until } from './index.js';

const count = (steps: number) => {
  let total = 0;
  for (let step = 0; step < steps; step++) total += step % 7;
  return total;
};

const caught = (work: CostedWork<number>) =>
  assertLinearCost(work).then(
    () => undefined,
    (error: unknown) => String(error),
  );

describe('cost of work on hostile input', () => {
  const cases: readonly { name: string; work: CostedWork<number>; isRefused: boolean }[] = [
    { name: 'may be constant', work: { size: 4000, prepare: size => size, run: () => count(4000) }, isRefused: false },
    { name: 'may be in proportion', work: { size: 400_000, prepare: size => size, run: count }, isRefused: false },
    {
      name: 'may not grow with the square',
      work: { size: 2_400, prepare: size => size, run: size => count(size * size) },
      isRefused: true,
    },
    {
      name: 'may be spent after a wait',
      work: { size: 400_000, prepare: size => size, run: async size => (await Promise.resolve(), count(size)) },
      isRefused: false,
    },
  ];
  it('does not depend on how a text was put together', async () => {
    const size = 2 ** 20;
    const prepare = (length: number) => {
      const text = 'x'.repeat(length);
      return { text: length < size ? JSON.parse(JSON.stringify(text)) : text };
    };
    await assertLinearCost({ size, prepare, run: ({ text }) => Buffer.byteLength(text) });
  });

  it('is measured also of input that may not be changed', async () => {
    const prepare = (length: number) => Object.freeze({ text: 'x'.repeat(length) });
    await assertLinearCost({ size: 2 ** 16, prepare, run: ({ text }) => text.includes('y') });
  });

  for (const { name, work, isRefused } of cases) {
    it(name, async () => {
      const fault = await caught(work);
      if (isRefused) expect(fault).to.match(/grew \d.*-fold with each doubling/);
      else expect(fault).to.equal(undefined);
    });
  }
});

describe('waiting until something is true', () => {
  it('returns the first result that is one', async () => {
    let polls = 0;
    expect(await until('three polls', () => ++polls === 3 && 'done')).to.equal('done');
  });

  it('looks less often the longer it waits', async () => {
    let looks = 0;
    await until('nothing', () => ++looks === 0, 1_000).catch(() => undefined);
    expect(looks, 'a hundred, were all pauses as short as the first').to.be.at.most(60);
  });

  it('says what it waited for, and the last error, when it gives up', async () => {
    const failing = until('the moon', () => Promise.reject(new Error('behind clouds')), 1);
    const fault = await failing.catch((error: unknown) => error as Error);
    expect(fault).to.be.instanceOf(Error);
    expect(String(fault)).to.include('the moon');
    expect((fault as Error).cause).to.have.property('message', 'behind clouds');
  });
});

describe('what is skipped', () => {
  /** The titles of what a run leaves out: two tests, one of them in a suite of its own. */
  async function listSkipped(prepare: (suite: Mocha.Suite) => void, own: (this: Context) => void = () => undefined) {
    const mocha = new Mocha({ reporter: class extends Mocha.reporters.Base {} });
    prepare(mocha.suite);
    mocha.suite.addTest(new Mocha.Test('one', own));
    Mocha.Suite.create(mocha.suite, 'inner').addTest(new Mocha.Test('two', () => undefined));
    const titles: string[] = [];
    await new Promise(resolve => mocha.run(resolve).on('pending', test => titles.push(test.fullTitle())));
    return titles;
  }
  function leave(this: Context) {
    skip(this, 'no cat is here (apt-get install cat)');
  }
  const because = '(skipped: no cat is here (apt-get install cat))';

  it('says why in the title of each test', async () => {
    const both = [`one ${because}`, `inner two ${because}`];
    expect(await listSkipped(suite => suite.beforeAll(leave))).to.deep.equal(both);
    expect(await listSkipped(suite => suite.beforeEach(leave))).to.deep.equal(both);
    expect(await listSkipped(() => undefined, leave)).to.deep.equal(both.slice(0, 1));
  });
});
