import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

import { expect } from 'chai';

import { findFreePort, isFreePort } from '../../dev/processes/index.js';
import { type HeldSocket, HeldSockets } from './held-sockets.js';
import { startOnPort } from '../parts/program.js';

/** Answers every connection with its number, on the socket that it inherits. */
const SERVER = `
  const server = require('node:net').createServer(socket => socket.end(process.argv[1]));
  server.listen({ fd: 3 }, () => process.stdout.write('listening'));
`;

describe('HeldSockets', function () {
  this.timeout(60_000);

  const sockets = new HeldSockets();
  const children: ChildProcess[] = [];
  afterEach(async () => {
    sockets.release('part');
    for (const child of children.splice(0)) await kill(child);
  });

  const serve = async (number: string, { handle }: HeldSocket): Promise<ChildProcess> => {
    const child = spawn(process.execPath, ['-e', SERVER, number], { stdio: ['ignore', 'pipe', 'inherit', handle] });
    children.push(child);
    await once(child.stdout!, 'data');
    return child;
  };
  const kill = async (child: ChildProcess) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  const ask = async (port: number): Promise<string> => {
    const socket = connect(port, '127.0.0.1');
    const [data] = await once(socket, 'data');
    return String(data);
  };

  it('keep a port taken while its part is restarted, and lose no connection', async () => {
    const held = await sockets.hold('part', []);
    await kill(await serve('1', held));

    expect(await isFreePort(held.port)).to.equal(false);
    const waiting = ask(held.port);
    await serve('2', await sockets.hold('part', []));
    expect(await waiting).to.equal('2');
  });

  it('take the first wanted port that is free', async () => {
    const [taken, free] = [await findFreePort(), await findFreePort()];
    const other = createServer().listen(taken, '127.0.0.1');
    await once(other, 'listening');

    expect((await sockets.hold('part', [0, taken, free])).port).to.equal(free);
    other.close();
  });

  it('are given up for others when another program listens first', async () => {
    const wanted = await findFreePort();
    const script = `require('node:net').createServer().listen(${wanted}, '127.0.0.1', () => process.stdout.write('listening'))`;
    const tried: number[] = [];

    await startOnPort(
      async () => (await sockets.hold('part', [wanted])).port,
      async port => {
        if (tried.push(port) > 1) return;
        const other = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
        children.push(other);
        await once(other.stdout!, 'data');
        sockets.release('part');
        throw new Error('listen EADDRINUSE');
      },
    );

    expect(tried)
      .to.have.length(2)
      .and.satisfy(([first, second]: number[]) => first === wanted && second !== wanted);
  });

  it('are kept when what was started there failed by itself', async () => {
    const failed = new Error('no settings');
    const start = startOnPort(
      async () => (await sockets.hold('part', [])).port,
      () => Promise.reject(failed),
    );

    expect(await start.catch((thrown: unknown) => thrown)).to.equal(failed);
  });

  it('give a port back', async () => {
    const { port } = await sockets.hold('part', []);
    sockets.release('part');

    expect(await isFreePort(port)).to.equal(true);
  });
});
