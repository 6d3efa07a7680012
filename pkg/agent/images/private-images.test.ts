import { expect } from 'chai';

import { replica } from '../../link/dispatcher-lab.testing.js';
import { createMemoryDisk } from '../disk.js';
import type { ImageLogin, PullFailure } from '../engine/index.js';
import { NodeLab } from '../node-lab.testing.js';
import { PulledImages } from './pulled-images.js';

const IMAGE = 'registry.test/web:1';

describe('an image in a private registry', () => {
  let lab: NodeLab;
  let password: string;
  let pulls: (string | undefined)[];
  let answer: PullFailure;

  beforeEach(async () => {
    password = 'first';
    pulls = [];
    answer = 'denied';
    lab = new NodeLab({
      refusePull: (_, login: ImageLogin | undefined) => {
        pulls.push(login?.password.reveal());
        return login?.password.reveal() === password ? undefined : answer;
      },
    });
    await lab.start();
    await lab.startAgent();
  });
  afterEach(async () => {
    await lab.stopAgent();
    lab.stop();
  });

  const keep = (text: string) =>
    lab.keep('registry-test', { host: 'registry.test', username: 'robot', password: text }, 'registries');
  const assign = (uid: string, slot: number, image = IMAGE) =>
    lab.assign(replica({ uid, slot, template: { image, secretsVersion: 0 } }));
  const report = async (uid = 'rep_1') => {
    await lab.clock.pass(90_000);
    const { state, reason, message } = lab.report(uid) ?? {};
    return { state, reason, message };
  };

  it('is pulled with the login of the tenant, which is fetched anew for each pull', async () => {
    await keep('first');
    await assign('rep_1', 0);
    expect(await report()).to.include({ state: 'running' });
    expect(pulls).to.deep.equal([undefined, 'first']);

    await assign('rep_2', 1);
    expect(await report('rep_2')).to.include({ state: 'running' });
    expect(pulls, 'the node has pulled it already').to.have.length(2);

    password = 'second';
    await keep('second');
    await assign('rep_3', 2, 'registry.test/web:2');
    expect(await report('rep_3')).to.include({ state: 'running' });
    expect(pulls.slice(2)).to.deep.equal([undefined, 'second']);
    const files = await Promise.all((await lab.disk.list()).map(name => lab.disk.read(name)));
    expect(files.join()).not.to.contain('first').and.not.to.contain('robot');
  });

  it('fails with the secret that is looked for, and is pulled once that is written', async () => {
    await assign('rep_1', 0);
    const { state, reason, message } = await report();
    expect([state, reason]).to.deep.equal(['failed', 'image_login_required']);
    expect(message).to.contain('registries/registry-test');
    await keep('first');
    expect(await report()).to.include({ state: 'running' });
  });

  it('fails with another reason when the login is wrong', async () => {
    await keep('wrong');
    await assign('rep_1', 0);
    const { reason, message } = await report();
    expect(reason).to.equal('image_credential_refused');
    expect(message).to.contain('registries/registry-test').and.not.to.contain('wrong');
  });

  it('that the registry hides is looked for with the login too; without one it is not found', async () => {
    answer = 'not_found';
    await assign('rep_1', 0);
    expect(await report()).to.include({ reason: 'image_pull_failed' });
    await keep('first');
    expect(await report()).to.include({ state: 'running' });
  });

  it('is not run because it is present: the registry must deliver it to this node too', async () => {
    const other = { username: 'robot', password: { reveal: () => 'first' } } as unknown as ImageLogin;
    await lab.engine.pull(IMAGE, other);
    await assign('rep_1', 0);
    expect(await report()).to.include({ state: 'failed', reason: 'image_login_required' });
    expect(lab.engine.containers).to.deep.equal([]);
  });
});

describe('the images that a node has pulled', () => {
  it('are known by reference and id, after a restart too, and to no other node', async () => {
    const disk = createMemoryDisk();
    const images = await PulledImages.load(disk, 'node_1');
    await Promise.all([images.add('a:1', 'id 1'), images.add('b:1', 'id 2'), images.add('a:1', 'id 3')]);
    for (const each of [images, await PulledImages.load(disk, 'node_1')]) {
      expect([each.has('a:1', 'id 3'), each.has('a:1', 'id 1'), each.has('b:1', 'id 2')]).to.deep.equal([
        true,
        false,
        true,
      ]);
    }
    expect((await PulledImages.load(disk, 'node_2')).has('b:1', 'id 2')).to.equal(false);
    await disk.write('images.json', '{"nodeId":"node_1","ima');
    expect((await PulledImages.load(disk, 'node_1')).has('b:1', 'id 2')).to.equal(false);
  });

  it('are bounded', async () => {
    const disk = createMemoryDisk();
    const images = await PulledImages.load(disk, 'node_1');
    for (let at = 0; at < 1_010; at++) await images.add(`a:${at}`, 'id');
    expect([images.has('a:9', 'id'), images.has('a:10', 'id')]).to.deep.equal([false, true]);
  });
});
