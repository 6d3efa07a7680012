import { askForCopy, askForMove, bringHome, cancelMove, giveUpCopy } from './copies.js';
import { CopyTeller, CUT_MS, WRITTEN_MS } from './copy-teller.js';
import { COUNTRY, type Machine } from './machine.js';
import { switchOff } from './operators.js';
import { fillUp } from './trouble.js';
import { rebootWithoutDisk } from './volumes.js';

/** Something that happens to a volume with copies, up to the moment when what follows by itself is waited for. */
export type CopyAct = (story: CopyTeller) => Promise<void>;

/** Nothing reaches an agent, and its engine does. */
const EVERYBODY = ['store', 'others', 'peers'] as const;
/** For so long a copy is failing until another is made beside it, and until it is promoted. */
const REPLACED_WITHIN_MS = 700_000;
/** A move is aborted after five minutes, and a drain tries again. */
const MOVED_WITHIN_MS = 420_000;
/** Every loop knows by then where a machine is. */
const ABROAD_MS = 30_000;
/** So long it may take until an agent has noticed that its state folder cannot be written. */
const NOTICED_MS = 60_000;

/** All ways in which nothing is heard of an agent any more, and it stops nothing: then its fencer does, or no copy takes over. */
const waysToLose = [
  ({ seat }: Machine) => seat.life?.isolate(CUT_MS, EVERYBODY),
  ({ seat }: Machine) => seat.life?.isolate(CUT_MS, [...EVERYBODY, 'engine']),
  ({ seat }: Machine) => seat.restart(CUT_MS),
  ({ seat }: Machine) => seat.stop(CUT_MS),
  ({ seat }: Machine) => seat.life?.freeze(CUT_MS),
  (machine: Machine) => machine.standStill(CUT_MS),
] as const;

/** Nothing is heard of the agent of the primary any more; of a copy's, neither, for a part of the time. */
export const cutOff: CopyAct = async story => {
  const { world } = story.parts.cluster;
  const primary = story.findPrimary();
  const { epoch } = story;
  world.pick(waysToLose)(primary);
  if (world.chance(0.5)) story.pickCopy().seat.life?.isolate(world.between(1_000, 60_000), EVERYBODY);
  // One that is started again, after a kill, is not cut off.
  const cut = primary.seat.life;
  await story.promoted(epoch, { isNeedless: () => story.isBackFor(primary, cut) });
};

/** The state folder of the primary cannot be written, and then nothing is heard of it. */
export const spoilState: CopyAct = async story => {
  const { world } = story.parts.cluster;
  const primary = story.findPrimary();
  const noticedMs = world.between(0, NOTICED_MS);
  primary.spoilState(noticedMs + CUT_MS + WRITTEN_MS);
  await story.pass(noticedMs);
  world.pick(waysToLose)(primary);
  await story.pass(CUT_MS + WRITTEN_MS);
};

/** The disk of the primary has died; the new one is empty. Where its agent remembers the old one, somebody gives the copy up. */
export const swapDisk: CopyAct = async story => {
  const { cluster } = story.parts;
  const primary = story.findPrimary();
  const { epoch } = story;
  primary.disk.swap(story.id);
  primary.reboot(cluster.world.between(500, 5_000));
  const isRemembered = cluster.world.chance(0.5);
  if (!isRemembered) primary.files.delete(`replication-${story.id}.json`);
  await story.promoted(epoch, { withinMs: REPLACED_WITHIN_MS });
  if (!isRemembered) return;
  await story.hear(giveUpCopy(cluster, story.about, primary.name, { force: 'true' }));
  await story.hear(askForCopy(cluster, story.about, primary.name));
};

export const swapCopy: CopyAct = async story => {
  const copy = story.pickCopy();
  copy.disk.swap(story.id);
  copy.reboot(story.parts.cluster.world.between(500, 5_000));
  await story.pass(WRITTEN_MS);
};

export const mountLate: CopyAct = async story => {
  const { cluster } = story.parts;
  const { world } = cluster;
  const machine = world.chance(0.5) ? story.findPrimary() : story.pickCopy();
  rebootWithoutDisk(cluster, machine, { agentAfterMs: 3_000, diskAfterMs: world.between(8_000, 25_000) });
  await story.pass(40_000);
};

/** One copy is cut off while the volume is written to, and is back when the primary goes: the other one is fresher. */
export const outrun: CopyAct = async story => {
  const { world } = story.parts.cluster;
  const primary = story.findPrimary();
  const awayMs = world.between(20_000, 40_000);
  story.pickCopy().seat.life?.isolate(awayMs, world.pick([['peers'], EVERYBODY]));
  await story.pass(awayMs - world.between(0, 10_000));
  await story.switchOff(primary);
};

/** The machine of a copy is abroad when the primary goes: where the data may not be, nothing is promoted. */
export const goAbroad: CopyAct = async story => {
  const copy = story.pickCopy();
  copy.labels[COUNTRY] = 'FR';
  copy.seat.restart(1_000);
  await story.pass(ABROAD_MS);
  await story.switchOff();
  bringHome(story.parts.cluster);
};

