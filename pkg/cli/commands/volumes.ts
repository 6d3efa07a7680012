import { formatBytes, parseMemory } from '../../../crds/grammar/index.js';
import type { Alteration, Warning } from '../../../crds/rule/index.js';
import type { VolumeView } from '../../../crds/volume/index.js';
import { exitCode, UsageFault, type WaitOptions } from '../../terminal/index.js';
import { volumes } from '../kinds.js';
import { stripControls } from '../print/text.js';
import type { Command, Session } from '../session.js';
import { printRemarks } from './apply.js';
import { followVolume, type VolumeStep } from './follow-volume.js';

interface WrittenVolume extends VolumeView {
  readonly alterations?: readonly Alteration[];
  readonly warnings?: readonly Warning[];
}

interface CreateVolumeInput {
  readonly name: string;
  readonly size: string;
  readonly class: string;
  readonly type?: string;
  readonly replicas?: number;
  readonly node?: string;
  readonly country?: string;
  readonly region?: string;
  readonly dryRun?: boolean;
}

/** The bytes that an option asks for. */
export function demandSize(size: string): number {
  const sizeBytes = parseMemory(size);
  if (sizeBytes === undefined) throw new UsageFault(`--size ${size}: must be bytes with a unit such as 512Mi or 10Gi.`);
  return sizeBytes;
}

/** Creates a volume. */
export const createVolume: Command<CreateVolumeInput> = async (session, input) => {
  const { name, size, class: kind, type, replicas, node, country, region, dryRun } = input;
  const sizeBytes = demandSize(size);
  const residency = { ...(country !== undefined && { country }), ...(region !== undefined && { region }) };
  const body = {
    name,
    class: kind,
    sizeBytes,
    ...(type !== undefined && { type }),
    ...(replicas !== undefined && { replicas }),
    ...(node !== undefined && { primaryNode: node }),
    ...(Object.keys(residency).length > 0 && { residency }),
  };
  const client = await session.connect();
  const query = dryRun ? { dryRun: 'true' } : {};
  const answer = await client.request<WrittenVolume>('POST', volumes.path, { body, query });
  if (!answer.ok) return session.reportRejection(answer);
  const done = session.ink.green(dryRun ? 'would be created' : 'created');
  const id = dryRun ? ' (dry run)' : ` as ${answer.value.id}`;
  session.terminal.out(`volume/${name} ${done}${id}\n`);
  printRemarks(session, answer.value.alterations ?? [], answer.value.warnings ?? []);
  return exitCode.ok;
};

interface GrowInput extends WaitOptions {
  readonly name: string;
  readonly size: string;
  readonly wait: boolean;
  readonly shrink?: boolean;
  readonly dryRun?: boolean;
}

/** Changes the size of a volume and waits until it has it. */
export const growVolume: Command<GrowInput> = async (session, { name, size, wait, shrink, dryRun, ...options }) => {
  const { terminal, ink } = session;
  const sizeBytes = demandSize(size);
  const client = await session.connect();
  const before = await client.request<VolumeView>('GET', volumes.pathOf(name));
  if (!before.ok) return session.reportRejection(before);
  if (sizeBytes < before.value.sizeBytes && !shrink) {
    const has = formatBytes(before.value.sizeBytes);
    throw new UsageFault(`--size ${size}: volume/${name} has ${has}, which is more; add --shrink to make it smaller.`);
  }
  const query = dryRun ? { dryRun: 'true' } : {};
  const answer = await client.request<WrittenVolume>('PATCH', volumes.pathOf(name), { body: { sizeBytes }, query });
  if (!answer.ok) return session.reportRejection(answer);
  const change = `${formatBytes(before.value.sizeBytes)} → ${formatBytes(sizeBytes)}`;
  const done = dryRun ? 'would be resized' : before.value.sizeBytes === sizeBytes ? 'unchanged' : 'resizing';
  terminal.out(`volume/${name} ${ink.yellow(done)}: ${change}\n`);
  printRemarks(session, answer.value.alterations ?? [], answer.value.warnings ?? []);
  if (dryRun || !wait) return exitCode.ok;
  const { generation } = answer.value.metadata;
  const look = (volume: VolumeView) => findResized(volume, generation, session);
  const code = await followVolume(session, client, answer.value, options, look);
  if (code === exitCode.timedOut) terminal.err(`volume/${name} does not have the size yet; the change continues\n`);
  return code;
};

/** Whether a volume has the size of this generation. */
function findResized(volume: VolumeView, generation: number, { ink }: Session): VolumeStep {
  const { metadata, phase, reason, message, capacityBytes, sizeBytes, targetBytes } = volume;
  if (phase === 'Degraded') return { refused: `is ${phase}: ${stripControls(message)}` };
  // A server that lags shows the volume as it was before, and the keeper comes after the server.
  if (metadata.generation < generation) return undefined;
  const isLookedAt = targetBytes === sizeBytes;
  if (isLookedAt && reason === 'volume_refused')
    return { refused: `keeps its size for now: ${stripControls(message)}` };
  if (isLookedAt && phase === 'Ready' && capacityBytes !== null)
    return { done: `${ink.green('resized')}: it has ${formatBytes(capacityBytes)} now` };
  return phase === 'Resizing' ? { progress: stripControls(message) } : undefined;
}
