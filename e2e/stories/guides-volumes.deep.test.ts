import { expect } from 'chai';

import { releaseFolders } from '../../dev/processes/index.js';
import { until } from '../../dev/testing/index.js';
import { EngineView } from '../lab/engine-view.js';
import { GuideStack } from '../lab/guide-stack.js';

interface Started {
  readonly process: { readonly pid: number };
  readonly facts: Readonly<Record<string, string>>;
}

describe('the commands of the guide of replicated volumes, from the page', () => {
  let stack: GuideStack;
  /** The process that starts agents again, while it is held. */
  let held: number | undefined;

  before(() => {
    stack = new GuideStack();
    stack.start(2);
  });
  after(() => {
    turnOn();
    stack.stop();
  });

  /** The machine of node-1 is off: its agent and its containers end, and nothing starts them again. What was written last is on no copy. */
  const turnOff = async () => {
    const view = new EngineView(stack.read<Started>('run', 'part-dockerd.json').facts['docker']!);
    held = stack.read<{ pid: number }>('run', 'supervisor.json').pid;
    process.kill(held, 'SIGSTOP');
    process.kill(stack.read<Started>('run', 'part-agent-1.json').process.pid, 'SIGKILL');
    const [writer] = await view.running('bookkeeper');
    const written = (await view.log(writer!.id)).length;
    await until('something that no copy has', async () => (await view.log(writer!.id)).length > written);
    await view.kill(writer!.id);
    await releaseFolders([`${stack.home}/agents/node-1`]);
  };

  const turnOn = () => {
    if (held !== undefined) process.kill(held, 'SIGCONT');
    held = undefined;
  };

  it('a machine is lost and comes back', async () => {
    const printed = await stack.run('how-to/replicated-volume.md', {
      around: {
        'moor nodes fence node-1': async ({ run }) => {
          await turnOff();
          await run();
        },
        'moor volumes divergent list': ({ run }) => {
          turnOn();
          return run();
        },
      },
    });
    expect(printed).to.match(/node-1 +divergent-1-[0-9a-f]{16} +1 /);
  });
});
