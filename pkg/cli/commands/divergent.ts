import type { VolumeView } from '../../../crds/volume/index.js';
import { exitCode } from '../../terminal/index.js';
import { volumes } from '../kinds.js';
import { formatTable } from '../print/table.js';
import { formatAge } from '../../../crds/grammar/index.js';
import type { Command } from '../session.js';

interface ListDivergentInput {
  readonly name: string;
}

/** Lists what former primaries of a volume have set aside, each on its own node. */
export const listDivergent: Command<ListDivergentInput> = async (session, { name }) => {
  const { terminal } = session;
  const client = await session.connect();
  const answer = await client.request<VolumeView>('GET', volumes.pathOf(name));
  if (!answer.ok) return session.reportRejection(answer);
  const rows = answer.value.divergent.map(({ nodeId, nodeName, name: kept, epoch, at, isDiscarded = false }) => [
    nodeName ?? nodeId,
    kept,
    `${epoch}`,
    formatAge(at, terminal.clock.now()),
    isDiscarded ? 'is being removed' : 'kept',
  ]);
  if (rows.length === 0) terminal.err(`nothing of volume/${name} was set aside\n`);
  else terminal.out(formatTable(['NODE', 'NAME', 'EPOCH', 'AGE', 'STATE'], rows, terminal.width));
  return exitCode.ok;
};

interface DeleteDivergentInput {
  readonly name: string;
  readonly node: string;
  readonly kept: string;
  readonly dryRun?: boolean;
}

/** Gives up what was set aside on a node: its agent removes it. */
export const deleteDivergent: Command<DeleteDivergentInput> = async (session, { name, node, kept, dryRun }) => {
  const client = await session.connect();
  const [volume, where, what] = [name, node, kept].map(encodeURIComponent);
  const path = `/api/v1/tenants/self/volumes/${volume}/divergent/${where}/${what}`;
  const answer = await client.request<VolumeView>('DELETE', path, { query: dryRun ? { dryRun: 'true' } : {} });
  if (!answer.ok) return session.reportRejection(answer);
  const done = dryRun ? 'would be removed (dry run)' : 'is being removed';
  session.terminal.out(`volume/${name}: ${kept} on ${node} ${session.ink.green(done)}\n`);
  return exitCode.ok;
};
