import { expect } from 'chai';

import type { HealthCheck } from '../../../../crds/deployment/index.js';
import { readOwner, toLabels, toNotes } from '../ownership-labels.js';
import { type HealthConfig, buildHealthConfig } from './docker-container.js';

describe('health check for the engine', () => {
  const cases: ReadonlyArray<{ name: string; given: Omit<HealthCheck, 'type'>; config: HealthConfig }> = [
    {
      name: '[2.3.5] gives one element to the shell',
      given: { command: ['wget -q -O- localhost'] },
      config: { Test: ['CMD-SHELL', 'wget -q -O- localhost'] },
    },
    {
      name: '[2.3.6] passes several elements as they are',
      given: { command: ['/bin/check', '--fast now'] },
      config: { Test: ['CMD', '/bin/check', '--fast now'] },
    },
    {
      name: '[2.3.8 2.3.12 8.3 8.4] leaves retries and timeout to the runtime where they are omitted',
      given: { command: ['true'], interval: '5s' },
      config: { Test: ['CMD-SHELL', 'true'], Interval: 5_000_000_000 },
    },
    {
      name: 'counts time in nanoseconds',
      given: { command: ['true'], interval: '5s', timeout: '1m30s', startPeriod: '250ms', retries: 4 },
      config: {
        Test: ['CMD-SHELL', 'true'],
        Interval: 5_000_000_000,
        Timeout: 90_000_000_000,
        StartPeriod: 250_000_000,
        Retries: 4,
      },
    },
  ];

  for (const { name, given, config } of cases) {
    it(name, () => expect(buildHealthConfig({ type: 'exec', ...given })).to.deep.equal(config));
  }
});

describe('the owner of a container', () => {
  const owner = {
    nodeId: 'node_1',
    tenant: 'shop',
    deployment: 'web',
    deploymentUid: 'u',
    replica: 'rep_1',
    slot: 0,
    generation: 3,
    templateHash: 'h',
  };

  it('is found again in its labels, with the volumes that it writes to', () => {
    for (const each of [owner, { ...owner, restoreEpoch: 2 }, { ...owner, writes: ['vol_1', 'vol_2'] }]) {
      expect(readOwner(toLabels(each))).to.deep.equal(each);
    }
  });

  it('is found again with the versions of its secrets, also where labels take no path', () => {
    const given = { ...owner, secretVersions: { 'deployments/web-db': 3, 'resources/key': 12 } };
    expect(readOwner({ ...toLabels(given), ...toNotes(given) })).to.deep.equal(given);
    expect(readOwner(toLabels(given), toNotes(given))).to.deep.equal(given);
    for (const label of Object.values(toLabels(given))) expect(label).to.match(/^[\w.-]*$/);
  });
});
