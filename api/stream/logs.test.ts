import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';

import { expect } from 'chai';

import { ManualClock } from '../../pkg/clock/manual-clock.testing.js';
import type { LogLine } from '../../pkg/link/index.js';
import { LogRendezvous } from './logs.js';

const NODE = { tenant: 't', id: 'node_1', name: 'n1' };
const LINE = {
  stream: 'stdout',
  text: 'one\n',
  at: '1763239738.000000042',
  position: 'c1:stdout:1763239738.000000042:1',
};

describe('LogRendezvous', () => {
  const hostile: readonly unknown[] = [
    null,
    7,
    [],
    {},
    { ...LINE, stream: 'both' },
    { ...LINE, text: 7 },
    { ...LINE, at: 'never' },
    { ...LINE, position: {} },
    { ...LINE, begin: { removedAt: 7 } },
    { ...LINE, begin: null },
    { ...LINE, end: ['complete'] },
  ];
  for (const document of hostile) {
    it(`ends a stream in which an agent sends ${JSON.stringify(document)}, and drops its connection`, async () => {
      const rendezvous = new LogRendezvous(new ManualClock());
      const arrival = rendezvous.await('log_1', NODE.id, 1_000);
      const body = new PassThrough();
      const delivered = rendezvous.deliver('log_1', NODE, body as unknown as IncomingMessage);
      for (const each of [{ stream: 'stdout', text: '', begin: {} }, LINE, document, LINE]) {
        body.write(`${JSON.stringify(each)}\n`);
      }
      const source = await arrival;
      if (typeof source === 'string') throw new Error(source);
      const texts: LogLine['text'][] = [];
      for await (const { text } of source.lines) texts.push(text);
      expect(texts).to.deep.equal(['', 'one\n']);
      expect(body.destroyed).to.equal(true);
      await delivered;
    });
  }
});
