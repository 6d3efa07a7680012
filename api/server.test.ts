import { expect } from 'chai';

import { InvalidSettingFault } from '../pkg/config/index.js';
import { explainUnreachable, findInheritedSocket } from './server.js';

describe('the socket that a server inherits', () => {
  const own = String(process.pid);
  const environments: readonly [what: string, environment: Record<string, string>, found: number | undefined][] = [
    ['nothing was handed over', {}, undefined],
    ['the number of sockets is zero', { LISTEN_FDS: '0', LISTEN_PID: own }, undefined],
    ['systemd hands one over', { LISTEN_FDS: '1', LISTEN_PID: own }, 3],
    ['a supervisor that does not know the process id hands one over', { LISTEN_FDS: '1' }, 3],
    ['it was handed to another process', { LISTEN_FDS: '1', LISTEN_PID: '1' }, undefined],
  ];
  for (const [what, environment, found] of environments) {
    it(`is ${found ?? 'none'} when ${what}`, () => {
      expect(findInheritedSocket(environment)).to.equal(found);
    });
  }

  it('is refused when there are several', () => {
    expect(() => findInheritedSocket({ LISTEN_FDS: '2' })).to.throw(InvalidSettingFault, /LISTEN_FDS: must be 1/);
  });
});

describe('a server that listens at every address', () => {
  const advertise = 'https://mooring.example.org:7070';
  it('says what agents lack, unless it is told its own address', () => {
    for (const listen of ['0.0.0.0:7070', '[::]:7070']) {
      expect(explainUnreachable({ listen, advertise: '' }), listen).to.contain('"advertise"');
      expect(explainUnreachable({ listen, advertise }), listen).to.equal(undefined);
    }
    expect(explainUnreachable({ listen: '10.0.0.1:7070', advertise: '' })).to.equal(undefined);
  });
});
