import type { NetworkStatus, StoredNetwork } from '../../../crds/network/index.js';
import type { Alteration } from '../../../crds/rule/index.js';
import { exitCode, UsageFault } from '../exit-code.js';
import { type CellContext, formatPairs, networks } from '../kinds.js';
import { type Fact, formatEvents, formatFacts } from '../print/sections.js';
import { choosePaint, formatAge } from '../print/text.js';
import type { Command } from '../session.js';
import type { EventView } from '../views.js';
import { printRemarks } from './apply.js';

/** A network as the API shows it. */
export interface NetworkView extends StoredNetwork {
  readonly status: NetworkStatus | null;
  readonly alterations?: readonly Alteration[];
}

interface CreateNetworkInput {
  readonly name: string;
  readonly node?: string;
  readonly internal?: boolean;
  readonly label?: readonly string[];
  readonly dryRun?: boolean;
}

/** Creates a network on a node. */
export const createNetwork: Command<CreateNetworkInput> = async (session, input) => {
  const { name, node, internal, label = [], dryRun } = input;
  const body = {
    name,
    ...(node !== undefined && { nodeId: node }),
    ...(internal && { internal }),
    ...(label.length > 0 && { labels: Object.fromEntries(label.map(parseLabel)) }),
  };
  const client = await session.connect();
  const query = dryRun ? { dryRun: 'true' } : {};
  const answer = await client.request<NetworkView>('POST', networks.path, { body, query });
  if (!answer.ok) return session.reportRejection(answer);
  const done = session.ink.green(dryRun ? 'would be created' : 'created');
  session.terminal.out(`network/${name} ${done}${dryRun ? ' (dry run)' : ''}\n`);
  printRemarks(session, answer.value.alterations ?? [], []);
  return exitCode.ok;
};

function parseLabel(text: string): readonly [string, string] {
  const end = text.indexOf('=');
  if (end <= 0) throw new UsageFault(`--label ${text}: must be <key>=<value>.`);
  return [text.slice(0, end), text.slice(end + 1)];
}

/** A network: where it is, whether it exists there, and its events. */
export function describeNetwork(view: NetworkView, events: readonly EventView[], look: CellContext): string {
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
