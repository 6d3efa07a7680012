import { expect } from 'chai';

import { Secret } from '../../../secrets/index.js';
import { type ContainerSpec, EngineRefusedFault, EngineUnsupportedFault } from '../engine.js';
import { readCapacity } from './capacity.js';
import { makePodOrder } from './kubernetes-lab.testing.js';
import { buildPod } from './pod.js';
import { readLogLines } from './pod-logs.js';
import { findImageId, type Pod, readPodStatus, readStart } from './pod-status.js';
import { parseQuantity } from './quantity.js';

const build = (change: Partial<ContainerSpec> = {}) =>
  buildPod(makePodOrder(change), { graceSeconds: 10, secret: 's' });

describe('the Pod of a container', () => {
  it('is restricted, not started, and restarted by nobody', () => {
    const { spec, metadata } = build({ user: '1000:2000' });
    expect(spec).to.deep.include({
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      schedulingGates: [{ name: 'mooring.io/start' }],
      terminationGracePeriodSeconds: 10,
      securityContext: {
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
        runAsUser: 1000,
        runAsGroup: 2000,
      },
    });
    expect(spec.containers[0]!.securityContext).to.deep.equal({
      allowPrivilegeEscalation: false,
      privileged: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: false,
    });
    expect(metadata.labels).to.include({ 'mooring.io/node': 'node_1', 'mooring.io/replica': 'rep_1' });
  });

  it('has nothing of a tenant replaced by the cluster', () => {
    const healthCheck = { type: 'exec', command: ['test $(cat /x)'] } as const;
    const [container] = build({ environment: { A: '$(B) $$' }, entrypoint: ['$(B)'], healthCheck }).spec.containers;
    expect(container!.env).to.deep.equal([{ name: 'A', value: '$$(B) $$$$' }]);
    expect(container!.command).to.deep.equal(['$$(B)']);
    expect(container!.readinessProbe!.exec.command).to.deep.equal(['/bin/sh', '-c', 'test $$(cat /x)']);
  });

  it('names its secrets, and holds no value of them', () => {
    const pod = build({ secrets: new Map([['DB_password', new Secret('canary-value')]]) });
    expect(pod.spec.containers[0]!.env).to.deep.equal([
      { name: 'DB_password', valueFrom: { secretKeyRef: { name: 's', key: 'DB_password' } } },
    ]);
    expect(JSON.stringify(pod)).not.to.include('canary');
  });

  it('checks its health by a probe, with the figures of the check or those of container engines', () => {
    const probe = (check: object) =>
      build({ healthCheck: { type: 'exec', command: ['a', 'b'], ...check } as never }).spec.containers[0]!
        .readinessProbe;
    expect(probe({ interval: '500ms', timeout: '3s', retries: 5 })).to.deep.equal({
      exec: { command: ['a', 'b'] },
      periodSeconds: 1,
      timeoutSeconds: 3,
      failureThreshold: 5,
    });
    expect(probe({})).to.deep.include({ periodSeconds: 30, timeoutSeconds: 30, failureThreshold: 3 });
  });

  it('asks for what is requested, and no more than its limits', () => {
    const sizes = (change: Partial<ContainerSpec>) => build(change).spec.containers[0]!.resources;
    const limits = { cpu: 500, memory: 2 ** 20 };
    expect(sizes({})).to.deep.equal({ requests: {}, limits: {} });
    expect(sizes({ limits })).to.deep.equal({
      requests: { cpu: '500m', memory: '1048576' },
      limits: { cpu: '500m', memory: '1048576' },
    });
    expect(sizes({ limits, requests: { cpu: 900 } }).requests).to.deep.equal({ cpu: '500m', memory: '1048576' });
    expect(sizes({ requests: { cpu: 100 } })).to.deep.equal({ requests: { cpu: '100m' }, limits: {} });
  });

  it('mounts memory only, and refuses what a Pod cannot have', () => {
    const tmpfs = { kind: 'tmpfs', target: '/tmp', readOnly: false, sizeBytes: 4096 } as const;
    const { spec } = build({ readOnlyRootFilesystem: true, mounts: [tmpfs] });
    expect(spec.containers[0]!.volumeMounts.map(({ mountPath }) => mountPath)).to.deep.equal(['/tmp', '/run']);
    expect(spec.volumes[0]).to.deep.equal({ name: 'memory-0', emptyDir: { medium: 'Memory', sizeLimit: '4096' } });
    const bind = { kind: 'bind', source: '/x', target: '/data', readOnly: false } as const;
    const refused: readonly Partial<ContainerSpec>[] = [
      { mounts: [bind] },
      { user: 'app' },
      { user: '0' },
      { user: '0:5' },
    ];
    for (const change of refused) expect(() => build(change), JSON.stringify(change)).to.throw(EngineRefusedFault);
  });
});

