import { type ContainerDefaults, isContainerUser } from '../../crds/deployment/index.js';
import { parseCpu, parseMemory } from '../../crds/grammar/index.js';
import { InvalidSettingFault, type Settings } from './settings.js';

/** What containers get whose deployment does not say. A limit that cannot be parsed is a fault, never no limit. */
export function parseContainerDefaults(
  settings: Pick<Settings, 'defaultCpuLimit' | 'defaultMemoryLimit' | 'defaultUser' | 'defaultReadOnlyRootFilesystem'>,
): ContainerDefaults {
  const { defaultCpuLimit: cpu, defaultMemoryLimit: memory, defaultUser: user } = settings;
  const demand = (key: string, isSound: boolean, form: string) => {
    if (!isSound) throw new InvalidSettingFault(`setting "${key}": must be ${form}, or empty`);
  };
  demand('defaultCpuLimit', cpu === '' || (parseCpu(cpu) ?? 0) > 0, 'an amount of cores such as 500m');
  demand('defaultMemoryLimit', memory === '' || (parseMemory(memory) ?? 0) > 0, 'an amount of bytes such as 512Mi');
  demand('defaultUser', user === '' || isContainerUser(user), 'a user such as 1000:1000');
  return {
    ...(cpu && { cpu }),
    ...(memory && { memory }),
    ...(user && { user }),
    ...(settings.defaultReadOnlyRootFilesystem && { readOnlyRootFilesystem: true }),
  };
}
