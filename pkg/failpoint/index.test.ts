import { spawnSync } from 'node:child_process';

import { expect } from 'chai';

import { toScriptArguments } from '../../dev/testing/index.js';
import {
  arm,
  failpoint,
  FailpointFault,
  type FailpointName,
  FailpointSyntaxFault,
  observeFailpoints,
} from './index.js';

const door = new URL('./index.js', import.meta.url).href;

describe('failpoints', () => {
  let disarm = () => undefined as void;
  afterEach(() => disarm());

  it('do nothing unless they are armed', () => {
    disarm = arm('agent.created=error');
    failpoint('agent.started');
    disarm();
    failpoint('agent.created');
  });

  it('act once, at the pass that their arming names', () => {
    disarm = arm('agent.created=error@2,agent.started=error');
    failpoint('agent.created');
    expect(() => failpoint('agent.created')).to.throw(FailpointFault);
    failpoint('agent.created');
    expect(() => failpoint('agent.started')).to.throw(FailpointFault);
  });

  it('are told of to one who observes them, armed or not, until that is over', () => {
    const passed: FailpointName[] = [];
    const stop = observeFailpoints(name => passed.push(name));
    disarm = arm('agent.started=error');
    failpoint('agent.created');
    expect(() => failpoint('agent.started')).to.throw(FailpointFault);
    stop();
    failpoint('agent.stopped');
    expect(passed).to.deep.equal(['agent.created', 'agent.started']);
  });

  it('kill the process whose environment arms them, before its next instruction', () => {
    const script = `
      const { failpoint } = await import(${JSON.stringify(door)});
      failpoint('rotation.raised');
      process.stdout.write('first ');
      failpoint('rotation.raised');
      process.stdout.write('second');`;
    const { signal, stdout, stderr } = spawnSync(process.execPath, toScriptArguments(script), {
      encoding: 'utf8',
      env: { ...process.env, MOORING_FAILPOINTS: 'rotation.raised=kill@2' },
    });
    expect({ signal, stdout }).to.deep.equal({ signal: 'SIGKILL', stdout: 'first ' });
    expect(stderr).to.include('rotation.raised');
  });

  for (const text of ['nowhere=kill', 'agent.created', 'agent.created=explode', 'agent.created=kill@0']) {
    it(`are not armed by "${text}"`, () => {
      expect(() => arm(text)).to.throw(FailpointSyntaxFault);
    });
  }
});
