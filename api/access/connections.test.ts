import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';

import { expect } from 'chai';

import { loadSettings } from '../../pkg/config/index.js';
import { createMetrics } from '../../pkg/metrics/index.js';
import { anonymous, type Caller } from '../http/route.js';
import { ConnectionGate } from './connections.js';
import { Seats } from './seats.js';

describe('ConnectionGate', () => {
  const tenant: Caller = { ...anonymous, kind: 'tenant', id: 'tok_1', tenant: 't1' };
  const node: Caller = { ...anonymous, kind: 'node', id: 'tok_2', tenant: 't1' };
  let ports = 0;

  const createGate = (connectionsPerAddress: number, connectionsPerServer: number) => {
    const settings = { ...loadSettings({ environment: {} }).settings, connectionsPerAddress, connectionsPerServer };
    const gate = new ConnectionGate(new Seats(settings, createMetrics({ processMetrics: false })));
    return (remoteAddress: string, ...callers: readonly Caller[]) => {
      const socket = Object.assign(new EventEmitter(), {
        remoteAddress,
        remotePort: ++ports,
        isCut: false,
        destroy: () => {
          socket.isCut = true;
          socket.emit('close');
        },
      });
      gate.admit(socket as unknown as Socket);
      for (const caller of callers) gate.prove(socket as unknown as Socket, caller);
      return socket;
    };
  };
  const cuts = (sockets: readonly { readonly isCut: boolean }[]) => sockets.map(({ isCut }) => isCut);

  it('makes room at the limit of an address: for the oldest without a proof, then for the oldest of no node', () => {
    const open = createGate(3, 100);
    const held = [open('10.0.0.1', tenant), open('10.0.0.1', node), open('10.0.0.1')];
    const stranger = open('10.0.0.2');
    const first = open('10.0.0.1', tenant);
    expect(cuts([...held, first])).to.deep.equal([false, false, true, false]);
    const second = open('10.0.0.1', node);
    expect(cuts([...held, first, second])).to.deep.equal([true, false, true, false, false]);
    expect(cuts([open('10.0.0.1', node), first, second, held[1]!])).to.deep.equal([false, true, false, false]);
    expect(cuts([open('10.0.0.1'), stranger])).to.deep.equal([true, false]);
  });

  it('makes room at the limit of the server whatever tenants have proven, and never cuts what a node has proven', () => {
    const open = createGate(100, 3);
    const held = [open('10.0.0.1', node), open('10.0.0.2', tenant), open('10.0.0.3', tenant, node)];
    const agent = open('10.0.0.4', node);
    expect(cuts([...held, agent])).to.deep.equal([false, true, false, false]);
    expect(open('10.0.0.5').isCut).to.equal(true);
    agent.destroy();
    expect(open('10.0.0.5').isCut).to.equal(false);
  });

  it('keeps so many connections of one node, and not more', () => {
    const open = createGate(1_000, 130);
    const held = Array.from({ length: 130 }, () => open('10.0.0.1', node));
    expect(open('10.0.0.2').isCut).to.equal(false);
    expect(held.findIndex(({ isCut }) => isCut)).to.equal(128);
  });
});
