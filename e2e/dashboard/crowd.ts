import type { Browser } from 'playwright-core';

import type { DeploymentStatus, StoredDeployment } from '../../crds/deployment/index.js';
import { keys } from '../../crds/keys/index.js';
import { type EtcdStore, encode } from '../../pkg/store/index.js';
import type { ControlPlane } from '../lab/control-plane.js';
import { DashboardPage } from './browser.js';

const NAMES_WIDTH = 5;
const AT_ONCE = 500;
const THEN = '2030-01-01T00:00:00.000Z';

/** Many deployments that run, written as their loops would leave them: no agent has to run a container for each. */
export async function seedDeployments(plane: ControlPlane, tenant: string, count: number): Promise<void> {
  const store = plane.openStore();
  try {
    const all = Array.from({ length: count }, (_, at) => `app-${String(at).padStart(NAMES_WIDTH, '0')}`);
    for (let from = 0; from < count; from += AT_ONCE)
      await Promise.all(all.slice(from, from + AT_ONCE).map(name => seed(store, tenant, name)));
  } finally {
    await store.close();
  }
}

async function seed(store: EtcdStore, tenant: string, name: string): Promise<void> {
  const key = keys.deployment(tenant, name);
  const puts = [
    { key, bytes: encode(createDeployment(tenant, name)) },
    { key: keys.status(tenant, name), bytes: encode(createStatus(name, 'Running')) },
  ];
  await store.commit({ guards: [{ key, at: 0 }], puts, deletes: [] });
}

function createDeployment(tenant: string, name: string): StoredDeployment {
  const uid = `dep_${name}`;
  return {
    metadata: { tenant, uid, generation: 1, createdAt: THEN, updatedAt: THEN, specHash: '0'.repeat(32) },
    kind: 'Deployment',
    name,
    image: 'shop/web:1.4.2',
    replicas: 1,
    environment: Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`SETTING_${at}`, `value of ${name} ${at}`])),
    secretsVersion: 0,
  };
}

/** A status whose replicas are all the same, in a phase. */
function createStatus(name: string, phase: DeploymentStatus['phase'], replicas = 1): DeploymentStatus {
  const isRunning = phase === 'Running';
  const condition = { lastTransitionTime: THEN, observedGeneration: 1, status: 'True' } as const;
  return {
    uid: `dep_${name}`,
    phase,
    message: isRunning
      ? `${replicas} of ${replicas} replicas ready`
      : 'a replica waits before its next restart; see its last lines',
    replicas,
    readyReplicas: isRunning ? replicas : 0,
    updatedReplicas: replicas,
    observedGeneration: 1,
    revision: 1,
    secretsVersion: 0,
    placements: Array.from({ length: replicas }, (_, replica) => ({
      replica,
      nodeId: 'node_1',
      nodeName: 'shop-1',
      state: isRunning ? 'running' : 'exited',
      health: 'none',
      restarts: isRunning ? 0 : 3,
      containerId: 'c'.repeat(64),
      image: 'shop/web:1.4.2',
      generation: 1,
      since: THEN,
      ...(!isRunning && { message: `replica ${replica} waits before its next restart` }),
    })),
    conditions: [{ ...condition, type: 'Placed', reason: 'AllPlaced', message: 'every replica has a node' }],
    rollout: { state: 'complete', revision: 1, completedRevision: 1 },
  };
}

/** Gives some of them another phase, and all their replicas with it, as the status roller would. */
export async function changePhases(
  plane: ControlPlane,
  tenant: string,
  names: readonly string[],
  phase: DeploymentStatus['phase'],
  replicas = 1,
): Promise<void> {
  const store = plane.openStore();
  try {
    for (const name of names) {
      const key = keys.status(tenant, name);
      const { revision: at } = (await store.get(key))!;
      await store.commit({
        guards: [{ key, at }],
        puts: [{ key, bytes: encode(createStatus(name, phase, replicas)) }],
        deletes: [],
      });
    }
  } finally {
    await store.close();
  }
}

/** Milliseconds from the sign-in until the list of deployments is drawn, in a page of its own. */
export async function timeFirstPaint(browser: Browser, server: string, token: string): Promise<number> {
  const { page, context } = await DashboardPage.open(browser);
  try {
    await page.goto(`${server}/#/deployments`);
    await page.getByLabel('Token').fill(token);
    await page.evaluate(`globalThis.painted = new Promise(drawn => {
      let began = 0;
      document.querySelector('form').addEventListener('submit', () => { began = performance.now(); }, true);
      const look = () => document.querySelector('tbody tr')
        ? requestAnimationFrame(() => setTimeout(() => drawn(performance.now() - began)))
        : requestAnimationFrame(look);
      look();
    }); 0`);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    return Number(await page.evaluate('painted'));
  } finally {
    await context.close();
  }
}
