import { formatBytes, formatCount, formatAge, formatSpan } from '../../../crds/grammar/index.js';
import type { Recommendation } from '../../../crds/recommendation/index.js';
import type { Client } from '../../client/index.js';
import { exitCode, UsageFault } from '../../terminal/index.js';
import { tenants } from '../kinds.js';
import { formatTable } from '../print/table.js';
import { formatDocument, type OutputFormat, stripControls } from '../print/text.js';
import type { Command, Session } from '../session.js';
import { demandSize } from './volumes.js';

const PATH = '/api/v1/dvm/recommendations';

interface ListRecommendationsInput {
  readonly priority?: string;
  readonly type?: string;
  readonly output: OutputFormat;
}

/** A client, and the header that names its tenant: these requests need it from every token. */
async function connectNamed(session: Session) {
  const client = await session.connect();
  const own = await client.request<{ readonly id: string }>('GET', `${tenants.path}/self`);
  return own.ok ? { client, headers: { 'x-tenant-id': own.value.id } } : own;
}

/** Lists what would make the volumes of the tenant safer or cheaper, the most urgent first. */
export const listRecommendations: Command<ListRecommendationsInput> = async (session, { priority, type, output }) => {
  const { terminal, ink } = session;
  const named = await connectNamed(session);
  if (!('client' in named)) return session.reportRejection(named);
  const { client, headers } = named;
  const query = { ...(priority !== undefined && { priority }), ...(type !== undefined && { type }) };
  const answer = await client.request<{ readonly items: readonly Recommendation[] }>('GET', PATH, { query, headers });
  if (!answer.ok) return session.reportRejection(answer);
  const { items } = answer.value;
  if (output === 'json' || output === 'yaml') terminal.out(await formatDocument(answer.value, output));
  else if (output === 'name') terminal.out(items.map(({ id }) => `recommendation/${id}\n`).join(''));
  else if (items.length === 0) terminal.err('no recommendations\n');
  else {
    const now = terminal.clock.now();
    const rows = items.map(each => [
      { text: each.priority, ...(each.priority === 'critical' && { paint: ink.red }) },
      each.type,
      each.volume_name,
      describeAction(each),
      each.applicable ? 'yes' : `no: ${each.reason ?? ''}`,
      formatAge(each.measurement.at, now),
      each.id,
      each.message,
    ]);
    const titles = ['PRIORITY', 'TYPE', 'VOLUME', 'ACTION', 'APPLICABLE', 'MEASURED', 'ID', 'WHY'];
    terminal.out(formatTable(titles, rows, output === 'wide' ? undefined : terminal.width));
  }
  return exitCode.ok;
};

function describeAction({
  parameters: { action, target_replicas: replicas, target_size_bytes: size },
}: Recommendation) {
  if (action === 'resize') return `resize to ${formatBytes(size ?? 0)}`;
  return action === 'set_replicas' ? formatCount(replicas ?? 0, 'replica') : 'by hand';
}

interface ApplyRecommendationInput {
  readonly id: string;
  readonly size?: string;
  readonly replicas?: number;
  readonly dryRun?: boolean;
}

interface AppliedView {
  readonly volume?: { readonly name: string };
  readonly preview?: {
    readonly nodes: readonly { readonly nodeId: string; readonly name: string | null; readonly change: string }[];
    readonly seconds: number | null;
    readonly because: string;
  };
}

/** Applies a recommendation as it stands, or with another size or number of replicas. */
export const applyAdvice: Command<ApplyRecommendationInput> = async (session, { id, size, replicas, dryRun }) => {
  const { terminal, ink } = session;
  if (size !== undefined && replicas !== undefined) throw new UsageFault('give --size or --replicas, not both.');
  const named = await connectNamed(session);
  if (!('client' in named)) return session.reportRejection(named);
  const { client, headers } = named;
  const found = await findRecommendation(client, headers, id);
  // What is not in the list is sent as well: the server says why it cannot be applied.
  const parameters =
    size !== undefined
      ? { action: 'resize', target_size_bytes: demandSize(size) }
      : replicas !== undefined
        ? { action: 'set_replicas', target_replicas: replicas }
        : (found?.parameters ?? {});
  const answer = await client.request<AppliedView>('POST', `${PATH}/${encodeURIComponent(id)}/apply`, {
    body: { parameters },
    query: dryRun ? { dryRun: 'true' } : {},
    headers: { ...headers, ...(found && !dryRun && { 'if-match': found.revision }) },
  });
  if (!answer.ok) return session.reportRejection(answer);
  const { volume, preview } = answer.value;
  terminal.out(`recommendation/${id} ${ink.green(dryRun ? 'would be applied' : 'applied')}\n`);
  if (volume) terminal.out(`  "moor volume describe ${stripControls(volume.name)}" shows how far it is\n`);
  for (const node of preview?.nodes ?? []) {
    terminal.out(`  ${stripControls(node.name ?? node.nodeId)}: ${stripControls(node.change)}\n`);
  }
  if (preview) {
    const time =
      preview.seconds === null ? 'how long it takes is not known' : `about ${formatSpan(preview.seconds * 1000)}`;
    terminal.out(`  ${time}: ${stripControls(preview.because)}\n`);
  }
  return exitCode.ok;
};

async function findRecommendation(
  client: Client,
  headers: Readonly<Record<string, string>>,
  id: string,
): Promise<Recommendation | undefined> {
  const answer = await client.request<{ readonly items: readonly Recommendation[] }>('GET', PATH, { headers });
  return answer.ok ? answer.value.items.find(each => each.id === id) : undefined;
}

/** Shows, or switches, whether volumes are grown as recommended by themselves. */
export const autoApply: Command<{ readonly growth: boolean | undefined }> = async (session, { growth }) => {
  const { terminal } = session;
  const named = await connectNamed(session);
  if (!('client' in named)) return session.reportRejection(named);
  const { client, headers } = named;
  const path = `${PATH}/auto-apply`;
  const answer = await client.request<{ readonly growth: boolean }>(growth === undefined ? 'GET' : 'PUT', path, {
    headers,
    ...(growth !== undefined && { body: { growth } }),
  });
  if (!answer.ok) return session.reportRejection(answer);
  const words = answer.value.growth
    ? 'volumes that are nearly full are grown as recommended, within the quota'
    : 'nothing is applied by itself';
  terminal.out(`auto-apply is ${answer.value.growth ? 'on' : 'off'}: ${words}\n`);
  return exitCode.ok;
};
