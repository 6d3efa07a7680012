import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { buildDemoImage, RegistryProcess } from '../../dev/processes/index.js';
import { toEnvironment } from '../../pkg/config/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { type EnrolledMachine, Fleet } from '../lab/fleet.js';
import { type Directions, openGuideFolder, readGuideSettings, runGuide } from '../lab/guide.js';
import { noPostgres, PostgresProcess } from '../lab/postgres.js';
import { TenantClient } from '../lab/tenant-client.js';

const REGISTRY = 'registry.example.com:5000';
const login = { username: 'shop', password: 'known-to-the-registry' };

/** The host as it is in the path of a secret. */
const toLabel = (host: string) => host.replaceAll(/[^a-z0-9]/g, '-');

describe('the commands of guides that need another part, from their pages', () => {
  const place = openGuideFolder();
  const folder = place.cwd;
  let registry: RegistryProcess;
  let plane: ControlPlane;
  let fleet: Fleet;
  let machine: EnrolledMachine;
  let env: NodeJS.ProcessEnv;
  let image: string;

  before(async () => {
    registry = await RegistryProcess.start({ folder: join(folder, 'registry'), login });
    plane = await ControlPlane.start({
      ...toEnvironment(readGuideSettings('how-to/private-registry.md')),
      MOORING_REGISTRY_INSECURE: registry.address,
    });
    fleet = await Fleet.start(plane);
    const shop = await TenantClient.open(plane, 'shop');
    machine = await fleet.enrol(shop.client, 'shop-1');
    image = await fleet.image('1.0.0');
    env = { ...place.env, MOORING_SERVER: plane.server, MOORING_TOKEN: shop.token };
  });
  after(async () => {
    await fleet?.stop();
    await plane?.stop();
    await registry?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  const run = (file: string, { replacements = {}, around = {} }: Directions, more: NodeJS.ProcessEnv = {}) =>
    runGuide(
      file,
      { cwd: folder, env: { ...env, ...more } },
      { replacements: { '127.0.0.1:7071/mooring/demo:1.0.0': image, ...replacements }, around },
    );

  it('how-to/private-registry.md, with a registry that asks for a login', async () => {
    const stored = await buildDemoImage(registry.address, { tag: '1.0.0', login });
    await run('how-to/private-registry.md', {
      replacements: {
        [`${REGISTRY}/shop/web:1.0.0`]: stored,
        [REGISTRY]: registry.address,
        [toLabel(REGISTRY)]: toLabel(registry.address),
        'password: …': `password: ${login.password}`,
      },
    });
  });

  it('how-to/residency.md, with an agent that is started anew', async () => {
    const own = `--plain-http --name shop-1 --name-prefix shop-1- --state-dir ${fleet.folder('shop-1')}`;
    await run(
      'how-to/residency.md',
      {
        replacements: { 'https://mooring.example.org:7070': `${plane.server} ${own}` },
        around: {
          'moor agent': async ({ commands, shell }) => {
            await machine.agent.kill('SIGTERM');
            await shell.run(`${commands.trimEnd()} &`);
          },
        },
      },
      { DOCKER_HOST: fleet.engine.host },
    );
    machine.agent.start();
  });

  describe('how-to/rotate-a-database-password.md', () => {
    let database: PostgresProcess | undefined;

    before(async () => {
      if (noPostgres === undefined) database = await PostgresProcess.start();
    });
    after(() => database?.stop());

    /** Those with which a container could not log in to the database, of all that run. */
    const denied = async () => {
      const running = await fleet.view.running('shop');
      // One that has ended meanwhile logs in no more.
      const known = await Promise.all(running.map(({ id }) => fleet.view.environment(id).catch(() => undefined)));
      const users = known.flatMap(each => (each ? [each] : []));
      const answers = await Promise.all(
        users.map(each => database!.letsIn(each['DB_username']!, each['DB_password']!)),
      );
      return users.filter((_, at) => !answers[at]).map(each => each['DB_username']);
    };

    /** Runs a block while every container logs in again and again. */
    const watched = async (work: () => Promise<void>) => {
      let isRunning = true;
      const watching = (async () => {
        do expect(await denied()).to.deep.equal([]);
        while (isRunning);
      })();
      await Promise.all([work().finally(() => (isRunning = false)), watching]);
    };

    const file = 'how-to/rotate-a-database-password.md';
    const leaveOut = () => Promise.resolve();

    if (noPostgres !== undefined) {
      it(`what is said to a database (skipped: ${noPostgres})`);
      it('without what is said to a database', () =>
        run(file, {
          around: { 'CREATE ROLE': leaveOut, 'ALTER ROLE shop_b': leaveOut, 'ALTER ROLE shop_a': leaveOut },
        }));
      return;
    }

    it('with a database in which every container can log in at every moment', async () => {
      const directions: Directions = {
        around: {
          'ALTER ROLE shop_b': ({ run: next }) => watched(next),
          'moor rotate shop --phase promote': ({ run: next }) => watched(next),
          'ALTER ROLE shop_a': async ({ run: next }) => {
            expect(await database!.letsIn('shop_a', 'the-first-one')).to.equal(true);
            await watched(next);
            expect(await database!.letsIn('shop_a', 'the-first-one')).to.equal(false);
          },
        },
      };
      await run(file, directions, { ...database!.environment, PATH: `${folder}/bin:${database!.environment['PATH']}` });
    });
  });
});
