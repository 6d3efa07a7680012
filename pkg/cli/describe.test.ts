import { expect } from 'chai';
import { useCommandLab } from './command-lab.testing.js';

const AT = '2030-01-01T00:00:00.000Z';
const ONE = 'GET /api/v1/deployments/web';

const condition = (type: string, status: string, reason: string, message: string) => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: AT,
  observedGeneration: 1,
});

const view = {
  kind: 'Deployment',
  name: 'web',
  image: 'registry.example.com/web:1.0.0',
  replicas: 1,
  secretsVersion: 0,
  metadata: { tenant: 't', uid: 'dep_web', generation: 1, revision: '5', createdAt: AT, updatedAt: AT, specHash: '' },
  secrets: [{ name: 'DB', vault_path: 'deployments/web-db', anchor: 'process', rotation: 'restart' }],
  composedSecrets: { URL: 'pg://{{secret.web-db.user}}:{{secret.web-db.password}}@db/' },
  networks: ['backend', 'vault'],
  dependsOn: [{ name: 'db', condition: 'healthy' }],
  placement: {
    residency: { country: 'DE', blockedCountries: ['US'] },
    constraints: [{ key: 'disk', operator: 'In', values: ['ssd', 'nvme'] }],
    antiAffinity: { self: true, deployments: ['api'], topologyKey: 'zone' },
  },
  status: {
    uid: 'dep_web',
    phase: 'Unschedulable',
    message: '0 of 1 node: 1 resources; 0 of 1 replicas ready',
    refusedBy: ['resources'],
    replicas: 0,
    readyReplicas: 0,
    updatedReplicas: 1,
    observedGeneration: 1,
    secretsVersion: 0,
    placements: [{ replica: 0, nodeId: null, state: 'unplaced', health: 'none', restarts: 0, containerId: null }],
    conditions: [
      condition('Placed', 'False', 'Unschedulable', '0 of 1 node: 1 resources'),
      condition('Rotating', 'True', 'PhaseIncomplete', 'web-db is at promote; it waits for worker'),
    ],
  },
};

const event = (type: string, second: number, more: object = {}) => {
  const at = `2030-01-01T00:00:${String(second).padStart(2, '0')}.000Z`;
  const subject = { kind: 'Deployment', name: 'web', id: 'dep_web' };
  return {
    id: `e${second}`,
    type,
    at,
    lastSeenAt: at,
    count: 1,
    subject,
    severity: 'info',
    message: type,
    data: {},
    ...more,
  };
};

