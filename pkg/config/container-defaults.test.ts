import { expect } from 'chai';

import type { ContainerDefaults } from '../../crds/deployment/index.js';
import { parseContainerDefaults } from './container-defaults.js';
import { InvalidSettingFault, loadSettings } from './settings.js';

const parse = (environment: Readonly<Record<string, string>>) =>
  parseContainerDefaults(loadSettings({ environment }).settings);

describe('defaults of the platform for containers, as settings', () => {
  const accepted: readonly [environment: Readonly<Record<string, string>>, defaults: ContainerDefaults][] = [
    [{}, {}],
    [{ MOORING_DEFAULT_CPU_LIMIT: '500m' }, { cpu: '500m' }],
    [{ MOORING_DEFAULT_MEMORY_LIMIT: '512Mi' }, { memory: '512Mi' }],
    [{ MOORING_DEFAULT_MEMORY_LIMIT_PERCENT: '150' }, { memoryPercent: 150 }],
    [{ MOORING_DEFAULT_MEMORY_LIMIT_PERCENT: '100' }, { memoryPercent: 100 }],
    [{ MOORING_DEFAULT_USER: '1000:1000' }, { user: '1000:1000' }],
    [{ MOORING_DEFAULT_READ_ONLY_ROOT_FILESYSTEM: 'true' }, { readOnlyRootFilesystem: true }],
    [{ MOORING_DEFAULT_READ_ONLY_ROOT_FILESYSTEM: 'false' }, {}],
  ];
  for (const [environment, defaults] of accepted)
    it(`are ${JSON.stringify(defaults)} for ${JSON.stringify(environment)}`, () =>
      expect(parse(environment)).to.deep.equal(defaults));

  const refused: readonly [variable: string, text: string, setting: string][] = [
    ['MOORING_DEFAULT_CPU_LIMIT', 'much', 'defaultCpuLimit'],
    ['MOORING_DEFAULT_CPU_LIMIT', '0', 'defaultCpuLimit'],
    ['MOORING_DEFAULT_MEMORY_LIMIT', '512 MB', 'defaultMemoryLimit'],
    ['MOORING_DEFAULT_MEMORY_LIMIT', '0', 'defaultMemoryLimit'],
    ['MOORING_DEFAULT_MEMORY_LIMIT_PERCENT', '99', 'defaultMemoryLimitPercent'],
    ['MOORING_DEFAULT_MEMORY_LIMIT_PERCENT', '-1', 'defaultMemoryLimitPercent'],
    ['MOORING_DEFAULT_USER', 'root wheel', 'defaultUser'],
    ['MOORING_DEFAULT_USER', '1000:', 'defaultUser'],
  ];
  for (const [variable, text, setting] of refused)
    it(`are no limit that cannot be read: ${variable}=${text}`, () =>
      expect(() => parse({ [variable]: text })).to.throw(InvalidSettingFault, setting));
});
