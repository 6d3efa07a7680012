import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { expect } from 'chai';

import { bundleDashboard } from '../../dashboard/bundle/bundle.js';
import { buildDemoImage, DockerdProcess, findFreePort, RegistryProcess } from '../../dev/processes/index.js';
import { skip, until } from '../../dev/testing/index.js';
import { createTestTerminal } from '../../pkg/terminal/terminal.testing.js';
import { run } from '../../pkg/cli/run.js';
import { clone } from '../../pkg/version/index.js';
import { DashboardPage, findChromium, launchChromium } from '../dashboard/browser.js';
import { ControlPlane } from '../lab/control-plane.js';
import { Fleet } from '../lab/fleet.js';
import { RotationClient, TenantClient, unwrap } from '../lab/tenant-client.js';

/** One way to break a deployment, and what its description must say: the cause, and what to do. */
interface BrokenDeployment {
  readonly name: string;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly says: readonly RegExp[];
  /** What its page in the dashboard says in the place of that, where it is drawn and not written. */
  readonly shows?: readonly RegExp[];
}

const SECRET = 'canary-of-a-user';
const shell = (line: string) => ({ entrypoint: ['/bin/sh', '-c'], command: [line] });
const checked = (line: string) => ({ type: 'exec', command: [line], interval: '1s', timeout: '10s', retries: 3 });

