import { type ContainerDefaults, isContainerUser } from '../../crds/deployment/index.js';
import { parseCpu, parseMemory } from '../../crds/grammar/index.js';
import { InvalidSettingFault, type Settings } from './settings.js';

/** What containers get whose deployment does not say. A limit that cannot be parsed is a fault, never no limit. */
export function parseContainerDefaults(
  settings: Pick<
    Settings,
    | 'defaultCpuLimit'
    | 'defaultMemoryLimit'
    | 'defaultMemoryLimitPercent'
    | 'defaultUser'
    | 'defaultReadOnlyRootFilesystem'
  >,
): ContainerDefaults {
  const { defaultCpuLimit: cpu, defaultMemoryLimit: memory, defaultUser: user } = settings;
  const { defaultMemoryLimitPercent: memoryPercent } = settings;
  const demand = (key: string, isSound: boolean, form: string) => {
    if (!isSound) throw new InvalidSettingFault(`setting "${key}": must be ${form}, or empty`);
  };
  demand('defaultCpuLimit', cpu === '' || (parseCpu(cpu) ?? 0) > 0, 'an amount of cores such as 500m');
  demand('defaultMemoryLimit', memory === '' || (parseMemory(memory) ?? 0) > 0, 'an amount of bytes such as 512Mi');
  demand('defaultUser', user === '' || isContainerUser(user), 'a user such as 1000:1000');
  if (memoryPercent !== 0 && memoryPercent < 100) {
    throw new InvalidSettingFault('setting "defaultMemoryLimitPercent": must be at least 100, or 0 for no such limit');
  }
  return {
    ...(cpu && { cpu }),
    ...(memory && { memory }),
    ...(memoryPercent && { memoryPercent }),
    ...(user && { user }),
    ...(settings.defaultReadOnlyRootFilesystem && { readOnlyRootFilesystem: true }),
  };
}
