import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { clone } from '../pkg/version/index.js';
import { listRuntimePackages, type RuntimePackage } from './runtime-packages.js';

/** An npm registry on loopback with the packages that this clone was installed with, made from the installed folders. */
export class LoopbackRegistry {
  readonly #server: Server;
  readonly #packages = listRuntimePackages();
  /** What was asked for and is not here: npm also asks for what packages do without. */
  readonly missing: string[] = [];

  private constructor() {
    this.#server = createServer((request, response) => {
      const path = decodeURIComponent(request.url ?? '');
      const tarball = this.#packages.find(each => path === `/-/${each.name}/${each.version}.tgz`);
      const versions = this.#packages.filter(({ name }) => path === `/${name}`);
      if (tarball) {
        const tar = spawn(
          'tar',
          [
            '-C',
            join(clone, tarball.path),
            '--exclude=./node_modules',
            '--transform=s,^\\.,package,',
            '-czf',
            '-',
            '.',
          ],
          { stdio: ['ignore', 'pipe', 'inherit'] },
        );
        tar.stdout.pipe(response);
      } else if (versions.length > 0) {
        response.setHeader('content-type', 'application/json').end(JSON.stringify(this.#describe(versions)));
      } else {
        const isOptional = this.#packages.some(each => each.optionalPeers.includes(path.slice(1)));
        if (!isOptional) this.missing.push(path);
        response.writeHead(404).end();
      }
    });
  }

  static async start(): Promise<LoopbackRegistry> {
    const registry = new LoopbackRegistry();
    await new Promise<void>(resolve => registry.#server.listen(0, '127.0.0.1', resolve));
    return registry;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise(resolve => this.#server.close(resolve));
  }

  #describe(versions: readonly RuntimePackage[]): unknown {
    const [{ name, version: latest } = { name: '', version: '' }] = versions;
    const manifests = versions.map(({ version, path }) => {
      const manifest = JSON.parse(readFileSync(join(clone, path, 'package.json'), 'utf8')) as object;
      return [version, { ...manifest, dist: { tarball: `${this.url}/-/${name}/${version}.tgz` } }];
    });
    return { name, 'dist-tags': { latest }, versions: Object.fromEntries(manifests) as unknown };
  }
}
