import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';

import { admitCreate } from '../../crds/deployment/admit.js';
import { exampleFacts, limits, listFaults } from '../../crds/deployment/admit.testing.js';
import { useCommandLab } from './command-lab.testing.js';
import { convertInspection } from './convert/inspect.js';
import type { TestTerminal } from '../terminal/terminal.testing.js';

const IMAGE = 'registry.example.com/shop/web:1.4.2';
const PASSWORD = 'correct-horse-battery';

const image = {
  Id: `sha256:${'a'.repeat(64)}`,
  RepoTags: ['registry.example.com/shop/web:latest'],
  RepoDigests: [`registry.example.com/shop/web@sha256:${'b'.repeat(64)}`],
  Config: { Env: ['PATH=/bin', 'LANG=C'], Cmd: ['serve'], Labels: { maker: 'us' }, WorkingDir: '/srv' },
};
const container = {
  Id: 'c0ffee112233',
  Name: '/web_front',
  Image: image.Id,
  Config: {
    Hostname: 'c0ffee112233',
    Image: 'registry.example.com/shop/web',
    Env: ['PATH=/bin', 'LANG=C', 'PRICE=$5', `DB_PASSWORD=${PASSWORD}`],
    Cmd: ['serve'],
    WorkingDir: '/data',
    Labels: { maker: 'us', team: 'shop', 'com.docker.compose.project': 'x' },
    Healthcheck: { Test: ['CMD-SHELL', 'curl -f http://127.0.0.1/$X'], Interval: 5e9, Timeout: 3e9, Retries: 3 },
    StopTimeout: 30,
  },
  HostConfig: {
    Memory: 512 * 2 ** 20,
    NanoCpus: 250_000_000,
    PidsLimit: 100,
    ShmSize: 64 * 2 ** 20,
    CapAdd: ['NET_ADMIN'],
    NetworkMode: 'shop_default',
    RestartPolicy: { Name: 'unless-stopped' },
    PortBindings: {
      '80/tcp': [
        { HostIp: '0.0.0.0', HostPort: '8080' },
        { HostIp: '::', HostPort: '8080' },
      ],
      '53/udp': [{ HostIp: '127.0.0.1', HostPort: '5353' }],
    },
  },
  Mounts: [{ Type: 'bind', Source: '/srv/html', Destination: '/html' }],
};