describe('a broken deployment', () => {
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let frozen: DockerdProcess;
  let listener: Server;
  let ports: { readonly held: number; readonly foreign: number };
  let image: string;
  let keeper: RegistryProcess;
  let images: { readonly secret: string; readonly foreign: string };

  before(async () => {
    const privatePort = await findFreePort();
    plane = await ControlPlane.start({
      MOORING_RESIDENCY_ENFORCEMENT: 'true',
      MOORING_REGISTRY_INSECURE: `127.0.0.1:${privatePort}`,
      MOORING_SECRETS_NAMESPACES: 'deployments,resources,registries',
    });
    fleet = await Fleet.start(plane);
    shop = await TenantClient.open(plane, 'shop');
    frozen = await DockerdProcess.start({ folder: join(plane.folder, 'frozen') });
    await fleet.enrol(shop.client, 'one', { 'mooring.io/country': 'DE' });
    await fleet.enrol(shop.client, 'two', { 'mooring.io/country': 'DE' });
    await fleet.enrol(shop.client, 'ice', {}, { engineHost: frozen.host });
    image = await fleet.image('1');
    const login = { username: 'robot', password: SECRET };
    keeper = await RegistryProcess.start({ folder: join(plane.folder, 'private'), port: privatePort, login });
    images = {
      secret: await buildDemoImage(keeper.address, { login }),
      foreign: await buildDemoImage(fleet.registry.address, { tag: 'foreign', isForeign: true }),
    };
    ports = { held: await findFreePort(), foreign: await findFreePort() };
    listener = createServer().listen(ports.foreign, '0.0.0.0');
    await breakAll();
  });
  after(async () => {
    listener?.close();
    if (frozen?.pid) process.kill(frozen.pid, 'SIGCONT');
    await keeper?.kill('SIGKILL');
    await fleet?.stop();
    await frozen?.destroy();
    await plane?.stop();
  });

  const ask = (method: 'POST' | 'PUT', path: string, body: object) => shop.client.request(method, path, { body });

  /** What the world looks like before anything is asked of it: some of it is broken only after the deployment was accepted. */
  async function breakAll(): Promise<void> {
    await ask('PUT', '/api/v1/secrets/deployments/partial', { values: { user: SECRET } });
    await ask('PUT', '/api/v1/secrets/deployments/rotated', { values: { user: 'first' } });
    const admin = plane.client(plane.access.adminToken);
    unwrap(await admin.request('PUT', `/api/v1/tenants/${shop.id}/quotas`, { body: { memory: 64 * 1024 ** 2 } }));
    await shop.apply({ name: 'holder', image, nodeId: 'one', ports: [{ containerPort: 8080, hostPort: ports.held }] });
    await shop.apply({ name: 'melting', image, nodeId: 'ice' });
    await shop.apply({
      name: 'rotates',
      image,
      nodeId: 'one',
      secrets: [{ name: 'DB', vault_path: 'deployments/rotated', anchor: 'process' }],
      ...shell('[ "$DB_user" = first ] || exit 9; while :; do sleep 1; done'),
    });
    await shop.reaches('melting', 'Running');
    await shop.reaches('rotates', 'Running');
    const rotation = new RotationClient(shop, 'rotates');
    await rotation.advance('stage', { values: { user: 'second' } });
    unwrap(await rotation.ask({ phase: 'promote' }));
    process.kill(frozen.pid!, 'SIGSTOP');
    await ask('POST', '/api/v1/nodes/two/drain', {});
    await fleet.registry.kill('SIGKILL');
    for (const { name, spec } of listBroken()) await shop.apply({ name, image, ...spec });
    await fleet.registry.restart();
  }

  function listBroken(): readonly BrokenDeployment[] {
    const on = { nodeId: 'one' };
    const inGermany = { residency: { country: 'DE' } };
    return [
      {
        name: 'exits',
        spec: { ...on, ...shell('echo "cannot find config.yaml" >&2; exit 3') },
        says: [/exit code 3/, /\| cannot find config\.yaml/, /correct the program, its command or its environment/],
      },
      {
        name: 'leaky',
        spec: {
          ...on,
          secrets: [{ name: 'DB', vault_path: 'deployments/partial', anchor: 'external' }],
          ...shell('echo "cannot connect as $DB_user"; exit 4'),
        },
        says: [
          /exit code 4/,
          /\| cannot connect as \[redacted\]/,
          /correct the program, its command or its environment/,
        ],
      },
      {
        name: 'ends',
        spec: { ...on, ...shell('exit 0') },
        says: [/exit code 0, as if its work were done/, /correct entrypoint or command/],
      },
      {
        name: 'hungry',
        spec: { ...on, ...shell('x=0123456789; while :; do x=$x$x; done'), resources: { limits: { memory: '16Mi' } } },
        says: [/out of memory \(limit 16Mi\)/, /raise resources\.limits\.memory/],
      },
      {
        name: 'no-entry',
        spec: { ...on, entrypoint: ['/bin/nope'] },
        says: [/\/bin\/nope/, /the image has no such program; correct entrypoint or command/],
      },
      {
        name: 'no-command',
        spec: { ...on, ...shell('nope') },
        says: [/exit code 127/, /nope: not found/, /correct entrypoint or command/],
      },
      {
        name: 'no-program',
        spec: { ...on, entrypoint: ['/www/index.html'] },
        says: [/permission denied/, /correct its mode in the image/],
      },
      {
        name: 'no-user',
        spec: { ...on, user: 'stranger' },
        says: [/stranger/, /set user to a number, or to a user that the image has/],
      },
      {
        name: 'read-only',
        spec: { ...on, readOnlyRootFilesystem: true, ...shell('echo 1 > /data; exit 1') },
        says: [/cannot write to the read-only root file system/, /write below \/tmp or \/run/],
      },
      {
        name: 'sick',
        spec: { ...on, healthCheck: checked('echo "no answer on 8080"; exit 7') },
        says: [/fails with exit code 7/, /\| no answer on 8080/, /correct the program, or healthCheck\.command/],
      },
      {
        name: 'slow-check',
        spec: { ...on, healthCheck: checked('sleep 60') },
        says: [/does not end within 10s/, /raise healthCheck\.timeout/],
      },
      {
        name: 'waits',
        spec: { dependsOn: [{ name: 'sick', condition: 'healthy' }] },
        says: [
          /waits for sick, which is not healthy/,
          /fails with exit code 7|health check/,
          /Fix the dependency that the message names: "moor describe deployment <dependency>"/,
        ],
      },
      {
        name: 'no-dependency',
        spec: { dependsOn: [{ name: 'nobody', condition: 'started' }] },
        says: [/waits for nobody, which does not exist/, /create it, or remove it from dependsOn/],
      },
      {
        name: 'no-tag',
        spec: { ...on, image: image.replace(/:1$/, ':2') },
        says: [/demo:2: the registry has no such image/, /push it, or check its name and tag/, /Next attempt: +\S/],
      },
      {
        name: 'no-registry',
        spec: { ...on, image: 'registry.invalid/mooring/demo:1' },
        says: [/registry\.invalid\/mooring\/demo:1: the registry/, /check its name|check it,|have it allowed/],
      },
      {
        name: 'no-secret',
        spec: { ...on, secrets: [{ name: 'DB', vault_path: 'deployments/absent', anchor: 'external' }] },
        says: [/deployments\/absent/, /moor secrets write/],
      },
      {
        name: 'no-key',
        spec: {
          ...on,
          secrets: [{ name: 'DB', vault_path: 'deployments/partial', anchor: 'external' }],
          composedSecrets: { URL: 'x://{{secret.partial.password}}' },
        },
        says: [/password/, /moor secrets write/],
      },
      {
        name: 'no-country',
        spec: { placement: { residency: { country: 'FR' } } },
        says: [/requires country FR, the node reports country DE/, /Enrol a node there/],
      },
      { name: 'too-big', spec: { resources: { cpu: '640' } }, says: [/640000m cpu/, /Lower resources/] },
      {
        name: 'no-label',
        spec: { placement: { constraints: [{ key: 'disk', operator: 'In', values: ['ssd'] }] } },
        says: [/disk/, /ssd/, /Label the node in the configuration of its agent/],
      },
      {
        name: 'same-port',
        spec: { ...on, ports: [{ containerPort: 8080, hostPort: ports.held }] },
        says: [new RegExp(`${ports.held}/tcp`), /replica 0 of holder/, /Choose another hostPort/],
      },
      {
        name: 'foreign-port',
        spec: { ...on, ports: [{ containerPort: 8080, hostPort: ports.foreign }] },
        says: [new RegExp(`${ports.foreign}`), /stop it, or choose another hostPort/],
      },
      {
        name: 'apart',
        spec: {
          replicas: 2,
          placement: { ...inGermany, antiAffinity: { self: true, topologyKey: 'node' } },
        },
        says: [/1 of 2 replicas ready/, /one +anti_affinity/, /Enrol another node, ask for fewer replicas/],
        shows: [
          /1 of 2 replicas ready/,
          /must be apart from its other replicas by node: 1 of them on the node \(replica [01] of apart\)/,
          /Enrol another node, ask for fewer replicas/,
        ],
      },
      {
        name: 'beyond-quota',
        spec: { ...on, resources: { memory: '128Mi' } },
        says: [/quota/, /memory/, /Remove other deployments, or have the platform raise the quota/],
      },
      {
        name: 'private',
        spec: { ...on, image: images.secret },
        says: [
          /the registry requires a login/i,
          /registries\//,
          /Write host, username and password with "moor secrets"/,
        ],
      },
      {
        name: 'foreign',
        spec: { ...on, image: images.foreign },
        says: [/exec format error|another architecture/, /push (?:an image|one) for that of the node/],
      },
      {
        name: 'on-drained',
        spec: { nodeId: 'two' },
        says: [/two +ready +the node is draining/, /shows the state of each; "moor nodes undrain <node>" ends a drain/],
        shows: [/two the node is draining/, /shows the state of each; moor nodes undrain <node> ends a drain/],
      },
    ];
  }

  const describeDeployment = async (name: string): Promise<string> => {
    const terminal = createTestTerminal({ MOORING_SERVER: plane.server, MOORING_TOKEN: shop.token });
    await run(['describe', 'deployment', name], terminal);
    await pause(500); // some twenty of these run at once
    return terminal.printed.out;
  };

  /** Waits until the description says all of it; fails with the description. */
  async function expectDescribed(name: string, says: readonly RegExp[]): Promise<void> {
    let last = '';
    await until(`${name} to be described`, async () => {
      last = await describeDeployment(name);
      return says.every(text => text.test(last));
    }).catch(() => {
      const missing = says.filter(text => !text.test(last)).map(String);
      expect.fail(`the description of ${name} does not say ${missing.join(', ')}:\n${last}`);
    });
  }

  /** All of them: also what was broken after it had run. */
  const listAll = (): readonly Omit<BrokenDeployment, 'spec'>[] => [
    ...listBroken(),
    {
      name: 'melting',
      says: [
        /the container engine of node ice has not answered since/,
        /start it again/,
        /Not moved: +the deployment names/,
      ],
    },
    {
      name: 'rotates',
      says: [
        /rotated +waiting .*rotated is at promote, asked for at/,
        /it waits for healthy containers on the new version: 0 of 1 replicas of rotates/,
        /exit code 9/,
        /"moor rotate rotates --phase abort" returns to the old version/,
      ],
      // A container that ends at once may have been healthy for a moment, which completes the phase.
      shows: [/rotated waiting .*rotated is at promote, asked for at/, /it waits for/, /exit code 9/],
    },
  ];

  it('is described by one command with its cause and its remedy, whatever the cause', async () => {
    const broken = listAll();
    const outcomes = await Promise.allSettled(broken.map(({ name, says }) => expectDescribed(name, says)));
    const failures = outcomes.flatMap(each => (each.status === 'rejected' ? [String(each.reason)] : []));
    expect(failures.join('\n\n')).to.equal('');
    expect(broken.length).to.be.at.least(20);
    expect(JSON.stringify(await shop.show('leaky')), 'what a container printed of its secrets').to.not.include(SECRET);
  });

  it('is told from its page in the dashboard alone, whatever the cause', async function () {
    const executable = findChromium();
    if (executable === undefined) {
      return skip(this, 'there is no browser here (apt-get install chromium)');
    }
    await bundleDashboard(join(clone, 'dist', 'dashboard', 'assets'));
    const browser = await launchChromium(executable);
    try {
      const dashboard = await DashboardPage.open(browser);
      await dashboard.signIn(plane.server, shop.token);
      await dashboard.says('What is wrong');
      const failures: string[] = [];
      for (const { name, says, shows } of listAll()) {
        await dashboard.go(`#/deployments/${name}`);
        // Or the page before it would be read.
        await dashboard.page.getByRole('heading', { name, exact: true, level: 1 }).waitFor();
        failures.push(...(await dashboard.lacks(shows ?? says.map(toShown))).map(text => `${name}: ${text}`));
      }
      expect(failures.join('\n\n')).to.equal('');
      expect(await dashboard.readTraces()).to.not.include(SECRET);
    } finally {
      await browser.close();
    }
  });
});

/** A page has neither the bars before lines of output nor the quotation marks around commands. */
function toShown({ source }: RegExp): RegExp {
  return new RegExp(source.replaceAll('\\| ', '').replaceAll('"', ''));
}