describe('moor describe deployment', () => {
  const lab = useCommandLab();

  beforeEach(() => {
    const reply = (path: string, body: object) => lab.api.replies.set(path, { status: 200, body });
    const reason = {
      filter: 'resources',
      message: 'requires 3000m cpu, the node has 500m cpu free',
      inTheWay: [{ deployment: 'api', replica: 0, holds: '3000m cpu' }],
    };
    reply(ONE, view);
    reply('GET /api/v1/nodes', { items: [] });
    reply(`${ONE}/explain`, { candidates: [{ node: 'one', replicas: 0, rank: null, reasons: [reason] }] });
    const loop = { count: 18, lastSeenAt: '2030-01-01T00:20:00.000Z' };
    const progress = Array.from({ length: 20 }, (_, at) => event('deployment.progressing', at + 10));
    const all = [event('deployment.created', 1), event('deployment.placed', 2), ...progress];
    reply('GET /api/v1/events&subject=dep_web', { items: [...all, event('deployment.degraded', 3, loop)] });
    reply('GET /api/v1/events&subject=Deployment%2Fweb', { items: [event('deployment.deleted', 0)] });
  });

  const print = (...words: readonly string[]) => lab.moor(words);
  const moor = (...words: readonly string[]) => print('describe', 'deployment', 'web', ...words);
  const replyPlacement = (placement: object, more: object = {}) => {
    const [replica] = view.status.placements;
    const status = { ...view.status, phase: 'Degraded', placements: [{ ...replica, ...placement }] };
    lab.api.replies.set(ONE, { status: 200, body: { ...view, ...more, status } });
  };

  it('shows the whole spec: secrets by path and key, never their templates, and where it may be', async () => {
    const { code, out } = await moor();
    expect(code).to.equal(0);
    expect(out).to.match(/^Secrets: +DB from deployments\/web-db \(process\)$/m);
    expect(out).to.match(/^From secrets: +URL \(web-db\.user, web-db\.password\)$/m);
    expect(out).to.match(/^Networks: +backend, vault$/m);
    expect(out).to.match(/^Depends on: +db \(healthy\)$/m);
    expect(out).to.match(/^Constraints: +disk In ssd, nvme$/m);
    expect(out).to.match(/^Residency: +country DE, not in US$/m);
    expect(out).to.match(/^Anti-affinity: +apart from its own replicas, api, by zone$/m);
    expect(out).to.match(/^Rotation: +web-db is at promote; it waits for worker$/m);
    expect(out).not.to.include('pg://');
  });

  it('shows how many replicas load asks for, within which bounds, and why', async () => {
    const scaling = { replicas: 3, base: 1, minReplicas: 1, maxReplicas: 4, message: 'cpu 180 % of 60 %' };
    const status = { ...view.status, scaling };
    lab.api.replies.set(ONE, { status: 200, body: { ...view, status } });
    expect((await moor()).out).to.match(/^Scaling: +3 wanted of 1 to 4: cpu 180 % of 60 %$/m);
  });

  it('shows how it is checked, stopped and rolled out', async () => {
    const healthCheck = { type: 'exec', command: ['/check'], interval: '5s', timeout: '10s', retries: 3 };
    const rollout = { maxSurge: '25%', maxUnavailable: 0, progressDeadline: '60s', autoRollback: false };
    const body = {
      ...view,
      healthCheck,
      preStop: ['/bin/bye'],
      stopGracePeriod: '20s',
      rollout: { ...rollout, canary: { replicas: 1 } },
    };
    lab.api.replies.set(ONE, { status: 200, body });
    const { out } = await moor();
    expect(out).to.match(/^Health check: +\/check \(every 5s, within 10s, unhealthy after 3 failures\)$/m);
    expect(out).to.match(/^Before a stop: +\/bin\/bye$/m);
    expect(out).to.match(/^Time to stop: +20s$/m);
    expect(out).to.match(
      /^Rolled out by: +25% more at a time, 0 fewer, fails without progress for 60s, is not rolled back, a canary of 1 until it is promoted$/m,
    );
  });

  it('shows the steps, the one that waits, and what to do', async () => {
    const { out } = await moor();
    expect(out).to.match(
      /^Steps:\n +STEP +STATE +SINCE +DETAIL\n +admitted +done .*\n +placed +waiting +\S+ +0 of 1 node: 1 resources$/m,
    );
    expect(out).to.match(
      /placed: what to do \(Unschedulable\): resources: Lower resources, remove other deployments, or enrol a larger node/,
    );
  });

  it('says why no node fits now, and who is in the way', async () => {
    expect((await moor()).out).to.match(
      /Why no node fits:\n.*\n +one +resources +requires 3000m cpu, the node has 500m cpu free; in the way: replica 0 of api \(3000m cpu\)/,
    );
  });

  it('shows a crash loop as one line, and keeps creation and placement in view', async () => {
    const { out } = await moor();
    expect(out).to.match(/deployment\.degraded +18 in 19m +/);
    const events = out.slice(out.indexOf('Events:')).trim().split('\n').slice(2);
    expect(events).to.have.length(15);
    expect(events[0]).to.include('deployment.created');
    expect(events[1]).to.include('deployment.placed');
    expect(events.at(-1)).to.include('deployment.degraded');
  });

  it('prints the name of a node that was deleted, as the status knows it; moor status does too', async () => {
    replyPlacement({ nodeId: 'node_9', nodeName: 'cellar', state: 'unknown' }, { nodeId: 'node_9' });
    expect((await moor()).out)
      .to.match(/^Node: +cellar \(node_9, deleted\)$/m)
      .and.match(/^ +0 +cellar +unknown/m);
    expect((await print('status', 'web')).out).to.contain('replica 0  cellar');
  });

  it('prints generation, image and user of each replica', async () => {
    const running = { nodeId: 'node_1', nodeName: 'attic', state: 'running', generation: 7, image: 'web:7' };
    for (const [user, shown] of [
      ['1000:1000', '1000:1000'],
      ['', 'root'],
      [undefined, '-'],
    ] as const) {
      replyPlacement({ ...running, ...(user !== undefined && { user }), containerId: 'c7' });
      expect((await moor()).out).to.match(
        new RegExp(
          `^ +REPLICA .* GENERATION +IMAGE +USER +CONTAINER\\n +0 +attic +running +- +none +0 +7 +web:7 +${shown} +c7$`,
          'm',
        ),
      );
    }
  });

  it('prints what a container wrote last, the output of its health check, and when it is tried again; moor status does too', async () => {
    replyPlacement({
      nodeId: 'node_1',
      state: 'exited',
      message: 'its program ended with exit code 3',
      lastEnd: { exitCode: 3, at: AT, output: 'cannot find config' },
      failedCheck: { exitCode: 7, at: AT, output: 'no answer' },
      retry: { at: '2999-01-01T00:00:00.000Z' },
    });
    for (const { out } of [await moor(), await print('status', 'web')]) {
      expect(out)
        .to.match(/Last end: +exit code 3/)
        .and.match(/\| cannot find config/)
        .and.match(/Health check: +exit code 7/)
        .and.match(/\| no answer/)
        .and.match(/Next attempt: +2999-01-01/);
    }
  });

  it('shows events of this object only, and of its predecessors when asked', async () => {
    expect((await moor()).out).not.to.include('deployment.deleted');
    expect((await moor('--predecessors')).out).to.include('deployment.deleted');
  });
});
