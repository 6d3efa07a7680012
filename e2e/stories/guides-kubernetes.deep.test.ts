import { copyFileSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { expect } from 'chai';

import { FakeKubernetes } from '../../dev/kubernetes/index.js';
import { findFreePort } from '../../dev/processes/index.js';
import type { Development } from '../../up/home/home.js';
import type { StagedBlock } from '../lab/guide.js';
import { GuideStack } from '../lab/guide-stack.js';
import { findKubectl } from '../lab/kubectl.js';
import type { PageShell } from '../lab/page-shell.js';

const TENANT = '0b5c3a52-8d0e-4a53-9d0c-4f3c6b6f2a10';
const SERVER = 'https://mooring.example.org:7070';
const kubectl = findKubectl();
const toTls = (server: string) => server.replace(/^http:/, 'https:');

describe('the commands of the guides of Kubernetes, from their pages, on a stand-in of a cluster', function () {
  if (kubectl === undefined) {
    it('skipped: there is no kubectl here (install it, or name one with MOORING_KUBECTL)');
    return;
  }
  let stack: GuideStack;
  let cluster: FakeKubernetes;
  let development: Development;

  before(async () => {
    cluster = await new FakeKubernetes({ graceful: ['pods'] }).start();
    stack = new GuideStack();
    stack.start(1);
    development = stack.read('dev.json');
  });
  after(async () => {
    stack?.stop();
    await cluster?.stop();
  });

  /** A kubeconfig by a name, which is that of kubectl too. */
  const signIn = async (shell: PageShell, name: string) => {
    const path = join(shell.cwd, name);
    const config = {
      'current-context': 'c',
      clusters: [{ name: 'c', cluster: { server: cluster.url, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'c', user: {} }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }],
    };
    writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
    await shell.run(`export KUBECONFIG=${path}; kubectl() { ${kubectl} "$@"; }`);
  };
  /** Starts what a reader leaves running, and goes on when a command succeeds. */
  const leaveRunning = async ({ commands, shell }: StagedBlock, until: string) => {
    await shell.run(`(exec env ${commands.trim()}) >left.log 2>&1 & left=$!`);
    await shell.run(`tries=0
until ${until}; do
  tries=$((tries + 1))
  if [ $tries -gt 300 ] || ! kill -0 $left; then cat left.log; exit 1; fi
  sleep 0.2
done`);
  };

  it('how-to/kubernetes-bridge.md', async () => {
    const metrics = `127.0.0.1:${await findFreePort()}`;
    const find = () =>
      cluster.objects.find({ group: 'mooring.io', version: 'v1', plural: 'deployments', namespace: 'team' }, 'web');
    const printed = await stack.run('how-to/kubernetes-bridge.md', {
      replacements: {
        [TENANT]: development.tenant.id,
        [SERVER]: toTls(development.server),
        '127.0.0.1:7076': metrics,
        'registry.example.com/shop/web:1.4.2': '127.0.0.1:7071/mooring/demo:1.0.0',
      },
      around: {
        'kubectl apply -f crds': async ({ run, shell }) => {
          await signIn(shell, 'team.kubeconfig');
          symlinkSync(resolve('crds'), join(shell.cwd, 'crds'));
          await run();
        },
        '--metrics-listen': async block => {
          copyFileSync(development.caFile!, join(block.shell.cwd, 'ca.pem'));
          await block.shell.run(
            'kubectl -n team create secret generic database --from-literal=password=known --dry-run=client -o json | kubectl -n team apply -f -',
          );
          await leaveRunning(block, 'moor secrets list | grep resources/database');
          expect(await (await fetch(`http://${metrics}/metrics`)).text()).to.match(
            /^mooring_loop_leader\{.*"bridge".*\} 1$/m,
          );
        },
        '"op":"remove"': async ({ run, shell }) => {
          expect(find()?.metadata.finalizers).to.deep.equal(['mooring.io/bridge']);
          await shell.run('moor status web --until-ready --timeout 3m; kill $left; wait $left');
          await run();
          expect(find()).to.equal(undefined);
          await shell.run('moor get deployments web');
        },
      },
    });
    expect(printed).to.match(/Type: +Synced/);
  });

  it('how-to/kubernetes-engine.md', async () => {
    const [, manifests] = /^```yaml\n(.*?)^```$/ms.exec(readFileSync('docs/how-to/kubernetes-engine.md', 'utf8'))!;
    const printed = await stack.run('how-to/kubernetes-engine.md', {
      replacements: { [SERVER]: `${toTls(development.server)} --state-dir ./agent` },
      around: {
        'kubectl apply': async ({ run, shell }) => {
          await signIn(shell, 'kubeconfig');
          writeFileSync(join(shell.cwd, 'mooring-node.yaml'), manifests!);
          await run();
        },
        'moor agent': async block => {
          const token = block.shell.printed
            .trim()
            .split('\n')
            .find(line => line.startsWith('mjn_'))!;
          const commands = block.commands.replace('…', token);
          await leaveRunning({ ...block, commands }, `moor get nodes | grep 'cluster-1 *ready'`);
        },
      },
    });
    expect(printed)
      .to.match(/^Engine: +kubernetes /m)
      .and.match(/^CPU: +16 of 16 cores/m)
      .and.match(/^Lacks: /m);
  });
});
