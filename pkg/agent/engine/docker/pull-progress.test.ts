import { expect } from 'chai';

import { PullCounter } from './pull-progress.js';

const downloading = (id: string, current: unknown, total: unknown) => ({
  id,
  status: 'Downloading',
  progressDetail: { current, total },
});

describe('what the engine says of a pull', () => {
  const after = (...lines: readonly unknown[]) => {
    const counter = new PullCounter();
    return lines.map(line => counter.take(line)).at(-1);
  };

  it('is summed up over the layers that arrive', () => {
    const lines = [
      { status: 'Pulling from mooring/demo', id: '1' },
      { status: 'Already exists', progressDetail: {}, id: 'aa' },
      { status: 'Pulling fs layer', progressDetail: {}, id: 'bb' },
      downloading('bb', 10, 100),
      downloading('cc', 20, 300),
      downloading('bb', 60, 100),
    ];
    expect(after(...lines)).to.deep.equal({ receivedBytes: 80, totalBytes: 400 });
    expect(after(...lines, { status: 'Download complete', progressDetail: {}, id: 'bb' })).to.deep.equal({
      receivedBytes: 120,
      totalBytes: 400,
    });
    expect(
      after(...lines, { status: 'Extracting', id: 'bb', progressDetail: { current: 1, total: 100 } }),
    ).to.deep.equal({ receivedBytes: 80, totalBytes: 400 });
  });

  it('never falls when a layer begins anew, and is nothing while no size is known', () => {
    expect(after(downloading('bb', 60, 100), downloading('bb', 5, 100))).to.deep.equal({
      receivedBytes: 60,
      totalBytes: 100,
    });
    expect(after({ status: 'Pulling fs layer', id: 'bb' })).to.equal(undefined);
    expect(after({ status: 'Download complete', id: 'bb' })).to.equal(undefined);
  });

  it('counts no layer as whole before it is, and goes on where a download broke off', () => {
    const broken = [
      downloading('bb', 60, 100),
      downloading('bb', 100, 100),
      { status: 'Retrying in 5 seconds', progressDetail: {}, id: 'bb' },
    ];
    expect(after(...broken)).to.deep.equal({ receivedBytes: 60, totalBytes: 100 });
    const resumed = [...broken, downloading('bb', 10, 35)];
    expect(after(...resumed)).to.deep.equal({ receivedBytes: 75, totalBytes: 100 });
    const ended = { status: 'Download complete', progressDetail: {}, id: 'bb' };
    expect(after(...resumed, ended)).to.deep.equal({ receivedBytes: 100, totalBytes: 100 });
  });

  for (const odd of [null, 7, [], {}, downloading('bb', -1, 5), downloading('bb', 1, 1e300), downloading('bb', '1', 2)])
    it(`is not confused by ${JSON.stringify(odd)}`, () => {
      expect(after(odd)).to.equal(undefined);
      expect(after(odd, { status: 'Downloading', id: 'x', progressDetail: null })).to.equal(undefined);
      expect(after(odd, downloading('cc', 1, 2))).to.deep.equal({ receivedBytes: 1, totalBytes: 2 });
    });
});
