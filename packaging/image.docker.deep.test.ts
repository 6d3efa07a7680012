import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { expect } from 'chai';
import { Agent, request } from 'undici';

import { bundleDashboard } from '../dashboard/bundle/bundle.js';
import { DockerdProcess } from '../dev/processes/index.js';
import { clone, programArguments, readProductVersion } from '../pkg/version/index.js';

const TOOLS = ['sh', 'cat', 'dirname', 'readlink', 'env'];

describe('the image of server and controllers', function () {
  this.timeout(300_000);

  const lab = mkdtempSync(join(tmpdir(), 'mooring-image-'));
  let engine: DockerdProcess | undefined;
  let dispatcher: Agent;

  const ask = async (path: string, body?: unknown, type = 'application/json'): Promise<string> => {
    const answer = await request(`http://engine${path}`, {
      method: path.includes('/logs') ? 'GET' : 'POST',
      dispatcher,
      headers: { 'content-type': type },
      headersTimeout: 0,
      bodyTimeout: 0,
      body: body as never,
    });
    return answer.body.text();
  };
  const pack = (folder: string) =>
    spawn('tar', ['-C', folder, '-cf', '-', '.'], { stdio: ['ignore', 'pipe', 'inherit'] });

  before(async () => {
    const assets = join(clone, 'dist', 'dashboard', 'assets');
    await bundleDashboard(assets);
    engine = await DockerdProcess.start({ folder: join(lab, 'engine') });
    dispatcher = new Agent({ connect: { socketPath: engine.host.slice('unix://'.length) } });
    stageNode(join(lab, 'base'));
    await ask(
      '/images/create?fromSrc=-&repo=node-of-this-machine&tag=1',
      pack(join(lab, 'base')).stdout,
      'application/x-tar',
    );
    execFileSync(process.execPath, [...programArguments('packaging/stage-image.ts'), join(lab, 'context')]);
    const buildargs = encodeURIComponent(JSON.stringify({ NODE_IMAGE: 'node-of-this-machine:1' }));
    const context = pack(join(lab, 'context')).stdout;
    const built = await ask(`/build?t=mooring:test&buildargs=${buildargs}`, context, 'application/x-tar');
    expect(built).to.contain('Successfully tagged');
  });

  after(async () => {
    await dispatcher?.destroy();
    await engine?.destroy();
    rmSync(lab, { recursive: true, force: true });
  });

  it('runs both programs, as a user that may write to its state folder and nowhere else', async () => {
    const script = `moor --version; moor server --help | busybox grep -o 'Usage: moor server'; moor controllers --help | busybox grep -o 'Usage: moor controllers'
busybox id -u; busybox touch keys && echo kept; busybox touch /usr/lib/mooring/x 2>/dev/null || echo refused`;
    const Entrypoint = ['/bin/busybox', 'sh', '-c'];
    const options = {
      Image: 'mooring:test',
      Tty: true,
      HostConfig: { NetworkMode: 'none' },
      Entrypoint,
      Cmd: [script],
    };
    const { Id } = JSON.parse(await ask('/containers/create', JSON.stringify(options))) as { Id: string };
    await ask(`/containers/${Id}/start`);
    await ask(`/containers/${Id}/wait`);
    const printed = await ask(`/containers/${Id}/logs?stdout=1&stderr=1`);
    expect(printed.trim().split('\r\n')).to.deep.equal([
      readProductVersion(),
      'Usage: moor server',
      'Usage: moor controllers',
      '10001',
      'kept',
      'refused',
    ]);
  });
});

/** Node of this machine, its libraries and a shell, as a file system of an image. */
function stageNode(root: string): void {
  const place = (source: string, path = source) => {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    copyFileSync(source, join(root, path));
  };
  place(process.execPath, 'usr/bin/node');
  place('/bin/busybox', 'bin/busybox');
  for (const tool of TOOLS) symlinkSync('busybox', join(root, 'bin', tool));
  symlinkSync('../../bin/busybox', join(root, 'usr/bin/env'));
  const libraries = execFileSync('ldd', [process.execPath], { encoding: 'utf8' }).matchAll(/(\/\S+) \(0x/g);
  for (const [, path] of libraries) place(path!);
  mkdirSync(join(root, 'tmp'));
}