describe('moor init', () => {
  const lab = useCommandLab();
  const file = () => join(lab.folder, 'web.yaml');
  const init = (words: readonly string[], more: Partial<TestTerminal> = {}) =>
    lab.moor(['init', ...words, '-f', file()], more);
  const read = (text = readFileSync(file(), 'utf8')) =>
    parseAllDocuments(text).map(each => each.toJS() as Record<string, unknown>);
  const expectAdmitted = (document: unknown) =>
    expect(listFaults(admitCreate(document, exampleFacts, limits))).to.deep.equal([]);
  const answering = (answers: readonly (string | undefined)[]) => {
    const asked: string[] = [];
    return { asked, ask: (question: string) => Promise.resolve(answers[asked.push(question) - 1]) };
  };

  it('asks, and asks again where an answer cannot be used', async () => {
    const { asked, ask } = answering(['web', IMAGE, '', '99999', '8080:80', 'many', '', 'curl -f "$URL"']);
    const { code, out, err } = await init([], { ask });
    expect([code, out]).to.deep.equal([0, `${file()} written\n`]);
    expect(asked.map(question => question.split(' ')[0])).to.deep.equal([
      'Image,',
      'Image,',
      'Name',
      'Port',
      'Port',
      'Replicas',
      'Replicas',
      'Command',
    ]);
    expect(err).to.contain('named with its version').and.to.contain('"99999" is no port');
    const [document, ...others] = read();
    expect([document, others.length]).to.deep.equal([
      {
        kind: 'Deployment',
        name: 'web',
        image: IMAGE,
        replicas: 1,
        ports: [{ containerPort: 80, hostPort: 8080 }],
        healthCheck: { type: 'exec', command: ['curl -f "$URL"'] },
      },
      0,
    ]);
    expect(lab.api.got.length).to.equal(0);
    expectAdmitted(document);
  });

  it('takes options, leaves credentials out and says so', async () => {
    const words = ['shop', '--image', IMAGE, '--port', '8080', '53/udp', '-e', 'A=$b', `DB_PASSWORD=${PASSWORD}`];
    const { code, err, out } = await init([...words, '--replicas', '2', '--cpu', '0.25', '--memory', '512m']);
    expect(err).to.match(/^environment: DB_PASSWORD holds a credential.*deployments\/shop/m);
    expect(out + err + readFileSync(file(), 'utf8')).not.to.contain(PASSWORD);
    const [document] = read();
    expect([code, document]).to.deep.equal([
      0,
      {
        kind: 'Deployment',
        name: 'shop',
        image: IMAGE,
        replicas: 2,
        ports: [{ containerPort: 8080 }, { containerPort: 53, protocol: 'udp' }],
        environment: { A: '$b' },
        resources: { cpu: '0.25', limits: { memory: '512Mi' } },
      },
    ]);
    expectAdmitted(document);
  });

  it('replaces nothing without --force', async () => {
    writeFileSync(file(), 'mine');
    expect((await init(['--image', IMAGE])).err).to.contain('exists already');
    const { asked, ask } = answering([IMAGE, 'web', '', '', '']);
    expect((await init([], { ask })).code, 'before more is asked').to.equal(2);
    expect([asked.length, readFileSync(file(), 'utf8')]).to.deep.equal([2, 'mine']);
    expect((await init(['--image', IMAGE, '--force'])).code).to.equal(0);
    expectAdmitted(read()[0]);
  });

  const refused: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['without a terminal or an image', [], /no answer can be read .*--image/],
    ['an image without a version', ['--image', 'web:latest'], /named with its version/],
    ['a name that none can have', ['Web_1', '--image', IMAGE], /a deployment is named by/],
    ['a port that there is not', ['--image', IMAGE, '--port', '0'], /"0" is no port/],
    ['an amount that is none', ['--image', IMAGE, '--memory', 'much'], /mem_limit is no amount/],
    ['cores that are none', ['--image', IMAGE, '--cpu', 'many'], /deploy is no number of cores/],
    ['options beside --inspect', ['--inspect', '-', '--image', IMAGE], /everything from containers/],
  ];
  for (const [what, words, says] of refused)
    it(`refuses ${what}, and writes nothing`, async () => {
      const { code, err } = await init(words);
      expect(err).to.match(says);
      expect(code).to.equal(2);
      expect(() => read()).to.throw('ENOENT');
    });

  it('makes a deployment of what docker inspect prints, without what the image brings', async () => {
    const readInput = () => Promise.resolve(JSON.stringify([container, image]));
    const { code, out, err } = await lab.moor(['init', '--inspect', '-', '-f', '-'], { readInput });
    expect(code).to.equal(0);
    const [document] = read(out);
    expect(document).to.deep.equal({
      kind: 'Deployment',
      name: 'web-front',
      image: image.RepoDigests[0],
      environment: { PRICE: '$5' },
      labels: { team: 'shop' },
      stopGracePeriod: '30s',
      healthCheck: {
        type: 'exec',
        command: ['curl -f http://127.0.0.1/$X'],
        interval: '5s',
        timeout: '10s',
        retries: 3,
      },
      ports: [
        { containerPort: 80, hostPort: 8080 },
        { containerPort: 53, hostPort: 5353, protocol: 'udp' },
      ],
      resources: { limits: { cpu: '0.25', memory: '512Mi', pids: 100 } },
    });
    expectAdmitted(document);
    for (const says of [
      /^web_front: is called web-front here/m,
      /^web_front\.environment: DB_PASSWORD holds a credential/m,
      /^web_front\.working_dir: has no counterpart/m,
      /^web_front\.ports: the address 127\.0\.0\.1 is left out/m,
      /^web_front\.volumes: \/srv\/html of the machine is not mounted at \/html/m,
      /^web_front\.networks: .*moor networks create/m,
      /^web_front\.cap_add: has no counterpart/m,
    ])
      expect(err).to.match(says);
    expect(err).not.to.contain('hostname').and.not.to.contain('shm_size').and.not.to.contain('restart');
    expect(out + err).not.to.contain(PASSWORD);
  });

  it('says what it cannot know without the image, and refuses what describes no container', async () => {
    const alone = convertInspection([container])!;
    expect(alone.notes[0]).to.deep.include({ field: 'web_front.image' });
    expect(alone.documents[0]).to.deep.include({ command: ['serve'], environment: { LANG: 'C', PRICE: '$5' } });
    for (const text of ['', `[${PASSWORD}`, JSON.stringify([image]), '7', '[null]']) {
      const { code, err } = await init(['--inspect', '-'], { readInput: () => Promise.resolve(text) });
      expect(err)
        .to.match(/is no JSON|no container is described/)
        .and.not.to.contain(PASSWORD);
      expect(code).to.equal(2);
    }
  });

  it('takes anything for a container without failing', () => {
    const odd = [null, true, -1, 'text', [], [null], {}, { a: null }, [{ HostPort: {} }]];
    for (const part of ['Config', 'HostConfig'] as const)
      for (const field of [...Object.keys(container[part]), 'Tmpfs', 'IpcMode', 'Ulimits', 'CpuQuota'])
        for (const value of odd) {
          const changed = { ...container, [part]: { ...container[part], [field]: value }, Mounts: value };
          expect(convertInspection([changed, { ...image, Config: value }]), `${part}.${field}`).to.have.property(
            'notes',
          );
        }
  });
});
