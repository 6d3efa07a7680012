import { keys, ranges } from '../../../crds/keys/index.js';
import type { StoredNode } from '../../../crds/node/index.js';
import type { Warning } from '../../../crds/rule/index.js';
import {
  checkVolumeMove,
  getVolumePhase,
  type MoveNode,
  type StoredVolume,
  type VolumeStatus,
} from '../../../crds/volume/index.js';
import {
  explainNoCopies,
  findVolumeDriver,
  explainBound,
  findNode,
  listSeparated,
  sumVolumesByNode,
  toCandidate,
  usesDisk,
} from '../../../pkg/fleet/index.js';
import { type Cache, listValues, readValue } from '../../../pkg/store/index.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { guardNode } from '../../admission/facts.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, describeCaller, type Route } from '../../http/route.js';
import { type CachedEnv, write } from '../../write/write.js';
import { defineVolumeChange } from './change.js';
import { rejectUnmanaged } from './view.js';

const MOVE = '/api/v1/tenants/{tenant}/volumes/{id}/move';

/** Planned moves. Where the primary is to be is stored; the volume keeper leads the move. */
export function createMoveRoutes(env: AdmissionEnv): readonly Route[] {
  const chosen = { tenant: 'chosen' } as const;
  return [
    defineRoute('deployer', 'POST', MOVE, call => write(env, call, move), chosen),
    defineRoute('deployer', 'DELETE', MOVE, call => write(env, call, cancellation), chosen),
  ];
}

interface MoveChange {
  /** The node that it is to move to; left out by what cancels it. */
  readonly nodeId?: string;
  readonly warnings?: readonly Warning[];
}

type MoveVerdict = MoveChange | RequestRejection;

function order(
  stored: StoredVolume,
  { document }: ApiCall,
  { cache, staticFacts }: CachedEnv<AdmissionEnv>,
): MoveVerdict {
  const { tenant } = stored.metadata;
  const unmanaged = rejectUnmanaged(staticFacts, stored);
  if (unmanaged) return unmanaged;
  const status = readStatus(cache, stored);
  const movesTo = findTarget(stored, status);
  const { metadata: _, primaryNode: asked, ...spec } = stored;
  const primaryNode = status?.primaryNode ?? asked;
  const checked = checkVolumeMove(document, {
    nodes: listMoveNodes(cache, stored),
    regions: staticFacts.regions,
    volume: {
      ...spec,
      phase: getVolumePhase(stored, status),
      copies: status?.copies ?? [],
      ...(primaryNode !== undefined && { primaryNode }),
      consumers: [],
    },
    movesTo: movesTo === undefined ? undefined : nameNode(cache, tenant, movesTo),
    explainBound: nodeId => explainBound(cache, stored, nodeId),
  });
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const { nodeId } = checked.value;
  const message = (name: string) => `${name} mounts other volumes on another node too: it starts when they are moved`;
  const separated = listSeparated(cache, stored, nodeId);
  const warnings = separated.map(name => ({ code: 'volume_move_separates', field: 'node', message: message(name) }));
  return { nodeId, warnings };
}

/** An order that has ended is not there any more, and neither is one whose copy takes over already. */
function cancel(stored: StoredVolume, call: ApiCall, { cache }: CachedEnv<AdmissionEnv>): MoveVerdict {
  const { move, lastMove } = readStatus(cache, stored) ?? {};
  const generation = stored.move?.generation ?? 0;
  const isTakenOver = move?.phase === 'Switching' && move.generation === generation;
  const isOpen = generation > (lastMove?.generation ?? 0) && !isTakenOver;
  return isOpen ? {} : rejectRequest('resource_not_found', 'id', call.params['id']!);
}

function readStatus(cache: Cache, { id, metadata }: StoredVolume): VolumeStatus | undefined {
  return readValue<VolumeStatus>(cache, keys.volumeStatus(metadata.tenant, id));
}

/** Where the volume moves to, by order or because its node is drained; undefined when it does not. */
function findTarget({ move: asked }: StoredVolume, status: VolumeStatus | undefined): string | undefined {
  const { move, lastMove } = status ?? {};
  if (move?.to !== undefined) return move.to;
  return asked && asked.generation > (lastMove?.generation ?? 0) ? asked.nodeId : undefined;
}

function listMoveNodes(cache: Cache, stored: StoredVolume): readonly MoveNode[] {
  const { tenant } = stored.metadata;
  const promised = sumVolumesByNode(cache, tenant);
  const driver = findVolumeDriver(cache, stored);
  return listValues<StoredNode>(cache, ranges.of(ranges.nodes, tenant)).map(node => {
    const { id, name, labels, capacity, orders, controlPlane } = node;
    const status = controlPlane ? 'the node of the control plane' : toCandidate(node, cache).status;
    const free = capacity.disk - (promised.get(id) ?? 0);
    return {
      id,
      name,
      labels,
      noCopies: explainNoCopies(node, driver),
      status: orders?.drain ? 'draining' : status,
      isFull: usesDisk(stored) && capacity.disk > 0 && free < stored.sizeBytes,
    };
  });
}

/** How the order is stored, or that there is none any more. */
function defineMoveChange(
  judge: (stored: StoredVolume, call: ApiCall, env: CachedEnv<AdmissionEnv>) => MoveVerdict,
): ReturnType<typeof defineVolumeChange> {
  return defineVolumeChange((stored, call, env, at) => {
    const change = judge(stored, call, env);
    if (change instanceof RequestRejection) return change;
    const { cache } = env;
    const { metadata, id: _, move: _former, ...before } = stored;
    const { nodeId, warnings = [] } = change;
    const isOther = (each: string) => each !== nodeId;
    const { excludedNodes, abandonedNodes } = before;
    const after = {
      ...before,
      // A copy that was removed from there is made again.
      ...(excludedNodes && { excludedNodes: excludedNodes.filter(isOther) }),
      ...(abandonedNodes && { abandonedNodes: abandonedNodes.filter(isOther) }),
      ...(nodeId !== undefined && { move: { nodeId, generation: metadata.generation + 1, at } }),
    };
    return {
      after,
      warnings,
      guards: guardNode(cache, metadata.tenant, nodeId),
      describe: next => draftEvent(cache, call, next),
    };
  });
}

const move = defineMoveChange(order);
const cancellation = defineMoveChange(cancel);

function nameNode(cache: Cache, tenant: string, nodeId: string): string {
  return findNode(nodeId, tenant, cache)?.name ?? nodeId;
}

function draftEvent(cache: Cache, { caller }: ApiCall, { id, name, metadata: { tenant }, move }: StoredVolume) {
  const by = describeCaller(caller);
  return {
    type: 'volume.move_requested',
    tenant,
    subject: { kind: 'Volume', name, id },
    reason: move ? 'volume_move_requested' : 'volume_move_cancelled',
    message: move
      ? `volume ${name} is to move to ${nameNode(cache, tenant, move.nodeId)}, as ${by} asked`
      : `the move of volume ${name} was cancelled by ${by}`,
    data: { ...(move && { nodeId: move.nodeId }), by: caller.id },
  } as const;
}
