import { expect } from 'chai';

import { checkHostPorts, findLocalPorts, HostPortReservedFault } from './host-ports.js';

describe('host ports of an agent', () => {
  const reserved = [
    { first: 2379, last: 2380 },
    { first: 7070, last: 7070 },
  ];
  const wanting = (...ports: readonly { containerPort: number; hostPort?: number }[]) => {
    const template = { image: 'a', ports: ports.map(port => ({ ...port, protocol: 'tcp' as const })) };
    return () => checkHostPorts({ template } as never, reserved);
  };

  it('are free when nothing of the platform listens there', () => {
    expect(wanting({ containerPort: 7070, hostPort: 8080 }, { containerPort: 2379 })).not.to.throw();
    expect(() => checkHostPorts({ template: { image: 'a' } } as never, reserved)).not.to.throw();
  });

  it('are refused when something of the platform listens there', () => {
    const message = 'host port 2380 is reserved on this node, as are all of 2379-2380, 7070; choose another one';
    expect(wanting({ containerPort: 80 }, { containerPort: 81, hostPort: 2380 })).to.throw(
      HostPortReservedFault,
      message,
    );
  });

  const addresses: readonly [url: string, ports: readonly number[]][] = [
    ['http://127.0.0.1:7070', [7070]],
    ['https://localhost:8443/', [8443]],
    ['http://[::1]:7070', [7070]],
    ['https://10.0.0.5', [443]],
    ['tcp://127.0.0.1:2375', [2375]],
    ['https://api.example.com', []],
    ['https://10.0.0.6:7070', []],
    ['unix:///var/run/docker.sock', []],
    ['no address', []],
  ];
  for (const [url, ports] of addresses) {
    it(`reserve the port of ${url} where it is this machine's`, () => {
      const found = findLocalPorts([url], ['127.0.0.1', '::1', '10.0.0.5']);
      expect(found).to.deep.equal(ports.map(port => ({ first: port, last: port })));
    });
  }
});
