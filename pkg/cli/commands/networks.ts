import type { Alteration } from '../../../crds/rule/index.js';
import { exitCode, UsageFault } from '../../terminal/index.js';
import { networks } from '../kinds.js';
import type { Command } from '../session.js';
import { printRemarks } from './apply.js';

interface CreatedNetwork {
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
  const answer = await client.request<CreatedNetwork>('POST', networks.path, { body, query });
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