const STARTED = '2026-01-31T12:00:00Z';
const now = Date.parse(STARTED);

const toPod = (status: Pod['status'], change: Partial<Pod['spec']> = {}): Pod => ({
  metadata: { ...build().metadata, uid: 'u1' },
  spec: { containers: [{ name: 'main' }], ...change },
  ...(status && { status }),
});
const main = (state: object, ready = false) => [{ name: 'main', ready, state }] as never;
const running = main({ running: { startedAt: STARTED } });
const terminated = (end: object) => main({ terminated: { startedAt: STARTED, finishedAt: STARTED, ...end } });

describe('the status of a Pod', () => {
  const cases: readonly (readonly [string, Pod['status'], object])[] = [
    ['is created before it is scheduled', undefined, { state: 'created', exitCode: undefined, health: 'none' }],
    ['is created while it waits', { phase: 'Pending' }, { state: 'created' }],
    ['runs', { phase: 'Running', containerStatuses: running }, { state: 'running', user: 'nonroot' }],
    [
      'has ended with its code',
      { phase: 'Failed', containerStatuses: terminated({ exitCode: 3 }) },
      { state: 'exited', exitCode: 3, endedAt: '2026-01-31T12:00:00.000Z' },
    ],
    [
      'was killed by the kernel',
      { phase: 'Failed', containerStatuses: terminated({ exitCode: 137, reason: 'OOMKilled' }) },
      { state: 'exited', oomKilled: true },
    ],
    ['was evicted', { phase: 'Failed', reason: 'Evicted', startTime: STARTED }, { state: 'exited', exitCode: 137 }],
  ];
  for (const [name, status, expected] of cases) {
    it(name, () => expect(readPodStatus(toPod(status), now)).to.deep.include(expected));
  }

  it('is that of no other Pod', () => {
    const pod = toPod({ phase: 'Running' });
    expect(readPodStatus({ ...pod, metadata: { name: 'x', uid: 'u', labels: {} } }, now)).to.equal(undefined);
  });

  it('is starting for the time of the first checks, then unhealthy, and at once where it was ready before', () => {
    const healthCheck = { type: 'exec', command: ['a'], interval: '2s', timeout: '1s', retries: 3 } as const;
    const metadata = { ...build({ healthCheck }).metadata, uid: 'u1' };
    const spec = { containers: [{ name: 'main', readinessProbe: {} }] };
    const look = (ready: boolean, afterMs: number, changedAt = STARTED) => {
      const conditions = [{ type: 'ContainersReady', status: 'False', lastTransitionTime: changedAt }];
      const containerStatuses = main({ running: { startedAt: STARTED } }, ready);
      return readPodStatus({ metadata, spec, status: { conditions, containerStatuses } }, now + afterMs)?.health;
    };
    expect(look(false, 8_000)).to.equal('starting');
    expect(look(true, 8_000)).to.equal('healthy');
    expect(look(false, 10_000)).to.equal('unhealthy');
    expect(look(false, 5_000, '2026-01-31T12:00:04Z')).to.equal('unhealthy');
  });
});

