import type { NetworkStatus, StoredNetwork } from '../../../crds/network/index.js';
import { formatPairs } from '../kinds.js';
import { type Fact, formatEvents, formatFacts } from '../print/sections.js';
import { choosePaint } from '../print/text.js';
import { formatAge } from '../../../crds/grammar/index.js';
import type { DescribeEnv } from './describe-env.js';

/** A network as the API shows it. */
interface NetworkView extends StoredNetwork {
  readonly status: NetworkStatus | null;
}

/** A network: where it is, whether it exists there, and its events. */
export function describeNetwork(view: NetworkView, { events, look }: DescribeEnv): string {
  const { name, metadata, status, driver, internal, labels, nodeId } = view;
  const { ink, now } = look;
  const state = status?.state ?? 'pending';
  const facts: readonly Fact[] = [
    ['Name', name],
    ['Uid', metadata.uid],
    ['State', state, choosePaint(ink, state)],
    ['Message', status?.message],
    ['Since', status === null ? undefined : `${status.since} (${formatAge(status.since, now)} ago)`],
    ['Node', status?.node === undefined ? nodeId : `${status.node} (${nodeId})`],
    ['Driver', driver],
    ['Internal', internal ? 'yes: it has no way out' : 'no'],
    ['Labels', formatPairs(labels)],
    ['Created', `${metadata.createdAt} (${formatAge(metadata.createdAt, now)} ago)`],
  ];
  return formatFacts(facts, look) + formatEvents(events, look);
}
