import { seededRandom } from '../../clock/index.js';
import { ManualClock } from '../../clock/manual-clock.testing.js';
import { engineContract } from './engine.contract.js';
import { SimulatedEngine } from './simulated-engine.js';

engineContract('simulated', () => {
  const clock = new ManualClock();
  const engine = new SimulatedEngine({
    clock,
    random: seededRandom(1),
    usage: () => ({ cpuNanos: clock.monotonic() * 1_000, memory: 2 ** 20 }),
    registryHasImage: image => !image.includes('absent'),
  });
  return Promise.resolve({
    engine,
    image: 'registry.test/demo:1',
    absentImage: 'registry.test/absent:1',
    away: async () => engine.setReachable(false),
    back: async () => engine.setReachable(true),
    pass: ms => clock.pass(ms),
    close: () => engine.close(),
  });
});