/** The one that was promoted goes too, before another copy has what was written since. */
export const loseTwo: CopyAct = async story => {
  const { cluster } = story.parts;
  const primary = story.findPrimary();
  for (const { seat } of cluster.machines) if (seat !== primary.seat) seat.life?.isolate(CUT_MS, ['peers']);
  await story.switchOff(primary);
  await story.pass(WRITTEN_MS);
  switchOff(cluster, story.findPrimary(), { fenceAfterMs: 2_000, backAfterMs: cluster.world.between(10_000, 40_000) });
  await story.pass(CUT_MS);
};

/** Nothing passes between two copies when one of them is promoted: another one is made in the place of the one that no path leads to. */
export const cutPath: CopyAct = async story => {
  const { cluster } = story.parts;
  const { peers, world, mix } = cluster;
  const [one, other] = story.listCopies().map(({ seat }) => seat.name) as [string, string];
  peers.cut(one, other, world.time + 2 * REPLACED_WITHIN_MS);
  await story.switchOff();
  const isReplaced = () => {
    const synced = story.status(story.id)?.copies.filter(({ state }) => state === 'synced') ?? [];
    return synced.length >= 2;
  };
  // Where the fourth machine reads nothing of what the others send, nobody can take the place.
  if (mix.hasOddDriver) await story.pass(REPLACED_WITHIN_MS);
  else await story.until(isReplaced, () => `a copy is replaced: ${story.describe()}`, { withinMs: REPLACED_WITHIN_MS });
  peers.cut(one, other, world.time);
};

/** The volume of the primary or of a copy, or the disk of one that has a copy, is full for a while; meanwhile the primary may go. */
export const fill: CopyAct = async story => {
  const { world } = story.parts.cluster;
  const machine = world.pick([story.findPrimary(), story.pickCopy()]);
  const held = machine.disk.held.get(story.id);
  const place = held && world.chance(0.7) ? held : machine.disk;
  const forMs = world.between(10_000, CUT_MS);
  fillUp(world, place, forMs);
  await story.pass(world.between(0, forMs));
  if (world.chance(0.7)) await cutOff(story);
  await story.pass(forMs);
};

/** A planned move, to which something may happen on the way. It ends, and is written to where it is then. */
export const move: CopyAct = async story => {
  const { cluster } = story.parts;
  const { world } = cluster;
  const [primary, target] = [story.findPrimary(), story.pickCopy()];
  const before = story.status(story.id)?.lastMove?.at;
  const answer = await story.hear(askForMove(cluster, story.about, target.name));
  if (answer.told !== 'stored') return;
  if (world.chance(0.5)) {
    await story.pass(world.between(0, 6_000));
    const trouble = [
      () => void cancelMove(cluster, story.about),
      () => primary.seat.restart(world.between(100, 20_000)),
      () => target.seat.restart(world.between(100, 20_000)),
      () => target.seat.life?.isolate(world.between(5_000, CUT_MS), EVERYBODY),
      () => primary.seat.life?.isolate(world.between(5_000, CUT_MS), EVERYBODY),
      () => primary.seat.life?.isolate(world.between(5_000, 30_000), ['peers']),
    ];
    world.pick(trouble)();
  }
  const isEnded = () => {
    const { phase, move: underWay, lastMove } = story.status(story.id) ?? {};
    return phase === 'Ready' && underWay === undefined && lastMove?.at !== before;
  };
  await story.until(isEnded, () => `a move ends: ${story.describe()}`, { withinMs: MOVED_WITHIN_MS });
  story.former = primary;
};

/** The machine of the primary is drained: the volume leaves it, with every byte. */
export const moveAway: CopyAct = async story => {
  const primary = story.findPrimary();
  const { epoch } = story;
  await order(story, primary, 'drain');
  await story.promoted(epoch, { withinMs: MOVED_WITHIN_MS });
  await order(story, primary, 'undrain');
};

async function order(story: CopyTeller, { name }: Machine, what: 'drain' | 'undrain'): Promise<void> {
  const path = `/api/v1/nodes/{id}/${what}`;
  const request = { method: 'POST' as const, path, tenant: story.tenant, params: { id: name } };
  const isStored = async () => (await story.hear(story.parts.cluster.ask(request))).told === 'stored';
  await story.until(isStored, `a node hears that it is to ${what}`);
}

/** The primary may go when the copy that comes again is not complete. */
export const dropCopy: CopyAct = async story => {
  const { cluster } = story.parts;
  const { name } = cluster.machines.find(machine => machine === story.former) ?? story.pickCopy();
  await story.hear(giveUpCopy(cluster, story.about, name));
  await story.pass(WRITTEN_MS);
  await story.hear(askForCopy(cluster, story.about, name));
  if (!cluster.world.chance(0.5)) return;
  await story.pass(cluster.world.between(0, 1_000));
  await story.switchOff();
};
