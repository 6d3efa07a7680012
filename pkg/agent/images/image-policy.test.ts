import { expect } from 'chai';

import { replica } from '../../link/dispatcher-lab.testing.js';
import { NodeLab } from '../node-lab.testing.js';

describe('the images of a node', () => {
  let lab: NodeLab;
  let pulled: string[];

  beforeEach(async () => {
    lab = new NodeLab();
    lab.resolve = name => Promise.resolve(name.startsWith('in') ? ['10.0.0.9'] : ['8.8.8.8']);
    lab.nodePolicy = { registries: { allow: [], insecure: ['insecure.test:5000'], default: '' } };
    pulled = [];
    const pull = lab.engine.pull.bind(lab.engine);
    lab.engine.pull = (image, login) => {
      pulled.push(image);
      return pull(image, login);
    };
    await lab.start();
    await lab.startAgent();
  });
  afterEach(async () => {
    await lab.stopAgent();
    lab.stop();
  });

  const run = async (image: string) => {
    await lab.assign(replica({ template: { image, secretsVersion: 0 } }));
    await lab.clock.pass(10_000);
    const { state, reason } = lab.report('rep_1') ?? {};
    return { state, reason, pulled };
  };

  for (const image of ['public.test/web:1', 'insecure.test:5000/web:1', 'web:1']) {
    it(`are pulled from an allowed registry: ${image}`, async () => {
      expect(await run(image)).to.deep.equal({ state: 'running', reason: undefined, pulled: [image] });
    });
  }

  for (const image of ['inside.test/web:1', `sha256:${'a'.repeat(64)}`, 'sha256:abcdef123456', 'a'.repeat(64)]) {
    it(`are never pulled against the policy: ${image}`, async () => {
      expect(await run(image)).to.deep.equal({ state: 'failed', reason: 'image_refused', pulled: [] });
    });
  }

  it('are not run against the policy when they are present', async () => {
    await lab.engine.pull('sha256:abcdef123456');
    pulled = [];
    expect(await run('sha256:abcdef123456')).to.deep.equal({ state: 'failed', reason: 'image_refused', pulled: [] });
    expect(lab.engine.containers).to.deep.equal([]);
  });
});
