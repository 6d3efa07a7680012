import type { NetworkReport, NetworkStatus, StoredNetwork } from '../../crds/network/index.js';
import type { NodeStatus } from '../../crds/node/index.js';

/** The node of a network, as far as it is known. */
export interface NetworkNode {
  readonly name: string;
  readonly status: NodeStatus | undefined;
}

/** Everything that the status of a network is derived from. */
export interface NetworkInput {
  readonly network: StoredNetwork;
  /** What is wrong with its record, when it cannot be worked with. */
  readonly fault?: string | undefined;
  /** Undefined when the node is no longer enrolled. */
  readonly node: NetworkNode | undefined;
  /** What the agent said last, of whichever network of the name. */
  readonly report: NetworkReport | undefined;
  readonly previous: NetworkStatus | undefined;
  readonly now: string;
}

/** The status of a network; the previous one itself when nothing has changed. */
export function rollNetwork({ network, fault, node, report, previous, now }: NetworkInput): NetworkStatus {
  const { uid } = network.metadata;
  const own = report?.uid === uid ? report : undefined;
  const next = {
    uid,
    ...(fault === undefined ? judge(node, own) : describeFault(fault)),
    ...(node && { node: node.name }),
  };
  const before = previous?.uid === uid ? previous : undefined;
  const isSame = (['state', 'reason', 'message', 'node'] as const).every(at => before?.[at] === next[at]);
  if (before && isSame) return before;
  const announced = isSettled(next.state) ? next.state : before?.announced;
  return {
    ...next,
    since: before?.state === next.state ? before.since : now,
    ...(announced && { announced }),
  };
}

const isSettled = (state: NetworkStatus['state']): state is 'ready' | 'failed' =>
  state === 'ready' || state === 'failed';

/** The event of a state that was not announced last. A node that falls silent and comes back has events of its own. */
export function findEvent(
  before: Pick<NetworkStatus, 'announced'> | undefined,
  { state }: Pick<NetworkStatus, 'state'>,
): 'network.ready' | 'network.failed' | undefined {
  return isSettled(state) && before?.announced !== state ? `network.${state}` : undefined;
}

function describeFault(fault: string): Pick<NetworkStatus, 'state' | 'reason' | 'message'> {
  const message = `what is stored of it cannot be worked with (${fault}): remove it from what joins it, or delete that, then delete it, create it again and join it again`;
  return { state: 'unknown', reason: 'record_unusable', message };
}

function judge(
  node: NetworkNode | undefined,
  report: NetworkReport | undefined,
): Pick<NetworkStatus, 'state' | 'reason' | 'message'> {
  if (!node) {
    const message =
      'its node is no longer enrolled: remove the network from what joins it, or delete that, then delete the network, create it on another node and join it again';
    return { state: 'failed', reason: 'network_node_gone', message };
  }
  const { name, status } = node;
  if (status?.status === 'failed') {
    const message = `no heartbeat from its node ${name} since ${status.since}: check the machine and its agent`;
    return { state: 'unknown', reason: 'network_node_silent', message };
  }
  if (status?.unobservedSince !== undefined) {
    const message = `the engine of its node ${name} has not answered since ${status.unobservedSince}: check it`;
    return { state: 'unknown', reason: 'network_node_silent', message };
  }
  if (!report) {
    return { state: 'pending', reason: 'network_pending', message: `the agent of ${name} has not created it yet` };
  }
  if (report.state === 'failed') {
    return {
      state: 'failed',
      reason: 'network_refused',
      message: report.message ?? `the engine of ${name} refuses it`,
    };
  }
  return { state: 'ready', reason: 'network_ready', message: `it exists on ${name}` };
}
