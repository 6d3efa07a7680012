import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';
import { parse } from 'yaml';

import { findFreePort } from '../../dev/processes/index.js';
import { until } from '../../dev/testing/index.js';
import { type Settings, toEnvironment } from '../../pkg/config/index.js';
import { explainNoNamespaces, NamespaceNetwork } from '../cluster/network.js';
import { Child } from '../lab/child.js';
import { openGuideFolder, readGuideSettings, runGuide, type StagedBlock } from '../lab/guide.js';

const noNamespaces = explainNoNamespaces();

describe('the commands of the guide of three etcd members, from the page', () => {
  if (noNamespaces !== undefined) {
    it(`skipped: ${noNamespaces}`);
    return;
  }
  const place = openGuideFolder();
  const folder = place.cwd;
  let network: NamespaceNetwork;
  let server: Child | undefined;

  before(() => {
    network = new NamespaceNetwork(3);
  });
  after(async () => {
    await server?.kill('SIGTERM');
    network?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The address of the first machine without its last number, by which the others differ. */
  const here = () => network.addresses[0]!.replace(/1$/, '');

  /** Each machine has its own files, and runs the block with its own number. */
  const startMembers = async ({ commands, shell }: StagedBlock) => {
    for (const n of [1, 2, 3]) {
      const machine = join(folder, `machine-${n}`);
      mkdirSync(machine);
      for (const name of ['ca.pem', `etcd-${n}.pem`, `etcd-${n}.key`]) {
        copyFileSync(join(shell.cwd, 'certificates/etcd', name), join(machine, name));
      }
      writeFileSync(join(machine, 'start.sh'), commands.replace('n=1', `n=${n}`));
      await shell.run(
        `(cd ${machine} && exec ${network.commandPrefix(n - 1).join(' ')} sh -eu start.sh) >${machine}/log 2>&1 &`,
      );
    }
  };

  /** An API server with the settings of the page and with those that its commands have printed. */
  const serves = async (printed: string): Promise<boolean> => {
    const told = parse(printed.match(/^etcd(?:Ca|Cert|Key)File: .+$/gm)!.join('\n')) as Partial<Settings>;
    const { etcdEndpoints = [] } = readGuideSettings('how-to/three-etcd-members.md');
    const endpoints = etcdEndpoints.map(endpoint => endpoint.replace('10.0.0.', here()));
    const listen = `127.0.0.1:${await findFreePort()}`;
    server = new Child('server', {
      argv: ['--bootstrap-file', join(folder, 'access.json')],
      environment: {
        ...toEnvironment({ ...told, etcdEndpoints: endpoints }),
        MOORING_LISTEN: listen,
        MOORING_KEY_FILE: join(folder, 'keys'),
      },
      logFile: join(folder, 'server.log'),
    });
    server.start();
    const ready = async () => (await fetch(`http://${listen}/readyz`)).ok;
    return until('a server on the three members', ready, 120_000).catch((thrown: unknown) => {
      throw new Error(readFileSync(join(folder, 'server.log'), 'utf8').slice(-3_000), { cause: thrown });
    });
  };

  it('three members on three machines, and a server that uses them', async () => {
    const printed = await runGuide('how-to/three-etcd-members.md', place, {
      replacements: { '10.0.0.': here(), '/var/lib/etcd': 'data' },
      around: {
        'etcd --name': startMembers,
        'endpoint health': async ({ run, shell }) => {
          await run();
          expect(await serves(shell.printed)).to.equal(true);
        },
      },
    });
    for (const address of network.addresses) expect(printed).to.contain(`https://${address}:2379 is healthy`);
  });
});
