import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';

import { expect } from 'chai';

import { systemClock } from '../../pkg/clock/index.js';
import type { AgentDispatcher, AssignmentLine } from '../../pkg/link/index.js';
import { anonymous } from '../http/route.js';
import { AssignmentStreams } from './assignments.js';
import type { OpenStreams } from './open-streams.js';

describe('assignment streams', () => {
  it('end with their token, even while the agent has unread lines', () => {
    let line: (line: AssignmentLine) => void = () => undefined;
    let end: () => void = () => undefined;
    let tick: () => void = () => undefined;
    const left: string[] = [];
    const dispatcher = {
      assignments: (_: unknown, onLine: typeof line) => {
        line = onLine;
        return () => left.push('dispatcher');
      },
    } as unknown as AgentDispatcher;
    const streams = {
      add: (_: unknown, __: unknown, ends: typeof end) => {
        end = ends;
        return () => left.push('streams');
      },
    } as unknown as OpenStreams;
    const after = (_: number, fire: () => void) => {
      tick = fire;
      return () => undefined;
    };
    const out = new PassThrough();
    const lines = new AssignmentStreams({ dispatcher, streams, clock: { ...systemClock, after } });
    lines.open(
      { tenant: 't', id: 'node_1', name: 'n', run: { id: 'f'.repeat(16), ended: [] } },
      anonymous,
      out as unknown as ServerResponse,
    );
    line({ type: 'ping' });
    end();
    tick();

    expect(left).to.deep.equal(['dispatcher', 'streams']);
    expect(out.read()?.toString()).to.equal('{"type":"ping"}\n');
  });
});
