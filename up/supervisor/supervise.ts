import { existsSync, linkSync, renameSync, rmSync } from 'node:fs';

import { systemClock } from '../../pkg/clock/index.js';
import type { Logger } from '../../pkg/log/index.js';
import { Home, listLocalNodes, type UpPlan, writeJson } from '../home/home.js';
import { findStrays, identifyProcess, isAlive, MARK_VARIABLE } from '../machine/os-process.js';
import { type ProcessIdentity, terminateProcess } from '../machine/os-process.js';
import type { UpPart, PartEnv, PartStages } from '../parts/part.js';
import { controllersPart, serverPart } from '../parts/control-plane.js';
import { findDockerdFolder, dockerdPart, findSystemDocker, createSystemDockerPart } from '../parts/engine.js';
import { createAgentPart, removeNodePart, toNodeName } from '../parts/nodes.js';
import { demoImagePart, etcdPart, registryPart } from '../parts/services.js';
import { Supervisor } from './supervisor.js';

/**
 * Supervises one home until aborted. Does nothing when another supervisor already does.
 *
 * The parts stay when it ends: `moor down` ends them, and the next supervisor takes them over.
 */
export async function superviseHome(folder: string, log: Logger, signal: AbortSignal): Promise<void> {
  const home = new Home(folder);
  if (!claimSupervision(home)) return log.info('another supervisor already runs; this one ends');

  process.env[MARK_VARIABLE] = folder;
  const known = home.records.names().flatMap(name => home.records.read(name)?.process ?? []);
  for (const stray of findStrays(folder, known)) {
    log.warn('ending a process that no record names', { pid: stray.pid });
    await terminateProcess(stray, { clock: systemClock, graceMs: 5_000 });
  }
  const supervisor = new Supervisor({
    home,
    clock: systemClock,
    log,
    environment: process.env,
    isInCharge: () => holdsSupervision(home),
    planStages: planStages(home, process.env),
  });
  await supervisor.run(signal);
}

/**
 * Makes this process the one supervisor of a home. False when another process is, and is alive.
 *
 * Creating a hard link fails where the name exists, so of two supervisors that start at once only one succeeds. The claim
 * of a dead supervisor is replaced; when two replace it at once, the last one has it. So a supervisor checks its claim again
 * before each pass.
 */
export function claimSupervision(home: Home): boolean {
  const own = identifyProcess(process.pid);
  if (!own) return false;
  const path = home.path('run', 'supervisor.json');
  const draft = `${path}.${process.pid}.claim`;
  writeJson(draft, own);
  try {
    linkSync(draft, path);
    return true;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
    const holder = home.supervisor.read();
    if (holder && isAlive(holder)) return holder.pid === own.pid;
    renameSync(draft, path);
    return holdsSupervision(home);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Whether this process is the one that has the claim. */
function holdsSupervision(home: Home): boolean {
  return home.supervisor.read()?.pid === process.pid;
}

/** The running supervisor of a home, if any. */
export function findSupervisor(home: Home): ProcessIdentity | undefined {
  const holder = home.supervisor.read();
  return holder && isAlive(holder) ? holder : undefined;
}

/** The parts of a plan, in the order they are started. */
function planStages(home: Home, environment: PartEnv['environment']): (plan: UpPlan) => Promise<PartStages> {
  let enginePart: Promise<UpPart> | undefined;
  return async ({ id, nodes, engine, bindRoots }) => {
    const numbers = Array.from({ length: nodes }, (_, index) => index + 1);
    const control = [etcdPart, serverPart, controllersPart];
    const agents = numbers.map(number => [createAgentPart(number, engine, bindRoots)]);
    const removals = listLocalNodes(home)
      .filter(({ name }) => !numbers.some(number => toNodeName(number) === name))
      .map(node => [removeNodePart(node, id)]);
    if (engine === 'simulated') return [[control], removals, agents];
    enginePart ??= findEngine(home, environment);
    // The registry comes first: the settings of the server name it.
    return [[[registryPart]], [control, [await enginePart, demoImagePart]], removals, agents];
  };
}

/** An engine that was started here holds containers: it stays in use even when this machine has another one by now. */
async function findEngine(home: Home, environment: PartEnv['environment']): Promise<UpPart> {
  const host = existsSync(findDockerdFolder(home)) ? undefined : await findSystemDocker(environment);
  return host === undefined ? dockerdPart : createSystemDockerPart(host);
}