describe('the start of a Pod', () => {
  const waiting = (reason: string, message = '') => ({ containerStatuses: main({ waiting: { reason, message } }) });
  const unscheduled = [{ type: 'PodScheduled', status: 'False', message: '0/3 nodes are available' }];
  const cases: readonly (readonly [Pod['status'], object])[] = [
    [{ phase: 'Pending' }, { kind: 'waiting', message: '' }],
    [
      { phase: 'Pending', conditions: unscheduled },
      { kind: 'waiting', message: '0/3 nodes are available' },
    ],
    [{ containerStatuses: running }, { kind: 'started' }],
    [{ containerStatuses: terminated({ exitCode: 1, reason: 'Error' }) }, { kind: 'started' }],
    [
      { containerStatuses: terminated({ exitCode: 128, reason: 'StartError', message: 'no such file' }) },
      { kind: 'refused', message: 'StartError: no such file' },
    ],
    [
      waiting('ImagePullBackOff', 'back-off'),
      { kind: 'refused', message: 'ImagePullBackOff: back-off', isImage: true },
    ],
    [
      waiting('CreateContainerConfigError', 'container has runAsNonRoot and image will run as root'),
      {
        kind: 'refused',
        message: 'CreateContainerConfigError: container has runAsNonRoot and image will run as root',
      },
    ],
    [
      waiting('CreateContainerConfigError', 'secret "s" not found'),
      { kind: 'waiting', message: 'CreateContainerConfigError: secret "s" not found' },
    ],
    [waiting('ContainerCreating'), { kind: 'waiting', message: 'ContainerCreating' }],
  ];
  for (const [status, expected] of cases) {
    it(JSON.stringify(expected), () => expect(readStart(toPod(status))).to.deep.equal(expected));
  }

  it('shows that the image was pulled', () => {
    const find = (status: Pod['status']) => findImageId(toPod(status), 'web:1');
    expect(find(waiting('ErrImagePull'))).to.equal(undefined);
    expect(find(waiting('RunContainerError'))).to.equal('pulled web:1');
    expect(find({ containerStatuses: [{ name: 'main', imageID: 'sha256:1', state: {} }] })).to.equal('sha256:1');
  });
});

describe('what a cluster writes', () => {
  const quantities: readonly (readonly [string, number | undefined])[] = [
    ['16', 16],
    ['250m', 0.25],
    ['1.5', 1.5],
    ['64Mi', 64 * 2 ** 20],
    ['2k', 2000],
    ['1e3', 1000],
    ['1E', 1e18],
    ['120000000n', 0.12],
    ['', undefined],
    ['1.2.3', undefined],
    ['-1', undefined],
    ['ten', undefined],
  ];
  for (const [text, amount] of quantities) {
    it(`${text || 'nothing'} is ${amount}`, () => {
      const read = parseQuantity(text);
      if (amount === undefined) expect(read).to.equal(undefined);
      else expect(read).to.be.closeTo(amount, amount * 1e-9);
    });
  }

  it('is a capacity when quotas bound cpu and memory of all Pods', () => {
    const quota = (hard: Record<string, string>, scopes: string[] = []) => ({ spec: { hard, scopes } });
    const both = { 'requests.cpu': '8', 'limits.memory': '16Gi' };
    expect(readCapacity([quota(both), quota({ cpu: '4' })], 'shop')).to.deep.equal({ cpu: 4000, memory: 2 ** 34 });
    for (const quotas of [[], [quota({ cpu: '4' })], [quota(both, ['BestEffort'])]]) {
      expect(() => readCapacity(quotas, 'shop')).to.throw(EngineUnsupportedFault, 'shop has no ResourceQuota');
    }
  });

  it('is a log: lines with their times, however they arrive', async () => {
    const text =
      '2026-01-31T12:00:00.5Z one\n2026-01-31T12:00:01.000000042Z two words\nand no time\n2026-01-31T12:00:02Z end';
    for (const size of [1, 7, 1000]) {
      const chunks = async function* () {
        for (let from = 0; from < text.length; from += size) yield Buffer.from(text.slice(from, from + size));
      };
      const read: string[] = [];
      for await (const { at, bytes } of readLogLines(chunks())) read.push(`${at} ${JSON.stringify(bytes.toString())}`);
      expect(read).to.deep.equal([
        '1769860800.500000000 "one\\n"',
        '1769860801.000000042 "two words\\n"',
        '1769860801.000000042 "and no time\\n"',
        '1769860802.000000000 "end"',
      ]);
    }
  });
});
